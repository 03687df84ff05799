"""Estimates from rows in order, model by model: ordered metrics, rank correlations and curves of every slice set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plmetrics.catalogue.needs import OrderedRows, Ranks
from plmetrics.core.results import CURVES_SCHEMA
from plmetrics.engine.order.orderings import AREAS, RANKS
from plmetrics.engine.order.score_bins import drawn_from
from plmetrics.inference.metric_values import MetricValues
from plmetrics.inference.ordered.metrics import grid_rank_values, ordered_values, rank_values
from plmetrics.inference.records import end_to_end
from plmetrics.inference.subject import Analysis, SetStates, complement_place
from plmetrics.states.class_probabilities import class_value_text
from plmetrics.states.scores.grid.sliced_grid import SlicedGrid

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.analysis import OrderedByPlace
    from plmetrics.inference.curves.drawing import Drawing
    from plmetrics.states.ranks import Pairs, SlicedPairs
    from plmetrics.states.scores.sliced_scores import SlicedScores
    from plmetrics.suite.sections.basics import Curve
    from plmetrics.table.slices import SliceSet

    ScoresOfModels = Iterator[tuple[str, str | None, Callable[[int], SlicedScores]]]


def ordered_stage(
    analysis: Analysis,
    scores: ScoresOfModels,
    *,
    exact: bool,
    classes: Sequence[str],
    spans: Mapping[str, tuple[float, float]],
) -> tuple[OrderedByPlace, pl.DataFrame]:
    """Ordered metrics and curves of every model and slice set.

    Scores come model by model, with the key of the value they are if they are none, and as a function that gives those
    of a slice set by its number. Only `exact` ones, which are sorted rows, give those of a complement.
    """
    out: OrderedByPlace = {}
    drawing = _drawing(analysis, spans)
    by_value = [_by_value(analysis.suite.state_metrics(part.slices.slice_set.name)) for part in analysis.sets]
    for model, value, of_set in scores:
        if value is not None and value.startswith(AREAS):
            out |= _paired_areas(analysis.sets, model, value.removeprefix(AREAS), of_set)
            continue
        for index, states in _sets_with_slices(analysis.sets):
            drawn_here = _curves_of(analysis.suite.row_curves, states.slices.slice_set, value)
            metrics = by_value[index].get(value, [])
            values = grid_rank_values if value == RANKS else ordered_values
            if not metrics and not drawn_here:
                continue
            sliced = of_set(index)
            rows = SliceRows(index, model, sliced, of_set if exact else None)
            out |= _values(analysis, rows, metrics, values)
            if drawing is not None and drawn_here:
                of_class = None if value is None else class_value_text(value, classes)
                drawing.scores(drawn_here, model, states.slices, sliced, of_class)
    return out, CURVES_SCHEMA.to_frame() if drawing is None else drawing.frame()


def _drawing(analysis: Analysis, spans: Mapping[str, tuple[float, float]]) -> Drawing | None:
    """Drawing of the curves from scores; None without any: their modules are not loaded then."""
    if not analysis.suite.row_curves:
        return None
    from plmetrics.inference.curves.drawing import Drawing

    return Drawing(analysis, spans)


def _sets_with_slices(sets: Sequence[SetStates]) -> Iterator[tuple[int, SetStates]]:
    """Slice sets with their numbers, without empty ones: excluded values may be all there are."""
    for index, states in enumerate(sets):
        if len(states.slices):
            yield index, states


def _paired_areas(
    sets: Sequence[SetStates], model: str, baseline: str, of_set: Callable[[int], SlicedScores]
) -> OrderedByPlace:
    """By slice set the difference of two models' areas, with the variances of placements, under the baseline's name."""
    from plmetrics.states.joint_counts import paired_areas

    out: OrderedByPlace = {}
    for index, _ in _sets_with_slices(sets):
        sliced = of_set(index)
        assert isinstance(sliced, SlicedGrid)
        assert sliced.label_edges is not None
        slices = (counts for _, _, part in sliced.parts("joint") for counts in part)
        areas = paired_areas(slices, len(sliced.edges) + 1, len(sliced.label_edges) + 1)
        variances = areas.positive_variance, areas.negative_variance
        values = MetricValues(areas.difference, [], None, None, placements=variances)
        out[index, model, f"{AREAS}{baseline}", None] = values
    return out


def rank_stage(
    analysis: Analysis, rows: Sequence[tuple[str, Pairs, Callable[[int], SlicedPairs]]]
) -> OrderedByPlace:
    """Rank correlations of every model and slice set.

    Rows come model by model, with a function that gives those of a slice set by its number.
    """
    out: OrderedByPlace = {}
    for model, _, of_set in rows:
        for index, states in _sets_with_slices(analysis.sets):
            needed = analysis.suite.state_metrics(states.slices.slice_set.name)
            metrics = [metric for metric in needed if isinstance(metric.needs, Ranks)]
            if metrics:
                sliced = SliceRows(index, model, of_set(index), of_set)
                out |= _values(analysis, sliced, metrics, rank_values)
    return out


@dataclass(frozen=True, slots=True)
class SliceRows:
    """One model's rows in a slice set; `of_set` gives those of a complement, None where there are none."""

    index: int
    model: str
    rows: SlicedScores | SlicedPairs
    of_set: Callable[..., SlicedScores | SlicedPairs] | None


def _values(
    analysis: Analysis,
    sliced: SliceRows,
    metrics: Sequence[Metric],
    values: Callable[..., Mapping[str, MetricValues]],
) -> OrderedByPlace:
    """Ordered metrics of the slices of a set and of their complements, with each kind of their replicates."""
    out: OrderedByPlace = {}
    states = analysis.sets[sliced.index]
    varying = analysis.suite.uncertainty is not None and values is ordered_values
    for kind, of_kind in analysis.replication.by_kind(metrics).items():
        weights = analysis.replication.weights(kind)
        here = weights if states.slices.slice_set.resampled else None
        placements = {"placements": True} if kind is None and varying else {}
        for text, ordered in values(of_kind, sliced.rows, here, **placements).items():
            out[sliced.index, sliced.model, text, kind] = ordered
        if sliced.of_set is None or states.complements is None or not states.complements.compared:
            continue
        # A rest holds nearly all rows: rests are sorted rows of their own, made and dropped one by one.
        of_complements = [
            values(of_kind, sliced.of_set(sliced.index, number), weights)
            for number in range(states.complements.slices)
        ]
        for text in of_complements[0] if of_complements else ():
            place = (complement_place(sliced.index), sliced.model, text, kind)
            out[place] = end_to_end([of_complement[text] for of_complement in of_complements])
    return out


def _by_value(metrics: Sequence[Metric]) -> dict[str | None, list[Metric]]:
    """Metrics by the key of the number whose order they need, None for the score."""
    out: dict[str | None, list[Metric]] = {}
    for metric in metrics:
        match metric.needs:
            case Ranks():
                out.setdefault(RANKS, []).append(metric)
            case OrderedRows(by=by):
                out.setdefault(None if by is None else by.key, []).append(metric)
    return out


def _curves_of(row_curves: Sequence[Curve], slice_set: SliceSet, value: str | None) -> list[Curve]:
    """Curves of a slice set from scores, or by its key from another value, each once."""
    name = slice_set.name
    requested = [curve for curve in row_curves if name == "overall" or name in curve.slices]
    requested = [curve for curve in requested if drawn_from(curve, value)]
    return list({curve.model_copy(update={"slices": ()}): curve for curve in requested}.values())
