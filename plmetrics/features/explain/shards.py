"""Description of a table as units of files: how many, how large, and the memory of their states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plmetrics.features.explain.costs import costs

if TYPE_CHECKING:
    from plmetrics.engine.request import Request
    from plmetrics.features.explain.states import StateSize

_MEGA = 1e6


@dataclass(frozen=True, slots=True)
class ShardSizes:
    """Units of a table.

    Attributes:
        unit: what one is, `file` or `folder`.
        units: how many there are.
        largest: bytes of the largest.
        states: about how many bytes the states of all take, at most; None where a state cannot hold the suite.
        write: processor seconds of writing these, None with `states`.
        merge: processor seconds of reading and adding them.
    """

    unit: str
    units: int
    largest: int
    states: int | None
    write: float | None = None
    merge: float | None = None


def shard_sizes(request: Request, state: StateSize) -> ShardSizes | None:
    """The units of a suite's table; None where its rows are not in files. A unit's state is as large as one of all."""
    files = request.source.files
    if not files:
        return None
    section = request.suite.sections.get("engine")
    unit = getattr(section, "unit", "file")
    sizes: dict[str, int] = {}
    for file in files:
        name = file.path
        place = name.rpartition("/")[0] if unit == "folder" else name
        sizes[place] = sizes.get(place, 0) + file.size
    number, largest = len(sizes), max(sizes.values())
    if state.bytes is None or state.needs_rows:
        return ShardSizes(unit, number, largest, None)
    total = state.bytes * number
    write = total / _MEGA * costs().seconds["megabytes of states written"]
    merge = adding_seconds(number, state.bytes, state.scores or 0)
    return ShardSizes(unit, number, largest, total, write, merge)


def adding_seconds(states: int, size: float, scores: float) -> float:
    """Processor seconds of reading and adding states of some bytes each, of which some are counts of scores."""
    known = costs().seconds
    sums = (size - scores) / _MEGA * known["megabytes of sums merged"]
    return states * (known["states merged"] + sums + scores / _MEGA * known["megabytes of scores merged"])
