"""States of days merged into the results of all, and a bare scan of the same files."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.contestants.contestant import Contestant, Values
from benchmarks.contestants.ours import CELL, REPLICATES, SUMS, facts_of, models

NUMBER = 4


@dataclass(frozen=True, slots=True)
class Days:
    """The states of some days, in a folder that goes when nobody needs it any more."""

    home: tempfile.TemporaryDirectory[str]
    files: tuple[Path, ...]
    rows: int


def written(folder: Path, metrics: list[str]) -> Days:
    """The state of each file of a table, with the constants of the first."""
    import plmetrics as plm

    home = tempfile.TemporaryDirectory(prefix="plmetrics-states-")
    asked: dict[str, Any] = {"label": "label", "models": models(NUMBER), "slices": CELL, "unit": "customer"}
    asked |= {"uncertainty": REPLICATES, "metrics": metrics, "name": "days"}
    made: list[plm.State] = []
    for file in sorted(folder.glob("*.parquet")):
        first = made[0].path if made else None
        made.append(plm.state(file, Path(home.name) / f"{file.stem}.state", constants=first, **asked))
    files = tuple(state.path for state in made if state.path is not None)
    return Days(home, files, sum(state.rows for state in made))


def scan(days: Days) -> dict[str, Any]:
    """Something of each column, nothing else."""
    frame = pl.scan_parquet(list(days.files))
    schema = frame.collect_schema()
    lists = [pl.col(name).list.len().sum() for name, kind in schema.items() if isinstance(kind, pl.List)]
    numbers = [pl.col(name).sum() for name, kind in schema.items() if kind.is_numeric()]
    return {"frame": frame.select(*numbers, *lists).collect(), "rows": days.rows}


def merged(days: Days) -> Any:
    """The results of all days."""
    import plmetrics as plm

    return plm.merge(*days.files)


def rows_of(result: Any) -> Values:
    """The number of rows."""
    rows = result["rows"] if isinstance(result, dict) else result.metrics["n"].max()
    return {"rows": (float(rows), 0.0)}


def pair(kind: str, metrics: list[str], told: str) -> tuple[Contestant, Contestant]:
    """The scan and the merge of states with some metrics."""

    def load(folder: Path) -> Days:
        return written(folder, metrics)

    return (
        Contestant(f"scan_{kind}", f"states of {told}; a sum of each column", load, scan, rows_of),
        Contestant(
            f"merge_{kind}",
            f"states of {told}, merged, with 1000 replicates by customer",
            load,
            merged,
            rows_of,
            facts_of,
        ),
    )


CONTESTANTS = (
    *pair("states", SUMS, f"six metrics of {NUMBER} models in 60 cells"),
    *pair("score_states", ["roc_auc", *SUMS], f"ROC AUC and six metrics of {NUMBER} models in 60 cells"),
)
