"""The fourth stage where the rows do not fit into memory: count scores on a grid, batch by batch.

A first pass turns rows into small whole numbers and counts what every slice shares: fine bins, and bins at fixed edges,
cell by cell, for slices are sums of cells. Coarse bins follow from the fine ones, slice by slice, so they are counted
after that, by block: from the small numbers where these fit into memory, else from the files again. Where the counts do
not fit, they are cut into parts of a few slices, and each pass makes as many parts as fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Codes
from plmetrics.core.threads import begin, parallel_map, processors, steps
from plmetrics.engine.memory.budget import counting_room
from plmetrics.engine.order.encoding import (
    FINE_SHARE,
    Encoder,
    Group,
    count_type,
    few_rows,
    in_order,
    regroup,
)
from plmetrics.engine.order.parts import GridPart, PartSizes
from plmetrics.engine.order.score_bins import bin_kinds, by_quantile
from plmetrics.states.complements import complement_codes
from plmetrics.states.scores.bin_lookup import FixedBins, Locator
from plmetrics.states.scores.grid.grid_tally import (
    ArmsTally,
    BinnedTally,
    CoarseTally,
    EndsTally,
    GridTally,
    zero_counts,
)
from plmetrics.states.scores.grid.placed_rows import PlacedRows
from plmetrics.states.scores.grid.roll_up import combine_digits, rolled_ends, rolled_up
from plmetrics.states.scores.grid.run_grids import coarse_bins
from plmetrics.states.scores.grid.sliced_grid import SlicedGrid, quantile_bins
from plmetrics.states.scores.sliced_scores import Binning

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.engine.aggregate.aggregation import Aggregates
    from plmetrics.engine.aggregate.cell_sums import CellSums
    from plmetrics.engine.order.encoding import EncodedRows
    from plmetrics.engine.order.orderings import Ordering
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.states.scores.grid.grid_tally import BinKind

_OF_PLACES: frozenset[BinKind] = frozenset({"coarse", "joint"})
"""The kinds of bins that follow from encoded rows, without their scores."""

_SLICES_AT_ONCE = 4


class GridCounts:
    """Counts of the scores of a run on grids: shared ones of slices, and by block those of the last pass.

    `orderings` of the rows of each model and `locators` of fine bins are by name.
    """

    def __init__(self, plan: RunPlan, block_keys: NDArray[np.uint64], sums: CellSums | None = None) -> None:
        """Make the first pass; with `sums` it adds these, too."""
        self._plan = plan
        self._count_type: type[np.number[Any]] = np.float64
        self._room = counting_room(plan.request.suite, beside_points=plan.exact)
        self._encoder = Encoder(plan, block_keys, self._room)
        self.orderings: Mapping[str, Ordering] = self._encoder.orderings
        self.locators: Mapping[str, Locator] = self._encoder.locators
        self._sizes = PartSizes(plan, self.orderings, self.locators, len(block_keys))
        self._counts_by_set: dict[str, dict[tuple[int, BinKind], Array]] = {}
        self._encoded_rows: list[EncodedRows] | None = []
        self._tallies: dict[GridPart, GridTally] = {}
        self._next: tuple[list[GridPart], Callable[[], dict[GridPart, GridTally]]] = [], dict
        self.exponent = self._sizes.exponent
        self._complement_sets = [
            index
            for index, slices in enumerate(plan.slices)
            if plan.exact and plan.request.has_complements(slices.slice_set.name)
        ]
        self.bin_kinds = {name: bin_kinds(plan, part) for name, part in self.orderings.items()}
        bins = list(dict.fromkeys(kind for kinds in self.bin_kinds.values() for kind in kinds))
        first = [part for kind in bins if kind != "coarse" for part in self._first_parts(kind)]
        later = [kind for kind in bins if kind == "coarse" or not self._first_parts(kind)]
        self._shared_tallies = (
            self._count_first_parts(first, sums, keep=bool(later) and _OF_PLACES.issuperset(later))
            if bins or sums is not None
            else {}
        )
        self._parts = list(self._parts_on(later))

    def models(self, aggregated: Aggregates) -> Iterator[tuple[str, str | None, Callable[[int], SlicedGrid]]]:
        """Orderings of each model's rows on its grid, as a function of the slice set."""
        self.begin(aggregated)
        for name, ordering in self.orderings.items():
            yield ordering.model, ordering.key, self.of(name)

    def begin(self, aggregated: Aggregates) -> None:
        """Start the counts of parts in need of the first pass."""
        self._count_type = count_type(self._plan.request, aggregated.sums)
        self._begin(self._parts, [], [])

    def of(self, name: str) -> Callable[..., SlicedGrid]:
        """The grids of an ordering as a function of the slice set, or of the complement of one of its slices."""

        def cut(index: int, complement_of: int | None = None) -> SlicedGrid:
            def parts(bins: BinKind) -> Iterator[tuple[int, int, Array]]:
                rolled = self._slice_counts(name, index, bins, complement_of)
                if rolled is not None:
                    yield 0, len(rolled), rolled
                    return
                for part in self._parts_of(name, index, bins):
                    if complement_of is None and not part.complement:
                        yield part.first, part.last, self._tally_of(part).totals()
                    elif part.complement and part.first == complement_of:
                        yield 0, 1, self._tally_of(part).totals()

            ordering = self.orderings[name]
            slices = len(self._plan.slices[index]) if complement_of is None else 1
            fine = self.fine(name, index, complement_of)(0, slices)
            coarse = partial(self._coarse_bins, name, index, 0, slices, complement_of)
            edges, ends = self.locators[name].edges, self.ends(name, index, complement_of)
            labels = None if ordering.across is None else self.locators[ordering.across].edges
            return SlicedGrid(edges, slices, fine, parts, ordering.weight is not None, coarse, ends, labels)

        return cut

    def digits(self, name: str, index: int, bins: BinKind) -> Iterator[tuple[int, tuple[Array, ...]]]:
        """Counts of the slices of a set, from a first one on, in additive parts; see `GridTally.digits`."""
        first = self._first_digits(name, index, bins)
        later = self._parts_of(name, index, bins) if first is None else ()
        yield from [] if first is None else [(0, first)]
        yield from ((part.first, self._tally_of(part).digits) for part in later)

    def _parts_of(self, *wanted: object) -> Iterator[GridPart]:
        return (part for part in self._parts if (part.ordering, part.group.index, part.bins) == wanted)

    def ends(self, name: str, index: int, complement_of: int | None = None) -> Array | None:
        """Lowest and highest number of each slice; for a complement the enclosing ones of all rows."""
        ends = self._slice_counts(name, index if complement_of is None else 0, "ends")
        return None if ends is None else ends[:, 0, 0]

    def fine(self, name: str, index: int, complement_of: int | None = None) -> Callable[[int, int], Array]:
        """Function from a first and a last slice of a set to counts on fine bins, if any: `[slice, bin, class]`."""
        counts = self._fine_counts(name, index, complement_of)
        return lambda first, last: counts[first:last, 0]

    def _fine_counts(self, name: str, index: int, complement_of: int | None = None) -> Array:
        """Counts of a slice set on fine bins, if any; for a complement those of all rows less its own."""
        counts = self._slice_counts(name, index, "fine")
        if counts is None:
            return np.zeros((0, 1))
        if complement_of is None:
            return counts
        return np.asarray(np.maximum(self._fine_counts(name, 0) - counts[complement_of], 0))

    def _slice_counts(
        self, name: str, index: int, bins: BinKind, complement_of: int | None = None
    ) -> Array | None:
        """Counts of a slice set, or of a complement, from the first pass; the last two orderings are cached."""
        if name not in self._counts_by_set:
            for earlier in list(self._counts_by_set)[:-1]:
                self._counts_by_set.pop(earlier, None)
        known = self._counts_by_set.setdefault(name, {})
        counts = None if complement_of is not None else known.get((index, bins))
        if counts is None:
            digits = self._first_digits(name, index, bins, complement_of)
            counts = None if digits is None else combine_digits(digits, self.exponent(name, bins))
            if counts is not None and complement_of is None:
                known[index, bins] = counts
        return counts

    def _first_digits(
        self, name: str, index: int, bins: BinKind, complement_of: int | None = None
    ) -> tuple[Array, ...] | None:
        """Counts of a slice set in additive parts, rolled up from the shared tally of its group."""
        tally, codes = self._shared_tally(name, index, bins)
        if tally is None or codes is None:
            return None if tally is None else tally.digits
        if complement_of is not None:
            codes = complement_codes(codes, complement_of)
        roll_up = rolled_ends if bins == "ends" else rolled_up
        number = len(self._plan.slices[index]) if complement_of is None else 1
        return tuple(roll_up(digits, codes, number) for digits in tally.digits)

    def _shared_tally(self, name: str, index: int, bins: BinKind) -> tuple[GridTally | None, Codes | None]:
        """Tally of the group of a set, if any, and the slice of each of its cells; None where it counts by slice."""
        part = self._sizes.shared_part(name, index, bins)
        tally, cube = self._shared_tallies.get(part), self._plan.cubes[part.group.cube]
        if tally is None or part.group.index is not None:
            return tally, None
        return tally, cube.slice_codes(self._plan.slices[index], np.arange(part.last))

    def _first_parts(self, bins: BinKind) -> list[GridPart]:
        """The parts of the first pass: fine bins, and fixed ones if they fit."""
        indices = range(len(self._plan.slices))
        groups = {group: self._sizes.members(group) for group in map(self._sizes.group, indices)}
        if by_quantile(bins):
            return []
        small = bins in {"fine", "ends"}
        if not small and any(self._sizes.group(index).index is not None for index in self._complement_sets):
            return []
        names = [name for name, wanted in self.bin_kinds.items() if bins in wanted]
        parts = [GridPart(name, group, bins, 0, size) for name in names for group, size in groups.items()]
        if not small and sum(map(self._sizes.bytes, parts)) > self._room // FINE_SHARE:
            return []
        return parts

    def _count_first_parts(
        self, parts: list[GridPart], sums: CellSums | None, *, keep: bool
    ) -> dict[GridPart, GridTally]:
        """The first pass: count the shared parts, and retain the encoded rows if they fit, without scores."""
        tallies = dict(zip(parts, parallel_map(self._tally, parts), strict=True))
        room = self._room // 2 if keep else 0
        for frame in self._encoder.batches(sums=sums):
            encoded = self._count_frame(frame, tallies)
            room -= sum(rows.bytes for rows in encoded)
            if self._encoded_rows is not None and room > 0:
                self._encoded_rows += encoded
            else:
                self._encoded_rows = None
        if self._encoded_rows and self._encoder.finest_cube is not None:
            self._encoded_rows = regroup(self._encoded_rows, self._encoder.finest_cube)
        parallel_map(methodcaller("finish"), list(tallies.values()))
        return tallies

    def _tally_of(self, part: GridPart) -> GridTally:
        """Tally of a part, counted together with others within memory; the next ones are started in a thread."""
        if part not in self._tallies:
            spare = [tally.counts for tally in self._tallies.values()]
            (parts, counted), self._tallies = self._next, {}
            if part not in parts:
                parts = self._together(part)
                counted = partial(self._count, parts, spare)
            self._tallies = counted()
            self._begin(self._parts[self._parts.index(parts[-1]) + 1 :], parts, spare)
        return self._tallies[part]

    def _together(self, first: GridPart) -> list[GridPart]:
        """A part and as many of the following ones as there is room for."""
        parts: Iterable[GridPart] = self._parts[self._parts.index(first) :]
        if self._encoded_rows is not None:
            parts = takewhile(lambda part: part.ordering == first.ordering, parts)
        return self._sizes.fitting(parts, self._room)

    def _begin(
        self, following: Sequence[GridPart], beside: Sequence[GridPart], spare: list[NDArray[Any]]
    ) -> None:
        """Count the first of the following parts in another thread, from retained rows, if there is room for both."""
        self._next = [], dict
        if self._encoded_rows is None or not following or processors() <= 1:
            return
        parts = self._together(following[0])
        if sum(map(self._sizes.bytes, [*beside, *parts])) <= self._room:
            self._next = parts, begin(partial(self._count, parts, spare))

    def _count(self, parts: list[GridPart], spare: list[NDArray[Any]]) -> dict[GridPart, GridTally]:
        """Tallies of some parts by one pass over files or retained rows; `spare` is memory to use again."""
        spares = self._sizes.matching(parts, spare)
        if self._encoded_rows is None:
            return self._count_files({part: self._tally(part, spares[part]) for part in parts})
        batches = self._encoded_rows

        def counted(part: GridPart) -> GridTally:
            tally = self._tally(part, spares[part])
            for rows in (rows for rows in batches if part.ordering in rows.place):
                self._add(rows, part.ordering, {part: tally})
            tally.finish()
            return tally

        in_turn = sorted(parts, key=lambda part: part.first - part.last)
        return dict(zip(in_turn, parallel_map(counted, in_turn), strict=True))

    def _count_files(self, tallies: dict[GridPart, GridTally]) -> dict[GridPart, GridTally]:
        counted = [self.orderings[part.ordering] for part in tallies]
        models = dict.fromkeys(name for one in counted for name in (one.model, one.opponent) if name)
        for frame in self._encoder.batches(list(models)):
            self._count_frame(frame, tallies)
        parallel_map(methodcaller("finish"), list(tallies.values()))
        return tallies

    def _count_frame(self, frame: pl.DataFrame, tallies: dict[GridPart, GridTally]) -> list[EncodedRows]:
        """Count a batch, a few rows at a time and orderings side by side; returns the encoded rows."""
        encoder, order = self._encoder, self._encoder.order(frame)
        pieces = encoder.encode(frame, order)
        names = [name for name, ordering in self.orderings.items() if ordering.column in frame.columns]
        read = {part.ordering for part in tallies if part.bins not in _OF_PLACES and part.bins != "fine"}

        def count(together: Sequence[str]) -> None:
            scores = [encoder.locate(frame, order, pieces, name) for name in together]
            for name, score in zip(together, scores, strict=True):
                for rows, some in zip(pieces, few_rows(frame), strict=True):
                    ordered = in_order(score, order, some) if name in read else None
                    self._add(rows, name, tallies, ordered)

        parallel_map(count, encoder.joint_groups(names))
        return pieces

    def _add(
        self, rows: EncodedRows, name: str, tallies: Mapping[GridPart, GridTally], score: Array | None = None
    ) -> None:
        """Count some rows of an ordering; `score` are its numbers, for fixed bins."""
        mask, ordering = rows.masks.get(name), self.orderings[name]
        labels = None if ordering.across is None else rows.place[ordering.across]
        weight = rows.weight.get(ordering.weight or "")
        outcome = rows.outcome if ordering.arms else None
        placed = PlacedRows(rows.place[name], weight, rows.block, score, outcome, labels)
        placed = placed.take(mask)
        for part, tally in tallies.items():
            if part.ordering == name:
                members = self._encoder.members_in(rows, part.group)
                if part.complement:
                    members = members.translate(
                        complement_codes(np.arange(self._sizes.members(part.group) + 1), part.first)
                    )
                tally.add(placed, members.take(mask))

    def _tally(self, part: GridPart, spare: NDArray[Any] | None = None) -> GridTally:
        table = self._table(part)
        size, first = self._sizes.size(part), 0 if part.complement else part.first
        arms = self.orderings[part.ordering].arms
        kind = self._count_type if part.bins == "coarse" and not arms else np.float64
        counts = zero_counts(size, kind, spare)
        if part.bins == "ends":
            return EndsTally(first, counts)
        power = self.exponent(part.ordering, part.bins)
        if self.orderings[part.ordering].across is not None and part.bins != "fine":
            return self._joint_tally(part, first, counts, power)
        if isinstance(part.bins, Binning):
            edges = self.locators[part.ordering].edges
            bins = FixedBins.of_places(part.bins.uniform_edges(), edges) if table is None else table
            return BinnedTally(first, counts, part.bins, bins, power)
        if arms:
            return ArmsTally(first, counts, table, power)
        return GridTally(first, counts, power) if table is None else CoarseTally(first, counts, table, power)

    def _joint_tally(self, part: GridPart, first: int, counts: NDArray[Any], power: int | None) -> GridTally:
        from plmetrics.states.joint_counts import JointTally

        sides = [part.ordering, self.orderings[part.ordering].across or ""]
        if part.bins == "joint":
            sizes = [len(self.locators[side].edges) + 1 for side in sides]
            areas = self.orderings[part.ordering].of_areas
            return JointTally.on_grid(first, counts, sizes, power, areas=areas)
        assert part.group.index is not None
        tables = [self._coarse_bins(side, part.group.index, part.first, part.last, None) for side in sides]
        return JointTally.of_ranks(first, counts, tables, power)

    def _table(self, part: GridPart) -> NDArray[np.uint16] | None:
        """Lookup of the coarse or quantile bin of each fine bin, by slice of a part; None for other kinds."""
        complement_of = part.first if part.complement else None
        if part.bins == "coarse" and self.orderings[part.ordering].across is None:
            assert part.group.index is not None
            return self._coarse_bins(part.ordering, part.group.index, part.first, part.last, complement_of)
        if not by_quantile(part.bins):
            return None
        assert isinstance(part.bins, Binning)
        assert part.group.index is not None
        fine = self.fine(part.ordering, part.group.index, complement_of)
        return quantile_bins(fine(*((0, 1) if part.complement else (part.first, part.last))), part.bins.bins)

    def _coarse_bins(
        self, name: str, index: int, first: int, last: int, complement_of: int | None
    ) -> NDArray[np.uint16]:
        """Lookup of the coarse bin of each fine bin, in some slices of a set or in the complement of one."""
        slices, equal = self._plan.slices[index], self.orderings[name].equal_bins
        if complement_of is not None:
            return coarse_bins(self.fine(name, index, complement_of)(0, 1), 1, equal)
        if self._plan.grids is not None:
            grid = self._plan.grids[name]
            return grid.coarse(self._plan.number_of(slices), slices.values.slice(first, last - first))
        size, fine = self._plan.set_size(slices), self.fine(name, index)
        few = steps(first, last, _SLICES_AT_ONCE)
        return np.concatenate(parallel_map(lambda ends: coarse_bins(fine(*ends), size, equal), few))

    def _parts_on(self, bins_list: list[BinKind]) -> Iterator[GridPart]:
        """The parts of later passes in the order of their use."""
        for name, wanted in self.bin_kinds.items():
            kinds = [bins for bins in bins_list if bins in wanted]
            for index, slices in enumerate(self._plan.slices):
                group = Group(self._plan.cube_of(slices), index)
                most = len(slices) if self._encoded_rows is None else -(-len(slices) // processors())
                for bins in kinds:
                    one = max(1, self._sizes.bytes(GridPart(name, group, bins, 0, 1)))  # 0 without blocks
                    step = max(1, min(most, self._room // one))
                    for first in range(0, len(slices), step):
                        yield GridPart(name, group, bins, first, min(first + step, len(slices)))
                for number in range(len(slices)) if index in self._complement_sets else ():
                    for bins in kinds:
                        yield GridPart(name, group, bins, number, number + 1, complement=True)
