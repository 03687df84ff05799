"""What metrics of treatment effects refuse, leave undefined and note."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import plmetrics as plm

ALL = ["ate", "e_value", "ate_ipw(propensity=e)", "ate_aipw(propensity=e, mu0=m, mu1=m)"]
ALL += ["qini", "auuc", "uplift_at_k(k=0.5)", "uplift_at_k(k=0.5, by=arm)"]


def table(**columns: Any) -> pl.DataFrame:
    """Four treated in slice a, four controls in slice b, and both in slice c."""
    held = {
        "y": [1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 1, 2],
        "t": [1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0],
        "p": [0.1 * i for i in range(12)],
        "g": list("aaaabbbbcccc"),
        "e": [0.5, 0.2, 0.8, 0.4] * 3,
        "m": [1.0] * 12,
    }
    return pl.DataFrame({**held, **columns})


def evaluate(frame: pl.DataFrame, metrics: Any, **settings: Any) -> pl.DataFrame:
    arguments = {"task": "uplift", "label": "y", "treatment": "t", "models": "p", "metrics": metrics}
    return plm.evaluate(frame, **(arguments | settings)).metrics


def test_a_slice_with_an_empty_arm_has_no_effect() -> None:
    found = evaluate(table(), ALL, slices="g")
    for name in ("g=a", "g=b"):
        part = found.filter(slice=name)
        assert part["status"].to_list() == ["empty_arm"] * len(ALL)
        assert part["value"].null_count() == len(ALL)
    assert set(found.filter(slice="g=c", metric="ate")["status"]) == {"ok"}


def test_blocks_are_those_of_the_smaller_arm() -> None:
    rows = pl.DataFrame({"t": [1] * 10 + [0] * 90, "y": range(100), "p": range(100)})
    found = evaluate(rows, ["ate", "qini"], uncertainty={"replicates": 50})
    assert found["blocks"].to_list() == [10, 10]


@pytest.mark.parametrize(
    ("metric", "status"),
    [
        ("uplift_at_k(k=13)", "too_few_rows"),
        ("uplift_at_k(k=7, by=arm)", "too_few_rows"),
        ("uplift_at_k(k=2)", "empty_arm"),
        ("uplift_at_k(k=6, by=arm)", "ok"),
    ],
)
def test_tops_without_rows_of_an_arm(metric: str, status: str) -> None:
    assert evaluate(table(), metric)["status"].item() == status


def test_the_cut_is_the_score_at_which_the_top_ends() -> None:
    found = evaluate(table(), ["uplift_at_k(k=5)", "uplift_at_k(k=0.5)", "uplift_at_k(k=0.5, by=arm)"])
    assert found["threshold"].to_list() == [pytest.approx(0.7), pytest.approx(0.6), None]


def test_e_value_of_the_literature() -> None:
    """A risk ratio of 3.9 has an E-value of 7.26; the inverse ratio has the same."""
    risks = {True: 0.39, False: 0.10}
    for flip in (True, False):
        rows = [(arm, i < 100 * risks[arm == flip]) for arm in (True, False) for i in range(100)]
        frame = pl.DataFrame(rows, schema=["t", "y"], orient="row").with_columns(p=0.0)
        found = evaluate(frame, "e_value", uncertainty={"replicates": 50})
        assert found["value"].item() == pytest.approx(7.26, abs=0.005)
        assert found["interval_status"].item() == "not_estimable"


@pytest.mark.parametrize("outcome", [[0] * 12, [-1.0] * 12, [0.0, 1.0] + [0.0] * 10])
def test_e_value_needs_means_above_zero(outcome: list[float]) -> None:
    assert evaluate(table(y=outcome), "e_value")["status"].item() == "nonpositive_values"


def test_notes_count_what_clipping_moved_and_what_rows_are_worth() -> None:
    found = evaluate(table(), ["ate_ipw(propensity=e, clip=0.25)", "ate_ipw(propensity=e)"])
    rows = table().with_columns(near=pl.col("e").clip(0.25, 0.75))
    sizes = []
    for column in ("near", "e"):
        chance = pl.when(pl.col("t") == 1).then(pl.col(column)).otherwise(1 - pl.col(column))
        inverse = 1 / chance
        size = rows.group_by("t").agg(inverse.sum() ** 2 / (inverse**2).sum()).sort("t").to_series(1)
        sizes.append(f"effective sample size: {size[1]:.1f} treated, {size[0]:.1f} controls")
    assert found["note"].to_list() == [f"propensities clipped: 6; {sizes[0]}", sizes[1]]


@pytest.mark.parametrize(
    ("columns", "metric", "words"),
    [
        (
            {"e": [0.0] + [0.5] * 11},
            "ate_ipw(propensity=e)",
            "(propensity): 1 of 12 values is outside (0, 1)",
        ),
        ({"e": [0.5] * 11 + [1.0]}, "ate_aipw(propensity=e, mu0=m, mu1=m)", "the first is 1.0 in row 11"),
        ({"e": [None] + [0.5] * 11}, "ate_ipw(propensity=e)", "outside (0, 1)"),
        ({"e": [float("nan")] * 12}, "ate_ipw(propensity=e, clip=0.1)", "12 of 12 values are outside (0, 1)"),
        ({"e": ["half"] * 12}, "ate_ipw(propensity=e)", "is of type String, but must hold numbers"),
        (
            {},
            "ate_ipw(propensity=chance)",
            "column 'chance' (read by ate_ipw(propensity=chance)) is not in the data",
        ),
        (
            {"m": [float("inf")] * 12},
            "ate_aipw(propensity=e, mu0=m, mu1=y)",
            "(mu0): 12 of 12 values are null",
        ),
        ({}, "qini(normalise=perfect)", "9 of 12 values are neither 0 nor 1, and qini(normalise=perfect)"),
        ({"t": [2] + [0] * 11}, "ate", "(treatment): 1 of 12 values is neither 0 nor 1"),
    ],
)
def test_bad_columns_are_located(columns: dict[str, Any], metric: str, words: str) -> None:
    with pytest.raises(plm.DataError) as error:
        evaluate(table(**columns), metric)
    assert words in str(error.value)


def test_bad_propensities_can_be_dropped() -> None:
    rows = table(e=[0.0, None, *[0.5] * 10])
    found = evaluate(rows, ["ate_ipw(propensity=e)", "ate"], missing="drop")
    assert found["n"].to_list() == [10, 10]
    assert found["value"][0] == pytest.approx(found["value"][1])


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("ate_ipw(propensity=e, clip=0.5)", "clip must be above 0 and below 0.5"),
        ("ate_ipw(propensity='')", "propensity must be the name of a column"),
        ("ate_ipw(propensity=e, estimator=ipw)", "hajek or horvitz_thompson"),
        ("uplift_at_k(k=1.5)", "k must be a whole number of at least 1, or a share"),
        ("qini(method=lift)", "radcliffe or guelman"),
        ("roc_auc", "'roc_auc' belongs to task 'binary'"),
        ("cochran_q(by=colour)", "colour"),
    ],
)
def test_bad_parameters_are_explained(metric: str, words: str) -> None:
    with pytest.raises(plm.ConfigError) as error:
        evaluate(table(), metric)
    assert words in str(error.value)


def test_effects_need_no_sorted_rows() -> None:
    assert evaluate(table(), ALL[:4], exact=False)["status"].unique().to_list() == ["ok"]


def test_a_treatment_is_needed() -> None:
    with pytest.raises(plm.ConfigError, match=r"task 'uplift' needs treatment"):
        evaluate(table(), "ate", treatment=None)


def test_booleans_are_arms() -> None:
    rows = table()
    as_flags = rows.with_columns(pl.col("t") == 1)
    assert evaluate(as_flags, ALL).equals(evaluate(rows, ALL))


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_cochran_q_is_the_weighted_spread_of_the_effects(offset: float) -> None:
    rng = np.random.default_rng(0)
    slices, treated = rng.integers(0, 4, 400), rng.random(400) < 0.5
    y = offset + 0.6 * slices * treated + rng.normal(size=400)
    alone = pl.DataFrame({"y": [offset], "t": [True], "p": [0.0], "g": [9]})
    rows = pl.DataFrame({"y": y, "t": treated, "p": rng.normal(size=400), "g": slices})
    metrics = ["cochran_q(by=g)", "cochran_q_p_value(by=g)"]
    found = evaluate(pl.concat([rows, alone]), metrics, slices="g", uncertainty={"replicates": 50})
    effect, variance = [], []
    for number in range(4):
        arms = [(y - offset)[(slices == number) & (treated == arm)] for arm in (True, False)]
        effect.append(arms[0].mean() - arms[1].mean())
        variance.append(sum(arm.var(ddof=1) / len(arm) for arm in arms))
    mean = np.average(effect, weights=1 / np.array(variance))
    q = sum((effect - mean) ** 2 / np.array(variance))
    assert found["value"].to_list() == [
        pytest.approx(q, rel=1e-6),
        pytest.approx(stats.chi2.sf(q, 3), rel=1e-5),
    ]
    assert set(found["note"]) == {"not judged: g=9 (empty_arm)"}
    assert set(found["interval_status"]) == {"not_estimable"}


def test_cochran_q_needs_two_slices() -> None:
    found = evaluate(table(), "cochran_q(by=g)", slices="g")
    assert (found["slice_set"].item(), found["slice"].item(), found["status"].item()) == (
        "g",
        "all",
        "too_few_groups",
    )


@pytest.mark.parametrize("weight", [None, "w"])
def test_equal_outcomes_have_an_effect_of_0_without_an_interval(weight: str | None) -> None:
    """What rounding leaves of the distance of a slice of one number from the centre of others is no effect."""
    rng = np.random.default_rng(7)
    rows = pl.DataFrame(
        {
            "y": np.concatenate([np.full(24, 0.1), rng.normal(size=400)]),
            "t": [0, 1, 1, 0, 1, 0, 0, 1] * 53,
            "p": rng.random(424),
            "e": rng.uniform(0.2, 0.8, 424),
            "w": rng.random(424),
            "g": ["one"] * 24 + ["other"] * 400,
            "u": [i // 3 for i in range(424)],
        }
    )
    metrics = ["ate", "ate_ipw(propensity=e)"]
    settings = {"unit": "u", "weight": weight, "uncertainty": {"replicates": 50}}
    for table_of_one, slices in ((rows, "g"), (rows[:24], None)):
        result = evaluate(table_of_one, metrics, slices=slices, **settings)
        part = result.filter(pl.col("slice") == ("all" if slices is None else "g=one"))
        assert part["value"].to_list() == [0.0, 0.0]
        assert set(part["interval_status"]) == {"degenerate"}
        assert part["lower"].null_count() == 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("metric", ["auuc", "qini", "uplift_at_k(k=0.4)", "uplift_at_k(k=0.4, by=arm)"])
def test_equal_outcomes_have_no_effect_in_any_order(metric: str) -> None:
    """Sums of 0.3 over unequal numbers of rows differ in their last digits, which are no effect."""
    rng = np.random.default_rng(1)
    rows = pl.DataFrame({"p": rng.random(600), "t": rng.integers(0, 2, 600), "slice": np.arange(600) // 40})
    rows = rows.with_columns(y=pl.lit(0.3), p=pl.when(metric == "auuc").then(0.5).otherwise("p"))
    found = plm.evaluate(
        rows,
        task="uplift",
        label="y",
        treatment="t",
        models="p",
        metrics=[metric],
        slices=["slice"],
        uncertainty={"replicates": 50},
        compare={"slices": {"slice": "pairs"}, "correction": "none"},
    )
    if metric != "qini":  # before there are controls its curve gains outcomes, by definition
        assert found.metrics["value"].unique().to_list() == [0.0]
    assert not (found.comparisons["difference"].abs().is_between(0, 1e-12, closed="right")).any()
