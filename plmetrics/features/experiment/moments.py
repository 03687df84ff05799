"""Sizes, means and variances of the outcomes of an experiment by cell, from sums over independent units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.features.experiment.outcomes import COVARIATE, COVARIATE_SIZE, SIZE, VALUE, part_column

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ROUNDING = 1e-14


def moments(
    rows: pl.LazyFrame, outcomes: Sequence[Mapping[str, pl.Expr]], keys: Sequence[str], unit: str | None
) -> pl.LazyFrame:
    """For each cell `n|i`, `units|i`, and mean and variance of the mean of the i-th outcome.

    The mean is a ratio of two sums over units, its variance that of the delta method: for rows that are units, with no
    sizes, the mean and s^2 / n. With a covariate also its mean, the variance of that, and their covariance. `outcomes`
    are the numbers of a row by part, null where it has none. Without a unit rows are units.
    """
    rows = rows.with_columns(value for numbers in outcomes for value in numbers.values())
    if unit is not None:
        rows = rows.group_by(*keys, unit).agg(
            value for index, numbers in enumerate(outcomes) for value in _of_unit(numbers, index)
        )
    parts = [
        part
        for index, numbers in enumerate(outcomes)
        for part in _of_cell(numbers, index, clustered=unit is not None)
    ]
    return rows.group_by(keys).agg(parts)


def _of_unit(numbers: Mapping[str, pl.Expr], index: int) -> list[pl.Expr]:
    """The sums of a unit, null where it has no value; a mean over rows has their number as its size."""
    rows = pl.col(part_column(VALUE, index)).count()
    sums = [
        pl.when(rows > 0).then(pl.col(part_column(part, index)).sum()).alias(part_column(part, index))
        for part in numbers
    ]
    counted = pl.when(rows > 0).then(rows.cast(pl.Float64))
    sizes = {VALUE: SIZE, COVARIATE: COVARIATE_SIZE}
    absent = [size for part, size in sizes.items() if part in numbers and size not in numbers]
    return [
        *sums,
        *(counted.alias(part_column(size, index)) for size in absent),
        counted.alias(f"rows|{index}"),
    ]


def _of_cell(numbers: Mapping[str, pl.Expr], index: int, *, clustered: bool) -> list[pl.Expr]:
    """The moments of a cell, from numbers of its units."""
    value = pl.col(part_column(VALUE, index))
    units = value.count().cast(pl.Float64)
    mean = _Ratio(index, VALUE, SIZE, units, sized=clustered or SIZE in numbers)
    parts = [
        (pl.col(f"rows|{index}").sum() if clustered else units).alias(f"n|{index}"),
        units.alias(f"units|{index}"),
        mean.ratio.alias(f"mean|{index}"),
        mean.variance.alias(f"variance|{index}"),
    ]
    if COVARIATE in numbers:
        covariate = _Ratio(
            index, COVARIATE, COVARIATE_SIZE, units, sized=clustered or COVARIATE_SIZE in numbers
        )
        parts += [
            covariate.total.alias(f"covariate_size|{index}"),
            covariate.ratio.alias(f"covariate|{index}"),
            covariate.variance.alias(f"covariate_variance|{index}"),
            mean.covariance(covariate).alias(f"covariance|{index}"),
        ]
    return parts


class _Ratio:
    """A ratio of two sums over the units of a cell."""

    def __init__(self, index: int, value: str, size: str, units: pl.Expr, *, sized: bool) -> None:
        self.units, self.value = units, pl.col(part_column(value, index))
        self.size = pl.col(part_column(size, index)) if sized else None
        self.total = units if self.size is None else self.size.sum()
        self.ratio = pl.when(self.total != 0).then(self.value.sum() / self.total)

    @property
    def variance(self) -> pl.Expr:
        """By the delta method; 0 where it is within the rounding of its terms."""
        total, largest = pl.cov(self.value, self.value), pl.cov(self.value, self.value)
        if self.size is not None:
            square = self.ratio**2 * pl.cov(self.size, self.size)
            total = total - 2.0 * self.ratio * pl.cov(self.value, self.size) + square
            largest = largest + square
        return (
            self.units
            * pl.when(total > _ROUNDING * largest).then(total).otherwise(total * 0.0)
            / self.total**2
        )

    def covariance(self, other: _Ratio) -> pl.Expr:
        """Covariance of two ratios, of what each unit adds beyond its share."""
        parts = pl.cov(self.value, other.value)
        if self.size is not None:
            parts = parts - self.ratio * pl.cov(self.size, other.value)
        if other.size is not None:
            parts = parts - other.ratio * pl.cov(self.value, other.size)
        if self.size is not None and other.size is not None:
            parts = parts + self.ratio * other.ratio * pl.cov(self.size, other.size)
        return self.units * parts / (self.total * other.total)
