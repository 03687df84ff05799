"""Differences of two models query by query, in order of size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.inference.curves.thinning import MOST_POINTS
from plmetrics.states.bin_sums import HIGH, HIGH_QUERY, LOW, LOW_QUERY, QUERY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plmetrics.states.bin_sums import SliceBins

    Points = dict[str, Any]


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
