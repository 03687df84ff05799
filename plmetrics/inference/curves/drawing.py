"""Curves of a run as rows of the table `curves`."""

from __future__ import annotations

from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.results import CURVES_SCHEMA
from plmetrics.inference.curves.bands import BANDED, band, replicates_of
from plmetrics.inference.curves.effects import EFFECT_CURVES, points_of_effects
from plmetrics.inference.curves.ranking import (
    POINT_CURVES,
    Operating,
    hull_points,
    joint_hull,
    points_of,
)
from plmetrics.inference.curves.residuals import points_of_rows
from plmetrics.inference.curves.thinning import thin
from plmetrics.inference.estimate import effective_blocks
from plmetrics.inference.intervals.closed_forms import wilson
from plmetrics.inference.intervals.percentile import quantiles
from plmetrics.inference.weights import resample
from plmetrics.states.scores.sorted import Binning

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from plmetrics.inference.curves.bands import Replicates
    from plmetrics.inference.curves.ranking import Points
    from plmetrics.states.pairs import Pairs, SlicedPairs
    from plmetrics.states.scores.sorted import SlicedScores
    from plmetrics.suite.sections.basics import Curve
    from plmetrics.table.slices import Slices


ACROSS_MODELS = "roc_hull_models"
"""The name of the hull of all models' hulls, drawn with roc_hull where there are several models."""


class Drawing:
    """Collects the curves of a run, a frame per curve, model and slice."""

    def __init__(self, level: float, weights: Array | None, classes: Sequence[str] = ()) -> None:
        self._level = level
        self._weights = weights
        self._classes = classes
        self._frames: list[pl.DataFrame] = []
        self._hulls: dict[tuple[str, str], dict[str, Points]] = {}

    def scores(self, curves: Sequence[Curve], model: str, slices: Slices, sliced: SlicedScores) -> None:
        """Draw the curves of one model and slice set from its scores."""
        weights = self._weights if slices.slice_set.resampled else None
        by_points = [curve for curve in curves if curve.curve in POINT_CURVES]
        parts = self._by_points(by_points, model, slices, sliced, weights) if by_points else {}
        for curve in curves:
            if curve.curve == "reliability":
                parts[curve.curve] = reliability(sliced, weights, self._level)
            elif curve.curve in EFFECT_CURVES:
                parts[curve.curve] = points_of_effects(curve.curve, sliced, weights, self._level)
            self._add(curve.curve, model, slices, parts[curve.curve])

    def _by_points(
        self,
        curves: Sequence[Curve],
        model: str,
        slices: Slices,
        sliced: SlicedScores,
        weights: Array | None,
    ) -> dict[str, list[Points]]:
        """The points of some curves in each slice, from its operating points, with bands where blocks are resampled."""
        state = sliced.point_state()
        operating = [Operating(state, index, binned=sliced.binned) for index in range(len(slices))]
        if any(curve.curve == "roc_hull" for curve in curves):
            self._keep_hulls(model, slices, operating)
        drawn: Iterable[Replicates | None] = repeat(None, len(operating))
        if weights is not None and any(curve.curve in BANDED for curve in curves):
            drawn = replicates_of(sliced, weights)
        draw = partial(_with_bands, curves, level=self._level)
        parts = [draw(points, replicates) for points, replicates in zip(operating, drawn, strict=True)]
        return {curve.curve: [part[curve.curve] for part in parts] for curve in curves}

    def rows(self, curve: Curve, model: str, slices: Slices, pairs: SlicedPairs, edges: Any) -> None:
        """Draw a curve of one model from its labels and predictions; `edges` are those of its histogram."""
        if curve.curve == "confusion":
            self._add(curve.curve, model, slices, confusion(pairs, self._classes))
            return
        self._add(curve.curve, model, slices, points_of_rows(curve.curve, pairs, edges, self._level))

    def frame(self) -> pl.DataFrame:
        """All curves, those across models last."""
        for (slice_set, text), by_model in self._hulls.items():
            if len(by_model) > 1:
                self._across(slice_set, text, by_model)
        return pl.concat(self._frames) if self._frames else CURVES_SCHEMA.to_frame()

    def _keep_hulls(self, model: str, slices: Slices, operating: Sequence[Operating]) -> None:
        for points, text in zip(operating, slices.texts(), strict=True):
            if points.positives > 0 and points.negatives > 0:
                by_model = self._hulls.setdefault((slices.slice_set.name, text), {})
                by_model[model] = hull_points(points)

    def _across(self, slice_set: str, text: str, by_model: Mapping[str, Points]) -> None:
        owners, points = joint_hull(by_model)
        keep = thin(points["x"], points["y"])
        frame = _frame(
            ACROSS_MODELS, "", slice_set, text, {name: part[keep] for name, part in points.items()}
        )
        self._frames.append(frame.with_columns(model=pl.Series([owners[index] for index in keep])))

    def _add(self, curve: str, model: str, slices: Slices, parts: Sequence[Mapping[str, Any]]) -> None:
        name = slices.slice_set.name
        self._frames += [
            _frame(curve, model, name, text, part)
            for text, part in zip(slices.texts(), parts, strict=True)
            if part
        ]


def _with_bands(
    curves: Sequence[Curve], points: Operating, replicates: Replicates | None, level: float
) -> dict[str, Points]:
    """The points of some curves in one slice, none of a curve that is undefined there."""
    out: dict[str, Points] = {}
    for curve in curves:
        drawn = points_of(curve, points)
        out[curve.curve], retained = ({}, None) if drawn is None else drawn
        if replicates is None or retained is None or curve.curve not in BANDED:
            continue
        ends = band(curve.curve, points, retained, replicates, level)
        if ends is not None:
            out[curve.curve] |= dict(zip(("lower", "upper"), ends, strict=True))
    return out


def _frame(curve: str, model: str, slice_set: str, text: str, part: Mapping[str, Any]) -> pl.DataFrame:
    columns: dict[str, Any] = {
        name: pl.Series(np.where(np.isfinite(part[name]), part[name], np.nan), dtype=pl.Float64).fill_nan(
            None
        )
        for name in ("x", "y", "lower", "upper", "threshold")
        if name in part
    }
    if "class" in part:
        columns["class"] = pl.Series(part["class"].tolist(), dtype=pl.String)
    if "n" in part:
        columns["n"] = pl.Series(np.rint(part["n"]).astype(np.int64))
    fixed = {"model": model, "slice_set": slice_set, "slice": text, "curve": curve}
    frame = pl.DataFrame(columns).with_columns(pl.lit(value).alias(name) for name, value in fixed.items())
    missing = [
        pl.lit(None, dtype=t).alias(name) for name, t in CURVES_SCHEMA.items() if name not in frame.columns
    ]
    return frame.with_columns(missing).select(list(CURVES_SCHEMA))


def confusion(pairs: SlicedPairs, classes: Sequence[str]) -> list[Mapping[str, Any]]:
    """Per slice a point for each pair of classes: `class` is the true one, `x` the number of the called one.

    `y` is the share of the true class's weight, undefined where it has none, `threshold` the weight itself and `n` the
    rows. Classes are numbered from 0 in their order, which is also the order of the points.
    """
    return [_table(part, classes) for part in pairs]


def _table(pairs: Pairs, classes: Sequence[str]) -> Mapping[str, Any]:
    number = len(classes)
    key = pairs.label.astype(np.int64) * number + pairs.score.astype(np.int64)
    rows = np.bincount(key, minlength=number**2)
    weight = np.bincount(key, weights=pairs.weight, minlength=number**2).astype(np.float64)
    truth, prediction = np.divmod(np.arange(number**2), number)
    total = weight.reshape(number, number).sum(axis=1)[truth]
    share = np.divide(weight, total, out=np.full(number**2, np.nan), where=total > 0)
    names = np.array(classes, dtype=object)[truth]
    return {"class": names, "x": prediction.astype(np.float64), "y": share, "threshold": weight, "n": rows}


Array = NDArray[np.float64]

RELIABILITY_BINS = 15


def reliability(sliced: SlicedScores, weights: Array | None, level: float) -> list[dict[str, Any]]:
    """Mean score and rate of positives by bin, for each slice, with Wilson intervals or, weighted, bootstrap bands."""
    binning = Binning(RELIABILITY_BINS)
    blocks = 1 if weights is None else weights.shape[1]
    out: list[dict[str, Any]] = []
    for _, _, counts in sliced.bin_counts(binning, blocks):
        out += [_bins(part, weights, level, weighted=sliced.weighted) for part in counts]
    return out


def _bins(part: Array, weights: Array | None, level: float, *, weighted: bool) -> dict[str, Any]:
    weight, positive, score = np.moveaxis(part.sum(axis=0), -1, 0)
    occupied = weight > 0
    rate = positive[occupied] / weight[occupied]
    upper_edge = np.append(Binning(RELIABILITY_BINS).uniform_edges(), 1.0)
    out: dict[str, Any] = {
        "x": score[occupied] / weight[occupied],
        "y": rate,
        "threshold": upper_edge[occupied],
    }
    if not weighted:
        out["lower"], out["upper"] = wilson(rate, weight[occupied], level)
        out["n"] = weight[occupied]
    elif weights is not None:
        replicates = resample(weights, part[None, :, occupied])[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = replicates[..., 1] / replicates[..., 0]
        alone = effective_blocks((part[:, occupied, 0].T,)) < 2
        ends = quantiles(rates, ((1 - level) / 2, (1 + level) / 2))
        out["lower"], out["upper"] = np.where(alone, np.nan, ends)
    return out
