"""Counts of slices from those of cells, as loops over cells add them; parts of totals lose nothing."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plmetrics.core.exact_sums import SplitSums, exponent_of, integer_parts, join_parts
from plmetrics.states.scores.grid.roll_up import NO_ENDS, combine_digits, rolled_ends, rolled_up

CODE = np.array([1, -1, 0, 1])


def test_slices_are_sums_of_their_cells():
    counts = np.arange(24.0).reshape(4, 1, 3, 2)
    out = rolled_up(counts, CODE, 3)
    assert out.tolist() == [
        counts[2].tolist(),
        (counts[0] + counts[3]).tolist(),
        np.zeros((1, 3, 2)).tolist(),
    ]
    assert rolled_up(counts, np.arange(4), 4) is counts


def test_ends_of_slices_are_the_furthest_of_their_cells():
    ends = np.array([[2.0, 5.0], [-9.0, 9.0], NO_ENDS, [1.0, 3.0]]).reshape(4, 1, 1, 2)
    assert rolled_ends(ends, CODE, 2).reshape(2, 2).tolist() == [list(NO_ENDS), [1.0, 5.0]]


numbers = st.floats(-1e3, 1e3, allow_subnormal=False)


@given(st.lists(st.lists(numbers, max_size=9), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_parts_of_totals_are_the_sum_of_the_fractions_in_any_order(tables, shuffle):
    """Values in several tables, each added alone, then tables: the total is that of Python's fractions."""
    exponent = exponent_of(max((abs(value) for values in tables for value in values), default=1.0))
    held = []
    for values in tables:
        parts = SplitSums(np.zeros((1, 2)), exponent)
        for value in values:
            for target, part in parts.cut(np.array([[value, -value]])):
                np.add(target, part, out=target)
        held.append(parts.digits())
    direct = combine_digits([sum(digits) for digits in zip(*held, strict=True)], exponent)
    shuffle.shuffle(held)
    whole = sum(integer_parts(digits, exponent) for digits in held)
    assert (whole == np.rint(whole)).all()
    total = join_parts(whole, exponent)
    assert total.tolist() == direct.tolist()
    expected = float(sum(Fraction(value) for values in tables for value in values))
    count = sum(map(len, tables))
    assert total[0] == pytest.approx([expected, -expected], rel=1e-15, abs=count * 2.0 ** (exponent - 72))


def test_counts_without_an_exponent_are_as_they_were():
    counts = np.ones((2, 1, 1, 1))
    assert combine_digits((counts,), None) is counts
