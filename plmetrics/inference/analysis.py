"""The algebra of a run: states to estimates, replicates, intervals and paired differences. Arrays only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.core.results import CURVES_SCHEMA
from plmetrics.inference.comparisons.paired import paired_difference
from plmetrics.inference.curves import curve_frames
from plmetrics.inference.estimates import Chunk, Found, Population, chunks, estimate, ordered_values
from plmetrics.inference.intervals.ladder import interval
from plmetrics.inference.tables import (
    comparison_columns,
    comparison_rows,
    correct,
    metric_columns,
    metrics_rows,
)
from plmetrics.inference.weights import draw_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.ordered import OrderedValues
    from plmetrics.inference.weights import ResamplingWeights
    from plmetrics.states.scores import SlicedScores
    from plmetrics.states.sums import SlicedSums
    from plmetrics.suite.model import Suite
    from plmetrics.table.slices import Slices


@dataclass(frozen=True, slots=True)
class SetStates:
    """The states of one slice set: its slices, and the sums of each by block."""

    slices: Slices
    sums: SlicedSums


@dataclass(frozen=True, slots=True)
class Analysis:
    """What is to be estimated, compared and resampled, and from which states."""

    suite: Suite
    sets: Sequence[SetStates]
    population: Population
    pairs: Sequence[tuple[str, str]]
    weights: ResamplingWeights | None

    @property
    def level(self) -> float:
        """Level of the intervals."""
        return 0.95 if self.suite.uncertainty is None else self.suite.uncertainty.level

    @property
    def models(self) -> tuple[str, ...]:
        """Model names in suite order."""
        return tuple(self.suite.models)


OrderedByPlace = dict[tuple[int, str, str], "OrderedValues"]


def resampling(suite: Suite, units: NDArray[np.int64]) -> ResamplingWeights | None:
    """W of the run, None without intervals or where a single block leaves nothing to resample."""
    if suite.uncertainty is None:
        return None
    return draw_weights(units, suite.uncertainty.replicates, suite.uncertainty.seed)


def ordered_stage(
    analysis: Analysis, scores: Iterator[tuple[str, Callable[[int], SlicedScores]]]
) -> tuple[OrderedByPlace, pl.DataFrame]:
    """Ordered metrics and curves of every model and slice set.

    Scores come model by model, as a function that gives those of a slice set by its number.
    """
    drawn = None if analysis.weights is None else analysis.weights.counts.astype(np.float64)
    metrics = [metric for metric in analysis.suite.metrics if metric.family == "scores"]
    out: OrderedByPlace = {}
    curves: list[pl.DataFrame] = []
    for model, of_set in scores:
        for index, states in enumerate(analysis.sets):
            drawn_here = _curves_of(analysis, states.slices)
            if not metrics and not drawn_here:
                continue
            sliced = of_set(index)
            for text, values in ordered_values(metrics, sliced, drawn).items():
                out[index, model, text] = values
            for curve in drawn_here:
                curves += curve_frames(curve, model, states.slices, sliced, drawn, analysis.level)
    return out, pl.concat(curves) if curves else CURVES_SCHEMA.to_frame()


def _curves_of(analysis: Analysis, slices: Slices) -> list[str]:
    name = slices.slice_set.name
    wanted = [curve.curve for curve in analysis.suite.curves if name == "overall" or name in curve.slices]
    return list(dict.fromkeys(wanted))


def tables(
    analysis: Analysis, ordered: Mapping[tuple[int, str, str], OrderedValues]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `metrics` and `comparisons`; the latter has a row per pair, corrected within families."""
    slices = [states.slices for states in analysis.sets]
    metric_table, comparison_table = metrics_rows(slices), comparison_rows(slices)
    uncertainty = analysis.suite.uncertainty
    for index, states in enumerate(analysis.sets):
        for chunk in chunks(states.sums, analysis.weights):
            listed = _listed(analysis, states, chunk)
            for number, metric in enumerate(analysis.suite.metrics):
                found = _estimates(analysis, index, chunk, metric, ordered)
                for place, model in enumerate(analysis.models):
                    made = None
                    if uncertainty is not None:
                        made = interval(
                            found[model].estimate,
                            kind=metric.kind,
                            bounds=metric.range,
                            level=uncertainty.level,
                            form=uncertainty.interval,
                        )
                    hard = analysis.suite.task == "binary" and analysis.suite.models[model].score is None
                    columns = metric_columns(model, metric, found[model], made, hard=hard)
                    metric_table.add((place, index, number), listed, columns, chunk.first)
                for place, pair in enumerate(analysis.pairs):
                    columns = _comparison(analysis, chunk, metric, found, pair)
                    comparison_table.add((place, index, number), listed, columns, chunk.first)
    return metric_table.frame(), comparison_table.frame()


def corrected(analysis: Analysis, comparisons: pl.DataFrame) -> pl.DataFrame:
    """The comparisons that the suite asks for, with adjusted p values."""
    compare = analysis.suite.compare
    if compare is None:
        return comparisons.clear()
    own = comparisons.filter(pl.col("baseline") == compare.baseline)
    return correct(own, compare.correction, compare.family)


def _estimates(
    analysis: Analysis,
    index: int,
    chunk: Chunk,
    metric: Metric,
    ordered: Mapping[tuple[int, str, str], OrderedValues],
) -> dict[str, Found]:
    least = analysis.suite.min_rows if index else 0
    return {
        model: estimate(
            metric,
            model,
            chunk,
            analysis.population,
            analysis.weights,
            ordered.get((index, model, metric.text)),
            least,
        )
        for model in analysis.models
    }


def _comparison(
    analysis: Analysis, chunk: Chunk, metric: Metric, found: Mapping[str, Found], pair: tuple[str, str]
) -> dict[str, object]:
    model, baseline = pair
    uncertainty, compare = analysis.suite.uncertainty, analysis.suite.compare
    difference = paired_difference(
        found[model].estimate,
        found[baseline].estimate,
        equal=chunk.sums.total(f"{model}|differs|{baseline}") == 0,
        level=analysis.level,
        p_value="t" if compare is None else compare.p_value,
    )
    n = np.minimum(found[model].n, found[baseline].n)
    return comparison_columns(model, baseline, metric, difference, n, intervals=uncertainty is not None)


def _listed(analysis: Analysis, states: SetStates, chunk: Chunk) -> NDArray[np.bool_]:
    """Slices that have rows; a predicate is listed without rows, too."""
    if states.slices.slice_set.is_predicate or not states.slices.slice_set.keys:
        return np.ones(chunk.last - chunk.first, dtype=np.bool_)
    counts = [chunk.sums.total(f"{analysis.population.models[model]}n") for model in analysis.models]
    held: NDArray[np.bool_] = np.sum(counts, axis=0) > 0
    return held
