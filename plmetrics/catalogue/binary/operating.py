"""Operating points at a limit: precision, recall or false positive rate at the threshold just within it.

Candidates are the distinct scores; every replicate solves for its threshold anew. Limits are compared as ratios with
a tolerance of their rounding. On the coarse bins that replicates are made of, a threshold may fall inside a bin of
several scores: what is called there is then the fraction of the bin that reaches the limit; rows of one score stay
together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from plmetrics.catalogue.bases import BOTH_CLASSES, Positives
from plmetrics.catalogue.binary.areas import OnCurve, RunningTotals, running_totals
from plmetrics.catalogue.metric import UNREACHABLE_ON_GRID, Undefined
from plmetrics.catalogue.needs import Kind
from plmetrics.catalogue.parameters import parameter
from plmetrics.catalogue.registry import register
from plmetrics.core import ops

_FAWCETT = "Fawcett (2006), An introduction to ROC analysis, Pattern Recognition Letters 27(8)"
_RETRIEVAL = "Manning, Raghavan and Schuetze (2008), Introduction to Information Retrieval, chapter 8"


def limit_parameter(doc: str) -> Any:
    """A share to reach or to keep."""
    return parameter(doc=doc, check=lambda value: 0 < value <= 1, domain="above 0 and at most 1")


class OperatingPoint(Positives, OnCurve):
    """Base of the metrics at a threshold found from the scores."""

    kind: ClassVar[Kind] = "mean"
    smooth = False
    threshold_free = False


@dataclass(frozen=True)
class Cut:
    """Highest operating point at the limit of a growing share, slice by slice.

    `hits` and `alarms` are called positive there; with `_above` without the point itself. `whole` says where it
    has one score only, which is called as a whole.
    """

    hits: Any
    alarms: Any
    hits_above: Any
    alarms_above: Any
    whole: Any

    def within(self, state: Any, reached: Any, target: Any) -> tuple[Any, Any]:
        """Hits and alarms where a share is just reached: at the point, on coarse bins inside of it.

        `reached` is what the point adds to the share's numerator, `target` what is still missing above it.
        """
        if not state.coarse:
            return self.hits, self.alarms
        fraction = ops.smaller(ops.larger(ops.ratio(target, reached, otherwise=1.0), 0.0), 1.0)
        fraction = ops.where(self.whole, 1.0, fraction)
        hits = self.hits_above + fraction * (self.hits - self.hits_above)
        return hits, self.alarms_above + fraction * (self.alarms - self.alarms_above)


def cut_at(state: Any, points: RunningTotals, reaches: Any) -> Cut:
    """First point from the top with a condition true there and at all points below."""

    def least(values: Any) -> Any:
        return -ops.largest(ops.where(reaches, -values, -float("inf")))

    whole = False
    if state.tied is not False:
        first = reaches & (ops.above(ops.where(reaches, 1.0, 0.0), 0.0) == 0)
        whole = ops.largest(ops.where(first & state.tied, 1.0, 0.0)) > 0
    hits, alarms, hits_above, alarms_above = map(
        least, (points.hits, points.alarms, points.hits_above, points.alarms_above)
    )
    return Cut(hits, alarms, hits_above, alarms_above, whole)


def _recall(points: RunningTotals) -> Any:
    return ops.ratio(points.hits, ops.broadcast(ops.largest(points.hits), points.hits), otherwise=0.0)


def _reaches(share: Any, limit: float) -> Any:
    return share >= limit - ops.tie(share)


def _stays_within(share: Any, limit: float) -> Any:
    return share <= limit + ops.tie(share)


def _fpr(points: RunningTotals) -> Any:
    return ops.ratio(points.alarms, ops.broadcast(ops.largest(points.alarms), points.alarms), otherwise=0.0)


def highest_score(state: Any, condition: Any) -> Any:
    """The highest score among some points, -inf where there is none."""
    return ops.largest(ops.where(condition, state.score, -float("inf")))


@dataclass(frozen=True)
class AtRecall(OperatingPoint):
    """Base of the metrics at the highest threshold with a recall of at least the limit."""

    recall: float = limit_parameter("recall to reach")

    def cut(self, state: Any) -> Any:
        return highest_score(state, _reaches(_recall(running_totals(state)), self.recall))

    def _cut(self, state: Any) -> Cut:
        points = running_totals(state)
        return cut_at(state, points, _reaches(_recall(points), self.recall))

    def _hits_and_alarms(self, state: Any) -> tuple[Any, Any]:
        """Hits and alarms at the cut."""
        cut = self._cut(state)
        target = self.recall * state.positives - cut.hits_above
        return cut.within(state, cut.hits - cut.hits_above, target)


@register
class PrecisionAtRecall(AtRecall):
    """Precision at the highest threshold with a recall of at least the limit.

    Weighted by row; in [0, 1]; undefined (`no_positives`) without positives. Source: Manning, Raghavan and Schuetze
    (2008).

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.6, 0.4, 0.1]})
    >>> found = plm.evaluate(rows, label="y", models="p", metrics=["precision_at_recall(recall=1)"])
    >>> found.metrics.select("value", "threshold").row(0)
    (0.6666666666666666, 0.4)
    """

    name = "precision_at_recall"
    formula = "TP / (TP + FP) at max{t: recall(t) >= limit}"
    use_when = "A share of positives must be caught, and each alarm costs work."
    beware = "The threshold is chosen on the rows it is judged on; it moves from slice to slice."
    reference = _RETRIEVAL

    def finalise(self, state: Any) -> Any:
        hits, alarms = self._hits_and_alarms(state)
        return ops.ratio(hits, hits + alarms)

    def behind_cut(self, state: Any) -> Any:  # noqa: ARG002
        return self.recall

    def bound(self, state: Any) -> Any:
        """Distance to the best and the worst order within the bin of the cut."""
        cut = self._cut(state)
        value, least = ops.ratio(cut.hits, cut.hits + cut.alarms), self.recall * state.positives
        best = ops.ratio(cut.hits, cut.hits + cut.alarms_above)
        worst = ops.ratio(least, least + cut.alarms)
        return ops.where(cut.whole, 0.0, ops.larger(best - value, value - worst))


@register
@dataclass(frozen=True)
class PrecisionAtVolume(OperatingPoint):
    """Precision at the highest threshold with at least a given share of all rows predicted positive.

    Weighted by row; in [0, 1]; undefined (`no_rows`) without rows. Source: Manning, Raghavan and Schuetze (2008).

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.6, 0.4, 0.1]})
    >>> found = plm.evaluate(rows, label="y", models="p", metrics=["precision_at_volume(volume=0.4)"])
    >>> found.metrics.select("value", "threshold").row(0)
    (0.5, 0.6)
    """

    name = "precision_at_volume"
    nonzero = ()
    masses = ("weight",)
    formula = "TP / (TP + FP) at max{t: (TP + FP)(t) / n >= limit}"
    use_when = "Capacity is given: so many cases can be handled."
    beware = "All rows of one score are called together, so more than the volume may be; see precision_at_k."
    reference = _RETRIEVAL

    volume: float = limit_parameter("share of all rows to call positive")

    def finalise(self, state: Any) -> Any:
        """Hits over calls at the cut."""
        cut = self._cut(state)
        called_above = cut.hits_above + cut.alarms_above
        added = cut.hits + cut.alarms - called_above
        hits, alarms = cut.within(state, added, self.volume * state.weight - called_above)
        if state.joined:
            # A run of points without positives was made one: its cut lies where the volume is just reached.
            inside = cut.hits == cut.hits_above
            alarms = ops.where(inside, ops.smaller(alarms, self.volume * state.weight - hits), alarms)
        return ops.ratio(hits, hits + alarms)

    def cut(self, state: Any) -> Any:
        return highest_score(state, self._reaches(state, running_totals(state)))

    def bound(self, state: Any) -> Any:
        """Distance to the best and the worst order within the bin of the cut, cut where it counts most.

        Precision is best where the bin's positives, and worst where its negatives, come first and end, or at the
        volume if that lies beyond.
        """
        cut, least = self._cut(state), self.volume * state.weight
        value = ops.ratio(cut.hits, cut.hits + cut.alarms)
        best = ops.ratio(cut.hits, ops.larger(cut.hits + cut.alarms_above, least))
        worst_calls = ops.larger(cut.hits_above + cut.alarms, least)
        worst = ops.ratio(worst_calls - cut.alarms, worst_calls)
        return ops.where(cut.whole, 0.0, ops.larger(best - value, value - worst))

    def _cut(self, state: Any) -> Cut:
        points = running_totals(state)
        return cut_at(state, points, self._reaches(state, points))

    def behind_cut(self, state: Any) -> Any:  # noqa: ARG002
        return self.volume

    def _reaches(self, state: Any, points: RunningTotals) -> Any:
        return _reaches(ops.ratio(points.calls, ops.broadcast(state.weight, points.calls)), self.volume)


@register
@dataclass(frozen=True)
class RecallAtPrecision(OperatingPoint):
    """Highest recall at a threshold with a precision of at least the limit.

    Weighted by row; in (0, 1]; undefined (`no_positives`) without positives, `unreachable` where no threshold has
    that precision, `unreachable_on_grid` where none between bins has, but one inside may: `bound` is the recall that
    it may have. Source: Manning, Raghavan and Schuetze (2008).

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.6, 0.4, 0.1]})
    >>> found = plm.evaluate(rows, label="y", models="p", metrics=["recall_at_precision(precision=0.6)"])
    >>> found.metrics.select("value", "threshold").row(0)
    (1.0, 0.4)
    """

    name = "recall_at_precision"
    formula = "max{recall(t): precision(t) >= limit}"
    use_when = "Alarms must be right so often, and you ask how many positives that leaves."
    beware = "It can jump with a few rows at the top; with few positives its interval is wide."
    reference = _RETRIEVAL

    precision: float = limit_parameter("precision to keep")

    def finalise(self, state: Any) -> Any:
        """Most hits at a sufficiently precise point, over the positives."""
        points = running_totals(state)
        hits = ops.largest(ops.where(self._keeps(points), points.hits, -float("inf")))
        if state.coarse:
            hits = ops.larger(hits, ops.largest(self._inside(state, points)))
        return ops.ratio(hits, ops.total(state.positive))

    def undefined(self, state: Any) -> Undefined:
        """Conditions: no positives, or no sufficiently precise point."""
        points = running_totals(state)
        none = ops.largest(ops.where(self._keeps(points), points.hits, -float("inf"))) == -float("inf")
        hidden = none & (self.bound(state) > 0) if np.any(state.binned) else np.zeros_like(none)
        return [*super().undefined(state), (UNREACHABLE_ON_GRID, hidden), ("unreachable", none)]

    def cut(self, state: Any) -> Any:
        """Highest threshold of the largest recall with sufficient precision."""
        points = running_totals(state)
        hits = ops.where(self._keeps(points), points.hits, -float("inf"))
        return highest_score(state, (hits > 0) & (hits >= ops.broadcast(ops.largest(hits), hits)))

    def bound(self, state: Any) -> Any:
        """Distance to the recall of the lowest bin with sufficient precision somewhere inside in its best order."""
        points = running_totals(state)
        enough = _reaches(points.best_precision, self.precision) & (points.calls > 0)
        most = ops.largest(ops.where(enough, points.hits, 0.0))
        least = ops.largest(ops.where(self._keeps(points), points.hits, 0.0))
        return ops.ratio(ops.larger(most - least, 0.0), state.positives)

    def _keeps(self, points: RunningTotals) -> Any:
        return _reaches(points.precision, self.precision) & (points.calls > 0)

    def _inside(self, state: Any, points: RunningTotals) -> Any:
        """Hits where precision falls to the limit inside a bin of several scores, -inf in other bins."""
        limit, added = self.precision, state.positive + state.negative
        spare = points.hits_above - limit * points.calls_above
        falls = (spare >= 0) & ~self._keeps(points) & (points.calls_above > 0)
        falls = falls & np.logical_not(state.tied)
        fraction = ops.ratio(spare, limit * added - state.positive, otherwise=0.0)
        return ops.where(falls, points.hits_above + fraction * state.positive, -float("inf"))


@register
@dataclass(frozen=True)
class RecallAtFpr(OperatingPoint):
    """Highest recall at a threshold with a false positive rate of at most the limit.

    "Nothing is called positive" is such a threshold: where the highest scores already exceed the limit the value
    is 0, with a null threshold. Weighted by row; in [0, 1]; undefined (`no_positives`, `no_negatives`) where a class
    is absent. Source: Fawcett (2006).

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.6, 0.4, 0.1]})
    >>> found = plm.evaluate(rows, label="y", models="p", metrics=["recall_at_fpr(fpr=0.1)"])
    >>> found.metrics.select("value", "threshold").row(0)
    (0.5, 0.9)
    """

    name = "recall_at_fpr"
    nonzero = BOTH_CLASSES
    masses = ("positives", "negatives")
    formula = "max{recall(t): FPR(t) <= limit}"
    use_when = "So many of the negatives may be bothered: fraud alerts, screening, intrusion detection."
    beware = "A small rate of many negatives can still swamp the hits; look at precision too."
    reference = _FAWCETT

    fpr: float = limit_parameter("false positive rate to keep")

    def finalise(self, state: Any) -> Any:
        """The most hits at a point with few enough alarms, over the positives."""
        points = running_totals(state)
        if state.coarse:
            room = self.fpr * ops.broadcast(ops.largest(points.alarms), points.alarms) - points.alarms_above
            fraction = ops.smaller(ops.ratio(room, state.negative, otherwise=1.0), 1.0)
            fraction = ops.where(self._keeps(points) | np.logical_not(state.tied), fraction, 0.0)
            hits = ops.where(room >= 0, points.hits_above + fraction * state.positive, 0.0)
        else:
            hits = ops.where(self._keeps(points), points.hits, 0.0)
        return ops.ratio(ops.larger(ops.largest(hits), 0.0), ops.total(state.positive))

    def cut(self, state: Any) -> Any:
        """Highest threshold of the largest recall within the limit, -inf without calls."""
        points = running_totals(state)
        hits = ops.where(self._keeps(points), points.hits, -float("inf"))
        return highest_score(state, (hits >= ops.broadcast(ops.largest(hits), hits)) & self._keeps(points))

    def bound(self, state: Any) -> Any:
        """Positives of the bin around the limit, if it is one of several scores."""
        points = running_totals(state)
        certain = ops.larger(ops.largest(ops.where(self._keeps(points), points.hits, 0.0)), 0.0)
        hits = ops.where(state.tied, points.hits_above, points.hits)
        beyond = -ops.largest(ops.where(_stays_within(_fpr(points), self.fpr), -float("inf"), -hits))
        return ops.ratio(ops.where(beyond == float("inf"), 0.0, beyond - certain), state.positives)

    def _keeps(self, points: RunningTotals) -> Any:
        return _stays_within(_fpr(points), self.fpr) & (points.calls > 0)


@register
class FprAtRecall(AtRecall):
    """Smallest false positive rate at a threshold with a recall of at least the limit.

    Weighted by row; in [0, 1]; undefined (`no_positives`, `no_negatives`) where a class is absent. Source: Fawcett
    (2006).

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.6, 0.4, 0.1]})
    >>> found = plm.evaluate(rows, label="y", models="p", metrics=["fpr_at_recall(recall=0.95)"])
    >>> found.metrics.select("value", "threshold").row(0)
    (0.5, 0.4)
    """

    name = "fpr_at_recall"
    direction = "lower"
    nonzero = BOTH_CLASSES
    masses = ("positives", "negatives")
    formula = "min{FPR(t): recall(t) >= limit}"
    use_when = "A detector must find so many of the cases, and you ask what that costs the others."
    beware = "A few positives with low scores decide it when the limit is near 1."
    reference = _FAWCETT

    def finalise(self, state: Any) -> Any:
        _, alarms = self._hits_and_alarms(state)
        return ops.ratio(alarms, ops.total(state.negative))

    def bound(self, state: Any) -> Any:
        """The negatives of the bin of the cut."""
        cut = self._cut(state)
        return ops.where(cut.whole, 0.0, ops.ratio(cut.alarms - cut.alarms_above, state.negatives))
