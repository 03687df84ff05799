"""Bayesian tests against baycomp 1.0.3 (values copied) and SciPy, and parameters of tests of ranks against SciPy."""

from itertools import product

import numpy as np
import polars as pl
import pytest
from scipy import stats

import plmetrics as plm

MODEL = [0.84, 0.85, 0.86, 0.88, 0.9, 0.7, 0.8]
BASELINE = [0.80, 0.86, 0.81, 0.83, 0.86, 0.72, 0.8]


def test_the_correlated_t_test_is_that_of_baycomp() -> None:
    found = plm.tests.correlated_t(MODEL, BASELINE, ratio=1 / 6, rope=0.01)
    expected = (0.055473277655674835, 0.20564494266303546, 0.7388817796812898)
    assert (found.below, found.within, found.above) == pytest.approx(expected, abs=1e-12)


def test_without_a_rope_it_is_the_frequentist_test_read_otherwise() -> None:
    corrected = plm.tests.corrected_resampled_t(MODEL, BASELINE, ratio=1 / 6)
    found = plm.tests.correlated_t(MODEL, BASELINE, ratio=1 / 6)
    assert found.above == pytest.approx(1 - corrected.p_value / 2)
    assert found.within == 0.0
    assert (found.lower, found.upper) == pytest.approx((corrected.lower, corrected.upper))


@pytest.mark.parametrize(
    ("rope", "expected"), [(0.01, (0.01684, 0.03622, 0.94694)), (0.0, (0.0535, 0.0, 0.9465))]
)
def test_the_bayesian_signed_rank_test_is_that_of_baycomp(rope: float, expected: tuple[float, ...]) -> None:
    """Both draw 50,000 times: six standard deviations of their difference.

    Those of baycomp are of hundredths as whole numbers, with a rope of 1: it takes 0.85 - 0.86 as below -0.01.
    """
    found = plm.tests.bayesian_signed_rank(MODEL, BASELINE, rope=rope, seed=3)
    assert (found.below, found.within, found.above) == pytest.approx(
        expected, abs=6 * np.sqrt(2 * 0.05 / 50_000)
    )
    assert found == plm.tests.bayesian_signed_rank(MODEL, BASELINE, rope=rope, seed=3)


def test_edges_of_posteriors() -> None:
    same = plm.tests.correlated_t([1.0, 1.0], [1.0, 1.0], ratio=0.5)
    assert (same.below, same.above) == (0.5, 0.5)
    assert plm.tests.correlated_t([2.0, 2.0], [1.0, 1.0], ratio=0.5, rope=0.5).above == 1.0
    assert plm.tests.correlated_t([1.0], [1.0], ratio=0.5).status == "too_few_units"
    assert plm.tests.bayesian_signed_rank([], []).status == "too_few_units"
    same = plm.tests.bayesian_signed_rank(BASELINE, BASELINE)  # was below the baseline, for certain
    assert (same.below, same.within, same.above, same.estimate) == (0.5, 0.0, 0.5, 0.0)
    assert plm.tests.bayesian_signed_rank(BASELINE, BASELINE, rope=0.01).within == 1
    for bad in ({"rope": -1.0}, {"prior": 0.0}, {"samples": 0}):
        with pytest.raises(plm.ConfigError):
            plm.tests.bayesian_signed_rank(MODEL, BASELINE, **bad)


def differences(n: int, digits: int) -> np.ndarray:
    values = np.round(np.random.default_rng(n + digits).normal(0.1, 1, n), digits)
    values[: n // 6] = 0
    return values


@pytest.mark.parametrize(("zeros", "method"), [("drop", "wilcox"), ("pratt", "pratt"), ("split", "zsplit")])
@pytest.mark.parametrize("continuity", [False, True])
def test_zeros_and_continuity_of_wilcoxon_are_those_of_scipy(
    zeros: str, method: str, *, continuity: bool
) -> None:
    for values in (differences(80, 1), differences(150, 6)):
        ours = plm.tests.wilcoxon(values, np.zeros(len(values)), zeros=zeros, continuity=continuity)
        theirs = stats.wilcoxon(values, zero_method=method, correction=continuity, method="asymptotic")
        assert ours.statistic == pytest.approx(theirs.statistic)
        assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-12)


@pytest.mark.parametrize("zeros", ["pratt", "split"])
def test_exact_p_values_with_zeros_are_those_of_all_signs(zeros: str) -> None:
    values = np.array([0.0, 0.0, 1.0, -2.0, 2.0, 3.0, -1.0, 4.0, 0.0, 5.0])
    ranks = stats.rankdata(np.abs(values))[values != 0]
    sums = np.array(
        [ranks[np.array(signs, dtype=bool)].sum() for signs in product((0, 1), repeat=len(ranks))]
    )
    up = ranks[values[values != 0] > 0].sum()
    smaller = min(up, ranks.sum() - up)
    expected = min(1.0, 2 * (sums <= smaller + 1e-9).mean())
    assert plm.tests.wilcoxon(values, np.zeros(10), zeros=zeros).p_value == pytest.approx(expected)


def test_friedman_without_correction_for_ties_is_the_formula_of_demsar() -> None:
    values = np.random.default_rng(4).integers(0, 4, (12, 4)).astype(float)
    table = {name: values[:, place] for place, name in enumerate("abcd")}
    ranks = stats.rankdata(-values, axis=1)
    n, k = ranks.shape
    plain = 12 * n / (k * (k + 1)) * ((ranks.mean(axis=0) ** 2).sum() - k * (k + 1) ** 2 / 4)
    assert plm.tests.friedman(table, tie_correction=False).statistic == pytest.approx(plain)
    corrected = stats.friedmanchisquare(*values.T).statistic
    assert plm.tests.friedman(table).statistic == pytest.approx(corrected)
    for correction, chi in ((False, plain), (True, corrected)):
        found = plm.tests.iman_davenport(table, tie_correction=correction)
        assert found.statistic == pytest.approx((n - 1) * chi / (n * (k - 1) - chi))
        assert found.p_value == pytest.approx(stats.f.sf(found.statistic, k - 1, (k - 1) * (n - 1)))
    means = plm.tests.mean_ranks(table)
    expected = dict(zip("abcd", ranks.mean(axis=0), strict=True))
    assert dict(means.select("model", "mean_rank").rows()) == pytest.approx(expected)
    assert means["mean_rank"].is_sorted()


@pytest.mark.slow
def test_nemenyi_with_finite_degrees_of_freedom_is_that_of_scmamp() -> None:
    """scmamp: q of the studentised range with k (N - 1) degrees of freedom, over the root of 2."""
    values = np.random.default_rng(5).random((6, 3))
    table = {name: values[:, place] for place, name in enumerate("abc")}
    found = plm.tests.nemenyi(table, df="finite")
    limit = stats.studentized_range.ppf(0.95, 3, 3 * 5) / np.sqrt(2) * np.sqrt(3 * 4 / (6 * 6))
    assert found["critical_difference"].to_list() == pytest.approx([limit] * 3)
    assert (found["p_value"] >= plm.tests.nemenyi(table)["p_value"]).all()
    with pytest.raises(plm.ConfigError, match="two blocks"):
        plm.tests.nemenyi({"a": [1.0], "b": [2.0]}, df="finite")


def test_suites_ask_for_them() -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 800)
    frame = pl.DataFrame({"y": label, "f": np.arange(800) % 8})
    frame = frame.with_columns(
        a=pl.Series(0.3 * label + rng.random(800)), b=pl.Series(0.2 * label + rng.random(800))
    )
    asked = [
        "wilcoxon(zeros=split, continuity=true)",
        {"correlated_t": {"rope": 0.01}},
        "bayesian_signed_rank(rope=0.01)",
        "friedman(tie_correction=false)",
        "nemenyi(df=finite)",
    ]
    result = plm.evaluate(
        frame,
        label="y",
        models=["a", "b"],
        metrics=["roc_auc"],
        fold="f",
        compare={"baseline": "a", "tests": asked},
    )
    folds = result.folds.pivot("model", index="fold", values="value")
    expected = plm.tests.correlated_t(folds["b"], folds["a"], ratio=1 / 7, rope=0.01)
    (row,) = result.comparisons.filter(test="correlated_t(rope=0.01)").to_dicts()
    assert (row["difference"], row["lower"]) == pytest.approx((expected.estimate, expected.lower), rel=1e-2)
    assert f"P(within 0.01) = {expected.within:.3f}"[:20] in row["note"]
    assert row["p_value"] is None
    tests = result.comparisons["test"].to_list()
    assert "wilcoxon(zeros=split, continuity=true)" in tests
    (friedman,) = result.comparisons.filter(test="friedman(tie_correction=false)")["note"]
    assert friedman.startswith("mean ranks: a 1.")
    for bad in ("wilcoxon(zeros=keep)", "correlated_t(rope=-1)", "nemenyi(df=3)"):
        with pytest.raises(plm.ConfigError):
            plm.evaluate(
                frame, label="y", models=["a", "b"], fold="f", compare={"baseline": "a", "tests": [bad]}
            )


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("model", "baseline"),
    [
        ([85, 86, 88, 91, 77], [84, 85, 87, 90, 76]),
        ([84, 85, 87, 90, 76], [85, 86, 88, 91, 77]),
        ([3, 30, 88], [2, 29, 89]),
        ([30, 20, 10, 70], [20, 10, 20, 60]),
        ([29, 58], [29, 58]),
    ],
)
@pytest.mark.parametrize("rope", [0, 1])
def test_rounding_decides_nothing_at_an_end_of_the_rope(
    model: list[int], baseline: list[int], rope: int
) -> None:
    """Whole numbers and their hundredths say the same: whole ones have no rounding."""
    shares = [np.array(column) / 100 for column in (model, baseline)]
    for test, further in ((plm.tests.correlated_t, {"ratio": 0.25}), (plm.tests.bayesian_signed_rank, {})):
        whole, part = test(model, baseline, rope=rope, **further), test(*shares, rope=rope / 100, **further)
        found = (part.below, part.within, part.above)
        assert found == pytest.approx((whole.below, whole.within, whole.above), abs=1e-9)
