"""Sizes of experiments before there are data: units, minimum effect, and power."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite
from typing import Any

import numpy as np

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.ops import Array
from plmetrics.inference.comparisons.tests.power import (
    LEAST_CLUSTERS,
    as_array,
    detectable_effect,
    detectable_proportion,
    power_of_clusters,
    power_of_means,
    power_of_proportions,
    required_for_means,
    required_for_proportions,
    share_variance,
    smallest_effect,
    smallest_size,
)

_MOST_SPREADS = 1e6
"""Largest effect that is looked for, in standard deviations."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """Groups assigned together: their mean size, the correlation within them, and the variation of sizes."""

    size: float = 1.0
    icc: float = 0.0
    cv: float = 0.0

    @property
    def design_effect(self) -> float:
        """Design effect, the factor on the number of units: 1 + ((1 + cv^2) size - 1) icc.

        Source: Eldridge, Ashby and Kerry (2006), Sample size for cluster randomized trials, Int. J. Epidemiology 35(5).
        """
        return 1.0 + ((1.0 + self.cv**2) * self.size - 1.0) * self.icc


@dataclass(frozen=True, slots=True)
class PowerPlan:
    """Plan of two arms: units of each, the effect and the power to detect it."""

    outcome: str
    baseline: float
    effect: float
    units: int
    units_control: int
    clusters: int | None
    clusters_control: int | None
    design_effect: float
    power: float
    level: float


def power_plan(
    baseline: float,
    effect: float | None = None,
    *,
    sd: float | None = None,
    units: int | None = None,
    ratio: float = 1.0,
    power: float = 0.8,
    level: float = 0.95,
    clusters: Clusters | None = None,
) -> PowerPlan:
    """Units for an effect, the detectable effect of units, or the power of both: the open one of them.

    Two-sided tests: z of two proportions as in Fleiss, or the t test of two means with equal variances. Of
    clusters both are the t test of means of clusters, whose degrees of freedom are the clusters of both arms less 2.

    Args:
        baseline: the share, or with `sd` the mean, of the control.
        effect: the difference of the arm from it; the smallest one that `units` find if not given.
        sd: standard deviation of a unit's outcome; without it outcomes are 0 or 1.
        units: units of the arm; as many as the effect needs if not given.
        ratio: units of the control for one of the arm.
        power: the chance to find the effect.
        level: level of the test.
        clusters: what is assigned, if that is a group of units, whose design effect is a factor on the variance.

    Raises:
        ConfigError: a number is out of range, neither effect nor units are given, or no number of units will do.

    Sources: Fleiss, Levin and Paik (2003), chapter 4; Cohen (1988), chapter 2; Eldridge, Ashby and Kerry (2006).

    >>> power_plan(0.10, 0.02).units
    3841
    >>> power_plan(10.0, 2.5, sd=5.0, clusters=Clusters(20, 0.05)).units
    145
    """
    groups = clusters or Clusters()
    _check(baseline, effect, sd, units, ratio, power, level, groups)
    test = _Test(baseline, sd, level) if clusters is None else _ClusterTest(baseline, sd, level, clusters)
    if units is None:
        assert effect is not None
        needed = test.units_for(effect, ratio, power)
        if not isfinite(needed):
            msg = f"effect {effect!r} is too small: no number of units finds it"
            raise ConfigError(Problem(msg, ("effect",)))
        units = ceil(needed)
    controls = ceil(round(units * ratio, 9))
    if min(units, controls) < test.least_units:
        msg = f"an arm of {min(units, controls):,} units is too small: it takes {ceil(test.least_units):,}"
        raise ConfigError(Problem(msg, ("units",), "plan for more"))
    if effect is None:
        effect = test.detectable(units, controls, power)
        if not isfinite(effect):
            raise ConfigError(Problem(f"{units:,} units find no effect at all", ("units",), "plan for more"))
    return PowerPlan(
        "share" if sd is None else "mean",
        baseline,
        effect,
        units,
        controls,
        None if clusters is None else ceil(units / groups.size),
        None if clusters is None else ceil(controls / groups.size),
        groups.design_effect,
        test.power(effect, units, controls),
        level,
    )


def _check(
    baseline: float,
    effect: float | None,
    sd: float | None,
    units: int | None,
    ratio: float,
    power: float,
    level: float,
    clusters: Clusters,
) -> None:
    """Refuse arguments out of range, all at once."""
    arm = baseline + (effect or 0.0)
    share = sd is None
    faults = {
        "effect": [
            (effect is None and units is None, "give an effect, or units"),
            (effect == 0 or (effect is not None and not isfinite(effect)), "must be a number other than 0"),
            (
                share and effect is not None and not 0 <= arm <= 1,
                f"makes {arm:g} of the arm, which is no share",
            ),
        ],
        "baseline": [
            (share and not 0 < baseline < 1, "must lie between 0 and 1, unless sd says that it is a mean"),
            (not isfinite(baseline), "must be a number"),
        ],
        "sd": [(sd is not None and not 0 < sd < float("inf"), "must be above 0")],
        "units": [(units is not None and units < 2, "must be 2 or more")],
        "ratio": [(not 0 < ratio < float("inf"), "must be above 0")],
        "power": [(not 0 < power < 1, "must lie between 0 and 1")],
        "level": [(not 0 < level < 1, "must lie between 0 and 1")],
        "cluster size": [(not 1 <= clusters.size < float("inf"), "must be 1 or more")],
        "icc": [(not 0 <= clusters.icc <= 1, "must lie between 0 and 1")],
        "cluster cv": [(not 0 <= clusters.cv < float("inf"), "must be 0 or more")],
    }
    problems = [Problem(words, (name,)) for name, cases in faults.items() for wrong, words in cases if wrong]
    if problems:
        raise ConfigError(problems)


@dataclass(frozen=True, slots=True)
class _Test:
    """Test of two arms of independent units."""

    baseline: float
    sd: float | None
    level: float

    @property
    def least_units(self) -> float:
        """Units of an arm that the test needs."""
        return 1.0 if self.sd is None else 2.0

    def power(self, effect: float, arm: float, control: float) -> float:
        """Power to detect an effect."""
        sizes = as_array(arm), as_array(control)
        if self.sd is None:
            shares = as_array(self.baseline + effect), as_array(self.baseline)
            return float(power_of_proportions(*shares, *sizes, self.level)[0])
        return float(power_of_means(as_array(effect / self.sd), *sizes, self.level)[0])

    def units_for(self, effect: float, ratio: float, power: float) -> float:
        """Units of the arm."""
        if self.sd is None:
            shares = as_array(self.baseline + effect), as_array(self.baseline)
            return float(required_for_proportions(*shares, power, self.level, ratio)[0])
        return float(required_for_means(as_array(effect / self.sd), power, self.level, ratio)[0])

    def detectable(self, arm: float, control: float, power: float) -> float:
        """Smallest detectable effect of units, as a rise of a share."""
        sizes = as_array(arm), as_array(control)
        if self.sd is None:
            return float(detectable_proportion(as_array(self.baseline), *sizes, power, self.level)[0])
        return self.sd * float(detectable_effect(*sizes, power, self.level)[0])


@dataclass(frozen=True, slots=True)
class _ClusterTest:
    """Test of two arms of clusters."""

    baseline: float
    sd: float | None
    level: float
    clusters: Clusters

    @property
    def least_units(self) -> float:
        """Units of an arm that the test needs."""
        return LEAST_CLUSTERS * self.clusters.size

    def power(self, effect: float, arm: float, control: float) -> float:
        """Power to detect an effect."""
        return float(self._powers(as_array(effect), as_array(arm), as_array(control))[0])

    def units_for(self, effect: float, ratio: float, power: float) -> float:
        """Units of the arm."""

        def enough(units: Array) -> Any:
            return self._powers(as_array(effect), units, ratio * units) >= power

        return float(smallest_size(enough, (1,))[0])

    def detectable(self, arm: float, control: float, power: float) -> float:
        """Smallest detectable effect of units, as a rise of a share."""
        sizes = as_array(arm), as_array(control)

        def enough(effect: Array) -> Any:
            return self._powers(effect, *sizes) >= power

        high = as_array(
            _MOST_SPREADS * self.sd if self.sd is not None else (1.0 - self.baseline) * (1 - 1e-9)
        )
        return float(smallest_effect(enough, high)[0]) if enough(high)[0] else float("nan")

    def _powers(self, effect: Array, arm: Array, control: Array) -> Array:
        if self.sd is not None:
            variance = np.full((2, *effect.shape), self.sd**2)
        else:
            variance = share_variance(
                np.stack([self.baseline + effect, np.full(effect.shape, self.baseline)])
            )
        sizes, groups = np.stack([arm, control]), self.clusters
        return power_of_clusters(variance, effect, sizes, groups.design_effect, groups.size, self.level)
