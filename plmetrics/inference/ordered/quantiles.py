"""Quantiles of a number of each row: exact values, and replicates along the exact distribution.

A replicate's quantile is looked for among the rows themselves where rows x replicates are few. Else it is looked for
on coarse bins: where it falls says how many of all rows lie below, and the exact distribution then says what value
stands there. So no replicate is stuck on the edge of a bin.

Where points came in ranges those of a few slices are made at a time, and those of a long slice piece by piece.

On a grid a quantile lies between what it would be with each row at the lower, and at the upper end of its bin: its
value is that of rows spread evenly over their bins, its bound how far the further one of the two is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.catalogue.needs import Quantiles
from plmetrics.core import ops
from plmetrics.core.ops import Array, Codes
from plmetrics.core.pieces import Pieces
from plmetrics.inference.metric_values import MetricValues, conditions, finalise, value_or_nan
from plmetrics.inference.records import end_to_end
from plmetrics.inference.weights import resample
from plmetrics.states.scores.coarse import replicates_rows
from plmetrics.states.scores.exact.ranges import SlicedPoints
from plmetrics.states.sums import View

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.core.segments import Segments
    from plmetrics.states.scores.sliced_scores import SlicedScores


_TIE = 1e-12
_SLICES_AT_ONCE = 4
"""Replicates of the bins of so many slices are held together."""


def quantile_values(
    metrics: Sequence[Metric], sliced: SlicedScores, weights: Array | None
) -> dict[str, MetricValues]:
    """Values and replicates of some quantiles of one number of each row, by metric text.

    `weights` is W `[replicate, block]`, None without intervals. A largest value gets no replicates.
    """
    if isinstance(sliced, SlicedPoints):
        return _of_parts(metrics, sliced, weights)
    state = sliced.point_state()
    point = value_view(state)
    values = {metric.text: finalise(metric, point) for metric in metrics}
    bounds: dict[str, Array] = {}
    if sliced.has_bins:
        spread = _Distribution(state)
        for metric in metrics:
            ends = _ends(metric, state)
            values[metric.text] = np.clip(spread.values(np.arange(sliced.slices), _level(metric)), *ends)
            bounds[metric.text] = np.maximum(*(np.abs(values[metric.text] - end) for end in ends))
    replicates: dict[str, Array] = {}
    resampled = [metric for metric in metrics if metric.value_kind.is_resampled]
    if weights is not None and resampled:
        if sliced.rows is not None and replicates_rows(sliced.rows, len(weights), sliced.slices):
            replicates = _exact(resampled, sliced, weights)
        else:
            replicates = _coarse(resampled, sliced, weights, _Distribution(state), values)
    return {
        metric.text: MetricValues(
            values[metric.text],
            conditions(metric, point),
            replicates.get(metric.text),
            None,
            bounds.get(metric.text),
        )
        for metric in metrics
    }


def _of_parts(
    metrics: Sequence[Metric], sliced: SlicedPoints, weights: Array | None
) -> dict[str, MetricValues]:
    """Values of quantiles from points in ranges."""

    def on_part(make: Callable[[], Mapping[str, Any]]) -> list[MetricValues]:
        point = value_view(make())
        return [MetricValues(finalise(one, point), conditions(one, point), None, None) for one in metrics]

    parts = [on_part(make) for make in sliced.parts(scores=True)]
    out = {
        metric.text: end_to_end(of_metric)
        for metric, of_metric in zip(metrics, zip(*parts, strict=True), strict=True)
    }
    resampled = [metric for metric in metrics if metric.value_kind.is_resampled]
    if weights is None or not resampled:
        return out
    values = {metric.text: out[metric.text].value for metric in resampled}
    replicates = _coarse(resampled, sliced, weights, _Distributions(sliced), values)
    return {text: replace(of_metric, replicates=replicates.get(text)) for text, of_metric in out.items()}


def _level(metric: Metric) -> Array:
    assert isinstance(metric.needs, Quantiles)
    return np.asarray(metric.needs.level, dtype=np.float64)


def _ends(metric: Metric, state: Mapping[str, Segments]) -> tuple[Array, Array]:
    """Bounds of quantiles on a grid, within the lowest and the highest number of all."""
    low, high = (finalise(metric, value_view({**state, "score": state[end]})) for end in ("score", "highest"))
    level = _level(metric)
    return (high if level == 1.0 else low), (low if level == 0.0 else high)


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
    distribution: _Distribution | _Distributions,
    values: Mapping[str, Array],
) -> dict[str, Array]:
    by_metric: dict[str, list[Array]] = {metric.text: [] for metric in metrics}
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
                here = distribution.values(np.arange(first, last), np.asarray(level))
                shifted = inverse + (values[metric.text][first:last] - here)[:, None]
                by_metric[metric.text].append(np.clip(shifted, *metric.range).T)
    return {text: np.concatenate(parts, axis=1) for text, parts in by_metric.items()}


def _place(level: float, mass: Any, total: Any) -> Any:
    """Position of a replicate's quantile in the distribution of all rows: a share from 0 to 1.

    Both have weights by bin `[..., bin]`, bins ascending.
    """
    running, everything = ops.cumulative(mass), ops.cumulative(total)
    target = level * running[..., -1:]
    within = ops.smaller(ops.larger(ops.ratio(target - (running - mass), mass, otherwise=0.0), 0.0), 1.0)
    reached = (running >= target * (1 - _TIE)) & (mass > 0)
    passed = ops.where(reached, everything - total + within * total, np.inf)
    return -ops.largest(-passed) / everything[..., -1]


class _Distribution:
    """The distribution of each slice, looked up by share: slices lie end to end on one line.

    On a grid the rows of a bin are spread evenly over it.
    """

    def __init__(self, state: Mapping[str, Segments]) -> None:
        mass, value = state["positive"], state["score"]
        running = mass.cumulative()
        self._value = value.values
        self._highest = state["highest"].values if "highest" in state else None
        self._offsets = value.offsets
        total = value.spread(mass.total())
        with np.errstate(invalid="ignore"):
            shares, self._share = (running / total).values, (mass / total).values
        shares = np.clip(np.nan_to_num(shares), 0.0, 1.0)  # slices without rows lie among the others as well
        self._place = np.repeat(np.arange(len(value.sizes)), value.sizes) + shares * _BELOW_ONE

    def values(self, slices: Codes, shares: Array) -> Array:
        """Smallest value with at least so large a share at or below it; NaN for an invalid share."""
        shape = np.broadcast_shapes(slices.shape, shares.shape)
        if len(self._value) == 0:
            return np.full(shape, np.nan)
        defined = np.isfinite(shares)
        target = slices + np.where(defined, shares, 0.0) * _BELOW_ONE
        last = np.maximum(self._offsets[slices + 1] - 1, 0)
        place = np.minimum(np.searchsorted(self._place, target), last)
        present = np.broadcast_to(defined & (self._offsets[slices + 1] > self._offsets[slices]), shape)
        value = self._value[place]
        if self._highest is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                above = (self._place[place] - target) / (self._share[place] * _BELOW_ONE)
            within = 1.0 - np.clip(np.nan_to_num(above), 0.0, 1.0)
            with np.errstate(invalid="ignore"):  # a slice without rows has no ends
                half = self._highest[place] / 2 - value / 2  # the whole may be larger than any float
                value = 2 * (value / 2 + half * within)
        return np.where(present, value, np.nan)


_BELOW_ONE = 1.0 - 1e-9
"""A slice's largest share, so that it ends before the next slice begins."""


class _InPieces:
    """Distribution of one long slice, looked up by share in the pieces with these shares."""

    def __init__(self, state: Mapping[str, Pieces]) -> None:
        self._mass, self._value = state["positive"], state["score"]
        self._ends = np.cumsum(self._mass.sums())

    def values(self, slices: Codes, shares: Array) -> Array:
        """See `_Distribution`; there is one slice."""
        del slices
        out = np.full(shares.shape, np.nan)
        defined = np.isfinite(shares)
        last = len(self._ends) - 1
        piece = np.minimum(np.searchsorted(self._ends / self._ends[-1], shares), last)
        for number in np.unique(piece[defined]).tolist():
            here = defined & (piece == number)
            running = self._mass.piece(number, {}).cumsum() + (self._ends[number - 1] if number else 0.0)
            place = np.searchsorted(running / self._ends[-1], shares[here])
            out[here] = self._value.piece(number, {})[np.minimum(place, len(running) - 1)]
        return out


class _Distributions:
    """Distributions of all slices with points in ranges; those of a few are in memory at a time."""

    def __init__(self, sliced: SlicedPoints) -> None:
        assert sliced.distinct is not None
        self._points = sliced.distinct
        self._spans = self._points.few_slices()
        self._cache: tuple[tuple[int, int], _Distribution | _InPieces] | None = None

    def values(self, slices: Codes, shares: Array) -> Array:
        """See `_Distribution`."""
        slices, shares = np.broadcast_arrays(slices, shares)
        out = np.full(shares.shape, np.nan)
        for part in self._spans:
            inside = (part[0] <= slices) & (slices < part[1])
            if inside.any():
                out[inside] = self._of(part).values(slices[inside] - part[0], shares[inside])
        return out

    def _of(self, part: tuple[int, int]) -> _Distribution | _InPieces:
        if self._cache is None or self._cache[0] != part:
            state: Any = self._points.state(*part)
            in_pieces = isinstance(state["score"], Pieces) and state["score"].count > 0
            whole: Any = state if in_pieces else self._points.state(*part, long=False)
            self._cache = part, _InPieces(whole) if in_pieces else _Distribution(whole)
        return self._cache[1]
