"""Atoms of metrics of treatment effects: rows and outcomes of the two arms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from plmetrics.catalogue.metric import Metric
from plmetrics.catalogue.variation import moment, square
from plmetrics.states.sums import Atom, RowValue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.catalogue.metric import Direction, Undefined
    from plmetrics.states.sums import Rows

INFINITY = float("inf")
OUTCOME = RowValue("label", lambda rows: rows.label)
TREATED = Atom("treated", lambda rows: rows.treated, counts=True)
CONTROL = Atom("control", lambda rows: ~rows.treated, counts=True, rest_of=("n", TREATED))
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
    """Base of the metrics that compare the treated with the controls: undefined (`empty_arm`) where an arm is empty.

    Its blocks are those of the smaller arm.
    """

    task = "uplift"
    range = (-INFINITY, INFINITY)
    direction: ClassVar[Direction] = "higher"
    masses = ("treated_weight", "control_weight")
    expressible = False

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        """The weight of each arm."""
        return dict(ARMS)

    def undefined(self, state: Any) -> Undefined:
        """An arm is empty."""
        empty = (state.treated_weight == 0) | (state.control_weight == 0)
        return [*super().undefined(state), ("empty_arm", empty)]
