"""Fewer points for a curve: those that keep its largest deviation small."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MOST_POINTS = 1000
_LEAST_SPLIT = 0.5


def thin(x: Array, y: Array, most: int = MOST_POINTS) -> NDArray[np.int64]:
    """The numbers of the points to keep: all, if there are no more than `most`.

    Between two points that are kept the curve is replaced by a line. Starting from both ends, the point farthest from
    its line is added, in rounds that split all lines with at least half of the largest distance left.

    >>> thin(np.array([0.0, 0.5, 1.0, 1.5, 2.0]), np.array([0.0, 0.0, 0.0, 1.0, 2.0]), most=3)
    array([0, 2, 4])
    """
    if len(x) <= most:
        return np.arange(len(x))
    wide = max(float(np.ptp(x)), 1e-300), max(float(np.ptp(y)), 1e-300)
    across, up = x / wide[0], y / wide[1]
    kept = np.array([0, len(x) - 1])
    while len(kept) < most:
        farthest, distance = _farthest(across, up, kept)
        if distance.max(initial=0.0) <= 0.0:
            break
        split = np.flatnonzero(distance >= _LEAST_SPLIT * distance.max())
        chosen = split[np.argsort(-distance[split], kind="stable")][: most - len(kept)]
        kept = np.sort(np.concatenate([kept, farthest[chosen]]))
    return kept


def _farthest(x: Array, y: Array, kept: NDArray[np.int64]) -> tuple[NDArray[np.int64], Array]:
    """For each line between neighbours that are kept, the point farthest from it, and how far that is."""
    first, last = kept[:-1], kept[1:]
    line = np.repeat(np.arange(len(first)), last - first)
    dx, dy = x[last] - x[first], y[last] - y[first]
    length = np.hypot(dx, dy)
    safe = np.where(length > 0, length, 1.0)
    own = slice(kept[0], kept[-1])
    away_x, away_y = x[own] - x[first][line], y[own] - y[first][line]
    distance = np.abs(dx[line] * away_y - dy[line] * away_x) / safe[line]
    still = length[line] == 0
    distance[still] = np.hypot(away_x, away_y)[still]
    most = np.maximum.reduceat(distance, first - kept[0])
    at = np.flatnonzero(distance == most[line])
    _, where = np.unique(line[at], return_index=True)
    return at[where] + kept[0], most
