from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plmetrics.inference.estimate import Estimate, effective_blocks


def one(*masses: list[float]) -> int:
    return int(effective_blocks(tuple(np.array([mass]) for mass in masses))[0])


@pytest.mark.parametrize("mass", [1.0, 0.1, 1 / 3, 1e-300, 1e300])
@pytest.mark.parametrize("blocks", [1, 2, 3, 49, 1000, 4000])
def test_equal_blocks_count_in_full(mass: float, blocks: int) -> None:
    assert one([mass] * blocks) == blocks


@pytest.mark.parametrize(
    ("mass", "expected"),
    [
        ([5.0, 0.0, 0.0], 1),
        ([0.0, 0.0], 0),
        ([], 0),
        ([3.0, 1.0], 1),
        ([2.0, 1.0, 1.0], 2),
        ([1.0, 1.0, 0.0, 1.0], 3),
        ([1.0, 3.0, 7.0, 7.0], 3),
        ([2.0, 2.0, 2.0, 2.0, 2.0, 5.0], 5),
    ],
)
def test_worked_examples(mass: list[float], expected: int) -> None:
    assert one(mass) == expected


def test_the_smallest_of_the_masses_decides() -> None:
    assert one([1.0] * 10, [1.0, 1.0] + [0.0] * 8) == 2
    assert one([1.0] * 10, [0.0] * 10) == 0


@settings(deadline=None)
@given(st.lists(st.integers(0, 1000), min_size=1, max_size=30))
def test_against_exact_fractions(mass: list[int]) -> None:
    squares = sum(m * m for m in mass)
    expected = Fraction(sum(mass) ** 2, squares).__floor__() if squares else 0
    assert one([m * 0.1 for m in mass]) == expected


def test_slices_are_taken_from_every_part() -> None:
    replicates = np.arange(6.0).reshape(2, 3)
    value, status = np.arange(3.0), np.array(["ok", "no_rows", "ok"], dtype=object)
    whole = Estimate(value, status, np.array([4, 5, 6]), replicates, (value + 1, value + 2), replicates + 10)
    part = whole.take(np.array([2, 0]))
    assert part.value.tolist() == [2.0, 0.0]
    assert part.status.tolist() == ["ok", "ok"]
    assert part.blocks.tolist() == [6, 4]
    assert part.replicates is not None
    assert part.replicates.tolist() == [[2.0, 0.0], [5.0, 3.0]]
    assert [size.tolist() for size in part.sizes] == [[3.0, 1.0], [4.0, 2.0]]
    assert part.deviations is not None
    assert part.deviations.tolist() == [[12.0, 10.0], [15.0, 13.0]]
