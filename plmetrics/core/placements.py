"""Placement values: the share of the other class on the right side of a row, ties counting half.

Their mean over the positives is the area under the ROC curve, and so it is over the negatives; how they vary says
how precise the area is, and how two scores' placements vary together how precise the difference of two areas is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plmetrics.core import ops
from plmetrics.core.segments import Operand

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class PlacementArea:
    """ROC area with the two parts of its variance: that of the positives' mean placement, and of the negatives'.

    A part is NaN where its class has fewer than 2 rows.
    """

    area: Operand
    positive_variance: Operand
    negative_variance: Operand


def placement_area(positive: Operand, negative: Operand) -> PlacementArea:
    """The area and its variance from the rows of each class at the distinct scores, ascending.

    A part is the variance of the class's placements, with its size less 1, divided by its size. Arrays of any leading
    axes, or segments. Rows count once each: weights have no such variance.

    Source: DeLong, DeLong and Clarke-Pearson (1988), Comparing the areas under two or more correlated receiver
    operating characteristic curves, Biometrics 44(3).

    >>> found = placement_area(np.array([0.0, 1.0, 1.0]), np.array([1.0, 1.0, 0.0]))
    >>> [float(part) for part in (found.area, found.positive_variance, found.negative_variance)]
    [0.875, 0.015625, 0.015625]
    """
    positives, negatives = ops.total(positive), ops.total(negative)
    below, above = ops.cumulative(negative), ops.cumulative(positive, descending=True)
    of_positives = ops.ratio(below - negative / 2.0, ops.broadcast(negatives, below))
    of_negatives = ops.ratio(above - positive / 2.0, ops.broadcast(positives, above))
    area, positive_variance = _mean(of_positives, positive, positives)
    _, negative_variance = _mean(of_negatives, negative, negatives)
    return PlacementArea(area, positive_variance, negative_variance)


def _mean(placement: Operand, rows: Operand, size: Operand) -> tuple[Operand, Operand]:
    """The mean of placements, and its variance."""
    counted = ops.where(rows > 0, placement, 0.0)
    mean = ops.ratio(ops.total(rows * counted), size)
    away = counted - ops.broadcast(mean, counted)
    others = np.maximum(size - 1.0, 0.0)
    return mean, ops.ratio(ops.total(rows * away * away), others * size)


def cluster_covariance(ups: Array, downs: Array, truth: NDArray[np.bool_], unit: NDArray[np.int64]) -> Array:
    """Covariance of areas of clustered rows, from deviations of placements `[model, row]`.

    Of each unit the deviations are added, those of positives and those of negatives, whose products count as well: a
    unit may have rows of both classes. With a row a unit it is DeLong's covariance.

    Source: Obuchowski (1997), Nonparametric analysis of clustered ROC curve data, Biometrics 53(2).
    """
    units = int(unit.max()) + 1
    positives, negatives = (np.bincount(unit[member], minlength=units) for member in (truth, ~truth))
    up, down = (
        np.array([np.bincount(unit, weights=row, minlength=units) for row in part]) / size.sum()
        for part, size in ((ups, positives), (downs, negatives))
    )
    cross = _small_sample(units) * (up @ down.T)
    covariance: Array = cross + cross.T
    covariance += _small_sample(int(np.count_nonzero(positives))) * (up @ up.T)
    covariance += _small_sample(int(np.count_nonzero(negatives))) * (down @ down.T)
    return covariance


def _small_sample(units: int | NDArray[np.int64]) -> Array:
    """The factor of a sum of squares over so many units; NaN of a single one."""
    factor: Array = np.where(units > 1, units / np.maximum(units - 1.0, 1.0), np.nan)
    return factor


def cluster_variance(
    values: Array,
    positive: NDArray[np.bool_],
    code: NDArray[np.int64],
    unit: NDArray[np.int64],
    means: tuple[Array, Array],
) -> Array:
    """Obuchowski's variance of a mean placement by slice, NaN where one class has fewer than two units.

    Args:
        values: the placements, or differences of placements, of all rows.
        positive: their class.
        code: the slice of each.
        unit: the unit of each.
        means: the mean over the positives of each slice, and that over the negatives.
    """
    slices, width = len(means[0]), int(unit.max(initial=0)) + 1
    keys, group = np.unique(code * width + unit, return_inverse=True)
    place = keys // width
    sums, factors = [], []
    for member, mean in ((positive, means[0]), (~positive, means[1])):
        away = (values - mean[code])[member]
        size = np.maximum(np.bincount(code[member], minlength=slices), 1)[place]
        sums.append(np.bincount(group[member], weights=away, minlength=len(keys)) / size)
        present = np.bincount(group[member], minlength=len(keys)) > 0
        factors.append(_small_sample(np.bincount(place[present], minlength=slices)))
    factors.append(2.0 * _small_sample(np.bincount(place, minlength=slices)))
    products = (sums[0] ** 2, sums[1] ** 2, sums[0] * sums[1])
    parts = [
        factor * np.bincount(place, weights=part, minlength=slices)
        for factor, part in zip(factors, products, strict=True)
    ]
    variance: Array = parts[0] + parts[1] + parts[2]
    return variance
