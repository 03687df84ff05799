"""States of sums: what is rolled up is what is added over the rows of each slice."""

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from plmetrics.states.sums import SumsState

quick = settings(phases=(Phase.explicit, Phase.generate), max_examples=40)
CELLS, BLOCKS, NAMES = 5, 7, ("n", "weight", "m|tp")


def rows(size, seed):
    """Rows with integer masses, so that any order of summation gives the same bits."""
    rng = np.random.default_rng(seed)
    return (
        rng.integers(0, CELLS, size),
        rng.integers(0, BLOCKS, size),
        rng.integers(-4, 9, (len(NAMES), size)),
    )


def state(parts):
    """The state of some rows, entry by entry in plain Python."""
    held = {}
    for cell, block, masses in zip(*parts[:2], parts[2].T, strict=True):
        held.setdefault((int(cell), int(block)), []).append(masses)
    keys = np.array(list(held), dtype=np.int64).reshape(-1, 2)
    sums = np.array([np.sum(masses, axis=0) for masses in held.values()], dtype=float).reshape(-1, len(NAMES))
    columns = {name: sums[:, index] for index, name in enumerate(NAMES)}
    return SumsState(keys[:, 0], keys[:, 1], columns, BLOCKS)


def joined(*parts):
    return tuple(np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True))


tables = st.builds(rows, st.integers(0, 40), st.integers(0, 2**20))


@quick
@given(tables, st.lists(st.integers(-1, 2), min_size=CELLS, max_size=CELLS), st.booleans())
def test_rolling_up_adds_the_rows_of_each_slice(table, slice_of_cell, ascending):
    """Roll-up by dense sums over rows: slices of no cell are 0, cells of no slice are left out."""
    cell, block, masses = table
    slice_of_cell = sorted(slice_of_cell) if ascending else slice_of_cell
    dense = np.zeros((3, BLOCKS, len(NAMES)))
    for at, of_block, mass in zip(cell, block, masses.T, strict=True):
        if slice_of_cell[at] >= 0:
            dense[slice_of_cell[at], of_block] += mass
    held = state(table).in_order() if ascending else state(table)
    sliced = held.roll_up(np.array(slice_of_cell)[held.cell], 3)
    for first, last in [(0, 3), (1, 2), (2, 3)]:
        found = sliced.by_block(first, last)
        for index, name in enumerate(NAMES):
            np.testing.assert_array_equal(found[name], dense[first:last, :, index])
    for index, name in enumerate(NAMES):
        np.testing.assert_array_equal(sliced.total(name), dense[..., index].sum(axis=1))


@quick
@given(tables, tables)
def test_rolling_up_and_adding_tables_commute(a, b):
    slice_of_cell = np.array([1, 0, -1, 1, 0])

    def up(held):
        return held.roll_up(slice_of_cell[held.cell], 2).by_block(0, 2)

    together, apart = up(state(joined(a, b))), [up(state(part)) for part in (a, b)]
    for name in NAMES:
        np.testing.assert_array_equal(together[name], apart[0][name] + apart[1][name])
