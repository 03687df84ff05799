"""The interval of an estimate by the method of its metric: the bootstrap's ladder, or a form without resampling."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plmetrics.inference.intervals.closed_forms import (
    area_error,
    chi2,
    clopper_pearson,
    delong,
    delong_error,
    delong_logit,
    hanley_mcneil,
    hanley_mcneil_score,
    logit,
    normal,
    share_error,
    wilson,
)
from plmetrics.inference.intervals.ladder import Intervals, at_end, interval, share_of, without
from plmetrics.inference.intervals.percentile import acceleration
from plmetrics.inference.intervals.spread import replicate_spread
from plmetrics.inference.intervals.student import IDENTITY, on_scale, scale_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.catalogue.needs import ValueKind
    from plmetrics.inference.estimate import Estimate, ReplicateKind
    from plmetrics.inference.intervals.methods import IntervalMethod

Array = NDArray[np.float64]
Ends = tuple[Array, Array]

_ONE_NUMBER = 1e-10
"""Rows whose numbers differ by less than this share of their mean are one number in double precision."""


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

    Args:
        estimates: the same estimate with each kind of replicates that the method reads.
        chosen: the method.
        kind: what kind of value the metric has, and its range.
        level: two-sided confidence level, such as 0.95.

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
    if chosen.refused:
        return without(estimate.value.shape, chosen.refused)
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
        return without(estimate.value.shape, "not_estimable")
    return _Analytic(estimate, chosen, kind, level).interval()


def _acceleration(estimates: Mapping[ReplicateKind | None, Estimate]) -> Array | None:
    """Acceleration of a bca interval; None where blocks cannot be left out."""
    left_out = estimates.get("jackknife")
    if left_out is None or left_out.replicates is None:
        return None
    return acceleration(left_out.replicates, left_out.value, left_out.groups)


class _Analytic:
    """One form for all slices of an estimate."""

    def __init__(self, estimate: Estimate, chosen: IntervalMethod, kind: ValueKind, level: float) -> None:
        self._estimate = estimate
        self._form = chosen.form
        self._kind = kind
        self._bounds = kind.bounds
        self._level = level
        value = estimate.value
        shape = value.shape
        self._undefined = np.zeros(shape, dtype=np.int64)
        self._lost = np.zeros(shape, dtype=np.bool_)
        self._flat = at_end(value, kind)
        if estimate.replicates is None:
            self._error = self._closed_error()
            self._flat |= self._error == 0
        else:
            described = replicate_spread(
                estimate.replicates, np.abs(value), estimate.kind, value, estimate.groups
            )
            self._error = described.std_error
            self._undefined, self._lost = described.undefined, described.too_many_undefined
            if estimate.row_error is None or estimate.rows is None:
                self._flat |= described.constant
            else:
                self._read_rows(estimate, estimate.row_error, estimate.rows, described.constant)

    def _read_rows(
        self, estimate: Estimate, error: Array, rows: NDArray[np.int64], constant: NDArray[np.bool_]
    ) -> None:
        """Standard error and degrees of freedom from the sums of rows, if they have them.

        Replicates of numbers that are large beside their differences seem constant where sums around a centre are not.
        """
        differ = error * np.sqrt(rows) > _ONE_NUMBER * np.abs(estimate.value)
        self._flat |= constant & ~differ
        exact = np.isfinite(error) & ~self._flat
        self._error = np.where(exact, error, self._error)
        self._estimate = replace(estimate, blocks=np.where(exact, rows, estimate.blocks))

    def interval(self) -> Intervals:
        """The interval of each slice."""
        value, blocks = self._estimate.value, self._estimate.blocks
        method = np.full(value.shape, self._form, dtype=object)
        status = np.full(value.shape, "ok", dtype=object)
        if self._kind.end_form is None:
            status[self._flat] = "degenerate"
        else:
            method[self._flat & (method != "clopper_pearson")] = self._kind.end_form
        status[self._lost] = "undefined_replicates"
        status[blocks < 2] = "too_few_units"
        status[~np.isfinite(value)] = "undefined_value"
        lower, upper = np.full(value.shape, np.nan), np.full(value.shape, np.nan)
        for name in dict.fromkeys(method[status == "ok"]):
            index = np.flatnonzero((method == name) & (status == "ok"))
            ends = self._ends(name, self._estimate.take(index), self._error[index])
            lower[index], upper[index] = (np.clip(end, *self._bounds) for end in ends)
        status[(status == "ok") & ~(np.isfinite(lower) & np.isfinite(upper))] = "degenerate"
        none = status != "ok"
        lower[none], upper[none], method[none] = np.nan, np.nan, None
        error = np.where((blocks < 2) | ~np.isfinite(value), np.nan, self._error)
        return Intervals(lower, upper, error, method, status, self._undefined)

    def _ends(self, name: str, estimate: Estimate, error: Array) -> Ends:
        if (self._kind.is_share and estimate.replicates is None) or name == "wilson":
            return self._of_share(name, estimate)
        if (self._kind.is_area and estimate.replicates is None) or name == "hanley_mcneil_score":
            low, width = self._bounds[0], self._bounds[1] - self._bounds[0]
            lower, upper = self._of_area(name, estimate)
            return low + width * lower, low + width * upper
        value, size = estimate.value, reduce(np.minimum, estimate.sizes) if estimate.sizes else error
        if name == "logit":
            return logit(value, size, self._level)
        if name == "chi2":
            return chi2(value, size, self._level)
        scale = IDENTITY if name == "t" else scale_of(self._bounds)
        return on_scale(value, error, estimate.blocks, scale, self._level)

    def _of_share(self, name: str, estimate: Estimate) -> Ends:
        value, size = share_of(estimate.value, (0.0, 1.0)), reduce(np.minimum, estimate.sizes)
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
            rows = reduce(np.minimum, sizes)
            size = np.where(rows > 0, rows, np.nan)
            error: Array = value / np.sqrt(2 * size) if self._form == "chi2" else share_error(value, size)
        return error
