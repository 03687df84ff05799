"""Areas under curves of a ranking, besides the plain one under the ROC curve.

Points are the distinct scores, from high to low; `above` a point means at higher scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from plmetrics.catalogue.bases import BothClasses, Positives
from plmetrics.catalogue.metric import Direction, Metric
from plmetrics.catalogue.needs import Kind, Points
from plmetrics.catalogue.parameters import parameter
from plmetrics.catalogue.registry import register
from plmetrics.core import ops

_BOYD = "Boyd, Eng and Page (2013), Area under the precision-recall curve, ECML PKDD"


@dataclass(frozen=True)
class RunningTotals:
    """True and false positives at and above each point, also without the point itself.

    Points that are `tied` are of one score, not bins of several.
    """

    hits: Any
    alarms: Any
    hits_above: Any
    alarms_above: Any
    tied: Any

    @property
    def calls(self) -> Any:
        """All positive calls."""
        return self.hits + self.alarms

    @property
    def calls_above(self) -> Any:
        """All positive calls without the point."""
        return self.hits_above + self.alarms_above

    @property
    def precision(self) -> Any:
        """Precision at each point, 0 where nothing is called positive."""
        return ops.ratio(self.hits, self.calls, otherwise=0.0)

    @property
    def best_precision(self) -> Any:
        """The highest precision anywhere within a bin: its positives come first."""
        best = ops.ratio(self.hits, self.hits + self.alarms_above, otherwise=0.0)
        return ops.where(self.tied, self.precision, best)


def running_totals(state: Any) -> RunningTotals:
    """The running totals of a state, from its highest point down."""
    hits = ops.cumulative(state.positive, descending=True)
    alarms = ops.cumulative(state.negative, descending=True)
    return RunningTotals(hits, alarms, ops.above(hits, 0.0), ops.above(alarms, 0.0), state.tied)


class OnCurve(Metric):
    """Base of the metrics of points of the ROC curve."""

    task = "binary"
    needs = Points("curve")
    range = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    needs_score = True
    expressible = False


@register
class RocHullAuc(BothClasses, OnCurve):
    """Area under the upper convex hull of the ROC curve: the best of all random mixtures of thresholds.

    The hull is the ROC curve of the scores pooled by isotonic regression. Weighted by pair; in [0.5, 1]; undefined
    (`no_positives`, `no_negatives`) where a class is absent. On bins `bound` is the largest rise of a bin's best
    corner above the hull. Noise alone makes it larger, so its interval is centred. Source: Provost and Fawcett
    (2001).

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.6, 0.4, 0.1]})
    >>> plm.evaluate(rows, label="y", models="p", metrics=["roc_hull_auc"]).metrics["value"].item()
    0.875
    """

    name = "roc_hull_auc"
    kind = "maximum"
    smooth = False
    formula = "area under the smallest concave curve that lies nowhere below the ROC curve"
    use_when = "You look for thresholds worth using, and dents in the ROC curve may be repaired."
    beware = (
        "It is never below 0.5 and never below the AUC: a useless score gains most by it, and more than resampled rows "
        "tell. Of 2,000 rows 95% intervals hold the truth in 89 to 94% of cases: else their lower end is too high."
    )
    reference = (
        "Provost and Fawcett (2001), Robust classification for imprecise environments, Machine Learning 42"
    )

    def finalise(self, state: Any) -> Any:
        """Won pairs over all pairs, once shares of positives never fall along the score."""
        positive, negative = _class_totals(state)
        below = ops.cumulative(negative)
        won = ops.dot(positive, below - negative / 2.0)
        return ops.ratio(won, ops.total(positive) * ops.total(negative))

    def bound(self, state: Any) -> Any:
        """The largest rise of a corner, a bin's positives first, above the hull at its left end.

        A bin of positives alone, or of one score, has no corner that is not a point already.
        """
        positive, _ = _class_totals(state)
        hull_above = ops.above(ops.cumulative(positive, descending=True), 0.0)
        corners = ops.cumulative(state.positive, descending=True) - hull_above
        corners = ops.where(state.tied, 0.0, ops.where(state.negative > 0, corners, 0.0))
        rise = ops.larger(ops.largest(corners), 0.0)
        return ops.ratio(rise, state.positives)


def _class_totals(state: Any) -> tuple[Any, Any]:
    mass = state.positive + state.negative
    positive = ops.isotonic(state.positive, mass) * mass
    return positive, mass - positive


class PrecisionRecallArea(Positives, OnCurve):
    """Base of the averages of precision over recall."""

    kind: ClassVar[Kind] = "pr_area"
    interpretable = False


@register
@dataclass(frozen=True)
class PrAuc(PrecisionRecallArea):
    """Area under the precision-recall curve, from the distinct scores and the anchor (recall 0, precision 1).

    lower_trapezoid joins the last point of one recall with the first of the next by a line (what scikit-learn's
    `auc(recall, precision)` gives); upper_trapezoid joins the first points of both; davis_goadrich integrates the
    precision of the points between, at which true and false positives grow in proportion. Weighted by row; in
    [0, 1]; undefined (`no_positives`) without positives. Sources: Boyd, Eng and Page (2013), Davis and Goadrich
    (2006).

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.6, 0.4, 0.1]})
    >>> round(plm.evaluate(rows, label="y", models="p", metrics=["pr_auc"]).metrics["value"].item(), 6)
    0.791667
    """

    name = "pr_auc"
    rises_with_prevalence = True
    interval_form = "logit"
    formula = "integral of precision over recall"
    use_when = "You must match a number that was computed as a trapezoidal area."
    beware = "Straight lines between points promise what no threshold gives: prefer average_precision."
    reference = _BOYD

    method: str = parameter(
        "lower_trapezoid",
        doc="how points are joined",
        options=("lower_trapezoid", "upper_trapezoid", "davis_goadrich"),
    )

    def __post_init__(self) -> None:
        if self.method == "trapezoid":
            object.__setattr__(self, "method", "lower_trapezoid")
        super().__post_init__()

    def finalise(self, state: Any) -> Any:
        """Sum of the areas of the steps in recall."""
        return ops.ratio(ops.total(self._steps(state, running_totals(state))), ops.total(state.positive))

    def _steps(self, state: Any, points: RunningTotals) -> Any:
        """The area of each step in recall."""
        if self.method == "davis_goadrich":
            return _interpolated_area(state, points)
        return state.positive * (self._precision_before(state, points) + points.precision) / 2.0

    def bound(self, state: Any) -> Any:
        """Distance to the best and the worst precision by the orders within bins, on all of its recall.

        A bin of one score is a step as exact as the precision where it begins: at the end of the bin above, or, of
        upper trapezoids, where its recall was reached, which may lie inside of that.
        """
        points = running_totals(state)
        worst = ops.ratio(points.hits_above, points.hits_above + points.alarms, otherwise=1.0)
        best = points.best_precision
        steps, exact = self._steps(state, points), 0.0
        if self.method == "upper_trapezoid":
            first = ops.where(points.hits_above == 0, 1.0, _first_at_recall(state, points, best=True))
            best = ops.larger(best, first)
            exact = (first - self._precision_before(state, points)) / 2.0 * state.positive
        else:
            best = ops.where(points.calls_above == 0, 1.0, best)
        over, under = state.positive * best - steps, steps - state.positive * worst
        over, under = ops.where(state.tied, exact, over), ops.where(state.tied, exact, under)
        return ops.ratio(ops.larger(ops.total(over), ops.total(under)), ops.total(state.positive))

    def _precision_before(self, state: Any, points: RunningTotals) -> Any:
        """The precision where each step in recall begins."""
        if self.method == "upper_trapezoid":
            return ops.where(points.hits_above == 0, 1.0, _first_at_recall(state, points))
        return ops.ratio(points.hits_above, points.calls_above, otherwise=1.0)


def _first_at_recall(state: Any, points: RunningTotals, *, best: bool = False) -> Any:
    """Precision at the point where the recall above each point was reached; the best its bin allows, if asked."""
    reached = points.calls
    if best:
        reached = ops.where(points.tied, reached, points.hits + points.alarms_above)
    at_positives = ops.where(state.positive > 0, reached, 0.0)
    calls = ops.above(ops.running_largest(at_positives, descending=True), 0.0)
    return ops.ratio(points.hits_above, calls, otherwise=1.0)


def _interpolated_area(state: Any, points: RunningTotals) -> Any:
    """Integral of (T + x) / (T + F + x (p + n) / p) over x from 0 to p: T, F are above, p, n at the point."""
    p, n = state.positive, state.negative
    slope = ops.ratio(p + n, p, otherwise=1.0)
    start = points.calls_above
    bend = ops.where(start == 0, 0.0, (points.hits_above - start / slope) / slope)
    grown = ops.log1p(ops.ratio(p + n, start, otherwise=0.0))
    return ops.where(p == 0, 0.0, p / slope + bend * grown)


@register
@dataclass(frozen=True)
class InterpolatedAveragePrecision(PrecisionRecallArea):
    """Mean, over levels of recall, of the highest precision at that recall or more.

    Levels are 0, 0.1 ... 1 (11 points) or 0, 0.01 ... 1 (101); `all` takes the recall of every positive, each with
    its weight. Weighted by row; in [0, 1]; undefined (`no_positives`) without positives. Noise alone makes it larger,
    so its interval is centred; with 11 points it has none (`not_estimable`): the last one reads the lowest score of a
    positive, and the first one the best start, which no resampled rows tell. Sources: Manning, Raghavan and Schuetze
    (2008), chapter 8; Everingham and others (2010).

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.6, 0.4, 0.1]})
    >>> found = plm.evaluate(rows, label="y", models="p", metrics=["interpolated_ap(points=all)"])
    >>> round(found.metrics["value"].item(), 6)
    0.833333
    """

    name = "interpolated_ap"
    rises_with_prevalence = True
    smooth = False
    formula = "mean over recall levels r of the largest precision at recall >= r"
    use_when = "You must match a benchmark that reports it, as detection and retrieval do."
    beware = (
        "It takes the best of all lower thresholds, so it is never below average_precision, and with 11 points it "
        "grows or falls with the number of rows."
    )
    reference = (
        "Everingham and others (2010), The PASCAL visual object classes challenge, Int. J. Computer Vision 88"
    )

    points: int | str = parameter(
        11, doc="levels of recall", check=lambda value: value in (11, 101, "all"), domain="11, 101 or all"
    )

    @property
    def kind(self) -> Kind:  # type: ignore[override]
        """An extreme with 11 points: 1 / 11 of it is the precision down to the last positive."""
        return "extreme" if self.points == 11 else "maximum"

    def finalise(self, state: Any) -> Any:
        """Sum over points of the best precision from there down, times the levels with their end there."""
        points = running_totals(state)
        return self._mean(state, points, points.precision)

    def bound(self, state: Any) -> Any:
        """Distance to the value with each bin's best precision; no order within bins gives less than the value."""
        points = running_totals(state)
        return self._mean(state, points, points.best_precision) - self._mean(state, points, points.precision)

    def _mean(self, state: Any, points: RunningTotals, precision: Any) -> Any:
        best = ops.running_largest(precision)
        if not isinstance(self.points, int):
            return ops.ratio(ops.dot(state.positive, best), ops.total(state.positive))
        steps = self.points - 1
        recall = ops.ratio(points.hits, ops.broadcast(ops.largest(points.hits), points.hits), otherwise=0.0)
        reached = ops.where(points.calls > 0, ops.floor((recall + ops.tie(recall)) * steps) + 1.0, 0.0)
        return ops.dot(reached - ops.above(reached, 0.0), best) / self.points
