"""The sums of each slice set, and of its complements, from those of cubes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.states.complements import RestSums
from plmetrics.suite.sections.basics import REST

if TYPE_CHECKING:
    from plmetrics.engine.aggregate.aggregation import Aggregated
    from plmetrics.engine.prepared import Prepared
    from plmetrics.states.sums import SlicedSums


def sliced_rests(prepared: Prepared, aggregated: Aggregated) -> list[RestSums | None]:
    """The sums of the rest of every slice, of the sets that are compared with that or decomposed."""
    compare = prepared.request.suite.compare
    out: list[RestSums | None] = []
    for slices in prepared.slices:
        name = slices.slice_set.name
        asked = compare is not None and REST in compare.slices.get(name, ())
        if compare is None or not (asked or name in compare.decompose):
            out.append(None)
            continue
        index = prepared.cube_of(slices)
        state = aggregated.sums[index]
        codes = prepared.cubes[index].slice_codes(slices, state.cell)
        out.append(RestSums(state.roll_up(codes + 1, len(slices) + 1), asked))
    return out


def sliced_sums(prepared: Prepared, aggregated: Aggregated) -> list[SlicedSums]:
    """The sums of every slice set, rolled up from its cube."""
    out: list[SlicedSums] = []
    for slices in prepared.slices:
        index = prepared.cube_of(slices)
        state = aggregated.sums[index]
        codes = prepared.cubes[index].slice_codes(slices, state.cell)
        out.append(state.roll_up(codes, len(slices)))
    return out
