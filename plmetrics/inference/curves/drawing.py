"""Curves of a run as rows of the table `curves`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.core.results import CURVES_SCHEMA
from plmetrics.engine.order.score_bins import UNIT_SPAN, curve_binning
from plmetrics.inference.curves.bands import Replicates, band, replicates_of
from plmetrics.inference.curves.effects import EFFECT_CURVES, points_of_effects
from plmetrics.inference.curves.ranking import POINT_CURVES, Operating, hull_points, joint_hull, points_of
from plmetrics.inference.curves.reliability import (
    by_class,
    class_histograms,
    net_benefits,
    recalibration,
    reliability,
)
from plmetrics.inference.curves.thinning import thin
from plmetrics.suite.tasks import BANDED_CURVES, BINNED_CURVES

if TYPE_CHECKING:
    from plmetrics.inference.curves.ranking import Points
    from plmetrics.inference.subject import Analysis
    from plmetrics.inference.weights import ResamplingWeights
    from plmetrics.states.scores.sliced_scores import SlicedScores
    from plmetrics.suite.sections.basics import Curve
    from plmetrics.table.slices import Slices

ACROSS_MODELS = "roc_hull_models"
"""The name of the hull of all models' hulls, drawn with roc_hull where there are several models."""

ACTING_ON_ALL = "net_benefit_all"
"""The name of the net benefit of acting on all rows, drawn with net_benefit."""

OTHER_CLASSES = "score_histogram_rest"
"""The name of the histogram of a class's probability over the rows of the others."""


class Drawing:
    """Collects the curves of a run, a frame per curve, model and slice.

    `spans` are the ends of histograms of scores by model, where they are not 0 and 1.
    """

    def __init__(self, analysis: Analysis, spans: Mapping[str, tuple[float, float]]) -> None:
        self._slices = [states.slices for states in analysis.sets]
        self._level = analysis.level
        self._weights = analysis.replication.bootstrap
        self._independent = analysis.population.independent
        self._spans = spans
        self._frames: list[pl.DataFrame] = []
        self._hulls: dict[tuple[str, str], dict[str, Points]] = {}
        self._on_all: dict[tuple[str, str], Points] = {}

    def scores(
        self,
        curves: Sequence[Curve],
        model: str,
        slices: Slices,
        sliced: SlicedScores,
        of_class: str | None = None,
    ) -> None:
        """Draw the curves of one model and slice set from its scores, or from the probabilities of a class by name."""
        weights = self._weights if slices.slice_set.resampled else None
        by_points = [curve for curve in curves if curve.curve in (*POINT_CURVES, "corp")]
        pointed = self._by_points(by_points, model, slices, sliced, weights) if by_points else {}
        for curve in curves:
            if curve.curve in BINNED_CURVES:
                parts = self._by_bins(curve, model, slices, sliced, weights, named=of_class is not None)
            elif curve.curve in EFFECT_CURVES:
                parts = {curve.curve: points_of_effects(curve.curve, sliced, weights, self._level)}
            else:
                parts = {curve.curve: pointed[curve.curve]}
            for name, points in parts.items():
                self.add(name, model, slices, [_of_class(part, of_class) for part in points])

    def _by_bins(
        self,
        curve: Curve,
        model: str,
        slices: Slices,
        sliced: SlicedScores,
        weights: ResamplingWeights | None,
        *,
        named: bool,
    ) -> dict[str, list[Points]]:
        """Points of a curve counted in bins; with `named` its classes have other names."""
        binning = curve_binning(curve, self._spans.get(model, UNIT_SPAN))
        if curve.curve == "reliability":
            points = reliability(sliced, binning, weights, self._level, independent=self._independent)
            return {curve.curve: points}
        if curve.curve == "net_benefit":
            benefits = list(net_benefits(sliced, binning, weights, self._level))
            for text, (_, on_all) in zip(slices.texts(), benefits, strict=True):
                if on_all:
                    self._on_all.setdefault((slices.slice_set.name, text), on_all)
            return {curve.curve: [of_model for of_model, _ in benefits]}
        histograms = list(class_histograms(sliced, binning))
        if named:
            positives, negatives = ([pair[side] for pair in histograms] for side in (0, 1))
            return {curve.curve: positives, OTHER_CLASSES: negatives}
        return {curve.curve: [by_class(*pair) for pair in histograms]}

    def _by_points(
        self,
        curves: Sequence[Curve],
        model: str,
        slices: Slices,
        sliced: SlicedScores,
        weights: ResamplingWeights | None,
    ) -> dict[str, list[Points]]:
        """The points of some curves in each slice, from its operating points, with bands where blocks are resampled."""
        state = sliced.point_state()
        operating = [Operating(state, index, binned=sliced.has_bins) for index in range(len(slices))]
        if any(curve.curve == "roc_hull" for curve in curves):
            self._keep_hulls(model, slices, operating)
        drawn: Iterable[Replicates | None] = repeat(None, len(operating))
        if weights is not None and any(curve.curve in BANDED_CURVES for curve in curves):
            drawn = replicates_of(sliced, weights)
        draw = partial(_with_bands, curves, level=self._level, weighted=sliced.has_weights)
        parts = [draw(points, replicates) for points, replicates in zip(operating, drawn, strict=True)]
        return {curve.curve: [part[curve.curve] for part in parts] for curve in curves}

    def frame(self) -> pl.DataFrame:
        """All curves, those across models last: each is one of all models."""
        for (slice_set, text), by_model in self._hulls.items():
            if len(by_model) > 1:
                self._across(slice_set, text, by_model)
        self._frames += [
            _frame(ACTING_ON_ALL, "", slice_set, text, points)
            for (slice_set, text), points in self._on_all.items()
        ]
        curves = pl.concat(self._frames) if self._frames else CURVES_SCHEMA.to_frame()
        return _in_result_order(curves, self._slices)

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

    def add(self, curve: str, model: str, slices: Slices, parts: Sequence[Mapping[str, Any]]) -> None:
        """Add the points of a curve in each slice."""
        name = slices.slice_set.name
        self._frames += [
            _frame(curve, model, name, text, part)
            for text, part in zip(slices.texts(), parts, strict=True)
            if part
        ]


def _of_class(points: Points, name: str | None) -> Points:
    """Points with the name of their class, if they have one."""
    if name is None or not points:
        return points
    return {**points, "class": np.full(len(points["x"]), name, dtype=object)}


def _with_bands(
    curves: Sequence[Curve], points: Operating, replicates: Replicates | None, level: float, *, weighted: bool
) -> dict[str, Points]:
    """Points of some curves in one slice, without those of undefined curves."""
    out: dict[str, Points] = {}
    for curve in curves:
        if curve.curve == "corp":
            out[curve.curve] = recalibration(points, replicates, level, weighted=weighted)
            continue
        drawn = points_of(curve, points)
        out[curve.curve], retained = ({}, None) if drawn is None else drawn
        if replicates is None or retained is None or curve.curve not in BANDED_CURVES:
            continue
        ends = band(curve.curve, points, retained, replicates, level)
        if ends is not None:
            out[curve.curve] |= dict(zip(("lower", "upper"), ends, strict=True))
    return out


def _frame(curve: str, model: str, slice_set: str, text: str, part: Mapping[str, Any]) -> pl.DataFrame:
    fixed = {"model": model, "slice_set": slice_set, "slice": text, "curve": curve}

    def column(name: str, dtype: pl.DataType) -> pl.Series:
        if name not in part:
            return pl.Series(name, [fixed.get(name)], dtype).new_from_index(0, len(part["x"]))
        if dtype == pl.Float64:
            finite = np.where(np.isfinite(part[name]), part[name], np.nan)
            return pl.Series(name, finite, dtype, nan_to_null=True)
        return pl.Series(name, part[name].tolist() if dtype == pl.String else np.rint(part[name]), dtype)

    return pl.DataFrame([column(name, dtype) for name, dtype in CURVES_SCHEMA.items()])


def _in_result_order(curves: pl.DataFrame, slices: Sequence[Slices]) -> pl.DataFrame:
    """The curves, those of tags in the order of their set."""
    if curves.is_empty() or not any(part.slice_set.is_tagged for part in slices):
        return curves
    from plmetrics.table.tags import in_result_order

    across = pl.col("curve") == ACROSS_MODELS
    owner = pl.when(~across).then("model").alias("@owner")
    return in_result_order(curves.with_columns(owner), slices, "@owner").drop("@owner")
