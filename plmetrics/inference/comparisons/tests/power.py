"""Power, required sizes and detectable effects of two-sided tests of two arms: in many places at once, or in one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from plmetrics.core.errors import ConfigError
from plmetrics.core.ops import Array
from plmetrics.core.special import chdtrc, nctdtr, ndtr, ndtri, stdtrit
from plmetrics.inference.comparisons.tests.outcome import check_minimum, inside, positive, where

_DOUBLINGS = 48
_HALVINGS = 60
_FAR = 35.0

LEAST_CLUSTERS = 2
"""Clusters of an arm that have a variance."""


def power_of_proportions(share_a: Array, share_b: Array, n_a: Array, n_b: Array, level: float) -> Array:
    """Power of the two-sided test of two shares; NaN without variance."""
    pooled = (share_a * n_a + share_b * n_b) / np.maximum(n_a + n_b, 1)
    size_a, size_b = np.maximum(n_a, 1), np.maximum(n_b, 1)
    null_error = np.sqrt(share_variance(pooled) * (1 / size_a + 1 / size_b))
    variance = share_variance(share_a) / size_a + share_variance(share_b) / size_b
    sound = (np.minimum(n_a, n_b) > 0) & (variance > 0)
    root = np.sqrt(np.where(sound, variance, 1.0))
    return where(sound, ndtr((abs(share_a - share_b) - ndtri((1 + level) / 2) * null_error) / root))


def power_of_means(effect: Array, n_a: Array, n_b: Array, level: float) -> Array:
    """Power of the two-sided t test for a difference of `effect` standard deviations; NaN for tiny arms."""
    sound = (np.minimum(n_a, n_b) >= 2) & np.isfinite(effect)
    size_a, size_b = np.where(sound, n_a, 2.0), np.where(sound, n_b, 2.0)
    shift = abs(np.where(sound, effect, 0.0)) * np.sqrt(size_a * size_b / (size_a + size_b))
    return where(sound, power_of_t(shift, size_a + size_b - 2, level))


def power_of_t(shift: Array, freedom: Array, level: float) -> Array:
    """Power of the two-sided t test for an effect of `shift` standard errors."""
    limit = stdtrit(freedom, (1 + level) / 2)
    near = np.minimum(shift, limit + _FAR)
    # Far in a tail SciPy may give NaN in place of a number near 0.
    tails = [np.nan_to_num(nctdtr(freedom, near, end)) for end in (limit, -limit)]
    # Of so large an effect the noise of the difference is nothing beside that of its standard error.
    far = 1 - chdtrc(freedom, freedom * (shift / limit) ** 2)
    power: Array = np.where(shift > limit + _FAR, far, 1 - tails[0] + tails[1])
    return power


def required_for_proportions(
    share_a: Array, share_b: Array, power: float, level: float, ratio: float | Array = 1.0
) -> Array:
    """Required size of the arm `a`, beside `ratio` times as many, to tell two shares apart; NaN for equal shares."""
    sound = (share_a != share_b) & (np.minimum(share_a, share_b) >= 0) & (np.maximum(share_a, share_b) <= 1)
    first, second = np.where(sound, share_a, 0.25), np.where(sound, share_b, 0.5)
    pooled = share_variance((first + ratio * second) / (1 + ratio))
    apart = np.sqrt(share_variance(first) + share_variance(second) / ratio)
    root = ndtri((1 + level) / 2) * np.sqrt((1 + 1 / ratio) * pooled) + ndtri(power) * apart
    return where(sound, np.ceil(root**2 / (first - second) ** 2))


def required_for_means(effect: Array, power: float, level: float, ratio: float | Array = 1.0) -> Array:
    """Required size of the arm `a`, beside `ratio` times as many; NaN for an effect of 0 or above 2^48 units."""
    sound = np.isfinite(effect) & (effect != 0)
    size = np.where(sound, effect, 1.0)

    def enough(units: Array) -> Any:
        return power_of_means(size, units, ratio * units, level) >= power

    return where(sound, smallest_size(enough, size.shape))


def smallest_size(enough: Callable[[Array], Any], shape: tuple[int, ...]) -> Array:
    """Smallest sufficient whole number from 2 on; NaN above 2^48."""
    high = _double(enough, np.full(shape, 2.0))
    low, reached = high / 2, enough(high)
    while (high - low > 1).any():
        middle = np.maximum((low + high) // 2, 2.0)
        suffices = enough(middle)
        open_ = high - low > 1
        low, high = np.where(open_ & ~suffices, middle, low), np.where(open_ & suffices, middle, high)
    return where(reached, high)


def _double(enough: Callable[[Array], Any], number: Array) -> Array:
    """A number, doubled until it suffices, or so often that none will."""
    for _ in range(_DOUBLINGS):
        short = ~enough(number)
        if not short.any():
            break
        number = np.where(short, 2 * number, number)
    return number


@dataclass(frozen=True, slots=True, eq=False)
class WelchPlan:
    """Welch's t test of two arms in many places, from the variance of a unit of each arm, `[arm, place]`.

    `freedom` are the degrees of freedom that a further unit of an arm adds.
    """

    variance: Array
    freedom: Array
    level: float

    def power(self, effect: Array, n: Array) -> Array:
        """Power of the units of both arms; NaN below two, or where neither varies."""
        parts = self.variance / np.maximum(n, 1.0)
        error = np.sqrt(parts.sum(axis=0))
        sound = (n.min(axis=0) >= 2) & (error > 0) & np.isfinite(effect)
        safe = np.where(sound, error, 1.0)
        degrees = np.maximum(self.freedom * (n - 1.0), 1e-9)
        freedom = 1.0 / np.where(sound, ((parts / safe**2) ** 2 / degrees).sum(axis=0), 1.0)
        return where(sound, power_of_t(abs(np.where(sound, effect, 0.0)) / safe, freedom, self.level))

    def units(self, effect: Array, power: float, ratio: Array) -> Array:
        """Required size of the first arm, beside `ratio` times as many; NaN for an effect of 0 or beyond 2^48 units."""
        sound = np.isfinite(effect) & (effect != 0)

        def enough(units: Array) -> Any:
            return self.power(effect, np.stack([units, ratio * units])) >= power

        return where(sound, smallest_size(enough, effect.shape))

    def detectable(self, n: Array, power: float) -> Array:
        """Smallest difference that the units find with a power."""

        def enough(effect: Array) -> Any:
            return self.power(effect, n) >= power

        high = _double(enough, 2.0 * np.sqrt((self.variance / np.maximum(n, 1.0)).sum(axis=0)))
        return where(enough(high), smallest_effect(enough, high))


def power_of_clusters(
    variance: Array, effect: Array, n: Array, deflate: float, size: float, level: float
) -> Array:
    """Power of the two-sided t test of two arms of clusters, `[arm, ...]`; NaN below two clusters in an arm.

    Outcomes of a cluster count as one value, so that the degrees of freedom are those of the clusters of both arms.
    """
    clusters = n / size
    error = np.sqrt((variance * deflate / np.maximum(n, 1)).sum(axis=0))
    sound = (clusters.min(axis=0) >= LEAST_CLUSTERS) & (error > 0)
    freedom = np.where(sound, clusters.sum(axis=0) - 2, 2.0)
    return where(sound, power_of_t(abs(effect) / np.where(sound, error, 1.0), freedom, level))


def detectable_proportion(share_b: Array, n_a: Array, n_b: Array, power: float, level: float) -> Array:
    """Smallest rise of a share detectable with a power; NaN without one.

    >>> detectable_proportion(np.array([0.1]), np.array([3841.0]), np.array([3841.0]), 0.8, 0.95).round(4).tolist()
    [0.02]
    """
    base = np.where(np.isfinite(share_b), share_b, 0.5)

    def enough(effect: Array) -> Any:
        target = np.minimum(base + effect, 1.0)
        return power_of_proportions(target, base, n_a, n_b, level) >= power

    room = 1.0 - base
    reachable = np.isfinite(share_b) & (room > 0) & (np.minimum(n_a, n_b) > 0)
    # At a share of 1 the arm does not vary: the power just below it is what counts.
    high = room * (1 - 1e-9)
    return where(reachable & enough(high), smallest_effect(enough, high))


def detectable_effect(n_a: Array, n_b: Array, power: float, level: float) -> Array:
    """Smallest difference of means, in standard deviations, detectable by the t test with a power.

    >>> detectable_effect(np.array([64.0]), np.array([64.0]), 0.8, 0.95).round(3).tolist()
    [0.499]
    """
    sound = np.minimum(n_a, n_b) >= 2
    size_a, size_b = np.where(sound, n_a, 2.0), np.where(sound, n_b, 2.0)

    def enough(effect: Array) -> Any:
        return power_of_means(effect, size_a, size_b, level) >= power

    return where(sound, smallest_effect(enough, _double(enough, np.ones(size_a.shape))))


def share_variance(share: Array) -> Array:
    """The variance of an outcome with a share; rounding does not make it negative."""
    return np.maximum(share * (1 - share), 0.0)


def smallest_effect(enough: Callable[[Array], Any], high: Array) -> Array:
    """Smallest sufficient number by bisection, from 0 to a sufficient one."""
    low = np.zeros(high.shape)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        suffices = enough(middle)
        low, high = np.where(suffices, low, middle), np.where(suffices, middle, high)
    return high


def required_n_proportions(p1: float, p2: float, *, power: float = 0.8, level: float = 0.95) -> int:
    """Required size of each of two equal arms to tell two shares apart.

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
    return int(required_for_proportions(as_array(p1), as_array(p2), power, level)[0])


def power_proportions(p1: float, p2: float, n: int, *, level: float = 0.95) -> float:
    """Power of the two-sided test of two shares with n units in each arm.

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
    check_minimum(n, "n", 1)
    return float(power_of_proportions(as_array(p1), as_array(p2), as_array(n), as_array(n), level)[0])


def required_n_means(difference: float, sd: float, *, power: float = 0.8, level: float = 0.95) -> int:
    """Required size of each of two equal arms to tell two means apart with the two-sided t test.

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
    required = required_for_means(as_array(difference / sd), power, level)[0]
    if not np.isfinite(required):
        msg = f"difference {difference!r} is too small beside sd {sd!r}: no number of units finds it"
        raise ConfigError(msg)
    return int(required)


def power_means(difference: float, sd: float, n: int, *, level: float = 0.95) -> float:
    """Power of the two-sided t test of two means with n units in each arm.

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
    check_minimum(n, "n", 2)
    positive(sd, "sd")
    return float(power_of_means(as_array(difference / sd), as_array(n), as_array(n), level)[0])


def as_array(value: float) -> Array:
    """A number as that of a single place."""
    return np.array([value], dtype=np.float64)
