"""Units of a table: counted by one process and by two, and what a unit costs that has next to no rows."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.contestants.contestant import Contestant, Values
from benchmarks.contestants.ours import CELL, SUMS, facts_of, models, values_of

if TYPE_CHECKING:
    from pathlib import Path

TINY, ROWS_OF_TINY = 1000, 100


@dataclass(frozen=True, slots=True)
class Units:
    """Sums of two models in 61 slices, by a runner whose workers have one thread each, or in one scan."""

    on: str | None

    def __call__(self, folder: Path) -> Any:
        """Evaluate the table in the folder."""
        import plmetrics as plm

        on = None if self.on is None else {"on": self.on, "cpus_per_task": 1}
        return plm.evaluate(
            f"{folder}/*.parquet",
            label="label",
            models=models(2),
            metrics=SUMS,
            slices=CELL,
            exact=False,
            on=on,
        )


def with_bytecode(folder: Path) -> Path:
    """The table, for workers that find modules compiled, as those of an installed package are.

    The warm-up writes the bytecode beside the small table where the environment forbids it elsewhere.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(folder / "bytecode"))
    return folder


def tiny_files(folder: Path) -> Path:
    """The first rows of the table in a thousand files, which lie in its folder and go with it."""
    import polars as pl

    place = folder / "tiny"
    if not place.exists():
        place.mkdir()
        rows = pl.scan_parquet(folder / "*.parquet").head(TINY * ROWS_OF_TINY).collect()
        size = -(-rows.height // TINY)
        for number, part in enumerate(rows.iter_slices(size)):
            part.write_parquet(place / f"part-{number:04}.parquet")
    return place


def tiny_values(result: Any) -> Values:
    """The values, told apart from those of all rows."""
    return {f"tiny {name}": value for name, value in values_of(result).items()}


_SUITE = "2 models, 6 metrics, 61 slices"

CONTESTANTS = (
    Contestant("one_scan", f"parquet; {_SUITE}", lambda folder: folder, Units(None), values_of, facts_of),
    *(
        Contestant(name, f"the same in units, {words}", with_bytecode, Units(on), values_of, facts_of)
        for name, on, words in (
            ("one_process", "processes:1", "1 process of 1 thread"),
            ("two_processes", "processes:2", "2 processes of 1 thread each"),
        )
    ),
    Contestant(
        "tiny_files", f"1,000 files of 100 rows in one scan; {_SUITE}", tiny_files, Units(None), tiny_values
    ),
    Contestant("tiny_units", "the same in 1,000 units, inline", tiny_files, Units("inline"), tiny_values),
)
