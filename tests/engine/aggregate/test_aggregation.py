from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm

ROWS = 400
_draw = np.random.default_rng(3)
TABLE = pl.DataFrame(
    {
        "region": _draw.choice(["north", "south", "west"], ROWS),
        "score": _draw.random(ROWS),
        "other": _draw.random(ROWS),
        "weight": _draw.integers(0, 4, ROWS),
        "customer": _draw.integers(0, 90, ROWS),
        "label": _draw.integers(0, 2, ROWS),
    }
).with_columns(
    label=pl.when((pl.col("region") == "west") | pl.Series(_draw.random(ROWS) < 0.1))
    .then(None)
    .otherwise("label"),
    other=pl.when(pl.Series(_draw.random(ROWS) < 0.1)).then(float("nan")).otherwise("other"),
)
UNLABELLED = TABLE["label"].is_null().to_numpy()
UNSCORED = TABLE["other"].is_nan().to_numpy()
METRICS: list[Any] = [
    "accuracy",
    "roc_auc",
    {"name": "unlabelled", "null_share": "label"},
    {"name": "mean", "mean": "label IS NULL"},
    {"name": "unscored", "null_share": "score"},
    {"name": "column", "null_share": "label", "where": "region = 'north'"},
]


def run(missing: str, **asked: Any) -> plm.Result:
    models = {"a": "score", "b": "other"}
    return plm.evaluate(
        TABLE,
        **{
            "label": "label",
            "models": models,
            "metrics": METRICS,
            "missing": missing,
            "slices": {"region": "region"},
        }
        | asked,
    )


def value(result: plm.Result, metric: str, model: str = "a", **where: str) -> tuple[float | None, int, str]:
    row = result.metrics.filter(metric=metric, model=model, **({"slice_set": "overall"} | where))
    return row.select("value", "n", "status").row(0)


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("missing", ["drop", "drop_per_model"])
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize(
    "asked", [{}, {"exact": False, "uncertainty": {"replicates": 20}}, {"reproducible": True}]
)
def test_what_asks_for_nulls_sees_rows_before_they_are_dropped(
    missing: str, weight: str | None, asked: dict[str, Any]
) -> None:
    mass = np.ones(ROWS) if weight is None else TABLE["weight"].to_numpy()
    result = run(missing, weight=weight, **asked)
    rows = int((mass > 0).sum())
    for metric, model, absent in (
        ("unlabelled", "a", UNLABELLED),
        ("mean", "b", UNLABELLED),
        ("unscored", "a", 0 * UNSCORED),
        ("unscored", "b", UNSCORED),
    ):
        expected = float((absent * mass).sum() / mass.sum())
        assert value(result, metric, model) == (pytest.approx(expected, rel=1e-12), rows, "ok")
    north = (TABLE["region"] == "north").to_numpy() * mass
    assert value(result, "column")[0] == pytest.approx((UNLABELLED * north).sum() / north.sum())
    used = ~UNLABELLED & ~UNSCORED if missing == "drop" else ~UNLABELLED
    right = ((TABLE["score"] >= 0.5) == (TABLE["label"] == 1)).fill_null(value=False).to_numpy()
    accuracy = (right * mass)[used].sum() / mass[used].sum()
    assert value(result, "accuracy") == (
        pytest.approx(accuracy, rel=1e-12),
        int((mass > 0)[used].sum()),
        "ok",
    )


@pytest.mark.parametrize("metrics", [["accuracy", "roc_auc"], METRICS])
def test_a_slice_without_labels_stands_in_the_tables(metrics: list[Any]) -> None:
    gates = [{"metric": "accuracy", "slices": "region", "at_least": 0.1}]
    for missing in ("drop", "drop_per_model"):
        result = run(missing, metrics=metrics, gates=gates)
        assert result.metrics.filter(slice_set="region")["slice"].unique().sort().to_list() == [
            "region=north",
            "region=south",
            "region=west",
        ]
        for metric in ("accuracy", "roc_auc"):
            assert value(result, metric, slice_set="region", slice="region=west") == (None, 0, "no_rows")
        assert result.verdict == "inconclusive"


@pytest.mark.parametrize("missing", ["drop", "drop_per_model"])
def test_models_that_lack_different_scores_are_not_equal(missing: str) -> None:
    half = TABLE.with_columns(other=pl.when(pl.Series(UNSCORED)).then(None).otherwise("score"))
    result = plm.evaluate(
        half,
        label="label",
        models={"a": "score", "b": "other"},
        metrics=METRICS,
        missing=missing,
        uncertainty={"replicates": 20},
        compare="a",
    )
    row = result.comparisons.filter(metric="unscored", slice_set="overall").row(0, named=True)
    assert abs(row["difference"]) == pytest.approx(UNSCORED.mean())
    assert row["p_value"] < 0.01


def test_rows_without_a_label_can_be_gated() -> None:
    gate = {"metric": "unlabelled", "at_most": 0.05}
    result = run("drop", gates=[gate], uncertainty={"replicates": 50}, unit="customer")
    assert result.verdict == "fail"
    row = result.metrics.filter(metric="unlabelled", model="a", slice_set="overall").row(0, named=True)
    share = UNLABELLED.mean()
    by_unit = TABLE.group_by("customer").agg(pl.len().alias("n"), pl.col("label").is_null().sum().alias("k"))
    gaps = (by_unit["k"] - share * by_unit["n"]).to_numpy()
    assert row["std_error"] == pytest.approx(np.sqrt((gaps**2).sum()) / ROWS, rel=0.25)
    assert row["blocks"] == int(ROWS**2 / (by_unit["n"].to_numpy() ** 2).sum())


@pytest.mark.parametrize("metrics", [METRICS, ["accuracy"]])
def test_states_count_the_rows_that_are_dropped(metrics: list[Any]) -> None:
    halves = [TABLE.head(150), TABLE.tail(250)]
    asked: dict[str, Any] = {
        "label": "label",
        "models": {"a": "score", "b": "other"},
        "metrics": metrics,
        "missing": "drop",
        "slices": {"region": "region", "customer": "customer"},
    }
    first = plm.state(halves[0], **asked)
    merged = plm.merge(first, plm.state(halves[1], constants=first, **asked))
    columns = ["model", "slice_set", "slice", "metric", "value", "n", "status"]
    expected = plm.evaluate(TABLE, **asked).metrics.filter(pl.col("metric") != "roc_auc").select(columns)
    assert merged.metrics.filter(pl.col("metric") != "roc_auc").select(columns).equals(expected)
