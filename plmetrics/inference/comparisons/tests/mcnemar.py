"""McNemar's test of two models on their discordant rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.errors import ConfigError
from plmetrics.core.ops import Array, Texts
from plmetrics.core.special import betainc, betaln, chdtrc, ndtr
from plmetrics.inference.comparisons.tests.outcome import (
    TestOutcomes,
    TestResult,
    labels,
    one_of,
    same_length,
    statuses,
    where,
)

METHODS = ("exact", "chi2", "mid_p")
ALTERNATIVES = ("two_sided", "greater")


def mcnemar(
    label: Any, model: Any, baseline: Any, *, method: str = "exact", alternative: str = "two_sided"
) -> TestResult:
    """Compare the accuracy of two models on the same rows.

    Only rows where exactly one of the two is right tell anything: b where it is the model, c where it is the baseline.
    Under no difference b is binomial with b + c draws and probability 1/2. Rows must be independent and count once.

    Args:
        label: the true class of each row, of any type.
        model: the class that the model gives; scores must be cut at a threshold first.
        baseline: the class that the baseline gives.
        method: "exact", "chi2" (with continuity correction), or "mid_p" (counts half of the probability of b itself).
        alternative: "greater" asks whether the model is better, not whether the two differ.

    Returns:
        `estimate` is the difference of the accuracies, (b - c) / n, and `statistic` is b, or chi squared; `note` says b
        and c. Without any discordant row p is 1.

    Raises:
        ConfigError: the columns differ in length or in type, one holds a null, or scores in place of classes, or an
            option is unknown.

    Sources: McNemar (1947), Psychometrika 12(2); Edwards (1948) for the correction; Fagerland, Lydersen and Laake
    (2013), BMC Medical Research Methodology 13, for mid-p.

    >>> import plmetrics as plm
    >>> found = plm.tests.mcnemar([1, 0, 1, 1, 0], model=[1, 0, 1, 1, 1], baseline=[0, 1, 0, 1, 0])
    >>> found.estimate, found.p_value
    (0.4, 0.625)
    """
    named = zip(("label", "model", "baseline"), (label, model, baseline), strict=True)
    truth, first, second = (labels(values, name) for name, values in named)
    same_length(("label", truth), ("model", first), ("baseline", second))
    for name, values in (("model", first), ("baseline", second)):
        if len(values) and (values.dtype.kind == "U") != (truth.dtype.kind == "U"):
            msg = f"{name} must hold classes of the type of label: texts equal no numbers"
            raise ConfigError(msg)
        if _has_fractions(values) and not _has_fractions(truth):
            msg = f"{name} must hold classes as label does, not scores: cut them at a threshold, such as score >= 0.5"
            raise ConfigError(msg)
    right, rival = first == truth, second == truth
    gained, lost = int((right & ~rival).sum()), int((rival & ~right).sum())
    return mcnemar_from_counts(gained, lost, len(truth), method=method, alternative=alternative)


def _has_fractions(values: NDArray[Any]) -> bool:
    """Whether some value is not a whole number."""
    return values.dtype.kind == "f" and bool((np.isfinite(values) & (values != np.floor(values))).any())


def mcnemar_from_counts(
    b: int, c: int, n: int | None = None, *, method: str = "exact", alternative: str = "two_sided"
) -> TestResult:
    """McNemar's test from the discordant counts.

    Args:
        b: rows where the model is right and the baseline is wrong.
        c: rows where it is the other way round.
        n: all rows, for the estimate (b - c) / n; there is none without it.
        method: as for `mcnemar`.
        alternative: as for `mcnemar`.

    Raises:
        ConfigError: a count is negative or not whole, or n is less than b + c.

    >>> import plmetrics as plm
    >>> round(plm.tests.mcnemar_from_counts(25, 20, method="chi2").statistic, 3)
    0.356
    """
    whole = all(count >= 0 and float(count).is_integer() for count in (b, c))
    if not whole or (n is not None and n < int(b) + int(c)):
        msg = f"counts must be whole numbers of 0 or more, and n at least b + c: b is {b}, c {c}, n {n}"
        raise ConfigError(msg)
    b, c = int(b), int(c)
    every = np.array([max(b + c, 1) if n is None else n])
    tested = mcnemar_tests(np.array([b]), np.array([c]), every, method=method, alternative=alternative)
    result = tested.only("mcnemar")
    return replace(result, estimate=None, n=b + c) if n is None else result


def mcnemar_tests(
    b: Any, c: Any, n: Any, *, method: str = "exact", alternative: str = "two_sided"
) -> TestOutcomes:
    """McNemar's test from arrays of counts."""
    one_of(method, "method", *METHODS)
    one_of(alternative, "alternative", *ALTERNATIVES)
    gained, lost = np.asarray(b, dtype=np.float64), np.asarray(c, dtype=np.float64)
    every = np.asarray(n, dtype=np.int64)
    p = _p_values(gained, lost, method, greater=alternative == "greater")
    p = np.where(gained + lost == 0, 1.0, p)
    statistic = _corrected_chi_square(gained, lost) if method == "chi2" else gained
    none = every == 0
    estimate = where(~none, (gained - lost) / np.maximum(every, 1))
    status = statuses(every, ("no_rows", none))
    return TestOutcomes(statistic, where(~none, p), every, status, estimate, note=_discordant(gained, lost))


def _discordant(gained: Array, lost: Array) -> Texts:
    """The counts of discordant rows as texts."""
    words = [f"b {b:,.0f}, c {c:,.0f}" for b, c in zip(gained, lost, strict=True)]
    return np.array(words, dtype=object)


def _p_values(b: Array, c: Array, method: str, *, greater: bool) -> Array:
    if method == "chi2":
        discordant = np.maximum(b + c, 1.0)
        p: Array = (
            ndtr(-(b - c - 1.0) / np.sqrt(discordant)) if greater else chdtrc(1, _corrected_chi_square(b, c))
        )
        return p
    least = b if greater else np.maximum(b, c)
    tail = _upper_tail(least, b + c)
    if method == "exact":
        return tail if greater else np.minimum(1.0, 2.0 * tail)
    here = _exactly(least, b + c)
    if greater:
        return tail - here / 2.0
    return np.where(b == c, 1.0 - here / 2.0, 2.0 * tail - here)


def _corrected_chi_square(b: Array, c: Array) -> Array:
    """Chi squared with continuity correction; never below 0."""
    discordant = np.maximum(b + c, 1.0)
    return np.maximum(np.abs(b - c) - 1.0, 0.0) ** 2 / discordant


def _upper_tail(k: Array, n: Array) -> Array:
    """P(X >= k) for n draws with probability 1/2."""
    some = k > 0
    return np.where(some, betainc(np.where(some, k, 1.0), np.where(some, n - k + 1.0, 1.0), 0.5), 1.0)


def _exactly(k: Array, n: Array) -> Array:
    """P(X = k) for n draws with probability 1/2."""
    probability: Array = np.exp(-np.log1p(n) - betaln(k + 1.0, n - k + 1.0) - n * np.log(2.0))
    return probability
