"""Readings of comparisons: the meaning of a difference in a word, for tables and reports alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.results import FARTHER, MEAN_RANK, NEARER, first_word
from plmetrics.suite.sections.section import names_of

if TYPE_CHECKING:
    from plmetrics.suite.model import Suite
    from plmetrics.suite.sections.gates import Gate

BETTER, WORSE, HIGHER, LOWER = "better", "worse", "higher", "lower"
UNCLEAR, EQUIVALENT, EQUAL = "unclear", "equivalent", "equal"
READINGS = (BETTER, WORSE, HIGHER, LOWER, UNCLEAR, EQUIVALENT, EQUAL)

DEFAULT_LEVEL = 0.95


def with_readings(
    comparisons: pl.DataFrame,
    directions: Mapping[str, str],
    level: float | None = None,
    gates: Sequence[Gate] = (),
) -> pl.DataFrame:
    """The comparisons with the column `reading`.

    A difference is `equal` where both sides are the same by construction (interval [0, 0]), else `unclear` where its
    adjusted p value is not below 1 - level, else `better` or `worse` in the metric's direction, `higher` or `lower`
    where the metric has none. A metric that is best at 0 is better where the note says that it is surely nearer to it.
    What is unclear is `equivalent` where the whole interval lies within the margin of a gate, to both sides. A mean
    rank is better where it is lower. Without difference or p value, and for statistics, the reading is null.

    Args:
        comparisons: the result table, with adjusted p values and notes.
        directions: of metrics, by canonical text; others have none.
        level: of the intervals, 0.95 without any.
        gates: rules whose `no_worse_than` names the margin of equivalence.
    """
    if comparisons.is_empty():
        return comparisons
    direction = (
        pl.when(pl.col("scale") == MEAN_RANK)
        .then(pl.lit("lower"))
        .otherwise(pl.col("metric").replace_strict(directions, default="none", return_dtype=pl.String))
    )
    difference, p = pl.col("difference") - _no_change(), pl.coalesce("p_adjusted", "p_value")
    significant = _word(difference > 0, direction)
    word = (
        pl.when(difference.is_null() | p.is_null() | (pl.col("scale") == "statistic"))
        .then(None)
        .when((difference == 0) & (pl.col("lower") == pl.col("upper")))
        .then(pl.lit(EQUAL))
        .when(p < 1 - (DEFAULT_LEVEL if level is None else level))
        .then(significant)
        .when(_within_margin(gates))
        .then(pl.lit(EQUIVALENT))
        .otherwise(pl.lit(UNCLEAR))
    )
    return comparisons.with_columns(reading=word)


def readings_of(comparisons: pl.DataFrame, suite: Suite, level: float) -> pl.DataFrame:
    """The comparisons of a suite with the column `reading`."""
    directions = {metric.text: metric.direction for metric in suite.metrics}
    return with_readings(comparisons, directions, level, suite.gates)


def _no_change() -> pl.Expr:
    """Value of a comparison of two equal sides."""
    return pl.when(pl.col("scale") == "ratio").then(1.0).otherwise(0.0)


def _word(more: pl.Expr, direction: pl.Expr) -> pl.Expr:
    words = pl.when(direction == "zero").then(pl.col("note").str.split("; "))
    near, far = (words.list.contains(pl.lit(word)).fill_null(value=False) for word in (NEARER, FARTHER))
    better = near | ((direction == "higher") & more) | ((direction == "lower") & ~more)
    worse = far | direction.is_in(["higher", "lower"])
    return first_word({BETTER: better, WORSE: worse, HIGHER: more}, LOWER)


def _within_margin(gates: Sequence[Gate]) -> pl.Expr:
    """Whether the whole interval lies within the margin of a gate on the row."""
    return reduce(pl.Expr.or_, map(_within, gates), pl.lit(value=False)).fill_null(value=False)


def _within(gate: Gate) -> pl.Expr:
    if gate.no_worse_than is None or gate.against is None or gate.between is not None:
        return pl.lit(value=False)
    other = gate.opponent
    rival = pl.lit(value=True) if other is not None else pl.col("baseline") == gate.rival
    return pl.all_horizontal(
        pl.col("metric") == gate.metric.text,
        pl.col("contrast") == ("model" if other is None else other.contrast),
        pl.col("scale") == gate.scale,
        rival,
        pl.lit(value=True) if gate.model is None else pl.col("model") == gate.model,
        _in_slices(gate),
        pl.col("lower") - _no_change() > -gate.no_worse_than,
        pl.col("upper") - _no_change() < gate.no_worse_than,
    )


def _in_slices(gate: Gate) -> pl.Expr:
    """Whether a row is of the slices of a gate."""
    names = list(names_of(gate.slices))
    return pl.lit(value=True) if "all" in names else pl.col("slice_set").is_in(names)
