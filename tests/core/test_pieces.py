"""Pieces of a slice: formulas give what they give on the whole slice at once."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from plmetrics.core import ops
from plmetrics.core.pieces import Pieces
from plmetrics.core.segments import Segments

FORMULAS = {
    "arithmetic": lambda x, y: ops.total((x + 2.0 * y) * x - abs(y - x) / 3.0),
    "comparison": lambda x, y: ops.total(ops.where((x > y) | ~(y >= 1.0), x, -1.0)),
    "running": lambda x, y: ops.total(ops.cumulative(x) * ops.cumulative(y, descending=True)),
    "of a running total": lambda x, y: ops.total(ops.cumulative(ops.cumulative(x) - y)),
    "largest": lambda x, y: ops.largest(ops.cumulative(x) - 2.0 * ops.cumulative(y)),
    "last": lambda x, y: ops.largest(ops.cumulative(x)) + ops.largest(ops.cumulative(y, descending=True)),
    "running largest": lambda x, y: ops.total(
        ops.running_largest(x - y) + ops.running_largest(y, descending=True)
    ),
    "above": lambda x, y: ops.total(x * ops.above(ops.above(y, 7.0), 5.0)),
    "ratio": lambda x, y: ops.total(ops.ratio(x, y, otherwise=0.5) + ops.ratio(3.0, x, otherwise=0.0)),
    "spread": lambda x, y: ops.total(
        x * ops.ratio(ops.broadcast(ops.total(y), y), ops.broadcast(ops.total(x), x), 1.0)
    ),
    "of what is shared": lambda x, y: ops.total(ops.broadcast(ops.total(x), x) + 0.0 * y),
    "isotonic": lambda x, y: ops.total(ops.isotonic(x, x + y) * x),
    "functions": lambda x, y: ops.total(ops.sqrt(x) + ops.log1p(y) + ops.floor(x / 3.0) + ops.smaller(x, y)),
}

few = settings(phases=(Phase.explicit, Phase.generate), max_examples=40)
cuts = st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=6), max_size=9)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FORMULAS)
@few
@given(cuts)
def test_formulas_are_those_of_the_whole_slice(name, parts):
    channels = [
        [np.array([pair[side] for pair in part], dtype=np.uint8) for part in parts] for side in (0, 1)
    ]
    empty = np.zeros(0)
    whole = [np.concatenate([empty, *map(np.float64, channel)]) for channel in channels]
    offsets = np.array([0, len(whole[0])])
    expected = FORMULAS[name](*(Segments(values, offsets) for values in whole))
    found = FORMULAS[name](*(Pieces.of(channel, counts=True) for channel in channels))
    assert np.asarray(found).shape == (1,)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


def test_negative_values_have_their_largest_running_total_anywhere():
    values = Pieces.of([np.array([1.0, 4.0]), np.array([-3.0, -2.0])])
    assert ops.largest(ops.cumulative(values)) == [5.0]


def test_nothing_is_warned_about_when_it_is_computed():
    values = Pieces.of([np.array([0.0, 1.0])] * 6)
    assert np.isnan(ops.total(values / values)).all()
