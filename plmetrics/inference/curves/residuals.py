"""Curves of a regression, from sums of rows by bins of labels, predictions and residuals.

A residual is prediction - label. Where each number has a bin of its own, curves are those of the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.names import number_text
from plmetrics.core.quantiles import averaged_inverse
from plmetrics.core.special import ndtri, stdtrit
from plmetrics.inference.curves.thinning import thin

if TYPE_CHECKING:
    from plmetrics.states.bin_sums import SliceBins

Array = NDArray[np.float64]
Places = NDArray[np.int64]
Points = dict[str, Any]

CONDITIONAL_BINS = 20
RESIDUAL_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


def residual_points(curve: str, part: SliceBins, level: float) -> Points:
    """The points of a curve in a slice; none in a slice without rows."""
    if part.weight.sum() == 0:
        return {}
    if curve.endswith("histogram"):
        return _histogram(part)
    if curve == "residual_qq":
        return _qq(part)
    if curve == "residual_quantiles":
        return _quantiles(part)
    if curve == "conditional_recall":
        return _recall(part, level)
    return _conditional(part, *_CONDITIONAL[curve], level)


def _histogram(part: SliceBins) -> Points:
    """Share of the weight by bin: x is the middle of a bin, `threshold` its upper edge; the last bin is closed."""
    edges, place = part.edges[0], part.places[0]
    weight, rows = (
        np.bincount(place, weights=each, minlength=len(edges) - 1) for each in (part.weight, part.rows)
    )
    middle = (edges[1:] + edges[:-1]) / 2
    return {"x": middle, "y": weight / weight.sum(), "threshold": edges[1:], "n": rows}


def _qq(part: SliceBins) -> Points:
    """Residuals, centred and scaled, against the normal quantiles of (i - 0.5) / n; none where all are one."""
    total, error = part.weight.sum(), part.mean("error")
    if len(error) == 1:
        return {}
    mean = np.average(error, weights=part.weight)
    moved = mean - part.centres["error"]
    deviation = np.sqrt(part.sums["error squared"].sum() / total - moved**2)
    running = np.cumsum(part.weight)
    x = ndtri(np.clip((running - part.weight / 2) / total, 1e-300, 1 - 1e-16))
    y = (error - mean) / deviation
    keep = thin(x, y)
    return {"x": x[keep], "y": y[keep]}


def _conditional(part: SliceBins, by: str, value: str, level: float) -> Points:
    """Mean of a number in 20 bins of equal weight, with a t band.

    x is the mean of what bins are made of, `threshold` the upper edge of a bin.
    """
    group, tops = _equal_bins(part)
    size = len(tops)
    mean = part.mean(value, group, size)
    mass, squares = _totals(group, size, part.weight, part.sums[f"{value} squared"])
    spread = np.maximum(squares / mass - (mean - part.centres[value]) ** 2, 0.0)
    return _means(part, group, tops, part.mean(by, group, size), mean, spread, level, (-np.inf, np.inf))


def _recall(part: SliceBins, level: float) -> Points:
    """Share of the rows of a label's bin with a prediction in the same bin, with a t band."""
    group, tops = _equal_bins(part)
    stays = np.searchsorted(tops[:-1], _values(part, 1)) == group
    mass, together = _totals(group, len(tops), part.weight, part.weight * stays)
    share = together / mass
    x = part.mean("label", group, len(tops))
    return _means(part, group, tops, x, share, share * (1 - share), level, (0.0, 1.0))


def _means(
    part: SliceBins,
    group: Places,
    tops: Array,
    x: Array,
    mean: Array,
    spread: Array,
    level: float,
    limits: tuple[float, float],
) -> Points:
    """Means by bin with a t band, from the variances of their rows."""
    mass, squares, rows = _totals(group, len(tops), part.weight, part.squared_weight, part.rows)
    size = mass**2 / squares
    enough = size > 1
    freedom = np.where(enough, size - 1, 1.0)
    half = np.where(enough, stdtrit(freedom, (1 + level) / 2) * np.sqrt(spread / freedom), np.nan)
    lower, upper = (np.clip(end, *limits) for end in (mean - half, mean + half))
    return {"x": x, "y": mean, "lower": lower, "upper": upper, "threshold": tops, "n": rows}


def _quantiles(part: SliceBins) -> Points:
    """Quantiles of the residual in 20 bins of the prediction of equal weight; `class` is the level.

    x is the mean prediction of a bin, `threshold` its upper edge.
    """
    group, tops = _equal_bins(part)
    (rows,) = _totals(group, len(tops), part.rows)
    order = np.lexsort((part.places[1], group))
    first = np.flatnonzero(np.diff(group[order], prepend=-1))[1:]
    errors, weights = (np.split(each[order], first) for each in (part.mean("error"), part.weight))
    levels = np.array(RESIDUAL_LEVELS)
    spread = [_of_bins(*each, levels) for each in zip(errors, weights, strict=True)]
    names = np.array([number_text(level) for level in RESIDUAL_LEVELS], dtype=object)
    columns = {"x": part.mean("score", group, len(tops)), "threshold": tops, "n": rows}
    repeated = {name: np.tile(values, len(levels)) for name, values in columns.items()}
    return {**repeated, "y": np.stack(spread, axis=1).ravel(), "class": np.repeat(names, len(tops))}


def _of_bins(values: Array, weight: Array, levels: Array) -> Array:
    """Quantiles of values, with bins of residuals spread over several bins of predictions."""
    order = np.argsort(values, kind="stable")
    return averaged_inverse(values[order], weight[order], levels)


def _values(part: SliceBins, key: int = 0) -> Array:
    """Representative numbers of entries: the upper edge of the bin, and above the last one a number beyond it."""
    values = part.upper(key)
    edges = part.edges[key]
    last: Array = np.where(
        np.isfinite(values), values, np.nextafter(edges[-1] if len(edges) else 0.0, np.inf)
    )
    return last


def _equal_bins(part: SliceBins) -> tuple[Places, Array]:
    """Equal-weight bin of each entry, at most 20, and the upper edge of each.

    They end where the weighted distribution reaches i / 20.
    """
    values = _values(part)
    order = np.argsort(values, kind="stable")
    shares = np.arange(1, CONDITIONAL_BINS) / CONDITIONAL_BINS
    edges = np.unique(averaged_inverse(values[order], part.weight[order], shares))
    place = np.searchsorted(edges, values)
    occupied, group = np.unique(place, return_inverse=True)
    tops = np.full(len(occupied), -np.inf)
    np.maximum.at(tops, group, values)
    return group, tops


def _totals(group: Places, size: int, *each: Array) -> list[Array]:
    return [np.bincount(group, weights=values, minlength=size).astype(np.float64) for values in each]


_CONDITIONAL = {
    "conditional_label": ("score", "label"),
    "conditional_prediction": ("label", "score"),
    "residual_prediction": ("score", "error"),
}
