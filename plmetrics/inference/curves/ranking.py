"""Curves of a binary score from its distinct scores: operating points from the highest threshold down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from plmetrics.core import ops
from plmetrics.core.ops import Array, Codes
from plmetrics.inference.curves.thinning import thin

if TYPE_CHECKING:
    from plmetrics.core.segments import Segments
    from plmetrics.suite.sections.basics import Curve

Points = dict[str, Array]


class Operating:
    """Threshold, hits and alarms at every distinct score of a slice, highest first, with nothing called before.

    `positive` and `negative` are the weights of the classes at each `score`, ascending. That of a bin is the highest
    that it can hold, of the last bin the lowest.
    """

    def __init__(self, state: Mapping[str, Segments], index: int, *, binned: bool = False) -> None:
        low, high = state["score"].offsets[index : index + 2]
        score, positive, negative = (
            state[name].values[low:high] for name in ("score", "positive", "negative")
        )
        occupied = positive + negative > 0
        self.positive, self.negative = positive[occupied], negative[occupied]
        self.score = (np.append(np.nextafter(score[1:], -np.inf), score[-1:]) if binned else score)[occupied]
        score = score[occupied]
        self.threshold = np.append(np.nan, np.where(np.isfinite(score), score, np.nan)[::-1])
        self.hits = np.append(0.0, np.cumsum(self.positive[::-1]))
        self.alarms = np.append(0.0, np.cumsum(self.negative[::-1]))
        self.calls = self.hits + self.alarms
        self.positives, self.negatives = self.hits[-1], self.alarms[-1]
        self.binned = binned

    @property
    def recall(self) -> Array:
        """True positive rate."""
        share: Array = self.hits / self.positives
        return share

    @property
    def fpr(self) -> Array:
        """False positive rate."""
        share: Array = self.alarms / self.negatives
        return share

    @property
    def precision(self) -> Array:
        """Precision, 1 without calls."""
        return np.where(self.calls > 0, self.hits / np.where(self.calls > 0, self.calls, 1.0), 1.0)

    @property
    def share(self) -> Array:
        """Share of called rows."""
        share: Array = self.calls / self.calls[-1]
        return share

    @property
    def lift(self) -> Array:
        """Precision by the share of positives among all."""
        lift: Array = self.precision / (self.positives / self.calls[-1])
        return lift


def points_of(curve: Curve, points: Operating) -> tuple[Points, Codes] | None:
    """Drawn points of a curve, and their numbers among the operating points; None if it is undefined.

    A curve without the point at which nothing is called begins with the number 1.
    """
    if points.positives == 0 and (curve.curve != "cost" or points.negatives == 0):
        return None
    if points.negatives == 0 and curve.curve in _BOTH_CLASSES:
        return None
    columns = _CURVES[curve.curve](points, curve)
    keep = thin(columns["x"], columns["y"], threshold=columns["threshold"])
    first = len(points.hits) - len(columns["x"])
    return {name: values[keep] for name, values in columns.items()}, keep + first


def _points(x: str, y: str, first: int = 0) -> Callable[[Operating, Curve], Points]:
    """The curve of one number of the operating points over another, from the first points on."""

    def points_of(points: Operating, _: Curve) -> Points:
        names = {"x": x, "y": y, "threshold": "threshold"}
        return {name: getattr(points, column)[first:] for name, column in names.items()}

    return points_of


def hull_points(points: Operating) -> Points:
    """The corners of the convex hull of the ROC curve."""
    mass = points.positive + points.negative
    share = ops.isotonic(points.positive, mass)[::-1]
    corner = np.append(np.flatnonzero(np.append(np.diff(share) != 0, True)) + 1, 0)
    corner.sort()
    return {"x": points.fpr[corner], "y": points.recall[corner], "threshold": points.threshold[corner]}


def _interpolated_precision(points: Operating, _: Curve) -> Points:
    """Interpolated precision: the largest at a recall of at least x, at its threshold."""
    precision = points.precision[1:][::-1]
    best = np.maximum.accumulate(precision)
    at = np.maximum.accumulate(np.where(precision == best, np.arange(len(best)), 0))
    best, threshold = best[::-1], points.threshold[1:][::-1][at][::-1]
    first = np.searchsorted(points.hits[1:], points.hits[1:])
    x = np.append(0.0, points.recall[1:])
    return {
        "x": x,
        "y": np.append(best[0], best[first]),
        "threshold": np.append(threshold[0], threshold[first]),
    }


def _cost(points: Operating, curve: Curve) -> Points:
    """Expected cost by threshold; the point without calls lies just above the highest score, on bins nowhere."""
    missed = points.positives - points.hits
    cost = (curve.cost_fp * points.alarms + curve.cost_fn * missed) / (points.positives + points.negatives)
    threshold = points.threshold.copy()
    threshold[0] = np.nan if points.binned else np.nextafter(threshold[1], np.inf)
    defined = np.isfinite(threshold)
    threshold, cost = threshold[defined][::-1], cost[defined][::-1]
    return {"x": threshold, "y": cost, "threshold": threshold}


_BOTH_CLASSES = frozenset({"roc", "roc_hull"})
_CURVES: dict[str, Callable[[Operating, Curve], Points]] = {
    "roc": _points("fpr", "recall"),
    "roc_hull": lambda points, _: hull_points(points),
    "pr": _points("recall", "precision"),
    "pr_interpolated": _interpolated_precision,
    "lift": _points("share", "lift", first=1),
    "gain": _points("share", "recall"),
    "cost": _cost,
}
POINT_CURVES = tuple(_CURVES)
"""The curves that are drawn from operating points."""


def joint_hull(by_model: Mapping[str, Points]) -> tuple[list[str], Points]:
    """The corners of the hull of several models' hulls, the model of each, and where it is the best choice.

    `lower` and `upper` are the iso-cost slopes c_fp (1 - prevalence) / (c_fn prevalence) between which a corner costs
    least. A model without a corner is dominated: for no costs and no prevalence is it the best. The two ends, which
    every model has, are given to the model of the corner beside them. Source: Provost and Fawcett (2001).
    """
    names = list(by_model)
    sizes = [len(points["x"]) for points in by_model.values()]
    owner = np.repeat(np.arange(len(sizes)), sizes)
    joined = {
        key: np.concatenate([points[key] for points in by_model.values()]) for key in ("x", "y", "threshold")
    }
    corners = _upper_hull(joined["x"], joined["y"])
    if joined["y"][corners[0]] == 0.0:
        corners[0] = np.searchsorted(owner, owner[corners[1]])
    if joined["x"][corners[-1]] == 1.0:
        corners[-1] = np.searchsorted(owner, owner[corners[-2]], side="right") - 1
    points = {key: values[corners] for key, values in joined.items()}
    with np.errstate(divide="ignore"):
        slopes = np.diff(points["y"]) / np.diff(points["x"])
    points["lower"], points["upper"] = np.append(slopes, 0.0), np.append(np.inf, slopes)
    return [names[number] for number in owner[corners]], points


def _upper_hull(x: Array, y: Array) -> Codes:
    """Numbers of the points on the upper hull, from left to right; of equal points the first."""
    order = np.lexsort((np.arange(len(x)), -y, x))
    hull: list[int] = []
    for index in order.tolist():
        if hull and y[index] <= y[hull[-1]]:
            continue
        while len(hull) > 1 and not _turns_right(x, y, hull[-2], hull[-1], index):
            hull.pop()
        hull.append(index)
    return np.array(hull, dtype=np.int64)


def _turns_right(x: Array, y: Array, a: int, b: int, c: int) -> bool:
    return bool((x[b] - x[a]) * (y[c] - y[a]) < (y[b] - y[a]) * (x[c] - x[a]))
