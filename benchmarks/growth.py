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
CURVES = ("rows", *SIZES)
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
USUAL = "2 models, 6 metrics, 101 slices, 1000 replicates by customer, on 1M rows"
RUNS = {"rows": "2 models, 6 metrics and a binned roc_auc, 11 slices, 1000 replicates by customer"}


@dataclass(frozen=True, slots=True)
class Point:
    """What a run of one size took: seconds by the clock, and of all processors."""

    size: int
    seconds: float
    processor: float
    peak_mb: float


def curve_names(name: str) -> list[str]:
    """The curves that a name on the command line stands for: all, or one; none if it is another's name.

    >>> curve_names("growth.models"), len(curve_names("growth")), curve_names("sums")
    (['growth.models'], 5, [])
    """
    every = [f"{NAME}.{what}" for what in CURVES]
    return every if name == NAME else [name] if name in every else []


def measure_curve(tables: Tables, what: str, rows: int, rounds: int) -> list[Point]:
    """The curve of one thing that grows, sizes ascending. `rows` is the largest number of rows.

    Raises:
        BenchmarkError: a run failed.
    """
    small = _table(tables, min(SMALL_ROWS, rows), max(SIZES["models"]))
    if what == "rows":
        sizes = [size for size in ROWS if size <= rows] or [rows]
        return [_point(name_of(what, size), (_table(tables, size, 2), small), size, rounds) for size in sizes]
    shared = _table(tables, min(TABLE_ROWS, rows), max(SIZES["models"]))
    return [_point(name_of(what, size), (shared, small), size, rounds) for size in SIZES[what]]


def _table(tables: Tables, rows: int, models: int) -> Path:
    return tables.table(rows, max(1, rows // TABLE_ROWS), models, "cells")


def _point(name: str, folders: tuple[Path, Path], size: int, rounds: int) -> Point:
    runs = [run_worker(name, folders) for _ in range(rounds)]
    seconds, processor = (statistics.median(run[key] for run in runs) for key in ("seconds", "processor"))
    return Point(size, seconds, processor, max(run["peak_mb"] for run in runs))


def curve_section(what: str, points: Sequence[Point], rounds: int, environment: str) -> str:
    """A curve as a Markdown section: what each step costs, and the worst one beside what was aimed at."""
    _, told = aim_of(what)
    steps = ["", *(f"{step:.3g}" for step in steps_of(what, points))]
    busy = ["", *(f"{step:.3g}" for step in steps_of(what, _by_processor(points)))]
    lines = [
        f"### growth of {what}: {RUNS.get(what, USUAL)}; the {what} grow",
        "",
        f"{rounds} round{'s' * (rounds > 1)}. {environment}",
        "",
        f"| {what} | s | processor s | s per {what[:-1]} | {told} | by processor | peak MB |",
        "|---:|---:|---:|---:|---:|---:|---:|",
        *(
            f"| {point.size:,} | {point.seconds:.3f} | {point.processor:.3f} | {point.seconds / point.size:.2g} "
            f"| {step} | {own} | {point.peak_mb:.0f} |"
            for point, step, own in zip(points, steps, busy, strict=True)
        ),
    ]
    if len(points) > 1:
        lines += ["", f"* {_verdict(what, points)}"]
    return "\n".join(lines)


def aim_of(what: str) -> tuple[float, str]:
    """The most that a step of a curve may cost, and what a step is."""
    return AIMS.get(what, (DOUBLING, f"twice the {what}"))


def _verdict(what: str, points: Sequence[Point]) -> str:
    """What growing costs at its worst, beside the aim; and the same of processors, which others do not slow down."""
    aim, told = aim_of(what)
    worst, busy = (max(steps_of(what, own)) for own in (points, _by_processor(points)))
    reached = "reached" if worst <= aim else "not reached"
    return f"{told}, at worst: **{worst:.3g}**, aim at most {aim}: {reached}. By processor time {busy:.3g}."


def _by_processor(points: Sequence[Point]) -> list[Point]:
    return [replace(point, seconds=point.processor) for point in points]


def steps_of(what: str, points: Sequence[Point]) -> list[float]:
    """What growing costs from each size to the next, as the aim of its curve measures it."""
    if what == "rows":
        return per_row(points)
    if what == "replicates":
        return [after.seconds / before.seconds for before, after in pairwise(points)]
    return doublings(points)


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
