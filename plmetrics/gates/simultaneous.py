"""Simultaneous intervals of a gate, widened to agree with its corrected p values.

Each row is tested in both directions: that the truth is above the limit, and that it is below. Both one-sided p values
are corrected within the rows of the gate, at half of 1 - level each. The lower end of the interval is then taken at the
level to which the first p value was held, the upper end at that of the second, so that the interval is on one side of
the limit exactly where the corrected p value says so:

* bonferroni: a / m, m the number of rows with an interval;
* holm: a / (m - k) for the p value of rank k (from 0) among those that are significant, and a / (m - s) for the others,
  s the number of significant ones;
* benjamini_hochberg: a s / m for the significant ones, and a (s + 1) / m for the others.

With a = (1 - level) / 2, falsely deciding gates on one side have at most the chance a (holm, bonferroni) of being any.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.core.ops import Array, Codes
from plmetrics.core.special import ndtri, stdtr, stdtrit
from plmetrics.gates.shares import Shares, shares_of
from plmetrics.inference.comparisons.correction import adjust
from plmetrics.inference.intervals.student import IDENTITY, IntervalScale, scale_of

if TYPE_CHECKING:
    from plmetrics.catalogue.needs import ValueKind


_SMALLEST = 1e-300
_STRETCHED = "centred"
_CHANGE = IntervalScale("log of 1 + v", np.log1p, np.expm1, lambda v: 1 / (1 + v))
_RATIO = scale_of((0.0, np.inf))
_CONTRASTS = {
    "difference": (IDENTITY, (-np.inf, np.inf)),
    "ratio": (_RATIO, (0.0, np.inf)),
    "relative_change": (_CHANGE, (-1.0, np.inf)),
}


@dataclass(frozen=True, slots=True)
class Form:
    """Spread of some rows about their values: errors below and above on a scale, for Student's t of some freedom."""

    rows: Codes
    centre: Array
    below: Array
    above: Array
    freedom: Array
    forward: Callable[[Array], Array]
    backward: Callable[[Array], Array]

    def tails(self, limit: float) -> tuple[Array, Array]:
        """One-sided p values of the tests of a truth above the limit, and below it."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            away = self.centre - self.forward(np.full(self.centre.shape, limit))
            error = np.where(away >= 0, self.below, self.above)
            statistic = np.where(away == 0, 0.0, away / error)
        return stdtr(self.freedom, -statistic), stdtr(self.freedom, statistic)

    def ends(self, beneath: Array, beyond: Array) -> tuple[Array, Array]:
        """Interval ends for a tail probability on either side."""
        with np.errstate(over="ignore"):
            lower = self.centre + stdtrit(self.freedom, beneath) * self.below
            upper = self.centre - stdtrit(self.freedom, beyond) * self.above
            return self.backward(lower), self.backward(upper)


def widen_intervals(
    rows: pl.DataFrame, limit: float, correction: str, *, kind: ValueKind, scale: str, level: float
) -> pl.DataFrame:
    """Rows of a gate with intervals at the level of their corrected p values, and `family_size`, those judged together.

    Values get Student's t on the metric's scale, from `std_error` and `blocks` (form 5 of the resampling rules), and
    contrasts on the contrast's scale, from their own t interval. Shares have exact binomial tests and intervals, of as
    many units as stand behind them (see `plmetrics.gates.shares`). Where there is no such spread the halves of the
    interval that is there are stretched in proportion to the quantiles: of norm-type metrics (`centred`), and of values
    at an end of their range, whose odds go with the square of the quantile (as Wilson's do). Ends are null where there
    is no interval or no wider one with two ends. `scale` is that of a contrast, empty for values.
    """
    forms: list[Form | Shares]
    if scale:
        forms = [_contrasts(rows, scale, level)]
    elif kind.is_share:
        forms = [shares_of(rows, level)]
    else:
        forms = [*_values(rows, kind.bounds, level)]
    limits = _CONTRASTS[scale][1] if scale else kind.bounds
    nonempty = [form for form in forms if len(form.rows)]
    lower, upper = np.full(rows.height, np.nan), np.full(rows.height, np.nan)
    if nonempty:
        index = np.concatenate([form.rows for form in nonempty])
        tails = [form.tails(float(np.clip(limit, *limits))) for form in nonempty]
        left_out = [
            share_left_out(np.concatenate([pair[side] for pair in tails]), correction, (1 - level) / 2)
            for side in (0, 1)
        ]
        cuts = np.cumsum([len(form.rows) for form in nonempty])[:-1]
        parts = zip(nonempty, *(np.split(side, cuts) for side in left_out), strict=True)
        ends = [form.ends(beneath, beyond) for form, beneath, beyond in parts]
        lower[index], upper[index] = (np.concatenate(side) for side in zip(*ends, strict=True))
    endless = ~(np.isfinite(lower) & np.isfinite(upper))
    lower[endless], upper[endless] = np.nan, np.nan
    return rows.with_columns(
        pl.Series("lower", np.clip(lower, *limits)).fill_nan(None),
        pl.Series("upper", np.clip(upper, *limits)).fill_nan(None),
        family_size=pl.lit(sum(len(form.rows) for form in nonempty), dtype=pl.Int64),
    )


def share_left_out(p: Array, correction: str, share: float) -> Array:
    """Limit of each one-sided p value of a family: p <= it exactly where the corrected p <= `share`.

    >>> share_left_out(np.array([0.001, 0.3, 0.012]), "holm", 0.03).round(3).tolist()
    [0.01, 0.03, 0.015]
    """
    number = len(p)
    positive = np.maximum(p, _SMALLEST)
    significant = int((adjust(positive, correction) <= share).sum())
    rank = np.empty(number, dtype=np.int64)
    rank[np.argsort(positive, kind="stable")] = np.arange(number)
    if correction == "bonferroni":
        return np.full(number, share / number)
    if correction == "holm":
        return share / (number - np.minimum(rank, significant))
    if correction == "benjamini_hochberg":
        return share * np.where(rank < significant, significant, significant + 1) / number
    return np.full(number, share)


def _column(rows: pl.DataFrame, name: str) -> Array:
    return rows[name].cast(pl.Float64).fill_null(np.nan).to_numpy()


def _freedom(blocks: Array) -> Array:
    """Student's degrees of freedom; without end where blocks are not known, or do not matter."""
    return np.where(blocks >= 2, blocks - 1, np.inf)


def _contrasts(rows: pl.DataFrame, scale: str, level: float) -> Form:
    """Contrasts have a t interval of their own on their scale, longer on a side where noise may have moved them."""
    transform = _CONTRASTS[scale][0]
    with np.errstate(divide="ignore"):
        value, lower, upper = (
            transform.forward(_column(rows, name)) for name in ("observed", "lower", "upper")
        )
    freedom = _freedom(_column(rows, "blocks"))
    quantile = -stdtrit(freedom, (1 - level) / 2)
    below, above = (value - lower) / quantile, (upper - value) / quantile
    index = np.flatnonzero(np.isfinite(value) & np.isfinite(below + above))
    numbers = value[index], below[index], above[index], freedom[index]
    return Form(index, *numbers, transform.forward, transform.backward)


def _on(scale: IntervalScale, rows: Codes, centre: Array, error: Array, freedom: Array) -> Form:
    return Form(rows, centre, error, error, freedom, scale.forward, scale.backward)


def _values(rows: pl.DataFrame, bounds: tuple[float, float], level: float) -> list[Form]:
    value, lower, upper = (_column(rows, name) for name in ("observed", "lower", "upper"))
    std_error, freedom = _column(rows, "std_error"), _freedom(_column(rows, "blocks"))
    defined = np.isfinite(value) & np.isfinite(lower) & np.isfinite(upper)
    inside = defined & (value > bounds[0]) & (value < bounds[1])
    stretched = defined & (rows["method"] == _STRETCHED).fill_null(value=False).to_numpy()
    student = inside & ~stretched & (std_error > 0)
    at_end = defined & ~inside & ~stretched
    halves = np.flatnonzero(stretched | (inside & ~student))
    index, transform, normal = np.flatnonzero(student), scale_of(bounds), -ndtri((1 - level) / 2)
    factor = np.sqrt(1 + 1 / freedom[index])
    error = std_error[index] * factor * np.abs(transform.slope(value[index]))
    below, above = (value - lower)[halves] / normal, (upper - value)[halves] / normal
    endless = np.full(halves.shape, np.inf)
    return [
        _on(transform, index, transform.forward(value[index]), error, freedom[index]),
        Form(halves, value[halves], below, above, endless, IDENTITY.forward, IDENTITY.backward),
        _at_end(np.flatnonzero(at_end & (value >= bounds[1])), lower, bounds, -1, normal),
        _at_end(np.flatnonzero(at_end & (value <= bounds[0])), upper, bounds, 1, normal),
    ]


def _at_end(rows: Codes, far: Array, bounds: tuple[float, float], way: int, normal: float) -> Form:
    """Values at the lower (`way` 1) or upper end (-1) of a range, their other end `far`.

    The root of the odds is proportional to the quantile, that of the distance where the range is open.
    """
    low, high = bounds
    end, share = low if way > 0 else high, 1 / (high - low)

    def forward(value: Array) -> Array:
        with np.errstate(divide="ignore"):
            return way / np.sqrt(1 / np.abs(value - end) - share)

    def backward(root: Array) -> Array:
        with np.errstate(divide="ignore"):
            return end + way / (1 / root**2 + share)

    nothing = np.zeros(rows.shape)
    reach, endless = np.abs(forward(far[rows])) / normal, np.full(rows.shape, np.inf)
    below, above = (nothing, reach) if way > 0 else (reach, nothing)
    return Form(rows, nothing, below, above, endless, forward, backward)
