"""Sums by place in batches: dense arrays and frames have the same, which a plain loop over rows has."""

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


@pytest.mark.parametrize("size", [3, 1])
@pytest.mark.parametrize("rows", [1, 40, 70_000])
def test_booleans_are_counted_together(size, rows):
    rng = np.random.default_rng(1)
    place = rng.integers(0, size, rows, dtype=np.int32)
    flags = {f"b{number}": rng.random(rows) < number / 18 for number in range(20)}
    columns = {name: pl.Series(flag) for name, flag in flags.items()}
    columns["true"] = pl.repeat(True, rows, eager=True)
    columns["some"] = pl.Series([None, *[True] * (rows - 1)], dtype=pl.Boolean)
    tally = BinTally(["x"], list(columns), size)
    for _ in range(2):
        tally.add({PLACE: place}, {"x": np.ones(rows), **columns})
    frame = tally.frame()
    flags |= {"true": np.ones(rows, dtype=bool), "some": np.arange(rows) > 0}
    for name, flag in flags.items():
        expected = np.bincount(place, weights=flag, minlength=size)[frame[PLACE]]
        assert frame[name].to_list() == (2 * expected).tolist(), name
    assert frame["x"].to_list() == frame["n"].to_list()


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
