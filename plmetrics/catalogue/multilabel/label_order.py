"""The sets of called classes, and the order of the classes of a row by score: means over rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log
from typing import Any, ClassVar

import numpy as np
import polars as pl

from plmetrics.catalogue.bases import RowMean
from plmetrics.catalogue.binary.probability import clip_parameter
from plmetrics.catalogue.metric import Direction, Undefined
from plmetrics.catalogue.multiclass.base import rows_without_value
from plmetrics.catalogue.multiclass.probability import probabilities
from plmetrics.catalogue.multilabel.label_rates import MINING, LabelSet, calls, threshold_parameter, truths
from plmetrics.catalogue.parameters import ThresholdRule, parameter
from plmetrics.catalogue.registry import register
from plmetrics.catalogue.thresholds import threshold_text
from plmetrics.core import ops
from plmetrics.core.names import number_text
from plmetrics.states.sums import Atom, Rows

_AT_ONCE = 1 << 18


class _MeanOverRows(RowMean, LabelSet):
    """Base of the means over rows of a function of a row's classes and their scores."""

    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "lower"
    reference = MINING


def _wrong_calls(rows: Rows, threshold: float | ThresholdRule) -> list[pl.Expr]:
    return [call != truth for call, truth in zip(calls(rows, threshold), truths(rows), strict=True)]


@register
@dataclass(frozen=True)
class HammingLoss(_MeanOverRows):
    """Share of the pairs of row and class predicted wrongly.

    Classes are called whose score is at least `threshold`. Weighted by row; in [0, 1]; undefined (`no_rows`) without
    rows. Source: Schapire and Singer (2000).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y_a": [1, 1, 0], "y_b": [0, 1, 1], "p_a": [0.9, 0.4, 0.6], "p_b": [0.2, 0.8, 0.7]})
    >>> asked = {"task": "multilabel", "label": "y_", "models": {"m": {"proba": "p_"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["hamming_loss"]).metrics["value"].item(), 6)
    0.333333
    """

    name = "hamming_loss"
    threshold_free = False
    handles_imbalance = False
    formula = "mean over rows of wrong calls / classes"
    use_when = "Each class of a row is a decision of its own, and all mistakes count alike."
    beware = "Where rows have few of many classes, calling nothing comes near 0."
    reference = (
        "Schapire and Singer (2000), BoosTexter: a boosting-based system for text categorization, ML 39(2)"
    )

    threshold: float | ThresholdRule = threshold_parameter()

    def _atom(self) -> Atom:
        def row(rows: Rows) -> pl.Expr:
            wrong = _wrong_calls(rows, self.threshold)
            return pl.sum_horizontal(each.cast(pl.Float64) for each in wrong) / float(len(wrong))

        return Atom(f"hamming|{threshold_text(self.threshold)}", row, most=1.0)


@register
@dataclass(frozen=True)
class SubsetAccuracy(RowMean, LabelSet):
    """Share of rows with exactly their classes predicted: exact match.

    Classes are called whose score is at least `threshold`. Weighted by row; in [0, 1]; undefined (`no_rows`) without
    rows. Source: Tsoumakas, Katakis and Vlahavas (2010).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y_a": [1, 1, 0], "y_b": [0, 1, 1], "p_a": [0.9, 0.4, 0.6], "p_b": [0.2, 0.8, 0.7]})
    >>> asked = {"task": "multilabel", "label": "y_", "models": {"m": {"proba": "p_"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["subset_accuracy"]).metrics["value"].item(), 6)
    0.333333
    """

    name = "subset_accuracy"
    aliases = ("accuracy", "exact_match_ratio")
    interval_form = None
    range = (0.0, 1.0)
    direction = "higher"
    kind = "proportion"
    mean = "rows"
    threshold_free = False
    formula = "rows with all classes called rightly / W"
    use_when = "A row is only of use if all of its classes are right."
    beware = "It is strict, and falls as classes are added: look at hamming_loss or jaccard(average=samples) beside it."
    reference = MINING

    threshold: float | ThresholdRule = threshold_parameter()

    def _atom(self) -> Atom:
        def right(rows: Rows) -> pl.Expr:
            return ~pl.any_horizontal(_wrong_calls(rows, self.threshold))

        return Atom(f"exact|{threshold_text(self.threshold)}", right, counts=True)


@register
@dataclass(frozen=True)
class LogLoss(_MeanOverRows):
    """Mean over rows and classes of the binary log loss of the class's probability.

    Probabilities are clipped to [clip, 1 - clip]; they need not sum to 1. Weighted by row; 0 or more; undefined
    (`no_rows`) without rows. Source: Good (1952).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y_a": [1, 1, 0], "y_b": [0, 1, 1], "p_a": [0.9, 0.4, 0.6], "p_b": [0.2, 0.8, 0.7]})
    >>> asked = {"task": "multilabel", "label": "y_", "models": {"m": {"proba": "p_"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["log_loss"]).metrics["value"].item(), 6)
    0.456817
    """

    name = "log_loss"
    range = (0.0, float("inf"))
    probability = True
    proper = "strictly"
    reads_parts = True
    formula = "mean over rows and classes of -[y ln p + (1 - y) ln(1 - p)]"
    use_when = "The probabilities of all classes are used, and a confident mistake should cost more."
    beware = "Many easy classes hide a poor one: look at metrics by class."
    reference = "Good (1952), Rational decisions, Journal of the Royal Statistical Society B 14(1)"

    clip: float = clip_parameter("probabilities")

    def _atom(self) -> Atom:
        def row(rows: Rows) -> pl.Expr:
            each = [
                pl.when(truth).then(p).otherwise(1.0 - p).clip(self.clip, 1.0 - self.clip).log()
                for truth, p in zip(truths(rows), probabilities(rows), strict=True)
            ]
            return -pl.sum_horizontal(each) / float(len(each))

        return Atom(f"label_log_loss|{number_text(self.clip)}", row, most=-log(self.clip))


@dataclass(frozen=True)
class _Places:
    """The places of a row's classes by score, best first: of each place whether the row has its class, and the rank.

    `rank` is the number of classes with a score that is no lower, `hits` how many of these the row has: tied classes
    share the last place of theirs. `[row, place]`.
    """

    truth: Any
    rank: Any
    hits: Any

    @classmethod
    def of(cls, truth: Any, score: Any) -> _Places:
        """Places from rows' classes, and their scores, `[row, class]`."""
        order = np.argsort(-score, axis=1, kind="stable")
        truth, score = np.take_along_axis(truth, order, axis=1), np.take_along_axis(score, order, axis=1)
        classes = score.shape[1]
        places = np.broadcast_to(np.arange(classes), score.shape)
        ends = np.full(score.shape, classes - 1)
        ends[:, :-1] = np.where(score[:, :-1] != score[:, 1:], places[:, :-1], classes - 1)
        last = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
        hits = np.take_along_axis(np.cumsum(truth, axis=1, dtype=np.int64), last, axis=1)
        return cls(truth, last + 1, hits)


def _by_places(value: Callable[[_Places], Any]) -> Callable[[Rows], pl.Expr]:
    """Row expression of a function of its classes' places."""
    return _by_classes(lambda truth, score: value(_Places.of(truth, score)))


def _by_classes(value: Callable[[Any, Any], Any]) -> Callable[[Rows], pl.Expr]:
    """Row expression of a function of a row's classes and their scores, `[row, class]` each."""

    def of_batch(batch: pl.Series) -> pl.Series:
        columns = batch.struct.unnest()
        number, step = columns.width // 2, max(1, _AT_ONCE // columns.width)
        out = np.empty(len(batch))
        for first in range(0, len(batch), step):
            values = columns.slice(first, step).to_numpy()
            out[first : first + step] = value(values[:, :number] > 0, values[:, number:])
        return pl.Series(out)

    def row(rows: Rows) -> pl.Expr:
        each = [*(truth.cast(pl.Float64) for truth in truths(rows)), *probabilities(rows)]
        named = (part.fill_null(0.0).alias(str(place)) for place, part in enumerate(each))
        return pl.struct(named).map_batches(of_batch, return_dtype=pl.Float64, is_elementwise=True)

    return row


def _depth(places: _Places) -> Any:
    return np.where(places.truth, places.rank, 0).max(axis=1).astype(np.float64)


def _wrong_pairs(places: _Places) -> Any:
    positives = places.truth.sum(axis=1)
    pairs = positives * (places.truth.shape[1] - positives)
    wrong = np.where(places.truth, places.rank - places.hits, 0).sum(axis=1)
    return np.divide(wrong, pairs, out=np.zeros(len(positives)), where=pairs > 0)


def _mean_precision(places: _Places) -> Any:
    positives = places.truth.sum(axis=1)
    return np.where((positives > 0) & (positives < places.truth.shape[1]), _row_precision(places), 1.0)


def _row_precision(places: _Places) -> Any:
    positives = places.truth.sum(axis=1)
    total = np.where(places.truth, places.hits / places.rank, 0.0).sum(axis=1)
    return np.divide(total, positives, out=np.zeros(len(positives)), where=positives > 0)


def _row_area(truth: Any, score: Any) -> Any:
    """Share of correctly ordered pairs of a class of the row and another one, ties counting half."""
    positives = truth.sum(axis=1)
    pairs = positives * (truth.shape[1] - positives)
    down, up = _Places.of(truth, score), _Places.of(truth, -score)
    wrong, right = (np.where(side.truth, side.rank - side.hits, 0).sum(axis=1) for side in (down, up))
    return np.divide((pairs - wrong + right) / 2.0, pairs, out=np.zeros(len(positives)), where=pairs > 0)


@dataclass(frozen=True)
class RowArea(_MeanOverRows):
    """Mean of an area over the classes of each row, over the rows with one. For internal use.

    With `zero` rows without a class count 0; without, they are left out, as rows with all classes are of ROC areas.
    """

    name = "row_area"
    direction = "higher"
    reads_parts = True

    area: str = parameter(doc="roc_auc or average_precision", domain="roc_auc or average_precision")
    zero: bool = parameter(default=False, doc="whether rows without a class count 0", domain="true or false")

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        """Sum over rows, and the rows with an area."""
        atoms = super().atoms()
        return (
            atoms if self.zero else {**atoms, "mass": Atom(f"{self.area}_rows", self._has_area, counts=True)}
        )

    def _atom(self) -> Atom:
        value = _by_classes(_row_area) if self.area == "roc_auc" else _by_places(_row_precision)
        return Atom(f"{self.area}_of_rows", value, most=1.0)

    def _has_area(self, rows: Rows) -> pl.Expr:
        each = truths(rows)
        some: pl.Expr = pl.any_horizontal(each)
        return some & ~pl.all_horizontal(each) if self.area == "roc_auc" else some

    def finalise(self, state: Any) -> Any:
        """Mean over rows."""
        return ops.ratio(state.row_sum, state.weight if self.zero else state.mass)

    def undefined(self, state: Any) -> Undefined:
        """Also no row with an area."""
        nothing = [] if self.zero else [("no_positives", state.mass == 0)]
        return [*super().undefined(state), *nothing]

    def remark(self, state: Any) -> Any:
        """Rows without an area."""
        return None if self.zero else rows_without_value(state.weight, state.mass)

    def denominators(self, state: Any) -> tuple[Any, ...]:
        """Rows with an area."""
        return (state.weight if self.zero else state.mass,)


@register
class CoverageError(_MeanOverRows):
    """Mean over rows of the number of top-scoring classes needed to cover all true ones.

    Classes with equal scores are called together; a row without classes counts 0. Weighted by row; 0 or more; undefined
    (`no_rows`) without rows. Source: Tsoumakas, Katakis and Vlahavas (2010), who take 1 off; as here in scikit-learn.

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y_a": [1, 1, 0], "y_b": [0, 1, 1], "p_a": [0.9, 0.4, 0.6], "p_b": [0.2, 0.8, 0.7]})
    >>> asked = {"task": "multilabel", "label": "y_", "models": {"m": {"proba": "p_"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["coverage_error"]).metrics["value"].item(), 6)
    1.333333
    """

    name = "coverage_error"
    range = (0.0, float("inf"))
    row_atom = Atom("coverage_error", _by_places(_depth))
    reads_parts = True
    formula = "mean over rows of the number of classes with a score of at least the lowest of the row's"
    use_when = "People read suggestions until they have found all that belong to a row."
    beware = "Its best value is the mean number of classes of a row, not 1."


@register
class LabelRankingLoss(_MeanOverRows):
    """Share of wrongly ordered scores among the pairs of a row's true and other classes.

    Equal scores are in the wrong order; a row with all classes or none counts 0. Weighted by row; in [0, 1]; undefined
    (`no_rows`) without rows. Source: Tsoumakas, Katakis and Vlahavas (2010).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y_a": [1, 1, 0], "y_b": [0, 1, 1], "p_a": [0.9, 0.4, 0.6], "p_b": [0.2, 0.8, 0.6]})
    >>> asked = {"task": "multilabel", "label": "y_", "models": {"m": {"proba": "p_"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["label_ranking_loss"]).metrics["value"].item(), 6)
    0.333333
    """

    name = "label_ranking_loss"
    aliases = ("ranking_loss",)
    row_atom = Atom("label_ranking_loss", _by_places(_wrong_pairs), most=1.0)
    reads_parts = True
    formula = "mean over rows of pairs (has, has not) with s_has <= s_has_not / pairs"
    use_when = "The order of the classes within a row is what is used."
    beware = "Rows with all classes or none count as perfect."


@register
class LabelRankingAveragePrecision(_MeanOverRows):
    """Mean over rows and their classes of the share of the row's own among the classes that score as high.

    Classes with equal scores are taken together; a row with all classes or none counts 1. Weighted by row; in (0, 1];
    undefined (`no_rows`) without rows. Source: Tsoumakas, Katakis and Vlahavas (2010).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y_a": [1, 1, 0], "y_b": [0, 1, 1], "p_a": [0.9, 0.4, 0.6], "p_b": [0.2, 0.8, 0.6]})
    >>> texts = ["label_ranking_average_precision"]
    >>> found = plm.evaluate(
    ...     rows, task="multilabel", label="y_", models={"m": {"proba": "p_"}}, metrics=texts
    ... ).metrics
    >>> round(found["value"].item(), 6)
    0.833333
    """

    name = "label_ranking_average_precision"
    aliases = ("lrap",)
    direction = "higher"
    row_atom = Atom("label_ranking_average_precision", _by_places(_mean_precision), most=1.0)
    reads_parts = True
    formula = "mean over rows of the mean over the row's classes of own classes that score as high / classes that do"
    use_when = "Suggestions are read from the top, and each class of the row should stand high."
    beware = "Rows with all classes or none count as perfect."
