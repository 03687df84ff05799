from itertools import product

import numpy as np
import pytest
from scipy import stats

import plmetrics as plm
from plmetrics.inference.comparisons.tests.wilcoxon import middle_ranks, wilcoxon_tests


@pytest.mark.parametrize("size", [1, 2, 5, 50, 51, 200])
def test_without_ties_it_is_that_of_scipy(size: int) -> None:
    random = np.random.default_rng(size)
    one, other = random.normal(size=size) + 0.2, random.normal(size=size)
    method = "exact" if size <= 50 else "asymptotic"
    expected = stats.wilcoxon(one, other, method=method, correction=False)
    found = plm.tests.wilcoxon(one, other)
    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert (found.n, found.estimate) == (size, np.median(one - other))


def test_with_ties_many_differences_are_judged_by_the_normal_distribution() -> None:
    random = np.random.default_rng(120)
    differences = random.integers(-3, 5, 120).astype(float)
    retained = differences[differences != 0]
    expected = stats.wilcoxon(retained, method="asymptotic", correction=False)
    found = plm.tests.wilcoxon(differences, np.zeros(120))
    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert found.n == len(retained) > 50


def of_all_signs(differences: list[float]) -> float:
    """The share of signs whose rank sum is as small as the one seen, on either side."""
    ranks = stats.rankdata(np.abs(differences))
    signs = np.array(list(product([0, 1], repeat=len(ranks))))
    sums, seen = signs @ ranks, ranks[np.array(differences) > 0].sum()
    smaller = min(seen, ranks.sum() - seen)
    return min(1.0, 2 * float(np.mean(sums <= smaller + 1e-9)))


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([0.02, 0.01, 0.01, 0.03, 0.02], 0.0625),
        ([1.0, 1.0, 1.0, 1.0], 0.125),
        ([1.0, 1.0, 1.0, -1.0], 0.625),
        ([0.0, 2.0, 1.0, 1.0, 1.0, 1.0], 0.0625),
        ([1.5, -0.5, 2.5, 3.0, -2.0, 4.0], 0.21875),
    ],
)
def test_ties_do_not_stand_in_the_way_of_exact_p_values(differences: list[float], p: float) -> None:
    retained = [value for value in differences if value]
    assert of_all_signs(retained) == p
    assert plm.tests.wilcoxon(differences, [0.0] * len(differences)).p_value == pytest.approx(p, rel=1e-12)


def test_exact_p_counts_all_signs_of_tied_ranks() -> None:
    random = np.random.default_rng(4)
    for size in (*range(1, 11), 12):
        differences = random.integers(-4, 6, size).astype(float)
        differences[differences == 0] = 1.0
        found = plm.tests.wilcoxon(differences, np.zeros(size)).p_value
        assert found == pytest.approx(of_all_signs(differences.tolist()), rel=1e-12), differences


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
