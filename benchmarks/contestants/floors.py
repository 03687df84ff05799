"""What a run cannot do without, each alone: rows read, keys counted, products made; and runs that do little more.

A floor is the same work as a bare call of the library that does it, on arrays that lie near the processor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from benchmarks.contestants.contestant import Contestant
from benchmarks.contestants.ours import FLAGSHIP, REPLICATES, SLICE_COUNT, SLICES, Scan, models, ours, scan

if TYPE_CHECKING:
    from pathlib import Path

MODELS, BLOCKS, COLUMNS, SETS = 4, 1000, 252, 4
"""Columns are the coarse bins of a slice, two classes each; sets are all rows and those of `SLICES`."""

ORDERED = FLAGSHIP[:3]
FIRST_KEYS = MODELS
"""Keys of a row that fine bins take, one a model."""

_KEYS_AT_ONCE = 1 << 18
_PLACES = 1 << 16


def rows_in(folder: Path) -> int:
    """The number of rows of a table."""
    return int(pl.scan_parquet(folder).select(pl.len()).collect().item())


@dataclass(frozen=True, slots=True)
class Keys:
    """So many keys a row, counted among places that fit into a cache."""

    of_row: int

    def __call__(self, folder: Path) -> int:
        """Count them; gives their number."""
        keys = np.random.default_rng(1).integers(0, _PLACES, _KEYS_AT_ONCE)
        number = rows_in(folder) * self.of_row
        for _ in range(0, number, _KEYS_AT_ONCE):
            np.bincount(keys, minlength=_PLACES)
        return number


@dataclass(frozen=True, slots=True)
class Products:
    """W times the counts of each slice of each model, in single precision."""

    def __call__(self, folder: Path) -> float:
        """Multiply them; gives floating-point operations."""
        del folder  # replicates do not depend on the number of rows
        generator = np.random.default_rng(1)
        weights = generator.poisson(1.0, (REPLICATES["replicates"], BLOCKS)).astype(np.float32)
        counts = generator.poisson(1.0, (BLOCKS, COLUMNS)).astype(np.float32)
        room = np.empty((len(weights), COLUMNS), dtype=np.float32)
        for _ in range(SLICE_COUNT * MODELS):
            np.matmul(weights, counts, out=room)
        return 2.0 * weights.size * COLUMNS * SLICE_COUNT * MODELS


def floor(name: str, work: Keys | Products) -> Contestant:
    """A floor as a contestant."""
    return Contestant(name, "nothing", load=lambda folder: folder, work=work)


_GRID = {"models": models(MODELS), "slices": SLICES, "exact": False}

CONTESTANTS: tuple[Contestant, ...] = (
    scan("floor_rows", Scan(models=MODELS, texts=("country", "device"))),
    floor("floor_first_keys", Keys(FIRST_KEYS)),
    floor("floor_keys", Keys(FIRST_KEYS + MODELS * SETS)),
    floor("floor_products", Products()),
    ours(
        "limit_sums", "9 metrics", models=models(MODELS), slices=SLICES, metrics=FLAGSHIP[3:5] + FLAGSHIP[6:]
    ),
    ours("limit_order", "3 metrics on a grid", metrics=ORDERED, **_GRID),
    ours(
        "limit_replicates",
        "and 1000 replicates",
        metrics=ORDERED,
        unit="customer",
        uncertainty=REPLICATES,
        **_GRID,
    ),
)
