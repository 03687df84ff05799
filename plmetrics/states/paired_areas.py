"""Differences of two models' ROC areas from joint counts of scores on a grid, class by class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plmetrics.states.joint_counts import AREA_GROUPS, both_tables, groups_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from plmetrics.states.scores.coarse import Array


@dataclass(frozen=True, slots=True, eq=False)
class PairedAreas:
    """Differences of two areas by slice, and their variance components of positives and negatives.

    Scores of a bin are one score. Of the variances these are the largest that counts leave open.
    """

    difference: Array
    positive_variance: Array
    negative_variance: Array


def paired_areas(counts: Iterable[Array], model: int, baseline: int) -> PairedAreas:
    """Areas of a model less those of a baseline, on the same rows.

    What is open are products of both models' placements within a pair of groups. Their sum is that of the group's
    means, but for what is at most the root of the product of both sums of squares about these (Cauchy and Schwarz).
    A part of the variance is NaN where its class has fewer than 2 rows.

    Args:
        counts: of each slice the tables of negatives and positives, see `joint_counts.joint_shape`.
        model: fine bins of the model's scores.
        baseline: fine bins of the baseline's.

    Source: DeLong, DeLong and Clarke-Pearson (1988), Comparing the areas under two or more correlated receiver
    operating characteristic curves, Biometrics 44(3).
    """
    of_slices = []
    for of_slice in counts:
        tables = [both_tables(side, model, baseline, AREA_GROUPS) for side in of_slice.reshape(2, -1)]
        margins = [(by_model.sum(axis=1), by_baseline.sum(axis=0)) for by_model, by_baseline in tables]
        (negative, its), (positive, theirs) = margins
        placed = _placements(positive, negative), _placements(theirs, its)
        up, down = (_moments(tables[side], placed[0][1 - side], placed[1][1 - side]) for side in (1, 0))
        of_slices.append((up[0], up[1], down[1]))
    parts = np.array(of_slices, dtype=np.float64).reshape(-1, 3).T
    return PairedAreas(*parts)


def _placements(positive: Array, negative: Array) -> tuple[Array, Array]:
    """Placement values of a positive and of a negative in each bin."""
    below = np.cumsum(negative) - negative / 2.0
    above = positive.sum() - np.cumsum(positive) + positive / 2.0
    return below / max(negative.sum(), 1.0), above / max(positive.sum(), 1.0)


def _moments(tables: tuple[Array, Array], model: Array, baseline: Array) -> tuple[float, float]:
    """The mean difference of placements of one class, and the largest variance of it."""
    by_model, by_baseline = tables
    starts = [_starts(len(side)) for side in (model, baseline)]
    rows, first, squares = (
        np.add.reduceat(by_model * values[:, None], starts[0], axis=0)
        for values in (np.ones(len(model)), model, model**2)
    )
    other_first, other_squares = (
        np.add.reduceat(by_baseline * values, starts[1], axis=1) for values in (baseline, baseline**2)
    )
    size = rows.sum()
    if size < 2:
        return (float((first.sum() - other_first.sum()) / size) if size else np.nan), np.nan
    each = np.maximum(rows, 1.0)
    spread, other_spread = (
        np.maximum(square - total**2 / each, 0.0)
        for square, total in ((squares, first), (other_squares, other_first))
    )
    product = (first * other_first / each - np.sqrt(spread * other_spread)).sum()
    mean = (first.sum() - other_first.sum()) / size
    total = squares.sum() + other_squares.sum() - 2.0 * product - size * mean**2
    return float(mean), float(max(total, 0.0) / (size - 1.0) / size)


def _starts(bins: int) -> NDArray[np.int64]:
    """The first fine bin of each group."""
    return np.flatnonzero(np.diff(groups_of(bins, AREA_GROUPS), prepend=-1))
