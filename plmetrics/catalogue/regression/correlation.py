"""Correlation of predictions and labels: of their values, and of their ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from plmetrics.catalogue.metric import Metric, Undefined
from plmetrics.catalogue.needs import Ranks, Sums
from plmetrics.catalogue.registry import register
from plmetrics.catalogue.regression.errors import LABEL, MEAN_ERROR, is_lost, moments, variation
from plmetrics.catalogue.variation import is_one_number, moment
from plmetrics.core import ops
from plmetrics.states.sums import Atom, RowValue

_PREDICTION = RowValue("prediction", lambda rows: rows.score)
_PRODUCT = moment(
    "centred_product",
    (LABEL, _PREDICTION),
    lambda rows: rows.centred(LABEL) * rows.centred(_PREDICTION),
    alone=("label_centred", "prediction_centred"),
)


class _Values(Metric):
    """Base of the correlations of values: second moments around constants near label and prediction."""

    task = "regression"
    needs = Sums()
    range = (-1.0, 1.0)
    direction = "higher"
    centred = (LABEL, _PREDICTION)

    def atoms(self) -> Mapping[str, Atom]:
        return {**moments(LABEL), **moments(_PREDICTION), "product": _PRODUCT, "error": MEAN_ERROR}

    def undefined(self, state: Any) -> Undefined:
        """Conditions, with lost digits of the labels' or predictions' variation among them."""
        return [*super().undefined(state), ("rounding", is_lost(state, LABEL) | is_lost(state, _PREDICTION))]

    @staticmethod
    def _covariation(state: Any) -> Any:
        """Sum of products of distances from both means; exactly 0 where labels or predictions are one number."""
        flat = (variation(state, LABEL) == 0) | (variation(state, _PREDICTION) == 0)
        product = state.product - state.label_sum * ops.ratio(state.prediction_sum, state.weight)
        return ops.where(flat, 0.0, product)


@register
class Pearson(_Values):
    """Linear correlation of label and prediction: their covariance over the root of their variances.

    Weighted by row, moments of the population; in [-1, 1]; undefined (`zero_denominator`) where labels or predictions
    are all equal up to rounding, `no_rows` without rows. Source: Pearson (1895).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1.0, 2.0, 3.0, 4.0], "p": [1.0, 3.0, 2.0, 4.0]})
    >>> round(rows.select(Pearson().expr("y", "p")).item(), 6)
    0.8
    """

    name = "pearson"
    formula = "cov(label, prediction) / sqrt(var(label) var(prediction))"
    use_when = "Predictions are rescaled before they are used, and only how they move with the label matters."
    beware = (
        "It ignores offset and scale: a model that is ten times too high can have 1. One outlier can make it."
    )
    reference = "Pearson (1895), Notes on regression and inheritance, Proceedings of the Royal Society 58"

    def finalise(self, state: Any) -> Any:
        """Value from additive moments."""
        both = ops.sqrt(variation(state, LABEL)) * ops.sqrt(variation(state, _PREDICTION))
        return ops.smaller(ops.larger(ops.ratio(self._covariation(state), both), -1.0), 1.0)

    def undefined(self, state: Any) -> Undefined:
        """Labels or predictions do not vary."""
        flat = (variation(state, LABEL) == 0) | (variation(state, _PREDICTION) == 0)
        return [*super().undefined(state), ("zero_denominator", flat)]


@register
class Concordance(_Values):
    """Lin's concordance correlation: closeness of the points (label, prediction) to the line of equality.

    2 cov / (var(label) + var(prediction) + (mean error)^2), moments of the population. Weighted by row; in [-1, 1];
    undefined (`zero_denominator`) where labels and predictions are one and the same constant. Source: Lin (1989).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1.0, 2.0, 3.0, 4.0], "p": [2.0, 3.0, 4.0, 5.0]})
    >>> round(rows.select(Concordance().expr("y", "p")).item(), 6)
    0.714286
    """

    name = "concordance_ccc"
    formula = "2 cov(label, prediction) / (var(label) + var(prediction) + mean(e)^2)"
    use_when = "Two measurements are to replace each other: offset and scale count as errors."
    beware = "It depends on how much the labels vary: a narrow slice gets a low value from the same errors."
    reference = (
        "Lin (1989), A concordance correlation coefficient to evaluate reproducibility, Biometrics 45(1)"
    )

    def finalise(self, state: Any) -> Any:
        return ops.ratio(2.0 * self._covariation(state), self._spread(state))

    def undefined(self, state: Any) -> Undefined:
        """Nothing varies and nothing is off."""
        return [*super().undefined(state), ("zero_denominator", self._spread(state) == 0)]

    @staticmethod
    def _spread(state: Any) -> Any:
        off = state.error * ops.ratio(state.error, state.weight)
        varying = variation(state, LABEL) + variation(state, _PREDICTION)
        same = is_one_number(state, LABEL.key, 0.0 * state.error, off, state.weight)
        return varying + ops.where(same & (varying == 0), 0.0, off)


class _Ranks(Metric):
    """Base of the correlations of ranks; see `plmetrics.states.ranks` for their input."""

    task = "regression"
    needs = Ranks()
    range = (-1.0, 1.0)
    direction = "higher"
    needs_score = True
    expressible = False
    terms: ClassVar[tuple[str, str, str]]

    def finalise(self, state: Any) -> Any:
        return ops.ratio(getattr(state, self.terms[0]), ops.sqrt(self._scale(state)))

    def bound(self, state: Any) -> Any:
        """Error bound for rows inside the bins of a grid."""
        return _bound(state, *self.terms)

    def undefined(self, state: Any) -> Undefined:
        """All labels or all predictions tie."""
        flat = (state.prediction_untied == 0) | (state.label_untied == 0)
        large = self._scale(state) == float("inf")
        return [*super().undefined(state), ("zero_denominator", flat), ("overflow", large)]

    def _scale(self, state: Any) -> Any:
        return getattr(state, self.terms[1]) * getattr(state, self.terms[2])


def _bound(state: Any, product: str, *squares: str) -> Any:
    """Error bound of a product over the root of two squares, each with one of a grid.

    What is open in a square is part of it: it may be less.
    """
    value, off = getattr(state, product), getattr(state, f"{product}_open")
    most = [getattr(state, name) for name in squares]
    least = [
        ops.larger(square - getattr(state, f"{name}_open"), 0.0)
        for name, square in zip(squares, most, strict=True)
    ]
    scales = [ops.sqrt(scale[0] * scale[1]) for scale in (least, most)]
    here = ops.ratio(value, scales[1])
    lowest = ops.larger(ops.smaller(*(ops.ratio(value - off, scale, -1.0) for scale in scales)), -1.0)
    highest = ops.smaller(ops.larger(*(ops.ratio(value + off, scale, 1.0) for scale in scales)), 1.0)
    return ops.larger(here - lowest, highest - here)


@register
class Spearman(_Ranks):
    """Correlation of the middle ranks of label and prediction.

    The middle rank of a value is the weight below it and half of its own. Weighted by row; in [-1, 1]; undefined
    (`zero_denominator`) where labels or predictions are all equal, `no_rows` without rows. On a grid with a bound.
    Source: Spearman (1904).

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [1.0, 2.0, 3.0, 4.0], "p": [1.0, 30.0, 2.0, 400.0]})
    >>> found = plm.evaluate(rows, task="regression", label="y", models="p", metrics=["spearman"]).metrics
    >>> round(found["value"].item(), 6)
    0.8
    """

    name = "spearman"
    needs = Ranks(pairs=False)
    terms = ("rank_product", "prediction_square", "label_square")
    formula = "pearson of the middle ranks"
    use_when = "Only the order of predictions is used, or the scale of the label is arbitrary."
    beware = "Near misses at the top weigh no more than in the middle: for the top, use a ranking metric."
    reference = (
        "Spearman (1904), The proof and measurement of association between two things, Am. J. Psychology 15"
    )


@register
class Kendall(_Ranks):
    """Kendall's tau-b: concordant less discordant pairs, over the geometric mean of the pairs untied on either side.

    (C - D) / sqrt((pairs whose labels differ)(pairs whose predictions differ)); a pair counts w_i w_j. In [-1, 1];
    undefined (`zero_denominator`) where labels or predictions are all equal, `no_rows` without rows. On a grid with
    a bound. Source: Kendall (1945).

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [1.0, 2.0, 3.0, 4.0], "p": [1.0, 30.0, 2.0, 400.0]})
    >>> found = plm.evaluate(rows, task="regression", label="y", models="p", metrics=["kendall"]).metrics
    >>> round(found["value"].item(), 6)
    0.666667
    """

    name = "kendall"
    terms = ("concordance", "prediction_untied", "label_untied")
    formula = "(C - D) / sqrt((n0 - ties of labels)(n0 - ties of predictions))"
    use_when = "You want the chance that two rows are put in the right order, on a scale from -1 to 1."
    beware = "It is smaller than spearman on the same rows; compare like with like."
    reference = "Kendall (1945), The treatment of ties in ranking problems, Biometrika 33(3)"
