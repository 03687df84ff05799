"""Atoms of regression metrics: numbers of a row, means over rows, and variation around a constant.

The error of a row is prediction - label, so a mean error above 0 is over-prediction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from plmetrics.catalogue.bases import RowMean
from plmetrics.catalogue.metric import Metric
from plmetrics.catalogue.needs import Sums
from plmetrics.catalogue.variation import is_lost as lost_of_moments
from plmetrics.catalogue.variation import moment, square
from plmetrics.catalogue.variation import variation as of_moments
from plmetrics.states.sums import Atom, RowValue

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Direction

INFINITY = float("inf")
LABEL = RowValue("label", lambda rows: rows.label)
ERROR = RowValue("error", lambda rows: rows.error)
MEAN_ERROR = Atom("error", lambda rows: rows.error)
ABSOLUTE_ERROR = Atom("absolute_error", lambda rows: rows.error.abs())
SQUARED_ERROR = Atom("squared_error", lambda rows: square(rows.error), squares=True)


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
            f"{alone}_squared",
            (value, value),
            lambda rows: square(rows.centred(value)),
            alone=(alone, alone),
        ),
    }


def variation(state: Any, value: RowValue) -> Any:
    """Sum of w (x - mean x)^2 from the moments of a number; exactly 0 where it is within rounding."""
    first, second = _sums(state, value)
    return of_moments(first, second, state.weight, state.n)


def is_lost(state: Any, value: RowValue) -> Any:
    """Whether a number varies, but too little beside its distance from the centre to say how much."""
    return lost_of_moments(state, value.key, *_sums(state, value), state.weight)


def _sums(state: Any, value: RowValue) -> tuple[Any, Any]:
    return getattr(state, f"{value.key}_sum"), getattr(state, f"{value.key}_square_sum")
