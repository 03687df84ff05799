import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plmetrics.core.placements import placement_area
from plmetrics.core.segments import Segments

rows = st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=40)


def by_pairs(score: np.ndarray, positive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Placements from a loop over all pairs, ties counting half."""
    inside, outside = score[positive], score[~positive]
    psi = np.array([[1.0 if x > y else 0.5 if x == y else 0.0 for y in outside] for x in inside])
    psi = psi.reshape(len(inside), len(outside))
    return psi.mean(axis=1), psi.mean(axis=0)


def points(score: np.ndarray, positive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    distinct = np.unique(score)
    return tuple(
        np.array([(score[side] == x).sum() for x in distinct], float) for side in (positive, ~positive)
    )


@given(rows)
def test_against_all_pairs(drawn: list[tuple[int, bool]]) -> None:
    score, positive = np.array([x for x, _ in drawn], float), np.array([y for _, y in drawn])
    positive[:2] = True, False
    expected = by_pairs(score, positive)
    made = placement_area(*points(score, positive))
    assert made.area == pytest.approx(expected[0].mean())
    for variance, values in zip((made.positive_variance, made.negative_variance), expected, strict=True):
        if len(values) < 2:
            assert np.isnan(variance)
        else:
            assert variance == pytest.approx(values.var(ddof=1) / len(values), abs=1e-15)


def test_segments_are_slices_of_their_own() -> None:
    random = np.random.default_rng(3)
    counts = random.integers(0, 4, (2, 9)).astype(float)
    offsets = np.array([0, 4, 4, 9])
    made = placement_area(Segments(counts[0], offsets), Segments(counts[1], offsets))
    for place, part in ((0, slice(0, 4)), (2, slice(4, 9))):
        alone = placement_area(counts[0, part], counts[1, part])
        assert made.area[place] == pytest.approx(alone.area)
        assert made.positive_variance[place] == pytest.approx(alone.positive_variance)
        assert made.negative_variance[place] == pytest.approx(alone.negative_variance)
    assert np.isnan(made.area[1])
