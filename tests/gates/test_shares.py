"""Shares in corrected gates against binomial probabilities."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

import plmetrics as plm
from plmetrics.catalogue.needs import ValueKind
from plmetrics.gates.shares import Shares, shares_of
from plmetrics.gates.simultaneous import widen_intervals

LEVEL, SHARE = 0.9, 0.05


def of_rows(hits: Any, rows: Any, method: str = "wilson", blocks: Any = None) -> pl.DataFrame:
    hits = np.asarray(hits, dtype=float)
    rows = np.zeros_like(hits) + rows
    form = "beta" if method == "clopper_pearson" else "wilson"
    lower, upper = proportion_confint(hits, rows, alpha=1 - LEVEL, method=form)
    value = hits / rows
    known = {"observed": value, "lower": lower, "upper": upper, "method": method, "kish_size": None}
    error = np.sqrt(value * (1 - value) / rows)
    return pl.DataFrame(known | {"std_error": error, "blocks": rows if blocks is None else blocks})


def judged(rows: pl.DataFrame, limit: float, correction: str = "bonferroni") -> pl.DataFrame:
    return widen_intervals(
        rows, limit, correction, kind=ValueKind("proportion", (0.0, 1.0)), scale="", level=LEVEL
    ).sort("observed")


@pytest.mark.parametrize("method", ["wilson", "clopper_pearson"])
@pytest.mark.parametrize("rows", [2, 17, 300, 123_456])
def test_an_interval_of_counts_says_how_many_rows_it_is_of(rows: int, method: str) -> None:
    hits = np.unique([0, 1, rows // 2, rows // 3, rows - 1, rows])
    found = shares_of(of_rows(hits, rows, method), LEVEL)
    np.testing.assert_array_equal(found.size, rows)
    np.testing.assert_array_equal(found.hits, hits)


@pytest.mark.parametrize("method", ["wilson", "clopper_pearson"])
@pytest.mark.parametrize("number", [1, 5, 20])
def test_ends_are_those_of_clopper_and_pearson(number: int, method: str) -> None:
    hits = np.arange(number)
    found = judged(of_rows(hits, 30, method), 0.5)
    expected = proportion_confint(hits, 30, alpha=(1 - LEVEL) / number, method="beta")
    assert found["lower"].to_list() == pytest.approx(expected[0])
    assert found["upper"].to_list() == pytest.approx(expected[1])
    assert set(found["family_size"]) == {number}


@pytest.mark.parametrize("limit", [0.05, 0.5, 0.72])
def test_tails_are_those_of_the_binomial_test(limit: float) -> None:
    hits = np.arange(11)
    above, below = Shares(hits, hits.astype(float), np.full(11, 10.0)).tails(limit)
    for p, side in ((above, "greater"), (below, "less")):
        assert p.tolist() == pytest.approx([stats.binomtest(k, 10, limit, side).pvalue for k in range(11)])


@pytest.mark.parametrize("kish", [None, 60.0, 400.0])
@pytest.mark.parametrize(("share", "error", "blocks"), [(0.3, 0.04, 50), (0.9, 0.02, 12), (0.5, 0.2, 400)])
def test_units_behind_a_standard_error(share: float, error: float, blocks: int, kish: float | None) -> None:
    """The size of the binomial error of as much, at most Kish's, less what few blocks cost in Student's quantiles."""
    row = {"observed": share, "lower": 0.0, "upper": 1.0, "std_error": error, "blocks": blocks}
    table = pl.DataFrame(row | {"kish_size": kish, "method": "percentile"})
    found = shares_of(table, LEVEL)
    size = min(share * (1 - share) / (error**2 * blocks / (blocks - 1)), kish or np.inf)
    of_blocks, of_rows = (stats.t.ppf(1 - SHARE, freedom) for freedom in (blocks - 1, size - 1))
    expected = size * min(1, of_rows / of_blocks) ** 2
    assert (found.size.item(), found.hits.item()) == pytest.approx((expected, share * expected))


@pytest.mark.parametrize("method", ["wilson", "percentile"])
@pytest.mark.parametrize("rows", [12, 30, 80])
@pytest.mark.parametrize("truth", [0.5, 0.8, 0.95])
def test_no_share_is_judged_wrongly_more_often_than_it_may_be(rows: int, truth: float, method: str) -> None:
    hits = np.arange(rows + 1)
    table = of_rows(hits, rows, method).with_columns(
        method=pl.when(pl.col("observed").is_in([0.0, 1.0])).then(pl.lit("wilson")).otherwise("method")
    )
    found = judged(table, truth)
    chance = stats.binom.pmf(hits, rows, truth)
    each = SHARE / (rows + 1)
    assert chance[(found["lower"] > truth).to_numpy()].sum() <= each
    assert chance[(found["upper"] < truth).to_numpy()].sum() <= each


@pytest.mark.parametrize("correction", ["holm", "bonferroni", "benjamini_hochberg"])
def test_p_values_and_intervals_agree(correction: str) -> None:
    random = np.random.default_rng(2)
    rows = random.integers(5, 90, 20)
    hits = random.binomial(rows, 0.7)
    table = of_rows(hits, rows)
    found = widen_intervals(
        table, 0.55, correction, kind=ValueKind("proportion", (0.0, 1.0)), scale="", level=LEVEL
    )
    p = [stats.binomtest(int(k), int(n), 0.55, "greater").pvalue for k, n in zip(hits, rows, strict=True)]
    passed = np.array(plm.tests.adjusted(p, method=correction), dtype=float) <= SHARE
    np.testing.assert_array_equal((found["lower"] >= 0.55).to_numpy(), passed)
    assert passed.any()


def test_few_clusters_make_a_share_less_sure() -> None:
    rows = of_rows([70, 70, 70], 100, "t", blocks=[100, 12, 3])
    size = shares_of(rows, LEVEL).size
    assert size[0] == pytest.approx(99)
    assert size[0] > size[1] > size[2]
    wider = rows.with_columns(std_error=2 * pl.col("std_error"))
    assert shares_of(wider, LEVEL).size[0] == pytest.approx(99 / 4, rel=0.05)


@pytest.mark.parametrize("power", [1.0, 1.5])
def test_weighted_shares_are_judged_wrongly_no_more_often_than_they_may_be(power: float) -> None:
    """A weighted share that is high by chance has a small standard error: Kish's size does not know how high it is."""
    rng, (tables, rows, truth) = np.random.default_rng(5), (20_000, 150, 0.8)
    weight = rng.exponential(size=(tables, rows)) ** power
    hit = rng.random((tables, rows)) < truth
    total = weight.sum(axis=1)
    value = (weight * hit).sum(axis=1) / total
    error = np.sqrt((weight**2 * (hit - value[:, None]) ** 2).sum(axis=1)) / total
    kish = total**2 / (weight**2).sum(axis=1)
    known = {"observed": value, "lower": value - error, "upper": value + error, "std_error": error}
    found = shares_of(
        pl.DataFrame(known | {"blocks": np.floor(kish), "kish_size": kish, "method": "t"}), LEVEL
    )
    for tail in found.tails(truth):
        assert (tail < 0.025 / 8).mean() < 0.025 / 8 + 4 * np.sqrt(0.025 / 8 / tables)


def test_what_has_no_interval_or_no_spread_is_not_judged() -> None:
    rows = of_rows([5, 6, 0], 10, "percentile").with_columns(
        lower=pl.when(pl.col("observed") == 0.5).then(None).otherwise("lower")
    )
    assert shares_of(rows, LEVEL).rows.tolist() == [1]
    assert (
        widen_intervals(rows, 0.5, "holm", kind=ValueKind("proportion", (0.0, 1.0)), scale="", level=LEVEL)[
            "lower"
        ].null_count()
        == 2
    )


@pytest.mark.parametrize("method", ["auto", "bootstrap", "jackknife"])
def test_gates_of_a_suite(method: str) -> None:
    label = np.tile([1, 1, 1, 0], 90)
    frame = pl.DataFrame({"y": 1, "p": label.astype(float), "g": np.repeat(np.arange(9), 40)})
    gate = {
        "metric": "accuracy",
        "at_least": 0.6,
        "slices": "g",
        "using": "interval",
        "correction": "bonferroni",
    }
    asked = {
        "metrics": ["accuracy"],
        "slices": {"g": "g"},
        "uncertainty": {"method": method, "replicates": 400},
    }
    found = plm.evaluate(frame, label="y", models="p", gates=[gate], **asked).gates
    expected = proportion_confint(30, 40, alpha=0.05 / 9, method="beta")
    slack = 1e-9 if method == "auto" else 0.03
    assert found["lower"].to_list() == pytest.approx([expected[0]] * 9, abs=slack)
    assert found["upper"].to_list() == pytest.approx([expected[1]] * 9, abs=slack)
