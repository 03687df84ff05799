"""Counts as they are kept come back as they were, whatever their size and however they lie."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plmetrics.features.stored import sparse_counts as sparse
from plmetrics.features.stored.sparse_counts import PieceRows, pieces, pieces_of, summarise_part
from plmetrics.states.state_format import CELL, Part


def dense(rows: pl.DataFrame, size: int, width: int, slices: np.ndarray | None = None) -> np.ndarray:
    """The counts that rows hold, slot by slot."""
    out = np.zeros(size)
    for slots, counts in PieceRows.of(rows).entries(width, slices):
        np.add.at(out, slots, counts)
    return out


@given(
    slices=st.integers(1, 5),
    width=st.sampled_from([1, 7, 300, 70_000]),
    share=st.sampled_from([0.0, 0.001, 0.05, 0.4, 1.0]),
    most=st.sampled_from([1, 255, 256, 70_000, 1 << 33]),
    whole=st.booleans(),
    seed=st.integers(0, 100),
)
def test_counts_come_back(slices: int, width: int, share: float, most: int, whole: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, most, (slices, width), endpoint=True).astype(float)
    counts[rng.random(counts.shape) >= share] = 0
    if not whole:
        counts[0] *= -0.37
    rows, total = pieces_of(counts, first=3)
    assert np.array_equal(dense(rows, (slices + 3) * width, width)[3 * width :], counts.reshape(-1))
    assert rows[CELL].is_sorted()
    part = summarise_part(Part("scores"), rows, total)
    assert part.total == (
        counts.sum() if (counts == np.rint(counts)).all() and counts.min() >= 0 else None
    ) or (counts.max() >= 1 << 32)
    assert part.entries == rows[sparse.ENTRIES].sum() >= (counts != 0).sum()


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 2, 3, 4, 5, 255, 256, 65_536])
def test_numbers_take_as_few_bytes_as_they_need(step: int) -> None:
    """Far slots take gaps of more bytes; slots close to each other take none."""
    slots = np.arange(5_000 if step < 1_000 else 200) * step
    rows = pieces(slots, np.ones(len(slots)), width=int(slots[-1]) + 1)
    size = 0 if step <= 4 else (step > 255) + 1 + 2 * (step > 65_535)
    assert rows[sparse.GAPS].bin.size().to_list() == [size * rows[sparse.ENTRIES][0]]
    assert np.flatnonzero(dense(rows, int(slots[-1]) + 1, int(slots[-1]) + 1)).tolist() == slots.tolist()


def test_slices_may_be_numbered_anew() -> None:
    counts = np.array([[1.0, 0, 2], [0, 0, 0], [3, 4, 0]])
    found = dense(pieces_of(counts)[0], 12, 3, slices=np.array([3, 0, 1]))
    assert found.reshape(4, 3).tolist() == [[0, 0, 0], [3, 4, 0], [0, 0, 0], [1, 0, 2]]


def test_long_slices_lie_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse, "PIECE", 10)
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 3, (4, 95)).astype(float)
    counts[2] = 0
    rows, _ = pieces_of(counts)
    assert rows[sparse.ENTRIES].max() == 10
    assert np.array_equal(dense(rows, counts.size, 95), counts.reshape(-1))
