"""Sizes of experiments before there are data: units, minimum effect, and power."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite
from typing import TYPE_CHECKING

import numpy as np

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.inference.comparisons.tests.power import (
    detectable_effect,
    detectable_proportion,
    power_of_means,
    power_of_proportions,
    required_for_means,
    required_for_proportions,
)

if TYPE_CHECKING:
    from plmetrics.inference.comparisons.tests.outcome import Array


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

    Two-sided tests: z of two proportions as in Fleiss, or the t test of two means with equal variances.

    Args:
        baseline: the share, or with `sd` the mean, of the control.
        effect: the difference of the arm from it; the smallest one that `units` find if not given.
        sd: standard deviation of a unit's outcome; without it outcomes are 0 or 1.
        units: units of the arm; as many as the effect needs if not given.
        ratio: units of the control for one of the arm.
        power: the chance to find the effect.
        level: level of the test.
        clusters: what is assigned, if that is a group of units: units count as those over their design effect.

    Raises:
        ConfigError: a number is out of range, neither effect nor units are given, or no number of units will do.

    Sources: Fleiss, Levin and Paik (2003), chapter 4; Cohen (1988), chapter 2; Eldridge, Ashby and Kerry (2006).

    >>> power_plan(0.10, 0.02).units
    3841
    >>> power_plan(10.0, 2.5, sd=5.0, clusters=Clusters(20, 0.05)).units
    125
    """
    groups = clusters or Clusters()
    _check(baseline, effect, sd, units, ratio, power, level, groups)
    deflate = groups.design_effect
    if units is None:
        assert effect is not None
        needed = _units_for(baseline, effect, sd, ratio, power, level)
        if not isfinite(needed):
            msg = f"effect {effect!r} is too small: no number of units finds it"
            raise ConfigError(Problem(msg, ("effect",)))
        units = ceil(round(needed * deflate, 9))
    controls = ceil(round(units * ratio, 9))
    sizes = np.array([units / deflate]), np.array([controls / deflate])
    if effect is None:
        effect = _detectable(baseline, sd, *sizes, power, level)
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
        deflate,
        _power(baseline, effect, sd, *sizes, level),
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


def _units_for(
    baseline: float, effect: float, sd: float | None, ratio: float, power: float, level: float
) -> float:
    """Units of the arm, each independent."""
    if sd is None:
        return float(required_for_proportions(*_shares(baseline, effect), power, level, ratio)[0])
    return float(required_for_means(np.array([effect / sd]), power, level, ratio)[0])


def _detectable(
    baseline: float, sd: float | None, arm: Array, control: Array, power: float, level: float
) -> float:
    """Smallest detectable effect of units, as a rise of a share."""
    if sd is None:
        return float(detectable_proportion(np.array([baseline]), arm, control, power, level)[0])
    return sd * float(detectable_effect(arm, control, power, level)[0])


def _power(
    baseline: float, effect: float, sd: float | None, arm: Array, control: Array, level: float
) -> float:
    if sd is None:
        return float(power_of_proportions(*_shares(baseline, effect), arm, control, level)[0])
    return float(power_of_means(np.array([effect / sd]), arm, control, level)[0])


def _shares(baseline: float, effect: float) -> tuple[Array, Array]:
    """Shares of the arm and of the control."""
    return np.array([baseline + effect]), np.array([baseline])
