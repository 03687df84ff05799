"""Worth of a decision at a threshold: likelihood ratios, odds, costs, precision at another prevalence.

Every cell of the confusion table is a sum of weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plmetrics.catalogue.bases import BOTH_CLASSES, BothClasses, Quotient
from plmetrics.catalogue.binary.agreement import OfTable, OfTwoRates
from plmetrics.catalogue.binary.counts import (
    INFINITY,
    QUADRANTS,
    AtThreshold,
    OfCells,
    sum_of,
    threshold_parameter,
)
from plmetrics.catalogue.metric import Mean, Nonzero, Undefined
from plmetrics.catalogue.parameters import ThresholdRule, nonnegative, parameter, share
from plmetrics.catalogue.registry import register
from plmetrics.core import ops

_LIKELIHOOD = "Deeks and Altman (2004), Diagnostic tests 4: likelihood ratios, BMJ 329"


class DiagnosticRatio(OfTable, Quotient, AtThreshold):
    """Base of the ratios of diagnostic testing: two products of cells, one over the other."""

    range = (0.0, INFINITY)

    def denominators(self, state: Any) -> tuple[Any, ...]:
        return (state.positives, state.negatives)


@register
class PositiveLikelihoodRatio(DiagnosticRatio):
    """Ratio of the true to the false positive rate: TPR / FPR.

    Weighted by row within each class; 0 or more; undefined (`zero_denominator`) without positives, and
    without false positives. Source: Deeks and Altman (2004).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.8, 0.6, 0.1]})
    >>> rows.select(PositiveLikelihoodRatio().expr("y", "p")).item()
    2.0
    """

    name = "positive_likelihood_ratio"
    formula = "(TP / (TP + FN)) / (FP / (TN + FP))"
    use_when = (
        "You update the odds of a positive after a positive call: posterior odds = prior odds x this ratio."
    )
    beware = "It explodes as the false positive rate nears 0; take the interval seriously."
    reference = _LIKELIHOOD

    def terms(self, state: Any) -> tuple[Any, Any]:
        return state.tp * (state.tn + state.fp), state.fp * (state.tp + state.fn)


@register
class NegativeLikelihoodRatio(DiagnosticRatio):
    """Ratio of the false to the true negative rate: FNR / TNR.

    Weighted by row within each class; 0 or more; undefined (`zero_denominator`) without positives, and
    without true negatives. Source: Deeks and Altman (2004).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.2, 0.1]})
    >>> rows.select(NegativeLikelihoodRatio().expr("y", "p")).item()
    0.5
    """

    name = "negative_likelihood_ratio"
    direction = "lower"
    formula = "(FN / (TP + FN)) / (TN / (TN + FP))"
    use_when = (
        "You update the odds of a positive after a negative call; below 0.1 a negative call nearly rules it "
        "out."
    )
    beware = "It explodes as the specificity nears 0; take the interval seriously."
    reference = _LIKELIHOOD

    def terms(self, state: Any) -> tuple[Any, Any]:
        return state.fn * (state.tn + state.fp), state.tn * (state.tp + state.fn)


@register
class DiagnosticOddsRatio(DiagnosticRatio):
    """Odds of a positive call among positives over those among negatives: TP TN / (FP FN).

    Weighted by row; 0 or more, 1 without skill; undefined (`zero_denominator`) without a false positive or
    without a false negative: no continuity correction is made. Source: Glas and others (2003).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.6, 0.1]})
    >>> rows.select(DiagnosticOddsRatio().expr("y", "p")).item()
    1.0
    """

    name = "diagnostic_odds_ratio"
    interpretable = False
    formula = "TP TN / (FP FN)"
    use_when = "You compare tests in one number that does not depend on the prevalence, as meta-analyses do."
    beware = "Very different pairs of errors give the same value, and one empty cell makes it undefined."
    reference = "Glas and others (2003), The diagnostic odds ratio, Journal of Clinical Epidemiology 56(11)"

    def terms(self, state: Any) -> tuple[Any, Any]:
        return state.tp * state.tn, state.fp * state.fn


@register
@dataclass(frozen=True)
class ExpectedCost(OfTwoRates, OfCells):
    """Mean cost of the errors per row: (c_fp FP + c_fn FN) / n, or at a stated prevalence.

    With `prevalence` pi: c_fp (1 - pi) FPR + c_fn pi FNR. Weighted by row; 0 or more, in the unit of the
    costs. With the observed prevalence it is defined whenever there are rows (`no_rows`); at a stated one
    both classes are needed (`no_positives`, `no_negatives`). Sources: Elkan (2001), Drummond and Holte
    (2006).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.6, 0.1]})
    >>> rows.select(ExpectedCost(cost_fp=1, cost_fn=5).expr("y", "p")).item()
    1.5
    >>> rows.select(ExpectedCost(cost_fp=1, cost_fn=5, prevalence=0.1).expr("y", "p")).item()
    0.7
    """

    name = "expected_cost"
    range = (0.0, INFINITY)
    direction = "lower"
    formula = "(cost_fp FP + cost_fn FN) / n; at prevalence pi: cost_fp (1 - pi) FPR + cost_fn pi FNR"
    use_when = (
        "You can say what a false alarm and a miss cost: it ranks models and thresholds by what you care "
        "about."
    )
    beware = "The threshold must fit the costs, and sampled data need the true prevalence stated."
    reference = "Elkan (2001), The foundations of cost-sensitive learning, IJCAI"

    cost_fp: float = parameter(
        doc="cost of a false positive", check=nonnegative, domain="a number of at least 0"
    )
    cost_fn: float = parameter(
        doc="cost of a false negative", check=nonnegative, domain="a number of at least 0"
    )
    prevalence: float | str = parameter(
        "observed",
        doc="share of positives to weigh the errors for",
        check=lambda value: value == "observed" if isinstance(value, str) else share(value),
        domain="'observed' or a number between 0 and 1",
    )
    threshold: float | ThresholdRule = threshold_parameter()

    @property
    def mean(self) -> Mean | None:
        return "rows" if isinstance(self.prevalence, str) else None

    def finalise(self, state: Any) -> Any:
        """Costs per row, or the error rates weighed by the stated prevalence."""
        if isinstance(self.prevalence, str):
            return ops.ratio(self.cost_fp * state.fp + self.cost_fn * state.fn, sum_of(state, QUADRANTS))
        missed = ops.ratio(state.fn, state.tp + state.fn)
        alarmed = ops.ratio(state.fp, state.tn + state.fp)
        return self.cost_fp * (1.0 - self.prevalence) * alarmed + self.cost_fn * self.prevalence * missed

    def rates(self, state: Any) -> tuple[Any, Any] | None:
        """Recall and specificity; none where the cost is a mean over rows."""
        return None if isinstance(self.prevalence, str) else super().rates(state)

    def of_rates(self, first: Any, second: Any) -> Any:
        assert isinstance(self.prevalence, float)
        alarmed, missed = 1.0 - second, 1.0 - first
        return self.cost_fp * (1.0 - self.prevalence) * alarmed + self.cost_fn * self.prevalence * missed

    @property
    def nonzero(self) -> Nonzero:  # type: ignore[override]
        return () if isinstance(self.prevalence, str) else BOTH_CLASSES

    def denominators(self, state: Any) -> tuple[Any, ...]:
        return (state.weight,) if isinstance(self.prevalence, str) else (state.positives, state.negatives)


@register
@dataclass(frozen=True)
class PpvAtPrevalence(BothClasses, OfTwoRates, OfCells):
    """Precision at another prevalence and the same TPR and FPR: pi TPR / (pi TPR + (1 - pi) FPR).

    Weighted by row within each class; in [0, 1]; undefined (`no_positives`, `no_negatives`) where a class is
    absent and (`zero_denominator`) when nothing is called positive. Source: Altman and Bland (1994), by
    Bayes' theorem.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.6, 0.1]})
    >>> rows.select(PpvAtPrevalence(prevalence=0.1).expr("y", "p")).item()
    0.1
    """

    name = "ppv_at_prevalence"
    formula = "prevalence TPR / (prevalence TPR + (1 - prevalence) FPR)"
    use_when = "The evaluated sample was balanced by label and you need the precision to expect in use."
    beware = (
        "It assumes that TPR and FPR carry over, which fails if the kind of positives changes with their "
        "share."
    )
    reference = "Altman and Bland (1994), Diagnostic tests 2: predictive values, BMJ 309"

    prevalence: float = parameter(
        doc="share of positives to state the precision for", check=share, domain="between 0 and 1"
    )
    threshold: float | ThresholdRule = threshold_parameter()

    def finalise(self, state: Any) -> Any:
        hits = self.prevalence * ops.ratio(state.tp, state.tp + state.fn)
        alarms = (1.0 - self.prevalence) * ops.ratio(state.fp, state.tn + state.fp)
        return ops.ratio(hits, hits + alarms)

    def of_rates(self, first: Any, second: Any) -> Any:
        hits = self.prevalence * first
        return ops.ratio(hits, hits + (1.0 - self.prevalence) * (1.0 - second))

    def undefined(self, state: Any) -> Undefined:
        return [*super().undefined(state), ("zero_denominator", state.tp + state.fp == 0)]
