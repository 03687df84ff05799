"""Errors against those of the mean of the evaluated labels, the default predictor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from plmetrics.catalogue.metric import Metric, Undefined
from plmetrics.catalogue.needs import Sums
from plmetrics.catalogue.parameters import nonnegative, parameter
from plmetrics.catalogue.registry import register
from plmetrics.catalogue.regression.errors import (
    ERROR,
    INFINITY,
    LABEL,
    SQUARED_ERROR,
    ErrorMetric,
    is_lost,
    moments,
    variation,
)
from plmetrics.catalogue.variation import explained_share
from plmetrics.core import ops
from plmetrics.states.sums import Atom, RowValue

_KVALSETH = "Kvalseth (1985), Cautionary note about R2, The American Statistician 39(4)"
_MURPHY = (
    "Murphy (1988), Skill scores based on the mean square error and their relationships to the correlation "
    "coefficient, Monthly Weather Review 116(12)"
)


def _error_sums(errors: Mapping[str, Atom]) -> dict[str, Atom]:
    """Sums of errors, negligible ones as nothing if those of the labels are not."""
    return {name: replace(atom, squares=False) for name, atom in errors.items()}


class AgainstMean(Metric):
    """Base of the ratios of squared errors to the variation of the label around its mean.

    Variation is taken around a constant near the labels, so a large offset costs no digits; variation within the
    rounding of n summands counts as none.
    """

    task = "regression"
    needs = Sums()
    range = (-INFINITY, 1.0)
    direction = "higher"
    centred: ClassVar[tuple[RowValue, ...]] = (LABEL,)

    def atoms(self) -> Mapping[str, Atom]:
        return {**_error_sums({"squared_error": SQUARED_ERROR}), **moments(LABEL)}

    def undefined(self, state: Any) -> Undefined:
        """Conditions: labels without variation beyond rounding, or with lost digits."""
        return [
            *super().undefined(state),
            ("rounding", is_lost(state, LABEL)),
            ("zero_denominator", variation(state, LABEL) == 0),
        ]

    @staticmethod
    def _determination(state: Any) -> Any:
        return 1.0 - ops.ratio(state.squared_error, variation(state, LABEL))


@register
class RSquared(AgainstMean):
    """Share of the label's variation explained by the predictions.

    1 - sum of w e^2 / sum of w (y - mean y)^2, in (-inf, 1]; below 0 the mean of the evaluated labels would
    do better; undefined (`zero_denominator`) where all labels are equal up to rounding, `no_rows` without rows.
    Weighted by row. Source: Kvalseth (1985), his first form.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [3.0, -0.5, 2.0, 7.0], "p": [2.5, 0.0, 2.0, 8.0]})
    >>> round(rows.select(RSquared().expr("y", "p")).item(), 4)
    0.9486
    """

    name = "r2"
    chance = 0.0
    formula = "1 - sum of w (prediction - label)^2 / sum of w (label - mean label)^2"
    use_when = (
        "You compare models on the same rows on a scale where 0 is the mean of the labels and 1 is perfect."
    )
    beware = "It depends on how much the labels vary: a narrow slice gets a low value from the same errors."
    reference = _KVALSETH

    def finalise(self, state: Any) -> Any:
        return self._determination(state)


@register
@dataclass(frozen=True)
class AdjustedRSquared(AgainstMean):
    """r2 with a charge for every predictor: 1 - (1 - r2)(W - 1)/(W - predictors - 1).

    W is the sum of weights, the number of rows without weights. In (-inf, 1]; undefined (`zero_denominator`)
    where all labels are equal up to rounding or W <= predictors + 1, `no_rows` without rows. Source: Theil
    (1961).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [3.0, -0.5, 2.0, 7.0], "p": [2.5, 0.0, 2.0, 8.0]})
    >>> round(rows.select(AdjustedRSquared(predictors=2).expr("y", "p")).item(), 4)
    0.8458
    """

    name = "adjusted_r2"
    formula = "1 - (1 - r2) (W - 1) / (W - predictors - 1)"
    use_when = "You compare linear models of different size on the rows they were fitted to."
    beware = (
        "On rows that no model was fitted to, r2 needs no charge; and weights that do not count rows make W "
        "arbitrary."
    )
    reference = "Theil (1961), Economic Forecasts and Policy, 2nd edition, North-Holland"

    predictors: int = parameter(
        doc="number of predictors, the intercept not counted",
        check=nonnegative,
        domain="a whole number of at least 0",
    )

    def finalise(self, state: Any) -> Any:
        charge = ops.ratio(state.weight - 1.0, state.weight - (self.predictors + 1.0))
        return 1.0 - (1.0 - self._determination(state)) * charge

    def undefined(self, state: Any) -> Undefined:
        """Also fewer rows than it takes to fit the predictors."""
        return [*super().undefined(state), ("zero_denominator", state.weight <= self.predictors + 1.0)]


@register
class ExplainedVariance(AgainstMean):
    """As r2, with a constant bias of the predictions forgiven: 1 - Var(e) / Var(y).

    Both variances are weighted and divided by W. In (-inf, 1], never below r2; undefined (`zero_denominator`)
    where all labels are equal up to rounding, `no_rows` without rows. Source: Kvalseth (1985), his fourth form.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1.0, 2.0, 3.0], "p": [2.0, 3.0, 4.0]})
    >>> rows.select(ExplainedVariance().expr("y", "p")).item()
    1.0
    """

    name = "explained_variance"
    centred = (LABEL, ERROR)
    chance = 0.0
    formula = "1 - sum of w (e - mean e)^2 / sum of w (label - mean label)^2, with e = prediction - label"
    use_when = "Predictions will be shifted by a constant later, and only their variation matters now."
    beware = "It does not see a bias: a gap to r2 says that there is one."
    reference = _KVALSETH

    def atoms(self) -> Mapping[str, Atom]:
        return {**moments(LABEL), **_error_sums(moments(ERROR))}

    def undefined(self, state: Any) -> Undefined:
        """Conditions, with lost digits of the errors' variation among them."""
        return [*super().undefined(state), ("rounding", is_lost(state, ERROR))]

    def finalise(self, state: Any) -> Any:
        """Share; exactly 0 where the predictions are constant, whose errors vary as the labels do."""
        squares = getattr(state, f"{LABEL.key}_square_sum") + getattr(state, f"{ERROR.key}_square_sum")
        return explained_share(variation(state, LABEL), variation(state, ERROR), squares, state.n)


@register
class DefaultRmse(ErrorMetric):
    """rmse of predicting the mean of the evaluated labels: their standard deviation, divided by W.

    sqrt(sum of w (y - mean y)^2 / W), in the label's unit; 0 or more, exactly 0 where all labels are equal up to
    rounding; undefined (`no_rows`) without rows. Source: Murphy (1988), as climatology of the sample.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1.0, 3.0], "p": [0.0, 0.0]})
    >>> rows.select(DefaultRmse().expr("y", "p")).item()
    1.0
    """

    name = "default_rmse"
    direction = "none"
    centred = (LABEL,)
    formula = "sqrt(sum of w (label - mean label)^2 / sum of w)"
    use_when = "Beside rmse, to see what a model without predictors gets on the same rows."
    beware = "It knows the mean of the evaluated labels, which no forecast does: it is a little too good."
    reference = _MURPHY

    def atoms(self) -> Mapping[str, Atom]:
        return moments(LABEL)

    def undefined(self, state: Any) -> Undefined:
        """Conditions, with lost digits of the labels' variation among them."""
        return [*super().undefined(state), ("rounding", is_lost(state, LABEL))]

    def finalise(self, state: Any) -> Any:
        return ops.sqrt(ops.ratio(variation(state, LABEL), state.weight))


@register
class RmseSkill(AgainstMean):
    """Improvement of rmse over the mean of the evaluated labels: 1 - rmse / default_rmse.

    Weighted by row; in (-inf, 1]; below 0 the mean would do better; undefined (`zero_denominator`) where all
    labels are equal up to rounding, `no_rows` without rows. 1 - rmse_skill is the root of 1 - r2. Source: Murphy
    (1988).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1.0, 3.0], "p": [1.5, 2.5]})
    >>> rows.select(RmseSkill().expr("y", "p")).item()
    0.5
    """

    name = "rmse_skill"
    chance = 0.0
    formula = "1 - rmse / default_rmse"
    use_when = "You want to say by what share a model lowers the error of a constant, in the label's unit."
    beware = "It is smaller than r2 for the same model: do not compare one with the other."
    reference = _MURPHY

    def finalise(self, state: Any) -> Any:
        return 1.0 - ops.sqrt(ops.ratio(state.squared_error, variation(state, LABEL)))
