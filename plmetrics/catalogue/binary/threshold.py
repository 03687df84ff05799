"""Rates of the confusion table at a threshold: each is some of its cells over some more of them.

Every cell is a sum of weights. A rate and its complement both come from the cells, never as 1 - the other.
"""

from __future__ import annotations

from plmetrics.catalogue.binary.counts import QUADRANTS, Rate
from plmetrics.catalogue.registry import register

_FAWCETT = "Fawcett (2006), An introduction to ROC analysis, Pattern Recognition Letters 27(8)"
_SENSITIVITY = "Altman and Bland (1994), Diagnostic tests 1: sensitivity and specificity, BMJ 308"
_PREDICTIVE = "Altman and Bland (1994), Diagnostic tests 2: predictive values, BMJ 309"
_RETRIEVAL = "van Rijsbergen (1979), Information Retrieval, 2nd edition, chapter 7"
_MEASURES = (
    "Sokolova and Lapalme (2009), A systematic analysis of performance measures, Inf. Process. Manag. 45(4)"
)


@register
class Accuracy(Rate):
    """Share of rows predicted correctly: (TP + TN) / (TP + FP + FN + TN).

    Weighted by row; in [0, 1]; undefined (`no_rows`) without rows. Source: Sokolova and Lapalme (2009).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.1, 0.2]})
    >>> rows.select(Accuracy().expr("y", "p")).item()
    0.75
    """

    name = "accuracy"
    paired_test = "mcnemar"
    numerator = ("tp", "tn")
    denominator = QUADRANTS
    empty = "no_rows"
    handles_imbalance = False
    formula = "(TP + TN) / (TP + FP + FN + TN)"
    use_when = "Both errors cost the same and neither class is rare."
    beware = "Calling everything the larger class already scores max(prevalence, 1 - prevalence)."
    reference = _MEASURES


@register
class ErrorRate(Rate):
    """Share of rows predicted wrongly: (FP + FN) / (TP + FP + FN + TN).

    Weighted by row; in [0, 1]; undefined (`no_rows`) without rows. Source: Sokolova and Lapalme (2009).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.1, 0.2]})
    >>> rows.select(ErrorRate().expr("y", "p")).item()
    0.25
    """

    name = "error_rate"
    direction = "lower"
    numerator = ("fp", "fn")
    denominator = QUADRANTS
    empty = "no_rows"
    handles_imbalance = False
    formula = "(FP + FN) / (TP + FP + FN + TN)"
    use_when = "You think in mistakes rather than successes; it is accuracy seen from the other side."
    beware = "A low value is no feat when one class is rare; compare it with min(prevalence, 1 - prevalence)."
    reference = _MEASURES


@register
class Precision(Rate):
    """Share of positives among the rows predicted positive: TP / (TP + FP).

    Weighted by row; in [0, 1]; undefined (`zero_denominator`) when nothing is called positive. Source: van
    Rijsbergen (1979).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.6, 0.1]})
    >>> rows.select(Precision().expr("y", "p")).item()
    0.5
    """

    name = "precision"
    rewards = "refusals"
    criterion = "calibration"
    aliases = ("ppv",)
    numerator = ("tp",)
    denominator = ("tp", "fp")
    formula = "TP / (TP + FP)"
    use_when = "Acting on a false alarm is costly: reviews, blocks, treatments."
    beware = (
        "It moves with the prevalence, and a model that dares little can have a high one; read it with "
        "recall."
    )
    reference = _RETRIEVAL


@register
class FalseDiscoveryRate(Rate):
    """Share of negatives among the rows predicted positive: FP / (TP + FP).

    Weighted by row; in [0, 1]; undefined (`zero_denominator`) when nothing is called positive. Source:
    Sokolova and Lapalme (2009). The realised share, not the expectation that multiple testing controls under
    the same name.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.8, 0.6, 0.7]})
    >>> rows.select(FalseDiscoveryRate().expr("y", "p")).item()
    0.5
    """

    name = "false_discovery_rate"
    rewards = "refusals"
    criterion = "calibration"
    direction = "lower"
    numerator = ("fp",)
    denominator = ("tp", "fp")
    formula = "FP / (TP + FP)"
    use_when = "You promise that at most so many of the alarms are false."
    beware = "It rises as positives become rare, with the same model; quote the prevalence beside it."
    reference = _MEASURES


@register
class Recall(Rate):
    """Share of the positives predicted positive: TP / (TP + FN).

    Weighted by row; in [0, 1]; undefined (`no_positives`) without positives. Source: Altman and Bland (1994),
    as sensitivity.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.6, 0.1]})
    >>> rows.select(Recall(threshold=0.3).expr("y", "p")).item()
    1.0
    """

    name = "recall"
    rewards = "calls"
    criterion = "odds"
    aliases = ("tpr", "sensitivity")
    numerator = ("tp",)
    denominator = ("tp", "fn")
    empty = "no_positives"
    formula = "TP / (TP + FN)"
    use_when = "Missing a positive is costly: disease, fraud, safety."
    beware = "Calling everything positive gives 1; read it with precision or the false positive rate."
    reference = _SENSITIVITY


@register
class FalseNegativeRate(Rate):
    """Share of the positives predicted negative: FN / (TP + FN).

    Weighted by row; in [0, 1]; undefined (`no_positives`) without positives. Source: Fawcett (2006).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.6, 0.1]})
    >>> rows.select(FalseNegativeRate().expr("y", "p")).item()
    0.5
    """

    name = "fnr"
    rewards = "calls"
    criterion = "odds"
    aliases = ("miss_rate",)
    direction = "lower"
    numerator = ("fn",)
    denominator = ("tp", "fn")
    empty = "no_positives"
    formula = "FN / (TP + FN)"
    use_when = "You set a limit on the share of positives that slip through."
    beware = "Calling everything positive gives 0; it says nothing of false alarms."
    reference = _FAWCETT


@register
class Specificity(Rate):
    """Share of the negatives predicted negative: TN / (TN + FP).

    Weighted by row; in [0, 1]; undefined (`no_negatives`) without negatives. Source: Altman and Bland (1994).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.6, 0.1]})
    >>> rows.select(Specificity().expr("y", "p")).item()
    0.5
    """

    name = "specificity"
    rewards = "refusals"
    criterion = "odds"
    aliases = ("tnr",)
    numerator = ("tn",)
    denominator = ("tn", "fp")
    empty = "no_negatives"
    formula = "TN / (TN + FP)"
    use_when = "Negatives must be left in peace: screening of healthy people, good customers."
    beware = "With rare positives 0.99 can still mean more false alarms than hits; look at precision too."
    reference = _SENSITIVITY


@register
class FalsePositiveRate(Rate):
    """Share of the negatives predicted positive: FP / (TN + FP).

    Weighted by row; in [0, 1]; undefined (`no_negatives`) without negatives. Source: Fawcett (2006).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.6, 0.1]})
    >>> rows.select(FalsePositiveRate().expr("y", "p")).item()
    0.5
    """

    name = "fpr"
    rewards = "refusals"
    criterion = "odds"
    direction = "lower"
    numerator = ("fp",)
    denominator = ("tn", "fp")
    empty = "no_negatives"
    formula = "FP / (TN + FP)"
    use_when = "You set a limit on how many negatives are bothered, or compare groups for equalized odds."
    beware = "A small rate of a large class is a large number: with rare positives most alarms can be false."
    reference = _FAWCETT


@register
class NegativePredictiveValue(Rate):
    """Share of negatives among the rows predicted negative: TN / (TN + FN).

    Weighted by row; in [0, 1]; undefined (`zero_denominator`) when nothing is called negative. Source: Altman
    and Bland (1994).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.6, 0.1]})
    >>> rows.select(NegativePredictiveValue().expr("y", "p")).item()
    0.5
    """

    name = "npv"
    rewards = "calls"
    criterion = "calibration"
    numerator = ("tn",)
    denominator = ("tn", "fn")
    formula = "TN / (TN + FN)"
    use_when = "A negative call must be safe to rely on, as in ruling out a disease."
    beware = "With rare positives it is close to 1 for any model; compare it with 1 - prevalence."
    reference = _PREDICTIVE


@register
class FalseOmissionRate(Rate):
    """Share of positives among the rows predicted negative: FN / (TN + FN).

    Weighted by row; in [0, 1]; undefined (`zero_denominator`) when nothing is called negative. Source:
    Sokolova and Lapalme (2009).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.6, 0.1]})
    >>> rows.select(FalseOmissionRate().expr("y", "p")).item()
    0.5
    """

    name = "false_omission_rate"
    rewards = "calls"
    criterion = "calibration"
    direction = "lower"
    numerator = ("fn",)
    denominator = ("tn", "fn")
    formula = "FN / (TN + FN)"
    use_when = "You promise how many of the rows that were let pass are positive after all."
    beware = "With rare positives it is close to 0 for any model; compare it with the prevalence."
    reference = _PREDICTIVE
