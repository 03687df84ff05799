"""Results in Delta tables: the rows of an interval are replaced in one commit a table."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

from plmetrics.core.errors import EnvironmentFault, Problem
from plmetrics.exports.protocol import EndedRun, output_path
from plmetrics.exports.tidy import run_tables
from plmetrics.runs.files import environment_faults
from plmetrics.table.files import shown_path

if TYPE_CHECKING:
    from pathlib import Path

    from plmetrics.suite.yaml.load import LoadedSuite

_ATTEMPTS = 6
_PAUSE = 0.1
_UNKNOWN = ""
"""The run of files without statistics, which a table may do without."""
_PARTITIONS = ["suite", "run_key"]
"""Each interval has files of its own, so that writers of different intervals do not touch the same."""


@dataclass(frozen=True, slots=True)
class DeltaTarget:
    """The tables `metrics`, `comparisons`, `gates` and `runs` in a folder."""

    folder: Path

    @property
    def description(self) -> str:
        """The folder."""
        return f"the Delta tables in {shown_path(self.folder)}"

    def write(self, run: EndedRun) -> None:
        """Replace the rows of a run's interval, those of the table `runs` as the last, unless they are of this run.

        Of two runs of one interval at a time the rows of one stand in all tables in the end.

        Raises:
            EnvironmentFault: a table cannot be written, or others write it all the time.
        """
        assert run.result is not None
        tables = run_tables(run, run.result)
        with environment_faults("a table cannot be written"):
            if self._runs_of_interval(run, tables) == {run.run_id}:
                return
            for attempt in range(_ATTEMPTS):
                # Another run of the interval wrote some of the tables meanwhile, and this one the others.
                time.sleep(random.uniform(0, _PAUSE * 2**attempt) if attempt else 0)
                for name, frame in tables.items():
                    table = self.folder / name
                    table.mkdir(parents=True, exist_ok=True)
                    _replace(table, frame, f"suite = {_sql(run.name)} AND run_key = {_sql(run.key)}")
                if len(self._runs_of_interval(run, tables) - {_UNKNOWN}) <= 1:
                    return
        raise EnvironmentFault(Problem("another run writes the rows of the same interval all the time"))

    def _runs_of_interval(self, run: EndedRun, tables: Mapping[str, pl.DataFrame]) -> set[str | None]:
        """Runs with stored rows for a run's interval; None for missing rows."""
        runs: set[str | None] = set()
        for name, frame in tables.items():
            table, stored = self.folder / name, set[str | None]()
            try:
                if DeltaTable.is_deltatable(str(table)):
                    # A file has the rows of one interval: here, those of one run. No file needs to be read.
                    files = pl.DataFrame(DeltaTable(str(table)).get_add_actions(flatten=True))
                    stored = _runs_in(files, run)
            except DeltaError as error:
                raise EnvironmentFault(Problem(f"{name}: {_words(error)}")) from error
            runs |= stored or ({None} if frame.height else set())
        return runs


def _runs_in(files: pl.DataFrame, run: EndedRun) -> set[str | None]:
    """Runs with stored rows for a run's interval in the files of a table, as far as statistics tell."""
    of_interval = {"partition.suite": run.name, "partition.run_key": run.key}
    if not of_interval.keys() <= set(files.columns):
        return set()
    candidates = files.filter(**of_interval)
    if "min.run_id" not in candidates.columns:
        return {_UNKNOWN} if candidates.height else set()
    return set(candidates["min.run_id"].fill_null(_UNKNOWN))


def delta_target(loaded: LoadedSuite, path: str) -> DeltaTarget:
    """The target of `output.delta`."""
    return DeltaTarget(output_path(loaded, path, ("output", "delta")))


def _replace(table: Path, frame: pl.DataFrame, predicate: str) -> None:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            write_deltalake(
                table,
                frame,
                mode="overwrite",
                predicate=predicate,
                partition_by=_PARTITIONS,
                schema_mode="merge",
            )
        except CommitFailedError as error:
            if attempt == _ATTEMPTS:
                raise EnvironmentFault(Problem(f"{table.name}: {_words(error)}")) from error
            time.sleep(random.uniform(0, _PAUSE * 2**attempt))
        except DeltaError as error:
            raise EnvironmentFault(Problem(f"{table.name}: {_words(error)}")) from error
        else:
            return


def _words(error: Exception) -> str:
    return " ".join(str(error).split())


def _sql(text: str) -> str:
    quoted = text.replace("'", "''")
    return f"'{quoted}'"
