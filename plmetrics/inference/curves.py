"""Curves from point states and bins, at most so many points each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.results import CURVES_SCHEMA
from plmetrics.inference.estimate import effective_blocks
from plmetrics.inference.intervals.percentile import quantiles
from plmetrics.inference.intervals.wilson import wilson
from plmetrics.states.scores import Binning, resample

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.core.segments import Segments
    from plmetrics.states.scores import SlicedScores
    from plmetrics.table.slices import Slices

Array = NDArray[np.float64]

MOST_POINTS = 1000
RELIABILITY_BINS = 15


def curve_frames(
    curve: str, model: str, slices: Slices, sliced: SlicedScores, weights: Array | None, level: float
) -> list[pl.DataFrame]:
    """The points of one curve of one model, a frame per slice."""
    if curve == "reliability":
        parts = _reliability(sliced, weights, level)
    else:
        state = sliced.point_state()
        parts = [_from_points(curve, *_one(state, index)) for index in range(len(slices))]
    return [
        _frame(curve, model, slices.slice_set.name, text, part)
        for text, part in zip(slices.texts(), parts, strict=True)
        if part
    ]


def _one(state: Mapping[str, Segments], index: int) -> tuple[Array, Array, Array]:
    low, high = state["score"].offsets[index : index + 2]
    score, positive, negative = (state[name].values[low:high] for name in ("score", "positive", "negative"))
    held = positive + negative > 0
    return score[held], positive[held], negative[held]


def _from_points(curve: str, score: Array, positive: Array, negative: Array) -> dict[str, Any]:
    """Operating points at every distinct score, highest threshold first."""
    hits, alarms = np.cumsum(positive[::-1]), np.cumsum(negative[::-1])
    threshold = np.where(np.isfinite(score), score, np.nan)[::-1]
    if len(score) == 0 or hits[-1] == 0 or (curve == "roc" and alarms[-1] == 0):
        return {}
    recall = hits / hits[-1]
    if curve == "roc":
        x = np.concatenate(([0.0], alarms / alarms[-1]))
        y = np.concatenate(([0.0], recall))
    else:
        x = np.concatenate(([0.0], recall))
        y = np.concatenate(([1.0], hits / (hits + alarms)))
    threshold = np.concatenate(([np.nan], threshold))
    keep = _thin(x, y)
    return {"x": x[keep], "y": y[keep], "threshold": threshold[keep]}


def _thin(x: Array, y: Array) -> NDArray[np.int64]:
    """Points at equal steps along the curve, so that no gap between kept points is larger than another."""
    if len(x) <= MOST_POINTS:
        return np.arange(len(x))
    way = np.concatenate(([0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))))
    wanted = np.linspace(0.0, way[-1], MOST_POINTS)
    return np.unique(np.searchsorted(way, wanted).clip(0, len(x) - 1))


def _reliability(sliced: SlicedScores, weights: Array | None, level: float) -> list[dict[str, Any]]:
    binning = Binning(RELIABILITY_BINS)
    blocks = 1 if weights is None else weights.shape[1]
    out: list[dict[str, Any]] = []
    for _, _, counts in sliced.bin_counts(binning, blocks):
        out += [_bins(part, weights, level, weighted=sliced.weighted) for part in counts]
    return out


def _bins(part: Array, weights: Array | None, level: float, *, weighted: bool) -> dict[str, Any]:
    weight, positive, score = np.moveaxis(part.sum(axis=0), -1, 0)
    held = weight > 0
    rate = positive[held] / weight[held]
    upper_edge = np.append(Binning(RELIABILITY_BINS).uniform_edges(), 1.0)
    out: dict[str, Any] = {"x": score[held] / weight[held], "y": rate, "threshold": upper_edge[held]}
    if not weighted:
        out["lower"], out["upper"] = wilson(rate, weight[held], level)
        out["n"] = weight[held]
    elif weights is not None:
        drawn = resample(weights, part[None, :, held])[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = drawn[..., 1] / drawn[..., 0]
        alone = effective_blocks((part[:, held, 0].T,)) < 2
        ends = quantiles(rates, ((1 - level) / 2, (1 + level) / 2))
        out["lower"], out["upper"] = np.where(alone, np.nan, ends)
    return out


def _frame(curve: str, model: str, slice_set: str, text: str, part: Mapping[str, Any]) -> pl.DataFrame:
    columns: dict[str, Any] = {
        name: pl.Series(part[name], dtype=pl.Float64).fill_nan(None)
        for name in ("x", "y", "lower", "upper", "threshold")
        if name in part
    }
    if "n" in part:
        columns["n"] = pl.Series(np.rint(part["n"]).astype(np.int64))
    fixed = {"model": model, "slice_set": slice_set, "slice": text, "curve": curve}
    frame = pl.DataFrame(columns).with_columns(pl.lit(value).alias(name) for name, value in fixed.items())
    missing = [
        pl.lit(None, dtype=t).alias(name) for name, t in CURVES_SCHEMA.items() if name not in frame.columns
    ]
    return frame.with_columns(missing).select(list(CURVES_SCHEMA))
