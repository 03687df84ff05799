"""Drawn weights of the rows of a class by point, against adding them row by row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plmetrics.states.scores.exact import class_rows as members
from plmetrics.states.scores.exact.class_rows import ClassMembers, in_parts

BLOCKS, POINTS = 4, 6


@pytest.mark.parametrize("weighted", [False, True])
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, POINTS - 1), st.integers(0, BLOCKS - 1)), max_size=15),
    st.integers(0, 99),
)
def test_every_row_adds_its_weight_to_its_point(weighted, rows, seed):
    rng = np.random.default_rng(seed)
    rows = sorted(rows, key=lambda row: row[0])
    point, block = (np.array([row[side] for row in rows], dtype=np.int64) for side in (0, 1))
    weight = rng.integers(0, 8, len(rows)) / 4 if weighted else None
    drawn = rng.integers(0, 3, (5, BLOCKS)).astype(np.float64)
    expected = np.zeros((5, POINTS))
    for place, (where, of) in enumerate(rows):
        expected[:, where] += drawn[:, of] * (1.0 if weight is None else weight[place])
    assert np.array_equal(ClassMembers.of(block, weight, point, POINTS).draws(drawn), expected)


@pytest.mark.parametrize(("room", "heights"), [(1, [1] * 7), (20, [2, 2, 2, 1]), (1000, [7])])
def test_parts_hold_all_replicates_in_order(monkeypatch, room, heights):
    monkeypatch.setattr(members, "_ROOM", room)
    weights = np.arange(21.0).reshape(7, 3)
    parts = list(in_parts(weights, 10))
    assert [len(part) for part in parts] == heights
    assert np.array_equal(np.concatenate(parts), weights)
