"""No plan of ours may fall back to the in-memory engine."""

import gzip
from pathlib import Path

import polars as pl
import pytest

from plmetrics.catalogue import registry
from plmetrics.engine.aggregate.aggregation import sum_plans
from plmetrics.engine.aggregate.row_plan import rows_plan
from plmetrics.engine.binding.bind import bind
from plmetrics.engine.prepare.preparation import prepare
from plmetrics.features.explain.passes import fallbacks
from plmetrics.suite.arguments import suite_from_arguments
from plmetrics.table.opening import open_source

REQUIRED = {
    "fbeta": "fbeta(beta=2)",
    "expected_cost": "expected_cost(cost_fp=1, cost_fn=2)",
    "ppv_at_prevalence": "ppv_at_prevalence(prevalence=0.1)",
    "adjusted_r2": "adjusted_r2(predictors=3)",
    "quantile_loss": "quantile_loss(tau=0.9)",
    "mase": "mase(scale=w)",
    "scaled_mae": "scaled_mae(by=g)",
    "lin_lin": "lin_lin(over=1, under=3)",
    "tweedie_deviance": "tweedie_deviance(power=1.5)",
    "linex": "linex(a=0.001)",
    "precision_at_recall": "precision_at_recall(recall=0.9)",
    "precision_at_volume": "precision_at_volume(volume=0.1)",
    "recall_at_precision": "recall_at_precision(precision=0.9)",
    "recall_at_fpr": "recall_at_fpr(fpr=0.1)",
    "fpr_at_recall": "fpr_at_recall(recall=0.9)",
    "precision_at_k": "precision_at_k(k=10)",
    "recall_at_k": "recall_at_k(k=0.1)",
    "lift_at_k": "lift_at_k(k=0.1)",
    "absolute_error_quantile": "absolute_error_quantile(q=0.9)",
    "top_k_accuracy": "top_k_accuracy(k=1)",
    "interval_coverage": "interval_coverage(level=0.8)",
    "interval_coverage_p_value": "interval_coverage_p_value(level=0.8)",
    "interval_width": "interval_width(level=0.8)",
    "interval_score": "interval_score(level=0.8)",
    "pit_chi2": "pit_chi2(bins=2)",
    "pit_chi2_p_value": "pit_chi2_p_value(bins=2)",
    "ate_ipw": "ate_ipw(propensity=p, clip=0.1)",
    "ate_aipw": "ate_aipw(propensity=p, mu0=q, mu1=w)",
    "uplift_at_k": "uplift_at_k(k=0.1)",
}
OF_NORMALS = ("berkowitz", "berkowitz_p_value")
"""Metrics of normal distributions alone."""

PARTS = {
    "multiclass": {
        "a": {"proba": {"0": "p", "1": "q"}, "normalise": True},
        "b": {"proba": {"0": "q", "1": "p"}, "normalise": True},
    },
    "quantile": {
        "a": {"quantiles": {0.1: "p", 0.5: "q", 0.9: "w"}},
        "b": {"quantiles": {0.1: "p", 0.5: "w", 0.9: "q"}},
    },
}
"""Models of tasks whose predictions have several parts."""

TESTS = {"binary": ["mcnemar", "paired_t"], "multiclass": ["mcnemar", "paired_t"], "uplift": []}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scores")
    for index in range(3):
        pl.DataFrame(
            {
                "y": [0, 1] * 50,
                "p": [0.25, 0.75] * 50,
                "q": [0.5, 0.5] * 50,
                "w": [1.0, 2.0] * 50,
                "u": list(range(100)),
                "g": ["a", None] * 50,
                "age": list(range(100)),
            }
        ).write_parquet(folder / f"{index}.parquet")
    return folder


def test_the_check_sees_a_fallback() -> None:
    assert fallbacks(pl.LazyFrame({"x": [1.0]}).select(pl.col("x").median()))


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("unit", [None, "u"])
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("missing", ["error", "drop", "drop_per_model"])
@pytest.mark.parametrize("task", ["binary", "regression", "multiclass", "quantile", "uplift"])
def test_every_plan_streams(folder, task, missing, weight, unit) -> None:
    suite = suite_from_arguments(
        task=task,
        label="y",
        models=PARTS.get(task, {"a": "p", "b": "q"}),
        weight=weight,
        unit=unit,
        treatment="y" if task == "uplift" else None,
        missing=missing,
        where="age > 2",
        metrics=[
            REQUIRED.get(cls.name, cls.name)
            for cls in registry.classes(task)
            if cls.family != "derived" and cls.name not in OF_NORMALS
        ],
        slices={
            "g": "g",
            "age": {"column": "age", "bins": [25, 40]},
            "both": ["g", "age"],
            "old": {"where": "age > 60"},
        },
        uncertainty=True,
        compare={"baseline": "a", "tests": TESTS.get(task, ["paired_t"])},
    )
    run_plan = prepare(bind(suite, open_source(str(folder))))
    for plan in [rows_plan(run_plan), *(plan for group in sum_plans(run_plan) for plan in group)]:
        assert not fallbacks(plan)


@pytest.mark.parametrize("model", [{"mean": "p", "sd": "w"}, {"members": ["p", "q", "w"]}])
def test_distributions_and_ensembles_stream(folder, model) -> None:
    metrics = ["crps", "mae", "mean_error", *(OF_NORMALS if "sd" in model else ())]
    suite = suite_from_arguments(
        task="quantile", label="y", models={"a": model}, metrics=metrics, slices=["g"]
    )
    run_plan = prepare(bind(suite, open_source(str(folder))))
    assert not [fallback for group in sum_plans(run_plan) for plan in group for fallback in fallbacks(plan)]


def write(frame: pl.DataFrame, folder: Path, ending: str) -> None:
    if ending == "delta":
        pytest.importorskip("deltalake").write_deltalake(folder, frame, mode="append", partition_by=["g"])
    elif ending.endswith(".gz"):
        text = frame.write_csv() if ending == "csv.gz" else frame.write_ndjson()
        (folder / f"{frame['u'][0]}.{ending}").write_bytes(gzip.compress(text.encode()))
    else:
        place = folder / f"g={frame['u'][0]}"
        place.mkdir()
        writers = {"csv": frame.write_csv, "ndjson": frame.write_ndjson, "arrow": frame.write_ipc}
        writers.get(ending, frame.write_parquet)(place / f"x.{ending}")


@pytest.mark.parametrize("unit", [None, "u"])
@pytest.mark.parametrize("ending", ["parquet", "csv", "csv.gz", "ndjson", "ndjson.gz", "arrow", "delta"])
def test_every_format_streams(tmp_path, ending, unit) -> None:
    for index in range(2):
        columns = {"y": [0, 1] * 50, "p": [0.25, 0.75] * 50, "g": ["a", "b"] * 50, "u": [index] * 100}
        write(pl.DataFrame(columns), tmp_path, ending)
    suite = suite_from_arguments(
        label="y",
        models="p",
        unit=unit,
        where="g <> 'c'" if ending in {"csv.gz", "ndjson.gz", "delta"} else "g >= 0",
        metrics=["accuracy"],
        slices=["g"],
        uncertainty=True,
    )
    run_plan = prepare(bind(suite, open_source(str(tmp_path))))
    plans = [rows_plan(run_plan), *(plan for group in sum_plans(run_plan) for plan in group)]
    assert plans
    assert not [fallback for plan in plans for fallback in fallbacks(plan)]
