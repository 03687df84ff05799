"""P values of two samples whose rows come in units, from the sums of blocks of units, in many slices at once.

Rows of a unit are alike, and a test that takes them for independent rejects too often. The variance here is that
between blocks, of residuals about both samples together as the hypothesis has them: it is not 0 where they differ. A
block of both samples counts with the difference of its parts, so a unit may be in one of them or in both.

Sources: Rao and Scott (1984), On chi-squared tests for multiway contingency tables with cell proportions estimated from
survey data, Annals of Statistics 12(1); Cameron, Gelbach and Miller (2008), Bootstrap-based improvements for inference
with clustered errors, Review of Economics and Statistics 90(3), of signs of residuals under the hypothesis.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.hashing import mix, strides
from plmetrics.core.ops import Array, Flags

BLOCKS = 64
"""Blocks of units by their hashes, the same in both samples, as many as a hash has bits."""

LEAST_BLOCKS = 8
"""With fewer blocks in a sample there is no p value."""

STEPS = 50
"""Distances of distribution functions are tested at so many steps of both samples together."""

_REPLICATES = 999
_BEYOND = 50
"""So many of the largest replicates are counted; a distance beyond them has the tail of normal deviates."""

_MOST_FREEDOM = 1e6
_CELLS = 1 << 18


@dataclass(frozen=True, slots=True)
class UnitSums:
    """Sums of both samples by slice, block and term, `[slice, block, term]`, and their rows `[slice, block]`."""

    sums: tuple[Array, Array]
    rows: tuple[Array, Array]

    @property
    def enough(self) -> Flags:
        """Whether both samples of a slice have blocks enough for a p value."""
        blocks: Array = np.minimum(*(np.count_nonzero(rows, axis=1) for rows in self.rows))
        return blocks >= LEAST_BLOCKS

    def common_mean(self) -> Array:
        """Mean of each term in both samples together `[slice, term]`."""
        rows = sum(rows.sum(axis=1) for rows in self.rows)
        mean: Array = sum(sums.sum(axis=1) for sums in self.sums) / np.maximum(rows, 1.0)[:, None]
        return mean

    def influence(self) -> Array:
        """Part of each block in the difference of the means of the samples, about the mean of both.

        The sum over blocks is the difference, and that of squares its variance where there is none.
        """
        mean = self.common_mean()[:, None]
        before, now = (
            (sums - mean * rows[:, :, None]) / np.maximum(rows.sum(axis=1), 1.0)[:, None, None]
            for sums, rows in zip(self.sums, self.rows, strict=True)
        )
        influence: Array = now - before
        return influence


@dataclass(frozen=True, slots=True)
class UnitRows:
    """Rows of both samples by point and block of units, in any number of entries for each, ascending in slice.

    `segment` is the number of the entry's slice, `point` that of its point among those of all slices, negative for
    none. `offset` is how far the values of its rows lie above the point, in total.
    """

    slices: int
    segment: NDArray[np.integer]
    point: NDArray[np.integer]
    block: NDArray[np.integer]
    side: NDArray[np.integer]
    rows: Array
    offset: Array

    def with_offsets(self, above: UnitRows) -> UnitRows:
        """Rows with the offsets that stand as rows in entries of others."""
        slices = np.concatenate([self.segment, above.segment])
        order = np.argsort(slices, kind="stable")
        none = np.zeros(len(above.segment))

        def of_both(rows: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
            return np.concatenate([rows, others])[order]

        return UnitRows(
            self.slices,
            slices[order],
            of_both(self.point, none.astype(self.point.dtype)),
            of_both(self.block, above.block),
            of_both(self.side, above.side),
            of_both(self.rows, none),
            of_both(np.zeros(len(self.segment)), above.rows),
        )

    def parts(self, term: NDArray[np.integer], terms: int, amount: Array) -> Iterator[tuple[slice, UnitSums]]:
        """Slices some at a time, with the sums of amounts by term; entries of a negative term are left out."""
        step = max(1, _CELLS // (BLOCKS * terms))
        for first in range(0, self.slices, step):
            part = slice(first, min(first + step, self.slices))
            of_part = slice(*np.searchsorted(self.segment, (part.start, part.stop)))
            shape = 2, part.stop - first, BLOCKS
            counted = term[of_part] >= 0
            side, segment, block, place = (
                values[of_part][counted].astype(np.int64)
                for values in (self.side, self.segment, self.block, term)
            )
            cell = (side * shape[1] + segment - first) * BLOCKS + block
            rows = np.bincount(cell, self.rows[of_part][counted], math.prod(shape))
            sums = np.bincount(cell * terms + place, amount[of_part][counted], math.prod(shape) * terms)
            before, now = sums.astype(np.float64).reshape(*shape, terms)
            rows_before, rows_now = rows.astype(np.float64).reshape(shape)
            yield part, UnitSums((before, now), (rows_before, rows_now))


def mean_test(units: UnitSums) -> tuple[Array, Array]:
    """Statistic and two-sided p value of equal means, of sums of the only term; 1 where values do not vary."""
    from scipy.special import ndtr

    influence = units.influence()[:, :, 0]
    difference, variance = influence.sum(axis=1), (influence**2).sum(axis=1)
    varies = variance > 0
    statistic = np.where(varies, difference / np.sqrt(np.where(varies, variance, 1.0)), 0.0)
    statistic = np.where(units.enough & np.isfinite(difference), statistic, np.nan)
    return statistic, 2 * ndtr(-np.abs(statistic))


def chi2_p_value(statistic: Array, units: UnitSums) -> Array:
    """P value of Pearson's chi2 of equal shares, of counts by bin: that of chi2 with a scale, as Rao and Scott have it.

    Mean and variance are those of the statistic where the parts of blocks have random signs. Products of blocks give
    both, however many bins there are.
    """
    from scipy.special import chdtrc

    root = np.sqrt(units.common_mean())[:, None]
    influence = units.influence()
    influence = np.divide(influence, root, out=np.zeros_like(influence), where=root > 0)
    products = influence @ influence.transpose(0, 2, 1)
    alone = np.diagonal(products, axis1=1, axis2=2)
    mean, variance = alone.sum(axis=1), 2 * ((products**2).sum(axis=(1, 2)) - (alone**2).sum(axis=1))
    of_rows = sum(1 / np.maximum(rows.sum(axis=1), 1.0) for rows in units.rows)
    varies = mean > 0
    least = 2 / _MOST_FREEDOM * np.where(varies, mean, 1.0) ** 2
    freedom = 2 * mean**2 / np.maximum(variance, least)
    p_value = chdtrc(freedom, freedom * statistic * of_rows / np.where(varies, mean, 1.0))
    return np.where(units.enough, np.where(varies, p_value, 1.0), np.nan)


def ks_p_value(units: UnitSums) -> Array:
    """P value of the distance of two distribution functions between ascending bins, of counts by bin.

    It is the share of replicates as far apart, in which the parts of blocks have random signs. Beyond the largest
    twentieth of these it falls as the tail of a normal deviate does, with the variance where that is largest.
    """
    word = mix(strides(np.arange(1, _REPLICATES + 1, dtype=np.uint64)))
    bits = word[:, None] >> np.arange(BLOCKS, dtype=np.uint64) & np.uint64(1)
    influence = units.influence().cumsum(axis=2)
    distance, variance = np.abs(influence.sum(axis=1)).max(axis=1), (influence**2).sum(axis=1).max(axis=1)
    replicates = np.abs((1.0 - 2.0 * bits) @ influence).max(axis=2)
    limit = np.partition(replicates, -_BEYOND, axis=1)[:, -_BEYOND]
    as_far = np.count_nonzero(replicates >= distance[:, None] * (1 - 1e-9), axis=1)
    varies = variance > 0
    tail = np.exp(np.minimum(limit**2 - distance**2, 0.0) / np.where(varies, 2 * variance, 1.0))
    p_value = np.where(as_far < _BEYOND, tail * _BEYOND, 1 + as_far) / (_REPLICATES + 1)
    return np.where(units.enough, np.where(varies, p_value, 1.0), np.nan)
