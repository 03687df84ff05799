"""Means of one arm, whose difference an effect is: an arm of equal outcomes shows no spread of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import polars as pl

from plmetrics.catalogue.metric import Direction, Metric
from plmetrics.catalogue.needs import Sums
from plmetrics.catalogue.uplift.propensity import ARMS, OUTCOME, ByPropensity, OfArms, centred_moment
from plmetrics.catalogue.variation import moment
from plmetrics.core import ops
from plmetrics.states.sums import Atom, Rows

Samples = tuple[tuple[Metric, float], ...]


@dataclass(frozen=True)
class ArmMean(OfArms):
    """Mean outcome of an arm, less a constant near outcomes. Undefined (`empty_arm`) where either arm has no rows."""

    treated: bool

    name = "arm_mean"
    needs = Sums()
    direction: ClassVar[Direction] = "none"
    centred = (OUTCOME,)

    def __post_init__(self) -> None:
        """Nothing to check: no suite names it."""

    @property
    def arm(self) -> str:
        """Name of the arm."""
        return "treated" if self.treated else "control"

    @cached_property
    def text(self) -> str:
        return f"mean outcome|{self.arm}"

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        return {**super().atoms(), "outcome": centred_moment(treated=self.treated)}

    def denominators(self, state: Any) -> tuple[Any, ...]:
        """Weight of the arm."""
        return (getattr(state, f"{self.arm}_weight"),)

    def finalise(self, state: Any) -> Any:
        return ops.ratio(state.outcome, getattr(state, f"{self.arm}_weight"))


@dataclass(frozen=True)
class InverseMean(ArmMean):
    """The same with rows weighted by the inverse probability of their arm, as another metric has it."""

    of: ByPropensity

    name = "inverse_arm_mean"

    @cached_property
    def text(self) -> str:
        return f"{self.of.text} mean outcome|{self.arm}"

    def columns(self) -> tuple[str, ...]:
        return (self.of.propensity,)

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        """Outcomes, inverse propensities and their squares."""
        atoms = self.of.atoms()
        mass, square, outcome = (atoms.get(f"{self.arm}_{name}") for name in ("inverse", "square", "outcome"))
        assert isinstance(mass, Atom)
        assert isinstance(square, Atom)
        if not isinstance(outcome, Atom) or outcome.about is None:
            outcome = moment(f"{mass.key}_outcome", (OUTCOME,), self._distance, mass.key)
        return {**ARMS, "outcome": outcome, "inverse": mass, "square": square}

    def denominators(self, state: Any) -> tuple[Any, ...]:
        """The effective sample size of the arm."""
        return (ops.ratio(state.inverse**2, state.square, otherwise=0.0),)

    def finalise(self, state: Any) -> Any:
        return ops.ratio(state.outcome, state.inverse)

    def _distance(self, rows: Rows) -> pl.Expr:
        return self.of.inverse(treated=self.treated)(rows) * rows.centred(OUTCOME)


def arm_means(factor: float = 1.0) -> Samples:
    """Means of both arms, with the factor of their errors in that of an effect."""
    return tuple((ArmMean(treated), factor) for treated in (True, False))


def inverse_means(metric: ByPropensity) -> Samples:
    """Weighted means of both arms."""
    return tuple((InverseMean(treated, metric), 1.0) for treated in (True, False))
