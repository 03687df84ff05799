"""Agreement of the called classes with the true ones, over the whole confusion table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from plmetrics.catalogue.bases import OfRates
from plmetrics.catalogue.metric import Direction, Undefined
from plmetrics.catalogue.multiclass.base import MEASURES, Multiclass, class_atoms, hits_of, without_value
from plmetrics.catalogue.needs import Sums
from plmetrics.catalogue.parameters import parameter
from plmetrics.catalogue.registry import register
from plmetrics.core import ops
from plmetrics.states.sums import Atom, Rows, View


class _Agreement(Multiclass):
    """Base of the metrics of the margins and the diagonal of the confusion table."""

    needs = Sums()
    direction: ClassVar[Direction] = "higher"

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        return class_atoms(self.classes)


class _Calls(Multiclass):
    """Base of the shares of rightly or wrongly called rows."""

    needs = Sums()
    range = (0.0, 1.0)
    kind = "proportion"
    mean = "rows"

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        return {"hit": tuple(hits_of(number) for number in range(len(self.classes)))}


@register
class Accuracy(_Calls):
    """Share of rows predicted correctly.

    Weighted by row; in [0, 1]; undefined (`no_rows`) without rows. With probabilities the class of the largest one is
    called, the first in order where several are. Source: Sokolova and Lapalme (2009).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "a", "b", "c"], "p": ["a", "b", "b", "b"]})
    >>> plm.evaluate(rows, task="multiclass", label="y", models="p", metrics=["accuracy"]).metrics["value"].item()
    0.5
    """

    name = "accuracy"
    paired_test = "mcnemar"
    direction = "higher"
    handles_imbalance = False
    formula = "sum over classes of hits_c / W"
    use_when = "All mistakes cost the same, and the classes are of similar size."
    beware = "Calling everything the largest class already scores its share: see default_accuracy."
    reference = MEASURES

    def finalise(self, state: Any) -> Any:
        """Hits over rows."""
        return ops.ratio(ops.total(state.hit), state.weight)


@register
class ErrorRate(_Calls):
    """Share of rows predicted wrongly: 1 - accuracy.

    Weighted by row; in [0, 1]; undefined (`no_rows`) without rows. Source: Sokolova and Lapalme (2009).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "a", "b", "c"], "p": ["a", "b", "b", "b"]})
    >>> plm.evaluate(rows, task="multiclass", label="y", models="p", metrics=["error_rate"]).metrics["value"].item()
    0.5
    """

    name = "error_rate"
    direction = "lower"
    handles_imbalance = False
    formula = "(W - sum over classes of hits_c) / W"
    use_when = "You think in mistakes rather than successes."
    beware = "Compare it with the error of always calling the largest class."
    reference = MEASURES

    def finalise(self, state: Any) -> Any:
        """Misses over rows."""
        return ops.ratio(state.weight - ops.total(state.hit), state.weight)


@register
class DefaultAccuracy(_Agreement):
    """Accuracy of always calling the largest class of the slice: its share of the rows.

    Weighted by row; in (0, 1]; undefined (`no_rows`) without rows. Source: Holte (1993).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "a", "b", "c"], "p": ["a", "b", "b", "b"]})
    >>> plm.evaluate(rows, task="multiclass", label="y", models="p", metrics=["default_accuracy"]).metrics[
    ...     "value"
    ... ].item()
    0.5
    """

    name = "default_accuracy"
    kind = "maximum"
    range = (0.0, 1.0)
    smooth = False
    direction = "none"
    formula = "max over classes of rows of c / W"
    use_when = "You want to know what an accuracy is worth."
    beware = "It belongs to the data, not to the model."
    reference = (
        "Holte (1993), Very simple classification rules perform well on most commonly used datasets, ML 11"
    )

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        return {"actual": class_atoms(self.classes)["actual"]}

    def finalise(self, state: Any) -> Any:
        """The largest class."""
        return ops.ratio(ops.largest(state.actual), state.weight)


@register
class BalancedAccuracy(OfRates, _Agreement):
    """Mean recall over the present classes.

    Weighted by row; in [0, 1]; undefined (`no_rows`) without rows. Classes without rows are named in the note. This is
    the macro average of recall; other tools average (recall + specificity) / 2 over classes. Source: Mosley (2013).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "a", "b", "c"], "p": ["a", "b", "b", "b"]})
    >>> plm.evaluate(rows, task="multiclass", label="y", models="p", metrics=["balanced_accuracy"]).metrics[
    ...     "value"
    ... ].item()
    0.5
    """

    name = "balanced_accuracy"
    range = (0.0, 1.0)
    formula = "mean over classes present of hits_c / rows of c"
    use_when = "Classes are of different size, and each matters as much as the others."
    beware = "A class of few rows makes it noisy: look at its interval."
    reference = (
        "Mosley (2013), A balanced approach to the multi-class imbalance problem, PhD thesis, Iowa State"
    )

    def finalise(self, state: Any) -> Any:
        """Mean recall."""
        present = state.actual > 0
        recalls = ops.ratio(state.hit, state.actual, otherwise=0.0)
        return ops.ratio(ops.total(recalls), np.sum(present, axis=-1))

    def rates(self, state: Any) -> tuple[Any, Any]:
        """Recalls."""
        return state.hit, state.actual

    def changes(self, state: Any, rates: Any, moved: Any) -> Any:
        return (moved - rates) / np.sum(state.actual > 0, axis=-1, keepdims=True)

    def remark(self, state: Any) -> Any:
        """Classes without rows."""
        return without_value(self.classes, state.actual == 0)


class _OfTable(OfRates, _Agreement):
    """Base of the functions of recalls in which the sizes of classes and calls have a part."""

    def rates(self, state: Any) -> tuple[Any, Any]:
        """Recalls."""
        return state.hit, state.actual

    def changes(self, state: Any, rates: Any, moved: Any) -> Any:
        """Rows that become misses of a class are called the others, by their sizes; those that become hits were."""
        hits = ((moved - rates) * state.actual)[..., None]
        own = np.eye(len(self.classes))
        sizes = state.actual[..., None, :] * (1.0 - own)
        others = ops.ratio(sizes, np.sum(sizes, axis=-1, keepdims=True), otherwise=0.0)
        table = {
            "hit": state.hit[..., None, :] + hits * own,
            "called": state.called[..., None, :] + hits * (own - others),
            "actual": state.actual[..., None, :],
            "weight": np.asarray(state.weight)[..., None],
        }
        if "distance" in self.atoms():
            nearer = np.sum(hits * others * self.distances(), axis=-1)
            table["distance"] = np.asarray(state.distance)[..., None] - nearer
        return self.finalise(View(table)) - np.asarray(self.finalise(state))[..., None]

    def distances(self) -> Any:
        """Distances of classes `[class, class]`."""
        raise NotImplementedError


@register
class MatthewsCorrelation(_OfTable):
    """Correlation of called and true classes, by Gorodkin's extension to several classes.

    With c all hits, s all rows, t_k rows of class k and p_k rows called k: (c s - sum p_k t_k) / sqrt((s^2 - sum p_k^2)
    (s^2 - sum t_k^2)). Weighted by row; in [-1, 1]; undefined (`zero_denominator`) where all rows are of one class or
    called one. Source: Gorodkin (2004).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "a", "b", "c"], "p": ["a", "b", "b", "b"]})
    >>> round(plm.evaluate(rows, task="multiclass", label="y", models="p", metrics=["mcc"]).metrics["value"].item(), 6)
    0.387298
    """

    name = "mcc"
    range = (-1.0, 1.0)
    interval_form = "delta"
    interpretable = False
    formula = "(c s - sum p_k t_k) / sqrt((s^2 - sum p_k^2)(s^2 - sum t_k^2))"
    use_when = "One number for the whole confusion table that chance alone leaves at 0."
    beware = "With more than two classes its lowest value is above -1 and depends on the classes' sizes."
    reference = (
        "Gorodkin (2004), Comparing two K-category assignments by a K-category correlation coefficient"
    )

    def finalise(self, state: Any) -> Any:
        """Covariance over the root of the variances."""
        total = state.weight
        covariance = ops.total(state.hit) * total - ops.total(state.called * state.actual)
        return ops.ratio(covariance, ops.sqrt(self._spread(state)))

    def _spread(self, state: Any) -> Any:
        total = state.weight
        spread = total**2 - ops.total(state.called**2)
        return spread * (total**2 - ops.total(state.actual**2))

    def undefined(self, state: Any) -> Undefined:
        """All rows are of one class, or called one."""
        flat = (ops.largest(state.called) >= state.weight) | (ops.largest(state.actual) >= state.weight)
        large = self._spread(state) == float("inf")
        return [*super().undefined(state), ("zero_denominator", flat), ("overflow", large)]


@register
@dataclass(frozen=True)
class CohenKappa(_OfTable):
    """Agreement of called and true classes beyond that of chance, given their sizes.

    1 - D / E, with D the mean distance of called and true class and E its value if the two were independent. Distances
    of classes i and j are 1 unless equal (none), abs(i - j) (linear) or (i - j)^2 (quadratic), in the order of the
    classes. Weighted by row; in [-1, 1]; undefined (`zero_denominator`) where E is 0. Sources: Cohen (1960, 1968).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "a", "b", "c"], "p": ["a", "b", "b", "b"]})
    >>> found = plm.evaluate(rows, task="multiclass", label="y", models="p", metrics=["cohen_kappa"]).metrics
    >>> round(found["value"].item(), 6)
    0.272727
    """

    name = "cohen_kappa"
    range = (-1.0, 1.0)
    interval_form = "delta"
    formula = "1 - observed distance / distance of independent margins"
    use_when = "Classes come from raters, or are ordered (weighting linear or quadratic): near misses then count less."
    beware = "It depends on the sizes of the classes: compare it between models on the same rows only."
    reference = "Cohen (1968), Weighted kappa, Psychological Bulletin 70(4)"

    weighting: str = parameter(
        "none", doc="how far apart two classes are", options=("none", "linear", "quadratic")
    )

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        """The margins, and the sum of distances."""
        distance = Atom(f"class_distance|{self.weighting}", _distance(self.weighting))
        return {**super().atoms(), "distance": distance}

    def finalise(self, state: Any) -> Any:
        """Observed over expected distance."""
        return 1.0 - ops.ratio(state.distance * state.weight, self._expectation(state))

    def undefined(self, state: Any) -> Undefined:
        """Independent margins would have no distance."""
        alone = np.sum((state.actual > 0) | (state.called > 0), axis=-1) <= 1
        return [*super().undefined(state), ("zero_denominator", alone)]

    def distances(self) -> Any:
        numbers = np.arange(len(self.classes))
        apart = np.abs(numbers[:, None] - numbers).astype(np.float64)
        if self.weighting == "none":
            return np.minimum(apart, 1.0)
        return apart**2 if self.weighting == "quadratic" else apart

    def _expectation(self, state: Any) -> Any:
        return ops.total((state.actual @ self.distances()) * state.called)


def _distance(weighting: str) -> Any:
    def row(rows: Rows) -> pl.Expr:
        apart = (rows.score - rows.label).abs()
        if weighting == "none":
            return apart.clip(0.0, 1.0)
        return apart**2 if weighting == "quadratic" else apart

    return row
