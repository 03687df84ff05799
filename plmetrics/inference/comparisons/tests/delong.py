"""DeLong's test: areas under the ROC curves of models on the same rows, with their covariance.

The placement value of a positive is the share of negatives that it lies above, ties counting half, and that of a
negative the share of positives that lie above it. An area is the mean of either; models covary as theirs do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from plmetrics.core.errors import ConfigError
from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.core.placements import cluster_covariance, cluster_variance
from plmetrics.core.special import chdtrc, ndtr, ndtri, stdtr, stdtrit
from plmetrics.inference.comparisons.tests.outcome import (
    NO_VARIANCE,
    TOO_FEW,
    TestOutcomes,
    TestResult,
    labels,
    level_of,
    numbers,
    one_of,
    order_within,
    run_starts,
    same_length,
    statuses,
    where,
)

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
    unit: Any = None,
) -> TestResult:
    """Compare the areas under the ROC curves of two models on the same rows.

    Rows must count once and be independent, or those of different units (Obuchowski). Ties count half.

    Args:
        label: the true class of each row.
        model: the model's scores.
        baseline: the baseline's, in the same order.
        positive: the label that counts as positive.
        level: two-sided level of the interval for the difference.
        alternative: "greater" asks whether the model's area is larger, not whether the two differ.
        unit: what tells rows apart that belong together, such as the patient; without it each row stands alone.

    Returns:
        `estimate` is area - baseline's area, `statistic` a z. Models that rank alike: difference 0, p 1. Without two
        rows of either class there is no test (`no_positives`, `no_negatives`, `too_few_units`), nor where a difference
        has no spread at all (`zero_variance`).

    Raises:
        ConfigError: the columns differ in length, a score is no finite number, or a label or unit is null.

    Sources: DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44(3); Sun and Xu (2014), Fast implementation of
    DeLong's algorithm, IEEE Signal Processing Letters 21(11); Obuchowski (1997), Nonparametric analysis of clustered
    ROC curve data, Biometrics 53(2).

    >>> import plmetrics as plm
    >>> found = plm.tests.delong([1, 1, 1, 0, 0, 0], [0.9, 0.8, 0.7, 0.6, 0.5, 0.75], [0.9, 0.4, 0.7, 0.6, 0.5, 0.2])
    >>> round(found.estimate, 4), round(found.p_value, 4)
    (0.1111, 0.763)
    """
    truth = _positive(label, positive)
    first_scores, second_scores = numbers(model, "model"), numbers(baseline, "baseline")
    same_length(("label", truth), ("model", first_scores), ("baseline", second_scores))
    first, second = placements(first_scores, truth), placements(second_scores, truth)
    units = _unit_codes(unit, truth)
    return delong_tests(first, second, truth, level=level, alternative=alternative, unit=units).only("delong")


def delong_two_samples(
    label: Any, model: Any, baseline_label: Any, baseline: Any, *, positive: Any = 1, level: float = 0.95
) -> TestResult:
    """Compare areas under the ROC curves on two independent samples of rows.

    A t test on the difference, each area with its own variance as DeLong has it, with Satterthwaite's degrees of
    freedom (V + W)^2 / (V^2 / (n - 1) + W^2 / (m - 1)) of the numbers of rows n and m.

    Args:
        label: the true class of each row of the model's sample.
        model: the model's scores there.
        baseline_label: the true class of each row of the other sample.
        baseline: the baseline's scores there; it may be the same model.
        positive: the label that counts as positive.
        level: two-sided level of the interval for the difference.

    Returns:
        `estimate` is area - baseline's area, `statistic` a t, `df` its degrees of freedom. Areas without any spread
        have no test (`zero_variance`).

    Raises:
        ConfigError: columns differ in length, a score is no finite number, or a sample lacks two rows of either class.

    Source: DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44(3); Robin and others (2011), pROC, BMC
    Bioinformatics 12:77, for the degrees of freedom.

    >>> import plmetrics as plm
    >>> here, there = [0.9, 0.8, 0.7, 0.6, 0.5, 0.75], [0.9, 0.4, 0.7, 0.6, 0.5, 0.2]
    >>> found = plm.tests.delong_two_samples([1, 1, 1, 0, 0, 0], here, [1, 1, 1, 0, 0, 0], there)
    >>> round(found.estimate, 4), round(found.df, 2), round(found.p_value, 4)
    (0.1111, 8.45, 0.7148)
    """
    sides = [
        delong_covariance(truth, {"area": scores}, positive=positive)
        for truth, scores in ((label, model), (baseline_label, baseline))
    ]
    sizes = [len(np.asarray(truth)) for truth in (label, baseline_label)]
    first, second = (float(side.covariance[0, 0]) for side in sides)
    estimate, variance = float(sides[0].areas[0] - sides[1].areas[0]), first + second
    if variance <= _ROUNDING:
        return TestResult("delong_two_samples", estimate=estimate, n=sum(sizes), status=NO_VARIANCE)
    df = variance**2 / (first**2 / (sizes[0] - 1) + second**2 / (sizes[1] - 1))
    error = variance**0.5
    half = float(stdtrit(df, (1.0 + level_of(level)) / 2.0)) * error
    p = 2.0 * float(stdtr(df, -abs(estimate) / error))
    return TestResult(
        "delong_two_samples", estimate / error, p, estimate, estimate - half, estimate + half, df, sum(sizes)
    )


def delong_joint(label: Any, models: Mapping[str, Any], *, positive: Any = 1, unit: Any = None) -> TestResult:
    """Test whether the areas under the ROC curves of several models on the same rows are all equal.

    With L the differences of each area to the last and S the covariance of the areas, the statistic is
    (L a)' (L S L')^- (L a), chi squared with as many degrees of freedom as L S L' has ranks: k - 1, less where models
    rank alike. Of two models it is the square of DeLong's z. Rows must be independent, or those of different units.

    Args:
        label: the true class of each row.
        models: scores by model name, of at least two models.
        positive: the label that counts as positive.
        unit: what tells rows apart that belong together; without it each row stands alone.

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
    joint = delong_covariance(label, models, positive=positive, unit=unit)
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


def delong_covariance(
    label: Any, models: Mapping[str, Any], *, positive: Any = 1, unit: Any = None
) -> AreaCovariance:
    """Areas under the ROC curves of several models on the same rows, and their covariance.

    Args:
        label: the true class of each row.
        models: scores by model name.
        positive: the label that counts as positive.
        unit: what tells rows apart that belong together; then the covariance is Obuchowski's (1997).

    Raises:
        ConfigError: the columns differ in length, a label or unit is null, or there are not two rows, or units, of
            either class.

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
    units = _unit_codes(unit, truth)
    if units is not None:
        return AreaCovariance(
            tuple(scores_by_name), areas[:, 0], cluster_covariance(ups, downs, truth, units)
        )
    covariance = np.einsum("in,jn->ij", ups, ups) / (of_positives * (of_positives - 1.0))
    covariance += np.einsum("in,jn->ij", downs, downs) / (of_negatives * (of_negatives - 1.0))
    return AreaCovariance(tuple(scores_by_name), areas[:, 0], covariance)


def _unit_codes(unit: Any, truth: Flags) -> Codes | None:
    """Units as numbers from 0; None where each row stands alone."""
    if unit is None:
        return None
    same_length(("label", truth), ("unit", unit))
    codes: Codes = np.unique(labels(unit, "unit"), return_inverse=True)[1]
    if min(len(np.unique(codes[truth])), len(np.unique(codes[~truth]))) < 2:
        msg = "two units with rows of either class are needed"
        raise ConfigError(msg)
    return codes


def _positive(label: Any, positive: Any) -> Flags:
    truth: Flags = labels(label, "label") == positive
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
    """Share of a slice's rows of a class below each run of equal scores."""
    if code is None:
        return (np.cumsum(rows) - rows / 2.0) / max(float(rows.sum()), 1.0)
    totals = np.bincount(code, weights=rows)
    offset = np.concatenate(([0.0], np.cumsum(totals)))[code]
    return (np.cumsum(rows) - offset - rows / 2.0) / np.maximum(totals, 1.0)[code]


def delong_tests(
    model: Array,
    baseline: Array,
    positive: Flags,
    code: Codes | None = None,
    slices: int = 1,
    *,
    level: float = 0.95,
    alternative: str = "two_sided",
    unit: Codes | None = None,
) -> TestOutcomes:
    """Tests of the difference of two areas in S slices, from the placement values of all rows, and their units."""
    place = np.zeros(len(positive), dtype=np.int64) if code is None else code
    difference = model - baseline
    up = placement_moments(difference[positive], place[positive], slices)
    down = placement_moments(difference[~positive], place[~positive], slices)
    clustered = (
        None if unit is None else cluster_variance(difference, positive, place, unit, (up.mean, down.mean))
    )
    return delong_of_moments(up, down, level=level, alternative=alternative, clustered=clustered)


def delong_of_moments(
    up: PlacementMoments,
    down: PlacementMoments,
    *,
    level: float,
    alternative: str,
    clustered: Array | None = None,
) -> TestOutcomes:
    """DeLong's test from the differences of placements of the positives, and of the negatives.

    `clustered` is their variance where rows belong to units, NaN where these are too few.
    """
    one_of(alternative, "alternative", *ALTERNATIVES)
    n = up.n + down.n
    estimate = where((up.n > 0) & (down.n > 0), up.mean)
    variance = where((up.n > 1) & (down.n > 1), up.error + down.error if clustered is None else clustered)
    flat = variance <= _ROUNDING
    same = flat & (np.abs(np.nan_to_num(estimate)) <= 1e-12)
    usable = variance > _ROUNDING
    error = np.sqrt(np.where(usable, variance, 1.0))
    statistic = np.where(usable, estimate, 0.0) / error
    half = ndtri((1.0 + level_of(level)) / 2.0) * error
    status = statuses(
        n,
        ("no_rows", n == 0),
        ("no_positives", up.n == 0),
        ("no_negatives", down.n == 0),
        (TOO_FEW, np.isnan(variance)),
        (NO_VARIANCE, flat & ~same),
    )
    p = ndtr(-statistic) if alternative == "greater" else 2.0 * ndtr(-np.abs(statistic))
    estimate = np.where(same, 0.0, estimate)
    return TestOutcomes.around(estimate, half, error, statistic, p, n, status, usable=usable, same=same)


@dataclass(frozen=True, slots=True, eq=False)
class PlacementMoments:
    """Number of values of a slice, their mean and the variance of the mean."""

    n: Codes
    mean: Array
    error: Array


def placement_moments(values: Array, code: Codes, slices: int) -> PlacementMoments:
    """Moments of values by slice."""
    n = np.bincount(code, minlength=slices)
    mean = np.bincount(code, weights=values, minlength=slices) / np.maximum(n, 1)
    squares = np.bincount(code, weights=(values - mean[code]) ** 2, minlength=slices)
    return PlacementMoments(n, mean, squares / np.maximum(n - 1, 1) / np.maximum(n, 1))
