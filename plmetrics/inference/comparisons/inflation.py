"""Noise in a norm, such as a calibration error: it makes the value larger, more so with fewer rows or more bins.

The difference of two norms over different numbers of rows is then not 0 where the truth is the same, and a test of it
rejects for the sizes; on the same rows it rejects where the scores of one model fill more bins. A norm v of estimates
with noise s has a mean square of about truth^2 + s^2, and its replicates, which have the same noise once more, one of
v^2 + s^2: so s is known. Where it is small beside v it adds little to v.

What a debiased norm subtracts is itself estimated from noisy gaps, and the rest is cut off at 0: about half of the
noise stays in it. Its replicates show that part, for they lie above the value by about as much.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.catalogue.metric import Metric, leaves
from plmetrics.catalogue.needs import Bins
from plmetrics.core.ops import Array, Flags
from plmetrics.inference.comparisons.paired_bootstrap import Difference, student_test
from plmetrics.inference.estimate import Estimate
from plmetrics.inference.intervals.spread import block_factor, standard_error

UNEQUAL_NOISE = "unequal_noise"
"""The status of an interval that is not made, because noise adds more to one side than to the other."""

NOISE_NOTE = (
    "noise alone makes it larger where there are fewer rows or more bins (ece: compare ece(debias=true))"
)

_FAR = 3.0
_LEFT = 2.0
"""Bound on the noise that remains in a norm: so many times the excess of its replicates."""

MOST = 0.25
"""Noise of so large a part of a value adds 3 % to it, which is little beside the value's standard error."""

_BORNE = 0.2
"""Admissible bias in standard errors: it moves a level of 5 % to 5.5 %."""

_ROWS_A_BIN = 5
"""With fewer rows a bin, on average, replicates do not show how noisy the gaps are."""

_ROWS_A_BIN_OF_LARGEST = 15
"""The same for the largest gap: with 7 rows a bin 15 % of equal ones were told apart, with 15 at most 7 %."""

_MOST_OF_DISTANCES = 0.5
"""The same where the noise that is left is allowed for; without skill noise is nearly all of a KS."""

_MOST_OF_RATIOS = 0.1
"""The same for ratios of distances. Logarithms make more of noise: with a quarter 10 % of equal ones are told apart."""


def is_inflated(metric: Metric, scale: str) -> bool:
    """Whether noise distorts contrasts of a metric: of a norm with 0 as its best value, possibly nothing but noise.

    Without its share of noise (`noise` reduced) a norm has differences, but no ratios: it may be 0.
    """
    norm = metric.value_kind.is_norm and metric.direction == "lower"
    return norm and (scale != "difference" or metric.noise != "reduced")


def noise(estimate: Estimate) -> Array:
    """The noise in each norm, by its replicates.

    >>> from plmetrics.inference.estimate import Estimate
    >>> drawn = np.array([[0.04, 0.41], [0.05, 0.40]])
    >>> noise(Estimate(np.array([0.03, 0.40]), np.array(["ok"] * 2), np.array([9, 9]), drawn, ())).round(3)
    array([0.034, 0.064])
    """
    assert estimate.replicates is not None
    finite = np.isfinite(estimate.replicates)
    squares = np.sum(estimate.replicates**2, axis=0, where=finite) / np.maximum(finite.sum(axis=0), 1)
    excess: Array = np.sqrt(np.maximum(squares - estimate.value**2, 0.0))
    return excess


@dataclass(frozen=True, slots=True)
class Bearable:
    """Admissible noise of a contrast of norms over different numbers of rows.

    `most` is a part of the value. With `far` more is borne where the values are far apart beside it.
    """

    most: float
    far: bool


def bearable(metric: Metric, scale: str) -> Bearable | None:
    """Admissible noise of a contrast of a metric, None for unconditional contrasts.

    A bin of one row has a gap of up to 1, which resampling does not move: replicates do not show the noise of the
    largest gap, and no distance is far beyond it.

    >>> import plmetrics as plm
    >>> bearable(plm.metric("mce", task="binary"), "difference")
    Bearable(most=0.25, far=False)
    """
    if metric.value_kind.is_norm and metric.direction == "higher":
        difference = scale == "difference"
        return Bearable(_MOST_OF_DISTANCES if difference else _MOST_OF_RATIOS, far=difference)
    if not is_inflated(metric, scale):
        return None
    return Bearable(MOST, metric.noise != "largest")


def unequal_noise(model: Estimate, baseline: Estimate, bears: Bearable) -> Flags:
    """Mask of differences of two norms explicable by unequal noise."""
    model_noise, baseline_noise = noise(model), noise(baseline)
    large: Flags = (model_noise > bears.most * model.value) | (baseline_noise > bears.most * baseline.value)
    if not bears.far:
        return large
    near: Flags = np.abs(model.value - baseline.value) < _FAR * np.maximum(model_noise, baseline_noise)
    return large & near


def hides_noise(metric: Metric, rows: NDArray[np.integer]) -> Flags:
    """Mask of norms with too few rows per bin for replicates to show all of the noise.

    A bin of one row has the same gap in every replicate that has the row.

    >>> import plmetrics as plm
    >>> hides_noise(plm.metric("ece(bins=10, debias=true)", task="binary"), np.array([49, 50]))
    array([ True, False])
    """
    least = (
        leaf.needs.binning.bins * (_ROWS_A_BIN_OF_LARGEST if leaf.noise == "largest" else _ROWS_A_BIN)
        for leaf in leaves(metric)
        if isinstance(leaf.needs, Bins)
    )
    return rows < (max(least, default=0) if metric.value_kind.is_norm else 0)


def leaves_noise(metric: Metric, scale: str) -> bool:
    """Whether a contrast has remaining noise, covered by `noise_bounds`."""
    subtracts = metric.direction == "higher" or metric.noise == "reduced"
    return metric.value_kind.is_norm and scale == "difference" and subtracts


def noise_bounds(difference: Difference, remaining: Array, where: Flags, level: float) -> Difference:
    """Difference d of norms with an interval and p value valid also without the remaining noise e.

    The interval covers both d -+ h and d - e -+ h, and the p value is the larger one of the two, 1 if they differ in
    sign.
    """
    corrected = difference.difference - remaining
    testable = where & np.isfinite(difference.lower) & np.isfinite(corrected)
    error = difference.std_error * block_factor(np.maximum(difference.blocks, 2))
    freedom: Array = difference.blocks.astype(np.float64) - 1.0
    half, p = student_test(corrected, error, freedom, level)
    p = np.where(np.sign(corrected) == np.sign(difference.difference), np.fmax(difference.p_value, p), 1.0)
    return replace(
        difference,
        lower=np.where(testable, np.fmin(difference.lower, corrected - half), difference.lower),
        upper=np.where(testable, np.fmax(difference.upper, corrected + half), difference.upper),
        p_value=np.where(testable, p, difference.p_value),
        statistic=np.where(testable, np.nan, difference.statistic),
    )


@np.errstate(over="ignore", invalid="ignore")
def remaining_noise(metric: Metric, model: Estimate, baseline: Estimate) -> Array:
    """Bound on the part of a difference of norms that noise leaves, with its sign.

    It is `_LEFT` times what the replicates' mean difference exceeds the difference. Of plain norms, which nothing is
    subtracted from, it is also the difference of v - sqrt(v^2 - s^2), s the noise in v, if that is larger.
    """
    assert model.replicates is not None
    assert baseline.replicates is not None
    replicates = model.replicates - baseline.replicates
    number = np.maximum(np.isfinite(replicates).sum(axis=0), 1)
    mean = np.sum(replicates, axis=0, where=np.isfinite(replicates)) / number
    excess: Array = _LEFT * (mean - (model.value - baseline.value))
    if not is_inflated(metric, "difference"):
        return excess
    plain = _inflation(model) - _inflation(baseline)
    return np.where(np.abs(plain) > np.abs(excess), plain, excess)


def _inflation(estimate: Estimate) -> Array:
    """Part of a norm that its noise adds, were it the root of a sum of squares."""
    return estimate.value - np.sqrt(np.maximum(estimate.value**2 - noise(estimate) ** 2, 0.0))


@np.errstate(over="ignore", invalid="ignore")
def bounded_by_noise(
    difference: Difference,
    sides: tuple[Estimate, Estimate],
    metric: Metric,
    rows: Any,
    scale: str,
    level: float,
) -> Difference:
    """Contrast of a norm on the same rows: a difference holds without the noise of one side, a ratio is untested.

    So is a difference with too few `rows` for replicates to show the noise. Metrics that are no norms stay as they are.
    """
    model, baseline = sides
    if not metric.value_kind.is_norm or model.replicates is None or baseline.replicates is None:
        return difference
    remaining = remaining_noise(metric, model, baseline)
    error = standard_error(model.replicates - baseline.replicates)
    matters = (np.abs(remaining) > _BORNE * error) & (difference.interval_status == "ok")
    untestable = matters & (hides_noise(metric, rows) | (scale != "difference"))
    return noise_bounds(difference, remaining, matters, level).without_tests(untestable, UNEQUAL_NOISE)


def sizes_matter(values: Array, rows: Array, error: Array) -> Flags:
    """Mask of pairs of values `[2, ...]` apart by their numbers of rows alone, were they nothing but noise.

    Noise falls with the root of the rows.
    """
    fewest, most = rows.min(axis=0), rows.max(axis=0)
    larger = np.where(rows[0] >= rows[1], values[0], values[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        matter: Flags = larger * (np.sqrt(most / fewest) - 1) > _BORNE * error
    return matter
