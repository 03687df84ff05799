"""Placement values: the share of the other class that a row is on the right side of, ties counting half.

Their mean over the positives is the area under the ROC curve, and so it is over the negatives; how they vary says
how precise the area is, and how two scores' placements vary together how precise the difference of two areas is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plmetrics.core import ops
from plmetrics.core.segments import Operand  # noqa: TC001 (dataclass field)


@dataclass(frozen=True, slots=True, eq=False)
class PlacementArea:
    """An ROC area with the two parts of its variance: that of the positives' mean placement, and of the negatives'.

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
    rest = np.maximum(size - 1.0, 0.0)
    return mean, ops.ratio(ops.total(rows * away * away), rest * size)
