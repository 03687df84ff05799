"""Rates of positives by score, in bins or by isotonic regression (`corp`); histograms of scores; the net benefit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.core import ops
from plmetrics.core.ops import Array
from plmetrics.inference.curves.bands import LEAST_BLOCKS, Replicates, drawn_classes
from plmetrics.inference.curves.thinning import thin
from plmetrics.inference.estimate import effective_blocks, equal_blocks
from plmetrics.inference.intervals.closed_forms import wilson
from plmetrics.inference.intervals.percentile import percentile
from plmetrics.inference.weights import ResamplingWeights, resample

if TYPE_CHECKING:
    from plmetrics.inference.curves.ranking import Operating
    from plmetrics.states.scores.sliced_scores import Binning, SlicedScores

Points = dict[str, Any]

_EQUAL = 1e-12
"""Rates that differ by less differ by rounding."""


def reliability(
    sliced: SlicedScores,
    binning: Binning,
    weights: ResamplingWeights | None,
    level: float,
    *,
    independent: bool,
) -> list[dict[str, Any]]:
    """Mean score and rate of positives by bin, for each slice, with Wilson intervals or bootstrap bands.

    `weights` are draws of blocks, for rows that are not `independent` or count differently. The threshold is the upper
    edge of a bin, at most 1.
    """
    weights = None if independent else weights
    blocks = 1 if weights is None else weights.shape[1]
    if binning.strategy == "quantile":
        inner = np.minimum(sliced.quantile_edges(binning.bins), 1.0)
        edges = np.column_stack([inner, np.ones(len(inner))])
    else:
        edges = np.tile(binning.all_edges()[1:], (sliced.slices, 1))
    out: list[dict[str, Any]] = []
    for first, last, counts in sliced.bin_counts(binning, blocks):
        for part, upper_edge in zip(counts, edges[first:last], strict=True):
            occupied = part[..., 0].sum(axis=0) > 0
            inside = part[:, occupied]
            points = _bins(inside) | {"threshold": upper_edge[occupied]}
            if independent:
                points["lower"], points["upper"] = wilson(points["y"], points["n"], level)
            elif weights is not None:
                points["lower"], points["upper"] = _bin_bands(inside, points["y"], weights, level)
            if sliced.has_weights:
                del points["n"]
            out.append(points)
    return out


def _bins(part: Array) -> Points:
    """Nonempty bins of one slice `[block, bin, channel]`, with their weight as `n`."""
    weight, positive, score = np.moveaxis(part.sum(axis=0), -1, 0)
    return {"x": score / weight, "y": positive / weight, "n": weight}


def _bin_bands(part: Array, rate: Array, weights: ResamplingWeights, level: float) -> tuple[Array, Array]:
    """Percentiles of the rates of bins; none of fewer than 2 effective blocks.

    A rate of 0 or 1 is the same in all replicates: its band is Wilson's interval of as many rows as there are effective
    blocks.
    """
    replicates = resample(weights.matrix, part[None])[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = replicates[..., 1] / replicates[..., 0]
    blocks = equal_blocks(part[..., 0].T)
    certain = np.isclose(rate, 0.0, atol=_EQUAL) | np.isclose(rate, 1.0, atol=_EQUAL)
    ends = np.where(certain, wilson(rate, blocks, level), percentile(rates, level))
    lower, upper = np.where(blocks < LEAST_BLOCKS, np.nan, ends)
    return lower, upper


def recalibration(
    points: Operating, replicates: Replicates | None, level: float, *, weighted: bool
) -> dict[str, Any]:
    """Both ends of each flat piece of the isotonic regression, with the rows of the piece; one where they are one.

    Bands are percentiles of the regressions of replicates on coarse bins; there are none with fewer than 2 effective
    blocks of either class. Source: Dimitriadis, Gneiting and Jordan (2021).
    """
    mass = points.positive + points.negative
    if len(mass) == 0:
        return {}
    rate = ops.isotonic(points.positive, mass)
    first = np.flatnonzero(np.append(True, np.diff(rate) > _EQUAL))
    last = np.append(first[1:], len(rate)) - 1
    ends = np.unique(np.concatenate([first, last]))
    ends = ends[thin(points.score[ends], rate[ends])]
    rows = np.add.reduceat(mass, first)[np.searchsorted(first, ends, side="right") - 1]
    out: dict[str, Any] = {"x": points.score[ends], "y": rate[ends], "threshold": points.score[ends]}
    if not weighted:
        out["n"] = rows
    if replicates is not None and min(replicates.positive_blocks, replicates.negative_blocks) >= LEAST_BLOCKS:
        middle = np.cumsum(mass)[ends] - mass[ends] / 2
        out["lower"], out["upper"] = _band(middle, replicates, level)
    return out


def _band(middle: Array, replicates: Replicates, level: float) -> tuple[Array, Array]:
    """Percentiles at points, by their middle rows, from the regressions of the coarse bins around these."""
    counts = replicates.counts
    mass = counts.sum(axis=2)
    drawn = _forward_fill(ops.isotonic(counts[1:, :, 1], mass[1:]), mass[1:])
    bins = np.minimum(np.searchsorted(np.cumsum(mass[0]), middle), mass.shape[1] - 1)
    return percentile(drawn[:, bins], level)


def _forward_fill(rates: Array, mass: Array) -> Array:
    """Rates with those of empty bins filled: from the bin before, and before all from the first."""
    occupied = mass > 0
    lowest = np.take_along_axis(rates, occupied.argmax(axis=1)[:, None], axis=1)
    return np.maximum(np.maximum.accumulate(rates, axis=1), lowest)


def class_histograms(sliced: SlicedScores, binning: Binning) -> Iterator[tuple[Points, Points]]:
    """The histograms of the positives and of the negatives of each slice; none of a class without weight.

    x is the middle of a bin, `threshold` its upper edge, y the share of the class's weight, and n the rows, which
    weights do not tell.
    """
    histogram = partial(_histogram, binning=binning, weighted=sliced.has_weights)
    for _, _, counts in sliced.bin_counts(binning, 1):
        for part in counts:
            weight, positive = np.moveaxis(part.sum(axis=0), -1, 0)[:2]
            yield histogram(positive), histogram(weight - positive)


def _histogram(mass: Array, binning: Binning, *, weighted: bool) -> Points:
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


def net_benefits(
    sliced: SlicedScores, binning: Binning, weights: ResamplingWeights | None, level: float
) -> Iterator[tuple[Points, Points]]:
    """Net benefit tp/n - fp/n t/(1 - t) at each edge t of the bins, of the model and of all rows, in each slice.

    Rows of a score of t or more are called. Bands are percentiles of replicates; there are none with fewer than 2
    effective blocks. `weights` are draws of blocks. Source: Vickers and Elkin (2006).
    """
    t = binning.all_edges()[1:-1]
    for _, _, counts in sliced.bin_counts(binning, 1 if weights is None else weights.shape[1]):
        for part in counts:
            total = part.sum(axis=0)[None]
            if total[..., 0].sum() == 0:
                yield {}, {}
                continue
            blocks = int(effective_blocks((part[..., 0].sum(axis=1),)))
            drawn = None
            if weights is not None and blocks >= LEAST_BLOCKS:
                drawn = drawn_classes(weights, part[None])[0]
            curve = partial(_curve, total, drawn, t, level)
            yield curve(treats_all=False), curve(treats_all=True)


def _curve(total: Array, drawn: Array | None, t: Array, level: float, *, treats_all: bool) -> Points:
    points = {"x": t, "y": _benefit(total, t, treats_all=treats_all)[0], "threshold": t}
    if drawn is not None:
        benefit = _benefit(drawn, t, treats_all=treats_all)
        lower, upper = percentile(benefit, level)
        points |= {"lower": lower, "upper": upper}
    return points


def _benefit(counts: Array, t: Array, *, treats_all: bool) -> Array:
    """Net benefit of calling all rows, or those of a score of t or more, from bins `[..., bin, (all, positive)]`."""
    everyone = counts.sum(axis=1, keepdims=True)
    called = everyone if treats_all else np.cumsum(counts[:, ::-1], axis=1)[:, ::-1][:, 1:]
    rows = counts[..., 0].sum(axis=1, keepdims=True)
    right, wrong = called[..., 1], called[..., 0] - called[..., 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        benefit: Array = (right - wrong * t / (1 - t)) / rows
    return benefit
