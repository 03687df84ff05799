"""Rankings of rows by the effect of a treatment. Rows with equal scores are one point.

The state has weight and outcome of each arm per distinct score, ascending.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from plmetrics.catalogue.binary.top import top_parameter
from plmetrics.catalogue.metric import Undefined
from plmetrics.catalogue.needs import Points
from plmetrics.catalogue.parameters import parameter
from plmetrics.catalogue.registry import register
from plmetrics.catalogue.uplift.arm_means import Samples, arm_means
from plmetrics.catalogue.uplift.bin_bounds import TargetedTotals, area_bound, top_bound
from plmetrics.catalogue.uplift.propensity import ARM_NAMES, OfArms
from plmetrics.core import ops

_RADCLIFFE = (
    "Radcliffe (2007), Using control groups to target on predicted lift: building and assessing uplift models, "
    "Direct Marketing Analytics Journal 1(3)"
)
_GUTIERREZ = (
    "Gutierrez and Gerardy (2017), Causal inference and uplift modelling: a review of the literature, PMLR 67"
)
_INFINITY = float("inf")
_TIE = 1e-12


class OfOrder(OfArms):
    """Base of the metrics of the order of predicted effects: every distinct score is a point, in replicates as well."""

    needs = Points("order")
    needs_score = True


@dataclass(frozen=True)
class OfCurve(OfOrder):
    """Base of the areas under a curve over the share of rows treated first."""

    kind = "uplift_area"

    method: str = parameter(
        "radcliffe",
        doc="which curve: controls scaled to the treated above each score, or each arm by its own size",
        options=("radcliffe", "guelman"),
    )


@register
@dataclass(frozen=True)
class Qini(OfCurve):
    """Area between the curve of the outcome gained by treating the highest scores first, and its straight line.

    Y1, Y0, n1, n0 are outcome and weight of the treated and of the controls with a score of at least s, N1 and N0 the
    arms' weights. radcliffe: (Y1 - Y0 n1 / n0) / N1, where Y0 n1 / n0 is 0 as long as n0 is; guelman: Y1/N1 - Y0/N0.
    Its area by trapezoids over the share of all rows, less half of its end: 0 for an order at random. In the outcome's
    unit, weighted by row; undefined (`empty_arm`) where an arm has no rows, `no_rows` without rows.

    normalise=perfect divides by the same area of a score that puts the treated with outcome 1 first and the controls
    with outcome 1 last (`zero_denominator` where that is 0); outcomes other than 0 and 1 are then a data error.
    Source: Radcliffe (2007).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [0, 1, 0, 0, 1, 1], "t": [0, 0, 0, 1, 1, 1], "p": [1, 2, 3, 4, 5, 6]})
    >>> qini = plm.evaluate(rows, task="uplift", label="y", treatment="t", models="p", metrics="qini(method=guelman)")
    >>> round(qini.metrics["value"].item(), 7)
    0.3055556
    """

    name = "qini"
    formula = "area under the curve of gained outcome - half of its end"
    use_when = (
        "You compare models that choose whom to treat, on an experiment, whatever share will be treated."
    )
    beware = (
        "It is noisy: effects are differences of two means, so look at its interval before you rank models."
    )
    reference = _RADCLIFFE

    normalise: str = parameter(
        "none",
        doc="whether to divide by the area of a perfect order, for outcomes 0 and 1",
        options=("none", "perfect"),
    )

    @property
    def binary_outcome(self) -> bool:  # type: ignore[override]
        """Whether outcomes must be 0 or 1."""
        return self.normalise == "perfect"

    def finalise(self, state: Any) -> Any:
        """Area less that of the line, optionally over the perfect one."""
        targeted = TargetedTotals(state)
        area = targeted.area(self._curve(targeted)) - self._end(state) / 2.0
        return ops.ratio(area, self._perfect(state)) if self.binary_outcome else area

    def undefined(self, state: Any) -> Undefined:
        """Also no area of a perfect order."""
        nothing = (self._perfect(state) == 0) & self.binary_outcome
        return [*super().undefined(state), ("zero_denominator", nothing)]

    def bound(self, state: Any) -> Any:
        """Bound on the contribution of the order inside bins to the area."""
        area = area_bound(state, self._curve)
        return ops.absolute(ops.ratio(area, self._perfect(state))) if self.binary_outcome else area

    def _curve(self, totals: Any) -> Any:
        return totals.guelman() if self.method == "guelman" else totals.radcliffe()

    def _end(self, state: Any) -> Any:
        """End of the curve, rounded as the curve is: a constant score has exactly 0."""
        treated, control = ops.total(state.treated_outcome), ops.total(state.control_outcome)
        if self.method == "guelman":
            return ops.difference(treated / state.treated_weight, control / state.control_weight)
        expected = ops.ratio(control * state.treated_weight, state.control_weight)
        return ops.difference(treated, expected) / state.treated_weight

    def _perfect(self, state: Any) -> Any:
        """The area for the score y (2t - 1): gained by the first, kept by all others, lost again by the last."""
        first, last = ops.total(state.treated_outcome), ops.total(state.control_outcome)
        gained = ops.ratio(first, state.treated_weight)
        end = self._end(state)
        middle = state.weight - first - last
        doubled = first * gained + 2.0 * middle * gained + last * (gained + end)
        return ops.ratio(doubled / 2.0, state.weight) - end / 2.0


@register
@dataclass(frozen=True)
class UpliftArea(OfCurve):
    """Area under the uplift curve: the effect among the rows treated first, over their share.

    radcliffe: at the share t with the highest scores the curve is t (mean outcome of the treated there - mean outcome
    of the controls there), a mean without rows being 0; guelman: Y1/N1 - Y0/N0 as in qini. By trapezoids over t; half
    of the ate for an order at random. In the outcome's unit, weighted by row; undefined (`empty_arm`) where an arm has
    no rows, `no_rows` without rows. normalise=end divides by the size of the curve's end, the ate, so that an order at
    random has 1/2 or -1/2 (`zero_denominator` where that is 0). Source: Gutierrez and Gerardy (2017).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [0, 1, 0, 0, 1, 1], "t": [0, 0, 0, 1, 1, 1], "p": [1, 2, 3, 4, 5, 6]})
    >>> auuc = plm.evaluate(rows, task="uplift", label="y", treatment="t", models="p", metrics="auuc(method=guelman)")
    >>> round(auuc.metrics["value"].item(), 7)
    0.4722222
    """

    name = "auuc"
    formula = "area under t (mean outcome of the treated - mean outcome of the controls) in the top t"
    use_when = "You want the average gain over all shares that might be treated, the effect itself included."
    beware = "A large average effect alone makes it large: only qini is 0 for an order at random."
    reference = _GUTIERREZ

    normalise: str = parameter(
        "none",
        doc="whether to divide by the size of the curve's end, the average effect",
        options=("none", "end"),
    )

    def finalise(self, state: Any) -> Any:
        """By trapezoids, maybe over the end."""
        targeted = TargetedTotals(state)
        area = targeted.area(self._curve(targeted))
        return area if self.normalise == "none" else ops.ratio(area, self._end(state))

    def undefined(self, state: Any) -> Undefined:
        """Also no end."""
        nothing = (self._end(state) == 0) & (self.normalise == "end")
        return [*super().undefined(state), ("zero_denominator", nothing)]

    def bound(self, state: Any) -> Any:
        """Bound on the contribution of the order inside bins to the area."""
        area = area_bound(state, self._curve)
        return area if self.normalise == "none" else ops.ratio(area, self._end(state))

    @property
    def samples(self) -> Samples:  # type: ignore[override]
        """Both arms: outcomes count by the share of rows behind theirs, whose mean square is 1/3."""
        return arm_means(3.0**-0.5) if self.normalise == "none" else ()

    def _end(self, state: Any) -> Any:
        """The size of the effect among all rows; exactly 0 where it is within rounding of the arms' means."""
        treated = ops.ratio(ops.total(state.treated_outcome), state.treated_weight)
        control = ops.ratio(ops.total(state.control_outcome), state.control_weight)
        effect = ops.absolute(treated - control)
        return ops.where(effect <= _TIE * (ops.absolute(treated) + ops.absolute(control)), 0.0, effect)

    def _curve(self, totals: Any) -> Any:
        return totals.guelman() if self.method == "guelman" else totals.uplift()


@register
@dataclass(frozen=True)
class UpliftAtTop(OfOrder):
    """Effect among the k rows with the highest scores: mean outcome of the treated less that of the controls there.

    k is a number of rows (of units of weight), or a share. by=overall takes the top of all rows together; by=arm takes
    the top k of each arm by itself. Rows of one score at the cut count with the fraction that is needed. In the
    outcome's unit, weighted by row; undefined (`too_few_rows`) where there are fewer than k, `empty_arm` where an arm
    has no rows in the top. Source: Gutierrez and Gerardy (2017).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [3, 1, 0, 2], "t": [1, 0, 1, 0], "p": [0.4, 0.3, 0.2, 0.1]})
    >>> top = plm.evaluate(rows, task="uplift", label="y", treatment="t", models="p", metrics="uplift_at_k(k=0.5)")
    >>> top.metrics["value"].item()
    2.0
    """

    name = "uplift_at_k"
    threshold_free = False
    smooth = False
    formula = "mean outcome of the treated - mean outcome of the controls, in the top k"
    use_when = "The number or share of rows that will be treated is fixed."
    beware = "Few rows of one arm in the top make it noisy, and it does not see the order within the top."
    reference = _GUTIERREZ

    k: int | float = top_parameter()
    by: str = parameter(
        "overall",
        doc="whether the top is that of all rows, or of each arm by itself",
        options=("overall", "arm"),
    )

    def finalise(self, state: Any) -> Any:
        """Difference of the means in the top."""
        return ops.difference(*self.means(state, ARM_NAMES))

    def means(self, state: Any, arms: tuple[str, ...]) -> list[Any]:
        """Mean outcomes of arms in the top."""
        shares = dict(zip(ARM_NAMES, state.memo(self, self._shares), strict=True))
        return [
            ops.ratio(
                ops.dot(getattr(state, f"{arm}_outcome"), shares[arm]),
                ops.dot(getattr(state, arm), shares[arm]),
            )
            for arm in arms
        ]

    @property
    def samples(self) -> Samples:  # type: ignore[override]
        """Both arms in the top."""
        return tuple((TopMean(arm, self), 1.0) for arm in ARM_NAMES)

    def undefined(self, state: Any) -> Undefined:
        """Also fewer rows than k, and an arm without rows in the top."""
        total = ops.smaller(state.treated_weight, state.control_weight) if self._by_arm else state.weight
        treated, control = state.memo(self, self._shares)
        empty = (ops.dot(state.treated, treated) == 0) | (ops.dot(state.control, control) == 0)
        short = self._size(total) > total * (1 + _TIE)
        return [*super().undefined(state), ("too_few_rows", short), ("empty_arm", empty)]

    def bound(self, state: Any) -> Any:
        """Bound on the effect of the order inside the bin at the cut."""
        return top_bound(state, self.finalise(state), state.memo(self, self._shares), by_arm=self._by_arm)

    def cut(self, state: Any) -> Any:
        """Last score of the top of all rows."""
        if self._by_arm:
            return None
        running = ops.cumulative(state.treated + state.control, descending=True)
        reached = running >= ops.broadcast(self._size(state.weight) * (1 - _TIE), running)
        return ops.largest(ops.where(reached, state.score, -_INFINITY))

    @property
    def _by_arm(self) -> bool:
        return self.by == "arm"

    def _size(self, total: Any) -> Any:
        return total * self.k if self.k < 1 else total * 0.0 + self.k

    def _shares(self, state: Any) -> tuple[Any, Any]:
        """Share of each point's treated and controls within the top."""
        if self._by_arm:
            treated = self._share(state.treated, state.treated_weight)
            return treated, self._share(state.control, state.control_weight)
        share = self._share(state.treated + state.control, state.weight)
        return share, share

    def _share(self, mass: Any, total: Any) -> Any:
        size = ops.broadcast(self._size(total), mass)
        remaining = size - (ops.cumulative(mass, descending=True) - mass)
        needed = ops.where(remaining > _TIE * size, ops.smaller(remaining, mass), 0.0)
        return ops.ratio(needed, mass, otherwise=0.0)


@dataclass(frozen=True)
class TopMean(OfOrder):
    """Mean outcome of an arm in the top, as `uplift_at_k` cuts it; not finite where it has no rows there."""

    arm: str
    of: UpliftAtTop

    name = "top_arm_mean"
    smooth = False

    def __post_init__(self) -> None:
        """Nothing to check: no suite names it."""

    @cached_property
    def text(self) -> str:
        return f"{self.of.text} mean outcome|{self.arm}"

    def denominators(self, state: Any) -> tuple[Any, ...]:
        """Weight of the arm."""
        return (getattr(state, f"{self.arm}_weight"),)

    def finalise(self, state: Any) -> Any:
        (mean,) = self.of.means(state, (self.arm,))
        return mean
