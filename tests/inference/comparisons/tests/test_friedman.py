import numpy as np
import pytest
from scipy import stats

import plmetrics as plm

CLASSIFIERS = {
    "LR": [0.841, 0.823, 0.856, 0.832, 0.848],
    "RF": [0.853, 0.831, 0.862, 0.839, 0.855],
    "GB": [0.861, 0.837, 0.859, 0.842, 0.851],
}


def scores(seed: int, blocks: int, models: int, ties: bool) -> dict[str, np.ndarray]:
    values = np.random.default_rng(seed).normal(size=(models, blocks))
    return {f"m{i}": row.round(0) if ties else row for i, row in enumerate(values)}


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("blocks", "models"), [(2, 3), (5, 3), (30, 6)])
def test_friedman_is_that_of_scipy(blocks: int, models: int, ties: bool) -> None:
    table = scores(blocks + models, blocks, models, ties)
    expected = stats.friedmanchisquare(*table.values())
    found = plm.tests.friedman(table)
    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert (found.df, found.n) == (models - 1, blocks)


@pytest.mark.parametrize("ties", [False, True])
def test_iman_davenport_is_the_analysis_of_variance_of_the_ranks(ties: bool) -> None:
    table = scores(3, 8, 4, ties)
    ranks = np.array([stats.rankdata(row) for row in np.array(list(table.values())).T])
    between = 8 * ((ranks.mean(axis=0) - 2.5) ** 2).sum()
    within = ((ranks - 2.5) ** 2).sum() - between
    f = (between / 3) / (within / 21)
    found = plm.tests.iman_davenport(table)
    assert found.statistic == pytest.approx(f)
    assert found.p_value == pytest.approx(stats.f.sf(f, 3, 21))
    assert found.df == (3, 21)


@pytest.mark.parametrize("test", ["friedman", "iman_davenport"])
def test_models_that_are_all_alike(test: str) -> None:
    same = getattr(plm.tests, test)({"a": [1.0, 2.0], "b": [1.0, 2.0], "c": [1.0, 2.0]})
    assert (same.p_value, same.status, same.statistic) == (1.0, "ok", 0.0)
    single = getattr(plm.tests, test)({"a": [1.0], "b": [2.0]})
    assert (single.p_value, single.status) == (None, "too_few_units")
    with pytest.raises(plm.ConfigError, match="at least two models"):
        getattr(plm.tests, test)({"a": [1.0, 2.0]})
    with pytest.raises(plm.ConfigError, match="a 2, b 1"):
        getattr(plm.tests, test)({"a": [1.0, 2.0], "b": [1.0]})


def test_the_same_order_everywhere_leaves_f_without_a_denominator() -> None:
    found = plm.tests.iman_davenport({"a": [3.0, 6.0, 5.0], "b": [2.0, 5.0, 4.0], "c": [1.0, 4.0, 3.0]})
    assert (found.statistic, found.p_value, found.status) == (None, None, "zero_variance")
    assert "same order" in found.note


@pytest.mark.parametrize(
    ("k", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (10, 3.164)]
)
def test_critical_differences_come_from_the_published_quantiles(k: int, q: float) -> None:
    table = {f"m{index}": np.arange(14.0) + index for index in range(k)}
    found = plm.tests.nemenyi(table)
    expected = q * np.sqrt(k * (k + 1) / (6 * 14))
    assert found["critical_difference"][0] == pytest.approx(expected, rel=5e-4)
    assert found.height == k * (k - 1) / 2


def test_pairs_differ_by_their_mean_ranks() -> None:
    found = plm.tests.nemenyi(CLASSIFIERS)
    ranks = dict.fromkeys(CLASSIFIERS, 0.0)
    for fold in range(5):
        ordered = sorted(CLASSIFIERS, key=lambda name: -CLASSIFIERS[name][fold])
        for place, name in enumerate(ordered, 1):
            ranks[name] += place / 5
    for row in found.iter_rows(named=True):
        assert row["difference"] == pytest.approx(ranks[row["model"]] - ranks[row["baseline"]])
        assert row["significant"] == (abs(row["difference"]) > row["critical_difference"])
        assert row["significant"] == (row["p_value"] < 0.05)
    turned = plm.tests.nemenyi(CLASSIFIERS, higher_is_better=False)
    np.testing.assert_allclose(turned["difference"], -found["difference"].to_numpy())


def test_two_models_differ_by_a_normal_quantile() -> None:
    table = {"a": [3.0, 6.0, 5.0, 1.0], "b": [2.0, 5.0, 4.0, 2.0]}
    found = plm.tests.nemenyi(table)
    z = abs(found["difference"][0]) / np.sqrt(2 * 3 / (6 * 4))
    assert found["p_value"][0] == pytest.approx(2 * stats.norm.sf(z), rel=1e-6)
    with pytest.raises(plm.ConfigError, match="no blocks"):
        plm.tests.nemenyi({"a": [], "b": []})


def test_values_that_differ_in_their_last_bits_alone_are_ties() -> None:
    models = {"a": [0.1 + 0.2, 0.5, 0.7], "b": [0.3, 0.4, 0.9], "c": [0.2, 0.1, 0.8]}
    assert models["a"][0] != models["b"][0]
    found = plm.tests.friedman(models)
    exact = plm.tests.friedman({"a": [3, 5, 7], "b": [3, 4, 9], "c": [2, 1, 8]})
    assert (found.statistic, found.p_value) == (exact.statistic, exact.p_value)
