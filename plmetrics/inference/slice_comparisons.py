"""Slice comparisons: each slice of a set against all rows, its complement, another slice, or the one before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from plmetrics.catalogue.metric import Metric, leaves
from plmetrics.catalogue.needs import OrderedRows, Ranks
from plmetrics.core.ops import Codes, Flags
from plmetrics.core.slice_texts import slice_place
from plmetrics.inference.chunks import Chunk, EstimateColumns, chunk_of, concatenate_estimates
from plmetrics.inference.contrasts import Contrasts, joined_texts, pair_places, sides_of
from plmetrics.inference.estimate import Estimate
from plmetrics.inference.subject import Analysis, MetricPlace, SetStates, complement_place
from plmetrics.suite.sections.basics import ALL, PAIRS, REST
from plmetrics.table.tags import result_order

if TYPE_CHECKING:
    from plmetrics.inference.estimates import Estimates

    Make = Callable[[int, Chunk], Estimates]

NEEDS_ROWS = "needs_exact"
"""Status of a complement with an ordered metric on a grid, which has no complements."""


class SliceContrasts:
    """Contrasts of the slices of one set, as the suite asks; its estimates come chunk by chunk.

    `members` are the parts of the set by number, more than one where it is made of conditions or tags. `make` gives
    the estimates of a chunk.
    """

    def __init__(
        self,
        analysis: Analysis,
        contrasts: Contrasts,
        members: Mapping[int, SetStates],
        overall: Estimates,
        make: Make,
    ) -> None:
        name = next(iter(members.values())).slices.slice_set.name
        compare = analysis.suite.compare
        self._requested = () if compare is None else compare.slices.get(name, ())
        self._analysis = analysis
        self._contrasts = contrasts
        self._make = make
        self._overall = overall
        self._members = members
        self._texts = (
            {index: states.slices.texts() for index, states in members.items()} if self._requested else {}
        )
        anchors = {text: self._anchor(text) for text in self._requested if text not in {REST, ALL, PAIRS}}
        self._anchors = {text: anchor for text, anchor in anchors.items() if anchor is not None}
        self._requested = tuple(text for text in self._requested if anchors.get(text, text) is not None)
        self._estimates: dict[tuple[str, str, str], list[EstimateColumns]] = {}
        self._places: dict[tuple[str, str], MetricPlace] = {}
        self._listed: list[Flags] = []

    def _anchor(self, text: str) -> tuple[int, int, Estimates] | None:
        """The place of a slice, and its estimates; None where an interval has no row in it."""
        places = [(index, number) for index, texts in self._texts.items() for number in range(len(texts))]
        place = slice_place(text, joined_texts(self._texts).tolist())
        if place is None:
            return None
        index, number = places[place]
        chunk = chunk_of(self._members[index].sums, self._analysis.weights, number, number + 1)
        return index, number, self._make(index, chunk)

    def add(self, index: int, chunk: Chunk, estimates: Estimates, listed: Flags) -> None:
        """Compare the slices of a chunk."""
        if not self._requested:
            return
        states = self._members[index]
        complements = None
        if REST in self._requested and states.complements is not None:
            complement_chunk = chunk_of(states.complements, self._analysis.weights, chunk.first, chunk.last)
            complements = self._make(complement_place(index), complement_chunk)
        if PAIRS in self._requested:
            self._listed.append(listed)
        for metric in self._analysis.suite.metrics_in(states.slices.slice_set.name):
            for number, (named, member) in enumerate(metric.per_class()):
                place = MetricPlace(index, metric, number, named)
                self._chunk(place, member, chunk, estimates.of(member), np.flatnonzero(listed), complements)

    def _chunk(
        self,
        place: MetricPlace,
        metric: Metric,
        chunk: Chunk,
        estimates: Mapping[str, EstimateColumns],
        index: Codes,
        complements: Estimates | None,
    ) -> None:
        for kind, reference in enumerate(self._requested):
            for model, of_model in estimates.items():
                if reference == PAIRS:
                    self._estimates.setdefault((place.metric.text, place.class_name, model), []).append(
                        of_model
                    )
                    self._places[place.metric.text, place.class_name] = place
                    continue
                numbers, contrast = index, "rest" if reference == REST else "slice"
                if reference == REST:
                    assert complements is not None
                    other = self._complement(metric, complements, model, of_model)
                    others = numbers
                else:
                    base, numbers = self._base(reference, place.index, chunk, numbers)
                    other, others = base.of(metric)[model], np.zeros(len(numbers), dtype=np.int64)
                sides = sides_of(of_model, other, numbers, others, same=reference == ALL)
                self._contrasts.slices(place, kind, contrast, model, sides, reference, numbers + chunk.first)

    def _base(self, reference: str, index: int, chunk: Chunk, places: Codes) -> tuple[Estimates, Codes]:
        """References of the slices, and the slices with one: none is compared with itself."""
        if reference == ALL:
            return self._overall, places
        its_index, its_number, base = self._anchors[reference]
        return base, places[places + chunk.first != its_number] if its_index == index else places

    def _complement(
        self, metric: Metric, complements: Estimates, model: str, estimates: EstimateColumns
    ) -> EstimateColumns:
        """The estimates of the complements; without a value where a metric of theirs was not ordered."""
        ordered = [leaf for leaf in leaves(metric) if isinstance(leaf.needs, (OrderedRows, Ranks))]
        if all(complements.has(leaf, model) for leaf in ordered):
            return complements.of_model(metric, model)
        return _without_value(estimates)

    def finish(self) -> None:
        """Compare each slice with those before it, all of them being known."""
        if not self._estimates:
            return
        kind = self._requested.index(PAIRS)
        texts = joined_texts(self._texts)
        listed = np.concatenate(self._listed)
        order = result_order([states.slices for states in self._members.values()])
        later, earlier = pair_places(
            (np.flatnonzero(listed) if order is None else order[listed[order]]).tolist()
        )
        starts = np.cumsum([0, *(len(slice_texts) for slice_texts in self._texts.values())])
        for (text, named, model), parts in self._estimates.items():
            combined = concatenate_estimates(parts)
            for index, low, high in zip(self._texts, starts[:-1], starts[1:], strict=True):
                in_set = (later >= low) & (later < high)
                sides = sides_of(combined, combined, later[in_set], earlier[in_set])
                place = self._places[text, named]
                place = MetricPlace(index, place.metric, place.number, named)
                self._contrasts.slices(
                    place, kind, "slice", model, sides, texts[earlier[in_set]], later[in_set] - low
                )


def _without_value(estimates: EstimateColumns) -> EstimateColumns:
    """Estimates that need the rows, which complements of a merge do not have."""
    estimate = estimates.estimate
    shape = estimate.value.shape
    replicates = None if estimate.replicates is None else np.broadcast_to(np.nan, estimate.replicates.shape)
    status, blocks = np.full(shape, NEEDS_ROWS, dtype=object), np.zeros(shape, dtype=np.int64)
    nothing = Estimate(np.full(shape, np.nan), status, blocks, replicates, ())
    note = np.full(shape, None, dtype=object)
    return EstimateColumns(nothing, estimates.n, estimates.weight, None, note)
