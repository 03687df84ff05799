from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

import plmetrics as plm
from plmetrics.inference.comparisons.wilcoxon import middle_ranks, wilcoxon_tests


@pytest.mark.parametrize("size", [1, 2, 5, 50, 51, 200])
def test_without_ties_it_is_that_of_scipy(size: int) -> None:
    random = np.random.default_rng(size)
    one, other = random.normal(size=size) + 0.2, random.normal(size=size)
    method = "exact" if size <= 50 else "asymptotic"
    expected = stats.wilcoxon(one, other, method=method, correction=False)
    found = plm.tests.wilcoxon(one, other)
    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert (found.n, found.estimate) == (size, np.median(one - other))


@pytest.mark.parametrize("size", [6, 30, 120])
def test_with_ties_and_zeros_it_is_the_normal_one_of_those_that_differ(size: int) -> None:
    random = np.random.default_rng(size)
    differences = random.integers(-3, 5, size).astype(float)
    kept = differences[differences != 0]
    expected = stats.wilcoxon(kept, method="asymptotic", correction=False)
    found = plm.tests.wilcoxon(differences, np.zeros(size))
    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert found.n == len(kept)


def test_exact_p_counts_all_signs() -> None:
    differences = np.array([1.5, -0.5, 2.5, 3.0, -2.0, 4.0])
    ranks = stats.rankdata(np.abs(differences))
    sums = [
        sum(r for r, sign in zip(ranks, signs, strict=True) if sign) for signs in product([0, 1], repeat=6)
    ]
    seen = ranks[differences > 0].sum()
    smaller = min(seen, 21 - seen)
    expected = min(1.0, 2 * np.mean([value <= smaller for value in sums]))
    assert plm.tests.wilcoxon(differences, np.zeros(6)).p_value == pytest.approx(expected)


def test_zeros_do_not_stand_in_the_way_of_exact_p_values() -> None:
    some = [0.0, 0.0, 1.0, -2.0, 3.0, 4.0]
    assert plm.tests.wilcoxon(some, [0.0] * 6).p_value == plm.tests.wilcoxon(some[2:], [0.0] * 4).p_value


@pytest.mark.parametrize(("values", "p", "status"), [([], None, "no_rows"), ([0.0, 0.0], 1.0, "ok")])
def test_nothing_to_rank(values: list, p: float | None, status: str) -> None:
    found = plm.tests.wilcoxon(values, values)
    assert (found.p_value, found.status, found.n) == (p, status, 0)


def test_slices_are_tested_as_if_each_were_alone() -> None:
    random = np.random.default_rng(2)
    differences = random.normal(size=400) + 0.1
    differences[:40] = differences[:40].round(1)
    code = random.integers(0, 9, 400)
    code[code == 4] = 5
    found = wilcoxon_tests(differences, code, 9)
    for index in range(9):
        own = differences[code == index]
        alone = plm.tests.wilcoxon(own, np.zeros(len(own)))
        assert alone.status == found.status[index]
        if alone.p_value is not None:
            assert (found.p_value[index], found.statistic[index]) == (alone.p_value, alone.statistic)


@pytest.mark.parametrize("unit", [0.1, 1e-6, 1e9 / 7])
def test_rounding_in_the_last_bits_makes_no_difference(unit: float) -> None:
    one, other = np.array([3, 4, 5, 1, 2, 9, 3]), np.array([2, 3, 6, 3, 1, 7, 3])
    whole = plm.tests.wilcoxon(one, other)
    found = plm.tests.wilcoxon(one * unit, other * unit)
    assert (found.statistic, found.p_value, found.n) == (whole.statistic, whole.p_value, 6)
    squares = [(0.3, 0.7), (0.1, 0.4), (0.2, 0.9)]  # (1 - 0.7)^2 is 0.3^2, but for its last bit
    losses = np.array([[one**2, (1 - other) ** 2] for one, other in squares])
    assert losses[0, 0] != losses[0, 1]
    assert plm.tests.wilcoxon(losses[:, 0], losses[:, 1]).n == 2


def test_middle_ranks_are_those_of_scipy() -> None:
    values = np.random.default_rng(3).integers(0, 5, 60).astype(float)
    code = np.repeat([0, 2], 30)
    ranks, ties = middle_ranks(values, code, 3)
    np.testing.assert_array_equal(
        ranks, np.concatenate([stats.rankdata(values[:30]), stats.rankdata(values[30:])])
    )
    expected = [
        sum(t**3 - t for t in np.unique(values[code == index], return_counts=True)[1]) for index in range(3)
    ]
    assert ties.tolist() == expected
