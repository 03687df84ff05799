"""Curves of labels and predictions from sums of rows by bins, and the differences of models query by query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.names import number_text
from plmetrics.core.ops import Array, Codes
from plmetrics.core.quantiles import averaged_inverse
from plmetrics.core.special import ndtri, stdtrit
from plmetrics.inference.curves.drawing import Drawing
from plmetrics.inference.curves.effects import effect_points
from plmetrics.inference.curves.thinning import MOST_POINTS, thin
from plmetrics.states.bin_sums import HIGH, HIGH_QUERY, LOW, LOW_QUERY, QUERY, TABLES, BinSums, SliceBins

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.inference.subject import Analysis
    from plmetrics.table.slices import Slices

Place = tuple[int, int, "Slices"]
Points = dict[str, Any]
CONDITIONAL_BINS = 20
RESIDUAL_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
_CONDITIONAL = {
    "conditional_label": ("score", "label"),
    "conditional_prediction": ("label", "score"),
    "residual_prediction": ("score", "error"),
}

_ROUNDING = 1e-13
"""Of the mean residual: what residuals vary less is rounding."""
_ROUNDING_OF_SIZES = 1e-9
_DIGITS = 12
"""Digits of differences: those alike in so many are equal."""


def row_bin_curves(
    analysis: Analysis,
    bins: BinSums,
    places: Iterable[Place],
    classes: Sequence[str],
    blocks: NDArray[np.uint64],
) -> pl.DataFrame:
    """Curves of every model and slice set of the suite, as rows of the table `curves`.

    `places` are slices with the numbers of their set and of its first slice; `blocks` are the keys of resampled blocks.
    """
    drawing, places = Drawing(analysis, {}), list(places)
    for model in analysis.models:
        for number, first, slices in places:
            name = slices.slice_set.name
            asked = [curve for curve in analysis.suite.bin_curves if name in {"overall", *curve.slices}]
            for curve in dict.fromkeys(curve.curve for curve in asked):
                tables = [
                    list(bins.slices(model, table.name, number, first, len(slices)))
                    for table in TABLES[curve]
                    if (model, table.name, number) in bins.frames
                ]
                if not tables:
                    continue
                draws = analysis.replication.bootstrap if len(tables) > 1 else None
                resampled = draws.matrix if draws is not None and slices.slice_set.resampled else None
                points = [
                    _points(curve, parts, classes, analysis.level, resampled, blocks)
                    for parts in zip(*tables, strict=True)
                ]
                drawing.add(curve, model, slices, points)
    return drawing.frame()


def _points(
    curve: str,
    parts: tuple[SliceBins, ...],
    classes: Sequence[str],
    level: float,
    weights: Any,
    blocks: NDArray[np.uint64],
) -> Mapping[str, Any]:
    if curve == "confusion":
        return _confusion(parts[0], classes)
    if curve == "query_differences":
        return difference_points(parts[0])
    if curve == "effect_calibration":
        return effect_points(parts[0], None if weights is None else (parts[1], blocks, weights), level)
    return residual_points(curve, parts[0], level)


def _confusion(part: SliceBins, classes: Sequence[str]) -> Mapping[str, Any]:
    """A point for each pair of classes: `class` is the true one, `x` the number of the called one.

    `y` is the share of the true class's weight, undefined where it has none, `threshold` the weight itself and `n` the
    rows. Classes are numbered from 0 in their order, which is also the order of the points.
    """
    number = len(classes)
    key = part.places[0] * number + part.places[1]
    rows, weight = np.zeros((2, number**2))
    rows[key], weight[key] = part.rows, part.weight
    truth, prediction = np.divmod(np.arange(number**2), number)
    total = weight.reshape(number, number).sum(axis=1)[truth]
    share = np.divide(weight, total, out=np.full(number**2, np.nan), where=total > 0)
    names = np.array(classes, dtype=object)[truth]
    return {"class": names, "x": prediction.astype(np.float64), "y": share, "threshold": weight, "n": rows}


def difference_points(part: SliceBins) -> Points:
    """The differences of the queries of a slice, the largest first, and `class`, the query.

    x is the rank; equal differences are in the order of their queries. Of more than 1,000 those of even ranks stay.
    Where bins hold several queries, the first and the last of a bin are there as they are, and those between them as
    the mean of all, without a name.
    """
    assert part.queries is not None
    value = part.mean("difference")
    by_name = QUERY in part.queries.columns
    names = part.queries[QUERY].to_numpy() if by_name else np.full(len(value), "", dtype=object)
    # Bins of the constants of another state hold several of the differences here.
    order = np.lexsort((names.astype(str), -np.round(value, _DIGITS) if by_name else -part.places[0]))
    ends = np.cumsum(part.rows[order]).astype(np.int64)
    if not len(ends):
        return {}
    ranks = even_ranks(int(ends[-1]))
    place = np.searchsorted(ends, ranks, side="right")
    at = order[place]
    x = ranks + 1.0
    if by_name:
        return {"x": x, "y": value[at], "class": names[at]}
    first, last = ranks == (ends - part.rows[order])[place], ranks == ends[place] - 1
    low, high = (part.queries[name].to_numpy()[at] for name in (LOW, HIGH))
    y = np.select([first, last], [high, low], np.clip(value[at], low, high))
    names = np.full(len(at), None, dtype=object)
    for ends_there, name in ((last, LOW_QUERY), (first, HIGH_QUERY)):
        names[ends_there] = part.queries[name].to_numpy()[at[ends_there]]
    return {"x": x, "y": y, "class": names}


def even_ranks(number: int, most: int = MOST_POINTS) -> Codes:
    """At most so many ranks from 0 on, evenly spread, both ends among them.

    >>> even_ranks(3).tolist(), even_ranks(10, most=4).tolist()
    ([0, 1, 2], [0, 3, 6, 9])
    """
    return np.unique(np.rint(np.linspace(0, number - 1, min(number, most))).astype(np.int64))


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
    """Residuals, centred and scaled, against the normal quantiles of (i - 0.5) / n; none where they are equal."""
    total, error = part.weight.sum(), part.mean("error")
    mean = np.average(error, weights=part.weight)
    if np.ptp(error) <= _ROUNDING * abs(mean):
        return {}
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
    group: Codes,
    tops: Array,
    x: Array,
    mean: Array,
    spread: Array,
    level: float,
    limits: tuple[float, float],
) -> Points:
    """Means by bin with a t band, from the variances of their rows; none of fewer than two effective rows."""
    mass, squares, rows = _totals(group, len(tops), part.weight, part.squared_weight, part.rows)
    size = mass**2 / squares
    enough = size > 2 - _ROUNDING_OF_SIZES
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
    return np.where(np.isfinite(values), values, np.nextafter(edges[-1] if len(edges) else 0.0, np.inf))


def _equal_bins(part: SliceBins) -> tuple[Codes, Array]:
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


def _totals(group: Codes, size: int, *each: Array) -> list[Array]:
    return [np.bincount(group, weights=values, minlength=size).astype(np.float64) for values in each]
