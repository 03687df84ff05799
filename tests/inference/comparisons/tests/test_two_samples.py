"""Two samples: p values and statistics against SciPy, many slices at once, and the corner cases."""

import numpy as np
import pytest
from scipy import stats

from plmetrics.core.segments import Segments
from plmetrics.inference.comparisons.tests.two_samples import (
    bin_edges,
    by_bin,
    chi2_homogeneity,
    jensen_shannon,
    ks_distance,
    moments,
    psi,
    quantile,
    wasserstein,
)


def cut(*parts: list[float]) -> Segments:
    return Segments(
        np.concatenate([np.asarray(part, dtype=float) for part in parts]), np.cumsum([0, *map(len, parts)])
    )


def test_an_empty_slice_disturbs_no_other() -> None:
    values = cut([1.0, 2.0, 5.0], [], [3.0, 4.0])
    before, now = cut([2.0, 0.0, 1.0], [], [1.0, 1.0]), cut([0.0, 3.0, 1.0], [], [1.0, 1.0])
    one, two = [1, 1, 5], [2, 2, 2, 5]
    assert ks_distance(before, now)[[0, 2]] == pytest.approx([stats.ks_2samp(one, two).statistic, 0.0])
    assert wasserstein(values, before, now) == pytest.approx([stats.wasserstein_distance(one, two), 0, 0])
    assert quantile(values, before, 0.5)[[0, 2]] == pytest.approx([1, 3.5])
    assert np.isnan(quantile(values, before, 0.5)[1])
    found = moments(values, before)
    assert found.mean[[0, 2]] == pytest.approx([np.mean(one), 3.5])
    assert found.variance[[0, 2]] == pytest.approx([np.var(one), 0.25])
    assert np.isnan([found.mean[1], found.variance[1]]).all()


def test_moments_about_edges_are_those_of_the_values() -> None:
    random = np.random.default_rng(0)
    values, edges = np.sort(random.normal(1e6, 1, 500)), np.arange(1e6 - 5, 1e6 + 5, 0.5)
    place = np.searchsorted(edges, values, side="right") - 1
    weight, above = np.bincount(place, minlength=len(edges)), values - edges[place]
    offset, square = (np.bincount(place, above**power, minlength=len(edges)) for power in (1, 2))
    ends = np.array([0, len(edges)])
    parts = (Segments(part.astype(float), ends) for part in (edges, weight, offset, square))
    found = moments(*parts)
    assert found.mean[0] == pytest.approx(values.mean(), rel=1e-14)
    assert found.variance[0] == pytest.approx(values.var(), rel=1e-9)


def test_the_variance_of_tiny_values_in_bins_is_unknown_and_not_0() -> None:
    edges, none = cut([1e-200, 2e-200]), cut([0, 0])
    assert np.isnan(moments(edges, cut([3, 4]), none, none).variance[0])
    assert moments(edges, cut([7, 0]), none, none).variance[0] == 0


def test_bins_that_no_row_is_in_do_not_count() -> None:
    before, now = cut([10, 0, 20, 0], [4, 0]), cut([15, 0, 5, 3], [9, 0])
    table = [[10, 20, 0], [15, 5, 3]]
    expected = stats.chi2_contingency(table, correction=False)
    found = chi2_homogeneity(before, now)
    assert found.statistic == pytest.approx([expected.statistic, 0])
    assert found.p_value == pytest.approx([0.0016, 1], abs=5e-4)  # of all tables of these totals
    assert found.few_rows.tolist() == [True, False]
    assert jensen_shannon(cut([1, 0]), cut([0, 5])) == pytest.approx([1])
    assert psi(cut([1, 0, 0]), cut([1, 0, 0]), 1e-4) == pytest.approx([0])


def test_bins_of_tiny_weight_are_no_reason_for_a_warning() -> None:
    """The statistic is that of the weights; rows of 1e-310 have no reciprocal among floats."""
    found = chi2_homogeneity(cut([2.0, 1e-310]), cut([1.0, 0.0]))
    assert found.statistic == pytest.approx([0.5e-310], abs=1e-300)
    assert np.isfinite(found.p_value).all()


RARE = np.array([0.5, 0.3, 0.1, 0.05, *[0.005] * 10])


@pytest.mark.parametrize(("before", "now"), [(2000, 50), (100, 100), (20_000, 60)])
def test_rare_bins_are_no_change(before: int, now: int) -> None:
    """By the chi2 distribution 10 % of 50 rows against 2,000 were below 0.05, and 5 % below 0.01."""
    random, tables = np.random.default_rng(3), 4000
    drawn = (random.multinomial(rows, RARE, tables) for rows in (before, now))
    found = chi2_homogeneity(*(cut(*sample.tolist()) for sample in drawn))
    assert found.few_rows.mean() > 0.99
    assert np.mean(found.p_value < 0.05) == pytest.approx(0.05, abs=0.012)
    assert 0.005 < np.mean(found.p_value < 0.01) < 0.02


def test_a_new_bin_is_a_change() -> None:
    """Bins that are pooled until 5 rows are expected hide it among the others."""
    random, tables = np.random.default_rng(4), 300
    before, now = (
        random.multinomial(2000, [*RARE, 0], tables),
        random.multinomial(50, [*(RARE * 0.9), 0.1], tables),
    )
    found = chi2_homogeneity(*(cut(*sample.tolist()) for sample in (before, now)))
    assert np.mean(found.p_value < 0.01) > 0.9


@pytest.mark.parametrize("now", [[2, 2, 0, 2, 0, 1], [3, 2, 1, 1, 0, 1]])
def test_chance_of_rare_bins_is_that_of_all_tables_of_these_totals(now: list[int]) -> None:
    """The chi2 distribution says less than a tenth of it."""
    before = np.array([300, 150, 40, 9, 1, 2])
    found = chi2_homogeneity(cut(before.tolist()), cut(now))
    totals = before + now
    drawn = stats.multivariate_hypergeom.rvs(totals, sum(now), size=100_000, random_state=1)
    expected = np.outer([sum(now), before.sum()], totals) / totals.sum()
    deviations = (drawn - expected[0]) ** 2 / expected[0] + (totals - drawn - expected[1]) ** 2 / expected[1]
    exact = np.mean(deviations.sum(axis=1) >= found.statistic[0] - 1e-9)
    assert exact / 2 < found.p_value[0] < exact * 2
    assert stats.chi2.sf(found.statistic[0], len(now) - 1) < exact / 10


@pytest.mark.parametrize(
    ("values", "weight", "bins", "edges"),
    [
        (range(1, 101), [1] * 100, 4, [25.5, 50.5, 75.5]),
        (range(1, 12), [0, *[1] * 10], 2, [6.5]),
        ([0, 1, 2, 3, 4], [96, 1, 1, 1, 1], 2, [0]),
        ([], [], 10, []),
        ([3], [5], 10, [3, np.nextafter(3, 4)]),
        ([3, 4], [5, 0], 10, [3, np.nextafter(3, 4)]),
    ],
)
def test_edges(values: list[float], weight: list[float], bins: int, edges: list[float]) -> None:
    found = bin_edges(np.array(values, dtype=float), np.array(weight, dtype=float), bins)
    assert found.tolist() == edges


def test_values_below_and_above_all_edges_have_bins() -> None:
    counted = by_bin(cut([-9.0, 1.0, 2.0, 99.0]), cut([1, 1, 1, 1]), np.array([1.0, 2.0]), np.array([7.0]))
    assert counted.values.tolist() == [1, 1, 2, 7]
