"""Curves of labels and predictions from sums of rows by bins, and the differences of models query by query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.inference.curves.drawing import Drawing
from plmetrics.inference.curves.effects import effect_points
from plmetrics.inference.curves.residuals import residual_points
from plmetrics.inference.curves.thinning import MOST_POINTS
from plmetrics.inference.ordered.stage import in_result_order
from plmetrics.states.bin_sums import HIGH, HIGH_QUERY, LOW, LOW_QUERY, QUERY, TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from plmetrics.inference.subject import Analysis
    from plmetrics.states.bin_sums import BinSums, SliceBins
    from plmetrics.table.slices import Slices

    Points = dict[str, Any]

Place = tuple[int, int, "Slices"]


def row_bin_curves(
    analysis: Analysis,
    bins: BinSums,
    places: Iterable[Place],
    classes: Sequence[str],
    blocks: NDArray[np.uint64],
) -> pl.DataFrame:
    """Curves of every model and slice set of the suite, as rows of the table `curves`.

    Args:
        analysis: what is estimated.
        bins: the sums.
        places: the slices, with the number of their set and that of the first of them in it.
        classes: those of a multiclass label.
        blocks: the keys of the blocks that are resampled.
    """
    drawing, places = Drawing(analysis.level, None, {}), list(places)
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
                weights = analysis.replication.counts if len(tables) > 1 else None
                resampled = weights if slices.slice_set.resampled else None
                points = [
                    _points(curve, parts, classes, analysis.level, resampled, blocks)
                    for parts in zip(*tables, strict=True)
                ]
                drawing.add(curve, model, slices, points)
    return in_result_order(drawing.frame(), analysis)


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
    order = np.lexsort((names.astype(str), -part.places[0]))
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


def even_ranks(number: int, most: int = MOST_POINTS) -> NDArray[np.int64]:
    """At most so many ranks from 0 on, evenly spread, both ends among them.

    >>> even_ranks(3).tolist(), even_ranks(10, most=4).tolist()
    ([0, 1, 2], [0, 3, 6, 9])
    """
    return np.unique(np.rint(np.linspace(0, number - 1, min(number, most))).astype(np.int64))
