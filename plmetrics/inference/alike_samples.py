"""Spread of samples whose rows are all alike, beside others that vary: none of 15 does not say that none ever would.

No replicate moves the mean of such a sample. A metric that contrasts it with others (`Metric.samples`) would have the
spread of these alone. So it takes the spread of all samples together (`alike_variance`), and replicates of the
metric move by it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from plmetrics.catalogue.variation import alike_variance
from plmetrics.core.hashing import mix, mix_int, strides
from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.core.special import ndtri
from plmetrics.inference.comparisons.paired_bootstrap import without_spread
from plmetrics.inference.estimate import Estimate
from plmetrics.inference.intervals.spread import standard_error
from plmetrics.inference.weights import TILT

_PARALLEL = 1e-6
"""Of independent directions so little is left where there is no other."""


def with_common_spread(
    estimate: Estimate,
    means: Sequence[Estimate],
    factors: Sequence[float],
    presence: Callable[[Codes], Flags],
    place: tuple[int, int],
) -> Estimate:
    """The estimate of a contrast, with replicates that move as those of a sample of the spread of all samples would.

    `means` are the samples' means, in the same slices and replicates, `factors` those of their errors in that of the
    estimate. `presence` masks the blocks with rows `[slice, block]`. `place` is a number of the slice set, whichever
    others there are, and that of the first slice.
    """
    assert estimate.replicates is not None
    errors = hidden_errors(means, factors)
    index = np.flatnonzero((errors > 0) & (estimate.status == "ok"))
    if not len(index):
        return estimate
    replicates = estimate.replicates.copy(order="K")
    numbers = index + place[1]
    if estimate.kind == "bootstrap":
        replicates[:, index] += errors[index] * _normals(len(replicates), numbers, place[0])
        return replace(estimate, replicates=replicates)
    part = estimate.take(index)
    assert part.replicates is not None
    blocks = presence(index)
    noise = _normals(blocks.shape[1], numbers, place[0]) * blocks.T
    replicates[:, index] += _by_block(part, noise, errors[index])
    return replace(estimate, replicates=replicates)


def hidden_errors(means: Sequence[Estimate], factors: Sequence[float]) -> Array:
    """Standard error that replicates do not show: that of samples without spread beside some with it, 0 elsewhere.

    The others together say how much such a sample may vary, as in `alike_variance`.

    >>> from plmetrics.inference.estimate import Estimate
    >>> def of(value, drawn, size):
    ...     size = (np.array([float(size)]),)
    ...     return Estimate(np.array([value]), np.array(["ok"]), np.array([9]), np.array([drawn]).T, size)
    >>> none, some = of(0.0, [0.0, 0.0, 0.0], 15), of(0.1, [0.07, 0.1, 0.13], 100)
    >>> hidden_errors([none, some], [1.0, 1.0]).round(3).tolist(), hidden_errors([some, some], [1.0, 1.0]).tolist()
    ([0.073], [0.0])
    """
    alike = np.stack([without_spread(mean) for mean in means])
    index = np.flatnonzero(alike.any(axis=0) & ~alike.all(axis=0))
    out = np.zeros(alike.shape[1])
    if not len(index):
        return out
    samples = [mean.take(index) for mean in means]
    value, size, error = (np.stack(parts) for parts in zip(*map(_moments, samples), strict=True))
    variance = np.zeros(len(index))
    for place, factor in enumerate(factors):
        others = ~alike[:, index]
        weight = np.where(others, size, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            other = weight.sum(axis=0)
            mean = (weight * value).sum(axis=0) / other
            within = np.where(others, np.maximum(size - 1.0, 0.0) * size * error**2, 0.0).sum(axis=0)
            between = (weight * (value - mean) ** 2).sum(axis=0)
            of_mean = alike_variance(size[place], other, mean - value[place], within + between)
        variance += np.where(alike[place, index], factor**2 * np.nan_to_num(of_mean), 0.0)
    out[index] = np.sqrt(variance)
    return out


def _moments(mean: Estimate) -> tuple[Array, Array, Array]:
    """Value, number of independent units, and standard error of a mean."""
    assert mean.replicates is not None
    error = standard_error(mean.replicates, mean.kind, mean.value, mean.groups)
    return mean.value, np.min(mean.sizes or [mean.blocks], axis=0), np.nan_to_num(error)


def _normals(number: int, slices: Codes, salt: int) -> Array:
    """Normal deviates `[number, slice]` that depend on the slice set, the slice and their number alone."""
    rows = mix(np.uint64(mix_int(salt)) + strides(np.arange(1, number + 1, dtype=np.uint64)))
    words = mix(rows[:, None] + strides(slices.astype(np.uint64) + np.uint64(1)))
    deviates: Array = ndtri(((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53)
    return deviates


def _by_block(estimate: Estimate, noise: Array, errors: Array) -> Array:
    """Movements of replicates that each move one block, with some standard errors.

    `noise` is `[block, slice]`, 0 in blocks without rows. What it has in common with the movements that are there is
    taken out: variances add up.
    """
    assert estimate.replicates is not None
    blocks = len(noise)
    slopes = estimate.replicates[:blocks] - estimate.value
    if estimate.kind == "influence":
        slopes = (estimate.replicates[:blocks] - estimate.replicates[blocks:]) / (2 * TILT)
    present = (noise != 0).astype(np.float64)
    slopes = np.where(np.isfinite(slopes), slopes, 0.0) * present
    left = _without(_without(noise, present), _without(slopes, present))
    size = np.sqrt((left**2).sum(axis=0))
    usable = size > _PARALLEL * np.sqrt((noise**2).sum(axis=0))
    count = np.maximum(present.sum(axis=0) if estimate.groups is None else estimate.groups, 2)
    factor = (count - 1) / count if estimate.kind == "influence" else count / (count - 1)
    scale = np.divide(errors * np.sqrt(factor), size, out=np.zeros_like(size), where=usable)
    moved = left * scale
    return np.concatenate([TILT * moved, -TILT * moved]) if estimate.kind == "influence" else moved


def _without(vectors: Array, direction: Array) -> Array:
    """Vectors `[block, slice]` without their part along a direction."""
    square = (direction**2).sum(axis=0)
    share = np.divide((vectors * direction).sum(axis=0), square, out=np.zeros_like(square), where=square > 0)
    left: Array = vectors - share * direction
    return left
