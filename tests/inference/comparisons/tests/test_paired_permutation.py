import numpy as np
import polars as pl
import pytest
from scipy import stats

import plmetrics as plm
from plmetrics.inference.comparisons.tests.paired_permutation import paired_permutation_tests


def of_scipy(differences: np.ndarray, times: float = np.inf) -> float:
    """SciPy's test of paired samples: all choices of signs, or as many as `times`, from a seed of its own."""
    found = stats.permutation_test(
        (differences, np.zeros(len(differences))),
        lambda one, other, axis: (one - other).mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=times,
        batch=500,
        rng=np.random.default_rng(9),
    )
    return float(found.pvalue)


@pytest.mark.parametrize("size", [2, 5, 9, 13])
def test_few_differences_are_tested_under_all_signs(size: int) -> None:
    random = np.random.default_rng(size)
    smooth = random.normal(size=size) + 0.4
    found = plm.tests.paired_permutation(smooth, np.zeros(size))
    assert (found.p_value, found.estimate, found.n) == pytest.approx((of_scipy(smooth), smooth.mean(), size))
    tied = random.integers(-2, 4, size) / 10
    assert plm.tests.paired_permutation(tied, np.zeros(size)).p_value == pytest.approx(of_scipy(tied))


@pytest.mark.exhaustive
@pytest.mark.parametrize("size", [15, 60, 300])
def test_random_signs_estimate_the_share_of_all(size: int) -> None:
    random = np.random.default_rng(size)
    one, other = random.normal(size=size) + 1.8 / np.sqrt(size), random.normal(size=size) / 2
    found = plm.tests.paired_permutation(one, other, permutations=20_000).p_value
    assert found == pytest.approx(of_scipy(one - other, 20_000), abs=5 * np.sqrt(2 * 0.25 / 20_000))
    assert found != plm.tests.paired_permutation(one, other, permutations=20_000, seed=1).p_value


@pytest.mark.slow
def test_the_smaller_of_many_differences_are_normal_together() -> None:
    random = np.random.default_rng(3)
    differences = random.standard_t(2.1, 4_000)
    differences += 1.6 * differences.std() / np.sqrt(4_000) - differences.mean()
    signs = random.choice([-1.0, 1.0], (4_000, 4_000))
    share = np.mean(np.abs(signs @ differences) >= abs(differences.sum()))
    found = plm.tests.paired_permutation(differences, np.zeros(4_000))
    assert found.p_value == pytest.approx(share, abs=5 * np.sqrt(0.25 / 4_000))
    assert 0.05 < found.p_value < 0.2


def test_p_is_never_zero() -> None:
    far = np.full(40, 3.0) + np.arange(40) / 100
    assert plm.tests.paired_permutation(far, np.zeros(40), permutations=999).p_value == 1 / 1000


def test_slices_are_tested_as_if_each_were_alone_in_any_order_of_rows() -> None:
    random = np.random.default_rng(2)
    differences, code = (
        random.normal(size=6_000),
        random.choice(6, 6_000, p=[0.9, 0.05, 0.04, 0.008, 0.002, 0]),
    )
    differences[code == 2] = 0.0
    found = paired_permutation_tests(differences, code, 6)
    order = random.permutation(6_000)
    again = paired_permutation_tests(-differences[order], code[order], 6)
    assert found.p_value.tolist() == pytest.approx(again.p_value.tolist(), nan_ok=True, abs=1e-12)
    for place in range(6):
        here = differences[code == place]
        alone = paired_permutation_tests(here).only("alone")
        if len(here):
            assert found.p_value[place] == pytest.approx(alone.p_value, abs=1e-12)
        assert (found.status[place], found.n[place]) == (alone.status, len(here))
    assert found.status[5] == "no_rows"
    assert found.p_value[2] == 1.0


def test_size_of_the_test_is_right() -> None:
    """A p value below 5 % comes up in 5 % of tables where neither model is better."""
    random = np.random.default_rng(11)
    differences, code = random.standard_t(3, 40 * 2_000), np.repeat(np.arange(2_000), 40)
    found = paired_permutation_tests(differences, code, 2_000, permutations=1999).p_value
    assert np.mean(found < 0.05) == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / 2_000))


def test_rows_of_a_unit_change_signs_together() -> None:
    random = np.random.default_rng(5)
    customer = random.integers(0, 10, 400)
    table = pl.DataFrame(
        {"y": random.random(400), "customer": customer, "region": random.choice(["north", "south"], 400)}
    ).with_columns(
        one=pl.col("y") + random.normal(size=400) + random.normal(size=10)[customer], other=pl.col("y") + 0.9
    )
    found = plm.evaluate(
        table,
        task="regression",
        label="y",
        unit="customer",
        models={"one": "one", "other": "other"},
        metrics=["mae"],
        slices=["region"],
        compare={"baseline": "other", "tests": ["paired_permutation", "wilcoxon"]},
    ).comparisons.filter(test="paired_permutation")
    assert found.height == 3
    for row in found.iter_rows(named=True):
        rows = (
            table
            if row["slice"] == "all"
            else table.filter(pl.lit("region=") + pl.col("region") == row["slice"])
        )
        apart = rows.with_columns(loss=(pl.col("one") - pl.col("y")).abs() - 0.9)
        sums = apart.group_by("customer").agg(pl.col("loss").sum())["loss"].to_numpy()
        assert row["p_value"] == pytest.approx(of_scipy(sums))
        assert row["difference"] == row["statistic"] == pytest.approx(apart["loss"].mean())
        assert (row["n"], row["status"]) == (rows.height, "ok")


def test_permutations_are_a_number_of_them() -> None:
    with pytest.raises(plm.ConfigError, match="permutations must be at least 1, not 0"):
        plm.tests.paired_permutation([1.0], [2.0], permutations=0)
