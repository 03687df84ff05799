"""Average effects of a treatment: treated against controls, as they come or weighted to be comparable.

None of them reads the score. In a slice set they are the effects by slice. The propensity of a row is its chance to be
treated, and is taken as known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from plmetrics.catalogue.metric import Metric, Undefined
from plmetrics.catalogue.needs import Sums
from plmetrics.catalogue.parameters import parameter
from plmetrics.catalogue.registry import register
from plmetrics.catalogue.uplift.arm_means import Samples, arm_means, inverse_means
from plmetrics.catalogue.uplift.errors import EffectError, WeightedArmsError, WeightedEffectError
from plmetrics.catalogue.uplift.propensity import OUTCOME, ByPropensity, OfArms, centred_moment, of_arm
from plmetrics.catalogue.variation import explained_share
from plmetrics.core import ops
from plmetrics.states.sums import Atom, Distances, Rows, RowValue
from plmetrics.table.checks import Requirement, is_no_number

_NEYMAN = "Neyman (1923), On the application of probability theory to agricultural experiments, section 9"
_LUNCEFORD = (
    "Lunceford and Davidian (2004), Stratification and weighting via the propensity score in estimation of "
    "causal treatment effects, Statistics in Medicine 23(19)"
)
_ROBINS = (
    "Robins, Rotnitzky and Zhao (1994), Estimation of regression coefficients when some regressors are not "
    "always observed, JASA 89(427)"
)
_VANDERWEELE = (
    "VanderWeele and Ding (2017), Sensitivity analysis in observational research: introducing the E-value, "
    "Annals of Internal Medicine 167(4)"
)


@register
class AverageEffect(OfArms):
    """Mean outcome of the treated less that of the controls: the average treatment effect of an experiment.

    sum over treated of w y / W1 - sum over controls of w y / W0. In the outcome's unit, weighted by row; undefined
    (`empty_arm`) where an arm has no rows, `no_rows` without rows. Source: Neyman (1923).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [3, 1, 0, 2], "t": [1, 1, 0, 0], "p": [0.4, 0.1, 0.3, 0.2]})
    >>> plm.evaluate(rows, task="uplift", label="y", treatment="t", models="p", metrics="ate").metrics["value"].item()
    1.0
    """

    name = "ate"
    needs = Sums()
    centred = (OUTCOME,)
    formula = "mean outcome of the treated - mean outcome of the controls"
    use_when = "Treatment was assigned at random, with the same chance for every row."
    beware = "Without random assignment it also holds what told the arms apart before the treatment."
    reference = _NEYMAN

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        treated, control = centred_moment(treated=True), centred_moment(treated=False)
        return {**super().atoms(), "treated_outcome": treated, "control_outcome": control}

    def finalise(self, state: Any) -> Any:
        treated = ops.ratio(state.treated_outcome, state.treated_weight)
        return ops.difference(treated, ops.ratio(state.control_outcome, state.control_weight))

    @property
    def samples(self) -> Samples:  # type: ignore[override]
        """Both arms."""
        return arm_means()

    def standard_error(self, *, weighted: bool) -> Metric:
        """Standard error of the difference of two means of independent samples."""
        return WeightedEffectError() if weighted else EffectError()


_TREATED_OUTCOME = Atom("treated_outcome", lambda rows: of_arm(rows, rows.label, treated=True))
_CONTROL_OUTCOME = Atom("control_outcome", lambda rows: of_arm(rows, rows.label, treated=False))


@register
class EValue(OfArms):
    """Least strength of unmeasured confounding to explain the whole effect: R + sqrt(R (R - 1)).

    R is the ratio of the arms' mean outcomes (risks, for outcomes of 0 and 1), or its inverse if that is larger: on
    the scale of risk ratios, an unmeasured confounder would need at least this association with treatment and with
    outcome. 1 is no effect; weighted by row; undefined (`empty_arm`) where an arm has no rows, `nonpositive_values`
    where a mean is not above 0; it has no interval. Source: VanderWeele and Ding (2017).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 1], "t": [1, 1, 0, 0], "p": [0.4, 0.1, 0.3, 0.2]})
    >>> found = plm.evaluate(rows, task="uplift", label="y", treatment="t", models="p", metrics="e_value")
    >>> round(found.metrics["value"].item(), 4)
    3.4142
    """

    name = "e_value"
    needs = Sums()
    kind = "extreme"
    range = (1.0, float("inf"))
    formula = "R + sqrt(R (R - 1)), R = mean outcome of one arm / mean outcome of the other, at least 1"
    use_when = "Assignment was not random and you ask how far hidden confounding could go."
    beware = "Noise alone moves it away from 1: read it beside the effect's interval."
    reference = _VANDERWEELE

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        return {**super().atoms(), "treated_outcome": _TREATED_OUTCOME, "control_outcome": _CONTROL_OUTCOME}

    def finalise(self, state: Any) -> Any:
        """R (1 + sqrt(1 - 1 / R)), whose root would make a rounding of 1e-16 in the means one of 1e-8."""
        treated, control = self._means(state)
        larger, smaller = ops.larger(treated, control), ops.smaller(treated, control)
        excess = explained_share(larger, smaller, larger, state.n)
        return ops.where(excess == 0, 1.0, ops.ratio(larger, smaller) * (1.0 + ops.sqrt(excess)))

    def undefined(self, state: Any) -> Undefined:
        """Conditions, with a mean not above 0 among them."""
        treated, control = self._means(state)
        return [*super().undefined(state), ("nonpositive_values", ops.smaller(treated, control) <= 0)]

    @staticmethod
    def _means(state: Any) -> tuple[Any, Any]:
        treated = ops.ratio(state.treated_outcome, state.treated_weight)
        return treated, ops.ratio(state.control_outcome, state.control_weight)


@register
@dataclass(frozen=True)
class WeightedEffect(ByPropensity):
    """Average effect with each row weighted by the inverse of the chance e to be in its arm.

    hajek: each arm's mean with weights w / e (treated) and w / (1 - e) (controls), treated less controls.
    horvitz_thompson: the mean over all rows of t y / e - (1 - t) y / (1 - e), which unlike hajek depends on where the
    outcome's 0 lies. With `clip` c, e is kept within [c, 1 - c]; the note counts the rows that it moved, and gives the
    effective sample size of each arm. In the outcome's unit, weighted by row; undefined (`empty_arm`) where an arm has
    no rows. An e outside (0, 1) is a data error. Source: Lunceford and Davidian (2004).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [3, 1, 0, 2], "t": [1, 1, 0, 0], "e": [0.5, 0.25, 0.5, 0.75], "p": [4, 1, 3, 2]})
    >>> found = plm.evaluate(
    ...     rows, task="uplift", label="y", treatment="t", models="p", metrics="ate_ipw(propensity='e')"
    ... )
    >>> round(found.metrics["value"].item(), 4)
    0.3333
    """

    name = "ate_ipw"
    formula = "mean outcome of the treated, weighted by 1/e, - that of the controls, weighted by 1/(1 - e)"
    use_when = "The chance to be treated differs from row to row and is known, or modelled well."
    beware = (
        "A few rows with a tiny chance to be where they are can decide it: look at the effective sample size."
    )
    reference = _LUNCEFORD

    estimator: str = parameter(
        "hajek",
        doc="whether each arm is divided by its own weights or by the number of rows",
        options=("hajek", "horvitz_thompson"),
    )
    clip: float | None = parameter(
        None,
        doc="propensities are kept within [clip, 1 - clip]; none leaves them alone",
        check=lambda value: value is None or 0 < value < 0.5,
        domain="above 0 and below 0.5",
    )

    def centres(self) -> tuple[RowValue, ...]:
        """Outcomes, without a common constant."""
        return (OUTCOME,) if self._hajek else ()

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        """Outcomes of each arm, weighted; and the rows changed by clipping."""
        around = "centred" if self._hajek else "raw"
        treated, control = self._outcome(treated=True), self._outcome(treated=False)
        out = {
            **super().atoms(),
            "treated_outcome": self._atom(f"treated_inverse_{around}", treated, about=self._about("treated")),
            "control_outcome": self._atom(f"control_inverse_{around}", control, about=self._about("control")),
        }
        if self.clip is not None:
            out["clipped"] = self._atom("clipped", self._outside_clip, counts=True)
        return out

    def finalise(self, state: Any) -> Any:
        """Treated less controls."""
        if not self._hajek:
            return ops.ratio(state.treated_outcome - state.control_outcome, state.weight)
        treated = ops.ratio(state.treated_outcome, state.treated_inverse)
        return ops.difference(treated, ops.ratio(state.control_outcome, state.control_inverse))

    def remark(self, state: Any) -> Any:
        """Note with the number of clipped rows."""
        remarks = super().remark(state)
        if self.clip is None:
            return remarks
        clipped = np.atleast_1d(state.clipped)
        texts = [
            f"propensities clipped: {count:,.0f}; {text}"
            for count, text in zip(clipped, remarks, strict=True)
        ]
        return np.array(texts, dtype=object)

    @property
    def samples(self) -> Samples:  # type: ignore[override]
        """Both arms, weighted."""
        return inverse_means(self)

    def standard_error(self, *, weighted: bool) -> Metric | None:  # noqa: ARG002
        """Standard error of the difference of two weighted means; the other estimator is a mean over rows."""
        return WeightedArmsError(self) if self._hajek else None

    @property
    def _hajek(self) -> bool:
        return self.estimator == "hajek"

    def _about(self, arm: str) -> Distances | None:
        return Distances((OUTCOME.key,), f"{arm}_inverse|{self._identity()}") if self._hajek else None

    def _outcome(self, *, treated: bool) -> Callable[[Rows], pl.Expr]:
        inverse = self.inverse(treated=treated)
        return lambda rows: inverse(rows) * (rows.centred(OUTCOME) if self._hajek else rows.label)

    def _chance(self, rows: Rows) -> pl.Expr:
        chance = super()._chance(rows)
        return chance if self.clip is None else chance.clip(self.clip, 1.0 - self.clip)

    def _outside_clip(self, rows: Rows) -> pl.Expr:
        assert self.clip is not None
        chance = super()._chance(rows)
        return (chance < self.clip) | (chance > 1.0 - self.clip)

    def _identity(self) -> str:
        return f"{self.clip}|{self.propensity}"


@register
@dataclass(frozen=True)
class DoublyRobustEffect(ByPropensity):
    """Average effect from models of the outcome, corrected by weighted residuals.

    Mean over rows of mu1 - mu0 + t (y - mu1) / e - (1 - t) (y - mu0) / (1 - e), where mu1 and mu0 are the outcomes that
    a model expects with and without treatment, and e the chance to be treated: right on average if either is. In the
    outcome's unit, weighted by row; undefined (`empty_arm`) where an arm has no rows. An e outside (0, 1) is a data
    error; the note gives the effective sample size of each arm. Source: Robins, Rotnitzky and Zhao (1994).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [3, 1], "t": [1, 0], "e": [0.5, 0.5], "m1": [2, 2], "m0": [1, 1], "p": [4, 1]})
    >>> aipw = "ate_aipw(propensity='e', mu0='m0', mu1='m1')"
    >>> plm.evaluate(rows, task="uplift", label="y", treatment="t", models="p", metrics=[aipw]).metrics["value"].item()
    2.0
    """

    name = "ate_aipw"
    formula = "mean of mu1 - mu0 + t (y - mu1) / e - (1 - t) (y - mu0) / (1 - e)"
    use_when = "You have models of the outcome under both arms, fitted on other rows, besides the propensity."
    beware = "Models fitted on the same rows make it, and its interval, look better than it is."
    reference = _ROBINS

    mu0: str = parameter(
        doc="column of the expected outcome without treatment", check=bool, domain="the name of a column"
    )
    mu1: str = parameter(
        doc="column of the expected outcome with treatment", check=bool, domain="the name of a column"
    )

    def columns(self) -> tuple[str, ...]:
        return (self.propensity, self.mu0, self.mu1)

    def requirements(self) -> tuple[Requirement, ...]:
        """Expected outcomes are finite."""
        expected = {"mu0": self.mu0, "mu1": self.mu1}
        return (
            *super().requirements(),
            *(
                Requirement(column, "null, NaN or infinite", is_no_number, name, numeric=True)
                for name, column in expected.items()
            ),
        )

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        key = f"aipw|{self.mu0}|{self.mu1}"
        return {**super().atoms(), "effect": self._atom(key, self._effect)}

    def finalise(self, state: Any) -> Any:
        return ops.ratio(state.effect, state.weight)

    @property
    def samples(self) -> Samples:  # type: ignore[override]
        """Both arms, weighted: outcomes that are all alike vary no less for the models that expect others."""
        return inverse_means(self)

    def _effect(self, rows: Rows) -> pl.Expr:
        without, treated = (rows.column(name).cast(pl.Float64) for name in (self.mu0, self.mu1))
        chance = self._chance(rows)
        residual = (
            pl.when(rows.treated)
            .then((rows.label - treated) / chance)
            .otherwise((without - rows.label) / (1.0 - chance))
        )
        return treated - without + residual
