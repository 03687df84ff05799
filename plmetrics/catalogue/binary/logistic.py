"""Logistic recalibration: the line a + b logit(p) of the best fit to the log odds of the labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from plmetrics.catalogue.bases import BothClasses
from plmetrics.catalogue.binary.counts import INFINITY
from plmetrics.catalogue.binary.probability import FLOAT_EPSILON
from plmetrics.catalogue.metric import Undefined
from plmetrics.catalogue.needs import Points
from plmetrics.catalogue.parameters import parameter
from plmetrics.catalogue.registry import register
from plmetrics.catalogue.variation import LAST_DIGITS
from plmetrics.core import ops
from plmetrics.core.segments import Segments

_COX = "Cox (1958), Two further applications of a model for binary regression, Biometrika 45(3/4)"
_STEPS = 100
_FEW = 0.5
_SETTLED = 1e-6
"""Newton's error after a step is about the square of the step."""
_ROOM = 1 << 16
"""So many points take steps at a time: what is computed of them stays in the processor's cache."""
_MAX_SLOPE = 2.0
"""Steeper discriminants, of classes that nearly part, are no start: probabilities there are all but 0 and 1."""


class Recalibration(BothClasses):
    """Base of the coefficients of a logistic regression of the labels on the log odds of the scores."""

    task = "binary"
    needs = Points("scores")
    range = (-INFINITY, INFINITY)
    probability = True
    needs_score = True
    expressible = False
    reference = _COX


@register
class CalibrationSlope(Recalibration):
    """b of the logistic regression logit P(y = 1) = a + b logit(p), by maximum likelihood without a penalty.

    1 for calibrated scores; below 1 they are too extreme, as those of an overfitted model, above 1 too timid. Scores
    are held to [2.220446049250313e-16, 1 - 2.220446049250313e-16] before the logit, as in log_loss. Weighted by row;
    any number; undefined (`no_positives`, `no_negatives`) where a class is absent, `no_finite_fit` where no score of
    a positive is below one of a negative, or none above: the likelihood then has no finite maximum; so it has none in
    practice where scores differ in their last digits alone. Source: Cox (1958).

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0, 0, 0, 1, 1, 1, 0], "p": [0.1] * 4 + [0.9] * 4})
    >>> round(plm.evaluate(rows, label="y", models="p", metrics=["calibration_slope"]).metrics["value"].item(), 6)
    0.5
    """

    name = "calibration_slope"
    criterion = "calibration"
    direction = "none"
    formula = "b of the maximum likelihood fit of logit P(y = 1) = a + b logit(p)"
    use_when = (
        "You ask whether scores are too extreme or too timid, as after overfitting or a change of population."
    )
    beware = (
        "A few rows with p near 0 or 1 are far out in log odds and may decide it; 1 says nothing of the level. Fitted "
        "in steps through all distinct scores: as long as some 30 scans of the table."
    )

    def finalise(self, state: Any) -> Any:
        return _joint_fit(state)[1]

    def undefined(self, state: Any) -> Undefined:
        """A class is absent, or the scores separate the classes."""
        return [*super().undefined(state), ("no_finite_fit", _is_separable(state, _log_odds(state)))]


@register
@dataclass(frozen=True)
class CalibrationIntercept(Recalibration):
    """a of the logistic regression logit P(y = 1) = a + b logit(p), with b = 1 (in the large) or fitted with it.

    With slope one, 0 for scores that are right on average; above 0 they are too low, below 0 too high, in log odds.
    With slope free, the a that belongs to calibration_slope: the log odds of rows with a score of 0.5. Scores are held
    away from 0 and 1 as in log_loss. Weighted by row; any number; undefined (`no_positives`, `no_negatives`) where a
    class is absent, with slope free `no_finite_fit` where scores separate the classes. Source: Cox (1958).

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0, 0, 0], "p": [0.5, 0.5, 0.5, 0.5]})
    >>> round(plm.evaluate(rows, label="y", models="p", metrics=["calibration_intercept"]).metrics["value"].item(), 6)
    -1.098612
    """

    name = "calibration_intercept"
    criterion = "calibration"
    direction = "zero"
    formula = "a of the maximum likelihood fit of logit P(y = 1) = a + b logit(p), b = 1 or fitted as well"
    use_when = (
        "You ask whether scores are too high or too low overall, on the scale on which one adds a correction."
    )
    beware = "With slope free it depends on the slope and is no measure of the level: report the one with slope one."

    slope: str = parameter("one", doc="whether b is 1 or fitted as well", options=("one", "free"))

    def finalise(self, state: Any) -> Any:
        return _level(state) if self.slope == "one" else _joint_fit(state)[0]

    def undefined(self, state: Any) -> Undefined:
        """A class is absent, or, with the slope free, the scores separate the classes."""
        never = np.zeros(np.shape(state.weight), dtype=np.bool_)
        separable = never if self.slope == "one" else _is_separable(state, _log_odds(state))
        return [*super().undefined(state), ("no_finite_fit", separable)]


def _log_odds(state: Any) -> Any:
    clipped = ops.smaller(ops.larger(state.score, FLOAT_EPSILON), 1.0 - FLOAT_EPSILON)
    return ops.log(clipped) - ops.log1p(-clipped)


def _is_separable(state: Any, odds: Any) -> Any:
    """Whether no positive has lower log odds than some negative, or none higher; also of scores that are one number."""
    ends = [
        ops.largest(ops.where(present, side, -INFINITY))
        for present in (state.positive > 0, state.negative > 0)
        for side in (odds, -odds)
    ]
    highest_positive, lowest_positive, highest_negative, lowest_negative = ends
    occupied = state.positive + state.negative > 0
    highest, lowest = (
        ops.largest(ops.where(occupied, side, -INFINITY)) for side in (state.score, -state.score)
    )
    alike = highest + lowest <= LAST_DIGITS * highest
    return alike | (highest_negative <= -lowest_positive) | (highest_positive <= -lowest_negative)


def _level(state: Any) -> Any:
    """The level a with b = 1, NaN where it does not settle."""
    odds = _log_odds(state)
    mass = state.positive + state.negative
    level, _ = _discriminant(state, odds, 1.0)
    for _ in range(_STEPS):
        short, curved = _shortfall(state.positive, state.negative, ops.broadcast(level, mass) + odds)
        step = ops.ratio(ops.total(short), ops.total(curved))
        level = level + step * _damping(np.abs(step))
        if not np.any(np.abs(step) > _SETTLED):
            break
    return np.where(np.abs(step) <= _SETTLED, level, np.nan)


def _joint_fit(state: Any) -> tuple[Any, Any]:
    """Level a and slope b, NaN where they do not settle or the scores separate the classes.

    Log odds are taken from their mean, so that neither unknown hangs on the other.
    """
    odds = _log_odds(state)
    mass = state.positive + state.negative
    fits = ~_is_separable(state, odds)
    centre = ops.ratio(ops.total(mass * odds), ops.total(mass))
    odds = odds - ops.broadcast(centre, mass)
    start = np.stack(_discriminant(state, odds, None))[:, fits]
    points = ops.compress((mass > 0) & ops.broadcast(fits, mass), state.positive, state.negative, odds)
    line = np.full((2, *np.shape(fits)), np.nan)
    line[:, fits] = _settle(points, start)
    level, slope = line
    return level - slope * centre, slope


def _settle(points: Any, line: Any) -> Any:
    """Level and slope `[2, slice]` by Newton's steps from a start, some slices at a time."""
    if not isinstance(points[0], Segments):
        return _settle_together(points, line)
    settled, offsets, first = np.full_like(line, np.nan), points[0].offsets, 0
    while first < line.shape[1]:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + _ROOM, side="right")) - 1)
        ends = slice(offsets[first], offsets[last])
        part = [Segments(each.values[ends], offsets[first : last + 1] - ends.start) for each in points]
        settled[:, first:last] = _settle_together(part, line[:, first:last])
        first = last
    return settled


def _settle_together(points: Any, line: Any) -> Any:
    """Level and slope by Newton's steps, NaN where they do not settle.

    Slices that have settled take no part any more once they are half of those left: a few need many steps.
    """
    settled = np.full_like(line, np.nan)
    active = np.arange(line.shape[1])
    for _ in range(_STEPS if len(active) else 0):
        positive, negative, odds = points
        step = np.stack(_newton(positive, negative, odds, line))
        change = np.abs(step[0]) + np.abs(step[1]) * ops.largest(ops.absolute(odds))
        line = line + _damping(change) * step
        done = (change <= _SETTLED) & np.isnan(settled[0, active])
        settled[:, active[done]] = line[:, done]
        left = change > _SETTLED
        if not left.any():
            break
        if left.mean() <= _FEW:
            points = ops.compress(ops.broadcast(left, odds), *points)
            active, line = active[left], line[:, left]
    return settled


def _discriminant(state: Any, odds: Any, slope: float | None) -> tuple[Any, Any]:
    """Level and slope of the linear discriminant, the fit of normal log odds of one variance: steps start there."""
    negatives, positives = ops.total(state.negative), ops.total(state.positive)
    low = ops.ratio(ops.total(state.negative * odds), negatives)
    high = ops.ratio(ops.total(state.positive * odds), positives)
    if slope is None:
        square = ops.total((state.negative + state.positive) * odds * odds)
        within = square - negatives * low**2 - positives * high**2
        slope = ops.ratio((high - low) * (negatives + positives), within, otherwise=1.0)
        slope = np.clip(slope, -_MAX_SLOPE, _MAX_SLOPE)
    return ops.log(ops.ratio(positives, negatives)) - slope * (low + high) / 2.0, slope


def _newton(positive: Any, negative: Any, odds: Any, line: Any) -> tuple[Any, Any]:
    level, slope = (ops.broadcast(values, odds) for values in line)
    short, curved = _shortfall(positive, negative, level + slope * odds)
    tilted = curved * odds
    first, second = ops.total(short), ops.total(short * odds)
    total, cross, square = ops.total(curved), ops.total(tilted), ops.total(tilted * odds)
    determinant = total * square - cross**2
    return (square * first - cross * second) / determinant, (total * second - cross * first) / determinant


def _shortfall(positive: Any, negative: Any, log_odds: Any) -> tuple[Any, Any]:
    """Positives beyond those expected by log odds, and the derivative of these; without cancelling at the ends.

    The rarer class at each point is counted: positives where log odds are below 0, else negatives.
    """
    tail = np.exp(-ops.absolute(log_odds))
    whole = 1.0 + tail
    rarer = (positive + negative) * tail / whole
    short = ops.where(log_odds < 0, positive - rarer, rarer - negative)
    return short, rarer / whole


def _damping(change: Any) -> Any:
    """Damping of a step with a maximal change of log odds: the likelihood then rises by every step.

    Source: Sun and Tran-Dinh (2019), Generalized self-concordant functions: a recipe for Newton-type methods,
    Mathematical Programming 178.
    """
    return ops.ratio(np.log1p(change), change, otherwise=1.0)
