"""Sample size and power of comparisons of two arms."""

from __future__ import annotations

import numpy as np

from plmetrics.core.errors import ConfigError
from plmetrics.inference.comparisons.tests.arm_power import (
    power_of_means,
    power_of_proportions,
    required_for_means,
    required_for_proportions,
)
from plmetrics.inference.comparisons.tests.outcome import Array, inside, positive


def required_n_proportions(p1: float, p2: float, *, power: float = 0.8, level: float = 0.95) -> int:
    """How many units each of two equal arms needs to tell two shares apart.

    n = (z_{1-a/2} sqrt(2 p q) + z_{power} sqrt(p1 q1 + p2 q2))^2 / (p1 - p2)^2, p the mean of the two, rounded up.

    Args:
        p1: the share in one arm.
        p2: that in the other.
        power: the chance to find the difference.
        level: level of the two-sided test.

    Raises:
        ConfigError: a share, the power or the level is not between 0 and 1, or the shares are equal.

    Source: Fleiss, Levin and Paik (2003), Statistical methods for rates and proportions, chapter 4.

    >>> import plmetrics as plm
    >>> plm.tests.required_n_proportions(0.10, 0.12)
    3841
    """
    for name, value in (("p1", p1), ("p2", p2), ("power", power), ("level", level)):
        inside(value, name)
    if p1 == p2:
        msg = f"p1 and p2 must differ: no number of units tells {p1} from {p2}"
        raise ConfigError(msg)
    return int(required_for_proportions(_scalar(p1), _scalar(p2), power, level)[0])


def power_proportions(p1: float, p2: float, n: int, *, level: float = 0.95) -> float:
    """The chance that the two-sided test of two shares finds their difference with n units in each arm.

    The inverse of `required_n_proportions`: the tail on the wrong side is left out.

    Args:
        p1: the share in one arm.
        p2: that in the other.
        n: units in each arm.
        level: level of the two-sided test.

    Raises:
        ConfigError: a share or the level is not between 0 and 1, or n is not above 0.

    >>> import plmetrics as plm
    >>> round(plm.tests.power_proportions(0.10, 0.12, 3841), 3)
    0.8
    """
    for name, value in (("p1", p1), ("p2", p2), ("level", level)):
        inside(value, name)
    _check_minimum("n", n, 1)
    return float(power_of_proportions(_scalar(p1), _scalar(p2), _scalar(n), _scalar(n), level)[0])


def required_n_means(difference: float, sd: float, *, power: float = 0.8, level: float = 0.95) -> int:
    """How many units each of two equal arms needs to tell two means apart with the two-sided t test.

    Args:
        difference: the difference of the means that is to be found.
        sd: the standard deviation within an arm, the same in both.
        power: the chance to find it.
        level: level of the test.

    Raises:
        ConfigError: the difference is 0, sd is not above 0, or power or level are not between 0 and 1.

    Source: Cohen (1988), Statistical power analysis for the behavioral sciences, chapter 2.

    >>> import plmetrics as plm
    >>> plm.tests.required_n_means(0.5, 1.0)
    64
    """
    inside(power, "power")
    if difference == 0:
        msg = "difference must not be 0: no number of units finds it"
        raise ConfigError(msg)
    inside(level, "level")
    positive(sd, "sd")
    required = required_for_means(_scalar(difference / sd), power, level)[0]
    if not np.isfinite(required):
        msg = f"difference {difference!r} is too small beside sd {sd!r}: no number of units finds it"
        raise ConfigError(msg)
    return int(required)


def power_means(difference: float, sd: float, n: int, *, level: float = 0.95) -> float:
    """The chance that the two-sided t test finds a difference of two means with n units in each arm.

    Args:
        difference: the true difference.
        sd: the standard deviation within an arm, the same in both.
        n: units in each arm, 2 or more.
        level: level of the test.

    Raises:
        ConfigError: sd is not above 0, n is less than 2, or level is not between 0 and 1.

    >>> import plmetrics as plm
    >>> round(plm.tests.power_means(0.5, 1.0, 64), 4)
    0.8015
    """
    inside(level, "level")
    _check_minimum("n", n, 2)
    positive(sd, "sd")
    return float(power_of_means(_scalar(difference / sd), _scalar(n), _scalar(n), level)[0])


def _check_minimum(name: str, n: int, least: int) -> None:
    if n < least:
        msg = f"{name} must be at least {least}, not {n!r}"
        raise ConfigError(msg)


def _scalar(value: float) -> Array:
    return np.array([value], dtype=np.float64)
