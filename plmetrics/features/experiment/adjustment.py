"""Means of arms that are adjusted: by a covariate, and by strata."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from plmetrics.features.experiment.arm_sums import ExperimentSums

_ALL, _SHARE = "@all", "@share"
_OF_COVARIATE = ("covariate", "covariate_variance")
COLUMNS = ("n", "units", "mean", "variance", "freedom", "unadjusted", *_OF_COVARIATE)
"""What there is of each outcome and arm: `unadjusted` is the variance without the covariate."""
_APART, _CLEAR = 0.1, 5.0
"""Means of a covariate so many standard deviations and standard errors apart are no chance (Austin 2009)."""
_ROUNDING = 1e-9


def adjusted_moments(
    cells: pl.DataFrame, adjusted: Sequence[bool], slices: Sequence[str], arm: str, strata: Sequence[str]
) -> pl.DataFrame:
    """The moments of each slice and arm, from those of its strata.

    Args:
        cells: a line for each slice, arm and stratum, as `moments` has them.
        adjusted: of each outcome whether it has a covariate.
        slices: the keys of slices.
        arm: the key of arms.
        strata: the keys of strata; the cells are slices and arms without them.
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


def unlike_covariates(experiment: ExperimentSums) -> Iterator[str]:
    """A text for each covariate whose means differ so between an arm and the control that it was not known before."""
    seen = set()
    for sums in experiment.sums:
        covariate = sums.outcome.covariate
        if not covariate or covariate in seen:
            continue
        seen.add(covariate)
        mean, variance, units = sums.covariate[0], sums.covariate_variance[0], sums.units[0]
        for arm, name in enumerate(experiment.arms[1:], start=1):
            pair = [0, arm]
            deviation, error = np.sqrt((variance * units)[pair].mean()), np.sqrt(variance[pair].sum())
            alike = max(_APART * deviation, _CLEAR * error, _ROUNDING * abs(mean[pair]).max())
            if abs(mean[arm] - mean[0]) > alike:
                yield (
                    f"covariate '{' / '.join(covariate)}' differs between the arms: its mean is {mean[arm]:.4g} in "
                    f"{name} and {mean[0]:.4g} in {experiment.arms[0]}; it was not known before, or arms were not "
                    "drawn at random, and what it takes off is part of the effect"
                )
