"""Thinned points of a curve, with a small maximal deviation."""

from __future__ import annotations

import numpy as np

from plmetrics.core.ops import Array, Codes

MOST_POINTS = 1000
_LEAST_SPLIT = 0.5
_PIECES = 1 << 12
_ON_THE_LINE = 1e-12


def thin(x: Array, y: Array, most: int = MOST_POINTS, *, threshold: Array | None = None) -> Codes:
    """The numbers of the points to keep: all, if there are no more than `most`.

    Between two points that are kept the curve is replaced by a line. Starting from both ends, the point farthest from
    its line is added, in rounds that split lines with at least half of the largest distance left. A round spends at
    most a quarter of the points left: a line that is split may leave its parts farther from the curve than it was.
    With thresholds, points are thinned in space: what x and y are at a threshold stays near, too.

    >>> thin(np.array([0.0, 0.5, 1.0, 1.5, 2.0]), np.array([0.0, 0.0, 0.0, 1.0, 2.0]), most=3)
    array([0, 2, 4])
    """
    if len(x) <= most:
        return np.arange(len(x))
    places = [
        _in_shares(values)
        for values in (x, y, *(() if threshold is None else (_with_neighbours(threshold),)))
    ]
    if len(x) > 2 * _PIECES:
        outline = _outline(places)
        return outline[_choose([values[outline] for values in places], most)]
    return _choose(places, most)


def _with_neighbours(threshold: Array) -> Array:
    """Thresholds, with an unknown one from the point after it, or before it."""
    finite = np.flatnonzero(np.isfinite(threshold))
    if not len(finite):
        return np.zeros(len(threshold))
    after = np.searchsorted(finite, np.arange(len(threshold))).clip(max=len(finite) - 1)
    nearest: Array = threshold[finite[after]]
    return nearest


def _in_shares(values: Array) -> Array:
    low, width = values.min(), np.ptp(values)
    return (values - low) / width if width > 0 else np.zeros(len(values))


def _choose(places: list[Array], most: int) -> Codes:
    retained = np.array([0, len(places[0]) - 1])
    while len(retained) < most:
        farthest, distance = _farthest(places, retained)
        if distance.max(initial=0.0) <= _ON_THE_LINE:
            break
        split = np.flatnonzero(distance >= _LEAST_SPLIT * distance.max())
        chosen = split[np.argsort(-distance[split], kind="stable")][: max(1, (most - len(retained)) // 4)]
        retained = np.sort(np.concatenate([retained, farthest[chosen]]))
    return retained


def _farthest(places: list[Array], retained: Codes) -> tuple[Codes, Array]:
    """Farthest point from each line between retained neighbours, and its distance."""
    first, last = retained[:-1], retained[1:]
    line = np.repeat(np.arange(len(first)), last - first)
    inside = slice(retained[0], retained[-1])
    steps = [values[last] - values[first] for values in places]
    aways = [values[inside] - values[first][line] for values in places]
    square = sum(step * step for step in steps)
    square = np.where(square == 0, 1.0, square)
    along = sum(step[line] * away for step, away in zip(steps, aways, strict=True)) / square[line]
    along = np.clip(along, 0.0, 1.0)
    gaps = [away - along * step[line] for step, away in zip(steps, aways, strict=True)]
    distance = np.sqrt(sum(gap * gap for gap in gaps))
    at, most = _where_largest(distance, line, first - retained[0])
    return at + retained[0], most


def _outline(places: list[Array]) -> Codes:
    """The first, the lowest, the highest and the last point of many pieces of equal length.

    A curve of many points is thinned from these: what is left out lies within a piece's small box.
    """
    y = places[1]
    way = np.append(0.0, np.cumsum(sum(np.abs(np.diff(values)) for values in places)))
    number = np.minimum((way * (_PIECES / way[-1])).astype(np.int64), _PIECES - 1)
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    piece = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(y)))
    highest, _ = _where_largest(y, piece, starts)
    lowest, _ = _where_largest(-y, piece, starts)
    ends = np.append(starts[1:], len(y)) - 1
    return np.unique(np.concatenate([starts, highest, lowest, ends]))


def _where_largest(values: Array, group: Codes, starts: Codes) -> tuple[Codes, Array]:
    """Index of the first largest value of each group of neighbours, and the value."""
    most = np.maximum.reduceat(values, starts)
    at = np.flatnonzero(values == most[group])
    return at[np.flatnonzero(np.diff(group[at], prepend=-1))], most
