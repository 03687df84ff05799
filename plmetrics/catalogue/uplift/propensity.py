"""Atoms of metrics of treatment effects: rows and outcomes of both arms, plain or weighted by inverse propensities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from plmetrics.catalogue.metric import Direction, Metric, Undefined
from plmetrics.catalogue.needs import Sums
from plmetrics.catalogue.parameters import parameter
from plmetrics.catalogue.variation import moment, square
from plmetrics.core import ops
from plmetrics.states.sums import Atom, Distances, Rows, RowValue
from plmetrics.table.checks import Requirement

INFINITY = float("inf")
ARM_NAMES = ("treated", "control")
OUTCOME = RowValue("label", lambda rows: rows.label)
TREATED = Atom("treated", lambda rows: rows.treated, counts=True)
CONTROL = Atom("control", lambda rows: ~rows.treated, counts=True, complement_of=("n", TREATED))
ARMS: Mapping[str, Atom] = {"treated_weight": TREATED, "control_weight": CONTROL}


def of_arm(rows: Rows, value: pl.Expr, *, treated: bool) -> pl.Expr:
    """A number of the rows of one arm, 0 in the other."""
    return pl.when(rows.treated if treated else ~rows.treated).then(value).otherwise(0.0)


def centred_moment(power: int = 1, *, treated: bool) -> Atom:
    """Sum over one arm of the outcome, less a constant near outcomes, or of its square; see `Metric.centres`."""
    name = "treated" if treated else "control"
    first = f"{name}_centred_1"

    def distance(rows: Rows) -> pl.Expr:
        centred = rows.centred(OUTCOME)
        return of_arm(rows, square(centred) if power > 1 else centred, treated=treated)

    return moment(
        f"{name}_centred_{power}",
        (OUTCOME,) * power,
        distance,
        mass=name,
        alone=(first, first) if power > 1 else (),
    )


class OfArms(Metric):
    """Base of the comparisons of treated with controls, undefined (`empty_arm`) without either.

    Its blocks are those of the smaller arm.
    """

    task = "uplift"
    range = (-INFINITY, INFINITY)
    direction: ClassVar[Direction] = "higher"
    masses = ("treated_weight", "control_weight")
    expressible = False

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        return dict(ARMS)

    def undefined(self, state: Any) -> Undefined:
        empty = (state.treated_weight == 0) | (state.control_weight == 0)
        return [*super().undefined(state), ("empty_arm", empty)]


@dataclass(frozen=True)
class ByPropensity(OfArms):
    """Base of the effects weighted by the inverse probability of a row's arm."""

    needs = Sums()
    weighs_arms = True

    propensity: str = parameter(
        doc="column of the chance to be treated", check=bool, domain="the name of a column"
    )

    def columns(self) -> tuple[str, ...]:
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
        texts = [
            f"effective sample size: {rows:,.1f} treated, {others:,.1f} controls"
            for rows, others in zip(treated, control, strict=True)
        ]
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
