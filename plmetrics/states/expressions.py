"""States as Polars expressions, for `Metric.expr`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import polars as pl

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.states.moments import centre_name
from plmetrics.states.sums import Atom, Rows, RowValue, View


class SumRequest(Protocol):
    """A request of a metric of the family sums."""

    @property
    def task(self) -> str:
        """Task of the rows, to tell classes from numbers in labels."""

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        """The sums it reads."""

    def centres(self) -> tuple[RowValue, ...]:
        """Centres of moments."""


def column_operand(column: object, argument: str) -> pl.Expr:
    """Column of an argument of `Metric.expr`.

    Raises:
        ConfigError: it is neither a name nor an expression.
    """
    if isinstance(column, (str, pl.Expr)):
        return pl.col(column) if isinstance(column, str) else column
    msg = f"this must be the name of a column or an expression, not a value of type {type(column).__name__}"
    raise ConfigError(Problem(msg, (argument,)))


def sum_expressions(metric: SumRequest, label: pl.Expr, score: pl.Expr, weight: pl.Expr | None) -> View:
    """The atoms of a metric as aggregations, ready for `finalise`."""
    rows, weight = _canonical(label, score, weight)
    centres = {value.key: _mean(value.build(rows), weight) for value in metric.centres()}
    rows = replace(rows, centres=centres)
    arrays: dict[str, Any] = _totals(rows, weight, binary=metric.task == "binary")
    arrays |= {centre_name(key): centre for key, centre in centres.items()}
    for name, part in metric.atoms().items():
        assert not isinstance(part, tuple), "only metrics of single sums have an expression form"
        arrays[name] = part.aggregate(rows, weight).cast(pl.Float64)
    return View(arrays)


def _mean(value: pl.Expr, weight: pl.Expr | None) -> pl.Expr:
    """Weighted mean, so that a row of weight 0 moves no centre."""
    return value.mean() if weight is None else (value * weight).sum() / weight.sum()


def point_expression(
    finalise: Callable[[View], pl.Expr], label: pl.Expr, score: pl.Expr, weight: pl.Expr | None
) -> pl.Expr:
    """Value of `finalise` on the distinct scores of a group, ascending, with their weight per class.

    Rows are sorted by score, running totals are kept at the last row of each distinct score, and their
    differences are the weights per point. Sorted rows and points each pass through a list: that is how an
    expression is worked out once and used many times. It sorts within the group, so it runs in memory.
    """
    rows, weight = _canonical(label, score, weight)
    each = pl.lit(1.0) if weight is None else weight
    masses = {
        "positive": pl.when(rows.positive).then(each).otherwise(0.0),
        "negative": pl.when(rows.positive).then(0.0).otherwise(each),
        "n": (each > 0).cast(pl.Float64),
    }
    row = pl.struct(rows.score.alias("score"), *(mass.alias(name) for name, mass in masses.items()))
    field = pl.element().struct.field
    last = (field("score") != field("score").shift(-1)).fill_null(value=True)
    running = pl.struct(field("score"), *(field(name).cum_sum() for name in masses))
    points = row.sort_by(rows.score).implode().list.eval(running.filter(last))
    arrays = {name: field(name) - field(name).shift(1, fill_value=0.0) for name in masses}
    totals = {"positives": arrays["positive"].sum(), "negatives": arrays["negative"].sum()}
    totals |= {"weight": totals["positives"] + totals["negatives"], "n": arrays.pop("n").sum()}
    return points.list.agg(finalise(View({"score": field("score"), **arrays, **totals})))


def of_sound_rows(
    value: pl.Expr,
    label: pl.Expr,
    score: pl.Expr,
    weight: pl.Expr | None,
    *,
    binary: bool,
    unlabelled: bool = False,
) -> pl.Expr:
    """The value of a group, null where a row has none of the numbers that it needs.

    Polars takes NaN for a score above all others, and sums pass over nulls. `unlabelled` rows, whose label is null, are
    sound where the metric counts them.
    """
    number = label.cast(pl.Float64)
    labelled = (number == 0) | (number == 1) if binary else number.is_finite()
    sound = [score.cast(pl.Float64).is_finite(), labelled.fill_null(value=unlabelled)]
    if weight is not None:
        sound.append(weight.cast(pl.Float64).is_finite() & (weight >= 0))
    return pl.when(pl.all_horizontal(sound).fill_null(value=False).all()).then(value)


def _canonical(label: pl.Expr, score: pl.Expr, weight: pl.Expr | None) -> tuple[Rows, pl.Expr | None]:
    label = label.cast(pl.Float64)
    score = score.cast(pl.Float64)
    score = pl.when(score == 0).then(0.0).otherwise(score)
    rows = Rows(label=label, score=score, positive=label == 1)
    return rows, None if weight is None else weight.cast(pl.Float64)


def _totals(rows: Rows, weight: pl.Expr | None, *, binary: bool) -> dict[str, Any]:
    count = (pl.len() if weight is None else (weight > 0).sum()).cast(pl.Float64)
    totals: dict[str, Any] = {"n": count, "weight": count if weight is None else weight.sum()}
    if binary:
        for name, member in (("positives", rows.positive), ("negatives", ~rows.positive)):
            mass = member.cast(pl.Float64) if weight is None else pl.when(member).then(weight).otherwise(0.0)
            totals[name] = mass.sum()
    return totals
