"""The algebra of a run: states to estimates, replicates, intervals and paired differences. Arrays only."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.catalogue.derived import AcrossSlices, Derived
from plmetrics.core.threads import each
from plmetrics.inference.contrasts import Contrasts, Place
from plmetrics.inference.derived import WholeSet, across_slices, by_parts
from plmetrics.inference.estimates import Chunk, Found, Population, chunks, estimate, joined, with_row_error
from plmetrics.inference.intervals.forms import made
from plmetrics.inference.replication import Replication
from plmetrics.inference.slice_comparisons import SliceContrasts
from plmetrics.inference.tables import (
    DELONG,
    TESTS,
    WHOLE,
    correct,
    metric_columns,
    metrics_rows,
    with_nearness,
)
from plmetrics.inference.weights import draw_weights

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.estimate import ReplicateKind
    from plmetrics.inference.finalised import OrderedValues
    from plmetrics.inference.kept import Keeper
    from plmetrics.inference.weights import ResamplingWeights
    from plmetrics.states.rests import RestSums
    from plmetrics.states.sums import SlicedSums
    from plmetrics.suite.model import Suite
    from plmetrics.table.slices import Slices

_WORTH_A_THREAD = 1 << 16
"""Of so many replicates of slices, NumPy's work on one metric outweighs what Python adds to it."""


@dataclass(frozen=True, slots=True)
class SetStates:
    """The states of one slice set: its slices, and the sums of each by block; `rests` are those of all other rows."""

    slices: Slices
    sums: SlicedSums
    rests: RestSums | None = None


@dataclass(frozen=True, slots=True)
class Analysis:
    """What is to be estimated, compared and resampled, and from which states."""

    suite: Suite
    sets: Sequence[SetStates]
    population: Population
    pairs: Sequence[tuple[str, str]]
    weights: ResamplingWeights | None
    units: NDArray[np.int64] | None = None
    replication: Replication = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """What replicates are needed follows from the rest."""
        folds = self.suite.cross_validation
        splits = folds is not None and folds.split is not None
        compared = bool(self.pairs) or self.suite.compare is not None or splits
        made = Replication(self.suite, self.weights, self.units, compared=compared)
        object.__setattr__(self, "replication", made)

    @property
    def level(self) -> float:
        """Level of the intervals."""
        return 0.95 if self.suite.uncertainty is None else self.suite.uncertainty.level

    @property
    def models(self) -> tuple[str, ...]:
        """Model names in suite order."""
        return tuple(self.suite.models)


OrderedByPlace = dict[tuple[int, str, str, "ReplicateKind | None"], "OrderedValues"]


@dataclass(frozen=True, slots=True)
class Part:
    """A metric's estimates in some slices of a set, by model; where pairs of models are equal, and who is listed.

    `found` are those that are judged and compared; `of_kind` are all, by the kind of their replicates.
    """

    found: Mapping[str, Found]
    equal: Mapping[tuple[str, str], NDArray[np.bool_]]
    listed: NDArray[np.bool_]
    first: int
    of_kind: Mapping[ReplicateKind | None, Mapping[str, Found]]


class Estimates:
    """The estimates of every model in a chunk of slices, each made once."""

    def __init__(
        self,
        analysis: Analysis,
        index: int,
        chunk: Chunk,
        ordered: Mapping[tuple[int, str, str, ReplicateKind | None], OrderedValues],
    ) -> None:
        self._analysis = analysis
        self._index = index
        self._chunk = chunk
        self._ordered = ordered
        self._made: dict[tuple[str, ReplicateKind | None], dict[str, Found]] = {}

    def of(self, metric: Metric) -> dict[str, Found]:
        """One metric of every model, as it is judged and compared."""
        return self.of_kind(metric, self._analysis.replication.judged(metric))

    def of_model(self, metric: Metric, model: str) -> Found:
        """One metric of one model, as it is judged and compared."""
        return self._one(metric, model, self._analysis.replication.judged(metric))

    def of_kind(self, metric: Metric, kind: ReplicateKind | None) -> dict[str, Found]:
        """One metric of every model, with replicates of a kind."""
        return {model: self._one(metric, model, kind) for model in self._analysis.models}

    def of_kinds(self, metric: Metric) -> dict[ReplicateKind | None, dict[str, Found]]:
        """One listed metric of every model, with each kind of replicates that it needs."""
        made = {kind: self.of_kind(metric, kind) for kind in self._analysis.replication.kinds(metric)}
        error = self._analysis.suite.standard_error(metric)
        if error is not None and "influence" in made:
            made["influence"] = {
                model: with_row_error(found, error, model, self._chunk, self._analysis.population)
                for model, found in made["influence"].items()
            }
        return made

    def has(self, metric: Metric, model: str) -> bool:
        """Whether values of an ordered metric are there."""
        kind = self._analysis.replication.of_leaf(metric)[0]
        return (self._index, model, metric.text, kind) in self._ordered

    def _one(self, metric: Metric, model: str, kind: ReplicateKind | None) -> Found:
        made = self._made.setdefault((metric.text, kind), {})
        if model not in made:
            made[model] = self._make(metric, model, kind)
        return made[model]

    def weight(self, model: str) -> float:
        """The weight of a model's rows in the first slice."""
        return float(self._chunk.sums.total(f"{self._analysis.population.models[model]}weight")[0])

    def _make(self, metric: Metric, model: str, kind: ReplicateKind | None) -> Found:
        if isinstance(metric, Derived):
            return by_parts(metric, {part.text: self._one(part, model, kind) for part in metric.parts()})
        return estimate(
            metric,
            model,
            self._chunk,
            self._analysis.population,
            self._analysis.replication.weights(kind),
            self._ordered.get((self._index, model, metric.text, kind)),
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
            (part.text, kind): part
            for metric in metrics
            for _, own in metric.per_class()
            for part in own.parts()
            for kind in analysis.replication.kinds(own)
        }
        self._overall = overall
        self._found: dict[tuple[str, str, ReplicateKind | None], list[Found]] = {}
        self._taken: list[Taken] = []

    def add(self, estimates: Estimates, taken: Taken) -> None:
        """Take in a chunk of slices."""
        if not self._leaves:
            return
        self._taken.append(taken)
        for (text, kind), part in self._leaves.items():
            for model, found in estimates.of_kind(part, kind).items():
                self._found.setdefault((text, model, kind), []).append(found)

    def parts(self, metric: AcrossSlices) -> Iterator[tuple[int, Part]]:
        """The metric as an estimate of the set as a whole, or of each slice, with the number of the set."""
        indices = list(dict.fromkeys(taken.index for taken in self._taken))
        names = [name for index in indices for name in self._analysis.sets[index].slices.texts()]
        replication, models = self._analysis.replication, self._analysis.models
        of_kind = {
            kind: {model: self._made(metric, model, names, kind) for model in models}
            for kind in replication.kinds(metric)
        }
        judged = replication.judged(metric)
        if not metric.for_each:
            pairs = self._analysis.pairs
            equal = {pair: np.array([all(part.equal[pair].all() for part in self._taken)]) for pair in pairs}
            yield indices[0], Part(of_kind[judged], equal, np.array([True]), WHOLE, of_kind)
            return
        start = 0
        for taken in self._taken:
            places = np.arange(start, start + len(taken.listed))
            start += len(places)
            own = {
                kind: {model: whole.take(places) for model, whole in found.items()}
                for kind, found in of_kind.items()
            }
            yield taken.index, Part(own[judged], taken.equal, taken.listed, taken.first, own)

    def _made(
        self, metric: AcrossSlices, model: str, names: Sequence[str], kind: ReplicateKind | None
    ) -> Found:
        texts = [part.text for part in metric.parts()]
        read = metric.parts() if metric.reads_overall else ()
        here = WholeSet(
            names,
            np.concatenate([taken.listed for taken in self._taken]),
            {text: joined(self._found[text, model, kind]) for text in texts},
            {part.text: self._overall.of_kind(part, kind)[model] for part in read},
            self._overall.weight(model),
            self._analysis.replication.blocks,
        )
        return across_slices(metric, here)


def resampling(suite: Suite, units: NDArray[np.int64]) -> ResamplingWeights | None:
    """W of the run, None where nothing is resampled."""
    if suite.uncertainty is None or not Replication(suite).draws():
        return None
    return draw_weights(units, suite.uncertainty.replicates, suite.uncertainty.seed)


def tables(
    analysis: Analysis,
    ordered: Mapping[tuple[int, str, str, ReplicateKind | None], OrderedValues],
    keeper: Keeper | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `metrics` and `comparisons`, the latter with a row per pair; also of what only gates look at.

    Replicates are handed to the `keeper`, if there is one.
    """
    return _Tables(analysis, ordered, keeper).frames()


class _Tables:
    """The tables `metrics` and `comparisons` in the making: set by set, a few slices at a time."""

    def __init__(
        self,
        analysis: Analysis,
        ordered: Mapping[tuple[int, str, str, ReplicateKind | None], OrderedValues],
        keeper: Keeper | None,
    ) -> None:
        self._analysis = analysis
        self._ordered = ordered
        self._keeper = keeper
        self._metrics = metrics_rows([states.slices for states in analysis.sets])
        self._contrasts = Contrasts(analysis)
        self._numbers = {metric.text: number for number, metric in enumerate(analysis.suite.computed)}
        (chunk,) = chunks(analysis.sets[0].sums, analysis.weights)
        self._overall = self._estimates(0, chunk)

    def frames(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Both tables, whole."""
        sets = enumerate(self._analysis.sets)
        for name, group in groupby(sets, lambda item: item[1].slices.slice_set.name):
            self._add_sets(name, dict(group))
        return self._metrics.frame(), self._contrasts.frame()

    def _estimates(self, index: int, chunk: Chunk) -> Estimates:
        return Estimates(self._analysis, index, chunk, self._ordered)

    def _add_sets(self, name: str, members: Mapping[int, SetStates]) -> None:
        """The sets of one name, and the metrics over their slices."""
        sliced = SliceContrasts(self._analysis, self._contrasts, members, self._overall, self._estimates)
        over = self._analysis.suite.over(name)
        whole = Whole(self._analysis, over, self._overall)
        for index, states in members.items():
            for chunk in chunks(states.sums, self._analysis.weights):
                listed = _listed(self._analysis, states, chunk)
                estimates = self._estimates(index, chunk)
                whole.add(estimates, self._add_chunk(index, chunk, name, listed, estimates))
                sliced.add(index, chunk, estimates, listed)
        sliced.finish()
        for metric in over:
            for number, (named, own) in enumerate(metric.per_class()):
                assert isinstance(own, AcrossSlices)
                for index, part in whole.parts(own):
                    self._write(Place(index, metric, number, named), own, part)

    def _add_chunk(
        self, index: int, chunk: Chunk, name: str, listed: NDArray[np.bool_], estimates: Estimates
    ) -> Taken:
        """Some slices of a set: a metric a thread where there are many numbers."""
        equal = {pair: _equal(chunk, *pair) for pair in self._analysis.pairs}

        def add(item: tuple[Place, Metric]) -> None:
            place, own = item
            of_kind = estimates.of_kinds(own)
            judged = of_kind[self._analysis.replication.judged(own)]
            self._write(place, own, Part(judged, equal, listed, chunk.first, of_kind))

        items = [
            (Place(index, metric, number, named), own)
            for metric in self._analysis.suite.listed(name)
            for number, (named, own) in enumerate(metric.per_class())
        ]
        if _is_large(self._analysis, chunk):
            if self._analysis.replication.draws_sums:
                chunk.sums.draw()
            each(add, items)
        else:
            for item in items:
                add(item)
        return Taken(index, chunk.first, listed, equal)

    def _write(self, place: Place, own: Metric, part: Part) -> None:
        """The rows of a metric, or of a class of it, in some slices."""
        analysis, metric = self._analysis, place.metric
        for position, model in enumerate(analysis.models):
            where = (position, place.index, self._numbers[metric.text], place.number)
            for turn, columns in enumerate(_metric_columns(analysis, model, metric, own, part)):
                self._metrics.add(where, part.listed, columns | {"class": place.named}, part.first, turn)
        self._contrasts.models(place, part)
        if self._keeper is not None:
            self._keeper.add(place.index, metric, part, place.named)


def corrected(analysis: Analysis, comparisons: pl.DataFrame) -> pl.DataFrame:
    """The comparisons that the suite asks for, with adjusted p values."""
    compare = analysis.suite.compare
    if compare is None:
        return comparisons.clear()
    asked = [f"{model}|{baseline}" for model, baseline in compare.pairs_of(analysis.models)]
    pair = pl.concat_str(["model", "baseline"], separator="|")
    test = pl.col("test")
    further = [one.text for one in compare.tests]
    ours = test.is_in([*TESTS.values(), DELONG]) & ~test.is_in(further)
    bootstrap = (pl.col("contrast") == "model") & ours.fill_null(value=True)
    gated = (test.eq_missing(DELONG) & ~pair.is_in(asked)).fill_null(value=False)
    own = comparisons.filter(~gated, ~bootstrap | (pair.is_in(asked) & pl.col("scale").is_in(compare.scales)))
    return with_nearness(correct(own, compare.correction, compare.family), own, analysis.level)


def _metric_columns(
    analysis: Analysis, model: str, metric: Metric, own: Metric, part: Part
) -> Iterator[dict[str, object]]:
    """The columns of a metric, or of one class of it, once for each method of its intervals."""
    hard = analysis.suite.task == "binary" and analysis.suite.models[model].score is None
    methods = analysis.replication.methods(own)
    if not methods:
        yield metric_columns(model, metric, part.found[model], None, hard=hard)
    for chosen in methods:
        found = part.of_kind[chosen.replicates][model]
        estimates = {kind: part.of_kind[kind][model].estimate for kind in chosen.reads}
        interval = made(estimates, chosen, kind=own.kind, bounds=own.range, level=analysis.level)
        columns = metric_columns(model, metric, found, interval, hard=hard)
        if chosen.doubt:
            columns["note"] = np.where(found.note == None, chosen.doubt, found.note)  # noqa: E711 (element by element)
        yield columns


def _is_large(analysis: Analysis, chunk: Chunk) -> bool:
    """Whether there are so many replicates that metrics are worth a thread each."""
    replicates = 1 if analysis.weights is None else len(analysis.weights.counts)
    return replicates * (chunk.last - chunk.first) >= _WORTH_A_THREAD


def _equal(chunk: Chunk, model: str, baseline: str) -> NDArray[np.bool_]:
    """In which slices two models have the same score on every row."""
    equal: NDArray[np.bool_] = chunk.sums.total(f"{model}|differs|{baseline}") == 0
    return equal


def _listed(analysis: Analysis, states: SetStates, chunk: Chunk) -> NDArray[np.bool_]:
    """All slices that were found, also where each row is left out, and folds that have rows."""
    if not states.slices.slice_set.is_derived:
        return np.ones(chunk.last - chunk.first, dtype=np.bool_)
    counts = [chunk.sums.total(f"{analysis.population.models[model]}n") for model in analysis.models]
    held: NDArray[np.bool_] = np.sum(counts, axis=0) > 0
    return held
