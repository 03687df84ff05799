"""A run held against an earlier one: replicate by replicate where both are of the same units.

Else as independent samples: what its table `metrics` says against what that of the earlier run says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.catalogue.metric import TOTAL, Metric
from plmetrics.core.ops import Array, Flags, Texts
from plmetrics.core.results import TableSchema, in_schema
from plmetrics.inference.across_runs.sides import ROUNDING, Pairing, Side, aligned_metrics, pairing_of, sample
from plmetrics.inference.comparisons.independent import Sample, independent_difference
from plmetrics.inference.comparisons.inflation import (
    NOISE_NOTE,
    UNEQUAL_NOISE,
    hides_noise,
    is_inflated,
    sizes_matter,
)
from plmetrics.inference.comparisons.readings import with_omissions
from plmetrics.inference.contrasts import UNEQUAL_ROWS
from plmetrics.inference.tables import COMPARED_SCHEMA, INDEPENDENT_TEST, comparison_columns, within_ranges

if TYPE_CHECKING:
    from plmetrics.inference.comparisons.paired_bootstrap import Difference
    from plmetrics.suite.sections.basics import ContrastScale

RUN_SCHEMA: pl.Schema = TableSchema([*COMPARED_SCHEMA.items(), ("bound", pl.Float64)])
"""The rows in the making; `bound` is the largest possible error of a difference of values that are counted on grids."""

NOTE = "independent samples"
_BOUNDS = pl.Schema({"bound": pl.Float64(), "bound|b": pl.Float64()})
_SMALL = 0.1
PAIRED, PAIRED_ROWS = "paired: both runs are of the same units", "paired: both runs are of the same rows"


def run_comparisons(
    now: Side, before: Side, scales: Sequence[ContrastScale], metrics: Sequence[Metric] = ()
) -> pl.DataFrame:
    """Rows of `comparisons` of a run against an earlier one, their baseline: a row per value of either and scale.

    Rows of the run come first, in its order, those that the earlier one alone has come last. They have no adjusted p
    values, `blocks` (one more than the degrees of freedom), and `bound`: a grid that was made of other scores may tell
    those of a run badly apart. What one of the runs does not have has the status `not_in_run`. Totals are compared over
    equally many rows only; of `metrics` that are best at 0 it is also tested which run is nearer to it.
    """
    both = aligned_metrics(now.metrics, before.metrics)
    if both.is_empty():
        return RUN_SCHEMA.to_frame()
    sides = sample(both, "", now), sample(both, "|b", before)
    pairing = pairing_of(both, now, before)
    unequal = _totals_of_unequal_rows(both, metrics)
    nearer = _nearer(both, sides, pairing, now.level, metrics)
    tests_and_notes = _tests_and_notes(both, pairing, now)
    parts = []
    for scale in scales:
        difference = independent_difference(*sides, level=now.level, scale=scale)
        if pairing.runs is not None:
            difference = pairing.runs.onto(difference, scale, now.level, metrics=metrics)
        difference = difference.refuse(unequal, UNEQUAL_ROWS)
        difference = difference.without_tests(
            _of_noise(both, sides, difference, scale, metrics), UNEQUAL_NOISE
        )
        rows = _rows(both, difference, scale, (now, before), tests_and_notes)
        parts.append(_with_bound(rows, _bound_of(both, sides, scale)).with_columns(nearer))
    return within_ranges(pl.concat(parts), metrics)


def _bound_of(both: pl.DataFrame, sides: tuple[Sample, Sample], scale: str) -> Array:
    """The largest possible error of each difference, or ratio, by those of both values; 0 where they are exact."""
    errors = in_schema(both, _BOUNDS).fill_null(0.0)
    now, before = (errors[name].to_numpy() for name in _BOUNDS)
    total: Array = now + before
    if scale == "difference":
        return total
    value, base = (np.abs(side.value) for side in sides)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(base > before, (now + value / base * before) / (base - before), np.inf)
    return np.where(total > 0, ratio, 0.0)


def _with_bound(rows: pl.DataFrame, bound: Array) -> pl.DataFrame:
    """The rows with their bounds, and a note where one is no small part of the standard error, or of the difference."""
    rows = rows.with_columns(
        bound=pl.when(pl.col("difference").is_not_null() & (pl.lit(bound) > 0)).then(pl.lit(bound))
    )
    size = pl.coalesce("std_error", pl.col("difference").abs())
    amount = pl.Series([f"{each:.2g}" for each in bound], dtype=pl.String)
    words = pl.when(pl.col("bound") > _SMALL * size).then(
        pl.format("counted on a grid, and at most {} off", pl.lit(amount))
    )
    return rows.with_columns(note=pl.concat_str("note", words, separator="; ", ignore_nulls=True))


def _totals_of_unequal_rows(both: pl.DataFrame, metrics: Sequence[Metric]) -> Flags:
    """Totals over more rows, or more weight, in one of the runs."""
    near = (pl.col("weight") - pl.col("weight|b")).abs() <= ROUNDING * pl.col("weight").abs()
    same = (pl.col("n") == pl.col("n|b")) & near
    total = pl.col("metric").is_in([metric.text for metric in metrics if metric.additive])
    return both.select(total & ~same.fill_null(value=True)).to_series().to_numpy()


def _of_noise(
    both: pl.DataFrame,
    sides: tuple[Sample, Sample],
    difference: Difference,
    scale: str,
    metrics: Sequence[Metric],
) -> Flags:
    """Norms with more noise in the run of fewer rows."""
    text = both["metric"].to_numpy()
    rows = both.select(pl.col("n", "n|b").cast(pl.Float64)).to_numpy().T
    noisy = np.zeros(len(text), dtype=np.bool_)
    for metric in metrics:
        noisy |= (text == metric.text) & (is_inflated(metric, scale) | hides_noise(metric, rows.min(axis=0)))
    values = np.stack([side.value for side in sides])
    error = np.hypot(*(side.std_error for side in sides))
    of_noise: Flags = noisy & (difference.interval_status == "ok") & sizes_matter(values, rows, error)
    return of_noise


def _nearer(
    both: pl.DataFrame,
    sides: tuple[Sample, Sample],
    pairing: Pairing,
    level: float,
    metrics: Sequence[Metric],
) -> list[pl.Series]:
    """Decrease of the distance to 0, the best value, since the earlier run, and its p value."""
    zero = both["metric"].is_in([metric.text for metric in metrics if metric.direction == "zero"]).to_numpy()
    now, before = (replace(side, value=np.abs(side.value)) for side in sides)
    difference = independent_difference(now, before, level=level)
    if pairing.runs is not None and zero.any():
        difference = pairing.runs.onto(difference, "difference", level, absolute=True)
    numbers = {"nearer": -difference.difference, "nearer_p": difference.p_value}
    return [
        pl.Series(name, np.where(zero, values, np.nan)).fill_nan(None) for name, values in numbers.items()
    ]


def _tests_and_notes(both: pl.DataFrame, pairing: Pairing, now: Side) -> tuple[Texts, Texts]:
    """Test of each row, and its note on the samples, after one on parts that the value of one run leaves out."""
    words = pairing.shared.words
    tests, notes = np.full((2, both.height), INDEPENDENT_TEST, dtype=object)
    notes[:] = NOTE if words is None else f"taken as {NOTE}: {words}"
    if pairing.runs is not None and now.replicates is not None:
        paired = pairing.runs.mask
        notes[:] = f"taken as {NOTE}: there are no replicates of both runs"
        notes[paired] = PAIRED_ROWS if now.replicates.facts["by_row"] else PAIRED
        tests[paired] = pairing.runs.tests[paired]
    parts = with_omissions(np.full_like(notes, ""), *(both[name].to_numpy() for name in ("note", "note|b")))
    return tests, np.where(parts == "", notes, parts + "; " + notes)


def _rows(
    both: pl.DataFrame,
    difference: Difference,
    scale: str,
    runs: tuple[Side, Side],
    tests_and_notes: tuple[Texts, Texts],
) -> pl.DataFrame:
    tests, notes = tests_and_notes
    n = both.select(pl.min_horizontal("n", "n|b")).to_series()
    intervals = all(run.uncertainty is not None for run in runs)
    numbers = comparison_columns(difference, n, intervals=intervals, test="")
    if intervals:
        numbers["test"] = tests
    columns = {
        name: pl.Series(
            name,
            values.tolist() if values.dtype == object else values,
            dtype=RUN_SCHEMA[name],
            strict=False,
        )
        for name, values in numbers.items()
        if not isinstance(values, str)
    }
    words = {name: pl.lit(values) for name, values in numbers.items() if isinstance(values, str)}
    here, there = pl.col("here").is_not_null(), pl.col("here|b").is_not_null()
    total, norm = (
        pl.Series(part, dtype=pl.Boolean)
        for part in (difference.status == UNEQUAL_ROWS, difference.interval_status == UNEQUAL_NOISE)
    )
    note = (
        pl.when(~there)
        .then(pl.lit("only in this run"))
        .when(~here)
        .then(pl.lit("only in the earlier run"))
        .when(total)
        .then(pl.lit(f"it {TOTAL}"))
        .when(norm)
        .then(pl.lit(NOISE_NOTE))
    ).otherwise(pl.Series(notes, dtype=pl.String))
    made_here = both.with_columns(
        **columns,
        **words,
        contrast=pl.lit("run"),
        scale=pl.lit(scale),
        baseline=pl.lit(runs[1].name),
        note=note,
    ).with_columns(pl.col(pl.Float64).fill_nan(None))
    return in_schema(made_here, RUN_SCHEMA)
