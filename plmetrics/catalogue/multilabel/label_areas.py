"""Rankings by the score of each class, where rows have several classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plmetrics.catalogue.binary.score_order import RocAuc as BinaryRocAuc
from plmetrics.catalogue.metric import Metric
from plmetrics.catalogue.multiclass import calibration, ranking
from plmetrics.catalogue.multilabel.label_order import RowArea
from plmetrics.catalogue.multilabel.label_rates import LabelSet
from plmetrics.catalogue.parameters import parameter
from plmetrics.catalogue.registry import register


def _average_parameter() -> Any:
    return parameter(
        "macro",
        doc="how classes are put together; micro: all pairs of row and class; samples: the mean over rows of the area "
        "over a row's classes; none gives a row per class",
        options=("macro", "micro", "weighted", "samples", "none"),
    )


@dataclass(frozen=True)
class _OverClassesOrRows(LabelSet, ranking.OverClassesOrPool):
    """Base of the areas averaged over classes, or over rows."""

    average: str = _average_parameter()

    def terms(self) -> tuple[Metric, ...]:
        """The binary metric of every class, or the mean over rows."""
        if self.average != "samples":
            return super().terms()
        return (RowArea(area=self.name, zero=getattr(self, "undefined_as", "exclude") == "zero"),)

    def combined_note(self, statuses: Sequence[Any]) -> Any:
        """The classes without a value; means over rows have none."""
        return None if self.average == "samples" else super().combined_note(statuses)


@register
class RocAuc(_OverClassesOrRows):
    """Area under the ROC curve of each class's score, put together over classes.

    macro: mean over the classes that have a value, the others are named in the note; weighted: by the rows that have
    the class; micro: of all pairs of row and class together; samples: mean over the rows that have some of the classes
    and not all; none: a row per class. Weighted by row; in [0, 1]; undefined (`no_positives` or `no_negatives`) where
    no class, or row, has a value. Source: Fawcett (2006).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y_a": [1, 1, 0], "y_b": [0, 1, 1], "p_a": [0.9, 0.4, 0.6], "p_b": [0.2, 0.8, 0.7]})
    >>> asked = {"task": "multilabel", "label": "y_", "models": {"m": {"proba": "p_"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["roc_auc"]).metrics["value"].item(), 6)
    0.75
    """

    name = "roc_auc"
    binary = BinaryRocAuc
    chance = 0.5
    formula = "mean over classes of P(s+ > s-) + P(s+ = s-) / 2 (macro)"
    use_when = "You compare how well models rank rows by each class, before anything is called."
    beware = "It says nothing about the order of classes within a row: see label_ranking_loss."
    reference = "Fawcett (2006), An introduction to ROC analysis, Pattern Recognition Letters 27(8)"


@register
@dataclass(frozen=True)
class AveragePrecision(_OverClassesOrRows, ranking.AveragePrecision):
    """Average precision of each class's score, put together over classes.

    macro: mean over the classes that have rows, the others are named in the note, or count as 0 with `undefined` zero,
    as in scikit-learn; weighted: by the rows that have the class; micro: of all pairs of row and class together;
    samples: mean over the rows that have a class, others are left out or count as 0; none: a row per class. Weighted by
    row; in [0, 1]; undefined (`no_positives`) where no row has a class. Source: Davis and Goadrich (2006).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y_a": [1, 1, 0], "y_b": [0, 1, 1], "p_a": [0.9, 0.4, 0.6], "p_b": [0.2, 0.8, 0.7]})
    >>> asked = {"task": "multilabel", "label": "y_", "models": {"m": {"proba": "p_"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["average_precision"]).metrics["value"].item(), 6)
    0.916667
    """


@register
class PrAuc(LabelSet, ranking.PrAuc):
    """Area under the precision-recall curve of each class's score, put together over classes.

    Points are joined as in the binary `pr_auc`; averages and undefined values as for average_precision. Weighted by
    row; in [0, 1]; undefined (`no_positives`) where no row has a class. Source: Boyd, Eng and Page (2013).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y_a": [1, 1, 0], "y_b": [0, 1, 1], "p_a": [0.9, 0.4, 0.6], "p_b": [0.2, 0.8, 0.7]})
    >>> asked = {"task": "multilabel", "label": "y_", "models": {"m": {"proba": "p_"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["pr_auc"]).metrics["value"].item(), 6)
    0.895833
    """


@register
class KolmogorovSmirnov(LabelSet, ranking.KolmogorovSmirnov):
    """Largest distance between a class's score distributions in rows with it and without it, averaged.

    macro: mean over the classes that have a value, the others are named in the note; weighted: by the rows that have
    the class; none: a row per class. Weighted by row; in [0, 1]; undefined (`no_positives` or `no_negatives`) where no
    class has a value. Source: Smirnov (1948).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y_a": [1, 1, 0], "y_b": [0, 1, 1], "p_a": [0.9, 0.4, 0.6], "p_b": [0.2, 0.8, 0.7]})
    >>> asked = {"task": "multilabel", "label": "y_", "models": {"m": {"proba": "p_"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["ks"]).metrics["value"].item(), 6)
    0.75
    """


@register
class ClasswiseEce(LabelSet, calibration.ClasswiseEce):
    """Mean over classes of the calibration error of each class's probability.

    Each as the binary `ece` with the same parameters. Weighted by row; in [0, 1]; undefined (`no_rows`) without rows.
    Source: Kull and others (2019), who bin by equal width.

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y_a": [1, 1, 0], "y_b": [0, 1, 1], "p_a": [0.9, 0.4, 0.6], "p_b": [0.2, 0.8, 0.7]})
    >>> asked = {"task": "multilabel", "label": "y_", "models": {"m": {"proba": "p_"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["classwise_ece"]).metrics["value"].item(), 6)
    0.333333
    """

    formula = "mean over classes of ece(p_c, [row has c])"
