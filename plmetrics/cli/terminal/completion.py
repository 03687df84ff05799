"""Completions of a half-typed word in the shell."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path

_MOST = 200


def suite_files(incomplete: str) -> list[str]:
    """YAML files for a prefix, also one folder down; none leaves the word to the shell."""
    return _matches(incomplete, ("*.yaml", "*.yml", "*/*.yaml", "*/*.yml"))


def run_folders(incomplete: str) -> list[str]:
    """Folders of a suite's runs and of single runs, for a prefix."""
    records = _matches(incomplete, ("*/latest.json", "*/*/latest.json", "*/run.json"), prefix_only=False)
    return [folder for record in records if (folder := str(Path(record).parent)).startswith(incomplete)]


def metric_names(incomplete: str) -> list[str]:
    """Names of metrics for a prefix."""
    from plmetrics.catalogue import registry

    names = dict.fromkeys(metric.name for metric in registry.classes())
    return [name for name in names if name.startswith(incomplete)]


def _matches(incomplete: str, patterns: Iterable[str], *, prefix_only: bool = True) -> list[str]:
    """Paths below the folder of a word, written as the word begins."""
    folder, _, _ = incomplete.rpartition("/")
    start = f"{folder}/" if "/" in incomplete else ""
    root = Path(start or ".").expanduser()
    matches: list[str] = []
    with suppress(OSError):
        for pattern in patterns:
            paths = (start + path.relative_to(root).as_posix() for path in sorted(root.glob(pattern)))
            visible = (path for path in paths if "/." not in f"/{path.removeprefix(start)}")
            matches += islice(
                (path for path in visible if not prefix_only or path.startswith(incomplete)), _MOST
            )
    return matches
