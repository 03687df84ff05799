"""The interval of an estimate, slice by slice, by the method of its metric, and the reason without one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from plmetrics.core.ops import Array, Codes, Flags, Texts
from plmetrics.inference.estimate import Estimate, Intervals, ReplicateKind
from plmetrics.inference.intervals.closed_forms import (
    area_error,
    at_end,
    chi2,
    clopper_pearson,
    delong,
    delong_error,
    delong_logit,
    end_interval,
    garwood,
    hanley_mcneil,
    hanley_mcneil_score,
    hidden_error,
    in_range,
    logit,
    normal,
    share_error,
    share_of,
    wilson,
)
from plmetrics.inference.intervals.percentile import (
    acceleration,
    basic,
    bca,
    centred_interval,
    centred_minimum,
    centred_ratio,
    percentile,
)
from plmetrics.inference.intervals.spread import DEGENERATE, Spread, replicate_spread
from plmetrics.inference.intervals.student import IDENTITY, on_scale, scale_of, student, widening

if TYPE_CHECKING:
    from plmetrics.catalogue.needs import ValueKind
    from plmetrics.inference.intervals.methods import IntervalMethod

Ends = tuple[Array, Array]

FEW_BLOCKS = 400
"""Below this many blocks, percentiles of replicates are too narrow and Student's quantiles take over.

Of 6,000 tables of 100 clusters of 8 rows, percentiles of rates, F1, Brier, log loss, MAE and RMSE hold the truth in
93.5 to 94.5 %, `t` in 94.3 to 95.4 %; with 400 clusters in 94.1 to 94.8 %, and 94.5 to 95.5 %.
"""

FEW_BLOCKS_OF_JUMPS = 50
"""The same for metrics that jump: replicates heap up on few values there, which a standard error does not tell."""

FEW_EVENTS = 10
"""Below this many events their number has an exact interval, where replicates may have none of them."""

OF_EVENTS = "garwood"
"""Of ratios to few events, the exact interval of these."""

OF_RATES = "wilson"
"""Of values whose rates are all 0 or 1, Wilson's interval of these."""

BY_DEFINITION = "definition"
"""Of values that no rows could change: they are their own ends."""

_CENTRED = {"ratio": centred_ratio, "minimum": centred_minimum}
_CLIPPED = ("basic", "normal", "bca")
"""Forms whose ends may both lie beyond an end of the range: nothing is left of such an interval."""

_ROUNDING = 1e-9
"""Sizes of exactly 0 whose replicates differ by less are 0 in these, too."""

_ONE_NUMBER = 1e-10
"""Rows whose numbers differ by less than this share of their mean are one number in double precision."""


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

    1. value undefined: `undefined_value`; one by definition: itself; fewer than 2 blocks: `too_few_units`;
    2. more than 5 % of the replicates undefined: `undefined_replicates`;
    3. value at an end of its range, or all replicates equal: `wilson` for proportions, for ROC areas and Gini
       `hanley_mcneil_score`, else none, `degenerate`, but for gaps of 0 (ratios: 1) that replicates move;
    4. the form that was asked for; with `auto`, `centred` for norm-type metrics, maxima, minima and smallest
       ratios, `t` for ROC and PR areas and below 400 blocks (50 for metrics that jump), else `percentile`. Where
       `bca` has no correction it is `percentile`. Ratios to fewer than 10 events have `garwood` before rung 2.

    Without replicates the status is `not_requested`. No end leaves the range of the metric's `kind`. The `form` is that
    of rung 4: auto, percentile, t, centred, basic, normal or bca, with an `acceleration` of each slice. A metric is
    `smooth` where a little more weight of a row moves it a little.

    >>> from plmetrics.catalogue.needs import ValueKind
    >>> from plmetrics.inference.estimate import Estimate
    >>> drawn = np.linspace(0.6, 0.8, 101)[:, None] * np.array([[1.0, 0.0]]) + np.array([[0.0, 1.0]])
    >>> shares = Estimate(np.array([0.7, 1.0]), np.array(["ok", "ok"]), np.array([900] * 2), drawn, (np.full(2, 90.0),))
    >>> found = interval(shares, kind=ValueKind("proportion", (0.0, 1.0)), level=0.95, form="auto")
    >>> found.method.tolist(), found.lower.round(3).tolist()
    (['percentile', 'wilson'], [0.603, 0.959])
    """
    if estimate.replicates is None:
        return Intervals.without_ends(
            estimate.value.shape, "not_requested" if kind.is_resampled else "not_estimable"
        )
    described = replicate_spread(estimate.replicates, np.abs(estimate.value))
    form = "percentile" if form == "bca" and acceleration is None else form
    minimum = FEW_BLOCKS if smooth else FEW_BLOCKS_OF_JUMPS
    method = np.full(estimate.value.shape, form, dtype=object)
    if form == "auto":
        method[:] = kind.resampling_form
        method[(method == "percentile") & (estimate.blocks < minimum)] = "t"
        if kind.name == "per_event":
            events = estimate.smallest_size
            method[(estimate.value > 0) & (events >= 1) & (events < FEW_EVENTS)] = OF_EVENTS
    centre = _CENTRED.get(kind.name, centred_interval)

    def ends(name: str, index: Codes) -> Ends:
        part = estimate.take(index)
        if name == "bca":
            assert acceleration is not None
            return _bca_ends(part, acceleration[index], level, method, index)
        return _ends(name, part, described.std_error[index], kind, level, centre)

    return on_rungs(estimate, described, kind, method, level, ends)


def on_rungs(
    estimate: Estimate,
    described: Spread,
    kind: ValueKind,
    method: Texts,
    level: float,
    ends: Callable[[str, Codes], Ends],
) -> Intervals:
    """Intervals by the method of each slice, where no rung before it decides: 3 first, so that 1 has the last word.

    `ends` gives those of a method in some slices; it may change their method. What rates of 0 or 1 hide is put together
    with them as ends of independent estimates are: root of the sum of squares (Zou and Donner, 2008, MOVER).
    """
    value, blocks = estimate.value, estimate.blocks
    status = np.full(value.shape, "ok", dtype=object)
    without_gap = (method == "centred") & (described.std_error > _ROUNDING) & _is_without_gap(value, kind)
    exact = method == OF_EVENTS
    flat = (described.constant | (at_end(value, kind) & ~without_gap)) & ~exact
    below, above = estimate.hidden or np.zeros((2, *value.shape))
    reach = np.maximum(below, above)
    if kind.end_form is None:
        status[flat & (reach == 0)] = DEGENERATE
        method[flat & (reach > 0)] = OF_RATES
    else:
        method[flat & (method != "clopper_pearson")] = kind.end_form
    status[described.too_many_undefined & ~exact] = "undefined_replicates"
    status[(blocks < 2) & ~exact] = "too_few_units"
    status[~np.isfinite(value)] = "undefined_value"
    if estimate.by_definition is not None:
        sure = estimate.by_definition & np.isfinite(value)
        status[sure], method[sure] = "ok", BY_DEFINITION
    lower, upper = np.full((2, *value.shape), np.nan)
    for name in dict.fromkeys(method[status == "ok"]):
        index = np.flatnonzero((method == name) & (status == "ok"))
        no_width = name == BY_DEFINITION or (name == OF_RATES and kind.end_form is None)
        low, high = (value[index],) * 2 if no_width else ends(name, index)
        lower[index], upper[index] = (np.clip(end, *kind.bounds) for end in (low, high))
    lower = np.where(below > 0, np.maximum(value - np.hypot(value - lower, below), kind.bounds[0]), lower)
    upper = np.where(above > 0, np.minimum(value + np.hypot(upper - value, above), kind.bounds[1]), upper)
    lost = ~(np.isfinite(lower) & np.isfinite(upper))
    lost |= np.isin(method.astype(str), _CLIPPED) & ~(lower < upper)
    status[lost & (status == "ok")] = DEGENERATE
    none = status != "ok"
    lower[none], upper[none], method[none] = np.nan, np.nan, None
    error = np.hypot(described.std_error, hidden_error((reach,), blocks, level))
    std_error = np.where((blocks < 2) | ~np.isfinite(value), np.nan, error)
    if exact.any():
        std_error[exact] = value[exact] / np.sqrt(estimate.smallest_size[exact])
    return Intervals(lower, upper, std_error, method, status, described.undefined)


def _is_without_gap(value: Array, kind: ValueKind) -> Flags:
    """Mask of sizes of gaps near 0, and ratios near 1, which those of replicates may leave."""
    from_low, from_high = value - kind.bounds[0], kind.bounds[1] - value
    return (from_low < from_high) & kind.is_norm | (from_low > from_high) & (kind.name == "ratio")


def _bca_ends(estimate: Estimate, acceleration: Array, level: float, method: Texts, index: Codes) -> Ends:
    """Ends of `bca`; without a finite correction those of `percentile`, under that name."""
    assert estimate.replicates is not None
    lower, upper = bca(estimate.value, estimate.replicates, acceleration, level)
    plain = ~np.isfinite(lower)
    if plain.any():
        lower[plain], upper[plain] = percentile(estimate.replicates[:, plain], level)
        method[index[plain]] = "percentile"
    return lower, upper


def _ends(
    name: str,
    estimate: Estimate,
    std_error: Array,
    kind: ValueKind,
    level: float,
    centre: Callable[..., Ends],
) -> Ends:
    value, replicates = estimate.value, estimate.replicates
    assert replicates is not None
    if name == kind.end_form:
        return end_interval(value, estimate.sizes, kind, level)
    if name == OF_EVENTS:
        return garwood(value, estimate.smallest_size, level)
    if name == "centred":
        few = widening(estimate.blocks, level)
        return centre(value, replicates, estimate.deviations, kind.bounds[0], level, few)
    if name == "t":
        return student(value, replicates, estimate.blocks, scale_of(kind.bounds), level)
    if name == "normal":
        return normal(value, std_error, level)
    return basic(value, replicates, level) if name == "basic" else percentile(replicates, level)


def interval_of(
    estimates: Mapping[ReplicateKind | None, Estimate],
    chosen: IntervalMethod,
    *,
    kind: ValueKind,
    level: float,
) -> Intervals:
    """The interval of each slice by a method.

    That of the bootstrap is the ladder's. Of the others, the first rung that holds decides: an undefined value, fewer
    than 2 blocks, or a replicate that is undefined give no interval; a value at an end of its range, or one that no
    block moves, that of `wilson` for proportions and of `hanley_mcneil_score` for ROC areas, else none (`degenerate`);
    then comes the form. Ends never leave the range.

    The `estimates` are the same one with each kind of replicates that the method reads.

    >>> from plmetrics.catalogue.needs import ValueKind
    >>> from plmetrics.inference.estimate import Estimate
    >>> from plmetrics.inference.intervals.methods import IntervalMethod
    >>> share = Estimate(np.array([0.75]), np.array(["ok"]), np.array([200]), None, (np.array([200.0]),))
    >>> kind = ValueKind("proportion", (0.0, 1.0))
    >>> found = interval_of({None: share}, IntervalMethod("wilson"), kind=kind, level=0.95)
    >>> found.lower.round(3), found.upper.round(3), found.std_error.round(4)
    (array([0.686]), array([0.805]), array([0.0306]))
    """
    estimate = estimates[chosen.replicates]
    if chosen.refusal:
        return Intervals.without_ends(estimate.value.shape, chosen.refusal)
    if chosen.replicates == "bootstrap":
        return interval(
            estimate,
            kind=kind,
            level=level,
            form=chosen.form,
            smooth=chosen.smooth,
            acceleration=_acceleration(estimates) if chosen.form == "bca" else None,
        )
    if chosen.replicates is not None and estimate.replicates is None:
        return Intervals.without_ends(estimate.value.shape, "not_estimable")
    return _Analytic(estimate, chosen, kind, level).interval()


def _acceleration(estimates: Mapping[ReplicateKind | None, Estimate]) -> Array | None:
    """Acceleration of a bca interval; None where blocks cannot be left out."""
    left_out = estimates.get("jackknife")
    if left_out is None or left_out.replicates is None:
        return None
    return acceleration(left_out.replicates, left_out.value, left_out.spread_groups)


class _Analytic:
    """One form for all slices of an estimate."""

    def __init__(self, estimate: Estimate, chosen: IntervalMethod, kind: ValueKind, level: float) -> None:
        self._estimate = estimate
        self._form = chosen.form
        self._kind = kind
        self._bounds = kind.bounds
        self._level = level
        value = estimate.value
        if estimate.replicates is None:
            error, none = self._closed_error(), np.zeros(value.shape, dtype=np.bool_)
            self._described = Spread(none.astype(np.int64), error, error == 0, none)
            return
        self._described = replicate_spread(
            estimate.replicates, np.abs(value), estimate.kind, value, estimate.spread_groups
        )
        if estimate.row_error is not None and estimate.rows is not None:
            self._read_rows(estimate, estimate.row_error, estimate.rows)

    def _read_rows(self, estimate: Estimate, error: Array, rows: Codes) -> None:
        """Standard error and degrees of freedom from the sums of rows, if they have them.

        Replicates of numbers that are large beside their differences seem constant where sums around a centre are not.
        """
        differ = error * np.sqrt(rows) > _ONE_NUMBER * np.abs(estimate.value)
        constant = self._described.constant & ~differ
        exact = np.isfinite(error) & ~constant & ~at_end(estimate.value, self._kind)
        std_error = np.where(exact, error, self._described.std_error)
        groups = None if estimate.groups is None else np.where(exact, rows, estimate.groups)
        self._described = replace(self._described, constant=constant, std_error=std_error, groups=groups)
        self._estimate = replace(estimate, blocks=np.where(exact, rows, estimate.blocks))

    def interval(self) -> Intervals:
        """The interval of each slice."""
        method = np.full(self._estimate.value.shape, self._form, dtype=object)
        return on_rungs(self._estimate, self._described, self._kind, method, self._level, self._ends)

    def _ends(self, name: str, index: Codes) -> Ends:
        estimate, error = (
            self._estimate.take(index),
            self._described.student_error(self._estimate.blocks)[index],
        )
        if (self._kind.is_share and estimate.replicates is None) or name == "wilson":
            return self._of_share(name, estimate)
        if (self._kind.is_area and estimate.replicates is None) or name == "hanley_mcneil_score":
            return in_range(self._of_area(name, estimate), self._bounds)
        value, size = estimate.value, estimate.smallest_size if estimate.sizes else error
        if name == "logit":
            return logit(value, size, self._level)
        if name == "chi2":
            return chi2(value, size, self._level)
        scale = IDENTITY if name == "t" else scale_of(self._bounds)
        return on_scale(value, error, estimate.blocks, scale, self._level)

    def _of_share(self, name: str, estimate: Estimate) -> Ends:
        value, size = share_of(estimate.value, (0.0, 1.0)), estimate.smallest_size
        if name == "clopper_pearson":
            return clopper_pearson(value, size, self._level)
        if name == "normal":
            return normal(value, share_error(value, size), self._level)
        return wilson(value, size, self._level)

    def _of_area(self, name: str, estimate: Estimate) -> Ends:
        area, sizes = share_of(estimate.value, self._bounds), (estimate.sizes[0], estimate.sizes[-1])
        if name == "hanley_mcneil_score":
            return hanley_mcneil_score(area, *sizes, self._level)
        if name == "hanley_mcneil":
            return hanley_mcneil(area, *sizes, self._level)
        assert estimate.placements is not None
        if name == "delong":
            return delong(area, estimate.placements, self._level)
        return delong_logit(area, estimate.placements, sizes, self._level)

    def _closed_error(self) -> Array:
        """Standard error to go with a closed form."""
        value, sizes = self._estimate.value, self._estimate.sizes
        with np.errstate(divide="ignore", invalid="ignore"):
            if self._kind.is_area:
                width = self._bounds[1] - self._bounds[0]
                if self._form.startswith("delong") and self._estimate.placements is not None:
                    return width * delong_error(self._estimate.placements)
                return width * area_error(share_of(value, self._bounds), sizes[0], sizes[-1])
            rows = self._estimate.smallest_size
            size = np.where(rows > 0, rows, np.nan)
            error: Array = value / np.sqrt(2 * size) if self._form == "chi2" else share_error(value, size)
        return error
