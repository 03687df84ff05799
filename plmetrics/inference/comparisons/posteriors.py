"""Bayesian comparisons of two models with a region of practical equivalence: the probability of either side."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from plmetrics.core.errors import ConfigError
from plmetrics.core.ops import Array
from plmetrics.core.special import stdtr, stdtrit
from plmetrics.inference.comparisons.tests.outcome import (
    OK,
    TOO_FEW,
    as_pair,
    check_minimum,
    level_of,
    positive,
)
from plmetrics.inference.comparisons.tests.paired_t import moments

_AT_ONCE = 1 << 22
"""The most weights of samples that are held at once."""


@dataclass(frozen=True, slots=True)
class Posterior:
    """Posterior probabilities of model - baseline below, within and above the region of practical equivalence.

    `estimate` is the mean difference, between `lower` and `upper` with the probability of the level where the posterior
    is one of it. What cannot be said of these values is None, and `status` the reason.
    """

    test: str
    below: float | None = None
    within: float | None = None
    above: float | None = None
    estimate: float | None = None
    lower: float | None = None
    upper: float | None = None
    n: int = 0
    status: str = OK


def correlated_t(
    model: Any, baseline: Any, *, ratio: float, rope: float = 0.0, level: float = 0.95
) -> Posterior:
    """Bayesian correlated t test: the posterior of the mean difference of scores of overlapping folds.

    Student's t with k - 1 degrees of freedom around the mean of k differences, scale s sqrt(1/k + n_test/n_train): with
    `rope` 0, `above` is 1 minus the one-sided p value of `corrected_resampled_t`.

    Args:
        model: the model's score on each test fold, of every repeat.
        baseline: the baseline's, in the same order.
        ratio: n_test / n_train; 1/(K - 1) for K folds.
        rope: differences up to this size are practically none.
        level: level of the credible interval for the mean difference.

    Returns:
        The probabilities that the mean difference is below -rope, within, and above rope. Differences that are all the
        same leave no doubt; fewer than 2: `too_few_units`.

    Raises:
        ConfigError: the columns differ in length or hold something that is no finite number, the ratio is not above 0,
            or the rope is below 0.

    Source: Corani and Benavoli (2015), A Bayesian approach for comparing cross-validated algorithms on multiple data
    sets, Machine Learning 100; Benavoli, Corani, Demsar and Zaffalon (2017), Time for a change, JMLR 18(77).

    >>> import plmetrics as plm
    >>> boosted, forest = [0.861, 0.837, 0.859, 0.842, 0.851], [0.853, 0.831, 0.862, 0.839, 0.855]
    >>> found = plm.tests.correlated_t(boosted, forest, ratio=0.25, rope=0.01)
    >>> round(found.below, 3), round(found.within, 3), round(found.above, 3)
    (0.014, 0.941, 0.045)
    """
    first, second = as_pair(model, baseline)
    width, share = _rope(rope), positive(ratio, "ratio")
    count, mean, spread = (float(part[0]) for part in moments(first - second))
    n = int(count)
    if n < 2:
        return Posterior("correlated_t", n=n, status=TOO_FEW)
    scale, error = spread * np.sqrt(1.0 / n + share), _rounding(first, second)
    if scale <= max(1e-12 * abs(mean), error):
        below, above = float(mean < -width - error), float(mean > width + error)
        if width == 0 and below == above:
            below = above = 0.5
        return Posterior("correlated_t", below, 1.0 - below - above, above, mean, mean, mean, n)
    below = float(stdtr(n - 1.0, (-width - mean) / scale))
    above = float(stdtr(n - 1.0, (mean - width) / scale))
    half = float(stdtrit(n - 1.0, (1.0 + level_of(level)) / 2.0)) * scale
    within = 0.0 if width == 0 else 1.0 - below - above
    return Posterior("correlated_t", below, within, above, mean, float(mean - half), float(mean + half), n)


def bayesian_signed_rank(
    model: Any, baseline: Any, *, rope: float = 0.0, prior: float = 0.5, samples: int = 50_000, seed: int = 0
) -> Posterior:
    """Bayesian signed-rank test: where the mean of two differences drawn at random probably lies.

    Differences have weights of a Dirichlet distribution, 1 each and `prior` for one more that is 0. Each draw of
    weights says how likely the mean of two of them is below -rope, within and above rope; a probability of the
    posterior is the share of draws in which that is the likeliest; sides that are equally likely share it.

    Args:
        model: the model's value in each place, such as its mean score on a data set.
        baseline: the baseline's, in the same order.
        rope: differences up to this size are practically none.
        prior: the weight of the prior.
        samples: how many times weights are drawn; probabilities are exact to about sqrt(1 / (4 samples)).
        seed: seed of the draws.

    Returns:
        The three probabilities, and the median of the means of two differences as the estimate. Without any:
        `too_few_units`.

    Raises:
        ConfigError: the columns differ in length or hold something that is no finite number, or a parameter is not in
            its domain.

    Source: Benavoli, Mangili, Corani, Zaffalon and Ruggeri (2014), A Bayesian Wilcoxon signed-rank test based on the
    Dirichlet process, ICML; Benavoli, Corani, Demsar and Zaffalon (2017), Time for a change, JMLR 18(77).

    >>> import plmetrics as plm
    >>> found = plm.tests.bayesian_signed_rank([0.84, 0.85, 0.86, 0.88], [0.80, 0.82, 0.81, 0.83], rope=0.01)
    >>> found.above > 0.95, found.below
    (True, 0.0)
    """
    first, second = as_pair(model, baseline)
    width, strength = _rope(rope), positive(prior, "prior")
    check_minimum(samples, "samples", 1)
    differences = first - second
    n = len(differences)
    if n == 0:
        return Posterior("bayesian_signed_rank", n=0, status=TOO_FEW)
    values, error = np.concatenate([[0.0], differences]), _rounding(first, second)
    means = (values[:, None] + values) / 2.0
    shape = np.concatenate([[strength], np.ones(n)])
    likeliest = np.zeros(3)
    random = np.random.default_rng(seed)
    step = max(1, _AT_ONCE // len(shape))
    for start in range(0, samples, step):
        weights = random.dirichlet(shape, min(step, samples - start))
        lower, upper = (_mass(weights, side, width, error) for side in (-means, means))
        shares = np.column_stack([lower, 1.0 - lower - upper, upper])
        largest = shares == shares.max(axis=1, keepdims=True)
        likeliest += (largest / largest.sum(axis=1, keepdims=True)).sum(axis=0)
    below, within, above = (float(count) / samples for count in likeliest)
    if width == 0:
        below, within, above = below / (below + above), 0.0, above / (below + above)
    middle = (differences[:, None] + differences)[np.triu_indices(n)] / 2.0
    return Posterior("bayesian_signed_rank", below, within, above, float(np.median(middle)), n=n)


def _mass(weights: Array, means: Array, rope: float, error: float) -> Array:
    """Weight of the pairs with a mean above the rope, half of those at its end, for each draw of weights.

    Means are at its end up to an `error` of rounding: 0.85 - 0.84 is not 0.01.
    """
    over = (means > rope + error) + 0.5 * (np.abs(means - rope) <= error)
    mass: Array = ((weights @ over) * weights).sum(axis=1)
    return mass


def _rounding(first: Array, second: Array) -> float:
    """Bound on the rounding in differences of two columns, and in means of these."""
    largest = max(np.abs(column).max(initial=0.0) for column in (first, second))
    return float(4 * np.finfo(np.float64).eps * largest)


def _rope(rope: float) -> float:
    if not (isfinite(rope) and rope >= 0):
        msg = f"rope must be a finite number of at least 0, not {rope!r}"
        raise ConfigError(msg)
    return rope
