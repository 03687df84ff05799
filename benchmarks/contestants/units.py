"""Units of a table: counted by one process and by two, and what a unit costs that has next to no rows."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.contestants.contestant import Contestant, Values, with_bytecode
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


_BARE = """
import sys
import polars as pl
label = pl.col("label").cast(pl.Float64)
sums = [pl.len()]
for score in (pl.col("s0"), pl.col("s1")):
    true = score >= 0.5
    loss = -pl.when(label == 1).then(score.log()).otherwise((1 - score).log())
    values = {"true": true, "tp": true & (label == 1), "loss": loss, "square": (score - label) ** 2}
    sums += [value.sum().alias(f"{name} of {score.meta.output_name()}") for name, value in values.items()]
for file in sys.argv[1:]:
    pl.scan_parquet(file).group_by("country", "device").agg(*sums).collect(engine="streaming")
"""


@dataclass(frozen=True, slots=True)
class BareScans:
    """Scans of the files by bare Polars in processes of one thread each: how well this machine does two at once."""

    processes: int

    def __call__(self, folder: Path) -> None:
        """Scan all files, each process its share of them."""
        files = sorted(map(str, folder.glob("*.parquet")))
        started = [
            subprocess.Popen(
                [sys.executable, "-c", _BARE, *files[first :: self.processes]],
                env=os.environ | {"POLARS_MAX_THREADS": "1"},
            )
            for first in range(self.processes)
        ]
        for process in started:
            if process.wait() != 0:
                raise subprocess.CalledProcessError(process.returncode, "a scan by bare Polars")


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
        "one_bare", "scans of the files by bare Polars, 1 process of 1 thread", with_bytecode, BareScans(1)
    ),
    Contestant("two_bare", "the same, 2 processes of 1 thread each", with_bytecode, BareScans(2)),
    Contestant(
        "tiny_files", f"1,000 files of 100 rows in one scan; {_SUITE}", tiny_files, Units(None), tiny_values
    ),
    Contestant("tiny_units", "the same in 1,000 units, inline", tiny_files, Units("inline"), tiny_values),
)
