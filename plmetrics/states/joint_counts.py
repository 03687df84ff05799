"""Joint counts of two numbers of each row on a grid, in place of rows beyond memory.

Rank correlations come of labels and predictions, the covariance of two areas of two models' scores, class by class.
Each side has fine bins, and groups of as many of them each. Two tables say nearly all that one of all pairs of fine
bins would: fine bins of predictions by groups of labels, and groups of predictions by fine bins of labels. Replicates
come from bins of equal weight of each slice, by block.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Codes
from plmetrics.states.scores.bin_lookup import Keys, Locator, around_single, locator_at
from plmetrics.states.scores.coarse import RANK_BINS
from plmetrics.states.scores.grid.grid_tally import BinKind, GridTally

if TYPE_CHECKING:
    from plmetrics.states.scores.grid.placed_rows import Members, PlacedRows

FINE = 4096
GROUPS = 64
"""The most fine bins of a side, and the most groups of them."""

AREA_FINE = 1024
AREA_GROUPS = 256
"""The same for the scores of two models, of which each class has tables of its own."""


def rank_locator(values: Array, bins: int) -> Locator:
    """Bins of about equal weight; a frequent number has one of its own, and of few distinct ones each has."""
    keys = Keys.of(values, even_first=True)
    distinct, count = np.unique(values, return_counts=True)
    if len(distinct) <= bins // 2:
        cuts = single = distinct
    else:
        single = distinct[count * (bins // 4) > len(values)]
        shares = bins // 2 if len(single) else bins
        cuts = np.sort(values)[np.arange(1, shares) * len(values) // shares]
    return locator_at(around_single(cuts, single), keys)


def joint_bins(room: int | None = None, *, areas: bool) -> int:
    """The most fine bins of a side, in so many bytes a slice."""
    fine, groups, classes = (AREA_FINE, AREA_GROUPS, 2) if areas else (FINE, GROUPS, 1)
    return fine if room is None else min(fine, room // (2 * groups * classes * 8))


def groups_of(bins: int, groups: int = GROUPS) -> Codes:
    """The group of each of so many fine bins: all but the last have as many."""
    return np.arange(bins) // -(-bins // groups)


def joint_shape(bins: BinKind, predictions: int, labels: int, *, areas: bool = False) -> tuple[int, int]:
    """The numbers of bins and of channels, from the numbers of fine bins of both sides.

    On the grid both tables are one row, see `both_tables`; with `areas` those of negatives, and behind it those of
    positives.
    """
    if bins == "coarse":
        return RANK_BINS, RANK_BINS
    groups = AREA_GROUPS if areas else GROUPS
    sizes = sum(rows * columns for rows, columns in _sizes(predictions, labels, groups))
    return (2, sizes) if areas else (1, sizes)


def both_tables(counts: Array, predictions: int, labels: int, groups: int = GROUPS) -> tuple[Array, Array]:
    """The two tables of a slice: fine bins of predictions by groups of labels, and groups by fine bins."""
    first, other = _sizes(predictions, labels, groups)
    flat = counts.reshape(-1)
    return flat[: first[0] * first[1]].reshape(first), flat[first[0] * first[1] :].reshape(other)


def _sizes(predictions: int, labels: int, groups: int) -> tuple[tuple[int, int], tuple[int, int]]:
    numbers = [int(groups_of(bins, groups)[-1]) + 1 for bins in (predictions, labels)]
    return (predictions, numbers[1]), (numbers[0], labels)


class JointTally(GridTally):
    """Joint counts of labels and predictions, in one table or several, of every row each.

    A table is what the bin of the prediction and that of the label add to the place of a row among the counts of its
    slice and block: `[slice or 1, fine bin]` each. Tables of positives lie so far `apart` from those of negatives.
    """

    _by_slice = True

    def __init__(
        self,
        first: int,
        counts: NDArray[Any],
        tables: Sequence[tuple[NDArray[Any], NDArray[Any]]],
        exponent: int | None = None,
        apart: int = 0,
    ) -> None:
        super().__init__(first, counts, exponent)
        self._tables = tables
        self._table = tables[0]
        self._apart = apart

    @classmethod
    def on_grid(
        cls,
        first: int,
        counts: NDArray[Any],
        bins: Sequence[int],
        exponent: int | None,
        *,
        areas: bool = False,
    ) -> JointTally:
        """Tally of the two shared tables of all slices, by the numbers of fine bins."""
        predictions, labels = bins
        most = AREA_GROUPS if areas else GROUPS
        sizes = _sizes(predictions, labels, most)
        fine = np.arange(predictions), np.arange(labels)
        groups = groups_of(predictions, most), groups_of(labels, most)
        before = sizes[0][0] * sizes[0][1]
        tables = ((fine[0] * sizes[0][1], groups[1]), (groups[0] * sizes[1][1] + before, fine[1]))
        apart = counts.shape[-1] if areas else 0
        return cls(first, counts, [(one[None], other[None]) for one, other in tables], exponent, apart)

    @classmethod
    def of_ranks(
        cls, first: int, counts: NDArray[Any], tables: Sequence[NDArray[Any]], exponent: int | None
    ) -> JointTally:
        """Tally on bins of equal weight of each slice: of predictions, and of labels."""
        predictions, labels = tables
        return cls(first, counts, [(predictions.astype(np.int64) * RANK_BINS, labels)], exponent)

    def add(self, rows: PlacedRows, members: Members) -> None:
        """Count some rows, in one table after the other."""
        for table in self._tables:
            self._table = table
            super().add(rows, members)

    def _place(self, rows: PlacedRows, number: Codes | int) -> NDArray[Any]:
        assert rows.across is not None
        prediction, label = self._table
        key: NDArray[Any] = _of(prediction, rows.place >> 1, number)
        key += _of(label, rows.across >> 1, number).astype(key.dtype, copy=False)
        if self._apart:
            key += (rows.place & 1).astype(key.dtype) * self._apart
        return key


def _of(table: NDArray[Any], bins: NDArray[Any], number: Codes | int) -> NDArray[Any]:
    """Entry of each row in its slice's table, or in the shared one."""
    if len(table) == 1 or isinstance(number, int):
        out: NDArray[Any] = table[0 if len(table) == 1 else number].take(bins)
    else:
        out = table.reshape(-1).take(number * table.shape[1] + bins)
    return out


@dataclass(frozen=True, slots=True, eq=False)
class PairedAreas:
    """Differences of two areas by slice, and their variance components of positives and negatives.

    Scores of a bin are one score. Of the variances these are the largest that counts leave open.
    """

    difference: Array
    positive_variance: Array
    negative_variance: Array


def paired_areas(counts: Iterable[Array], model: int, baseline: int) -> PairedAreas:
    """Areas of a model less those of a baseline, on the same rows, from tables of so many fine bins of either.

    What is open are products of both models' placements within a pair of groups. Their sum is that of the group's
    means, but for what is at most the root of the product of both sums of squares about these (Cauchy and Schwarz).
    A part of the variance is NaN where its class has fewer than 2 rows.

    Source: DeLong, DeLong and Clarke-Pearson (1988), Comparing the areas under two or more correlated receiver
    operating characteristic curves, Biometrics 44(3).
    """
    of_slices = []
    for of_slice in counts:
        tables = [both_tables(side, model, baseline, AREA_GROUPS) for side in of_slice.reshape(2, -1)]
        margins = [(by_model.sum(axis=1), by_baseline.sum(axis=0)) for by_model, by_baseline in tables]
        (negative, baseline_negative), (positive, baseline_positive) = margins
        placed = _placements(positive, negative), _placements(baseline_positive, baseline_negative)
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


def _starts(bins: int) -> Codes:
    """The first fine bin of each group."""
    return np.flatnonzero(np.diff(groups_of(bins, AREA_GROUPS), prepend=-1))
