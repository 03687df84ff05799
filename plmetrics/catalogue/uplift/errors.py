"""Standard errors of the effect of a treatment, plain or weighted by propensity, from sums over independent rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import polars as pl

from plmetrics.catalogue.metric import Direction, Undefined
from plmetrics.catalogue.needs import Sums
from plmetrics.catalogue.parameters import fact_of
from plmetrics.catalogue.uplift.propensity import (
    ARM_NAMES,
    CONTROL,
    INFINITY,
    OUTCOME,
    TREATED,
    ByPropensity,
    OfArms,
    centred_moment,
    of_arm,
)
from plmetrics.catalogue.variation import LEAST, alike_variance, is_lost, moment, square, variation
from plmetrics.core import ops
from plmetrics.states.sums import Atom, Rows

_CLEAR = 1e6
"""A variance is clear that is so many times what may be hidden."""

_CLEAR_SHARE = 1e-7
"""Share of terms that cancel above which their difference is clear of rounding."""


class EffectError(OfArms):
    """Standard error of `ate` for independent rows: the root of s1^2 / W1 + s0^2 / W0, s^2 an arm's variance (ddof 1).

    An arm of equal outcomes has `alike_variance`. In the outcome's unit; weights count rows; undefined (`empty_arm`)
    where an arm has no rows, `zero_denominator` where its weight is at most 1 or no outcome differs from its arm's
    others.
    """

    name = "ate_standard_error"
    needs = Sums()
    range = (0.0, INFINITY)
    direction: ClassVar[Direction] = "lower"
    centred = (OUTCOME,)

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        moments = {
            "treated_sum": centred_moment(treated=True),
            "control_sum": centred_moment(treated=False),
            "treated_square_sum": centred_moment(2, treated=True),
            "control_square_sum": centred_moment(2, treated=False),
        }
        return {**super().atoms(), **moments}

    def finalise(self, state: Any) -> Any:
        return ops.sqrt(self._variance(state))

    def undefined(self, state: Any) -> Undefined:
        """Conditions, with an arm of one row, no variance, and lost digits of an arm far from the centre among them."""
        variance, blur = self._variance(state), self._blur(state)
        return [
            *super().undefined(state),
            ("zero_denominator", ops.smaller(*self._sizes(state)) <= 1),
            ("rounding", (blur > 0) & ~(variance > _CLEAR * blur)),
            ("zero_denominator", ~(variance > 0)),
        ]

    def _sizes(self, state: Any) -> tuple[Any, Any]:
        """The weight of each arm."""
        return state.treated_weight, state.control_weight

    def _blur(self, state: Any) -> Any:
        """Largest variance of the arms below all digits: about that of an arm of one number."""
        total = 0.0
        for arm in ARM_NAMES:
            first, second, weight = self._moments(state, arm)
            vague = is_lost(state, OUTCOME.key, first, second, weight)
            total = total + ops.where(vague, LEAST * ops.ratio(second, weight**2), 0.0)
        return total

    def _variance(self, state: Any) -> Any:
        """The sum over arms of variance / weight; variation within the rounding of n summands is none."""
        samples = [self._sample(state, arm) for arm in ARM_NAMES]
        total = _of_alike_arm(samples)
        for weight, _, varying in samples:
            total = total + ops.ratio(varying, weight * (weight - 1.0))
        return total

    def _sample(self, state: Any, arm: str) -> tuple[Any, Any, Any]:
        """Effective number of rows of an arm, their mean, and the sum of squares about it."""
        first, second, weight = self._moments(state, arm)
        rows = self._effective_rows(state, arm)
        varying = ops.ratio(rows, weight) * variation(first, second, weight, state.n)
        return rows, ops.ratio(first, weight), varying

    def _effective_rows(self, state: Any, arm: str) -> Any:
        return getattr(state, f"{arm}_weight")

    @staticmethod
    def _moments(state: Any, arm: str) -> tuple[Any, Any, Any]:
        first, second, weight = (getattr(state, f"{arm}_{part}") for part in ("sum", "square_sum", "weight"))
        return first, second, weight


class WeightedEffectError(EffectError):
    """Standard error of `ate` for independent rows of other weights: that of two weighted means.

    The root of the sum over arms of n / (n - 1) sum of w^2 (y - mean)^2 / W^2, n an arm's rows of weight above 0; an
    arm of equal outcomes has `alike_variance`. With weights of 1 it is `EffectError`; undefined as that is.
    """

    name = "ate_weighted_standard_error"

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        squares = {
            f"{arm}_{name}": atom
            for arm in ARM_NAMES
            for name, atom in _squared_sums(treated=arm == "treated")
        }
        return {**super().atoms(), **squares}

    def denominators(self, state: Any) -> tuple[Any, ...]:
        """Effective number of rows of each arm."""
        return tuple(self._effective_rows(state, arm) for arm in ARM_NAMES)

    def _effective_rows(self, state: Any, arm: str) -> Any:
        return ops.ratio(getattr(state, f"{arm}_weight") ** 2, getattr(state, f"{arm}_mass"))

    def _sizes(self, state: Any) -> tuple[Any, Any]:
        """Rows of each arm, irrespective of weights."""
        return state.treated_rows, state.control_rows

    def _variance(self, state: Any) -> Any:
        """The sum over arms of the variance of a weighted mean."""
        samples = [self._sample(state, arm) for arm in ARM_NAMES]
        total = _of_alike_arm(samples)
        for arm, (_, mean, varying) in zip(ARM_NAMES, samples, strict=True):
            weight, mass, one, two, rows = (
                getattr(state, f"{arm}_{part}")
                for part in ("weight", "mass", "mass_sum", "mass_square_sum", "rows")
            )
            around = two - 2.0 * mean * one + mean**2 * mass
            part = ops.ratio(rows, rows - 1.0) * ops.ratio(ops.larger(around, 0.0), weight**2)
            total = total + ops.where(varying > 0, part, 0.0)
        return total


def _of_alike_arm(samples: Sequence[tuple[Any, Any, Any]]) -> Any:
    """Variance of the mean of an arm of equal outcomes beside one that varies; 0 without such an arm.

    A sample is the effective number of rows of an arm, their mean and the sum of squares about it.
    """
    total = 0.0
    for (rows, mean, varying), (others, other_mean, other_varying) in (samples, samples[::-1]):
        alike = (varying <= 0) & (other_varying > 0)
        spread = alike_variance(rows, others, other_mean - mean, other_varying)
        total = total + ops.where(alike, spread, 0.0)
    return total


def _squared_sums(*, treated: bool) -> tuple[tuple[str, Atom], ...]:
    """Sums over one arm: of rows; of squared weights, alone and times the first two powers of a distance."""
    arm = TREATED if treated else CONTROL
    mass = Atom(f"{arm.key}_mass", lambda rows: of_arm(rows, rows.mass, treated=treated))
    first = f"{arm.key}_mass_centred_1"

    def distances(power: int) -> Atom:
        return moment(
            f"{arm.key}_mass_centred_{power}",
            (OUTCOME,) * power,
            lambda rows: of_arm(rows, rows.mass * rows.centred(OUTCOME) ** power, treated=treated),
            mass=mass.key,
            alone=(first, first) if power > 1 else (),
        )

    rows = Atom(f"{arm.key}_rows", arm.build, counts=True, weighted=False)
    return ("rows", rows), ("mass", mass), ("mass_sum", distances(1)), ("mass_square_sum", distances(2))


@dataclass(frozen=True)
class WeightedArmsError(OfArms):
    """Standard error of the Hajek estimate: the root of n / (n - 1) sum over arms of sum (v (y - mean))^2 / (sum v)^2.

    v is a row's weight over its chance to be in its arm, n the rows of both: the sandwich of a regression on the arm
    with these weights, with the factor of one mean. An arm of equal outcomes has `alike_variance`. Undefined
    (`rounding`) where outcomes of both do not differ.
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
        return f"{self.of.text} standard error"

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        atoms = dict(self.of.atoms())
        for arm in ARM_NAMES:
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
        return ops.sqrt(self._variance(state)[0])

    def undefined(self, state: Any) -> Undefined:
        """Conditions, with cancelling terms among them."""
        variance, size = self._variance(state)
        return [*super().undefined(state), ("rounding", ~(variance > _CLEAR_SHARE * size))]

    def denominators(self, state: Any) -> tuple[Any, ...]:
        """The effective sample size of each arm."""
        return tuple(
            ops.ratio(getattr(state, f"{arm}_inverse") ** 2, getattr(state, f"{arm}_square"))
            for arm in ARM_NAMES
        )

    @staticmethod
    def _variance(state: Any) -> tuple[Any, Any]:
        """Variance, and the size of its terms."""
        total, size = 0.0, 0.0
        samples = []
        for arm in ARM_NAMES:
            outcome, inverse, mass, one, two = (
                getattr(state, f"{arm}_{part}") for part in ("outcome", "inverse", "square", "one", "two")
            )
            mean, scale = ops.ratio(outcome, inverse), ops.ratio(1.0, inverse**2)
            around = two - 2.0 * mean * one + mean**2 * mass
            terms = two + 2.0 * ops.absolute(mean * one) + mean**2 * mass
            total = total + scale * around
            size = size + scale * terms
            rows = ops.ratio(inverse**2, mass)
            varying = ops.where(around > LEAST * terms, rows * ops.ratio(around, mass), 0.0)
            samples.append((rows, mean, varying))
        factor = ops.ratio(state.n, state.n - 1.0)
        return factor * ops.larger(total, 0.0) + _of_alike_arm(samples), factor * size
