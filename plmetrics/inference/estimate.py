"""An estimate: one metric of one model in some slices, with the input of its interval; and that interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import Literal

import numpy as np

from plmetrics.core.hashing import mix
from plmetrics.core.ops import Array, Codes, Flags, Texts
from plmetrics.inference.records import end_to_end, entries_of

ReplicateKind = Literal["bootstrap", "jackknife", "influence"]
"""How replicates were made: blocks drawn, one block left out, or one block counted a little more and a little less."""

_BELOW_INTEGER, _NEAR = 1e-9, 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """One metric of one model over S slices.

    `value` is NaN where undefined, and `status` then says why; it is "ok" elsewhere. `blocks` are the
    effective numbers of blocks. `replicates` `[replicate, slice]` are NaN where undefined, None without
    resampling. `sizes` are the sample sizes of the metric's denominators: rows where they are independent and
    count once (n for a proportion; positives and negatives for an ROC area), else Kish's sizes of weighted units.
    `deviations` `[replicate, slice]`, of norm-type metrics, are the size of (replicate's vector - point's
    vector).

    `kind` says how the replicates were made, and so what their spread means: `intervals.spread` reads it. `groups`
    are the numbers of blocks with rows of the slice; None where all count. `placements` are, of an ROC area, the
    variances of the positives' and of the negatives' mean placement. `row_error` is the standard error that the sums of
    independent rows say, NaN where they do not, and `rows` their effective numbers; None where blocks alone do.
    `plausible` are, of shares and areas, the other ends of the intervals of values at an end of their range, which no
    replicate moves, and the values elsewhere. `hidden` is, of functions of rates, how far below and above they may
    be beside what replicates show, for some of the rates are 0 or 1; `tie` is how far two models may differ whose rates
    are the same. `fingerprints` are those of the rows that
    denominators count, equal where two models count the same; NaN where these lie behind a cut of scores.
    `by_definition` marks values that no rows could change, as of a group or a model that is held against itself.
    `total` is whether the values grow with the rows.
    """

    value: Array
    status: Texts
    blocks: Codes
    replicates: Array | None
    sizes: tuple[Array, ...]
    deviations: Array | None = None
    kind: ReplicateKind = "bootstrap"
    groups: Codes | None = None
    placements: tuple[Array, Array] | None = None
    row_error: Array | None = None
    rows: Codes | None = None
    plausible: Array | None = None
    hidden: tuple[Array, Array] | None = None
    tie: Array | None = None
    fingerprints: tuple[Array, ...] = ()
    by_definition: Flags | None = None
    total: bool = False

    @property
    def spread_groups(self) -> Codes | None:
        """Numbers of blocks that count in the spread; None for all, as of totals: blocks without rows add 0."""
        return None if self.total else self.groups

    @property
    def smallest_size(self) -> Array:
        """Size behind each value, the smallest of several; there must be one."""
        return reduce(np.minimum, self.sizes)

    @property
    def ends(self) -> tuple[Array, ...]:
        """Values below and above that replicates do not show; none without plausible ends."""
        if self.hidden is not None:
            return self.value - self.hidden[0], self.value + self.hidden[1]
        return () if self.plausible is None else (self.plausible,)

    @property
    def reach(self) -> Array | None:
        """Distance of each value from its plausible end, 0 where replicates show their spread; None for the others."""
        if self.plausible is None:
            return None
        distance: Array = np.nan_to_num(np.abs(self.plausible - self.value), nan=np.inf)
        return np.where(np.isfinite(self.value), distance, 0.0)

    def take(self, index: Codes) -> Estimate:
        """The estimate of some of the slices."""
        if len(index) == len(self.value) and (index == np.arange(len(index))).all():
            return self
        return entries_of(self, index)


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
    undefined_replicates: Codes

    def on_line(self, slope: float, intercept: float) -> Intervals:
        """Intervals of a linear function of the values."""
        ends = slope * self.lower + intercept, slope * self.upper + intercept
        return replace(
            self, lower=np.minimum(*ends), upper=np.maximum(*ends), std_error=abs(slope) * self.std_error
        )

    @staticmethod
    def without_ends(shape: tuple[int, ...], reason: str) -> Intervals:
        """No interval in any slice, for one reason."""
        nothing = np.full(shape, np.nan)
        status, method = np.full(shape, reason, dtype=object), np.full(shape, None, dtype=object)
        return Intervals(nothing, nothing, nothing, method, status, np.zeros(shape, dtype=np.int64))


def farther_end(value: Array, hidden: tuple[Array, Array]) -> Array:
    """Of two ends, at distances below and above a value, the farther one."""
    below, above = hidden
    return value + np.where(above > below, above, -below)


def of_other_rows(first: Estimate, second: Estimate) -> tuple[Estimate, Estimate]:
    """Two estimates of the same units, with plausible ends where they count other rows of these, as calls of models.

    Of the same rows replicates show all that there is: rows that one hits and the other misses.
    """
    if first.plausible is None or second.plausible is None:
        return first, second
    same = same_rows(first, second)
    return (
        replace(first, plausible=np.where(same, first.value, first.plausible)),
        replace(second, plausible=np.where(same, second.value, second.plausible)),
    )


def same_rows(first: Estimate, second: Estimate) -> Flags:
    """Mask of slices in which the denominators of two estimates count the same rows, as far as fingerprints tell."""
    if len(first.fingerprints) != len(second.fingerprints) or not first.fingerprints:
        return np.zeros(first.value.shape, dtype=np.bool_)
    pairs = zip(first.fingerprints, second.fingerprints, strict=True)
    return reduce(and_, (np.isclose(*pair, rtol=_NEAR, atol=0.0) for pair in pairs), np.isfinite(first.value))


def most_groups(estimates: Sequence[Estimate]) -> Codes | None:
    """Numbers of nonempty blocks in any of several estimates of the same slices."""
    groups = [estimate.groups for estimate in estimates if estimate.groups is not None]
    return reduce(np.maximum, groups) if groups else None


def effective_blocks(masses: tuple[Array, ...]) -> Codes:
    """Effective number of equal blocks: floor((sum m)^2 / sum m^2), the least over the masses.

    Each of `masses` is `[..., block]`, not negative. A mass of 0 in all blocks counts as 0 blocks.

    >>> effective_blocks((np.array([[1.0, 1.0, 1.0], [4.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),))
    array([3, 1, 0])
    """
    return reduce(np.minimum, (whole_blocks(equal_blocks(mass)) for mass in masses))


def equal_blocks(mass: Array) -> Array:
    """(sum m)^2 / sum m^2 of masses `[..., block]`, 0 without any."""
    mass = np.asarray(mass, dtype=np.float64)
    largest = np.max(mass, axis=-1, initial=0.0, keepdims=True)
    with np.errstate(invalid="ignore"):
        share = np.divide(mass, largest, out=np.zeros_like(mass), where=largest > 0)
    squares = np.sum(share * share, axis=-1)
    number: Array = np.divide(
        np.sum(share, axis=-1) ** 2, squares, out=np.zeros_like(squares), where=squares > 0
    )
    return number


def fingerprint(mass: Array) -> Array:
    """Sum of masses `[..., block]`, each times a factor of its block: equal sums of other masses are hardly alike.

    >>> fingerprint(np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])).round(3).tolist()
    [2.457, 3.197]
    """
    factors = mix(np.arange(1, mass.shape[-1] + 1, dtype=np.uint64)).astype(np.float64) * 2.0**-64 + 1.0
    return mass @ factors


def kish_sizes(equal: Array, blocks: int | None, rows: Array) -> Array:
    """Effective numbers of units, (sum w)^2 / sum w^2, reduced to `equal` blocks where units share `blocks`.

    On average over the hashes that put units into K blocks, sum W^2 = sum w^2 + ((sum w)^2 - sum w^2) / K, W the
    weight of a block: that is solved for the number of units, which is at most that of rows. Units that share no block
    (`None`) are the blocks.

    >>> kish_sizes(np.array([500.0, 990.0]), 1000, np.array([1e6, 1e6])).round().tolist()
    [999.0, 98901.0]
    """
    if blocks is None:
        return equal
    left = blocks - equal
    solved = np.divide(equal * (blocks - 1), left, out=np.full(left.shape, np.inf), where=left > 0)
    sizes: Array = np.minimum(solved, rows)
    return sizes


def whole_blocks(number: Array) -> Codes:
    """Whole part of effective numbers, robust to rounding; 0 for NaN."""
    return np.floor(np.nan_to_num(number, posinf=0.0) + _BELOW_INTEGER).astype(np.int64)


def stack(estimates: Sequence[Estimate]) -> Estimate:
    """Estimates of one kind, one after another, without deviations: these are as large as replicates."""
    if len(estimates) == 1:
        return estimates[0]
    distinct = {id(each): each for each in estimates}
    joined = end_to_end([replace(each, deviations=None) for each in distinct.values()])
    if len(distinct) == len(estimates):
        return joined
    slices, places = len(estimates[0].value), {each: place for place, each in enumerate(distinct)}
    starts = np.array([places[id(each)] * slices for each in estimates])
    return joined.take((starts[:, None] + np.arange(slices)).reshape(-1))
