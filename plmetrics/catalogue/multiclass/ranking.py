"""Rankings by the probability of each class: areas of one class against the rest, or each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from plmetrics.catalogue.binary.areas import PrAuc as BinaryPrAuc
from plmetrics.catalogue.binary.score_order import AveragePrecision as BinaryAveragePrecision
from plmetrics.catalogue.binary.score_order import KolmogorovSmirnov as BinaryKs
from plmetrics.catalogue.binary.score_order import RocAuc as BinaryRocAuc
from plmetrics.catalogue.composite_metrics import DerivedMetric
from plmetrics.catalogue.metric import Direction, Metric
from plmetrics.catalogue.multiclass.base import (
    ClassWeight,
    Multiclass,
    of_pool,
    one_vs_one,
    one_vs_rest,
    undefined_parameter,
    without_value,
)
from plmetrics.catalogue.needs import Kind
from plmetrics.catalogue.parameters import ParameterError, parameter
from plmetrics.catalogue.registry import register


def _average_parameter() -> Any:
    return parameter(
        "macro",
        doc="how classes are put together; none gives a row per class",
        options=("macro", "weighted", "none"),
    )


@dataclass(frozen=True)
class OverClasses(Multiclass, DerivedMetric):
    """Base of the averages over classes of a binary metric of each class against the rest."""

    direction: ClassVar[Direction] = "higher"
    kind: ClassVar[Kind] = "pr_area"
    range = (0.0, 1.0)
    reads_parts = True
    binary: ClassVar[type[Metric]]

    average: str = _average_parameter()

    def binary_metric(self) -> Metric:
        """Binary metric, with the common parameters."""
        shared = (field.name for field in fields(self.binary) if hasattr(self, field.name))
        return self.binary(**{name: getattr(self, name) for name in shared})

    def per_class(self) -> tuple[tuple[str, Metric], ...]:
        """With average none, each class."""
        if self.average != "none":
            return (("", self),)
        return tuple(zip(self.classes, self.terms(), strict=True))

    def terms(self) -> tuple[Metric, ...]:
        """The binary metric of every class."""
        return self._of_classes

    @cached_property
    def _of_classes(self) -> tuple[Metric, ...]:
        return one_vs_rest(self.binary_metric(), self.classes)

    def parts(self) -> tuple[Metric, ...]:
        """The terms and their weights."""
        weights = (ClassWeight(self.members(number)) for number in range(len(self.classes)))
        return (*self.terms(), *weights) if self.average == "weighted" else self.terms()

    def finalise(self, state: Any) -> Any:
        """Mean over the classes with a value."""
        values = self._by_term(state)
        defined = np.isfinite(values)
        weight = defined * self._weights(state)
        total = weight.sum(axis=-1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(total > 0, np.where(defined, values * weight, 0.0).sum(axis=-1) / total, np.nan)

    def _by_term(self, state: Mapping[str, Any]) -> Any:
        """Values of the terms, with an axis for them."""
        return np.stack([state[term.text] for term in self.terms()], axis=-1)

    def _weights(self, state: Mapping[str, Any]) -> Any:
        """Weights of the terms in the average."""
        if self.average != "weighted":
            return 1.0
        return np.stack([state[part.text] for part in self.parts()[len(self.terms()) :]], axis=-1)

    def combined_status(self, value: Any, statuses: Sequence[Any]) -> Any:
        """No value for a slice without rows or with too few, whatever its classes; a pair may lack rows."""
        empty = [np.isin(part.astype(str), ("no_rows", "too_few_rows")) for part in statuses]
        insufficient = np.logical_and.reduce(empty[: len(self.terms())])
        reasons = [
            np.where(bare & ~insufficient, "ok", part) for bare, part in zip(empty, statuses, strict=True)
        ]
        return super().combined_status(np.where(insufficient, np.nan, value), reasons)

    def combined_bound(self, values: Mapping[str, Any], bounds: Mapping[str, Any]) -> Any:
        """The weighted mean of the bounds, and the move of the mean by classes that may have a value after all."""
        texts = [term.text for term in self.terms()]
        most = {text: 0.0 * values[text] if bounds[text] is None else bounds[text] for text in texts}
        of_terms = {text: np.where(np.isfinite(values[text]), most[text], np.nan) for text in texts}
        return self.finalise({**values, **of_terms}) + self._hidden_move(values, most)

    def _hidden_move(self, values: Mapping[str, Any], bounds: Mapping[str, Any]) -> Any:
        """Largest move of the mean by classes whose value, at most their bound, the grid hides."""
        mean, most = np.asarray(self.finalise(values))[..., None], self._by_term(bounds)
        defined, weight = np.isfinite(self._by_term(values)), self._weights(values)
        hidden = ~defined & (most > 0)
        total = (defined * weight).sum(axis=-1, keepdims=True)
        share = np.divide(weight, weight + total, out=np.zeros(most.shape), where=hidden)
        return np.where(hidden, share * np.maximum(mean, most - mean), 0.0).sum(axis=-1)

    def combined_note(self, statuses: Sequence[Any]) -> Any:
        """The classes without a value."""
        terms = statuses[: len(self.classes)]
        return without_value(self.classes, np.stack([status != "ok" for status in terms], axis=-1))


@dataclass(frozen=True)
class OverClassesOrPool(OverClasses):
    """Base of the averages over classes with a micro average over all pairs of row and class."""

    average: str = parameter(
        "macro",
        doc="how classes are put together; micro: of all pairs of row and class; none gives a row per class",
        options=("macro", "micro", "weighted", "none"),
    )

    def terms(self) -> tuple[Metric, ...]:
        """The binary metric of every class, or of all pairs of row and class."""
        return self._of_pool if self.average == "micro" else super().terms()

    @cached_property
    def _of_pool(self) -> tuple[Metric, ...]:
        return (of_pool(self.binary_metric(), self.classes),)

    def combined_note(self, statuses: Sequence[Any]) -> Any:
        """The classes without a value; none where all are one."""
        return None if self.average == "micro" else super().combined_note(statuses)


@register
@dataclass(frozen=True)
class RocAuc(OverClassesOrPool):
    """Area under the ROC curve of several classes, from those of two.

    ovr: each class against the rest, by its own probability. ovo: each pair of classes i, j on their rows alone, the
    mean of the areas by the probability of i and by that of j (Hand and Till), which does not depend on the sizes of
    the classes. macro: mean over the classes (or pairs) that have a value, the others are named in the note; weighted:
    by the classes' weight (ovr only); micro: of all pairs of row and class by the class's probability, positive where
    the row is of the class (ovr only); none: a row per class. In [0, 1]; undefined (`no_positives` or `no_negatives`)
    where no class has a value. Sources: Hand and Till (2001), Fawcett (2006).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "b", "c"], "pa": [0.6, 0.3, 0.2], "pb": [0.3, 0.5, 0.5], "pc": [0.1, 0.2, 0.3]})
    >>> asked = {"task": "multiclass", "label": "y", "models": {"m": {"proba": "p"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["roc_auc"]).metrics["value"].item(), 6)
    0.916667
    """

    name = "roc_auc"
    binary = BinaryRocAuc
    chance = 0.5
    formula = "mean over classes of the area of the class against the rest (ovr, macro)"
    use_when = "You compare how well models separate the classes, before anything is called."
    beware = "ovr depends on the sizes of the classes, ovo does not; say which one you report."
    reference = (
        "Hand and Till (2001), A simple generalisation of the area under the ROC curve, Machine Learning 45"
    )

    scheme: str = parameter("ovr", doc="each class against the rest, or each pair", options=("ovr", "ovo"))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scheme == "ovo" and self.average != "macro":
            msg = f"roc_auc: scheme=ovo has no average={self.average}: pairs of classes all count alike"
            raise ParameterError(msg, "average")

    def terms(self) -> tuple[Metric, ...]:
        """Of every class, or of every ordered pair."""
        return super().terms() if self.scheme == "ovr" else self._of_pairs

    @cached_property
    def _of_pairs(self) -> tuple[Metric, ...]:
        pairs = self._pairs()
        return tuple(one_vs_one(self.binary_metric(), self.classes, one, other) for one, other in pairs)

    def _pairs(self) -> list[tuple[int, int]]:
        numbers = range(len(self.classes))
        return [(one, other) for one in numbers for other in numbers if one != other]

    def combined_note(self, statuses: Sequence[Any]) -> Any:
        """The classes without a value, or without one in any pair."""
        if self.scheme == "ovr":
            return super().combined_note(statuses)
        alone = [
            np.logical_and.reduce(
                [
                    status != "ok"
                    for pair, status in zip(self._pairs(), statuses, strict=True)
                    if number in pair
                ]
            )
            for number in range(len(self.classes))
        ]
        return without_value(self.classes, np.stack(alone, axis=-1))


@dataclass(frozen=True)
class _PrecisionRecallArea(OverClassesOrPool):
    """Base of the averages of areas in need of rows of a class, with an option to count a class without any as 0."""

    undefined_as: str = undefined_parameter()

    def finalise(self, state: Any) -> Any:
        """Mean over the classes with a value, or over all."""
        value = super().finalise(state)
        if self.undefined_as == "exclude" or self.average in {"micro", "weighted"}:
            return value
        share = np.mean([np.isfinite(state[term.text]) for term in self.terms()], axis=0)
        return value * share

    def combined_note(self, statuses: Sequence[Any]) -> Any:
        """Omitted classes."""
        return None if self.undefined_as == "zero" else super().combined_note(statuses)


@register
class AveragePrecision(_PrecisionRecallArea):
    """Average precision of each class against the rest by its own probability, put together over classes.

    macro: mean over the classes that have rows, the others are named in the note, or count as 0 with `undefined` zero,
    as in scikit-learn; weighted: by the classes' weight; micro: of all pairs of row and class; none: a row per class.
    In [0, 1]; undefined (`no_positives`) without rows. Source: Davis and Goadrich (2006).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "b", "c"], "pa": [0.6, 0.3, 0.2], "pb": [0.3, 0.5, 0.5], "pc": [0.1, 0.2, 0.3]})
    >>> asked = {"task": "multiclass", "label": "y", "models": {"m": {"proba": "p"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["average_precision"]).metrics["value"].item(), 6)
    0.833333
    """

    name = "average_precision"
    binary = BinaryAveragePrecision
    formula = "mean over classes of the average precision of the class against the rest (macro)"
    use_when = "Some classes are rare, and finding their rows is what matters."
    beware = "A rare class has a low value even for a good model: chance alone gives its share of the rows."
    reference = "Davis and Goadrich (2006), The relationship between precision-recall and ROC curves, ICML"


@register
@dataclass(frozen=True)
class PrAuc(_PrecisionRecallArea):
    """Area under the precision-recall curve of each class against the rest, put together over classes.

    The curve is that of the class's own probability, its points joined as in the binary `pr_auc`; averages and
    undefined values as for average_precision. In [0, 1]; undefined (`no_positives`) without rows. Source: Boyd, Eng and
    Page (2013).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "b", "c"], "pa": [0.6, 0.3, 0.2], "pb": [0.3, 0.5, 0.5], "pc": [0.1, 0.2, 0.3]})
    >>> asked = {"task": "multiclass", "label": "y", "models": {"m": {"proba": "p"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["pr_auc"]).metrics["value"].item(), 6)
    0.916667
    """

    name = "pr_auc"
    binary = BinaryPrAuc
    interpretable = False
    formula = (
        "mean over classes of the integral of precision over recall of the class against the rest (macro)"
    )
    use_when = "You must match a number that was computed as a trapezoidal area."
    beware = "Straight lines between points promise what no threshold gives: prefer average_precision."
    reference = BinaryPrAuc.reference

    method: str = parameter(
        "lower_trapezoid",
        doc="how points are joined",
        options=("lower_trapezoid", "upper_trapezoid", "davis_goadrich"),
    )


@register
class KolmogorovSmirnov(OverClasses):
    """Largest distance between the distributions of a class's probability in its rows and in the others, averaged.

    macro: mean over the classes that have a value, the others are named in the note; weighted: by the classes' weight;
    none: a row per class. In [0, 1]; undefined (`no_positives` or `no_negatives`) where no class has a value. Source:
    Smirnov (1948).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "b", "c"], "pa": [0.6, 0.3, 0.2], "pb": [0.3, 0.5, 0.5], "pc": [0.1, 0.2, 0.3]})
    >>> asked = {"task": "multiclass", "label": "y", "models": {"m": {"proba": "p"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["ks"]).metrics["value"].item(), 6)
    0.833333
    """

    name = "ks"
    binary = BinaryKs
    kind = "norm"
    formula = "mean over classes of max over s of abs(F_c(s) - F_rest(s)) (macro)"
    use_when = "Each class will be called by a threshold on its own probability."
    beware = "Every class has a threshold of its own there, chosen on the same rows."
    reference = BinaryKs.reference

    def combined_deviations(self, parts: Mapping[str, Any]) -> Any:
        """Mean of the classes': their gaps are one vector, with the mean of theirs as its norm."""
        deviations = [parts[term.text] for term in self.terms()]
        if self.average == "weighted" or any(part is None for part in deviations):
            return None
        with np.errstate(invalid="ignore"):
            return np.nanmean(deviations, axis=0)
