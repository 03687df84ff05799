"""Means of arms that are adjusted: by a covariate, and by strata."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

_ALL, _SHARE = "@all", "@share"
_OF_COVARIATE = ("covariate", "covariate_variance")
COLUMNS = ("n", "units", "mean", "variance", "freedom", "unadjusted", *_OF_COVARIATE)
"""What there is of each outcome and arm: `unadjusted` is the variance without the covariate."""


def adjusted_moments(
    cells: pl.DataFrame, adjusted: Sequence[bool], slices: Sequence[str], arm: str, strata: Sequence[str]
) -> pl.DataFrame:
    """The moments of each slice and arm, from those of its strata.

    `cells` has a line for each slice, arm and stratum, as `moments` has them; `adjusted` says of each outcome whether
    it has a covariate.
    """
    cells = cells.sort(*slices, arm, *strata).with_columns(pl.lit(0, dtype=pl.Int8).alias(_ALL))
    within = [_ALL, *slices]
    for index, has_covariate in enumerate(adjusted):
        cells = cells.with_columns(pl.col(f"variance|{index}").alias(f"unadjusted|{index}"))
        if has_covariate:
            cells = cells.with_columns(_by_covariate(index, within, strata))
        else:
            cells = cells.with_columns(
                pl.lit(None, pl.Float64).alias(f"{name}|{index}") for name in _OF_COVARIATE
            )
    if not strata:
        freedom = [(pl.col(f"units|{i}") - 1).alias(f"freedom|{i}") for i in range(len(adjusted))]
        return cells.with_columns(freedom)
    parts = [part for index in range(len(adjusted)) for part in _over_strata(index)]
    shares = [
        (pl.col(f"units|{i}").sum().over(*within, *strata) / pl.col(f"units|{i}").sum().over(within)).alias(
            f"{_SHARE}|{i}"
        )
        for i in range(len(adjusted))
    ]
    return cells.with_columns(shares).group_by(*within, arm, maintain_order=True).agg(parts)


def _by_covariate(index: int, within: Sequence[str], strata: Sequence[str]) -> list[pl.Expr]:
    """Mean - theta (mean of the covariate - that of all arms) and its variance.

    theta is the slope of the outcome on the covariate within arms and strata, one for all arms of a slice.
    """
    mean, variance, covariate, spread, covariance, size, units = (
        pl.col(f"{name}|{index}")
        for name in (
            *("mean", "variance", "covariate", "covariate_variance", "covariance", "covariate_size"),
            "units",
        )
    )
    pairs = pl.when(units > 1).then(units * (units - 1))
    slope = (pairs * covariance).sum().over(within) / (pairs * spread).sum().over(within)
    theta = pl.when(slope.is_finite()).then(slope).otherwise(0.0)  # a constant covariate tells nothing
    together = (size * covariate).sum().over(*within, *strata) / size.sum().over(*within, *strata)
    return [
        (mean - theta * (covariate - together)).alias(f"mean|{index}"),
        (variance + theta**2 * spread - 2.0 * theta * covariance)
        .clip(lower_bound=0.0)
        .alias(f"variance|{index}"),
    ]


def _over_strata(index: int) -> list[pl.Expr]:
    """Means weighted by the share of each stratum's units in all arms; none where one has no mean or variance."""
    share, units = pl.col(f"{_SHARE}|{index}"), pl.col(f"units|{index}")
    variance = share**2 * pl.col(f"variance|{index}")
    known = (units > 1) & pl.col(f"mean|{index}").is_not_null()
    whole = (share.filter(known).sum() - 1.0).abs() < 1e-9
    total = variance.sum()
    return [
        pl.col(f"n|{index}").sum(),
        units.sum(),
        pl.when(whole).then((share * pl.col(f"mean|{index}")).sum()).alias(f"mean|{index}"),
        pl.when(whole).then(total).alias(f"variance|{index}"),
        pl.when(whole).then(total**2 / (variance**2 / (units - 1)).sum()).alias(f"freedom|{index}"),
        pl.when(whole).then((share**2 * pl.col(f"unadjusted|{index}")).sum()).alias(f"unadjusted|{index}"),
        pl.when(whole).then((share * pl.col(f"covariate|{index}")).sum()).alias(f"covariate|{index}"),
        pl.when(whole)
        .then((share**2 * pl.col(f"covariate_variance|{index}")).sum())
        .alias(f"covariate_variance|{index}"),
    ]
