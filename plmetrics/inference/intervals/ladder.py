"""The ladder: the form of interval of an estimate, slice by slice, and the reason without one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plmetrics.inference.intervals.closed_forms import hanley_mcneil_score, normal, wilson
from plmetrics.inference.intervals.percentile import (
    basic,
    bca,
    centred_interval,
    centred_minimum,
    centred_ratio,
    percentile,
)
from plmetrics.inference.intervals.spread import Spread, replicate_spread
from plmetrics.inference.intervals.student import scale_of, student

if TYPE_CHECKING:
    from collections.abc import Callable

    from plmetrics.catalogue.needs import Bounds, ValueKind
    from plmetrics.inference.estimate import Estimate

Array = NDArray[np.float64]
Texts = NDArray[np.object_]

FEW_BLOCKS = 400
"""Below this many blocks, percentiles of replicates are too narrow and Student's quantiles take over.

Of 6,000 tables of 100 clusters of 8 rows, percentiles of rates, F1, Brier, log loss, MAE and RMSE hold the truth in
93.5 to 94.5 %, `t` in 94.3 to 95.4 %; with 400 clusters in 94.1 to 94.8 %, and 94.5 to 95.5 %.
"""

FEW_BLOCKS_OF_JUMPS = 50
"""The same for metrics that jump: replicates heap up on few values there, which a standard error does not tell."""

_END_TOLERANCE = 1e-12
_CENTRED = {"ratio": centred_ratio, "minimum": centred_minimum}
_CLIPPED = ("basic", "normal", "bca")
"""Forms whose ends may both lie beyond an end of the range: nothing is left of such an interval."""


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Intervals of one estimate over S slices.

    `lower` and `upper` are NaN exactly where `status` is not "ok"; `method` is None there. `std_error` is the
    replicates' standard deviation, also where there is no interval, NaN with fewer than 2 blocks or
    replicates.
    """

    lower: Array
    upper: Array
    std_error: Array
    method: Texts
    status: Texts
    undefined_replicates: NDArray[np.int64]


def interval(
    estimate: Estimate,
    *,
    kind: ValueKind,
    level: float,
    form: str,
    acceleration: Array | None = None,
    smooth: bool = True,
) -> Intervals:
    """Interval of each slice; the first applicable rung decides.

    1. value undefined: `undefined_value`; fewer than 2 blocks: `too_few_units`;
    2. more than 5 % of the replicates undefined: `undefined_replicates`;
    3. value at an end of its range, or all replicates equal: `wilson` for proportions, for ROC areas and Gini
       `hanley_mcneil_score`, else none, `degenerate`;
    4. the form that was asked for; with `auto`, `centred` for norm-type metrics, maxima, minima and smallest
       ratios, `t` for ROC and PR areas and below 400 blocks (50 for metrics that jump), else `percentile`. Where
       `bca` has no correction it is `percentile`.

    Args:
        estimate: values, blocks and replicates; without replicates the status is `not_requested`.
        kind: what kind of value the metric has, and its range, which no end of an interval leaves.
        level: two-sided confidence level, such as 0.95.
        form: the form of rung 4: auto, percentile, t, centred, basic, normal or bca.
        acceleration: `[slice]`, for bca; without it the form is `percentile`.
        smooth: whether a little more weight of a row moves the metric a little.

    >>> from plmetrics.catalogue.needs import ValueKind
    >>> from plmetrics.inference.estimate import Estimate
    >>> drawn = np.linspace(0.6, 0.8, 101)[:, None] * np.array([[1.0, 0.0]]) + np.array([[0.0, 1.0]])
    >>> shares = Estimate(np.array([0.7, 1.0]), np.array(["ok", "ok"]), np.array([900] * 2), drawn, (np.full(2, 90.0),))
    >>> found = interval(shares, kind=ValueKind("proportion", (0.0, 1.0)), level=0.95, form="auto")
    >>> found.method.tolist(), found.lower.round(3).tolist()
    (['percentile', 'wilson'], [0.603, 0.959])
    """
    if estimate.replicates is None:
        return without(estimate.value.shape, "not_requested" if kind.is_resampled else "not_estimable")
    described = replicate_spread(estimate.replicates, np.abs(estimate.value))
    form = "percentile" if form == "bca" and acceleration is None else form
    minimum = FEW_BLOCKS if smooth else FEW_BLOCKS_OF_JUMPS
    method, status = _rungs(estimate, described, kind, form, minimum)
    lower, upper = np.full(estimate.value.shape, np.nan), np.full(estimate.value.shape, np.nan)
    for name in dict.fromkeys(method[status == "ok"]):
        index = np.flatnonzero((method == name) & (status == "ok"))
        centre = _CENTRED.get(kind.name, centred_interval)
        part = estimate.take(index)
        if name == "bca":
            assert acceleration is not None
            ends = _bca_ends(part, acceleration[index], level, method, index)
        else:
            ends = _ends(name, part, described.std_error[index], kind.bounds, level, centre)
        lower[index], upper[index] = (np.clip(end, *kind.bounds) for end in ends)
    lost = (status == "ok") & ~(np.isfinite(lower) & np.isfinite(upper))
    lost |= np.isin(method.astype(str), _CLIPPED) & (status == "ok") & ~(lower < upper)
    status[lost] = "degenerate"
    none = status != "ok"
    lower[none], upper[none], method[none] = np.nan, np.nan, None
    std_error = np.where((estimate.blocks < 2) | (status == "undefined_value"), np.nan, described.std_error)
    return Intervals(lower, upper, std_error, method, status, described.undefined)


def without(shape: tuple[int, ...], reason: str) -> Intervals:
    """No interval in any slice, for one reason."""
    nothing = np.full(shape, np.nan)
    status = np.full(shape, reason, dtype=object)
    method = np.full(shape, None, dtype=object)
    return Intervals(nothing, nothing, nothing, method, status, np.zeros(shape, dtype=np.int64))


def _rungs(
    estimate: Estimate, described: Spread, kind: ValueKind, form: str, minimum: int
) -> tuple[Texts, Texts]:
    """Method and status of each slice: rung 4 first, then 3 to 1, so that the first has the last word."""
    method = np.full(estimate.value.shape, form, dtype=object)
    status = np.full(estimate.value.shape, "ok", dtype=object)
    if form == "auto":
        method[:] = kind.resampling_form
        method[(method == "percentile") & (estimate.blocks < minimum)] = "t"
    flat = described.constant | at_end(estimate.value, kind)
    if kind.end_form is None:
        status[flat] = "degenerate"
    else:
        method[flat] = kind.end_form
    status[described.too_many_undefined] = "undefined_replicates"
    status[estimate.blocks < 2] = "too_few_units"
    status[~np.isfinite(estimate.value)] = "undefined_value"
    return method, status


def _bca_ends(
    estimate: Estimate, acceleration: Array, level: float, method: Texts, index: NDArray[np.int64]
) -> tuple[Array, Array]:
    """Ends of `bca`; without a finite correction those of `percentile`, under that name."""
    assert estimate.replicates is not None
    lower, upper = bca(estimate.value, estimate.replicates, acceleration, level)
    plain = ~np.isfinite(lower)
    if plain.any():
        lower[plain], upper[plain] = percentile(estimate.replicates[:, plain], level)
        method[index[plain]] = "percentile"
    return lower, upper


def at_end(value: Array, kind: ValueKind) -> NDArray[np.bool_]:
    """Whether a value is an end of its range, up to rounding.

    Near 0 there is no rounding to forgive, except for shares and areas, where nothing real is that small.
    """
    low, high = (end if np.isfinite(end) else 0.0 for end in kind.bounds)
    share = kind.is_share or kind.is_area
    slack = [_END_TOLERANCE * (1.0 if share else abs(end)) for end in (low, high)]
    return (value <= kind.bounds[0] + slack[0]) | (value >= kind.bounds[1] - slack[1])


def _ends(
    name: str,
    estimate: Estimate,
    std_error: Array,
    bounds: Bounds,
    level: float,
    centre: Callable[..., tuple[Array, Array]],
) -> tuple[Array, Array]:
    value, replicates = estimate.value, estimate.replicates
    assert replicates is not None
    if name == "wilson":
        return wilson(share_of(value, (0.0, 1.0)), reduce(np.minimum, estimate.sizes), level)
    if name == "hanley_mcneil_score":
        low, width = bounds[0], bounds[1] - bounds[0]
        ends = hanley_mcneil_score(share_of(value, bounds), estimate.sizes[0], estimate.sizes[-1], level)
        return low + width * ends[0], low + width * ends[1]
    if name == "centred":
        return centre(value, replicates, estimate.deviations, bounds[0], level)
    if name == "t":
        return student(value, replicates, estimate.blocks, scale_of(bounds), level)
    if name == "normal":
        return normal(value, std_error, level)
    return basic(value, replicates, level) if name == "basic" else percentile(replicates, level)


def share_of(value: Array, bounds: Bounds) -> Array:
    """Position of a value in its range, from 0 to 1, exactly 0 or 1 for an end up to rounding."""
    share = (value - bounds[0]) / (bounds[1] - bounds[0])
    return np.where(share <= _END_TOLERANCE, 0.0, np.where(share >= 1 - _END_TOLERANCE, 1.0, share))
