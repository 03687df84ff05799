"""Single numbers for the whole confusion table at a threshold: averages of rates, correlations, agreement.

Every cell of the table is a sum of weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plmetrics.catalogue.bases import BothClasses, OfRates, Quotient
from plmetrics.catalogue.binary.counts import AtThreshold
from plmetrics.catalogue.metric import Undefined
from plmetrics.catalogue.registry import register
from plmetrics.core import ops
from plmetrics.states.sums import View


def _sensitivity(state: Any) -> Any:
    return ops.ratio(state.tp, state.tp + state.fn)


def _specificity(state: Any) -> Any:
    return ops.ratio(state.tn, state.tn + state.fp)


def _determinant(state: Any) -> Any:
    return state.tp * state.tn - state.fp * state.fn


def _informedness(state: Any) -> Any:
    return ops.ratio(_determinant(state), (state.tp + state.fn) * (state.tn + state.fp))


def _markedness(state: Any) -> Any:
    return ops.ratio(_determinant(state), (state.tp + state.fp) * (state.tn + state.fn))


class OfTwoRates(OfRates):
    """Base of the functions of two rates: by default recall and specificity."""

    def rates(self, state: Any) -> tuple[Any, Any] | None:
        """Right calls of each class, and its rows."""
        whole = (state.tp + state.fn, state.tn + state.fp)
        return np.stack((state.tp, state.tn), axis=-1), np.stack(whole, axis=-1)

    def of_rates(self, first: Any, second: Any) -> Any:
        """The value."""
        raise NotImplementedError

    def changes(self, state: Any, rates: Any, moved: Any) -> Any:  # noqa: ARG002
        first, second = np.moveaxis(rates, -1, 0)
        value = self.of_rates(first, second)
        each = (self.of_rates(moved[..., 0], second), self.of_rates(first, moved[..., 1]))
        return np.stack(each, axis=-1) - value[..., None]


class OverClasses(BothClasses, OfTwoRates, AtThreshold):
    """Base of the functions of both class-conditional rates, undefined without either class."""


class OfTable(OfTwoRates):
    """Base of the functions of recall and specificity in which the sizes of the classes have a part."""

    def changes(self, state: Any, rates: Any, moved: Any) -> Any:  # noqa: ARG002
        """Values of the table with other hits, or other rejections, of as many rows of each class."""
        positives, negatives = state.tp + state.fn, state.tn + state.fp
        hits, rejections = moved[..., 0] * positives, moved[..., 1] * negatives
        cells = (
            {"tp": hits, "fn": positives - hits, "fp": state.fp, "tn": state.tn},
            {"tp": state.tp, "fn": state.fn, "fp": negatives - rejections, "tn": rejections},
        )
        return np.stack([self.finalise(View(each)) - self.finalise(state) for each in cells], axis=-1)


@register
class BalancedAccuracy(OverClasses):
    """Mean of recall and specificity: (TP / (TP + FN) + TN / (TN + FP)) / 2.

    Weighted by row within each class; in [0, 1]; undefined (`no_positives`, `no_negatives`) where a class is
    absent. Source: Brodersen and others (2010).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.2, 0.1]})
    >>> rows.select(BalancedAccuracy().expr("y", "p")).item()
    0.75
    """

    name = "balanced_accuracy"
    formula = "(TP / (TP + FN) + TN / (TN + FP)) / 2"
    use_when = "One class is rare and both matter alike; any constant decision scores 0.5."
    beware = "It is not the share of right decisions in your data unless the classes are equally common."
    reference = "Brodersen and others (2010), The balanced accuracy and its posterior distribution, ICPR"

    def finalise(self, state: Any) -> Any:
        return self.of_rates(_sensitivity(state), _specificity(state))

    def of_rates(self, first: Any, second: Any) -> Any:
        return (first + second) / 2.0


@register
class BalancedErrorRate(OverClasses):
    """Mean of the two error rates: (FN / (TP + FN) + FP / (TN + FP)) / 2.

    Weighted by row within each class; in [0, 1]; undefined (`no_positives`, `no_negatives`) where a class is
    absent. Source: Brodersen and others (2010), as 1 - balanced accuracy.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.2, 0.1]})
    >>> rows.select(BalancedErrorRate().expr("y", "p")).item()
    0.25
    """

    name = "balanced_error_rate"
    direction = "lower"
    formula = "(FN / (TP + FN) + FP / (TN + FP)) / 2"
    use_when = "One class is rare, both matter alike, and you think in mistakes; 0.5 is a constant decision."
    beware = "It is not the share of wrong decisions in your data unless the classes are equally common."
    reference = "Brodersen and others (2010), The balanced accuracy and its posterior distribution, ICPR"

    def finalise(self, state: Any) -> Any:
        missed = ops.ratio(state.fn, state.tp + state.fn)
        return (missed + ops.ratio(state.fp, state.tn + state.fp)) / 2.0

    def of_rates(self, first: Any, second: Any) -> Any:
        return 1.0 - (first + second) / 2.0


@register
class YoudenJ(OverClasses):
    """Recall + specificity - 1, also called informedness: (TP TN - FP FN) / ((TP + FN)(TN + FP)).

    Weighted by row within each class; in [-1, 1], 0 for any decision made without looking; undefined
    (`no_positives`, `no_negatives`) where a class is absent. Source: Youden (1950).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.2, 0.1]})
    >>> rows.select(YoudenJ().expr("y", "p")).item()
    0.5
    """

    name = "youden_j"
    range = (-1.0, 1.0)
    formula = "TP / (TP + FN) + TN / (TN + FP) - 1"
    use_when = "You want skill beyond chance, independent of the prevalence, as for diagnostic tests."
    beware = "It weighs a missed positive and a false alarm by class size, not by what they cost."
    reference = "Youden (1950), Index for rating diagnostic tests, Cancer 3(1)"

    def finalise(self, state: Any) -> Any:
        """Value from the determinant of the table, an exact 0 without skill."""
        return _informedness(state)

    def of_rates(self, first: Any, second: Any) -> Any:
        return first + second - 1.0


@register
class GMean(OverClasses):
    """Geometric mean of recall and specificity: sqrt(TP / (TP + FN) TN / (TN + FP)).

    Weighted by row within each class; in [0, 1]; undefined (`no_positives`, `no_negatives`) where a class is
    absent. Source: Kubat and Matwin (1997).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.6, 0.1]})
    >>> rows.select(GMean().expr("y", "p")).item()
    0.5
    """

    name = "g_mean"
    interpretable = False
    formula = "sqrt(TP / (TP + FN) * TN / (TN + FP))"
    use_when = "One class is rare and a model that gives up on either class should score 0."
    beware = "A single rate of 0 wipes out all else, so it is unstable with few positives."
    reference = "Kubat and Matwin (1997), Addressing the curse of imbalanced training sets, ICML"

    def finalise(self, state: Any) -> Any:
        return self.of_rates(_sensitivity(state), _specificity(state))

    def of_rates(self, first: Any, second: Any) -> Any:
        return ops.sqrt(first * second)


@register
class Markedness(OfTwoRates, AtThreshold):
    """Precision + negative predictive value - 1: (TP TN - FP FN) / ((TP + FP)(TN + FN)).

    Weighted by row; in [-1, 1], 0 for any decision made without looking; undefined (`zero_denominator`) when
    nothing or everything is called positive. Source: Powers (2011).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.6, 0.1]})
    >>> rows.select(Markedness().expr("y", "p")).item()
    0.0
    """

    name = "markedness"
    range = (-1.0, 1.0)
    formula = "TP / (TP + FP) + TN / (TN + FN) - 1"
    use_when = "You want to know how far both calls can be relied on, beyond chance."
    beware = "It moves with the prevalence; its partner that does not is youden_j."
    reference = (
        "Powers (2011), Evaluation: from precision, recall and F-measure to ROC, informedness, markedness "
        "and correlation, Journal of Machine Learning Technologies 2(1)"
    )

    def finalise(self, state: Any) -> Any:
        """Value from the determinant of the table, an exact 0 without skill."""
        return _markedness(state)

    def rates(self, state: Any) -> tuple[Any, Any]:
        """Right calls of each kind, and all of it."""
        whole = (state.tp + state.fp, state.tn + state.fn)
        return np.stack((state.tp, state.tn), axis=-1), np.stack(whole, axis=-1)

    def of_rates(self, first: Any, second: Any) -> Any:
        return first + second - 1.0

    def undefined(self, state: Any) -> Undefined:
        """One of the two calls is never made."""
        return [
            *super().undefined(state),
            ("zero_denominator", ops.smaller(state.tp + state.fp, state.tn + state.fn) == 0),
        ]

    def denominators(self, state: Any) -> tuple[Any, ...]:
        return (state.tp + state.fp, state.tn + state.fn)


@register
class Mcc(OfTable, AtThreshold):
    """Correlation of decision and label: (TP TN - FP FN) / sqrt((TP + FP)(TP + FN)(TN + FP)(TN + FN)).

    Weighted by row; in [-1, 1]; undefined (`zero_denominator`) where a class is absent or one of the calls is
    never made. Computed as the signed root of youden_j times markedness, in floating point: the product of
    the four sums overflows 64-bit integers from about 100,000 rows on, and this form needs only products of
    two. Source: Matthews (1975).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.8, 0.2, 0.1]})
    >>> rows.select(Mcc().expr("y", "p")).item()
    1.0
    """

    name = "mcc"
    range = (-1.0, 1.0)
    interval_form = "delta"
    masses = ("positives", "negatives")
    formula = "(TP TN - FP FN) / sqrt((TP + FP)(TP + FN)(TN + FP)(TN + FN))"
    use_when = (
        "You need one number for the whole confusion table that is high only if all four cells are good."
    )
    beware = (
        "It moves with the prevalence, so it is not comparable between slices with different shares of "
        "positives."
    )
    reference = "Matthews (1975), Comparison of the predicted and observed secondary structure, BBA 405(2)"

    def finalise(self, state: Any) -> Any:
        """Exactly 1, 0 and -1 where it should be."""
        informedness = _informedness(state)
        size = ops.sqrt(informedness * _markedness(state))
        return ops.where(informedness < 0, -size, size)

    def undefined(self, state: Any) -> Undefined:
        """A margin of the table is empty."""
        calls = ops.smaller(state.tp + state.fp, state.tn + state.fn)
        labels = ops.smaller(state.tp + state.fn, state.tn + state.fp)
        return [*super().undefined(state), ("zero_denominator", ops.smaller(calls, labels) == 0)]


@register
class CohenKappa(OfTable, Quotient, AtThreshold):
    """Agreement beyond chance: (p_o - p_e) / (1 - p_e), p_o the accuracy and p_e that of independent calls.

    Weighted by row; in [-1, 1]; undefined (`zero_denominator`) where p_e = 1, that is where all rows have one
    label and one call. Computed as 2 (TP TN - FP FN) / ((TP + FP)(TN + FP) + (TP + FN)(TN + FN)), the same
    number without subtracting from 1. Source: Cohen (1960).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.2, 0.1]})
    >>> rows.select(CohenKappa().expr("y", "p")).item()
    0.5
    """

    name = "cohen_kappa"
    range = (-1.0, 1.0)
    interval_form = "delta"
    interpretable = False
    formula = "(p_o - p_e) / (1 - p_e), p_o = (TP + TN)/n, p_e = ((TP+FP)(TP+FN) + (TN+FN)(TN+FP))/n^2"
    use_when = "You compare with a literature that reports kappa, such as agreement between raters."
    beware = "Its value depends on how often each call is made: a worse model can have the higher kappa."
    reference = "Cohen (1960), A coefficient of agreement for nominal scales, Educ. Psychol. Meas. 20(1)"

    def terms(self, state: Any) -> tuple[Any, Any]:
        """Twice the determinant of the table, and the products of its margins."""
        crossed = (state.tp + state.fp) * (state.tn + state.fp)
        return 2.0 * _determinant(state), crossed + (state.tp + state.fn) * (state.tn + state.fn)

    def denominators(self, state: Any) -> tuple[Any, ...]:
        return (state.positives, state.negatives)
