"""Which intervals a suite's methods give, metric by metric."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import plmetrics as plm

RANDOM = np.random.default_rng(8)
Y = RANDOM.integers(0, 2, 400)
TABLE = pl.DataFrame(
    {
        "y": Y,
        "p": np.clip(RANDOM.normal(0.4 + 0.2 * Y, 0.2), 0, 1),
        "q": np.clip(RANDOM.normal(0.4 + 0.2 * Y, 0.25), 0, 1),
        "unit": np.arange(400) // 2,
        "w": RANDOM.choice([1.0, 2.0], 400),
        "s": np.where(np.arange(400) % 3 == 0, "a", "b"),
    }
)


def run(metrics: Any, uncertainty: dict[str, Any], **given: Any) -> plm.Result:
    asked = {"label": "y", "models": "p", "metrics": metrics, **given}
    return plm.evaluate(TABLE, uncertainty={"replicates": 60, **uncertainty}, **asked)


AUTO = {
    "accuracy": "wilson",
    "precision": "wilson",
    "roc_auc": "delong_logit",
    "gini": "delong_logit",
    "average_precision": "delta",
    "pr_auc": "logit",
    "f1": "delta",
    "fbeta(beta=2)": "delta",
    "mcc": "delta",
    "cohen_kappa": "delta",
    "brier": "t",
    "log_loss": "t",
    "ks": "centred",
    "ece": "centred",
    "tp": "t",
    "recall_at_fpr(fpr=0.2)": "percentile",
    "youden_j": "t",
}
NOT_SMOOTH = {"ks", "ece", "recall_at_fpr(fpr=0.2)"}


def test_auto_suits_the_metric() -> None:
    found = run(list(AUTO), {"method": "auto"}).metrics
    expected = AUTO | {"tp": "percentile"}  # of all 400 rows, each a block
    assert dict(zip(found["metric"], found["method"], strict=True)) == expected
    assert (found["interval_status"] == "ok").all()
    assert ((found["lower"] < found["value"]) & (found["value"] < found["upper"])).all()


@pytest.mark.parametrize("given", [{"unit": "unit"}, {"weight": "w"}])
def test_forms_that_count_rows_give_way_to_the_delta_method(given: dict[str, str]) -> None:
    found = run(list(AUTO), {"method": "auto"}, **given).metrics
    counting = {"wilson", "delong_logit", "logit"}
    expected = {name: "delta" if form in counting else form for name, form in AUTO.items()}
    assert dict(zip(found["metric"], found["method"], strict=True)) == expected


def test_a_rate_of_few_units_has_their_freedom() -> None:
    """Three hits of five, among 35 other units: a mean of five, and not of forty."""
    rows = pl.DataFrame({"y": [1] * 5 + [0] * 35, "p": [0.9] * 3 + [0.1] * 37, "u": range(40), "q": 0.9})
    asked: dict[str, Any] = {"label": "y", "models": ["p", "q"], "metrics": ["recall"], "unit": "u"}
    found = plm.evaluate(rows, **asked, uncertainty={"methods": ["delta"]})
    half = stats.t.ppf(0.975, 4) * (0.6 * 0.4 / 4) ** 0.5
    lower, upper = found.metrics.filter(model="p").select("lower", "upper").row(0)
    odds = np.log(0.6 / 0.4) + np.array([-1, 1]) * half / (0.6 * 0.4)
    np.testing.assert_allclose([lower, upper], 1 / (1 + np.exp(-odds)), rtol=1e-6)
    compared = plm.evaluate(rows, **asked, uncertainty={"methods": ["delta"]}, compare="p").comparisons
    assert 0.4 - compared["lower"].item() == pytest.approx(half, rel=1e-6)


def test_analytic_and_jackknife_say_why_they_have_none() -> None:
    names = list(AUTO)
    for method, reason in (("analytic", "no_analytic_form"), ("jackknife", "not_smooth")):
        found = run(names, {"method": method}).metrics
        without = dict(zip(found["metric"], found["interval_status"], strict=True))
        assert {name for name, status in without.items() if status == reason} == NOT_SMOOTH
        assert {status for name, status in without.items() if name not in NOT_SMOOTH} == {"ok"}


def test_regression_and_ranking() -> None:
    random = np.random.default_rng(2)
    rows = pl.DataFrame({"y": random.normal(5, 1, 200), "q": np.arange(200) // 5})
    rows = rows.with_columns(p=pl.col("y") + pl.Series(random.normal(0, 1, 200)))
    names = ["rmse", "mae", "r2", "median_absolute_error", "max_error", "pearson", "spearman"]
    asked = {"label": "y", "models": "p", "task": "regression", "metrics": names}
    found = plm.evaluate(rows, uncertainty={"methods": ["auto", "analytic", "chi2"]}, **asked).metrics
    told = found.select("metric", "method", "interval_status").rows()
    assert told[:3] == [("rmse", "delta", "ok"), ("rmse", "chi2", "ok"), ("mae", "t", "ok")]
    assert ("r2", "delta", "ok") in told
    assert ("spearman", "delta", "ok") in told
    assert ("median_absolute_error", None, "no_analytic_form") in told
    assert ("max_error", None, "no_analytic_form") in told
    graded = rows.with_columns(y=(pl.col("y") > 5).cast(pl.Int64))
    asked = {
        "label": "y",
        "models": "p",
        "task": "ranking",
        "query": "q",
        "metrics": ["ndcg", "hit_at_k(k=2)"],
    }
    found = plm.evaluate(graded, uncertainty={"method": "auto"}, **asked).metrics
    assert found["method"].to_list() == ["t", "wilson"]


def test_a_row_for_each_method_in_the_order_listed() -> None:
    methods = ["hanley_mcneil", "delong", "bootstrap", "wilson"]
    names = ["roc_auc", "accuracy", "f1"]
    found = run(names, {"methods": methods}, slices={"s": "s"}, models={"p": "p", "q": "q"}).metrics
    expected = ["hanley_mcneil", "delong", "t", None, "wilson", "t"]
    for part in found.partition_by("model", "slice", maintain_order=True):
        assert part["metric"].to_list() == ["roc_auc"] * 3 + ["accuracy"] * 2 + ["f1"]
        resampled = "t" if part["blocks"][3] < 400 else "percentile"
        assert part["method"].to_list() == [*expected[:3], resampled, *expected[4:]]
        assert part.group_by("metric").agg(pl.col("value").n_unique())["value"].to_list() == [1, 1, 1]
    alone = {
        method: run(["roc_auc"], {"methods": [method]}).metrics.row(0, named=True) for method in methods[:3]
    }
    overall = found.filter(model="p", slice="all", metric="roc_auc")
    for row, method in zip(overall.rows(named=True), methods[:3], strict=True):
        for column in ("value", "lower", "upper", "std_error", "method"):
            assert row[column] == alone[method][column]


def test_no_method_applies_is_said_in_one_row() -> None:
    found = run(["f1", "roc_auc"], {"methods": ["wilson", "delong", "chi2"]}).metrics
    assert found.select("metric", "method", "interval_status").rows() == [
        ("f1", None, "not_applicable"),
        ("roc_auc", "delong", "ok"),
    ]
    assert found["lower"].null_count() == 1


@pytest.mark.parametrize(
    ("given", "status"), [({"unit": "unit"}, "clustered"), ({"weight": "w"}, "weighted")]
)
def test_a_form_by_name_is_refused_where_rows_do_not_count_alike(given: dict[str, str], status: str) -> None:
    found = run(["roc_auc", "accuracy"], {"methods": ["delong", "clopper_pearson"]}, **given).metrics
    assert found["interval_status"].to_list() == [status, status]
    assert found["lower"].null_count() == 2
    assert all(form in note for form, note in zip(["delong", "clopper_pearson"], found["note"], strict=True))


def test_gates_comparisons_and_reports_read_the_first_method() -> None:
    rule = [{"metric": "roc_auc", "at_least": 0.5, "using": "interval"}]
    given = {"gates": rule, "models": {"p": "p", "q": "q"}, "compare": "q", "seed": 1}
    several = run(["roc_auc"], {"methods": ["jackknife", "bootstrap", "delong"]}, **given)
    first = run(["roc_auc"], {"method": "jackknife"}, **given)
    assert several.metrics.height == 3 * first.metrics.height
    assert several.gates.equals(first.gates)
    assert several.comparisons.equals(first.comparisons)
    assert several.gates.height == 2


@pytest.mark.parametrize("method", ["auto", "analytic", "jackknife"])
def test_differences_have_the_error_of_paired_influences(method: str) -> None:
    given = {"models": {"p": "p", "q": "q"}, "compare": "q"}
    found = run(["brier", "accuracy"], {"method": method}, **given).comparisons.rows(named=True)
    y, p, q = (TABLE[name].to_numpy() for name in ("y", "p", "q"))
    brier = (p - y) ** 2 - (q - y) ** 2
    right = ((p >= 0.5) == y).astype(float) - ((q >= 0.5) == y)
    for row, values in zip(found, (brier, right), strict=True):
        assert row["difference"] == pytest.approx(values.mean())
        assert row["std_error"] == pytest.approx(values.std(ddof=1) / 20, rel=1e-6)
        assert (row["p_value"] < 0.05) == ((row["lower"] > 0) | (row["upper"] < 0))


def test_differences_without_an_analytic_form_say_so() -> None:
    found = run(["ks"], {"method": "analytic"}, models={"p": "p", "q": "q"}, compare="q").comparisons
    assert found["difference"].null_count() == 0
    assert found["interval_status"].to_list() == ["no_analytic_form"]


def test_what_is_made_from_others_gets_its_replicates_from_them() -> None:
    made = [
        "f1",
        {"name": "twice", "formula": "2 * f1"},
        {"name": "both", "over": {"slice_set": "s", "metric": "f1", "agg": "mean"}},
        {"name": "worst", "over": {"slice_set": "s", "metric": "f1", "agg": "min"}},
    ]
    found = run(made, {"methods": ["jackknife", "analytic"]}, slices={"s": "s"}).metrics
    twice = found.filter(metric="twice", slice="all")
    plain = found.filter(metric="f1", slice="all")
    assert twice["std_error"].to_list() == pytest.approx((2 * plain["std_error"]).to_list(), rel=1e-6)
    both = found.filter(metric="both")
    assert both["interval_status"].to_list() == ["ok", "ok"]
    parts = found.filter(pl.col("slice").str.starts_with("s="), metric="f1", method="jackknife")["std_error"]
    assert both["std_error"][0] == pytest.approx((parts**2).sum() ** 0.5 / 2, rel=0.02)
    assert found.filter(metric="worst")["interval_status"].to_list() == ["not_smooth", "no_analytic_form"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("form", ["basic", "normal", "bca", "percentile", "t"])
def test_a_form_of_the_bootstrap_by_name(form: str) -> None:
    names = ["f1", "roc_auc", "ks", "recall_at_fpr(fpr=0.2)"]
    found = run(names, {"interval": form, "replicates": 300}).metrics
    expected = [form, form, "percentile" if form == "bca" else form, "percentile" if form == "bca" else form]
    assert found["method"].to_list() == expected
    low, high = found["lower"], found["upper"]
    assert ((low >= 0) & (low < high) & (high <= 1)).all()
    other = run(names, {"methods": [form], "replicates": 300}).metrics
    assert other["lower"].to_list() == found["lower"].to_list()


def test_nothing_is_resampled_where_no_method_asks() -> None:
    from plmetrics.inference.subject import Replication

    asked = ["roc_auc", "accuracy", "f1", "brier", "rmse"]
    for method, metric, draws in (
        ("auto", asked[:4], False),
        ("auto", ["ks"], True),
        ("analytic", ["ks", "roc_auc"], False),
        ("bootstrap", asked[:1], True),
    ):
        suite = run(metric, {"method": method}).suite
        assert Replication(suite).draws() is draws


TINY = {
    "perfect": ([0] * 10 + [1] * 10, [0.1] * 10 + [0.9] * 10),
    "constant": ([0, 1] * 10, [0.5] * 20),
    "one positive": ([0] * 10 + [1], list(np.linspace(0, 1, 11))),
    "no positives": ([0] * 10, list(np.linspace(0, 1, 10))),
    "two rows": ([0, 1], [0.2, 0.7]),
    "one row": ([1], [0.7]),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", list(TINY))
def test_every_method_on_tables_with_little_in_them(name: str) -> None:
    y, p = TINY[name]
    methods = ["auto", "analytic", "jackknife", "bootstrap", *plm_forms()]
    found = plm.evaluate(
        pl.DataFrame({"y": y, "p": p}),
        label="y",
        models="p",
        metrics=[
            "roc_auc",
            "gini",
            "average_precision",
            "pr_auc",
            "accuracy",
            "recall",
            "f1",
            "mcc",
            "brier",
            "tp",
        ],
        uncertainty={"methods": methods, "replicates": 40},
    ).metrics
    ok = found["interval_status"] == "ok"
    assert (ok == found["lower"].is_not_null()).all()
    assert (ok == found["upper"].is_not_null()).all()
    assert (ok == found["method"].is_not_null()).all()
    inside = found.filter(interval_status="ok")
    assert (inside["lower"] < inside["upper"]).all()
    assert not found["std_error"].is_nan().any()


def plm_forms() -> list[str]:
    return [
        "wilson",
        "clopper_pearson",
        "normal",
        "delong",
        "delong_logit",
        "hanley_mcneil",
        "hanley_mcneil_score",
        "logit",
        "delta",
        "t",
        "percentile",
        "basic",
        "bca",
    ]


@pytest.mark.parametrize(
    ("uncertainty", "words"),
    [
        ({"methods": ["delon"]}, ["uncertainty.methods.0", "did you mean 'delong'"]),
        ({"methods": []}, ["methods must be a list that is not empty"]),
        ({"method": "jacknife"}, ["method must be", "did you mean 'jackknife'"]),
        ({"interval": "bcb"}, ["interval must be", "did you mean 'bca'"]),
        ({"method": "delong"}, ["method must be auto, bootstrap, analytic or jackknife"]),
    ],
)
def test_unknown_names(uncertainty: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(plm.ConfigError) as caught:
        run(["roc_auc"], uncertainty)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("uncertainty", [{"method": "auto"}, {"methods": ["delong", "bootstrap"]}])
def test_percentile_p_values_need_replicates_to_count(uncertainty: dict[str, Any]) -> None:
    compare = {"baseline": "q", "p_value": "percentile", "correction": "none"}
    with pytest.raises(plm.ConfigError, match="percentile p values count replicates of the bootstrap"):
        run(["roc_auc"], uncertainty, models={"p": "p", "q": "q"}, compare=compare)
    fine = run(["roc_auc"], {"methods": ["bootstrap", "auto"]}, models={"p": "p", "q": "q"}, compare=compare)
    assert fine.comparisons["p_value"].is_between(0, 1).all()
