"""An anytime-valid test, for any number of looks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.core.errors import ConfigError
from plmetrics.inference.comparisons.tests.outcome import (
    NO_VARIANCE,
    TestOutcomes,
    TestResult,
    level_of,
    numbers,
    optional_number,
    positive,
    same_length,
    statuses,
    where,
)

if TYPE_CHECKING:
    from plmetrics.inference.comparisons.tests.outcome import Array


def always_valid(estimate: Any, std_error: Any, *, mixture: float, level: float = 0.95) -> TestResult:
    """Read a running comparison: stopping as soon as p is small keeps the level.

    The mixture sequential probability ratio test: effects are taken to be normal around 0 with standard deviation
    `mixture` under the alternative, the likelihood ratio is that against 0, and p is the smallest 1 / ratio so far.
    Estimates must be near normal, so begin to look after some tens of units.

    Args:
        estimate: the difference at each look, in order; one number for a single look.
        std_error: its standard error at each look.
        mixture: about how large effects are expected to be. Fix it before the first look.
        level: level that the interval holds at all looks together.

    Returns:
        `p_value` and `statistic` (the likelihood ratio) after all looks, `estimate` and interval at the last one.
        `n` is the number of looks.

    Raises:
        ConfigError: a standard error is below 0, there is no look, or the mixture is not above 0.

    Sources: Robbins (1970), Statistical methods related to the law of the iterated logarithm, Annals of Mathematical
    Statistics 41(5); Johari, Koomen, Pekelis and Walsh (2022), Always valid inference, Operations Research 70(3).

    >>> import plmetrics as plm
    >>> found = plm.tests.always_valid([0.021, 0.018, 0.019], [0.012, 0.008, 0.005], mixture=0.01)
    >>> round(found.p_value, 4), found.lower > 0
    (0.0069, True)
    """
    estimates, errors = (numbers(np.atleast_1d(part), "looks") for part in (estimate, std_error))
    same_length(("estimate", estimates), ("std_error", errors))
    if len(estimates) == 0 or (errors < 0).any():
        msg = "std_error must hold a standard error, 0 or more, of each look"
        raise ConfigError(msg)
    looks = always_valid_tests(np.arange(len(errors)) + 1, estimates, errors, mixture=mixture, level=level)
    p = looks.p_value[np.isfinite(looks.p_value)]
    ratio = looks.statistic[np.isfinite(looks.statistic)]
    assert looks.lower is not None
    assert looks.upper is not None
    return TestResult(
        "always_valid",
        float(ratio.max()) if len(ratio) else None,
        float(p.min()) if len(p) else None,
        float(estimates[-1]),
        optional_number(looks.lower[-1]),
        optional_number(looks.upper[-1]),
        n=len(estimates),
        status="ok" if len(p) else NO_VARIANCE,
    )


def always_valid_tests(
    n: Any, estimate: Array, std_error: Array, *, mixture: float, level: float = 0.95
) -> TestOutcomes:
    """The reading at one look in S places, from estimates and their standard errors; NaN where there is none."""
    prior = positive(mixture, "mixture") ** 2
    number = np.asarray(n, dtype=np.int64)
    usable = np.isfinite(estimate) & (std_error > 0)
    same = (estimate == 0) & (std_error == 0)
    variance = np.where(usable, std_error, 1.0) ** 2
    size = np.where(usable, estimate, 0.0) ** 2
    spread = np.log1p(prior / variance)
    ratio = size * prior / (2.0 * variance * (variance + prior)) - spread / 2.0
    width = 2.0 * np.log(1.0 / (1.0 - level_of(level))) + spread
    half = np.where(same, 0.0, where(usable, np.sqrt(variance * (variance + prior) / prior * width)))
    status = statuses(number, ("no_rows", number == 0), (NO_VARIANCE, ~usable & ~same))
    return TestOutcomes(
        np.where(same, 0.0, where(usable, np.exp(np.minimum(ratio, 700.0)))),
        np.where(same, 1.0, where(usable, np.exp(np.minimum(-ratio, 0.0)))),
        number,
        status,
        estimate,
        estimate - half,
        estimate + half,
        std_error,
    )
