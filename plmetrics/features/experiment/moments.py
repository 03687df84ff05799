"""Sizes, means, variances, quantiles and rank sums of outcomes by cell, and by arm once they are adjusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from plmetrics.features.experiment.design import ARM
from plmetrics.features.experiment.outcomes import COVARIATE, COVARIATE_SIZE, SIZE, SIZES, VALUE, part_column

ROUNDING = 1e-14
"""Share of the numbers at hand below which a remainder is rounding."""
_NORMAL = 1.959963984540054
"""Of 95 %, the level of the interval that the variance comes from."""
_ALONE = 1e-12
"""One unit has all of the size, and nothing is left of its residual."""
_ALL, _SHARE, _CONCENTRATION = "@all", "@share", "@concentration"
_OF_COVARIATE = ("covariate", "covariate_variance")
COLUMNS = ("n", "units", "mean", "variance", "freedom", "unadjusted", *_OF_COVARIATE)
"""Numbers of each outcome and arm: `unadjusted` is the variance without the covariate."""


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
    absent = [size for part, size in SIZES.items() if part in numbers and size not in numbers]
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
        *(power.alias(f"{name}|{index}") for name, power in mean.concentration.items()),
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
            * pl.when(total > ROUNDING * largest).then(total).otherwise(total * 0.0)
            / self.total**2
        )

    @property
    def concentration(self) -> dict[str, pl.Expr]:
        """Sums of squares and cubes of the units' shares of all sizes."""
        powers = {} if self.size is None else {"squares": 2, "cubes": 3}
        return {
            name: (self.size**power).sum() / self.total**power
            for name, power in powers.items()
            if self.size is not None
        }

    def covariance(self, other: _Ratio) -> pl.Expr:
        """Covariance of two ratios, from the units' residuals."""
        parts = pl.cov(self.value, other.value)
        if self.size is not None:
            parts = parts - self.ratio * pl.cov(self.size, other.value)
        if other.size is not None:
            parts = parts - other.ratio * pl.cov(self.value, other.size)
        if self.size is not None and other.size is not None:
            parts = parts + self.ratio * other.ratio * pl.cov(self.size, other.size)
        return self.units * parts / (self.total * other.total)


def quantile_moments(
    rows: pl.LazyFrame, column: str, keys: Sequence[str], level: float, index: int
) -> pl.LazyFrame:
    """Quantile of a number for each cell, `mean|i`, and its variance, `variance|i`; rows are units.

    The quantile is the averaged inverse of the distribution function. Its standard error is the distance of the
    quantiles level -+ z sqrt(level (1 - level) / n) over 2 z (Woodruff 1952); none where one of them is outside of
    the rows. Among tied values a quantile jumps from one to the next: half of the widest such gap between the two, the
    largest spread of a number with two values, is added as independent errors are.
    """
    value, n = pl.col(column).sort(), pl.len().cast(pl.Float64)
    place = level * n
    near = place.round()
    whole = (place - near).abs() <= 1e-9 * n
    first = pl.when(whole).then(near - 1).otherwise(place.floor())
    last = pl.when(whole).then(near).otherwise(place.floor())
    away = _NORMAL * (level * (1 - level) / n).sqrt()
    low, high = ((level - away) * n).ceil() - 1, ((level + away) * n).ceil() - 1
    inside = (low >= 0) & (high <= n - 1)

    def ranked(rank: pl.Expr) -> pl.Expr:
        return value.get(rank.clip(0, n - 1).cast(pl.UInt32))

    width = ranked(high) - ranked(low)
    gaps = value.slice(low.clip(0).cast(pl.Int64), (high - low + 1).cast(pl.Int64)).diff()
    jump = pl.when((gaps == 0).any()).then(gaps.max() / 2).otherwise(0.0)
    return rows.group_by(keys).agg(
        ((ranked(first) + ranked(last)) / 2).alias(f"mean|{index}"),
        pl.when(inside).then((width / (2 * _NORMAL)) ** 2 + jump**2).alias(f"variance|{index}"),
    )


def value_counts(rows: pl.LazyFrame, column: str, keys: Sequence[str], arm: str, arms: int) -> pl.LazyFrame:
    """Number of rows of each arm, `arm|i`, with each value of a number, in order by cell."""
    counted = rows.filter(pl.col(column).is_finite()).group_by(*keys, column)
    return counted.agg(
        (pl.col(arm) == place).sum().cast(pl.Int64).alias(f"arm|{place}") for place in range(arms)
    ).sort(*keys, column, nulls_last=True)


def rank_sums(rows: pl.LazyFrame, column: str, keys: Sequence[str], arm: str, arms: int) -> pl.LazyFrame:
    """Mann-Whitney's U of each arm against the control, and the ties, from counts of values.

    Controls below a value are counted from the first row of the table: those before a slice are taken off at the end,
    which is cheaper than a count within each slice.
    """
    keys = list(keys) or ["@all"]
    counted = value_counts(rows.with_columns(pl.lit(0, dtype=pl.Int8).alias("@all")), column, keys, arm, arms)
    control = pl.col("arm|0")
    below, before = 2 * pl.col("@below") - control, (pl.col("@below") - control).min()
    plan = counted.with_columns(control.cum_sum().alias("@below")).group_by(keys)
    parts = []
    for place in range(1, arms):
        arm_ranks = pl.col(f"arm|{place}")
        wide, both = arm_ranks.cast(pl.Int128), (arm_ranks + control).cast(pl.Int128)
        above = (wide * below).sum() - 2 * before.cast(pl.Int128) * wide.sum()
        parts += [
            (above.cast(pl.Float64) / 2).alias(f"above|{place}"),
            (both * both * both - both).sum().cast(pl.Float64).alias(f"ties|{place}"),
        ]
    return plan.agg(parts).drop("@all", strict=False)


def adjusted_moments(
    cells: pl.DataFrame, adjusted: Sequence[bool], slices: Sequence[str], strata: Sequence[str]
) -> pl.DataFrame:
    """The moments of each slice and arm, from those of its strata.

    `cells` has a line for each slice, arm and stratum, as `moments` has them; `adjusted` says of each outcome whether
    it has a covariate.
    """
    cells = cells.sort(*slices, ARM, *strata).with_columns(pl.lit(0, dtype=pl.Int8).alias(_ALL))
    within = [_ALL, *slices]
    for index, has_covariate in enumerate(adjusted):
        cells = cells.with_columns(_without_rounding(index, has_covariate=has_covariate))
        cells = cells.with_columns(_spread_by_size(index, sized=f"squares|{index}" in cells.columns))
        variance = pl.col(f"variance|{index}") * pl.col(f"{_CONCENTRATION}|{index}")
        cells = cells.with_columns(variance.alias(f"unadjusted|{index}"))
        if has_covariate:
            cells = cells.with_columns(_by_covariate(index, within, strata))
        else:
            cells = cells.with_columns(
                pl.col(f"unadjusted|{index}").alias(f"variance|{index}"),
                *(pl.lit(None, pl.Float64).alias(f"{name}|{index}") for name in _OF_COVARIATE),
            )
    if not strata:
        return cells
    parts = [part for index in range(len(adjusted)) for part in _over_strata(index)]
    shares = [
        (pl.col(f"units|{i}").sum().over(*within, *strata) / pl.col(f"units|{i}").sum().over(within)).alias(
            f"{_SHARE}|{i}"
        )
        for i in range(len(adjusted))
    ]
    return cells.with_columns(shares).group_by(*within, ARM, maintain_order=True).agg(parts)


def _without_rounding(index: int, *, has_covariate: bool) -> list[pl.Expr]:
    """Variances of 0 where values are alike but for rounding, and no covariance with these."""
    means = {"variance": "mean", **({"covariate_variance": "covariate"} if has_covariate else {})}
    alike = {
        f"{variance}|{index}": pl.col(f"{variance}|{index}").sqrt()
        <= ROUNDING * pl.col(f"{mean}|{index}").abs()
        for variance, mean in means.items()
    }
    if has_covariate:
        alike[f"covariance|{index}"] = pl.any_horizontal(alike.values())
    return [pl.when(flag).then(0.0).otherwise(name).alias(name) for name, flag in alike.items()]


def _spread_by_size(index: int, *, sized: bool) -> list[pl.Expr]:
    """Degrees of freedom of a variance, and the factor on it that units of unequal sizes ask for.

    Residuals about a ratio of sums are too small, the more so those of the largest units, which pull it towards
    themselves. Where outcomes are alike within a unit, their squares hold, on average, a part 1 - 2 sum h^3 / sum h^2 +
    sum h^2 of the variance, h the units' shares of all sizes: 1 - 1/n for n equal ones, whose factor n / (n - 1) is
    there already. The degrees of freedom are those of as many equal units as 1 / sum h^2, less 1.

    Sources: Kish (1965), Survey sampling, for the effective number; Bell and McCaffrey (2002), Bias reduction in
    standard errors for linear regression with multi-stage samples, Survey Methodology 28(2), for the mean of squares.
    """
    units = pl.col(f"units|{index}")
    freedom, factor = units - 1, pl.lit(1.0)
    if sized:
        squares, cubes = pl.col(f"squares|{index}"), pl.col(f"cubes|{index}")
        left = 1.0 - 2.0 * cubes / squares + squares
        freedom = pl.when(pl.col(f"mean|{index}").is_not_null()).then(1.0 / squares - 1)
        factor = pl.when(left > _ALONE).then(pl.max_horizontal(1.0, (1.0 - 1.0 / units) / left))
    return [freedom.alias(f"freedom|{index}"), factor.alias(f"{_CONCENTRATION}|{index}")]


def _by_covariate(index: int, within: Sequence[str], strata: Sequence[str]) -> list[pl.Expr]:
    """Mean - theta (mean of the covariate - that of all arms), its variance and degrees of freedom.

    theta is the slope of the outcome on the covariate within arms and strata, one for all arms of a slice. It takes one
    of the D degrees of freedom of all of them, and its own error is a share 1 / (D - 2) of the rest on average.
    """
    mean, variance, covariate, spread, covariance, size, units = (
        pl.col(f"{name}|{index}")
        for name in (
            *("mean", "variance", "covariate", "covariate_variance", "covariance", "covariate_size"),
            "units",
        )
    )
    # An arm whose sizes add up to 0 has no covariance, though its covariate may vary.
    pairs = pl.when((units > 1) & covariance.is_not_null()).then(units * (units - 1))
    slope = (pairs * covariance).sum().over(within) / (pairs * spread).sum().over(within)
    theta = pl.when(slope.is_finite()).then(slope).otherwise(0.0)  # a constant covariate tells nothing
    freedom = pl.col(f"freedom|{index}")
    all_freedom = freedom.filter(freedom > 0).sum().over(within)
    loss = pl.when(slope.is_finite()).then(pl.when(all_freedom > 2).then(all_freedom / (all_freedom - 2)))
    factor = pl.col(f"{_CONCENTRATION}|{index}") * loss.otherwise(1.0)
    together = (size * covariate).sum().over(*within, *strata) / size.sum().over(*within, *strata)
    return [
        (mean - theta * (covariate - together)).alias(f"mean|{index}"),
        ((variance + theta**2 * spread - 2.0 * theta * covariance).clip(lower_bound=0.0) * factor).alias(
            f"variance|{index}"
        ),
        pl.when(slope.is_finite())
        .then(freedom * (all_freedom - 1) / all_freedom)
        .otherwise(freedom)
        .alias(f"freedom|{index}"),
    ]


def _over_strata(index: int) -> list[pl.Expr]:
    """Means weighted by the share of each stratum's units in all arms; none where one has no mean or variance."""
    share, freedom = pl.col(f"{_SHARE}|{index}"), pl.col(f"freedom|{index}")
    variance = share**2 * pl.col(f"variance|{index}")
    defined = (freedom > 0) & pl.col(f"mean|{index}").is_not_null()
    whole = (share.filter(defined).sum() - 1.0).abs() < 1e-9
    powers = {"mean": 1, "covariate": 1, "variance": 2, "unadjusted": 2, "covariate_variance": 2}
    totals = {name: (share**power * pl.col(f"{name}|{index}")).sum() for name, power in powers.items()}
    # An arm whose values are all alike has no variance to weigh the degrees of freedom by: they are all there.
    by_variance = totals["variance"] ** 2 / (variance**2 / freedom).sum()
    totals["freedom"] = pl.when(totals["variance"] > 0).then(by_variance).otherwise(freedom.sum())
    totals["variance"] = pl.when(variance.is_not_null().all()).then(totals["variance"])
    sums = (pl.when(whole).then(total).alias(f"{name}|{index}") for name, total in totals.items())
    return [pl.col(f"n|{index}").sum(), pl.col(f"units|{index}").sum(), *sums]
