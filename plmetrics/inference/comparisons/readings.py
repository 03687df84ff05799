"""Readings of comparisons: the meaning of a difference in a word, and what either side of it leaves out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.core.results import FARTHER, MEAN_RANK, NEARER, first_word

if TYPE_CHECKING:
    from plmetrics.core.ops import Texts
    from plmetrics.suite.model import Suite
    from plmetrics.suite.sections.gates import Gate

    JudgedSets = tuple[Gate, Sequence[str]]

BETTER, WORSE, HIGHER, LOWER = "better", "worse", "higher", "lower"
UNCLEAR, EQUIVALENT, EQUAL = "unclear", "equivalent", "equal"
READINGS = (BETTER, WORSE, HIGHER, LOWER, UNCLEAR, EQUIVALENT, EQUAL)

DEFAULT_LEVEL = 0.95


def with_readings(
    comparisons: pl.DataFrame,
    directions: Mapping[str, str],
    level: float | None = None,
    gates: Sequence[JudgedSets] = (),
) -> pl.DataFrame:
    """The comparisons with the column `reading`; `gates` come with the slice sets that each judges.

    A difference is `equal` where both sides are the same by construction (interval [0, 0]), else `unclear` where its
    adjusted p value is not below 1 - level (0.95 without intervals), else `better` or `worse` in the metric's
    direction, `higher` or `lower` where the metric has none. A metric that is best at 0 is better where the note says
    that it is surely nearer to it. What is unclear is `equivalent` where the whole interval lies within the margin of a
    gate (`no_worse_than`), to both sides. A mean rank is better where it is lower. Without difference or p value, and
    for statistics, the reading is null.
    """
    if comparisons.is_empty():
        return comparisons
    direction = (
        pl.when(pl.col("scale") == MEAN_RANK)
        .then(pl.lit("lower"))
        .otherwise(pl.col("metric").replace_strict(directions, default="none", return_dtype=pl.String))
    )
    difference, p = pl.col("difference") - _no_change(), pl.coalesce("p_adjusted", "p_value")
    significant, margin = _word(difference > 0, direction), _widest_margin(comparisons, gates)
    word = (
        pl.when(difference.is_null() | p.is_null() | (pl.col("scale") == "statistic"))
        .then(None)
        .when((difference == 0) & (pl.col("lower") == pl.col("upper")))
        .then(pl.lit(EQUAL))
        .when(p < 1 - (DEFAULT_LEVEL if level is None else level))
        .then(significant)
        .when((pl.col("lower") - _no_change() > -margin) & (pl.col("upper") - _no_change() < margin))
        .then(pl.lit(EQUIVALENT))
        .otherwise(pl.lit(UNCLEAR))
    )
    return comparisons.with_columns(reading=word)


def readings_of(comparisons: pl.DataFrame, suite: Suite, level: float) -> pl.DataFrame:
    """The comparisons of a suite with the column `reading`."""
    directions = {metric.text: metric.direction for metric in suite.metrics}
    gates = [(gate, gate.sets_among(suite.sets_of(gate.subject))) for gate in suite.gates]
    return with_readings(comparisons, directions, level, gates)


def _no_change() -> pl.Expr:
    """Value of a comparison of two equal sides."""
    return pl.when(pl.col("scale") == "ratio").then(1.0).otherwise(0.0)


def _word(more: pl.Expr, direction: pl.Expr) -> pl.Expr:
    words = pl.when(direction == "zero").then(pl.col("note").str.split("; "))
    near, far = (words.list.contains(pl.lit(word)).fill_null(value=False) for word in (NEARER, FARTHER))
    better = near | ((direction == "higher") & more) | ((direction == "lower") & ~more)
    worse = far | direction.is_in(["higher", "lower"])
    return first_word({BETTER: better, WORSE: worse, HIGHER: more}, LOWER)


def _widest_margin(comparisons: pl.DataFrame, gates: Sequence[JudgedSets]) -> pl.Expr:
    """The widest margin of the gates on each row, null without one: a join for each kind of key they name."""
    kinds: dict[tuple[str, ...], dict[tuple[str, ...], float]] = {}
    for gate, slice_sets in gates:
        if gate.no_worse_than is not None and gate.against is not None:
            for key in _keys(gate, slice_sets):
                margins = kinds.setdefault(tuple(key), {})
                texts = tuple(key.values())
                margins[texts] = max(gate.no_worse_than, margins.get(texts, 0.0))
    widest: list[pl.Series] = []
    for columns, margins in kinds.items():
        limits = pl.DataFrame([*margins], dict.fromkeys(columns, pl.String), orient="row")
        limits = limits.with_columns(margin=pl.Series([*margins.values()], dtype=pl.Float64))
        texts_of_rows = comparisons.select(pl.col(columns).cast(pl.String))
        joined = texts_of_rows.join(limits, on=columns, how="left", maintain_order="left")
        widest.append(joined["margin"])
    return pl.max_horizontal(pl.lit(None, dtype=pl.Float64), *widest)


def _keys(gate: Gate, slice_sets: Sequence[str]) -> list[dict[str, str]]:
    """Columns that name the rows of a gate, with their values; one mapping for each of its slice sets."""
    other = gate.opponent
    key = {"metric": gate.subject.text, "contrast": "model" if other is None else other.contrast}
    key["scale"] = gate.scale
    baseline = gate.rival if other is None else other.slice
    if baseline is not None:
        key["baseline"] = baseline
    if gate.model is not None:
        key["model"] = gate.model
    return [key | {"slice_set": name} for name in slice_sets]


DIFFERENT_PARTS = "values of different parts"
OMITTED = ("classes left out: ", "not judged: ", "left out: ")
"""How the notes of values begin that leave parts out."""


def with_omissions(notes: Texts, model: Texts, baseline: Texts) -> Texts:
    """Notes of comparisons, in their place what the values on either side leave out where that differs.

    >>> none = np.array([None, None], dtype=object)
    >>> with_omissions(none, np.array(["classes left out: d", None], dtype=object), none).tolist()
    ['values of different parts (here classes left out: d; there nothing left out)', None]
    """
    notes = notes.copy()
    for index in np.flatnonzero(model != baseline):
        sides = [str(side[index] or "") for side in (model, baseline)]
        if any(text.startswith(OMITTED) for text in sides):
            here, there = (text if text.startswith(OMITTED) else "nothing left out" for text in sides)
            notes[index] = f"{DIFFERENT_PARTS} (here {here}; there {there})"
    return notes
