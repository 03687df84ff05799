"""Standard error of an effect whose rows are weighted by inverse propensities, from sums over independent rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from plmetrics.catalogue.metric import fact_of
from plmetrics.catalogue.needs import Sums
from plmetrics.catalogue.uplift.arms import INFINITY, OUTCOME, OfArms
from plmetrics.catalogue.variation import moment, square
from plmetrics.core import ops

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

    from plmetrics.catalogue.metric import Undefined
    from plmetrics.catalogue.uplift.propensity import ByPropensity
    from plmetrics.states.sums import Atom, Rows

_ARMS = ("treated", "control")
_CLEAR = 1e-7
"""What is left of terms that cancel is clear above this share of them."""


@dataclass(frozen=True)
class WeightedArmsError(OfArms):
    """Standard error of the Hajek estimate: the root of n / (n - 1) sum over arms of sum (v (y - mean))^2 / (sum v)^2.

    v is a row's weight over its chance to be in its arm, n the rows of both: the sandwich of a regression on the arm
    with these weights, with the factor of one mean. Undefined (`rounding`) where outcomes of an arm do not differ.
    """

    of: ByPropensity

    name = "ate_ipw_standard_error"
    needs = Sums()
    range = (0.0, INFINITY)
    direction = "lower"
    columns = fact_of("of.columns")
    centred = (OUTCOME,)

    def __post_init__(self) -> None:
        """Nothing to check: no suite names it."""

    @cached_property
    def text(self) -> str:
        """That of the effect, and what it is of it."""
        return f"{self.of.text} standard error"

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        """The effect's own sums, and moments of the outcomes under squared weights."""
        atoms = dict(self.of.atoms())
        for arm in _ARMS:
            mass = atoms[f"{arm}_square"]
            assert not isinstance(mass, tuple)
            first = f"{mass.key}_centred_1"
            atoms[f"{arm}_one"] = moment(first, (OUTCOME,), self._distance(arm, 1), mass.key)
            second = self._distance(arm, 2)
            atoms[f"{arm}_two"] = moment(
                f"{mass.key}_centred_2", (OUTCOME, OUTCOME), second, mass.key, (first, first)
            )
        return atoms

    def _distance(self, arm: str, power: int) -> Callable[[Rows], pl.Expr]:
        inverse = self.of.inverse(treated=arm == "treated")

        def row(rows: Rows) -> pl.Expr:
            weight = rows.mass
            centred = rows.centred(OUTCOME)
            return inverse(rows) ** 2 * weight * (square(centred) if power > 1 else centred)

        return row

    def finalise(self, state: Any) -> Any:
        """Root of the variance."""
        return ops.sqrt(self._variance(state)[0])

    def undefined(self, state: Any) -> Undefined:
        """Also terms that cancel."""
        variance, size = self._variance(state)
        return [*super().undefined(state), ("rounding", ~(variance > _CLEAR * size))]

    def denominators(self, state: Any) -> tuple[Any, ...]:
        """The effective sample size of each arm."""
        return tuple(
            ops.ratio(getattr(state, f"{arm}_inverse") ** 2, getattr(state, f"{arm}_square")) for arm in _ARMS
        )

    @staticmethod
    def _variance(state: Any) -> tuple[Any, Any]:
        """The variance, and the size of the terms that it is the sum of."""
        total, size = 0.0, 0.0
        for arm in _ARMS:
            outcome, inverse, mass, one, two = (
                getattr(state, f"{arm}_{part}") for part in ("outcome", "inverse", "square", "one", "two")
            )
            mean, scale = ops.ratio(outcome, inverse), ops.ratio(1.0, inverse**2)
            total = total + scale * (two - 2.0 * mean * one + mean**2 * mass)
            size = size + scale * (two + 2.0 * ops.absolute(mean * one) + mean**2 * mass)
        factor = ops.ratio(state.n, state.n - 1.0)
        return factor * ops.larger(total, 0.0), factor * size
