"""Sums of effects whose rows are weighted by the inverse of the chance to be in their arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.catalogue.needs import Sums
from plmetrics.catalogue.parameters import parameter
from plmetrics.catalogue.uplift.arms import OfArms, of_arm
from plmetrics.core import ops
from plmetrics.states.sums import Atom
from plmetrics.table.checks import Requirement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from plmetrics.states.sums import Distances, Rows


@dataclass(frozen=True)
class ByPropensity(OfArms):
    """Base of the effects that weigh rows by the inverse of the chance to be in their arm."""

    needs = Sums()
    weighs_arms = True

    propensity: str = parameter(
        doc="column of the chance to be treated", check=bool, domain="the name of a column"
    )

    def columns(self) -> tuple[str, ...]:
        """The propensity."""
        return (self.propensity,)

    def requirements(self) -> tuple[Requirement, ...]:
        """Propensities lie between 0 and 1, both left out."""
        return (Requirement(self.propensity, "outside (0, 1)", _no_propensity, "propensity", numeric=True),)

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        """The inverse propensities of each arm, and their squares."""
        treated, control = self.inverse(treated=True), self.inverse(treated=False)
        return {
            **super().atoms(),
            "treated_inverse": self._atom("treated_inverse", treated),
            "control_inverse": self._atom("control_inverse", control),
            "treated_square": self._atom("treated_square", lambda rows: treated(rows) ** 2 * _weight(rows)),
            "control_square": self._atom("control_square", lambda rows: control(rows) ** 2 * _weight(rows)),
        }

    def remark(self, state: Any) -> Any:
        """The effective sample size of each arm: (sum of w)^2 / sum of w^2, w the row's weight over its chance."""
        treated, control = (
            np.atleast_1d(ops.ratio(total**2, squares, otherwise=0.0))
            for total, squares in (
                (state.treated_inverse, state.treated_square),
                (state.control_inverse, state.control_square),
            )
        )
        texts = [_sample_sizes(*sizes) for sizes in zip(treated, control, strict=True)]
        return np.array(texts, dtype=object)

    def _chance(self, rows: Rows) -> pl.Expr:
        return rows.column(self.propensity).cast(pl.Float64)

    def inverse(self, *, treated: bool) -> Callable[[Rows], pl.Expr]:
        """The row expression 1 / chance to be in an arm, 0 for rows of the other."""

        def build(rows: Rows) -> pl.Expr:
            chance = self._chance(rows) if treated else 1.0 - self._chance(rows)
            return of_arm(rows, 1.0 / chance, treated=treated)

        return build

    def _atom(
        self,
        name: str,
        build: Callable[[Rows], pl.Expr],
        *,
        counts: bool = False,
        about: Distances | None = None,
    ) -> Atom:
        return Atom(f"{name}|{self._identity()}", build, counts=counts, weighted=not counts, about=about)

    def _identity(self) -> str:
        return self.propensity


def _weight(rows: Rows) -> Any:
    return 1.0 if rows.weight is None else rows.weight


def _no_propensity(value: pl.Expr) -> pl.Expr:
    chance = value.cast(pl.Float64)
    return chance.is_null() | chance.is_nan() | (chance <= 0) | (chance >= 1)


def _sample_sizes(treated: float, control: float) -> str:
    return f"effective sample size: {treated:,.1f} treated, {control:,.1f} controls"
