import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plmetrics.states.complements import ComplementSums, complement_codes
from plmetrics.states.sums import SumsState

ENTRIES = st.lists(
    st.tuples(st.integers(-1, 3), st.integers(0, 2), st.floats(0, 1e6, allow_subnormal=False)), max_size=30
)


@given(ENTRIES, st.integers(0, 3), st.integers(1, 4))
def test_sums_of_a_rest_are_those_of_all_other_entries(
    entries: list[tuple[int, int, float]], first: int, length: int
) -> None:
    last = min(first + length, 4)
    codes, blocks, values = (np.array([entry[place] for entry in entries]) for place in range(3))
    codes, blocks = codes.astype(np.int64), blocks.astype(np.int64)
    state = SumsState(np.arange(len(entries)), blocks, {"x": values.astype(np.float64)}, 3)
    made = ComplementSums(state.roll_up(codes + 1, 5))
    assert made.slices == 4
    found = made.by_block(first, last)["x"]
    assert found.shape == (last - first, 3)
    for place in range(first, last):
        for block in range(3):
            others = [value for code, own, value in entries if code != place and own == block]
            assert found[place - first, block] == pytest.approx(sum(others), rel=1e-12)
            assert (found[place - first, block] == 0) == (sum(others) == 0)


def test_rows_of_no_slice_are_in_every_rest() -> None:
    assert complement_codes(np.array([0, 1, -1, 1]), 1).tolist() == [0, -1, 0, -1]
