"""The runs of a suite that ended before this one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.runs.folder import RECORD
from plmetrics.runs.reading import RunFault, read_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from plmetrics.runs.reading import StoredResult


def earlier_results(home: Path, most: int) -> tuple[list[StoredResult], list[str]]:
    """The last complete runs in the folder of a suite's runs, the latest first.

    Runs that failed have no results and are passed over; so are folders that cannot be read, which is said.

    Args:
        home: the folder of the suite's runs; it need not exist.
        most: how many to read.

    Returns:
        At most so many results, and what could not be read, in words.
    """
    results: list[StoredResult] = []
    warnings: list[str] = []
    for folder in _folders(home):
        if len(results) == most:
            break
        try:
            run = read_run(folder)
            if run.record["status"] == "complete":
                results.append(run.results())
        except RunFault as error:
            warnings.append(f"an earlier run does not count: {error.problems[0].message}")
    return results, warnings


def _folders(home: Path) -> Iterator[Path]:
    """Run folders, the latest first: their names begin with the time, to the second."""
    if not home.is_dir():
        return
    held = [folder for folder in home.iterdir() if not folder.name.startswith(".")]
    yield from sorted(filter(_is_run, held), key=_time, reverse=True)


def _is_run(folder: Path) -> bool:
    return (folder / RECORD).is_file()


def _time(folder: Path) -> tuple[str, int]:
    return folder.name.partition("-")[0], (folder / RECORD).stat().st_mtime_ns
