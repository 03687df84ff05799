"""Rates of each class against the rest, and their averages: precision, recall and rates derived from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plmetrics.catalogue.metric import Metric
from plmetrics.catalogue.multiclass.base import (
    INFINITY,
    MEASURES,
    ClassRate,
    ClassWeight,
    Multiclass,
    undefined_parameter,
)
from plmetrics.catalogue.needs import Sums
from plmetrics.catalogue.parameters import parameter, squarable
from plmetrics.catalogue.registry import register

_RETRIEVAL = "van Rijsbergen (1979), Information Retrieval, 2nd edition, chapter 7"


@dataclass(frozen=True)
class _Rate(ClassRate):
    """Base of the rates without a parameter of their own: a class without a value is left out, or counts as 0."""

    undefined_as: str = undefined_parameter()


@register
class Precision(_Rate):
    """Share of true members among the rows predicted as a class, averaged over classes.

    Per class hits / called. macro: mean over the classes that have a value; weighted: mean by the classes' weight;
    micro: all hits over all calls, which is the accuracy; none: a row per class. A class that is never called has no
    value: it is left out and named in the note, or counts as 0 with `undefined` zero, as scikit-learn does. Weighted
    by row; in [0, 1]; undefined (`zero_denominator`) where no class has a value. Source: Sokolova and Lapalme (2009).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "a", "b", "c"], "p": ["a", "b", "b", "b"]})
    >>> found = plm.evaluate(rows, task="multiclass", label="y", models="p", metrics=["precision"]).metrics
    >>> round(found["value"].item(), 6), found["note"].item()
    (0.666667, 'classes left out: c')
    """

    name = "precision"
    aliases = ("ppv",)
    formula = "mean over classes of hits_c / called_c (macro)"
    use_when = "A wrong call costs more than a missed one, in every class alike."
    beware = (
        "A class that is never called drops out of the macro average: read the note, or use undefined=zero."
    )
    reference = MEASURES

    def terms(self, state: Any) -> tuple[Any, Any]:
        """Hits, over calls."""
        return state.hit, state.called


@register
class Recall(_Rate):
    """Share of the rows of a class predicted as it, averaged over classes.

    Per class hits / rows of the class; averages as for precision. A class without rows has no value. The macro average
    over the classes that are present is the balanced accuracy; micro is the accuracy. Weighted by row; in [0, 1];
    undefined (`no_positives`) where no class has rows. Source: Sokolova and Lapalme (2009).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "a", "b", "c"], "p": ["a", "b", "b", "b"]})
    >>> plm.evaluate(rows, task="multiclass", label="y", models="p", metrics=["recall"]).metrics["value"].item()
    0.5
    """

    name = "recall"
    aliases = ("tpr", "sensitivity")
    empty = "no_positives"
    formula = "mean over classes of hits_c / rows of c (macro)"
    use_when = "A missed row costs more than a wrong call, in every class alike."
    beware = "The macro average gives a class of ten rows the say of one of ten thousand: look at average=none, too."
    reference = MEASURES

    def terms(self, state: Any) -> tuple[Any, Any]:
        """Hits, over rows of the class."""
        return state.hit, state.actual


@register
class Specificity(_Rate):
    """Share of the rows of other classes not predicted as this one, averaged over classes.

    Per class (all - rows of it - called it + hits) / (all - rows of it); averages as for precision. Weighted by row; in
    [0, 1]; undefined (`no_negatives`) where every class has all rows. Source: Sokolova and Lapalme (2009).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "a", "b", "c"], "p": ["a", "b", "b", "b"]})
    >>> found = plm.evaluate(rows, task="multiclass", label="y", models="p", metrics=["specificity"]).metrics
    >>> round(found["value"].item(), 6)
    0.777778
    """

    name = "specificity"
    aliases = ("tnr",)
    empty = "no_negatives"
    formula = "mean over classes of TN_c / (TN_c + FP_c) (macro)"
    use_when = "False alarms matter, and the rows that could raise one are many."
    beware = "With many classes nearly every row is a true negative of each: values near 1 say little."
    reference = MEASURES

    def terms(self, state: Any) -> tuple[Any, Any]:
        """True negatives, over rows of other classes."""
        return state.weight - state.actual - state.called + state.hit, state.weight - state.actual


@register
class NegativePredictiveValue(_Rate):
    """Share of other classes among the rows not predicted as this one, averaged over classes.

    Per class TN / (TN + FN); averages as for precision. Weighted by row; in [0, 1]; undefined (`zero_denominator`)
    where every row is called the same. Source: Sokolova and Lapalme (2009).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "a", "b", "c"], "p": ["a", "b", "b", "b"]})
    >>> round(plm.evaluate(rows, task="multiclass", label="y", models="p", metrics=["npv"]).metrics["value"].item(), 6)
    0.805556
    """

    name = "npv"
    formula = "mean over classes of TN_c / (TN_c + FN_c) (macro)"
    use_when = "Ruling a class out is what calls are used for."
    beware = "With many classes it is near 1 whatever the model does."
    reference = MEASURES

    def terms(self, state: Any) -> tuple[Any, Any]:
        """True negatives, over rows called otherwise."""
        return state.weight - state.actual - state.called + state.hit, state.weight - state.called


@register
class Support(Multiclass):
    """Rows of each class: a row per class.

    Their weight, where rows have one. 0 or more; undefined (`no_rows`) without rows in the slice. Source: Sokolova and
    Lapalme (2009).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "a", "b"], "p": ["a", "b", "b"]})
    >>> found = plm.evaluate(rows, task="multiclass", label="y", models="p", metrics=["support"]).metrics
    >>> found.select("class", "value").rows()
    [('a', 2.0), ('b', 1.0)]
    """

    name = "support"
    needs = Sums()
    range = (0.0, INFINITY)
    direction = "none"
    additive = True
    formula = "rows of c"
    use_when = "You want to see how many rows stand behind the rates of a class."
    beware = "It belongs to the data, not to the model."
    reference = MEASURES

    @property
    def by_class(self) -> bool:
        """Always."""
        return True

    def per_class(self) -> tuple[tuple[str, Metric], ...]:
        """Each class."""
        numbers = enumerate(self.classes)
        return tuple((name, ClassWeight(self.members(number))) for number, name in numbers) or (("", self),)


class _Overlap(ClassRate):
    """Base of the rates over the union of a class's rows and calls; such a rate of one class is no proportion."""

    kind_of_class = "other"
    interval_form = "delta"


@register
class F1(_Overlap, _Rate):
    """Harmonic mean of precision and recall, from counts, put together over classes.

    Per class 2 hits / (rows of it + called it), so that a class that is never called scores 0; averages as for
    precision. A class that has no rows and is never called has no value. Weighted by row; in [0, 1]; undefined
    (`zero_denominator`) where no class has a value. Source: van Rijsbergen (1979).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "a", "b", "c"], "p": ["a", "b", "b", "b"]})
    >>> round(plm.evaluate(rows, task="multiclass", label="y", models="p", metrics=["f1"]).metrics["value"].item(), 6)
    0.388889
    """

    name = "f1"
    formula = "mean over classes of 2 hits_c / (rows of c + called_c) (macro)"
    use_when = "Precision and recall of every class matter alike, and you need one number."
    beware = "The macro average of F1 is not the F1 of macro precision and recall, which some papers report."
    reference = _RETRIEVAL

    @property
    def row_weight(self) -> float:
        """Twice: a hit is a row of the class, and a call."""
        return 2.0

    def terms(self, state: Any) -> tuple[Any, Any]:
        """Twice the hits, over rows of the class, and calls."""
        return 2.0 * state.hit, state.actual + state.called


@register
@dataclass(frozen=True)
class FBeta(_Overlap):
    """Weighted harmonic mean of precision and recall, from counts, put together over classes.

    Per class (1 + beta^2) hits / (beta^2 rows of it + called it); beta above 1 leans to recall. Averages and undefined
    values as for f1. Source: van Rijsbergen (1979).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "a", "b", "c"], "p": ["a", "b", "b", "b"]})
    >>> found = plm.evaluate(rows, task="multiclass", label="y", models="p", metrics=["fbeta(beta=2)"]).metrics
    >>> round(found["value"].item(), 6)
    0.42328
    """

    name = "fbeta"
    formula = "mean over classes of (1 + beta^2) hits_c / (beta^2 rows of c + called_c) (macro)"
    use_when = "A miss and a wrong call cost differently, and you can say how much."
    beware = "beta compares weights inside a harmonic mean; it is no ratio of costs."
    reference = _RETRIEVAL

    beta: float = parameter(
        1.0,
        doc="how much recall counts against precision",
        check=squarable,
        domain="above 0 and at most 1e100",
    )
    undefined_as: str = undefined_parameter()

    @property
    def row_weight(self) -> float:
        """As a hit counts."""
        return 1.0 + self.beta**2

    def terms(self, state: Any) -> tuple[Any, Any]:
        """Hits, scaled, over rows of the class, scaled, and calls."""
        return (1.0 + self.beta**2) * state.hit, self.beta**2 * state.actual + state.called


@register
class Jaccard(_Overlap, _Rate):
    """Hits over the union of members and predicted members of a class, averaged over classes.

    Per class hits / (rows of it + called it - hits); averages and undefined values as for f1. Source: Jaccard (1912).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "a", "b", "c"], "p": ["a", "b", "b", "b"]})
    >>> found = plm.evaluate(rows, task="multiclass", label="y", models="p", metrics=["jaccard"]).metrics
    >>> round(found["value"].item(), 6)
    0.277778
    """

    name = "jaccard"
    formula = "mean over classes of hits_c / (rows of c + called_c - hits_c) (macro)"
    use_when = "Classes are regions or sets, and overlap is what people look at."
    beware = "It orders single classes as f1 does, at lower values; averages over classes can order models otherwise."
    reference = "Jaccard (1912), The distribution of the flora in the alpine zone, New Phytologist 11(2)"

    def terms(self, state: Any) -> tuple[Any, Any]:
        """Hits, over rows of the class or called so."""
        return state.hit, state.actual + state.called - state.hit
