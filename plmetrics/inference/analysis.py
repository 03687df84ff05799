"""The algebra of a run: states to estimates, replicates, intervals and paired differences. Arrays only."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.catalogue.derived import AcrossSlices, Derived
from plmetrics.inference.comparisons.paired import paired_difference
from plmetrics.inference.curves.drawing import Drawing
from plmetrics.inference.curves.residuals import histogram_edges
from plmetrics.inference.derived import WholeSet, across_slices, by_parts
from plmetrics.inference.estimates import Chunk, Found, Population, chunks, estimate, joined, ordered_values
from plmetrics.inference.intervals.ladder import interval
from plmetrics.inference.ranks import rank_values
from plmetrics.inference.tables import (
    WHOLE,
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
    from plmetrics.inference.finalised import OrderedValues
    from plmetrics.inference.weights import ResamplingWeights
    from plmetrics.states.pairs import Pairs, SlicedPairs
    from plmetrics.states.scores import SlicedScores
    from plmetrics.states.sums import SlicedSums
    from plmetrics.suite.model import Suite
    from plmetrics.suite.sections import Curve
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


@dataclass(frozen=True, slots=True)
class Part:
    """A metric's estimates in some slices of a set, by model; where pairs of models are equal, and who is listed."""

    found: Mapping[str, Found]
    equal: Mapping[tuple[str, str], NDArray[np.bool_]]
    listed: NDArray[np.bool_]
    first: int


class Estimates:
    """The estimates of every model in a chunk of slices, each made once."""

    def __init__(
        self,
        analysis: Analysis,
        index: int,
        chunk: Chunk,
        ordered: Mapping[tuple[int, str, str], OrderedValues],
    ) -> None:
        self._analysis = analysis
        self._index = index
        self._chunk = chunk
        self._ordered = ordered
        self._made: dict[str, dict[str, Found]] = {}

    def of(self, metric: Metric) -> dict[str, Found]:
        """One metric of every model."""
        if metric.text not in self._made:
            self._made[metric.text] = {model: self._make(metric, model) for model in self._analysis.models}
        return self._made[metric.text]

    def weight(self, model: str) -> float:
        """The weight of a model's rows in the first slice."""
        return float(self._chunk.sums.total(f"{self._analysis.population.models[model]}weight")[0])

    def _make(self, metric: Metric, model: str) -> Found:
        if isinstance(metric, Derived):
            return by_parts(metric, {part.text: self.of(part)[model] for part in metric.parts()})
        return estimate(
            metric,
            model,
            self._chunk,
            self._analysis.population,
            self._analysis.weights,
            self._ordered.get((self._index, model, metric.text)),
            self._analysis.suite.min_rows if self._index else 0,
        )


@dataclass(frozen=True, slots=True)
class Taken:
    """A chunk of slices that `Whole` has seen: where it lies, who is listed, and where pairs of models are equal."""

    index: int
    first: int
    listed: NDArray[np.bool_]
    equal: Mapping[tuple[str, str], NDArray[np.bool_]]


class Whole:
    """What is made from others in all slices of a set, collected chunk by chunk. `overall` are those of all rows."""

    def __init__(self, analysis: Analysis, metrics: Sequence[AcrossSlices], overall: Estimates) -> None:
        self._analysis = analysis
        self._leaves = {
            part.text: part for metric in metrics for _, own in metric.per_class() for part in own.parts()
        }
        self._overall = overall
        self._found: dict[tuple[str, str], list[Found]] = {}
        self._taken: list[Taken] = []

    def add(self, estimates: Estimates, taken: Taken) -> None:
        """Take in a chunk of slices."""
        if not self._leaves:
            return
        self._taken.append(taken)
        for text, part in self._leaves.items():
            for model, found in estimates.of(part).items():
                self._found.setdefault((text, model), []).append(found)

    def parts(self, metric: AcrossSlices) -> Iterator[tuple[int, Part]]:
        """The metric as an estimate of the set as a whole, or of each slice, with the number of the set."""
        indices = list(dict.fromkeys(taken.index for taken in self._taken))
        names = [name for index in indices for name in self._analysis.sets[index].slices.texts()]
        found = {model: self._made(metric, model, names) for model in self._analysis.models}
        if not metric.for_each:
            pairs = self._analysis.pairs
            equal = {pair: np.array([all(part.equal[pair].all() for part in self._taken)]) for pair in pairs}
            yield indices[0], Part(found, equal, np.array([True]), WHOLE)
            return
        start = 0
        for taken in self._taken:
            places = np.arange(start, start + len(taken.listed))
            start += len(places)
            own = {model: whole.take(places) for model, whole in found.items()}
            yield taken.index, Part(own, taken.equal, taken.listed, taken.first)

    def _made(self, metric: AcrossSlices, model: str, names: Sequence[str]) -> Found:
        weights = self._analysis.weights
        texts = [part.text for part in metric.parts()]
        read = metric.parts() if metric.reads_overall else ()
        here = WholeSet(
            names,
            np.concatenate([taken.listed for taken in self._taken]),
            {text: joined(self._found[text, model]) for text in texts},
            {part.text: self._overall.of(part)[model] for part in read},
            self._overall.weight(model),
            0 if weights is None else weights.counts.shape[1],
        )
        return across_slices(metric, here)


def resampling(suite: Suite, units: NDArray[np.int64]) -> ResamplingWeights | None:
    """W of the run, None without intervals or where a single block leaves nothing to resample."""
    if suite.uncertainty is None:
        return None
    return draw_weights(units, suite.uncertainty.replicates, suite.uncertainty.seed)


def ordered_stage(
    analysis: Analysis, scores: Iterator[tuple[str, str | None, Callable[[int], SlicedScores]]]
) -> tuple[OrderedByPlace, pl.DataFrame]:
    """Ordered metrics and curves of every model and slice set.

    Scores come model by model, with the key of the value they are if they are none, and as a function that gives those
    of a slice set by its number.
    """
    drawn = None if analysis.weights is None else analysis.weights.counts.astype(np.float64)
    out: OrderedByPlace = {}
    drawing = Drawing(analysis.level, drawn)
    for model, value, of_set in scores:
        for index, states in enumerate(analysis.sets):
            drawn_here = _curves_of(analysis, states.slices) if value is None else []
            needed = analysis.suite.needed(states.slices.slice_set.name)
            metrics = [metric for metric in needed if metric.family == "scores" and _order(metric) == value]
            if not metrics and not drawn_here:
                continue
            sliced = of_set(index)
            for text, values in ordered_values(metrics, sliced, drawn).items():
                out[index, model, text] = values
            for curve in drawn_here:
                drawing.scores(curve, model, states.slices, sliced)
    return out, drawing.frame()


def rank_stage(
    analysis: Analysis, rows: Sequence[tuple[str, Pairs, Callable[[int], SlicedPairs]]]
) -> OrderedByPlace:
    """Rank correlations of every model and slice set; rows come as for `row_curves`."""
    drawn = None if analysis.weights is None else analysis.weights.counts.astype(np.float64)
    out: OrderedByPlace = {}
    for model, _, of_set in rows:
        for index, states in enumerate(analysis.sets):
            needed = analysis.suite.needed(states.slices.slice_set.name)
            metrics = [metric for metric in needed if metric.family == "ranks"]
            if metrics:
                for text, values in rank_values(metrics, of_set(index), drawn).items():
                    out[index, model, text] = values
    return out


def row_curves(
    analysis: Analysis,
    rows: Sequence[tuple[str, Pairs, Callable[[int], SlicedPairs]]],
    classes: Sequence[str] = (),
) -> pl.DataFrame:
    """The curves of labels and predictions, of every model and slice set that asks for them.

    Rows come model by model, with a function that gives those of a slice set by its number.
    """
    drawing = Drawing(analysis.level, None, classes)
    numbers = {
        "residual_histogram": [pairs.error for _, pairs, _ in rows],
        "label_histogram": [pairs.label for _, pairs, _ in rows],
    }
    edges = {}
    for name, parts in numbers.items():
        held = [part for part in parts if len(part)]
        if held:
            ends = np.array([(part.min(), part.max()) for part in held])
            edges[name] = histogram_edges(ends[:, 0], ends[:, 1])
    for model, _, of_set in rows:
        for index, states in enumerate(analysis.sets):
            wanted = _curves_of(analysis, states.slices)
            if not wanted:
                continue
            pairs = of_set(index)
            for curve in wanted:
                drawing.rows(curve, model, states.slices, pairs, edges)
    return drawing.frame()


def _order(metric: Metric) -> str | None:
    """The key of what a metric orders rows by, None for the score."""
    value = metric.values()
    return None if value is None else value.key


def _curves_of(analysis: Analysis, slices: Slices) -> list[Curve]:
    """The curves that are drawn for a slice set, each once."""
    name = slices.slice_set.name
    wanted = [curve for curve in analysis.suite.curves if name == "overall" or name in curve.slices]
    return list({curve.model_copy(update={"slices": ()}): curve for curve in wanted}.values())


def tables(
    analysis: Analysis, ordered: Mapping[tuple[int, str, str], OrderedValues]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `metrics` and `comparisons`, the latter with a row per pair; also of what only gates look at."""
    slices = [states.slices for states in analysis.sets]
    metric_table, comparison_table = metrics_rows(slices), comparison_rows(slices)
    numbers = {metric.text: number for number, metric in enumerate(analysis.suite.computed)}
    (chunk,) = chunks(analysis.sets[0].sums, analysis.weights)
    overall = Estimates(analysis, 0, chunk, ordered)

    def write(index: int, metric: Metric, part: Part, number: int = 0, named: str = "") -> None:
        for place, model in enumerate(analysis.models):
            columns = _metric_columns(analysis, model, metric, part.found[model]) | {"class": named}
            metric_table.add((place, index, numbers[metric.text], number), part.listed, columns, part.first)
        for place, pair in enumerate(analysis.pairs):
            columns = _comparison(analysis, metric, part, pair) | {"class": named}
            comparison_table.add(
                (place, index, numbers[metric.text], number), part.listed, columns, part.first
            )

    def one_set(index: int, states: SetStates, name: str, whole: Whole) -> None:
        for chunk in chunks(states.sums, analysis.weights):
            listed = _listed(analysis, states, chunk)
            estimates = Estimates(analysis, index, chunk, ordered)
            equal = {pair: _equal(chunk, *pair) for pair in analysis.pairs}
            for metric in analysis.suite.listed(name):
                for number, (named, own) in enumerate(metric.per_class()):
                    part = Part(estimates.of(own), equal, listed, chunk.first)
                    write(index, metric, part, number, named)
            whole.add(estimates, Taken(index, chunk.first, listed, equal))

    for name, members in groupby(enumerate(analysis.sets), lambda item: item[1].slices.slice_set.name):
        over = analysis.suite.over(name)
        whole = Whole(analysis, over, overall)
        for index, states in members:
            one_set(index, states, name, whole)
        for metric in over:
            for number, (named, own) in enumerate(metric.per_class()):
                assert isinstance(own, AcrossSlices)
                for index, part in whole.parts(own):
                    write(index, metric, part, number, named)
    return metric_table.frame(), comparison_table.frame()


def corrected(analysis: Analysis, comparisons: pl.DataFrame) -> pl.DataFrame:
    """The comparisons that the suite asks for, with adjusted p values."""
    compare = analysis.suite.compare
    if compare is None:
        return comparisons.clear()
    own = comparisons.filter(pl.col("baseline") == compare.baseline)
    return correct(own, compare.correction, compare.family)


def _metric_columns(analysis: Analysis, model: str, metric: Metric, found: Found) -> dict[str, object]:
    uncertainty = analysis.suite.uncertainty
    made = None
    if uncertainty is not None:
        made = interval(
            found.estimate,
            kind=metric.kind,
            bounds=metric.range,
            level=uncertainty.level,
            form=uncertainty.interval,
        )
    hard = analysis.suite.task == "binary" and analysis.suite.models[model].score is None
    return metric_columns(model, metric, found, made, hard=hard)


def _comparison(analysis: Analysis, metric: Metric, part: Part, pair: tuple[str, str]) -> dict[str, object]:
    model, baseline = pair
    found = part.found
    uncertainty, compare = analysis.suite.uncertainty, analysis.suite.compare
    same = analysis.population.threshold(metric, model) == analysis.population.threshold(metric, baseline)
    difference = paired_difference(
        found[model].estimate,
        found[baseline].estimate,
        equal=part.equal[pair] & same,
        level=analysis.level,
        p_value="t" if compare is None else compare.p_value,
        absent="not_estimable" if metric.kind == "extreme" else "not_requested",
    )
    n = np.minimum(found[model].n, found[baseline].n)
    return comparison_columns(model, baseline, metric, difference, n, intervals=uncertainty is not None)


def _equal(chunk: Chunk, model: str, baseline: str) -> NDArray[np.bool_]:
    """In which slices two models have the same score on every row."""
    equal: NDArray[np.bool_] = chunk.sums.total(f"{model}|differs|{baseline}") == 0
    return equal


def _listed(analysis: Analysis, states: SetStates, chunk: Chunk) -> NDArray[np.bool_]:
    """Slices that have rows; a predicate is listed without rows, too."""
    if states.slices.slice_set.is_predicate or not states.slices.slice_set.keys:
        return np.ones(chunk.last - chunk.first, dtype=np.bool_)
    counts = [chunk.sums.total(f"{analysis.population.models[model]}n") for model in analysis.models]
    held: NDArray[np.bool_] = np.sum(counts, axis=0) > 0
    return held
