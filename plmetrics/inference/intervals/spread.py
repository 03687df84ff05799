"""Spread of the replicates of a slice: the number of undefined ones, and whether they differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.inference.estimate import Estimate, ReplicateKind, most_groups
from plmetrics.inference.weights import TILT

DEGENERATE = "degenerate"
"""The status of an interval that is not made, because replicates do not show the spread of a value."""

UNDEFINED_SHARE = 0.05
"""With more undefined replicates than this there is no interval: the rest no longer stand for all."""

_NEAR = 1 << 15
"""So many replicates are looked at together."""

_ROUNDING = {"bootstrap": 1e-12, "jackknife": 1e-13, "influence": 1e-14}
"""By what share of their size replicates of each kind differ through rounding alone."""


_ROUNDING_OF_VALUES = 1e-12
"""The same of values."""

_ROUNDING_OF_SQUARES = 1e-13
"""Of a sum of squares: what is left of it around a mean that all its numbers are equal to."""


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Number of undefined replicates, their standard error, and whether all are equal, by slice.

    `kind` is how they were made, and `groups` of how many blocks; None where it does not matter.
    """

    undefined: Codes
    std_error: Array
    constant: Flags
    too_many_undefined: Flags
    kind: ReplicateKind = "bootstrap"
    groups: Codes | None = None

    def student_error(self, blocks: Codes) -> Array:
        """Standard error to multiply by Student's quantiles with `blocks` - 1 degrees of freedom.

        Resampling G blocks takes sqrt((G - 1) / G) off a standard error, which is put back here, and so do influences,
        whose error has only that of equal blocks that all count. Those left out are farther from the value the
        more they weigh: their error has it in it. Slices with fewer than 2 blocks have none.
        """
        return np.where(blocks >= 2, self.student_factor(blocks) * self.std_error, np.nan)

    def student_factor(self, blocks: Codes) -> Array | float:
        """Factor of standard errors of replicates of this kind."""
        factor = block_factor(np.maximum(blocks, 2))
        if self.kind == "influence" and self.groups is not None:
            return np.maximum(factor / block_factor(np.maximum(self.groups, 2)), 1.0)
        return factor if self.kind == "bootstrap" else 1.0


def replicate_spread(
    replicates: Array,
    magnitude: Array,
    kind: ReplicateKind = "bootstrap",
    value: Array | None = None,
    groups: Codes | None = None,
) -> Spread:
    """Describe replicates `[replicate, slice]`; NaN and infinity count as undefined.

    Replicates that differ by rounding alone, as measured by `magnitude` `[slice]`, the size of what they were
    computed from, are equal, and their standard error is then exactly 0.

    A jackknife needs the `value` itself. `groups` are the numbers of blocks that count in each slice, all if not given.

    >>> found = replicate_spread(np.array([[1.0, 0.2], [3.0, 0.2], [np.nan, 0.2]]), np.ones(2))
    >>> found.undefined, found.std_error.round(4), found.constant
    (array([1, 0]), array([1.4142, 0.    ]), array([False,  True]))
    """
    number, width = _number_and_width(replicates)
    undefined = len(replicates) - number
    deviation = standard_error(replicates, kind, value, groups)
    constant = (number > 0) & ((width <= _ROUNDING[kind] * magnitude) | (deviation == 0))
    std_error = np.where(constant & (number > 1), 0.0, deviation)
    most = UNDEFINED_SHARE * len(replicates) if kind == "bootstrap" else 0
    too_many = (undefined > most) | (number < 2)
    return Spread(undefined, std_error, constant, too_many, kind, groups)


def _number_and_width(replicates: Array) -> tuple[Codes, Array]:
    """Number of defined replicates of each slice, and their range; -inf without any."""
    if len(replicates) > 0:
        with np.errstate(over="ignore", invalid="ignore"):
            width = np.max(replicates, axis=0) - np.min(replicates, axis=0)
        if np.isfinite(width).all():
            return np.full(replicates.shape[1], len(replicates)), width
    defined = np.isfinite(replicates)
    widest = np.max(replicates, axis=0, initial=-np.inf, where=defined)
    return defined.sum(axis=0), widest - np.min(replicates, axis=0, initial=np.inf, where=defined)


def is_finite(replicates: Array) -> bool:
    """Whether all replicates are surely finite, by a cheap test, and there are some."""
    with np.errstate(over="ignore", invalid="ignore"):
        return len(replicates) > 0 and bool(np.isfinite(replicates.sum()))


def standard_error(
    replicates: Array,
    kind: ReplicateKind = "bootstrap",
    value: Array | None = None,
    groups: Codes | None = None,
) -> Array:
    """Standard error `[slice]` from replicates `[replicate, slice]` of a kind.

    Those of a bootstrap: their standard deviation. With one of G blocks left out: the root of (G - 1)/G times the sum
    of squares around their mean (jackknife). With one block tilted: the root of G/(G - 1) times the sum of squares of
    the blocks' influences (infinitesimal jackknife, which is the delta method). A block without rows of a slice moves
    nothing there, and is not one of the G. The arguments are those of `spread`.

    Source: Efron and Tibshirani (1993), An introduction to the bootstrap, chapters 11 and 21.

    >>> left_out = np.array([[2.5], [2.0], [1.5]])
    >>> standard_error(left_out, "jackknife", np.array([2.0])).round(4)
    array([0.5774])
    """
    if kind == "bootstrap":
        return standard_deviation(replicates)
    if kind == "influence":
        half = len(replicates) // 2
        slopes = (replicates[:half] - replicates[half:]) / (2 * TILT)
    else:
        assert value is not None
        slopes = replicates - value
    number = np.full(slopes.shape[1], len(slopes)) if groups is None else groups
    return _in_range(lambda part, index: _error_of_slopes(part, number[index], kind), slopes)


def _error_of_slopes(slopes: Array, number: Codes, kind: ReplicateKind) -> Array:
    count = np.maximum(number, 2).astype(np.float64)
    finite = np.isfinite(slopes)
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.sum(slopes**2, axis=0, where=finite)
        squares = total - np.sum(slopes, axis=0, where=finite) ** 2 / count
    factor = count / (count - 1) if kind == "influence" else (count - 1) / count
    defined = (number >= 2) & (finite.sum(axis=0) >= 2)
    squares = np.where(squares > _ROUNDING_OF_SQUARES * total, squares, 0.0)
    return np.where(defined, np.sqrt(squares * factor), np.nan)


def with_all_blocks(estimate: Estimate) -> Estimate:
    """The estimate with its replicates stretched about the value, so that all blocks of the table count in its spread.

    An estimate of m of N blocks has its `student_error` then, and those of other blocks can be added to it replicate
    by replicate: each brings its own m / (m - 1). Draws of a bootstrap have this in the numbers drawn.

    >>> part = Estimate(np.array([2.0]), np.full(1, "ok"), np.array([2]), np.array([[1.0], [3.0], [2.0], [2.0]]), ())
    >>> part = replace(part, kind="jackknife", groups=np.array([2]))
    >>> both = part, with_all_blocks(part)
    >>> [float(standard_error(e.replicates, e.kind, e.value, e.groups)[0].round(9)) for e in both]
    [1.0, 1.0]
    """
    groups = estimate.spread_groups
    if estimate.replicates is None or groups is None:
        return estimate
    of_groups = block_factor(np.maximum(groups, 2))
    if estimate.kind == "influence":
        of_all = block_factor(np.array(max(len(estimate.replicates) // 2, 2)))
        stretch = np.maximum(of_groups, block_factor(np.maximum(estimate.blocks, 2))) / of_all
    else:
        stretch = block_factor(np.array(max(len(estimate.replicates), 2))) / of_groups
    with np.errstate(invalid="ignore", over="ignore"):
        replicates = estimate.value + stretch * (estimate.replicates - estimate.value)
    return replace(estimate, replicates=replicates, groups=None)


def standard_deviation(replicates: Array) -> Array:
    """Standard deviation (ddof 1) of the finite replicates of each slice; NaN below 2 of them."""
    return _in_range(lambda part, _: _deviation(part), replicates)


def _in_range(deviation: Callable[[Array, Codes], Array], replicates: Array) -> Array:
    """Deviations of replicates, in units of their width where squares of them are 0 or infinite."""
    found = deviation(replicates, np.arange(replicates.shape[1]))
    extreme = np.flatnonzero((found == 0) | ~np.isfinite(found))
    if len(extreme) == 0:
        return found
    number, width = _number_and_width(replicates[:, extreme])
    some = (number > 1) & (width > 0) & (width < np.inf)
    index, unit = extreme[some], width[some]
    if len(index) > 0:
        found[index] = unit * deviation(replicates[:, index] / unit, index)
    return found


def _deviation(replicates: Array) -> Array:
    if len(replicates) > 1 and is_finite(replicates):
        return _finite_deviation(replicates)
    finite = np.isfinite(replicates)
    number = finite.sum(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.sum(replicates, axis=0, where=finite) / np.maximum(number, 1)
        squares = np.sum((replicates - mean) ** 2, axis=0, where=finite)
    return np.where(number > 1, np.sqrt(squares / np.maximum(number - 1, 1)), np.nan)


def _finite_deviation(replicates: Array) -> Array:
    """Standard deviation of finite replicates: a few slices at a time, within the processor's cache."""
    squares = np.empty(replicates.shape[1])
    step = max(1, _NEAR // len(replicates))
    for first in range(0, len(squares), step):
        stretch = replicates[:, first : first + step]
        with np.errstate(over="ignore", invalid="ignore"):
            deviations = stretch - stretch.mean(axis=0)
            squares[first : first + step] = np.square(deviations, out=deviations).sum(axis=0)
    return np.sqrt(squares / (len(replicates) - 1))


def without_difference(model: Estimate, baseline: Estimate) -> Flags:
    """Mask of slices whose values are equal in all replicates: no row of them tells the estimates apart.

    >>> from plmetrics.inference.estimate import Estimate
    >>> def of(drawn):
    ...     return Estimate(np.ones(2), np.full(2, "ok", dtype=object), np.array([9, 9]), np.array(drawn), ())
    >>> without_difference(of([[0.9, 0.8], [1.0, 0.9]]), of([[0.9, 0.8], [1.0, 1.0]])).tolist()
    [True, False]
    """
    alike = np.zeros(model.value.shape, dtype=np.bool_)
    if model.replicates is None or baseline.replicates is None:
        return alike
    size = np.maximum(np.abs(model.value), np.abs(baseline.value))
    near = np.abs(model.value - baseline.value) <= _ROUNDING_OF_VALUES * size
    index = np.flatnonzero(near & (model.blocks == baseline.blocks) & (model.blocks >= 2))
    first, second = model.take(index), baseline.take(index)
    assert first.replicates is not None
    assert second.replicates is not None
    with np.errstate(invalid="ignore"):
        moves = first.replicates - second.replicates
    groups = most_groups([first, second])
    spread = replicate_spread(moves, size[index], first.kind, np.zeros(len(index)), groups)
    alike[index] = spread.constant & ~spread.too_many_undefined
    return alike


def of_tied_rows(model: Estimate, baseline: Estimate, tied: Flags) -> tuple[Estimate, Estimate]:
    """Two means of the same rows, or functions of rates, with a plausible end where no row tells them apart.

    Of n rows on which both agree, so many more of the population may tell them apart as Wilson's interval of 0 of n
    allows: the interval of the difference is -+ `tie`, of shares z^2 / (n + z^2). Source: Tango (1998),
    Equivalence test and confidence interval for the difference in proportions for the paired-sample design,
    Statistics in Medicine 17(8).
    """
    if model.reach is not None:
        tied = tied & (model.reach == 0)  # ends of other rows stand
    if model.tie is None or not tied.any():
        return model, baseline
    plausible = model.value if model.plausible is None else model.plausible
    return replace(model, plausible=np.where(tied, model.value + model.tie, plausible)), baseline


def block_factor(blocks: Codes) -> Array:
    """Factor sqrt(G / (G - 1)) against the smaller standard error of G resampled blocks; 2 blocks or more.

    >>> block_factor(np.array([2])).round(4)
    array([1.4142])
    """
    return np.sqrt(blocks / (blocks - 1.0))
