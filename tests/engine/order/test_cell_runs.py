"""Rows of several batches in the order of their cells."""

from dataclasses import replace

import numpy as np
import pytest

from plmetrics.engine.order.cell_runs import regroup
from plmetrics.engine.order.encoding import EncodedRows
from plmetrics.states.scores.placed_rows import Members


def batches(sizes: list[int], cells: int, seed: int = 0) -> list[EncodedRows]:
    """Batches with rows in the order of their cells; another cube is in none."""
    rng = np.random.default_rng(seed)
    out = []
    for rows in sizes:
        code = np.sort(rng.integers(0, cells, rows).astype(np.uint8))
        out.append(
            EncodedRows(
                {0: Members.of(rng.integers(0, 3, rows).astype(np.uint8)), 2: Members.of(code)},
                rows,
                rng.integers(0, 1000, rows).astype(np.uint16),
                {},
                {name: rng.integers(0, 40_000, rows).astype(np.uint16) for name in "ab"},
                {"b": rng.random(rows) < 0.5},
            )
        )
    return out


def rows_of(every: list[EncodedRows]) -> np.ndarray:
    """The numbers of each row."""
    parts = [
        [
            part.cells[2].each(),
            part.cells[0].each(),
            part.block,
            part.place["a"],
            part.place["b"],
            part.held["b"],
        ]
        for part in every
    ]
    return np.concatenate([np.stack(columns, axis=1) for columns in parts])


@pytest.mark.parametrize("sizes", [[20_000], [20_000, 16_384, 1], [9000, 30_000, 12_345]])
@pytest.mark.parametrize("cells", [1, 4, 9])
def test_rows_are_the_same_in_the_order_of_cells(sizes: list[int], cells: int) -> None:
    before = batches(sizes, cells)
    expected = rows_of(before)
    expected = expected[np.argsort(expected[:, 0], kind="stable")]
    after = regroup(before, 2)
    assert [part.rows for part in after] == sizes
    assert np.array_equal(rows_of(after), expected)
    for part in after:
        fresh = Members.of(part.cells[2].each().astype(np.uint8))
        assert np.array_equal(part.cells[2].code, fresh.code)
        assert np.array_equal(part.cells[2].starts, fresh.starts)
        assert part.cells[2].rows == part.rows


def test_what_is_not_counted_by_runs_stays() -> None:
    short = batches([5000, 5000], 200)
    expected = rows_of(short)
    assert np.array_equal(rows_of(regroup(short, 2)), expected)
    weighted = [replace(part, weight={"w": np.ones(part.rows)}) for part in batches([20_000, 20_000], 2)]
    expected = rows_of(weighted)
    assert np.array_equal(rows_of(regroup(weighted, 2)), expected)
    first, second = batches(
        [20_000, 20_000], 2
    )  # a mask stands only where some rows of a batch have no number
    first.held.pop("b")
    assert regroup([first, second], 2) == [first, second]
    first, second = batches([20_000, 20_000], 2)
    second.place.pop("a")
    assert regroup([first, second], 2) == [first, second]
