"""Errors relative to the size of the label, in percent or as logarithms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from plmetrics.catalogue.metric import Mean, Undefined
from plmetrics.catalogue.parameters import ParameterError, parameter, positive
from plmetrics.catalogue.registry import register
from plmetrics.catalogue.regression.errors import ABSOLUTE_ERROR, ErrorMetric, MeanOverRows
from plmetrics.core import ops
from plmetrics.core.names import number_text
from plmetrics.states.sums import Atom, Rows

_HYNDMAN = (
    "Hyndman and Koehler (2006), Another look at measures of forecast accuracy, Int. J. Forecasting 22(4)"
)
_TOFALLIS = (
    "Tofallis (2015), A better measure of relative prediction accuracy for model selection and model "
    "estimation, J. Oper. Res. Soc. 66(8)"
)


@register
@dataclass(frozen=True)
class MeanAbsolutePercentageError(ErrorMetric):
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
    formula = "100 * sum of w abs(prediction - label) / abs(label) / sum of w"
    use_when = "Labels are well above 0 and readers think in percent."
    beware = "Small labels dominate it, and it favours predictions that are too low."
    reference = _HYNDMAN

    zeros: str = parameter("error", doc="what to do with labels of 0", options=("error", "drop", "epsilon"))
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

    @property
    def mean(self) -> Mean:
        """Mean over the divided rows."""
        return "mass" if self.zeros == "drop" else "rows"

    def atoms(self) -> Mapping[str, Atom]:
        """Relative errors, and figures of labels of 0."""
        if self.epsilon is not None:
            return {"relative_error": _floored_relative_error(self.epsilon)}
        if self.zeros == "drop":
            return {"relative_error": _RELATIVE_ERROR, "divisible": _NOT_ZERO_LABEL}
        return {"relative_error": _RELATIVE_ERROR, "zero_labels": _ZERO_LABEL}

    def finalise(self, state: Any) -> Any:
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
        return (state.divisible,) if self.zeros == "drop" else (state.weight,)

    def note(self, state: Any) -> Any:
        """Number of labels of 0."""
        return ("labels of 0", state.zero_labels) if self.zeros == "error" else None


def _relative_error(rows: Rows) -> pl.Expr:
    return pl.when(rows.label == 0).then(0.0).otherwise((rows.error / rows.label).abs())


def _floored_relative_error(epsilon: float) -> Atom:
    key = f"relative_error(epsilon={number_text(epsilon)})"
    return Atom(key, lambda rows: rows.error.abs() / pl.max_horizontal(rows.label.abs(), epsilon))


_RELATIVE_ERROR = Atom("relative_error", _relative_error)
_ZERO_LABEL = Atom("zero_label", lambda rows: rows.label == 0, counts=True, weighted=False)
_NOT_ZERO_LABEL = Atom("not_zero_label", lambda rows: rows.label != 0, counts=True)


@register
class SymmetricMape(MeanOverRows):
    """Mean distance relative to the mean size of label and prediction, times 100.

    100 sum of w abs(e) / ((abs(y) + abs(p)) / 2) / W; a row where both are 0 counts 0. In percent, in [0, 200],
    and 200 for every row whose prediction has the wrong sign or is 0 alone; weighted by row; undefined (`no_rows`)
    without rows. Source: Makridakis (1993).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [100.0, 0.0], "p": [300.0, 0.0]})
    >>> rows.select(SymmetricMape().expr("y", "p")).item()
    50.0
    """

    name = "smape"
    range = (0.0, 200.0)
    formula = (
        "100 * sum of w abs(prediction - label) / ((abs(label) + abs(prediction)) / 2) / sum of w, 0/0 as 0"
    )
    use_when = "Readers want percent, some labels are 0, and a bound on what one row can do is welcome."
    beware = "It is not symmetric: too low a prediction costs more than one as much too high."
    reference = (
        "Makridakis (1993), Accuracy measures: theoretical and practical concerns, Int. J. Forecasting 9(4)"
    )

    def finalise(self, state: Any) -> Any:
        return 100.0 * super().finalise(state)

    def _atom(self) -> Atom:
        def row(rows: Rows) -> pl.Expr:
            size = (rows.label.abs() + rows.score.abs()) / 2.0
            return pl.when(size == 0).then(0.0).otherwise(rows.error.abs() / size)

        return Atom("symmetric_relative_error", row)


@register
class WeightedMape(ErrorMetric):
    """All distances over all labels, times 100: 100 sum of w abs(e) / sum of w abs(y).

    A mean of relative errors in which each row counts by its label's size. In percent; 0 or more; weighted by
    row; undefined (`zero_denominator`) where all labels are 0, `no_rows` without rows. Source: Kolassa and
    Schuetz (2007).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [0.0, 30.0], "p": [3.0, 27.0]})
    >>> rows.select(WeightedMape().expr("y", "p")).item()
    20.0
    """

    name = "wmape"
    mean = "mass"
    nonzero = (("zero_denominator", "absolute_label"),)
    masses = ("absolute_label",)
    formula = "100 * sum of w abs(prediction - label) / sum of w abs(label)"
    use_when = "Readers want percent of the total volume, and single labels may be 0 or small."
    beware = "The largest labels decide it: small items can be predicted badly without a trace."
    reference = "Kolassa and Schuetz (2007), Advantages of the MAD/Mean ratio over the MAPE, Foresight 6"

    def atoms(self) -> Mapping[str, Atom]:
        return {"absolute_error": ABSOLUTE_ERROR, "absolute_label": _ABSOLUTE_LABEL}

    def finalise(self, state: Any) -> Any:
        return 100.0 * ops.ratio(state.absolute_error, state.absolute_label)


_ABSOLUTE_LABEL = Atom("absolute_label", lambda rows: rows.label.abs())


def _without_logarithm(rows: Rows) -> pl.Expr:
    return (rows.label <= -1) | (rows.score <= -1)


def _squared_log_error(rows: Rows) -> pl.Expr:
    # Near each other the logarithms would cancel; far from each other their ratio would.
    share = rows.error / (1.0 + rows.label)
    distance = (
        pl.when(share.abs() < 0.5).then(share.log1p()).otherwise(rows.score.log1p() - rows.label.log1p())
    )
    return pl.when(_without_logarithm(rows)).then(0.0).otherwise(distance**2)


_WITHOUT_LOGARITHM = Atom("without_logarithm", _without_logarithm, counts=True, weighted=False)
_SQUARED_LOG_ERROR = Atom("squared_log_error", _squared_log_error)


@register
class MeanSquaredLogError(MeanOverRows):
    """Mean squared distance on the scale of ln(1 + x): sum of w (ln(1 + p) - ln(1 + y))^2 / W.

    Weighted by row; 0 or more; undefined (`nonpositive_values`) where a label or a prediction is -1 or less, and
    the note counts such rows; `no_rows` without rows. Source: Tofallis (2015), who takes the plain logarithm.

    >>> import math, polars as pl
    >>> rows = pl.DataFrame({"y": [math.e - 1, 0.0], "p": [0.0, 0.0]})
    >>> round(rows.select(MeanSquaredLogError().expr("y", "p")).item(), 6)
    0.5
    """

    name = "msle"
    row_atom = _SQUARED_LOG_ERROR
    interpretable = False
    formula = "sum of w (ln(1 + prediction) - ln(1 + label))^2 / sum of w"
    use_when = "Labels are counts or amounts over several orders of magnitude, and ratios matter."
    beware = (
        "It forgives a prediction that is too high more than one as much too low; rmsle is easier to read."
    )
    reference = _TOFALLIS

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        """Squared distances of logarithms, and the number of rows without any."""
        return {**super().atoms(), "without_logarithm": _WITHOUT_LOGARITHM}

    def undefined(self, state: Any) -> Undefined:
        """A label or a prediction has no logarithm."""
        return [*super().undefined(state), ("nonpositive_values", state.without_logarithm > 0)]

    def note(self, state: Any) -> Any:
        """Number of rows without any."""
        return ("rows with a label or prediction of -1 or less", state.without_logarithm)


@register
class RootMeanSquaredLogError(MeanSquaredLogError):
    """Root of msle: a typical distance on the scale of ln(1 + x), near the relative error where it is small.

    sqrt(sum of w (ln(1 + p) - ln(1 + y))^2 / W). Weighted by row; 0 or more; undefined (`nonpositive_values`)
    where a label or a prediction is -1 or less, and the note counts such rows; `no_rows` without rows. Source:
    Tofallis (2015), who takes the plain logarithm.

    >>> import math, polars as pl
    >>> rows = pl.DataFrame({"y": [math.e - 1], "p": [0.0]})
    >>> round(rows.select(RootMeanSquaredLogError().expr("y", "p")).item(), 6)
    1.0
    """

    name = "rmsle"
    interval_form = None
    interpretable = True
    formula = "sqrt(sum of w (ln(1 + prediction) - ln(1 + label))^2 / sum of w)"
    use_when = "As msle, and the number is to be read: 0.1 is an error of about 10 % where labels are large."
    beware = "It forgives a prediction that is too high more than one as much too low."

    def finalise(self, state: Any) -> Any:
        return ops.sqrt(super().finalise(state))
