"""Regression errors. The error of a row is prediction - label, so a mean error above 0 is over-prediction."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from plmetrics.catalogue.metric import Metric, ParameterError, one_of, parameter, positive, share
from plmetrics.catalogue.registry import register
from plmetrics.core import ops
from plmetrics.core.names import number_text
from plmetrics.states.sums import Atom, RowValue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.catalogue.metric import Direction, Undefined
    from plmetrics.states.sums import Rows

LABEL = RowValue("label", lambda rows: rows.label)
_INFINITY = float("inf")
_ERROR = Atom("error", lambda rows: rows.error)
_ABSOLUTE_ERROR = Atom("absolute_error", lambda rows: rows.error.abs())
_SQUARED_ERROR = Atom("squared_error", lambda rows: rows.error**2)
_WILLMOTT = (
    "Willmott and Matsuura (2005), Advantages of the mean absolute error over the RMSE, Climate Research "
    "30(1)"
)
_GNEITING = "Gneiting (2011), Making and evaluating point forecasts, JASA 106(494)"
_HYNDMAN = (
    "Hyndman and Koehler (2006), Another look at measures of forecast accuracy, Int. J. Forecasting 22(4)"
)


class MeanOverRows(Metric):
    """Base of the means over rows of a function of label and prediction."""

    task = "regression"
    family = "sums"
    range = (0.0, _INFINITY)
    direction: ClassVar[Direction] = "lower"

    def atoms(self) -> Mapping[str, Atom]:
        """The sum over rows."""
        return {"error_sum": self._atom()}

    def finalise(self, state: Any) -> Any:
        """Mean over rows."""
        return ops.ratio(state.error_sum, state.weight)

    def _atom(self) -> Atom:
        raise NotImplementedError


@register
class MeanAbsoluteError(MeanOverRows):
    """Mean distance between prediction and label: sum of w abs(e) / W.

    In the label's unit; 0 or more; undefined (`no_rows`) without rows. Source: Willmott and Matsuura (2005).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [3.0, -0.5, 2.0, 7.0], "p": [2.5, 0.0, 2.0, 8.0]})
    >>> rows.select(MeanAbsoluteError().expr("y", "p")).item()
    0.5
    """

    name = "mae"
    formula = "sum of w abs(prediction - label) / sum of w"
    use_when = "You want a typical error in the label's own unit that a few bad rows do not decide."
    beware = "It rewards predicting the median: with skewed labels an unbiased model can look worse."
    reference = _WILLMOTT

    def _atom(self) -> Atom:
        return _ABSOLUTE_ERROR


@register
class MeanSquaredError(MeanOverRows):
    """Mean squared distance between prediction and label: sum of w e^2 / W.

    In the label's unit squared; 0 or more; undefined (`no_rows`) without rows. Source: Gneiting (2011).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [3.0, -0.5, 2.0, 7.0], "p": [2.5, 0.0, 2.0, 8.0]})
    >>> rows.select(MeanSquaredError().expr("y", "p")).item()
    0.375
    """

    name = "mse"
    interpretable = False
    formula = "sum of w (prediction - label)^2 / sum of w"
    use_when = "Predictions are meant as means and large errors hurt more than in proportion."
    beware = "A few outliers can decide it, and its unit is squared; report rmse for reading."
    reference = _GNEITING

    def _atom(self) -> Atom:
        return _SQUARED_ERROR


@register
class RootMeanSquaredError(MeanOverRows):
    """Root of the mean squared error: sqrt(sum of w e^2 / W).

    In the label's unit; 0 or more; undefined (`no_rows`) without rows. Source: Gneiting (2011).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1.0, 2.0], "p": [4.0, 6.0]})
    >>> round(rows.select(RootMeanSquaredError().expr("y", "p")).item(), 6)
    3.535534
    """

    name = "rmse"
    formula = "sqrt(sum of w (prediction - label)^2 / sum of w)"
    use_when = "Predictions are meant as means and you want the error in the label's own unit."
    beware = "A few outliers can decide it; a large gap to mae says that they do."
    reference = _GNEITING

    def _atom(self) -> Atom:
        return _SQUARED_ERROR

    def finalise(self, state: Any) -> Any:
        """Root of the mean."""
        return ops.sqrt(super().finalise(state))


@register
class Bias(MeanOverRows):
    """Mean of prediction - label: sum of w e / W; above 0 is over-prediction.

    In the label's unit; best at 0; undefined (`no_rows`) without rows. Source: Walther and Moore (2005).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1.0, 2.0], "p": [2.0, 2.5]})
    >>> rows.select(Bias().expr("y", "p")).item()
    0.75
    """

    name = "mean_error"
    range = (-_INFINITY, _INFINITY)
    direction = "zero"
    formula = "sum of w (prediction - label) / sum of w"
    use_when = "Totals matter, as in budgets and stocks: it says how far sums of predictions are off per row."
    beware = "Errors of opposite sign cancel: 0 does not mean that any single prediction is good."
    reference = "Walther and Moore (2005), The concepts of bias, precision and accuracy, Ecography 28(6)"

    def _atom(self) -> Atom:
        return _ERROR


@register
class RSquared(Metric):
    """Share of the label's variation that the predictions account for.

    1 - sum of w e^2 / sum of w (y - mean y)^2, in (-inf, 1]; below 0 the mean of the evaluated labels would
    do better; undefined (`zero_denominator`) where all labels are equal, `no_rows` without rows. Variation is
    taken around a constant near the labels, so a large offset costs no digits; variation within the rounding
    of n summands counts as none. Source: Kvalseth (1985), his first form.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [3.0, -0.5, 2.0, 7.0], "p": [2.5, 0.0, 2.0, 8.0]})
    >>> round(rows.select(RSquared().expr("y", "p")).item(), 4)
    0.9486
    """

    name = "r2"
    task = "regression"
    family = "sums"
    range = (-_INFINITY, 1.0)
    direction = "higher"
    formula = "1 - sum of w (prediction - label)^2 / sum of w (label - mean label)^2"
    use_when = (
        "You compare models on the same rows on a scale where 0 is the mean of the labels and 1 is perfect."
    )
    beware = "It depends on how much the labels vary: a narrow slice gets a low value from the same errors."
    reference = "Kvalseth (1985), Cautionary note about R2, The American Statistician 39(4)"

    def centres(self) -> tuple[RowValue, ...]:
        """The labels."""
        return (LABEL,)

    def atoms(self) -> Mapping[str, Atom]:
        """Squared errors, and the first two moments of the label around the centre."""
        return {
            "squared_error": _SQUARED_ERROR,
            "label_sum": Atom("label_centred", lambda rows: rows.centred(LABEL)),
            "label_square_sum": Atom("label_centred_squared", lambda rows: rows.centred(LABEL) ** 2),
        }

    def finalise(self, state: Any) -> Any:
        """From sums that add."""
        return 1.0 - ops.ratio(state.squared_error, self._variation(state))

    def undefined(self, state: Any) -> Undefined:
        """The labels do not vary by more than rounding."""
        rounding = (state.n + 8.0) * sys.float_info.epsilon * state.label_square_sum
        return [*super().undefined(state), ("zero_denominator", self._variation(state) <= rounding)]

    @staticmethod
    def _variation(state: Any) -> Any:
        return state.label_square_sum - state.label_sum * ops.ratio(state.label_sum, state.weight)


@register
@dataclass(frozen=True)
class MeanAbsolutePercentageError(Metric):
    """Mean distance relative to the label, times 100: 100 sum of w abs(e)/abs(y) / W.

    What a label of 0 does is a choice. `zeros=error`: the value is undefined (`zero_label`), and the note
    counts such rows. `zeros=drop`: those rows are left out of both sums, `zero_denominator` if none is left.
    `zeros=epsilon`: a label nearer to 0 than `epsilon` is divided as if it were that large. In percent; 0 or
    more; `no_rows` without rows. Source: Hyndman and Koehler (2006).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [2.0, 4.0, 0.0], "p": [1.0, 5.0, 1.0]})
    >>> rows.select(MeanAbsolutePercentageError().expr("y", "p")).item() is None
    True
    >>> rows.select(MeanAbsolutePercentageError(zeros="drop").expr("y", "p")).item()
    37.5
    """

    name = "mape"
    task = "regression"
    family = "sums"
    range = (0.0, _INFINITY)
    direction = "lower"
    formula = "100 * sum of w abs(prediction - label) / abs(label) / sum of w"
    use_when = "Labels are well above 0 and readers think in percent."
    beware = "Small labels dominate it, and it favours predictions that are too low."
    reference = _HYNDMAN

    zeros: str = parameter(
        "error",
        doc="what to do with labels of 0",
        check=one_of("error", "drop", "epsilon"),
        domain="error, drop or epsilon",
    )
    epsilon: float | None = parameter(
        None,
        doc="smallest divisor, with zeros=epsilon",
        check=lambda value: value is None or positive(value),
        domain="a number above 0",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.zeros == "epsilon") != (self.epsilon is not None):
            msg = "mape: zeros=epsilon and epsilon go together, as in mape(zeros=epsilon, epsilon=0.01)"
            raise ParameterError(msg)

    def atoms(self) -> Mapping[str, Atom]:
        """Relative errors, and what is known of labels of 0."""
        if self.epsilon is not None:
            return {"relative_error": _relative_error_floored(self.epsilon)}
        if self.zeros == "drop":
            return {"relative_error": _RELATIVE_ERROR, "divisible": _NOT_ZERO_LABEL}
        return {"relative_error": _RELATIVE_ERROR, "zero_labels": _ZERO_LABEL}

    def finalise(self, state: Any) -> Any:
        """Mean in percent."""
        divided = state.divisible if self.zeros == "drop" else state.weight
        return 100.0 * ops.ratio(state.relative_error, divided)

    def undefined(self, state: Any) -> Undefined:
        """A label of 0 without a policy, or no label but 0."""
        reasons = super().undefined(state)
        if self.zeros == "error":
            reasons.append(("zero_label", state.zero_labels > 0))
        elif self.zeros == "drop":
            reasons.append(("zero_denominator", state.divisible == 0))
        return reasons

    def denominators(self, state: Any) -> tuple[Any, ...]:
        """The rows that are divided."""
        return (state.divisible,) if self.zeros == "drop" else (state.weight,)

    def note(self, state: Any) -> Any:
        """How many labels are 0."""
        return ("labels of 0", state.zero_labels) if self.zeros == "error" else None


def _relative_error(rows: Rows) -> pl.Expr:
    return pl.when(rows.label == 0).then(0.0).otherwise((rows.error / rows.label).abs())


def _relative_error_floored(epsilon: float) -> Atom:
    key = f"relative_error(epsilon={number_text(epsilon)})"
    return Atom(key, lambda rows: rows.error.abs() / pl.max_horizontal(rows.label.abs(), epsilon))


_RELATIVE_ERROR = Atom("relative_error", _relative_error)
_ZERO_LABEL = Atom("zero_label", lambda rows: rows.label == 0, counts=True, weighted=False)
_NOT_ZERO_LABEL = Atom("not_zero_label", lambda rows: rows.label != 0, counts=True)


@register
@dataclass(frozen=True)
class QuantileLoss(MeanOverRows):
    """Mean pinball loss of the prediction as the quantile tau: tau (y - p) above it, (1 - tau)(p - y) below.

    Weighted by row; in the label's unit; 0 or more; half the mae at tau = 0.5; undefined (`no_rows`) without
    rows. Source: Koenker and Bassett (1978).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [10.0, 10.0], "p": [8.0, 11.0]})
    >>> round(rows.select(QuantileLoss(tau=0.9).expr("y", "p")).item(), 6)
    0.95
    """

    name = "quantile_loss"
    interpretable = False
    formula = "sum of w max(tau (label - prediction), (1 - tau)(prediction - label)) / sum of w"
    use_when = "The prediction is a quantile, such as a stock level that should suffice nine times in ten."
    beware = "Values at different tau are not comparable."
    reference = "Koenker and Bassett (1978), Regression quantiles, Econometrica 46(1)"

    tau: float = parameter(doc="the quantile that is predicted", check=share, domain="between 0 and 1")

    def _atom(self) -> Atom:
        tau = self.tau

        def row(rows: Rows) -> pl.Expr:
            return pl.when(rows.error > 0).then((1.0 - tau) * rows.error).otherwise(-tau * rows.error)

        return Atom(f"pinball(tau={number_text(tau)})", row)
