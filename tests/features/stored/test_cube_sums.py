"""Sums of states add: those of two tables are the sums of both together, in any order and grouping."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from plmetrics.features.stored.alignment import AlignedStates, MergedBlocks, StateReference
from plmetrics.features.stored.cube_sums import CubeSums, cube_sums
from plmetrics.states.moments import CENTRE
from plmetrics.states.state_format import BLOCK, CELL, Head, Part, SavedState

quick = settings(phases=(Phase.explicit, Phase.generate), max_examples=20)
CELLS, KEYS, NAMES = 5, np.array([3, 4, 9, 11, 20, 21, 40], dtype=np.uint64), ["n", "weight", "m|tp"]
PARTS = (Part("cells", (0,)), Part("sums", (0,), columns=(CELL, BLOCK, *NAMES)))
HEAD = Head("t", {}, "", {}, "", {}, PARTS, "", {}, ((),))
BLOCKS = MergedBlocks(None, KEYS)
MOMENTS = {
    "x": {"centres": ["x"], "mass": "w", "alone": []},
    "xx": {"centres": ["x", "x"], "mass": "w", "alone": ["x", "x"]},
}


def rows(size: int, seed: int) -> pl.DataFrame:
    """Rows with integer masses, so that any order of summation gives the same bits."""
    rng = np.random.default_rng(seed)
    keys = {CELL: rng.integers(0, CELLS, size).astype(np.uint32), BLOCK: rng.choice(KEYS, size)}
    return pl.DataFrame(keys | {name: rng.integers(-4, 9, size).astype(float) for name in NAMES})


def state(table: pl.DataFrame) -> pl.DataFrame:
    """The sums of a table, as a state holds them."""
    return table.group_by(CELL, BLOCK, maintain_order=True).agg(pl.col(NAMES).sum())


def sums_of(states: Sequence[pl.DataFrame], numbers: Any = None, room: int = 1 << 20) -> CubeSums:
    """States added one after another; `numbers` are the new numbers of each one's cells."""
    alike = []
    for number, table in enumerate(states):
        said = MOMENTS if "xx" in table.columns else {}
        parts = (PARTS[0], replace(PARTS[1], columns=tuple(table.columns), rows=table.height))
        head = replace(HEAD, parts=parts, constants={"moments": said})
        known = np.arange(CELLS) if numbers is None else numbers[number]
        alike.append(
            AlignedStates(SavedState(head, table), [StateReference(head, table, "a state", "")], {0: known})
        )
    sums = cube_sums((0,), 0, alike, BLOCKS, room)
    for group, table in zip(alike, states, strict=True):
        sums.add(group, table)
    return sums


def added(*states: pl.DataFrame, numbers: Any = None) -> pl.DataFrame:
    """The sums of states, which are the same in every form they are added in."""
    dense, sparse = (sums_of(states, numbers, room) for room in (1 << 20, 0))
    assert (dense.places is None, sparse.places is None) == (True, False)
    assert dense.rows({}).equals(sparse.rows({}))
    return dense.rows({})


def ordered(table: pl.DataFrame) -> pl.DataFrame:
    return state(table).sort(CELL, BLOCK)


tables = st.builds(rows, st.integers(0, 40), st.integers(0, 2**20))


@quick
@given(tables, tables, tables)
def test_adding_is_concatenation_in_any_order_and_grouping(a: Any, b: Any, c: Any) -> None:
    one, two, three = state(a), state(b), state(c)
    assert added(one, two).equals(ordered(pl.concat([a, b])))
    assert added(one, two).equals(added(two, one))
    assert added(added(one, two), three).equals(added(one, added(two, three)))
    assert added(one, state(rows(0, 0))).equals(added(one))


@quick
@given(tables, tables, st.permutations(range(CELLS)))
def test_cells_add_by_their_new_numbers(a: Any, b: Any, order: list[int]) -> None:
    new = np.array(order)
    moved = b.with_columns(pl.Series(CELL, new[b[CELL].to_numpy()].astype(np.uint32)))
    assert added(state(a), state(b), numbers=[np.arange(CELLS), new]).equals(ordered(pl.concat([a, moved])))


def test_moments_of_states_add_about_one_centre() -> None:
    """Halves whose centres differ: what lies around the mean keeps its digits, far from 0."""
    table = rows(300, 3).select(CELL, BLOCK, w=1.0, value=pl.col("n") * 1e3)
    near, centre = pl.col("value") - pl.col("value").first(), pl.col("value").first() + 1e12
    sums = [pl.col("w").sum(), near.sum().alias("x"), (near**2).sum().alias("xx"), centre.alias(f"{CENTRE}x")]
    halves = [half.group_by(CELL, BLOCK).agg(sums) for half in (table[::2], table[1::2])]
    found = added(*halves).select(pl.col("xx") - pl.col("x") ** 2 / pl.col("w"))["xx"]
    wanted = (
        table.group_by(CELL, BLOCK).agg(xx=pl.col("value").var(ddof=0) * pl.len()).sort(CELL, BLOCK)["xx"]
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-3)


def test_sums_without_room_take_that_of_the_pairs_that_occur() -> None:
    table = state(rows(12, 1))
    sums = sums_of([table], room=0)
    assert sums.places is not None
    assert len(sums.places) == table.height < CELLS * len(KEYS)
    assert sums.bytes == table.height * len(table.columns) * 8
