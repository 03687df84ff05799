"""Quantiles of a number of each row: exact values, and replicates that move along the exact distribution.

A replicate's quantile is looked for among the rows themselves where rows x replicates are few. Else it is looked for
on coarse bins: where it falls says how many of all rows lie below, and the exact distribution then says what value
stands there. So no replicate is stuck on the edge of a bin.

On a grid a quantile lies between what it would be with each row at the lower, and at the upper end of its bin: its
value is the middle of the two, its bound half of what they are apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.catalogue.needs import Quantiles
from plmetrics.core import ops
from plmetrics.core.segments import Segments
from plmetrics.inference.finalised import OrderedValues, conditions, finalise, value_or_nan
from plmetrics.inference.weights import resample
from plmetrics.states.scores.sorted import replicates_rows
from plmetrics.states.sums import View

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from plmetrics.catalogue.metric import Metric
    from plmetrics.states.scores.sorted import SlicedScores

Array = NDArray[np.float64]

_TIE = 1e-12
_SLICES_AT_ONCE = 4
"""Replicates of the bins of so many slices are held together."""


def quantile_values(
    metrics: Sequence[Metric], sliced: SlicedScores, weights: Array | None
) -> dict[str, OrderedValues]:
    """Values and replicates of some quantiles of one number of each row, by metric text.

    `weights` is W `[replicate, block]`, None without intervals. A largest value gets no replicates.
    """
    state = sliced.point_state()
    point = value_view(state)
    bounds: dict[str, Array] = {}
    if sliced.binned:
        upper = value_view({**state, "score": state["highest"]})
        ends = {metric.text: _between(metric, point, upper) for metric in metrics}
        values = {text: (low + high) / 2.0 for text, (low, high) in ends.items()}
        bounds = {text: (high - low) / 2.0 for text, (low, high) in ends.items()}
        state = {**state, "score": _middle(state)}
    else:
        values = {metric.text: finalise(metric, point) for metric in metrics}
    replicates: dict[str, Array] = {}
    resampled = [metric for metric in metrics if metric.value_kind.is_resampled]
    if weights is not None and resampled:
        if sliced.rows is not None and replicates_rows(sliced.rows, len(weights), sliced.slices):
            replicates = _exact(resampled, sliced, weights)
        else:
            replicates = _coarse(resampled, sliced, weights, state, values)
    return {
        metric.text: OrderedValues(
            values[metric.text],
            conditions(metric, point),
            replicates.get(metric.text),
            None,
            bounds.get(metric.text),
        )
        for metric in metrics
    }


def _between(metric: Metric, lower: View, upper: View) -> tuple[Array, Array]:
    """Between what a quantile lies, by the lower and the upper ends of bins; the ends of all rows are known."""
    assert isinstance(metric.needs, Quantiles)
    low, high = finalise(metric, lower), finalise(metric, upper)
    match metric.needs.level:
        case 0.0:
            return low, low
        case 1.0:
            return high, high
        case _:
            return low, high


def _middle(state: Mapping[str, Segments]) -> Segments:
    """The middle of each bin."""
    low, high = state["score"], state["highest"]
    return Segments((low.values + high.values) / 2.0, low.offsets)


def value_view(state: Mapping[str, Any]) -> View:
    """Distinct values with their weight, as a quantile reads them."""
    total = state["positive"].total()
    return View({"value": state["score"], "mass": state["positive"], "weight": total, "n": total})


def _exact(metrics: Sequence[Metric], sliced: SlicedScores, weights: Array) -> dict[str, Array]:
    by_metric: dict[str, list[Array]] = {metric.text: [] for metric in metrics}
    value = sliced.point_state()["score"]
    for state in sliced.replicate_points(weights):
        replicate = value_view({"score": value, **state})
        for metric in metrics:
            by_metric[metric.text].append(value_or_nan(metric, replicate))
    return {text: np.concatenate(parts, axis=0) for text, parts in by_metric.items()}


def _coarse(
    metrics: Sequence[Metric],
    sliced: SlicedScores,
    weights: Array,
    state: Mapping[str, Segments],
    values: Mapping[str, Array],
) -> dict[str, Array]:
    by_metric: dict[str, list[Array]] = {metric.text: [] for metric in metrics}
    distribution = _Distribution(state)
    for start, stop, counts in sliced.block_counts(weights.shape[1]):
        for first in range(start, stop, _SLICES_AT_ONCE):
            last = min(first + _SLICES_AT_ONCE, stop)
            mass = counts[first - start : last - start].sum(axis=-1, dtype=np.float64)
            total = mass.sum(axis=1)[:, None]
            replicate = resample(weights, mass)
            for metric in metrics:
                assert isinstance(metric.needs, Quantiles)
                level = metric.needs.level
                with np.errstate(divide="ignore", invalid="ignore"):
                    shares = _place(level, replicate, total)
                inverse = distribution.values(np.arange(first, last)[:, None], shares)
                here = distribution.values(np.arange(first, last), np.full(last - first, level))
                shifted = inverse + (values[metric.text][first:last] - here)[:, None]
                by_metric[metric.text].append(np.clip(shifted, *metric.range).T)
    return {text: np.concatenate(parts, axis=1) for text, parts in by_metric.items()}


def _place(level: float, mass: Any, total: Any) -> Any:
    """Where a replicate's quantile lies in the distribution of all rows: a share from 0 to 1.

    Args:
        level: which quantile.
        mass: the replicate's weight by bin `[..., bin]`, bins ascending.
        total: the weight of all rows by bin.
    """
    running, everything = ops.cumulative(mass), ops.cumulative(total)
    target = level * running[..., -1:]
    within = ops.smaller(ops.larger(ops.ratio(target - (running - mass), mass, otherwise=0.0), 0.0), 1.0)
    reached = (running >= target * (1 - _TIE)) & (mass > 0)
    passed = ops.where(reached, everything - total + within * total, np.inf)
    return -ops.largest(-passed) / everything[..., -1]


class _Distribution:
    """The exact distribution of each slice, looked up by share: slices lie end to end on one line."""

    def __init__(self, state: Mapping[str, Segments]) -> None:
        mass, value = state["positive"], state["score"]
        running = mass.cumulative()
        self._value = value.values
        self._offsets = value.offsets
        with np.errstate(invalid="ignore"):
            shares = (running / value.spread(mass.total())).values
        self._place = (
            np.repeat(np.arange(len(value.sizes)), value.sizes) + np.clip(shares, 0.0, 1.0) * _BELOW_ONE
        )

    def values(self, slices: NDArray[np.int64], shares: Array) -> Array:
        """The smallest value with at least so large a share at or below it; NaN for a share that is none."""
        if len(self._value) == 0:
            return np.full(np.broadcast_shapes(slices.shape, shares.shape), np.nan)
        defined = np.isfinite(shares)
        place = np.searchsorted(self._place, slices + np.where(defined, shares, 0.0) * _BELOW_ONE)
        last = np.maximum(self._offsets[slices + 1] - 1, 0)
        present = defined & (self._offsets[slices + 1] > self._offsets[slices])
        return np.where(present, self._value[np.minimum(place, last)], np.nan)


_BELOW_ONE = 1.0 - 1e-9
"""A slice's largest share, so that it ends before the next slice begins."""
