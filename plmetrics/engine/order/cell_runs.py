"""Encoded rows of several batches with those of a cell together: a few long runs in place of many short ones.

A long run is counted by a few calls. Many short ones take as many calls each, and threads wait for each other's calls.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, pairwise
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
    if not by_runs or number * _LEAST_RUN > rows or len({frozenset(part.place) for part in batches}) > 1:
        return list(batches)
    runs = sorted(_runs(members), key=itemgetter(0))
    codes = {
        other: [part.cells[other].each() for part in batches] for other in batches[0].cells if other != cube
    }
    columns = [*_columns(batches), *codes.values()]
    scratch = np.empty(rows * max(arrays[0].itemsize for arrays in columns), dtype=np.uint8)
    for arrays in columns:
        _rearrange(arrays, runs, scratch)
    cells = zip(_members(runs, [part.rows for part in members]), *codes.values(), strict=True)
    return [
        replace(
            part,
            cells={cube: first}
            | {other: Members.of(code) for other, code in zip(codes, others, strict=True)},
        )
        for part, (first, *others) in zip(batches, cells, strict=True)
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
    for array, (first, last) in zip(arrays, _spans(map(len, arrays)), strict=True):
        array[:] = ordered[first:last]


def _members(runs: Runs, sizes: Sequence[int]) -> Iterator[Members]:
    """Cells of the rows of each batch once these are in order."""
    codes, lengths = np.array([(code, run.stop - run.start) for code, _, run in runs]).T
    code = np.unique(codes)
    ends = np.cumsum(np.bincount(np.searchsorted(code, codes), weights=lengths)).astype(np.int64)
    for first, last in _spans(sizes):
        cells = slice(np.searchsorted(ends, first, side="right"), np.searchsorted(ends, last) + 1)
        starts = np.append(0, ends)[:-1][cells].clip(first) - first
        yield Members(code[cells], starts.astype(np.min_scalar_type(last - first)), last - first)


def _spans(sizes: Any) -> Iterator[tuple[int, int]]:
    return pairwise(chain([0], np.cumsum([*sizes]).tolist()))
