"""The named criteria of group fairness for a binary decision: differences and ratios of rates between groups.

With `favourable=negative` the rates are those of the negative decision and of rows that deserve it. The other rates
of a table tell nothing new then, but ratios change: 0.98 / 0.99 is another number than 0.02 / 0.01.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from plmetrics.catalogue.binary.calibration import ExpectedCalibrationError
from plmetrics.catalogue.binary.counts import SelectionRate, threshold_parameter
from plmetrics.catalogue.binary.threshold import (
    Accuracy,
    FalseNegativeRate,
    FalsePositiveRate,
    NegativePredictiveValue,
    Precision,
    Recall,
    Specificity,
)
from plmetrics.catalogue.fairness.base import (
    GroupComparison,
    GroupMetric,
    MeanGap,
    RateMetric,
    RejectionRate,
    favourable_parameter,
)
from plmetrics.catalogue.metric import Direction, Metric
from plmetrics.catalogue.parameters import ThresholdRule, parameter
from plmetrics.catalogue.registry import register

_INDEPENDENCE = "Dwork and others (2012), Fairness through awareness, ITCS"
_SEPARATION = "Hardt, Price and Srebro (2016), Equality of opportunity in supervised learning, NeurIPS"
_SUFFICIENCY = "Chouldechova (2017), Fair prediction with disparate impact, Big Data 5(2)"
_CALIBRATION = "Kleinberg, Mullainathan and Raghavan (2017), Inherent trade-offs, ITCS"
_NOISE = "Noise alone makes groups differ, the more the smaller they are: read the interval."


@dataclass(frozen=True)
class _AtThreshold(RateMetric, GroupComparison):
    threshold_free = False
    task = "binary"
    threshold: float | ThresholdRule = threshold_parameter()


@dataclass(frozen=True)
class _FavourableRate(RateMetric, GroupComparison):
    threshold_free = False
    task = "binary"
    favourable: str = favourable_parameter()
    threshold: float | ThresholdRule = threshold_parameter()


class _Difference(GroupComparison):
    range = (0.0, 1.0)
    direction: ClassVar[Direction] = "lower"
    beware = _NOISE


class _Ratio(GroupComparison):
    range = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    kind = "ratio"
    ratio = True
    failures = ("zero_denominator", "reference_not_judged")
    beware = (
        "Small rates make wild ratios: 1 % against 2 % is 0.5. Read the interval, and the difference too."
    )


@register
class DemographicParityDifference(_FavourableRate, _Difference):
    """Range over groups of the share of rows with the favourable decision: max S_g - min S_g.

    S_g is the selection rate of group g. Against all rows: max abs(S_g - S); against one group: max abs(S_g - S_r).
    Weighted by row; in [0, 1]; undefined (`too_few_groups`) with fewer than two groups to judge. Source: Dwork and
    others (2012), as statistical parity.

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.8, 0.9, 0.1], "sex": ["f", "f", "m", "m"]})
    >>> asked = ["demographic_parity_difference(by=sex)"]
    >>> plm.evaluate(rows, label="y", models="p", slices=["sex"], metrics=asked).metrics["value"].item()
    0.5
    """

    name = "demographic_parity_difference"
    rates = (SelectionRate,)
    mirrored = (RejectionRate,)
    formula = "max over g of (TP + FP) / n - min over g of it"
    use_when = "Decisions should not depend on the group at all, whatever the labels say."
    reference = _INDEPENDENCE


@register
class DemographicParityRatio(_FavourableRate, _Ratio):
    """Ratio over groups of the smallest and largest share of rows with the favourable decision: min S_g / max S_g.

    S_g is the selection rate of group g. Against all rows or one group: min of min(S_g / S, S / S_g). Weighted by
    row; in [0, 1]; undefined (`too_few_groups`) with fewer than two groups to judge, `zero_denominator` where nobody
    has the favourable decision. Source: Dwork and others (2012), as statistical parity.

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.8, 0.9, 0.1], "sex": ["f", "f", "m", "m"]})
    >>> asked = ["demographic_parity_ratio(by=sex)"]
    >>> plm.evaluate(rows, label="y", models="p", slices=["sex"], metrics=asked).metrics["value"].item()
    0.5
    """

    name = "demographic_parity_ratio"
    rates = (SelectionRate,)
    mirrored = (RejectionRate,)
    formula = "min over g of (TP + FP) / n over max over g of it"
    use_when = "A rule is about ratios of selection rates, such as four fifths."
    reference = _INDEPENDENCE


@register
class EqualOpportunityDifference(_FavourableRate, _Difference):
    """Range over groups of the share of deserving rows with the favourable decision: max TPR_g - min TPR_g.

    Weighted by row; in [0, 1]; undefined (`too_few_groups`) with fewer than two groups that have positives. With
    favourable=negative the rates are TN / (TN + FP). Source: Hardt, Price and Srebro (2016).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [1, 1, 1, 1], "p": [0.9, 0.8, 0.9, 0.1], "sex": ["f", "f", "m", "m"]})
    >>> asked = ["equal_opportunity_difference(by=sex)"]
    >>> plm.evaluate(rows, label="y", models="p", slices=["sex"], metrics=asked).metrics["value"].item()
    0.5
    """

    name = "equal_opportunity_difference"
    rates = (Recall,)
    mirrored = (Specificity,)
    formula = "max over g of TP / (TP + FN) - min over g of it"
    use_when = "Those who deserve the favourable decision should get it equally often in all groups."
    reference = _SEPARATION


@register
class EqualOpportunityRatio(_FavourableRate, _Ratio):
    """Ratio of the smallest and largest share of deserving rows with the favourable decision: min TPR_g / max TPR_g.

    Weighted by row; in [0, 1]; undefined (`too_few_groups`) with fewer than two groups that have positives,
    `zero_denominator` where no group has a hit. Source: Hardt, Price and Srebro (2016).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [1, 1, 1, 1], "p": [0.9, 0.8, 0.9, 0.1], "sex": ["f", "f", "m", "m"]})
    >>> asked = ["equal_opportunity_ratio(by=sex)"]
    >>> plm.evaluate(rows, label="y", models="p", slices=["sex"], metrics=asked).metrics["value"].item()
    0.5
    """

    name = "equal_opportunity_ratio"
    rates = (Recall,)
    mirrored = (Specificity,)
    formula = "min over g of TP / (TP + FN) over max over g of it"
    use_when = "Equal opportunity is asked for as a ratio."
    reference = _SEPARATION


@dataclass(frozen=True)
class _Aggregate(GroupMetric):
    agg: str = parameter("max", doc="the worse of the two rates, or their mean", options=("max", "mean"))


@register
@dataclass(frozen=True)
class EqualizedOddsDifference(_FavourableRate, _Difference, _Aggregate):
    """The larger of the gaps between groups in true and in false positive rates.

    max(max TPR_g - min TPR_g, max FPR_g - min FPR_g), or the mean of the two gaps (agg=mean). A group without
    positives or without negatives is not judged. Weighted by row; in [0, 1]; undefined (`too_few_groups`) with fewer
    than two others. Source: Hardt, Price and Srebro (2016).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.8, 0.9, 0.1], "sex": ["f", "f", "m", "m"]})
    >>> asked = ["equalized_odds_difference(by=sex)"]
    >>> plm.evaluate(rows, label="y", models="p", slices=["sex"], metrics=asked).metrics["value"].item()
    1.0
    """

    name = "equalized_odds_difference"
    rates = (Recall, FalsePositiveRate)
    mirrored = (Specificity, FalseNegativeRate)
    formula = "max(max TPR_g - min TPR_g, max FPR_g - min FPR_g)"
    use_when = "Errors of both kinds should hit all groups equally often."
    reference = _SEPARATION


@register
@dataclass(frozen=True)
class EqualizedOddsRatio(_FavourableRate, _Ratio, _Aggregate):
    """The smaller of the ratios between groups of true and of false positive rates.

    min(min TPR_g / max TPR_g, min FPR_g / max FPR_g), or the mean of the two ratios (agg=mean). A group without
    positives or without negatives is not judged. Weighted by row; in [0, 1]; undefined (`too_few_groups`) with fewer
    than two others, `zero_denominator` where one of the rates is 0 in all of them. Source: Hardt, Price and Srebro
    (2016).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.8, 0.9, 0.1], "sex": ["f", "f", "m", "m"]})
    >>> asked = ["equalized_odds_ratio(by=sex)"]
    >>> plm.evaluate(rows, label="y", models="p", slices=["sex"], metrics=asked).metrics["value"].item()
    0.0
    """

    name = "equalized_odds_ratio"
    rates = (Recall, FalsePositiveRate)
    mirrored = (Specificity, FalseNegativeRate)
    formula = "min(min TPR_g / max TPR_g, min FPR_g / max FPR_g)"
    use_when = "Equalized odds are asked for as a ratio."
    reference = _SEPARATION


@register
class PredictiveParityDifference(_FavourableRate, _Difference):
    """Range over groups of the precision of the favourable decision: max PPV_g - min PPV_g.

    Weighted by row; in [0, 1]; undefined (`too_few_groups`) with fewer than two groups in which anybody gets the
    favourable decision. With favourable=negative the rates are TN / (TN + FN). Source: Chouldechova (2017).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.8, 0.9, 0.1], "sex": ["f", "f", "m", "m"]})
    >>> asked = ["predictive_parity_difference(by=sex)"]
    >>> plm.evaluate(rows, label="y", models="p", slices=["sex"], metrics=asked).metrics["value"].item()
    0.5
    """

    name = "predictive_parity_difference"
    rates = (Precision,)
    mirrored = (NegativePredictiveValue,)
    formula = "max over g of TP / (TP + FP) - min over g of it"
    use_when = "A positive decision should mean the same in all groups."
    reference = _SUFFICIENCY


@register
class AccuracyParityDifference(_AtThreshold, _Difference):
    """Range over groups of the share of rows called rightly: max - min of (TP + TN) / n.

    Weighted by row; in [0, 1]; undefined (`too_few_groups`) with fewer than two groups to judge. Source: Berk and
    others (2021), as overall accuracy equality.

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.8, 0.9, 0.1], "sex": ["f", "f", "m", "m"]})
    >>> asked = ["accuracy_parity_difference(by=sex)"]
    >>> plm.evaluate(rows, label="y", models="p", slices=["sex"], metrics=asked).metrics["value"].item()
    0.5
    """

    name = "accuracy_parity_difference"
    rates = (Accuracy,)
    formula = "max over g of (TP + TN) / n - min over g of it"
    use_when = "The model should be right equally often in all groups."
    reference = (
        "Berk and others (2021), Fairness in criminal justice risk assessments, Sociol. Methods Res. 50(1)"
    )


@register
class FprParityDifference(_FavourableRate, _Difference):
    """Range over groups of the false positive rate: max FPR_g - min FPR_g.

    Weighted by row; in [0, 1]; undefined (`too_few_groups`) with fewer than two groups that have negatives. With
    favourable=negative the rates are FN / (TP + FN), those of a favourable decision that is not deserved. Source:
    Hardt, Price and Srebro (2016), whose equalized odds ask for it.

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.8, 0.9, 0.1], "sex": ["f", "f", "m", "m"]})
    >>> asked = ["fpr_parity_difference(by=sex)"]
    >>> plm.evaluate(rows, label="y", models="p", slices=["sex"], metrics=asked).metrics["value"].item()
    1.0
    """

    name = "fpr_parity_difference"
    rates = (FalsePositiveRate,)
    mirrored = (FalseNegativeRate,)
    formula = "max over g of FP / (FP + TN) - min over g of it"
    use_when = "A false alarm does harm, and the harm should be spread evenly."
    reference = _SEPARATION


@register
class FnrParityDifference(_FavourableRate, _Difference):
    """Range over groups of the miss rate: max FNR_g - min FNR_g.

    Weighted by row; in [0, 1]; undefined (`too_few_groups`) with fewer than two groups that have positives. With
    favourable=negative the rates are FP / (FP + TN). Source: Hardt, Price and Srebro (2016): it is the gap of equal
    opportunity seen from the other side.

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [1, 1, 1, 1], "p": [0.9, 0.8, 0.9, 0.1], "sex": ["f", "f", "m", "m"]})
    >>> asked = ["fnr_parity_difference(by=sex)"]
    >>> plm.evaluate(rows, label="y", models="p", slices=["sex"], metrics=asked).metrics["value"].item()
    0.5
    """

    name = "fnr_parity_difference"
    rates = (FalseNegativeRate,)
    mirrored = (FalsePositiveRate,)
    formula = "max over g of FN / (TP + FN) - min over g of it"
    use_when = "A miss does harm, as in screening, and the harm should be spread evenly."
    reference = _SEPARATION


@dataclass(frozen=True)
class _GroupCalibration(GroupMetric):
    form: str = parameter(
        "mean",
        doc="mean score minus rate of positives, or the calibration error without the share of noise",
        options=("mean", "ece"),
        name="kind",
    )


@register
@dataclass(frozen=True)
class CalibrationGap(_Difference, _GroupCalibration):
    """Range over groups of calibration: max d_g - min d_g, d_g the mean score minus the rate of positives.

    kind=ece: d_g is ece(debias=true), for the plain calibration error of a small group is mostly noise. Weighted by
    row; in [0, 2] (mean); undefined (`too_few_groups`) with fewer than two groups to judge. Source: Kleinberg,
    Mullainathan and Raghavan (2017), calibration within groups.

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.75, 0.75, 0.5, 0.5], "sex": ["f", "f", "m", "m"]})
    >>> asked = ["calibration_gap(by=sex)"]
    >>> plm.evaluate(rows, label="y", models="p", slices=["sex"], metrics=asked).metrics["value"].item()
    0.25
    """

    name = "calibration_gap"
    task = "binary"
    range = (0.0, 2.0)
    probability = True
    needs_score = True
    formula = "max over g of (mean p - mean y) - min over g of it"
    use_when = "A score should mean the same risk in all groups."
    reference = _CALIBRATION

    def parts(self) -> tuple[Metric, ...]:
        """The gap of each group, or its calibration error."""
        return (MeanGap() if self.form == "mean" else ExpectedCalibrationError(debias=True),)
