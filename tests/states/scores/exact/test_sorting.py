"""Sorting in threads and in parts: what plain NumPy finds, whatever the parts are."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from plmetrics.states.scores.exact import sorting
from plmetrics.states.scores.exact.sorting import ascending_order, by_slice, sort_slices, sort_with_weights


@pytest.fixture(autouse=True, params=[1 << 17, 5])
def little(request, monkeypatch):
    """Tables are small: parts of a few rows, on more processors than there are, cut where large ones are cut."""
    monkeypatch.setattr(sorting, "WORTH_A_THREAD", request.param)
    monkeypatch.setattr(sorting, "_STEP", request.param)
    monkeypatch.setattr(sorting, "processors", lambda: 5)


@settings(phases=(Phase.explicit, Phase.generate), max_examples=60)
@given(
    st.integers(0, 200),
    st.sampled_from([2, 40, 1 << 63]),
    st.sampled_from([1, 2, 7, 300]),
    st.sampled_from([0.0, 0.9]),
    st.integers(0, 2**20),
)
def test_keys_are_sorted_within_their_slices(rows, values, slices, share, seed):
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, values, rows, dtype=np.uint64)
    codes = np.where(rng.random(rows) < share, 0, rng.integers(-1, slices, rows))
    held, offsets = by_slice(keys, codes, slices)
    parts = [keys[codes == code] for code in range(slices)]
    assert held.tolist() == np.concatenate(parts).tolist()
    assert np.diff(offsets).tolist() == [len(part) for part in parts]
    sort_slices(held, offsets)
    for part, (first, last) in zip(parts, pairwise(offsets), strict=True):
        assert held[first:last].tolist() == sorted(part.tolist())


@settings(phases=(Phase.explicit, Phase.generate), max_examples=60)
@given(
    st.integers(0, 400),
    st.sampled_from([1, 3, 100, 1 << 52]),
    st.sampled_from([0.0, -0.5]),
    st.sampled_from([2, 1 << 40]),
    st.integers(0, 2**20),
)
def test_weighted_rows_are_sorted_as_pairs(rows, values, shift, weights, seed):
    rng = np.random.default_rng(seed)
    score, weight = rng.integers(0, values, rows) / values + shift, rng.integers(1, weights, rows) / 8.0
    score[rng.random(rows) < 0.2] += np.spacing(1.0)  # closer to another score than the upper bits tell
    found = sort_with_weights(score, weight)
    pairs = sorted(zip(score.tolist(), weight.tolist(), strict=True))
    assert [part.tolist() for part in found] == (
        [list(part) for part in zip(*pairs, strict=True)] or [[], []]
    )


@settings(phases=(Phase.explicit, Phase.generate), max_examples=60)
@given(
    st.integers(0, 400),
    st.sampled_from([1, 3, 100, 1 << 52]),
    st.sampled_from([0.0, -0.5]),
    st.sampled_from([0.0, 0.2, 1.0]),
    st.integers(0, 2**20),
)
def test_rows_are_ordered_by_all_bits_and_equal_ones_as_they_came(rows, values, shift, near, seed):
    rng = np.random.default_rng(seed)
    score = rng.integers(0, values, rows) / values + shift
    score[rng.random(rows) < near] += np.spacing(1.0)  # closer to another score than the upper bits tell
    order = ascending_order(score)
    assert order.tolist() == sorted(range(rows), key=lambda row: score[row])


def test_rows_with_infinite_scores_have_an_order():
    assert ascending_order(np.array([np.inf, 5e-324, -np.inf, 0.0, -5e-324])).tolist() == [2, 4, 3, 1, 0]


@settings(phases=(Phase.explicit, Phase.generate), max_examples=60)
@given(
    st.integers(0, 400),
    st.sampled_from([1, 3, 100, 1 << 52]),
    st.sampled_from([0.0, -0.5, 1e9]),
    st.integers(0, 2**20),
)
def test_an_order_of_numbers_holds_each_row_once_and_falls_nowhere(rows, values, shift, seed):
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, values, rows) / values + shift
    numbers[rng.random(rows) < 0.2] += np.spacing(1.0)  # closer to another number than the upper bits tell
    rare = rng.random(rows) < 0.1
    numbers[rare] = rng.choice([0.0, -0.0, np.inf, -np.inf, 5e-324], rare.sum())
    order = ascending_order(numbers)
    assert sorted(order.tolist()) == list(range(rows))
    assert numbers[order].tolist() == sorted(numbers.tolist())


RNG = np.random.default_rng(5)
ROWS = 70_000


@pytest.fixture(params=[False, True], ids=["numpy", "polars"])
def library(request, monkeypatch):
    monkeypatch.setattr(sorting, "_polars_is_faster", lambda: request.param)


@pytest.mark.parametrize(
    "values",
    [
        RNG.random(ROWS),
        np.round(RNG.normal(size=ROWS), 2),
        np.concatenate([RNG.normal(size=ROWS), [-np.inf, np.inf, -0.0, 0.0, 5e-324, -5e-324]]),
        RNG.integers(2**64, size=ROWS, dtype=np.uint64),
        RNG.integers(-(2**63), 2**63, size=ROWS),
        RNG.random(ROWS).astype(np.float32),
        RNG.integers(100, size=ROWS).astype(np.int16),
        RNG.random(3),
        RNG.random(0),
    ],
    ids=lambda values: f"{values.dtype}-{len(values)}",
)
def test_numbers_ascend_in_place(values, library):
    numbers = values.copy()
    sorting.sort(numbers)
    assert numbers.dtype == values.dtype
    assert numbers.tolist() == sorted(values.tolist())
    few = values[:5000].copy()
    sorting.sort(few, among=len(values))
    assert few.tolist() == sorted(values[:5000].tolist())


def test_a_part_of_an_array_is_sorted_alone(library):
    values = RNG.normal(size=3 * ROWS)
    numbers = values.copy()
    sorting.sort(numbers[ROWS : 2 * ROWS])
    assert (numbers[ROWS : 2 * ROWS] == np.sort(values[ROWS : 2 * ROWS])).all()
    assert (numbers[:ROWS] == values[:ROWS]).all()
    assert (numbers[2 * ROWS :] == values[2 * ROWS :]).all()


@pytest.mark.parametrize("limit", [50, 2**40, 2**63], ids=["ties", "with a place", "beside a place"])
def test_places_of_whole_numbers_in_ascending_order(limit, library):
    keys = RNG.integers(limit, size=ROWS, dtype=np.uint64)
    order = sorting.argsort(keys)
    assert (keys[order] == np.sort(keys)).all()
    assert (np.sort(order) == np.arange(ROWS)).all()
