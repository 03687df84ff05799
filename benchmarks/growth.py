"""How a run's time grows with each of its sizes: a curve for rows, slices, replicates, models and metrics."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from benchmarks.contestants.growing import ROWS, SIZES, name_of
from benchmarks.measure import SMALL_ROWS, run_worker

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.tables import Tables

NAME = "growth"
TOP_ROWS = 20_000_000
TABLE_ROWS = 1_000_000
"""Of the table on which all but the rows grow."""

PER_ROW = 1.3
DOUBLING = 2.1
TENFOLD = 2.0
AIMS = {
    "rows": (PER_ROW, "time per row, against that of the fewest"),
    "replicates": (TENFOLD, "ten times the replicates"),
}


@dataclass(frozen=True, slots=True)
class Point:
    """What a run of one size took: seconds by the clock, and of all processors."""

    size: int
    seconds: float
    processor: float
    peak_mb: float


def measure_growth(tables: Tables, rows: int, rounds: int) -> dict[str, list[Point]]:
    """The curves, sizes ascending. `rows` is the largest number of rows.

    Raises:
        BenchmarkError: a run failed.
    """
    sizes = [size for size in ROWS if size <= rows] or [rows]
    curves = {"rows": [(name_of("rows", size), _table(tables, size, 2), size) for size in sizes]}
    shared = _table(tables, min(TABLE_ROWS, rows), max(SIZES["models"]))
    curves |= {what: [(name_of(what, size), shared, size) for size in sizes] for what, sizes in SIZES.items()}
    small = _table(tables, min(SMALL_ROWS, rows), max(SIZES["models"]))
    return {
        what: [_point(name, (table, small), size, rounds) for name, table, size in curve]
        for what, curve in curves.items()
    }


def _table(tables: Tables, rows: int, models: int) -> Path:
    return tables.table(rows, max(1, rows // TABLE_ROWS), models, "cells")


def _point(name: str, folders: tuple[Path, Path], size: int, rounds: int) -> Point:
    runs = [run_worker(name, folders) for _ in range(rounds)]
    seconds, processor = (statistics.median(run[key] for run in runs) for key in ("seconds", "processor"))
    return Point(size, seconds, processor, max(run["peak_mb"] for run in runs))


def growth_section(curves: dict[str, list[Point]], rounds: int, environment: str) -> str:
    """The curves as a Markdown section, each with what was aimed at."""
    parts = [
        "### growth: 2 models, 6 metrics, 101 slices, 1000 replicates by customer, on 1M rows; one of these grows",
        "",
        f"Rows grow with a binned `roc_auc` as well, in 11 slices. {rounds} rounds. {environment}",
    ]
    for what, points in curves.items():
        parts += [
            "",
            f"| {what} | s | processor s | s per {what[:-1]} | peak MB |",
            "|---:|---:|---:|---:|---:|",
        ]
        parts += [
            f"| {point.size:,} | {point.seconds:.3f} | {point.processor:.3f} | {point.seconds / point.size:.2g} "
            f"| {point.peak_mb:.0f} |"
            for point in points
        ]
        if len(points) > 1:
            parts += ["", f"* {_verdict(what, points)}"]
    return "\n".join(parts)


def _verdict(what: str, points: Sequence[Point]) -> str:
    """What growing costs at its worst, beside the aim; and the same of processors, which others do not slow down."""
    aim, told = AIMS.get(what, (DOUBLING, f"twice the {what}"))
    worst = worst_step(what, points)
    busy = worst_step(what, [replace(point, seconds=point.processor) for point in points])
    reached = "reached" if worst <= aim else "not reached"
    return f"{told}: **{worst:.3g}**, aim at most {aim}: {reached}. By processor time {busy:.3g}."


def worst_step(what: str, points: Sequence[Point]) -> float:
    """The most that growing costs between two sizes."""
    if what == "rows":
        return max(per_row(points))
    if what == "replicates":
        return max(after.seconds / before.seconds for before, after in pairwise(points))
    return max(doublings(points))


def per_row(points: Sequence[Point]) -> list[float]:
    """Time per row of each but the first size, against that of the first."""
    first = points[0].seconds / points[0].size
    return [point.seconds / point.size / first for point in points[1:]]


def doublings(points: Sequence[Point]) -> list[float]:
    """By what the time is multiplied when the size doubles, between neighbouring sizes."""
    return [
        (after.seconds / before.seconds) ** (1 / math.log2(after.size / before.size))
        for before, after in pairwise(points)
    ]
