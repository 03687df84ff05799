"""Sums by place in batches: dense arrays and frames have the same, which a plain loop over rows has."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from plmetrics.engine.aggregate.bin_tally import PLACE, BinTally


@pytest.mark.parametrize("size", [40, None])
def test_sums_are_those_of_a_loop_over_rows(size):
    rng = np.random.default_rng(0)
    place, value, whole = rng.integers(0, 40, 500), rng.normal(size=500), rng.integers(-9, 9, 500)
    tally = BinTally(["x"], ["k"], size)
    for low in range(0, 500, 70):
        part = slice(low, low + 70)
        tally.add({PLACE: place[part]}, {"x": value[part], "k": whole[part]})
    frame = tally.frame().sort(PLACE)
    assert frame[PLACE].to_list() == sorted(set(place.tolist()))
    for row in frame.iter_rows(named=True):
        members = place == row[PLACE]
        assert row["n"] == members.sum()
        assert row["k"] == whole[members].sum()
        assert row["x"] == pytest.approx(value[members].sum(), abs=1e-12)


@pytest.mark.parametrize("size", [4, None])
def test_whole_numbers_wrap(size):
    tally = BinTally([], ["k"], size)
    for _ in range(3):
        tally.add({PLACE: np.array([2])}, {"k": np.array([1 << 62])})
    assert tally.frame()["k"].to_list() == [3 * (1 << 62) - (1 << 64)]


@pytest.mark.parametrize("size", [4, None])
def test_without_rows_there_are_columns(size):
    frame = BinTally(["x"], ["k"], size).frame()
    assert (frame.height, set(frame.columns)) == (0, {PLACE, "n", "x", "k"})


def test_blocks_stand_beside_places():
    tally = BinTally(["x"], keys=(PLACE, "block"))
    for block in (7, 1 << 63, 7):
        tally.add({PLACE: np.array([1]), "block": np.array([block], dtype=np.uint64)}, {"x": np.array([0.5])})
    expected = pl.DataFrame({"block": pl.Series([7, 1 << 63], dtype=pl.UInt64), "n": [2, 1], "x": [1.0, 0.5]})
    assert_frame_equal(tally.frame().sort("block").select("block", "n", "x"), expected)
