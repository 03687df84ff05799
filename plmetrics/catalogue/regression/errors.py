"""Errors of the unit of the label, or its square, and the bases of regression metrics: means over rows, and variation.

The error of a row is prediction - label, so a mean error above 0 is over-prediction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from plmetrics.catalogue.bases import RowMean
from plmetrics.catalogue.metric import Direction, Metric, Undefined
from plmetrics.catalogue.needs import Sums
from plmetrics.catalogue.registry import register
from plmetrics.catalogue.variation import is_lost as lost_of_moments
from plmetrics.catalogue.variation import is_one_number, moment, square
from plmetrics.catalogue.variation import variation as of_moments
from plmetrics.core import ops
from plmetrics.states.sums import Atom, RowValue

INFINITY = float("inf")
LABEL = RowValue("label", lambda rows: rows.label)
ERROR = RowValue("error", lambda rows: rows.error)
MEAN_ERROR = Atom("error", lambda rows: rows.error)
ABSOLUTE_ERROR = Atom("absolute_error", lambda rows: rows.error.abs())
SQUARED_ERROR = Atom("squared_error", lambda rows: square(rows.error), squares=True)

_WILLMOTT = (
    "Willmott and Matsuura (2005), Advantages of the mean absolute error over the RMSE, Climate Research "
    "30(1)"
)
_GNEITING = "Gneiting (2011), Making and evaluating point forecasts, JASA 106(494)"
_WALTHER = "Walther and Moore (2005), The concepts of bias, precision and accuracy, Ecography 28(6)"


class ErrorMetric(Metric):
    """Base of the metrics of errors: sums over rows, from 0, the lower the better."""

    task = "regression"
    needs = Sums()
    range = (0.0, INFINITY)
    direction: ClassVar[Direction] = "lower"


class MeanOverRows(RowMean, ErrorMetric):
    """Base of the means over rows of a function of label and prediction."""


def moments(value: RowValue) -> dict[str, Atom]:
    """The atoms `KEY_sum` and `KEY_square_sum`: the first two moments of a number around its centre."""
    key = value.key
    alone = f"{key}_centred"
    return {
        f"{key}_sum": moment(alone, (value,), lambda rows: rows.centred(value)),
        f"{key}_square_sum": moment(
            f"{alone}_squared", (value, value), lambda rows: square(rows.centred(value)), alone=(alone, alone)
        ),
    }


def variation(state: Any, value: RowValue) -> Any:
    """Sum of w (x - mean x)^2 from the moments of a number; exactly 0 where it is within rounding."""
    first, second = _sums(state, value)
    same = is_one_number(state, value.key, first, second, state.weight)
    return ops.where(same, 0.0, of_moments(first, second, state.weight, state.n))


def is_lost(state: Any, value: RowValue) -> Any:
    """Whether a number varies, but too little beside its distance from the centre for exact digits."""
    return lost_of_moments(state, value.key, *_sums(state, value), state.weight)


def _sums(state: Any, value: RowValue) -> tuple[Any, Any]:
    return getattr(state, f"{value.key}_sum"), getattr(state, f"{value.key}_square_sum")


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
    row_atom = ABSOLUTE_ERROR
    formula = "sum of w abs(prediction - label) / sum of w"
    use_when = "You want a typical error in the label's own unit that a few bad rows do not decide."
    beware = "It rewards predicting the median: with skewed labels an unbiased model can look worse."
    reference = _WILLMOTT


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
    row_atom = SQUARED_ERROR
    interpretable = False
    formula = "sum of w (prediction - label)^2 / sum of w"
    use_when = "Predictions are meant as means and large errors hurt more than in proportion."
    beware = "A few outliers can decide it, and its unit is squared; report rmse for reading."
    reference = _GNEITING


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
    interval_form = "delta"
    row_atom = SQUARED_ERROR
    closed_forms = ("chi2",)
    formula = "sqrt(sum of w (prediction - label)^2 / sum of w)"
    use_when = "Predictions are meant as means and you want the error in the label's own unit."
    beware = "A few outliers can decide it; a large gap to mae says that they do."
    reference = _GNEITING

    def finalise(self, state: Any) -> Any:
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
    range = (-INFINITY, INFINITY)
    direction = "zero"
    row_atom = MEAN_ERROR
    formula = "sum of w (prediction - label) / sum of w"
    use_when = "Totals matter, as in budgets and stocks: it says how far sums of predictions are off per row."
    beware = "Errors of opposite sign cancel: 0 does not mean that any single prediction is good."
    reference = _WALTHER


@register
class ErrorVariance(ErrorMetric):
    """Mean squared distance of the errors from their mean: sum of w (e - mean e)^2 / W.

    The part of mse that no constant correction takes away: mse = bias_squared + error_variance. Divided by W,
    not by W - 1. Weighted by row; in the label's unit squared; 0 or more, exactly 0 where all errors are equal up
    to rounding; undefined (`no_rows`) without rows. Source: Walther and Moore (2005), as precision.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1.0, 2.0], "p": [2.0, 5.0]})
    >>> rows.select(ErrorVariance().expr("y", "p")).item()
    1.0
    """

    name = "error_variance"
    centred = (ERROR,)
    interpretable = False
    formula = "sum of w (e - mean e)^2 / sum of w, with e = prediction - label"
    use_when = "You ask how much of mse would be left if the predictions were shifted by the best constant."
    beware = "A model that is wrong by the same amount everywhere has 0: read it with bias_squared."
    reference = _WALTHER

    def atoms(self) -> Mapping[str, Atom]:
        return moments(ERROR)

    def undefined(self, state: Any) -> Undefined:
        """Conditions, with lost digits of the errors' variation among them."""
        return [*super().undefined(state), ("rounding", is_lost(state, ERROR))]

    def finalise(self, state: Any) -> Any:
        return ops.ratio(variation(state, ERROR), state.weight)


@register
class BiasSquared(MeanOverRows):
    """Square of the mean error: (sum of w e / W)^2.

    The part of mse that a constant correction takes away: mse = bias_squared + error_variance. Noise alone makes
    it larger than 0, so its interval is centred. Weighted by row; in the label's unit squared; 0 or more;
    undefined (`no_rows`) without rows. Source: Walther and Moore (2005).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1.0, 2.0], "p": [2.0, 5.0]})
    >>> rows.select(BiasSquared().expr("y", "p")).item()
    4.0
    """

    name = "bias_squared"
    kind = "norm"
    interval_form = None
    row_atom = MEAN_ERROR
    interpretable = False
    formula = "(sum of w (prediction - label) / sum of w)^2"
    use_when = "You split mse into what recalibration can mend and what it cannot."
    beware = "It has lost the sign: mean_error says whether predictions are too high or too low."
    reference = _WALTHER

    def finalise(self, state: Any) -> Any:
        return super().finalise(state) ** 2
