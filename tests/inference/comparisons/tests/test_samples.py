from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.spatial import distance

import plmetrics as plm


@pytest.mark.parametrize(("n_a", "n_b"), [(1, 1), (4, 4), (7, 12), (60, 45)])
def test_exact_ks_is_that_of_scipy(n_a: int, n_b: int) -> None:
    random = np.random.default_rng(n_a)
    one, other = random.normal(size=n_a), random.normal(size=n_b) + 0.4
    expected = stats.ks_2samp(one, other, method="exact")
    found = plm.tests.ks_2samp(one, other)
    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))


@pytest.mark.parametrize("shift", [3.0, 9.0])
def test_exact_ks_has_all_digits_of_a_small_p(shift: float) -> None:
    one, other = np.linspace(0.0, 4.0, 100), np.linspace(0.0, 4.0, 100) + shift
    expected = stats.ks_2samp(one, other, method="exact").pvalue
    assert expected < 1e-20
    assert plm.tests.ks_2samp(one, other).p_value == pytest.approx(expected, rel=1e-9, abs=0.0)


def test_large_samples_have_the_distribution_of_kolmogorov() -> None:
    random = np.random.default_rng(1)
    one, other = random.normal(size=3000), random.normal(size=2000) + 0.05
    found = plm.tests.ks_2samp(one, other, method="asymptotic")
    expected = stats.ks_2samp(one, other, method="asymp")
    assert found.statistic == pytest.approx(expected.statistic)
    assert found.p_value == pytest.approx(expected.pvalue, rel=2e-3)
    assert plm.tests.ks_2samp(one, other).p_value == found.p_value


def test_ties_count_in_both_distribution_functions() -> None:
    one, other = [1, 1, 2, 3, 3], [1, 2, 2, 2, 4]
    points = sorted({*one, *other})
    distance = max(abs(sum(x <= t for x in one) / 5 - sum(x <= t for x in other) / 5) for t in points)
    assert plm.tests.ks_2samp(one, other).statistic == pytest.approx(distance)
    same = plm.tests.ks_2samp(one, one)
    assert (same.statistic, same.p_value) == (0.0, 1.0)
    assert plm.tests.ks_2samp([], one).status == "no_rows"


def test_chi_squared_is_that_of_scipy() -> None:
    one, other = [30, 50, 20, 0], [45, 40, 15, 0]
    expected = stats.chi2_contingency(np.array([one, other])[:, :3], correction=False)
    found = plm.tests.chi2_2samp(one, other)
    assert (found.statistic, found.p_value, found.df) == pytest.approx(
        (expected.statistic, expected.pvalue, expected.dof)
    )
    assert found.note is None
    assert "below 5" in plm.tests.chi2_2samp([2, 3], [1, 5]).note


def test_categories_that_cannot_differ() -> None:
    assert plm.tests.chi2_2samp([4, 0], [9, 0]).p_value == 1.0
    assert plm.tests.chi2_2samp([0, 0], [9, 1]).status == "no_rows"
    with pytest.raises(plm.ConfigError, match="whole numbers"):
        plm.tests.chi2_2samp([1.5, 2], [1, 2])
    with pytest.raises(plm.ConfigError, match="a 1, b 2"):
        plm.tests.chi2_2samp([1], [1, 2])


def samples(seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.normal(size=300).round(2), random.normal(0.4, 1.3, size=211).round(2)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_wasserstein_is_that_of_scipy(seed: int) -> None:
    one, other = samples(seed)
    expected = stats.wasserstein_distance(one, other)
    assert plm.tests.wasserstein(one, other).estimate == pytest.approx(expected)
    assert plm.tests.wasserstein(one, other, scale="sd").estimate == pytest.approx(expected / one.std())


@pytest.mark.parametrize("bins", [2, 10, 25])
def test_bins_are_cut_at_quantiles_of_the_reference(bins: int) -> None:
    one, other = samples(4)
    edges = np.quantile(one, np.arange(1, bins) / bins, method="averaged_inverted_cdf")
    before, now = (
        np.bincount(np.searchsorted(np.unique(edges), own, side="right"), minlength=bins) / len(own)
        for own in (one, other)
    )
    assert plm.tests.jensen_shannon(one, other, bins=bins).estimate == pytest.approx(
        distance.jensenshannon(before, now, base=2)
    )
    before, now = np.maximum(before, 0.001), np.maximum(now, 0.001)
    expected = np.sum((now - before) * np.log(now / before))
    assert plm.tests.psi(one, other, bins=bins, floor=0.001).estimate == pytest.approx(expected)


@pytest.mark.parametrize("values", [["a", "b", None], [True, False, None], ["b", "b", "b"]])
def test_categories_and_nulls_are_bins(values: list[Any]) -> None:
    one, other = values * 4, [values[0]] * 5 + [None]
    kinds = list(dict.fromkeys([*one, *other]))
    before, now = (np.array([own.count(kind) for kind in kinds]) / len(own) for own in (one, other))
    expected = distance.jensenshannon(before, now, base=2)
    assert plm.tests.jensen_shannon(one, other).estimate == pytest.approx(expected)
    before, now = np.maximum(before, 1e-4), np.maximum(now, 1e-4)
    assert plm.tests.psi(one, pl.Series(other)).estimate == pytest.approx(
        np.sum((now - before) * np.log(now / before))
    )


def test_what_a_suite_says_of_the_same_columns() -> None:
    one, other = samples(5)
    frame = pl.DataFrame({"x": np.concatenate([one, other]), "now": [False] * 300 + [True] * 211})
    frame = frame.with_columns(y=pl.int_range(pl.len()) % 2, p=pl.lit(0.5))
    measures = ["psi", "wasserstein", "wasserstein(scale=sd)", "jensen_shannon(bins=5)"]
    drift = {"where": "NOT now", "columns": ["x"], "measures": measures}
    result = plm.evaluate(frame, label="y", models="p", metrics=["brier"], where="now", drift=drift)
    found = dict(result.drift.filter(column="x").select("measure", "value").iter_rows())
    tests = plm.tests
    own = [tests.psi(one, other), tests.wasserstein(one, other), tests.wasserstein(one, other, scale="sd")]
    expected = [*own, tests.jensen_shannon(one, other, bins=5)]
    assert [found[measure] for measure in measures] == pytest.approx([one.estimate for one in expected])


@pytest.mark.parametrize("name", ["psi", "jensen_shannon", "wasserstein"])
def test_the_same_and_nothing(name: str) -> None:
    measure = getattr(plm.tests, name)
    assert measure([1, 2, 2, 3], [1, 2, 2, 3]).estimate == 0
    assert (measure([], [1.0]).status, measure([1.0], []).status) == ("no_rows", "no_rows")
    assert measure([1.0], []).estimate is None
    assert measure([1.0, 2.0], [1.5]).p_value is None


def test_a_reference_that_does_not_vary() -> None:
    found = plm.tests.wasserstein([2, 2], [3, 4], scale="sd")
    assert (found.estimate, found.status) == (None, "zero_variance")
    rounded = plm.tests.wasserstein([0.1] * 1000, [1.1] * 1000, scale="sd")  # whose mean is not 0.1
    assert (rounded.estimate, rounded.status) == (None, "zero_variance")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: plm.tests.psi([1, 2], ["a"]), "one kind"),
        (lambda: plm.tests.psi([1, 2], [float("nan")]), "current must be finite"),
        (lambda: plm.tests.psi([1, 2], [1], bins=1), "bins must be from 2"),
        (lambda: plm.tests.psi([1, 2], [1], floor=0), "floor must be"),
        (lambda: plm.tests.jensen_shannon([1, "a"], [1]), "reference must be one column"),
        (lambda: plm.tests.wasserstein([1, 2], [1], scale="metre"), "scale must be one of"),
        (lambda: plm.tests.wasserstein([1, None], [1]), "reference must be finite"),
    ],
)
def test_what_is_refused(call: Any, words: str) -> None:
    with pytest.raises(plm.ConfigError, match=words):
        call()
