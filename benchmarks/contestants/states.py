"""States of days merged into the results of all, and a bare scan of the same files."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from benchmarks.contestants.contestant import Contestant, Values
from benchmarks.contestants.ours import CELL, REPLICATES, SUMS, facts_of, models

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.table.storage.places import Place

NUMBER = 4
YEAR = 365
"""So many states of sums are merged: those of the files there are, again and again."""


@dataclass(frozen=True, slots=True)
class Days:
    """The states of some days, in a folder that goes when nobody needs it any more."""

    home: tempfile.TemporaryDirectory[str]
    files: tuple[Path, ...]
    rows: int


def written(folder: Path, metrics: list[str], number: int | None) -> Days:
    """The state of each file of a table, with the constants of the first; again and again up to a number of them."""
    import plmetrics as plm

    home = tempfile.TemporaryDirectory(prefix="plmetrics-states-")
    asked: dict[str, Any] = {"label": "label", "models": models(NUMBER), "slices": CELL, "unit": "customer"}
    asked |= {"uncertainty": REPLICATES, "metrics": metrics, "name": "days"}
    made: list[plm.State] = []
    for file in sorted(folder.glob("*.parquet")):
        first = made[0].path if made else None
        made.append(plm.state(file, Path(home.name) / f"{file.stem}.state", constants=first, **asked))
    chosen = [made[day % len(made)] for day in range(number or len(made))]
    files = tuple(Path(state.path) for state in chosen if state.path is not None)
    return Days(home, files, sum(state.rows for state in chosen))


def scan(days: Days) -> dict[str, Any]:
    """Something of each number, nothing else: a sum of each column, and of the bytes of those that hold bytes."""
    frame = pl.scan_parquet(list(days.files), glob=False)
    schema = frame.collect_schema()
    lists = [pl.col(name).list.len().sum() for name, kind in schema.items() if isinstance(kind, pl.List)]
    numbers = [pl.col(name).sum() for name, kind in schema.items() if kind.is_numeric()]
    found = frame.select(*numbers, *lists).collect()
    total = 0
    for name in [name for name, kind in schema.items() if kind == pl.Binary]:
        for batch in frame.select(pl.col(name).drop_nulls()).collect_batches():
            total += sum(int(np.frombuffer(held, dtype=np.uint8).sum()) for held in batch[name])
    return {"frame": found, "bytes": total, "rows": days.rows}


def added(days: Days) -> dict[str, Any]:
    """The states of all days as one state."""
    return sum_of_states(days.files)


def sum_of_states(files: Sequence[Place]) -> dict[str, Any]:
    """States as one state: read, checked and added, without results."""
    from plmetrics.core.threads import parallel_map
    from plmetrics.engine.memory.budget import merging_room
    from plmetrics.features.stored.merging import merge_states as merged_state
    from plmetrics.features.stored.stored_state import stored_state, suite_of

    stored = parallel_map(stored_state, files)
    whole = merged_state(stored, totals=False, room=merging_room(suite_of(stored[0].head)))
    return {"rows": whole.head.rows["read"]}


def merged(days: Days) -> Any:
    """The results of all days."""
    import plmetrics as plm

    return plm.merge(*days.files, allow_overlap=True)


def trio(kind: str, metrics: list[str], told: str, number: int | None = None) -> tuple[Contestant, ...]:
    """The scan, the sum and the merge of states with some metrics."""

    def load(folder: Path) -> Days:
        return written(folder, metrics, number)

    def rows_of(result: Any) -> Values:
        """The number of rows."""
        rows = result["rows"] if isinstance(result, dict) else result.metrics["n"].max()
        return {f"rows of {kind}": (float(rows), 0.0)}

    replicates = "merged, with 1000 replicates by customer"
    return (
        Contestant(f"scan_{kind}", f"states of {told}; a sum of each column", load, scan, rows_of),
        Contestant(f"add_{kind}", f"states of {told}, as one state", load, added, rows_of),
        Contestant(f"merge_{kind}", f"states of {told}, {replicates}", load, merged, rows_of, facts_of),
    )


CONTESTANTS = (
    *trio("states", SUMS, f"six metrics of {NUMBER} models in 60 cells, {YEAR} of them", YEAR),
    *trio("score_states", ["roc_auc", *SUMS], f"ROC AUC and six metrics of {NUMBER} models in 60 cells"),
)
