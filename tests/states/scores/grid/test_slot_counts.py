"""Sparse counts of few rows are those of a dense tally."""

import numpy as np
import pytest

from plmetrics.states.scores.grid.grid_tally import CoarseTally, GridTally
from plmetrics.states.scores.grid.placed_rows import Members, PlacedRows
from plmetrics.states.scores.grid.roll_up import rolled_up
from plmetrics.states.scores.grid.slot_counts import SlotTally

CELLS, BLOCKS, BINS, ROWS = 6, 5, 8, 400


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("coarse", [False, True])
@pytest.mark.parametrize("first", [0, 2])
def test_slots_hold_what_all_counts_hold(weighted: bool, coarse: bool, first: int) -> None:
    rng = np.random.default_rng(3)
    table = rng.integers(0, 4, (CELLS - first, BINS)).astype(np.uint16) if coarse else None
    shape = (CELLS - first, BLOCKS, 4 if coarse else BINS, 2)
    dense = GridTally(first, np.zeros(shape)) if table is None else CoarseTally(first, np.zeros(shape), table)
    sparse = SlotTally(first, shape, table)
    for _ in range(3):
        place = rng.integers(0, 2 * BINS, ROWS).astype(np.uint16)
        weight = rng.integers(0, 5, ROWS) / 4 if weighted else None
        rows = PlacedRows(place, weight, rng.integers(0, BLOCKS, ROWS).astype(np.uint16))
        members = Members.of(np.sort(rng.integers(-1, CELLS, ROWS)))
        for tally in (dense, sparse):
            tally.add(rows, members)
    for tally in (dense, sparse):
        tally.finish()
    found, wanted = sparse.slot_counts, dense.totals()
    np.testing.assert_array_equal(found.slots, np.flatnonzero(wanted))
    np.testing.assert_array_equal(found.dense(0, len(wanted)), wanted)
    np.testing.assert_array_equal(found.dense(1, 3), wanted[1:3])
    code = np.array([2, -1, 0, 2, 0, 0])[: len(wanted)]
    np.testing.assert_array_equal(found.rolled_up(code, 4).dense(0, 4), rolled_up(wanted, code, 4))


def test_no_row_at_all() -> None:
    tally = SlotTally(0, (CELLS, 1, BINS, 2))
    tally.finish()
    assert not len(tally.slot_counts.slots)
    assert not tally.slot_counts.dense(0, CELLS).any()
