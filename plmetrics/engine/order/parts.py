"""Parts of the counts on a grid, in passes by memory, and their sizes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from plmetrics.core.exact_sums import PARTS
from plmetrics.engine.order.encoding import Group
from plmetrics.engine.prepare.exponents import IN_BINS
from plmetrics.states.arms import ARMS
from plmetrics.states.scores.grid.grid_tally import UNBLOCKED, BinKind, shape
from plmetrics.states.scores.sliced_scores import CLASSES, Binning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plmetrics.engine.order.orderings import Ordering
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.states.scores.bin_lookup import Locator

_CELLS_PER_SLICE = 4


@dataclass(frozen=True, slots=True)
class GridPart:
    """Counts of a single pass: of one ordering, of some members of a group, on bins of one kind.

    With `complement` they are those of all rows but a member's.
    """

    ordering: str
    group: Group
    bins: BinKind
    first: int
    last: int
    complement: bool = False


def exponent_in_bins(plan: RunPlan, ordering: Ordering, bins: BinKind) -> int | None:
    """Exponent of sums in bins for arithmetic in any order; None where sums are exact anyway."""
    if bins == "ends":
        return None
    fractions = isinstance(bins, Binning) or ordering.arms or plan.request.suite.has_weights
    return plan.addition.exponents.get(IN_BINS) if fractions else None


class PartSizes:
    """Sizes of the counts of a run, in so many blocks."""

    def __init__(
        self, plan: RunPlan, orderings: Mapping[str, Ordering], locators: Mapping[str, Locator], blocks: int
    ) -> None:
        self._plan = plan
        self._orderings = orderings
        self._locators = locators
        self._all_blocks = blocks

    def group(self, index: int) -> Group:
        """Grouping of the rows of a slice set: cells, where there are not many more of them than slices."""
        number = self._plan.cube_of(self._plan.slices[index])
        cube = self._plan.cubes[number]
        slices = sum(len(part) for part in self._plan.slices if self._plan.cube_of(part) == number)
        return Group(number) if cube.cells <= _CELLS_PER_SLICE * slices else Group(number, index)

    def members(self, group: Group) -> int:
        """Number of cells, or of slices."""
        if group.index is None:
            return self._plan.cubes[group.cube].cells
        return len(self._plan.slices[group.index])

    def shared_part(self, name: str, index: int, bins: BinKind) -> GridPart:
        """The part of the first pass with the counts of a slice set."""
        group = self.group(index)
        return GridPart(name, group, bins, 0, self.members(group))

    def exponent(self, name: str, bins: BinKind) -> int | None:
        """Exponent of an ordering's sums in bins of a kind; see `exponent_in_bins`."""
        return exponent_in_bins(self._plan, self._orderings[name], bins)

    def shape(self, part: GridPart) -> tuple[int, int]:
        """Number of bins, and of channels in each."""
        ordering = self._orderings[part.ordering]
        if ordering.across is not None and part.bins != "fine":
            from plmetrics.states.joint_counts import joint_shape

            sides = (part.ordering, ordering.across)
            sizes = (len(self._locators[side].edges) + 1 for side in sides)
            return joint_shape(part.bins, *sizes, areas=ordering.of_areas)
        channels = len(ARMS if ordering.arms else CLASSES)
        if part.complement:
            return shape(part.bins, self._locators[part.ordering].edges, 1, channels)
        size = self.members(part.group)
        if part.bins == "coarse" and part.group.index is not None:
            slices = self._plan.slices[part.group.index]
            if self._plan.grids is not None:
                return self._plan.grids[part.ordering].coarse_bins(self._plan.number_of(slices)), channels
            size = self._plan.set_size(slices)
        return shape(part.bins, self._locators[part.ordering].edges, size, channels)

    def size(self, part: GridPart) -> tuple[int, int, int, int]:
        """The shape of the counts: `[slice, block, bin, channel]`."""
        return (part.last - part.first, self._blocks(part.bins), *self.shape(part))

    def _blocks(self, bins: BinKind) -> int:
        return 1 if bins in UNBLOCKED or self._plan.blocks is None else self._all_blocks

    def bytes(self, part: GridPart) -> int:
        """Size of a part in memory."""
        copies = 1 if self.exponent(part.ordering, part.bins) is None else PARTS + 1
        return math.prod(self.size(part)) * 8 * copies

    def fitting(self, parts: Iterable[GridPart], room: int) -> list[GridPart]:
        """The first of some parts, and as many of those after it as there is room for."""
        together: list[GridPart] = []
        for part in parts:
            room -= self.bytes(part)
            if room < 0 and together:
                break
            together.append(part)
        return together

    def matching(
        self, parts: Iterable[GridPart], spare: list[NDArray[Any]]
    ) -> dict[GridPart, NDArray[Any] | None]:
        """Array of the shape of each part's counts, reused from spare ones."""
        out: dict[GridPart, NDArray[Any] | None] = {}
        for part in parts:
            places = [place for place, counts in enumerate(spare) if counts.shape == self.size(part)]
            out[part] = spare.pop(places[0]) if places else None
        return out
