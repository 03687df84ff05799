"""Several models over several data sets, folds or slices: Friedman's test, and Nemenyi's of every pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from plmetrics.core.errors import ConfigError
from plmetrics.core.ops import Array
from plmetrics.core.special import chdtrc, fdtrc
from plmetrics.inference.comparisons.tests.outcome import (
    NO_VARIANCE,
    TestResult,
    inside,
    numbers,
    one_of,
    round_digits,
    same_length,
)
from plmetrics.inference.comparisons.tests.wilcoxon import middle_ranks


@dataclass(frozen=True, slots=True, eq=False)
class ModelRanks:
    """Ranks of models `[block, model]`, 1 the best, and the tie correction of Friedman's statistic."""

    models: tuple[str, ...]
    ranks: Array
    ties: float

    @property
    def mean(self) -> Array:
        """The mean rank of each model."""
        mean: Array = self.ranks.mean(axis=0)
        return mean


def rank_models(models: Mapping[str, Any], *, higher_is_better: bool = True) -> ModelRanks:
    """Ranks of the models in each block; values equal to about ten digits share the middle rank.

    Raises:
        ConfigError: there are fewer than two models, or their values do not belong together.
    """
    if len(models) < 2:
        msg = f"at least two models are needed to rank them, not {len(models)}"
        raise ConfigError(msg)
    columns = {name: numbers(values, name) for name, values in models.items()}
    same_length(*columns.items())
    values = round_digits(np.column_stack(list(columns.values())))
    blocks, k = values.shape
    code = np.repeat(np.arange(blocks), k)
    ranks, ties = middle_ranks((-values if higher_is_better else values).ravel(), code, blocks)
    return ModelRanks(tuple(columns), ranks.reshape(blocks, k), float(ties.sum()))


def mean_ranks(models: Mapping[str, Any], *, higher_is_better: bool = True) -> pl.DataFrame:
    """Mean rank of each model over blocks, the best first.

    Args:
        models: the values of each model by name, one in each block: a data set, a fold or a slice.
        higher_is_better: whether rank 1 goes to the largest value; ties share the middle rank.

    Returns:
        A row per model: `model`, `mean_rank`, `first` (blocks where it alone has rank 1) and `blocks`.

    Raises:
        ConfigError: there are fewer than two models, or they differ in length.

    Source: Demsar (2006), Statistical comparisons of classifiers over multiple data sets, JMLR 7.

    >>> import plmetrics as plm
    >>> table = {"LR": [0.84, 0.82, 0.85, 0.83], "RF": [0.85, 0.83, 0.87, 0.84], "GB": [0.86, 0.84, 0.86, 0.85]}
    >>> plm.tests.mean_ranks(table).rows()
    [('GB', 1.25, 3, 4), ('RF', 1.75, 1, 4), ('LR', 3.0, 0, 4)]
    """
    import polars as pl

    ranking = rank_models(models, higher_is_better=higher_is_better)
    table = pl.DataFrame(
        {
            "model": list(ranking.models),
            "mean_rank": ranking.mean,
            "first": (ranking.ranks == 1).sum(axis=0),
            "blocks": np.full(len(ranking.models), len(ranking.ranks)),
        }
    )
    return table.sort("mean_rank", maintain_order=True)


def friedman(models: Mapping[str, Any], *, tie_correction: bool = True) -> TestResult:
    """Whether some of several models tend to rank above others.

    Args:
        models: the values of each model by name, one in each block: a data set, a fold or a slice.
        tie_correction: whether chi squared is divided by 1 - sum (t^3 - t) / (N k (k^2 - 1)), t the sizes of ties.

    Returns:
        `statistic` is chi squared, with k - 1 degrees of freedom for k models; `n` is the number
        of blocks. Where all models tie in all blocks, it is 0 and p is 1. Fewer than 2 blocks: `too_few_units`.

    Raises:
        ConfigError: there are fewer than two models, or they differ in length.

    Source: Friedman (1937), The use of ranks to avoid the assumption of normality, JASA 32(200); Demsar (2006),
    Statistical comparisons of classifiers over multiple data sets, JMLR 7.

    >>> import plmetrics as plm
    >>> table = {"LR": [0.84, 0.82, 0.85, 0.83], "RF": [0.85, 0.83, 0.87, 0.84], "GB": [0.86, 0.84, 0.86, 0.85]}
    >>> found = plm.tests.friedman(table)
    >>> found.statistic, round(found.p_value, 4)
    (6.5, 0.0388)
    """
    return friedman_of(rank_models(models), tie_correction=tie_correction)


def friedman_of(ranking: ModelRanks, *, tie_correction: bool = True) -> TestResult:
    """Friedman's test of ranks."""
    blocks, k = ranking.ranks.shape
    if blocks < 2:
        return TestResult("friedman", df=k - 1.0, n=blocks, status="too_few_units")
    plain = blocks * k * (k + 1.0)
    untied = plain - ranking.ties / (k - 1.0)
    if untied <= 0:
        note = "all models are equal in every block"
        return TestResult("friedman", 0.0, 1.0, df=k - 1.0, n=blocks, note=note)
    squares = ((ranking.ranks.sum(axis=0) - blocks * (k + 1.0) / 2.0) ** 2).sum()
    statistic = float(12.0 * squares / (untied if tie_correction else plain))
    return TestResult("friedman", statistic, float(chdtrc(k - 1, statistic)), df=k - 1.0, n=blocks)


def iman_davenport(models: Mapping[str, Any], *, tie_correction: bool = True) -> TestResult:
    """Friedman's test with the F distribution, less conservative than chi-squared.

    F = (N - 1) chi2 / (N (k - 1) - chi2) with (k - 1, (k - 1)(N - 1)) degrees of freedom, for k models in N blocks.

    Args:
        models: as for `friedman`.
        tie_correction: as for `friedman`.

    Returns:
        As for `friedman`. Models that stand in the same order in every block leave F without a denominator
        (`zero_variance`).

    Raises:
        ConfigError: as for `friedman`.

    Source: Iman and Davenport (1980), Approximations of the critical region of the Friedman statistic,
    Communications in Statistics 9(6).

    >>> import plmetrics as plm
    >>> table = {"LR": [0.84, 0.82, 0.85, 0.83], "RF": [0.85, 0.83, 0.87, 0.84], "GB": [0.86, 0.84, 0.86, 0.85]}
    >>> round(plm.tests.iman_davenport(table).statistic, 4)
    13.0
    """
    return iman_davenport_of(rank_models(models), tie_correction=tie_correction)


def iman_davenport_of(ranking: ModelRanks, *, tie_correction: bool = True) -> TestResult:
    """Iman and Davenport's form of Friedman's test of ranks."""
    blocks, k = ranking.ranks.shape
    plain = friedman_of(ranking, tie_correction=tie_correction)
    freedom = (k - 1.0, (k - 1.0) * (blocks - 1.0))
    if plain.statistic is None:
        return TestResult("iman_davenport", df=freedom, n=blocks, status=plain.status)
    residual = blocks * (k - 1.0) - plain.statistic
    if residual <= 1e-9:
        note = "the models stand in the same order in every block"
        return TestResult("iman_davenport", df=freedom, n=blocks, status=NO_VARIANCE, note=note)
    statistic = (blocks - 1.0) * plain.statistic / residual
    p = float(fdtrc(*freedom, statistic))
    return TestResult("iman_davenport", statistic, p, df=freedom, n=blocks, note=plain.note)


def freedom_of(df: str, k: int, blocks: int) -> float:
    """Degrees of freedom of the studentised range: infinite, or k (N - 1) for small numbers of blocks."""
    return np.inf if one_of(df, "df", "infinite", "finite") == "infinite" else k * (blocks - 1.0)


def critical_difference(k: int, blocks: int, level: float = 0.95, df: str = "infinite") -> float:
    """Critical difference of mean ranks: q sqrt(k (k + 1) / 6N), q the studentised range / sqrt 2.

    >>> round(critical_difference(4, 14), 3)
    1.254
    """
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(inside(level, "level"), k, freedom_of(df, k, blocks))) / np.sqrt(2.0)
    return float(q * _rank_error(k, blocks))


def _rank_error(k: int, blocks: int) -> float:
    """Standard error of a difference of two mean ranks of equal models."""
    return float(np.sqrt(k * (k + 1.0) / (6.0 * blocks)))


def nemenyi(
    models: Mapping[str, Any], *, higher_is_better: bool = True, level: float = 0.95, df: str = "infinite"
) -> pl.DataFrame:
    """Nemenyi's test of all pairs of models by mean ranks.

    Args:
        models: the values of each model by name, one in each block: a data set, a fold or a slice.
        higher_is_better: whether rank 1 goes to the largest value.
        level: level of the critical difference.
        df: degrees of freedom of the studentised range: "infinite", as in Demsar (2006), or "finite": k (N - 1) for k
            models in N blocks, as in the R package scmamp.

    Returns:
        A row per pair: `model`, `baseline`, `difference` of their mean ranks (below 0: the model ranks better),
        `critical_difference`, `p_value`, and whether the difference is `significant`.

    Raises:
        ConfigError: there are fewer than two models or no blocks, or they differ in length.

    Sources: Nemenyi (1963), Distribution-free multiple comparisons; Demsar (2006), JMLR 7.

    >>> import plmetrics as plm
    >>> table = {"LR": [0.84, 0.82, 0.85, 0.83], "RF": [0.85, 0.83, 0.87, 0.84], "GB": [0.86, 0.84, 0.86, 0.85]}
    >>> plm.tests.nemenyi(table).select("model", "baseline", "difference", "significant").rows()
    [('RF', 'LR', -1.25, False), ('GB', 'LR', -1.75, True), ('GB', 'RF', -0.5, False)]
    """
    return nemenyi_of(rank_models(models, higher_is_better=higher_is_better), level=level, df=df)


def nemenyi_of(ranking: ModelRanks, *, level: float = 0.95, df: str = "infinite") -> pl.DataFrame:
    """Nemenyi's test of ranks.

    Raises:
        ConfigError: there are no blocks, or only one where degrees of freedom are finite.
    """
    import polars as pl
    from scipy.stats import studentized_range

    blocks, k = ranking.ranks.shape
    if blocks == 0:
        msg = "there are no blocks to rank models in"
        raise ConfigError(msg)
    freedom = freedom_of(df, k, blocks)
    if freedom == 0:
        msg = "finite degrees of freedom need two blocks or more"
        raise ConfigError(msg)
    later, earlier = np.tril_indices(k, -1)
    difference = ranking.mean[later] - ranking.mean[earlier]
    scale = _rank_error(k, blocks)
    limit = critical_difference(k, blocks, level, df)
    return pl.DataFrame(
        {
            "model": [ranking.models[index] for index in later],
            "baseline": [ranking.models[index] for index in earlier],
            "difference": difference,
            "critical_difference": np.full(len(difference), limit),
            "p_value": studentized_range.sf(np.abs(difference) / scale * np.sqrt(2.0), k, freedom),
            "significant": np.abs(difference) > limit,
        }
    )
