"""DeLong's test: areas under the ROC curves of models on the same rows, with their covariance.

The placement value of a positive is the share of negatives that it lies above, ties counting half, and that of a
negative the share of positives that lie above it. An area is the mean of either; models covary as theirs do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.errors import ConfigError
from plmetrics.core.special import chdtrc, ndtr, ndtri
from plmetrics.inference.comparisons.tests.orders import order_within, run_starts
from plmetrics.inference.comparisons.tests.outcome import (
    NO_VARIANCE,
    TOO_FEW,
    Array,
    Flags,
    TestOutcomes,
    TestResult,
    level_of,
    numbers,
    one_of,
    same_length,
    statuses,
    where,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

Codes = NDArray[np.int64]

_ROUNDING = 1e-24
ALTERNATIVES = ("two_sided", "greater")


@dataclass(frozen=True, slots=True, eq=False)
class AreaCovariance:
    """Areas under the ROC curves of some models, and the covariance of their estimates."""

    models: tuple[str, ...]
    areas: Array
    covariance: Array


def delong(
    label: Any,
    model: Any,
    baseline: Any,
    *,
    positive: Any = 1,
    level: float = 0.95,
    alternative: str = "two_sided",
) -> TestResult:
    """Compare the areas under the ROC curves of two models on the same rows.

    Rows must be independent and count once. Ties count half.

    Args:
        label: the true class of each row.
        model: the model's scores.
        baseline: the baseline's, in the same order.
        positive: the label that counts as positive.
        level: two-sided level of the interval for the difference.
        alternative: "greater" asks whether the model's area is larger, not whether the two differ.

    Returns:
        `estimate` is area - baseline's area, `statistic` a z. Models that rank alike: difference 0, p 1. Without two
        rows of either class there is no test (`no_positives`, `no_negatives`, `too_few_units`), nor where a difference
        has no spread at all (`zero_variance`).

    Raises:
        ConfigError: the columns differ in length or a score is no finite number.

    Sources: DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44(3); Sun and Xu (2014), Fast implementation of
    DeLong's algorithm, IEEE Signal Processing Letters 21(11).

    >>> import plmetrics as plm
    >>> found = plm.tests.delong([1, 1, 1, 0, 0, 0], [0.9, 0.8, 0.7, 0.6, 0.5, 0.75], [0.9, 0.4, 0.7, 0.6, 0.5, 0.2])
    >>> round(found.estimate, 4), round(found.p_value, 4)
    (0.1111, 0.763)
    """
    truth = _positive(label, positive)
    first_scores, second_scores = numbers(model, "model"), numbers(baseline, "baseline")
    same_length(("label", truth), ("model", first_scores), ("baseline", second_scores))
    first, second = placements(first_scores, truth), placements(second_scores, truth)
    return delong_tests(first, second, truth, level=level, alternative=alternative).only("delong")


def delong_joint(label: Any, models: Mapping[str, Any], *, positive: Any = 1) -> TestResult:
    """Test whether the areas under the ROC curves of several models on the same rows are all equal.

    With L the differences of each area to the last and S the covariance of the areas, the statistic is
    (L a)' (L S L')^- (L a), chi squared with as many degrees of freedom as L S L' has ranks: k - 1, less where models
    rank alike. Of two models it is the square of DeLong's z. Rows must be independent and count once.

    Args:
        label: the true class of each row.
        models: scores by model name, of at least two models.
        positive: the label that counts as positive.

    Returns:
        `statistic` is chi squared, `df` its degrees of freedom. Models that all rank alike: statistic 0, p 1.

    Raises:
        ConfigError: there are fewer than two models, or as for `delong_covariance`.

    Source: DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44(3).

    >>> import plmetrics as plm
    >>> scores = {"one": [0.9, 0.8, 0.7, 0.6, 0.5, 0.75], "other": [0.9, 0.4, 0.7, 0.6, 0.5, 0.2]}
    >>> found = plm.tests.delong_joint([1, 1, 1, 0, 0, 0], scores)
    >>> round(found.statistic, 4), found.df, round(found.p_value, 4)
    (0.0909, 1.0, 0.763)
    """
    if len(models) < 2:
        msg = f"models must be at least two, not {len(models)}"
        raise ConfigError(msg)
    joint = delong_covariance(label, models, positive=positive)
    contrasts = np.eye(len(models))[:-1] - np.eye(len(models))[-1]
    difference = contrasts @ joint.areas
    sizes, directions = np.linalg.eigh(contrasts @ joint.covariance @ contrasts.T)
    clear = sizes > _ROUNDING + 1e-12 * float(sizes.max())
    along = directions.T @ difference
    if (np.abs(along[~clear]) > 1e-9).any():
        return TestResult("delong_joint", None, None, n=len(np.asarray(label)), status=NO_VARIANCE)
    df = int(clear.sum())
    statistic = float((along[clear] ** 2 / sizes[clear]).sum())
    p = float(chdtrc(df, statistic)) if df else 1.0
    return TestResult("delong_joint", statistic, p, n=len(np.asarray(label)), df=float(df))


def delong_covariance(label: Any, models: Mapping[str, Any], *, positive: Any = 1) -> AreaCovariance:
    """Areas under the ROC curves of several models on the same rows, and their covariance.

    Args:
        label: the true class of each row.
        models: scores by model name.
        positive: the label that counts as positive.

    Raises:
        ConfigError: the columns differ in length, or there are not two rows of either class.

    >>> import plmetrics as plm
    >>> scores = {"one": [0.9, 0.8, 0.7, 0.6, 0.5, 0.75], "other": [0.9, 0.4, 0.7, 0.6, 0.5, 0.2]}
    >>> found = plm.tests.delong_covariance([1, 1, 1, 0, 0, 0], scores)
    >>> found.areas.round(4).tolist(), found.covariance.round(4).tolist()
    ([0.8889, 0.7778], [[0.0247, -0.0247], [-0.0247, 0.0617]])
    """
    truth = _positive(label, positive)
    scores_by_name = {name: numbers(scores, name) for name, scores in models.items()}
    same_length(("label", truth), *scores_by_name.items())
    of_positives, of_negatives = int(truth.sum()), int((~truth).sum())
    if min(of_positives, of_negatives) < 2:
        msg = f"two rows of either class are needed; {of_positives:,} are positive and {of_negatives:,} negative"
        raise ConfigError(msg)
    values = np.array([placements(scores, truth) for scores in scores_by_name.values()])
    areas = values[:, truth].mean(axis=1, keepdims=True)
    away = values - areas
    ups, downs = np.where(truth, away, 0.0), np.where(truth, 0.0, away)
    covariance = np.einsum("in,jn->ij", ups, ups) / (of_positives * (of_positives - 1.0))
    covariance += np.einsum("in,jn->ij", downs, downs) / (of_negatives * (of_negatives - 1.0))
    return AreaCovariance(tuple(scores_by_name), areas[:, 0], covariance)


def _positive(label: Any, positive: Any) -> Flags:
    truth: Flags = np.asarray(label) == positive
    return truth


def placements(score: Array, positive: Flags, code: Codes | None = None) -> Array:
    """The placement value of each row, within its slice where `code` numbers slices.

    That of a row in a slice without rows of the other class means nothing.
    """
    code = code if code is not None and code.any() else None
    order = order_within(score, code)
    truth, codes = positive[order], None if code is None else code[order]
    starts = run_starts(score[order]) if codes is None else run_starts(score[order], codes)
    sizes = np.diff(starts, append=len(order))
    ups = np.diff(np.cumsum(truth)[starts + sizes - 1], prepend=0)
    place = None if codes is None else codes[starts]
    below = _below(sizes - ups, place)
    above = 1.0 - _below(ups, place)
    out = np.empty(len(order))
    out[order] = np.where(truth, np.repeat(below, sizes), np.repeat(above, sizes))
    return out


def _below(rows: Codes, code: Codes | None) -> Array:
    """For each run of equal scores the share of its slice's rows of a class that lie below it."""
    if code is None:
        alone: Array = (np.cumsum(rows) - rows / 2.0) / max(float(rows.sum()), 1.0)
        return alone
    totals = np.bincount(code, weights=rows)
    offset = np.concatenate(([0.0], np.cumsum(totals)))[code]
    share: Array = (np.cumsum(rows) - offset - rows / 2.0) / np.maximum(totals, 1.0)[code]
    return share


def delong_tests(
    model: Array,
    baseline: Array,
    positive: Flags,
    code: Codes | None = None,
    slices: int = 1,
    *,
    level: float = 0.95,
    alternative: str = "two_sided",
) -> TestOutcomes:
    """Tests of the difference of two areas in S slices, from the placement values of all rows."""
    place = np.zeros(len(positive), dtype=np.int64) if code is None else code
    difference = model - baseline
    up = placement_moments(difference[positive], place[positive], slices)
    down = placement_moments(difference[~positive], place[~positive], slices)
    return delong_of_moments(up, down, level=level, alternative=alternative)


def delong_of_moments(
    up: PlacementMoments, down: PlacementMoments, *, level: float, alternative: str
) -> TestOutcomes:
    """The same from the differences of placements of the positives, and of the negatives."""
    one_of(alternative, "alternative", *ALTERNATIVES)
    n = up.n + down.n
    estimate = where((up.n > 0) & (down.n > 0), up.mean)
    variance = where((up.n > 1) & (down.n > 1), up.error + down.error)
    flat = variance <= _ROUNDING
    same = flat & (np.abs(np.nan_to_num(estimate)) <= 1e-12)
    usable = variance > _ROUNDING
    error = np.sqrt(np.where(usable, variance, 1.0))
    statistic = np.where(usable, estimate, 0.0) / error
    half = np.where(same, 0.0, where(usable, ndtri((1.0 + level_of(level)) / 2.0) * error))
    status = statuses(
        n,
        ("no_rows", n == 0),
        ("no_positives", up.n == 0),
        ("no_negatives", down.n == 0),
        (TOO_FEW, (up.n < 2) | (down.n < 2)),
        (NO_VARIANCE, flat & ~same),
    )
    p = ndtr(-statistic) if alternative == "greater" else 2.0 * ndtr(-np.abs(statistic))
    return TestOutcomes(
        np.where(same, 0.0, where(usable, statistic)),
        np.where(same, 1.0, where(usable, p)),
        n,
        status,
        np.where(same, 0.0, estimate),
        estimate - half,
        estimate + half,
        np.where(same, 0.0, where(usable, error)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class PlacementMoments:
    """How many values a slice has, their mean and the variance of the mean."""

    n: Codes
    mean: Array
    error: Array


def placement_moments(values: Array, code: Codes, slices: int) -> PlacementMoments:
    """Those of some values by slice."""
    n = np.bincount(code, minlength=slices)
    mean = np.bincount(code, weights=values, minlength=slices) / np.maximum(n, 1)
    squares = np.bincount(code, weights=(values - mean[code]) ** 2, minlength=slices)
    return PlacementMoments(n, mean, squares / np.maximum(n - 1, 1) / np.maximum(n, 1))
