"""Operating points and top k by the probability of each class, class by class and averaged."""

from __future__ import annotations

from dataclasses import dataclass

from plmetrics.catalogue.binary import operating, top
from plmetrics.catalogue.multiclass.ranking import OverClasses
from plmetrics.catalogue.registry import register

_FAWCETT = "Fawcett (2006), An introduction to ROC analysis, Pattern Recognition Letters 27(8)"
_RETRIEVAL = "Manning, Raghavan and Schuetze (2008), Introduction to Information Retrieval, chapter 8"


class _AtThreshold(OverClasses):
    """Base of the averages of rates at a threshold of each class."""

    kind = "other"
    smooth = False
    threshold_free = False


@dataclass(frozen=True)
class _AtTop(_AtThreshold):
    """Base of the averages over the k rows with the highest probability of a class."""

    reference = _RETRIEVAL

    k: int | float = top.top_parameter()

    @property
    def size_free(self) -> bool:  # type: ignore[override]
        """A share of the rows is of any number of them."""
        return self.k < 1


@register
@dataclass(frozen=True)
class PrecisionAtRecall(_AtThreshold):
    """Precision of each class at its highest threshold with a recall of at least the limit.

    macro: mean over the classes that have a value, the others are named in the note; weighted: by the classes' weight;
    none: a row per class, with its threshold. Weighted by row; undefined (`no_positives`) where no class has rows.
    Source: Manning, Raghavan and Schuetze (2008).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "b", "c"], "pa": [0.6, 0.3, 0.2], "pb": [0.3, 0.5, 0.5], "pc": [0.1, 0.2, 0.3]})
    >>> asked = {"task": "multiclass", "label": "y", "models": {"m": {"proba": "p"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["precision_at_recall(recall=1)"]).metrics["value"].item(), 6)
    0.833333
    """

    name = "precision_at_recall"
    binary = operating.PrecisionAtRecall
    formula = "mean over classes of max-threshold precision with recall_c >= limit"
    use_when = "A share of the rows of every class must be caught, and each call costs work."
    beware = "Each class has a threshold of its own, chosen on the rows it is judged on."
    reference = _RETRIEVAL

    recall: float = operating.limit_parameter("recall to reach")


@register
@dataclass(frozen=True)
class PrecisionAtVolume(_AtThreshold):
    """Precision of each class at its highest threshold with at least a given share of all rows predicted as it.

    macro: mean over the classes that have a value, the others are named in the note; weighted: by the classes' weight;
    none: a row per class, with its threshold. Weighted by row; undefined (`no_positives`) where no class has rows.
    Source: Manning, Raghavan and Schuetze (2008).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "b", "c"], "pa": [0.6, 0.3, 0.2], "pb": [0.3, 0.5, 0.5], "pc": [0.1, 0.2, 0.3]})
    >>> asked = {"task": "multiclass", "label": "y", "models": {"m": {"proba": "p"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["precision_at_volume(volume=0.5)"]).metrics["value"].item(), 6)
    0.5
    """

    name = "precision_at_volume"
    binary = operating.PrecisionAtVolume
    formula = "mean over classes of max-threshold precision with called_c / W >= limit"
    use_when = "As many rows of every class are worked through, whatever their probabilities."
    beware = "Rare classes have fewer rows than are called: their precision cannot reach 1."
    reference = _RETRIEVAL

    volume: float = operating.limit_parameter("share of rows to call")


@register
@dataclass(frozen=True)
class RecallAtPrecision(_AtThreshold):
    """Highest recall of each class at a threshold with a precision of at least the limit.

    macro: mean over the classes that have a value, the others are named in the note; weighted: by the classes' weight;
    none: a row per class, with its threshold. Weighted by row; undefined (`no_positives`, `unreachable`) where no
    class has a value. Source: Manning, Raghavan and Schuetze (2008).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "b", "c"], "pa": [0.6, 0.3, 0.2], "pb": [0.3, 0.5, 0.5], "pc": [0.1, 0.2, 0.3]})
    >>> asked = {"task": "multiclass", "label": "y", "models": {"m": {"proba": "p"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["recall_at_precision(precision=0.9)"]).metrics["value"].item(), 6)
    1.0
    """

    name = "recall_at_precision"
    binary = operating.RecallAtPrecision
    formula = "mean over classes of max{recall_c(t): precision_c(t) >= limit}"
    use_when = "Calls of every class must be right so often, and you ask how much can be called then."
    beware = "A class whose precision never reaches the limit is left out of the average: read the note."
    reference = _RETRIEVAL

    precision: float = operating.limit_parameter("precision to keep")


@register
@dataclass(frozen=True)
class RecallAtFpr(_AtThreshold):
    """Highest recall of each class at a threshold with a false positive rate of at most the limit.

    macro: mean over the classes that have a value, the others are named in the note; weighted: by the classes' weight;
    none: a row per class, with its threshold. Weighted by row; undefined (`no_positives`, `no_negatives`) where no
    class has a value. Source: Fawcett (2006).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "b", "c"], "pa": [0.6, 0.3, 0.2], "pb": [0.3, 0.5, 0.5], "pc": [0.1, 0.2, 0.3]})
    >>> asked = {"task": "multiclass", "label": "y", "models": {"m": {"proba": "p"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["recall_at_fpr(fpr=0.1)"]).metrics["value"].item(), 6)
    0.666667
    """

    name = "recall_at_fpr"
    binary = operating.RecallAtFpr
    formula = "mean over classes of max{recall_c(t): FPR_c(t) <= limit}"
    use_when = "False alarms of every class are bounded by a rate."
    beware = "With many classes even a small rate of all other rows is many calls."
    reference = _FAWCETT

    fpr: float = operating.limit_parameter("false positive rate to keep")


@register
@dataclass(frozen=True)
class FprAtRecall(_AtThreshold):
    """Smallest false positive rate of each class at a threshold with a recall of at least the limit.

    macro: mean over the classes that have a value, the others are named in the note; weighted: by the classes' weight;
    none: a row per class, with its threshold. Weighted by row; undefined (`no_positives`, `no_negatives`) where no
    class has a value. Source: Fawcett (2006).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "b", "c"], "pa": [0.6, 0.3, 0.2], "pb": [0.3, 0.5, 0.5], "pc": [0.1, 0.2, 0.3]})
    >>> asked = {"task": "multiclass", "label": "y", "models": {"m": {"proba": "p"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["fpr_at_recall(recall=0.95)"]).metrics["value"].item(), 6)
    0.166667
    """

    name = "fpr_at_recall"
    binary = operating.FprAtRecall
    direction = "lower"
    formula = "mean over classes of min{FPR_c(t): recall_c(t) >= limit}"
    use_when = "Each class must be found so often, and you ask what that costs the others."
    beware = "A few rows of a class with low probabilities decide it when the limit is near 1."
    reference = _FAWCETT

    recall: float = operating.limit_parameter("recall to reach")


@register
class PrecisionAtK(_AtTop):
    """Share of the rows of a class among the k rows with its highest probabilities.

    macro: mean over the classes that have a value, the others are named in the note; weighted: by the classes' weight;
    none: a row per class, with its threshold. Weighted by row; undefined (`too_few_rows`) with fewer than k rows.
    Source: Manning, Raghavan and Schuetze (2008).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "b", "c"], "pa": [0.6, 0.3, 0.2], "pb": [0.3, 0.5, 0.5], "pc": [0.1, 0.2, 0.3]})
    >>> asked = {"task": "multiclass", "label": "y", "models": {"m": {"proba": "p"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["precision_at_k(k=2)"]).metrics["value"].item(), 6)
    0.5
    """

    name = "precision_at_k"
    binary = top.PrecisionAtK
    formula = "mean over classes of rows of c in its top k / k"
    use_when = "A list of k cases is worked through for every class."
    beware = "Its best value is below 1 for classes of fewer than k rows."


@register
class RecallAtK(_AtTop):
    """Share of the rows of a class among the k rows with its highest probabilities.

    macro: mean over the classes that have a value, the others are named in the note; weighted: by the classes' weight;
    none: a row per class, with its threshold. Weighted by row; undefined (`too_few_rows`) with fewer than k rows,
    `no_positives` where no class has rows. Source: Manning, Raghavan and Schuetze (2008).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "b", "c"], "pa": [0.6, 0.3, 0.2], "pb": [0.3, 0.5, 0.5], "pc": [0.1, 0.2, 0.3]})
    >>> asked = {"task": "multiclass", "label": "y", "models": {"m": {"proba": "p"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["recall_at_k(k=0.5)"]).metrics["value"].item(), 6)
    0.916667
    """

    name = "recall_at_k"
    binary = top.RecallAtK
    formula = "mean over classes of rows of c in its top k / rows of c"
    use_when = "You ask how many rows of every class the top of its list holds."
    beware = "It cannot be above k / rows of the class."


@register
class LiftAtK(_AtTop):
    """Share of a class in its top k over its share in all rows; 1 for an uninformative probability.

    macro: mean over the classes that have a value, the others are named in the note; weighted: by the classes' weight;
    none: a row per class, with its threshold. Weighted by row; undefined (`too_few_rows`) with fewer than k rows,
    `no_positives` where no class has rows. Source: Ling and Li (1998).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "b", "c"], "pa": [0.6, 0.3, 0.2], "pb": [0.3, 0.5, 0.5], "pc": [0.1, 0.2, 0.3]})
    >>> asked = {"task": "multiclass", "label": "y", "models": {"m": {"proba": "p"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["lift_at_k(k=2)"]).metrics["value"].item(), 6)
    1.5
    """

    name = "lift_at_k"
    binary = top.LiftAtK
    range = (0.0, float("inf"))
    formula = "mean over classes of precision in the top k of c / share of c"
    use_when = "You say how many times better than chance the top of each class's list is."
    beware = "Its largest value is W / rows of the class: rare classes rule the average."
    reference = top.LiftAtK.reference
