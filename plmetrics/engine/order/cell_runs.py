"""Encoded rows of several batches with those of a cell together: a few long runs in place of many short ones.

A long run is counted by a few calls. Many short ones take as many calls each, and threads wait for each other's calls.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.states.scores.placed_rows import Members

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from plmetrics.engine.order.encoding import EncodedRows

    Arrays = Sequence[NDArray[Any]]
    Runs = Sequence[tuple[int, int, slice]]
    """Code, batch and rows of each run."""

_LEAST_RUN = 1 << 10
"""Copies of runs that are shorter on average take longer than they save."""


def regroup(batches: Sequence[EncodedRows], cube: int) -> list[EncodedRows]:
    """Bring rows into the order of the cells of a cube, within the memory that they have.

    Rows with weights or in arms, which are not counted by runs, stay where they are, and so do those of short runs.
    """
    members = [part.cells[cube] for part in batches]
    rows, number = sum(part.rows for part in members), sum(len(part.code) for part in members)
    by_runs = not any(part.weight or part.outcome is not None for part in batches)
    columns = {(frozenset(part.place), frozenset(part.held)) for part in batches}
    if not by_runs or number * _LEAST_RUN > rows or len(columns) > 1:
        return list(batches)
    runs = sorted(_runs(members), key=itemgetter(0))
    codes = [{other: each.spread(each.code) for other, each in part.cells.items()} for part in batches]
    arrays_of_columns = [*_columns(batches), *([part[other] for part in codes] for other in codes[0])]
    scratch = np.empty(rows * max(arrays[0].itemsize for arrays in arrays_of_columns), dtype=np.uint8)
    for arrays in arrays_of_columns:
        _rearrange(arrays, runs, scratch)
    return [
        replace(part, cells={other: Members.of(code) for other, code in of_part.items()})
        for part, of_part in zip(batches, codes, strict=True)
    ]


def _runs(members: Sequence[Members]) -> Iterator[tuple[int, int, slice]]:
    for batch, part in enumerate(members):
        yield from ((code, batch, run) for code, run in part.runs())


def _columns(batches: Sequence[EncodedRows]) -> Iterator[Arrays]:
    """Arrays of each column, a batch's each."""
    first = batches[0]
    yield from ([part.place[name] for part in batches] for name in first.place)
    yield from ([part.held[name] for part in batches] for name in first.held)
    blocks = [part.block for part in batches if part.block is not None]
    yield from [blocks] if blocks else []


def _rearrange(arrays: Arrays, runs: Runs, scratch: NDArray[np.uint8]) -> None:
    """Write the runs into the arrays in their order, through memory that is used for one column after another."""
    rows, kind = sum(map(len, arrays)), arrays[0].dtype
    ordered = scratch[: rows * kind.itemsize].view(kind)
    np.concatenate([arrays[batch][run] for _, batch, run in runs], out=ordered)
    for array, (first, last) in zip(arrays, pairwise(accumulate(map(len, arrays), initial=0)), strict=True):
        array[:] = ordered[first:last]
