"""Curves of a regression, from labels and predictions row by row. A residual is prediction - label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.names import number_text
from plmetrics.core.quantiles import averaged_inverse
from plmetrics.core.special import ndtri, stdtrit
from plmetrics.inference.curves.thinning import thin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from plmetrics.states.pairs import Pairs, SlicedPairs

Array = NDArray[np.float64]
Points = dict[str, Array]

HISTOGRAM_BINS = 50
CONDITIONAL_BINS = 20
RESIDUAL_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


def histogram_edges(lows: Array, highs: Array) -> Array:
    """The edges that all slices and models share: 50 bins of equal width over all values.

    Where all values are one, that value stands in the middle of bins of unit width together.

    >>> histogram_edges(np.array([0.0, 2.0]), np.array([4.0, 5.0]))[[0, 1, -1]]
    array([0. , 0.1, 5. ])
    """
    low, high = float(np.min(lows)), float(np.max(highs))
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, HISTOGRAM_BINS + 1)


def points_of_rows(
    curve: str, pairs: SlicedPairs, edges: Mapping[str, Array], level: float
) -> list[dict[str, Any]]:
    """The points of a curve in each slice; none in a slice without rows."""
    if curve in _HISTOGRAMS:
        return [_histogram(part, _HISTOGRAMS[curve](part), edges[curve]) for part in pairs]
    if curve == "residual_qq":
        return [_qq(part) for part in pairs]
    if curve == "residual_quantiles":
        return [_quantiles(part) for part in pairs]
    return [_conditional(part, *_CONDITIONAL[curve](part), level) for part in pairs]


def _weights(part: Pairs) -> Array:
    return np.ones(len(part.label)) if part.weight is None else part.weight


def _histogram(part: Pairs, values: Array, edges: Array) -> Points:
    """Share of the weight by bin: x is the middle of a bin, `threshold` its upper edge; the last bin is closed."""
    weight = _weights(part)
    if len(values) == 0 or weight.sum() == 0:
        return {}
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, HISTOGRAM_BINS - 1)
    share = np.bincount(place, weights=weight, minlength=HISTOGRAM_BINS) / weight.sum()
    rows = np.bincount(place, minlength=HISTOGRAM_BINS).astype(np.float64)
    return {"x": (edges[1:] + edges[:-1]) / 2, "y": share, "threshold": edges[1:], "n": rows}


def _qq(part: Pairs) -> Points:
    """Residuals, centred and scaled, against the normal quantiles of (i - 0.5) / n; none where all are one."""
    weight, error = _weights(part), part.error
    total = weight.sum()
    if total == 0 or np.ptp(error) == 0:
        return {}
    mean = np.sum(weight * error) / total
    deviation = np.sqrt(np.sum(weight * (error - mean) ** 2) / total)
    order = np.argsort(error, kind="stable")
    running = np.cumsum(weight[order])
    x = ndtri(np.clip((running - weight[order] / 2) / total, 1e-300, 1 - 1e-16))
    y = (error[order] - mean) / deviation
    keep = thin(x, y)
    return {"x": x[keep], "y": y[keep]}


def _conditional(part: Pairs, by: Array, values: Array | None, level: float) -> Points:
    """Mean of some values in 20 bins of equal weight, with a t band. Without values: the share that stays in its bin.

    x is the mean of what bins are made of, `threshold` the upper edge of a bin.
    """
    weight = _weights(part)
    if len(by) == 0 or weight.sum() == 0:
        return {}
    edges = _quantile_edges(by, weight)
    place = np.searchsorted(edges, by)
    limits = (-np.inf, np.inf) if values is not None else (0.0, 1.0)
    if values is None:
        values = (np.searchsorted(edges, part.score) == place).astype(np.float64)

    def total(each: Array) -> Array:
        return np.bincount(place, weights=each, minlength=len(edges) + 1).astype(np.float64, copy=False)

    mass = total(weight)
    occupied = mass > 0
    x, y = total(weight * by)[occupied] / mass[occupied], total(weight * values)[occupied] / mass[occupied]
    number = np.full(len(mass), 0.0)
    number[occupied] = y
    squares = total(weight * (values - number[place]) ** 2)[occupied] / mass[occupied]
    size = mass[occupied] ** 2 / total(weight**2)[occupied]
    enough = size > 1
    freedom = np.where(enough, size - 1, 1.0)
    half = np.where(enough, stdtrit(freedom, (1 + level) / 2) * np.sqrt(squares / freedom), np.nan)
    lower, upper = (np.clip(end, *limits) for end in (y - half, y + half))
    top = np.append(edges, by.max())[occupied]
    rows = np.bincount(place, minlength=len(mass))[occupied].astype(np.float64)
    return {"x": x, "y": y, "lower": lower, "upper": upper, "threshold": top, "n": rows}


def _quantiles(part: Pairs) -> dict[str, Any]:
    """Quantiles of the residual in 20 bins of the prediction of equal weight; `class` is the level.

    x is the mean prediction of a bin, `threshold` its upper edge.
    """
    weight = _weights(part)
    if len(weight) == 0 or weight.sum() == 0:
        return {}
    edges = _quantile_edges(part.score, weight)
    place = np.searchsorted(edges, part.score)
    order = np.lexsort((part.error, place))
    first = np.flatnonzero(np.diff(place[order], prepend=-1))
    occupied, size = place[order[first]], np.diff(np.append(first, len(order)))
    mass, sums = (np.add.reduceat(each[order], first) for each in (weight, weight * part.score))
    levels = np.array(RESIDUAL_LEVELS)
    error = np.split(part.error[order], first[1:])
    spread = [
        averaged_inverse(*each, levels)
        for each in zip(error, np.split(weight[order], first[1:]), strict=True)
    ]
    names = np.array([number_text(level) for level in RESIDUAL_LEVELS], dtype=object)
    columns = {
        "x": sums / mass,
        "threshold": np.append(edges, part.score.max())[occupied],
        "n": size.astype(np.float64),
    }
    repeated = {name: np.tile(values, len(levels)) for name, values in columns.items()}
    return {**repeated, "y": np.stack(spread, axis=1).ravel(), "class": np.repeat(names, len(first))}


def _quantile_edges(by: Array, weight: Array) -> Array:
    """Averaged inverse of the weighted distribution at i / 20, each once; a bin ends with its upper edge."""
    order = np.argsort(by, kind="stable")
    shares = np.arange(1, CONDITIONAL_BINS) / CONDITIONAL_BINS
    return np.unique(averaged_inverse(by[order], weight[order], shares))


_HISTOGRAMS: dict[str, Callable[[Pairs], Array]] = {
    "residual_histogram": lambda part: part.error,
    "label_histogram": lambda part: part.label,
}
_CONDITIONAL: dict[str, Callable[[Pairs], tuple[Array, Any]]] = {
    "conditional_label": lambda part: (part.score, part.label),
    "conditional_prediction": lambda part: (part.label, part.score),
    "conditional_recall": lambda part: (part.label, None),
    "residual_prediction": lambda part: (part.score, part.error),
}
