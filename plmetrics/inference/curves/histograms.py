"""Histograms of scores by class, on bins that slices and models share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from plmetrics.states.scores.sorted_rows import Binning, SlicedScores

    Points = dict[str, Any]


def class_histograms(sliced: SlicedScores, binning: Binning) -> Iterator[tuple[Points, Points]]:
    """The histograms of the positives and of the negatives of each slice; none of a class without weight.

    x is the middle of a bin, `threshold` its upper edge, y the share of the class's weight, and n the rows, which
    weights do not tell.
    """
    for _, _, counts in sliced.bin_counts(binning, 1):
        for part in counts:
            weight, positive = np.moveaxis(part.sum(axis=0), -1, 0)[:2]
            yield (
                _histogram(positive, binning, weighted=sliced.weighted),
                _histogram(weight - positive, binning, weighted=sliced.weighted),
            )


def _histogram(mass: NDArray[np.float64], binning: Binning, *, weighted: bool) -> Points:
    mass = np.maximum(mass, 0.0)
    total = mass.sum()
    if total == 0:
        return {}
    edges = binning.all_edges()
    points = {"x": (edges[1:] + edges[:-1]) / 2, "y": mass / total, "threshold": edges[1:]}
    return points if weighted else {**points, "n": mass}


def by_class(positive: Points, negative: Points) -> Points:
    """Both histograms as one curve, told apart by `class`."""
    parts = {name: part for name, part in (("positive", positive), ("negative", negative)) if part}
    if not parts:
        return {}
    columns = {
        name: np.concatenate([part[name] for part in parts.values()]) for name in next(iter(parts.values()))
    }
    classes = np.repeat(np.array(list(parts), dtype=object), [len(part["x"]) for part in parts.values()])
    return {**columns, "class": classes}
