"""Sums that overflow or underflow have a status, whatever the metric: never a value that is made of them."""

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.catalogue import registry
from plmetrics.inference.metric_values import conditions, value_or_nan
from plmetrics.states.sums import View

MOMENTS = [
    "pearson",
    "concordance_ccc",
    "default_rmse",
    "error_variance",
    "r2",
    "explained_variance",
    "rmse_skill",
]
MOMENTS += ["rmse"]
SQUARES = {"default_rmse": 1, "rmse": 1, "error_variance": 2}


def table(scale: float) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    label, g = rng.normal(size=300), np.arange(300) % 2
    guess = 0.9 * label + 0.3 * rng.normal(size=300)
    return pl.DataFrame({"y": label, "p": guess, "g": g}).with_columns(
        pl.when(g=0).then(pl.col("y", "p") * scale).otherwise(pl.col("y", "p"))
    )


def regression(rows: pl.DataFrame, **arguments: Any) -> plm.Result:
    metrics = [*MOMENTS, {"name": "deviation", "std": "y"}]
    return plm.evaluate(
        rows, task="regression", label="y", models={"m": "p"}, metrics=metrics, slices={"g": "g"}, **arguments
    )


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("reproducible", [False, True])
@pytest.mark.parametrize("power", [-266, -399, -498, -532, -565, -997])
def test_tiny_labels_have_their_value_or_a_status(power: int, reproducible: bool, weight: str | None) -> None:
    one, tiny = (
        regression(
            table(scale).with_columns(w=pl.int_range(pl.len()) % 5 + 0.1),
            weight=weight,
            reproducible=reproducible,
        )
        for scale in (1.0, 2.0**power)
    )
    for old, new in zip(one.metrics.iter_rows(named=True), tiny.metrics.iter_rows(named=True), strict=True):
        if old["slice"] == "g=1":
            assert new["value"] == pytest.approx(old["value"], rel=1e-9)
        elif old["slice"] == "g=0" and power > -500:
            scale = 2.0 ** (power * {**SQUARES, "deviation": 1}.get(old["metric"], 0))
            assert new["value"] == pytest.approx(old["value"] * scale, rel=1e-9, abs=0.0), old["metric"]
        elif old["slice"] == "g=0":
            assert (new["status"], new["value"]) == ("underflow", None), old["metric"]
        else:
            assert new["status"] == "ok"


def test_numbers_that_differ_in_their_last_digits_are_judged_by_their_own_mean() -> None:
    """A centre 20 beside 1e15 said that labels within 3 of each other vary, and the slice alone that they do not."""
    rng = np.random.default_rng(2)
    label = 1e15 + np.repeat([20.0, -20.0], 30) + np.round(rng.normal(size=60))
    rows = pl.DataFrame({"y": label, "p": label + rng.normal(size=60) * 1e13, "g": np.repeat(["a", "b"], 30)})
    names = ["r2", "pearson", "explained_variance", "default_rmse"]
    settings: dict[str, Any] = {"task": "regression", "label": "y", "models": "p", "metrics": names}
    beside = plm.evaluate(rows, slices={"g": "g"}, **settings).metrics
    for slice_text, part in (("g=a", rows.head(30)), ("g=b", rows.tail(30))):
        alone = plm.evaluate(part, **settings).metrics
        assert alone["status"].to_list() == ["zero_denominator"] * 3 + ["ok"]
        for column in ("status", "value"):
            assert beside.filter(slice=slice_text)[column].to_list() == alone[column].to_list()


def test_squares_that_vanish_leave_no_deviation_of_zero() -> None:
    rows = pl.DataFrame({"y": [1e-170, 3e-170], "p": [0.0, 0.0], "c": [7.0, 7.0]})
    metrics = ["rmse", "default_rmse", "mae", {"name": "flat", "std": "c"}, {"name": "spread", "std": "y"}]
    found = plm.evaluate(rows, task="regression", label="y", models={"m": "p"}, metrics=metrics).metrics
    assert found["status"].to_list() == ["underflow", "underflow", "ok", "ok", "underflow"]
    assert found["value"].to_list() == [None, None, 2e-170, 0.0, None]
    assert rows.select(plm.metric("rmse", task="regression").expr("y", "p")).item() is None
    exact = plm.evaluate(rows, task="regression", label="y", models={"m": "y"}, metrics=["rmse"]).metrics
    assert exact["value"].to_list() == [0.0]


def test_errors_that_vanish_beside_labels_that_do_not_are_none() -> None:
    rows = pl.DataFrame({"y": [1.0, 2.0, 0.0], "p": [1.0, 2.0, 1e-170]})
    metrics = ["r2", "explained_variance", "rmse_skill"]
    found = plm.evaluate(rows, task="regression", label="y", models={"m": "p"}, metrics=metrics).metrics
    assert found["value"].to_list() == [1.0, 1.0, 1.0]


@pytest.mark.exhaustive
@pytest.mark.parametrize("power", [80, 130, 154, 160, 300])
def test_large_labels_have_their_value_or_a_status_and_leave_other_slices_alone(power: int) -> None:
    one, large = (regression(table(scale)).metrics for scale in (1.0, 10.0**power))
    value = {
        key: part.filter(slice=f"g={key}").select("metric", "value").rows() for key, part in ((0, one),)
    }[0]
    for (metric, small), (status, found) in zip(
        value, large.filter(slice="g=0").select("status", "value").iter_rows(), strict=True
    ):
        if power <= 130:
            scale = 10.0 ** (power * {**SQUARES, "deviation": 1}.get(metric, 0))
            assert found == pytest.approx(small * scale, rel=1e-9), metric
        else:
            assert (status, found) == ("overflow", None), metric
    near = [part.filter(slice="g=1")["value"].to_list() for part in (one, large)]
    assert near[1] == pytest.approx(near[0], rel=1e-9)


def test_weights_that_overflow_leave_no_value_interval_difference_or_verdict() -> None:
    rng = np.random.default_rng(1)
    rows = pl.DataFrame(
        {"y": rng.integers(0, 2, 300), "p": rng.random(300), "q": rng.random(300), "w": 1e306}
    )
    metrics = [
        "accuracy",
        "brier",
        "prevalence",
        "f1",
        "ece",
        "roc_auc",
        "ks",
        "log_loss",
        "average_precision",
    ]
    metrics += ["precision_at_volume(volume=0.3)", "tp", "recall_at_fpr(fpr=0.1)"]
    found = plm.evaluate(
        rows,
        label="y",
        models={"m": "p", "b": "q"},
        weight="w",
        metrics=metrics,
        uncertainty={"replicates": 20},
        compare="b",
        gates=[{"metric": "accuracy", "model": "m", "at_least": 0.0}],
    )
    assert set(found.metrics["status"]) == set(found.comparisons["status"]) == {"overflow"}
    assert found.metrics["value"].null_count() == found.metrics["lower"].null_count() == found.metrics.height
    assert found.metrics["weight"].null_count() == found.metrics.height
    assert found.comparisons["difference"].null_count() == found.comparisons.height
    assert found.gates["verdict"].to_list() == ["inconclusive"]


@pytest.mark.parametrize("name", ["pearson", "concordance_ccc", "default_rmse", "r2", "mse"])
def test_an_expression_of_sums_that_overflow_is_null(name: str) -> None:
    metric = plm.metric(name, task="regression")
    assert table(1e160).select(metric.expr("y", "p")).item() is None


def test_replicates_of_sums_that_overflow_are_undefined() -> None:
    metric = registry.create("regression", "mae", {})
    state = View({"n": np.ones(3), "weight": np.ones(3), "row_sum": np.array([2.0, np.inf, np.nan])})
    assert next(status for status, _ in conditions(metric, state)) == "overflow"
    assert np.isnan(value_or_nan(metric, state)).tolist() == [False, True, True]


PRODUCTS = ["youden_j", "markedness", "mcc", "roc_auc", "roc_hull_auc", "calibration_slope"]


@pytest.mark.parametrize(("weight", "status"), [(1e160, "overflow"), (1e-170, "underflow")])
def test_products_of_sums_of_weights_beyond_all_numbers_have_a_status(weight: float, status: str) -> None:
    rng = np.random.default_rng(1)
    label = np.arange(40) % 2
    rows = pl.DataFrame({"y": label, "p": rng.uniform(0.2, 0.6, 40) + 0.2 * label, "w": np.full(40, weight)})
    asked = {"label": "y", "models": "p", "metrics": [*PRODUCTS, "brier", "recall"]}
    found = plm.evaluate(rows, weight="w", **asked).metrics
    assert set(found.filter(pl.col("metric").is_in(PRODUCTS))["status"]) == {status}
    mean = found.filter(~pl.col("metric").is_in(PRODUCTS))["value"]
    plain = plm.evaluate(rows, **asked).metrics.filter(~pl.col("metric").is_in(PRODUCTS))["value"]
    assert mean.to_list() == pytest.approx(plain.to_list(), rel=1e-12)


def test_the_square_of_a_large_mean_error_has_a_status() -> None:
    rows = pl.DataFrame({"y": [1e200, 2e200], "p": [3e200, 5e200]})
    found = plm.evaluate(rows, task="regression", label="y", models="p", metrics=["bias_squared"]).metrics
    assert found["status"].item() == "overflow"


@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("reproducible", [False, True])
def test_labels_that_differ_in_their_last_digit_are_equal(weight: str | None, reproducible: bool) -> None:
    """0.1 + 0.2 is not 0.3 in floating point; beside labels that vary, as in the other slice, it is as good."""
    rng = np.random.default_rng(2)
    vary = rng.normal(size=40)
    label = np.concatenate([np.where(np.arange(40) % 3 == 0, 0.3, 0.1 + 0.2), vary])
    rows = pl.DataFrame({"y": label, "p": rng.normal(size=80), "g": np.repeat(["same", "vary"], 40)})
    rows = rows.with_columns(w=pl.int_range(80) % 4 + 0.5)
    names = ["r2", "pearson", "rmse_skill", "explained_variance", "default_rmse"]
    settings: dict[str, Any] = {"task": "regression", "label": "y", "models": "p", "metrics": names}
    settings |= {"weight": weight, "reproducible": reproducible}
    for part, slices in ((rows, {"g": "g"}), (rows.head(40), {"g": "g"})):
        found = plm.evaluate(part, slices=slices, **settings).metrics.filter(slice="g=same")
        assert found["status"].to_list() == ["zero_denominator"] * 4 + ["ok"]
        assert found["value"].to_list() == [None] * 4 + [0.0]
    other = plm.evaluate(rows, slices={"g": "g"}, **settings).metrics.filter(slice="g=vary")
    assert other.filter(metric="pearson")["value"].item() == pytest.approx(
        _correlation(vary, rows["p"].to_numpy()[40:], rows["w"].to_numpy()[40:] if weight else None)
    )


def _correlation(first: Any, second: Any, weight: Any) -> float:
    table = np.cov(first, second, aweights=weight)
    return float(table[0, 1] / np.sqrt(table[0, 0] * table[1, 1]))


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("task", "metric", "labels", "weights"),
    [
        *(
            ("binary", name, 1.0, 1e200)
            for name in ("mcc", "cohen_kappa", "diagnostic_odds_ratio", "hosmer_lemeshow")
        ),
        *(("multiclass", name, 1.0, 1e200) for name in ("mcc", "cohen_kappa")),
        *(("regression", name, 1.0, 1e200) for name in ("spearman", "kendall")),
        ("regression", "bias_squared", 1e200, 1.0),
        ("regression", "wmape", 1e155, 1e155),
        ("uplift", "qini", 1e155, 1e155),
    ],
)
def test_products_beyond_all_numbers_have_a_status_and_no_warning(
    task: str, metric: str, labels: float, weights: float
) -> None:
    draw = np.random.default_rng(5)
    label, score = draw.integers(0, 2, 40), draw.uniform(size=(40, 2))
    of_task: dict[str, dict[str, Any]] = {
        "binary": {"models": ["a", "b"], "compare": "b"},
        "multiclass": {"models": {"m": {"proba": {"x": "a", "z": "c"}}}},
        "regression": {"models": ["a", "b"], "compare": "b"},
        "uplift": {"models": ["a"], "treatment": "t"},
    }
    frame = pl.DataFrame(
        {
            "y": np.array(["x", "z"])[label]
            if task == "multiclass"
            else label * (labels if labels > 1 else 1),
            "a": score[:, 0] * labels if task == "regression" else score[:, 0],
            "b": score[:, 1] * labels if task == "regression" else score[:, 1],
            "c": 1 - score[:, 0],
            "t": draw.integers(0, 2, 40),
            "w": draw.uniform(0.5, 2, 40) * weights,
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", plm.PlmetricsWarning)
        result = plm.evaluate(
            frame,
            label="y",
            task=task,
            metrics=[metric],
            weight="w",
            uncertainty={"replicates": 20},
            **of_task[task],
        )
    value, status = result.metrics.select("value", "status").row(0)
    assert (value is None) == (status != "ok")
