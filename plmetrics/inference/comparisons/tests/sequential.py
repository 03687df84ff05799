"""Sequential tests: an anytime-valid one for any number of looks, and group sequential ones for planned looks.

In a group sequential plan the two-sided error is spent, at each look, as far as a function says for the share of the
planned information that is there, and the limit of |z| is what spends just that, given all limits before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from math import e
from typing import Any

import numpy as np

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.ops import Array
from plmetrics.core.special import ndtr, ndtri, stdtrit
from plmetrics.inference.comparisons.tests.outcome import (
    NO_VARIANCE,
    TestOutcomes,
    TestResult,
    level_of,
    numbers,
    one_of,
    optional_number,
    positive,
    same_length,
    statuses,
    where,
)

SPENDING = ("obrien_fleming", "pocock")
_LARGEST = 37.0
"""No limit lies above it: normal tails beyond are 0 in double precision."""
_NODES, _PER_STEP, _MOST_NODES = 60, 12, 1500
_ERRORS = np.exp(np.linspace(np.log(1e-12), np.log(0.999), 60))
"""The two-sided errors between which a p value is interpolated."""
_LEAST_STEP = 1e-4


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


@dataclass(frozen=True, slots=True, eq=False)
class GroupSequential:
    """Looks of a plan: the share of the information at each, the error spent by then, and limits of |z|.

    `p_value` is NaN where no statistics are given; `stopped` is the number of the first look, from 1, whose statistic
    reaches its limit, None if none does.
    """

    information: Array
    spent: Array
    limits: Array
    p_value: Array
    stopped: int | None = None


def spent_error(information: Array, error: float, spending: str) -> Array:
    """Spent part of a two-sided error at a share of the planned information.

    >>> spent_error(np.array([0.5, 1.0]), 0.05, "obrien_fleming").round(5).tolist()
    [0.00305, 0.05]
    """
    t = np.minimum(information, 1.0)
    if spending == "pocock":
        return np.asarray(error * np.log1p((e - 1.0) * t), dtype=np.float64)
    return np.asarray(4.0 * ndtr(-ndtri(1.0 - error / 4.0) / np.sqrt(t)), dtype=np.float64)


def group_sequential(
    information: Any, z: Any = None, *, spending: str = "obrien_fleming", level: float = 0.95
) -> GroupSequential:
    """Limits of |z| for the looks at an experiment, at one level over all of them.

    Args:
        information: the share of the planned information, such as of the units, at each look, ascending; the last
            planned one is 1, and what is beyond counts as 1.
        z: the statistic at each look so far, for p values.
        spending: obrien_fleming (little at first) or pocock (about equal limits), as Lan and DeMets have them.
        level: two-sided level of all looks together.

    Returns:
        Looks with their limits. An estimate less and plus limit x standard error is an interval that holds at all looks
        together; the p value of a look is the smallest error at which it would stop.

    Raises:
        ConfigError: shares do not ascend from above 0, or there are more statistics than looks.

    Sources: Lan and DeMets (1983), Discrete sequential boundaries for clinical trials, Biometrika 70(3); Jennison and
    Turnbull (1989), Interim analyses: the repeated confidence interval approach, JRSS B 51(3).

    >>> import plmetrics as plm
    >>> plan = plm.tests.group_sequential([0.2, 0.4, 0.6, 0.8, 1.0], [1.1, 2.6, 2.9])
    >>> plan.limits.round(3).tolist(), plan.stopped
    ([4.877, 3.357, 2.68, 2.29, 2.031], 3)
    """
    shares = _shares(information)
    one_of(spending, "spending", *SPENDING)
    error = 1.0 - level_of(level)
    limits = sequential_limits(shares, error, spending)
    p = np.full(len(shares), np.nan)
    stopped = None
    if z is not None:
        statistics = numbers(z, "z")
        if len(statistics) > len(shares):
            msg = f"z has {len(statistics)} statistics, and information {len(shares)} looks"
            raise ConfigError(msg)
        for look, statistic in enumerate(statistics):
            p[look] = sequential_p_values(shares, look, np.array([statistic]), spending)[0]
        reached = np.flatnonzero(np.abs(statistics) >= limits[: len(statistics)])
        stopped = int(reached[0]) + 1 if len(reached) else None
    return GroupSequential(shares, spent_error(shares, error, spending), limits, p, stopped)


def sequential_limits(shares: Array, error: float, spending: str) -> Array:
    """Limit of |z| at each look, from the spent two-sided error."""
    spent = spent_error(shares, error, spending) / 2.0
    steps = np.diff(spent, prepend=0.0)
    limits = np.full(len(shares), _LARGEST)
    nodes, mass, before = np.zeros(1), np.ones(1), 0.0
    for look, share in enumerate(shares):
        spread = np.sqrt(share - before)
        limits[look] = _limit(nodes, mass, spread, np.sqrt(share), steps[look])
        end = limits[look] * np.sqrt(share)
        if look + 1 == len(shares):
            break
        following, width = _nodes(end, spread, shares[look:])
        distance = (following[:, None] - nodes) / spread
        mass = width * (np.exp(-0.5 * distance**2) @ mass) / (spread * np.sqrt(2.0 * np.pi))
        nodes, before = following, share
    return limits


def sequential_p_values(shares: Array, look: int, z: Array, spending: str) -> Array:
    """Smallest two-sided error with a stop at a look, for many statistics."""
    by_error, by_nominal = _limits_by_error(tuple(shares.tolist()), spending)
    limits = by_error[:, look]
    solved = int(np.searchsorted(limits, _LARGEST - 1e-6)) + 1
    size = np.abs(z)
    p: Array = 2.0 * ndtr(-np.interp(size, limits[:solved], by_nominal[:solved]))
    return np.where(np.isnan(size), np.nan, np.where(size < limits[0], 1.0, p))


@lru_cache(maxsize=8)
def _limits_by_error(shares: tuple[float, ...], spending: str) -> tuple[Array, Array]:
    """Limits `[error, look]`, ascending, and those of a single look: almost a line at each look."""
    limits = [sequential_limits(np.array(shares), float(error), spending) for error in _ERRORS[::-1]]
    return np.array(limits), np.asarray(ndtri(1.0 - _ERRORS[::-1] / 2.0))


def sequential_tests(test: TestOutcomes, shares: Array, spending: str, level: float) -> TestOutcomes:
    """The last look at many comparisons of one plan, from their p values, standard errors and degrees of freedom.

    A limit is a nominal level, for z as for the t of few units, whose tails are longer (Jennison and Turnbull 2000,
    section 3.8): p values are read as those of normal deviates.
    """
    estimate, error = np.asarray(test.estimate), np.asarray(test.std_error)
    limit = sequential_limits(shares, 1.0 - level_of(level), spending)[-1]
    if test.df is not None:
        limit = np.where(np.isfinite(test.df), -stdtrit(np.nan_to_num(test.df, nan=1.0), ndtr(-limit)), limit)
    p = sequential_p_values(shares, len(shares) - 1, ndtri(np.asarray(test.p_value) / 2.0), spending)
    return replace(test, p_value=p, lower=estimate - limit * error, upper=estimate + limit * error)


def look_shares(units: float, planned: float, earlier: Sequence[float]) -> Array:
    """The share of the planned units at each earlier look, as far as it had fewer than there are now, and at this.

    Of looks that lie closer together than limits can tell the last one counts.

    Raises:
        ConfigError: an earlier look was the last one of the plan.
    """
    before = sorted({float(size) for size in earlier if size < units})
    if before and before[-1] >= planned:
        msg = (
            f"the look at {before[-1]:,.0f} units was the last of the {planned:,.0f} that were planned, and spent "
            f"the error: none is left for {units:,.0f}"
        )
        raise ConfigError(
            Problem(msg, ("looks",), "read that look; an experiment that goes on has a plan of its own")
        )
    shares = [min(units / planned, 1.0)]
    for size in reversed(before):
        if shares[-1] - size / planned >= _LEAST_STEP:
            shares.append(size / planned)
    return np.array(shares[::-1])


def _shares(information: Any) -> Array:
    """Shares of the information, ascending; sizes beyond the plan end it."""
    shares = numbers(np.atleast_1d(information), "information")
    if len(shares) == 0 or shares[0] <= 0 or any(later <= first for first, later in pairwise(shares)):
        msg = "information must be shares above 0, each larger than the one before"
        raise ConfigError(msg)
    shares = np.minimum(shares, 1.0)
    if len(shares) > 1 and np.diff(shares).min() < _LEAST_STEP:
        msg = f"looks must be {_LEAST_STEP:g} of the planned information apart, and none follows the last"
        raise ConfigError(msg)
    return shares


def _limit(nodes: Array, mass: Array, spread: float, root: float, step: float) -> float:
    """Limit of z with an upward exit probability of `step`, by bisection."""
    low, high = 0.0, _LARGEST
    for _ in range(60):
        middle = (low + high) / 2.0
        leaving = float(ndtr((nodes - middle * root) / spread) @ mass)
        low, high = (middle, high) if leaving > step else (low, middle)
    return high


def _nodes(end: float, spread: float, shares: Array) -> tuple[Array, Array]:
    """Simpson's nodes and weights from -end to end, close enough for the narrowest step from here on."""
    ahead = min(spread, *np.sqrt(np.diff(shares))) if len(shares) > 1 else spread
    number = 2 * int(min(_MOST_NODES, max(_NODES, _PER_STEP * end / ahead))) + 1
    weights = np.full(number, 2.0)
    weights[1::2] = 4.0
    weights[[0, -1]] = 1.0
    return np.linspace(-end, end, number), weights * (2.0 * end / (number - 1) / 3.0)
