"""Numbers that others published, through the whole engine: from files, with intervals asked for and not."""

from pathlib import Path

import polars as pl
import pytest

import plmetrics as plm

DATA = Path(__file__).parents[1] / "data"
ADULT = Path(__file__).parents[2] / "configs" / "data" / "adult_test_with_predictions.parquet"
AREAS = ["roc_auc", "average_precision"]

# yardstick's py-data (scikit-learn 1.2.0), README and tests: plain, with case weights.
TWO_CLASSES = {
    "accuracy": (0.838, None),
    "average_precision": (0.946557023998834, 0.942203168241374),
    "balanced_accuracy": (None, 0.83315712436972),
    "fbeta(beta=0.5)": (0.830893118594436, 0.831369351561912),
    "f1": (0.848598130841122, 0.846854938973261),
    "cohen_kappa": (0.674876372744204, 0.668294700204783),
    "mcc": (0.676847560349213, 0.669810624251863),
    "log_loss": (0.328309649885314, 0.348618922456708),
    "npv": (None, 0.851968876507832),
    "precision": (0.819494584837545, 0.82135646991758),
    "recall": (0.87984496124031, 0.873987297299339),
    "roc_auc": (0.939313857389967, 0.93244052229253),
    "brier": (0.10561859, None),
}
SOLUBILITY = {
    "mae": 0.568293834116623,
    "rmse": 0.75389617854456,
    "r2": 0.87379334808769,
    "mape(zeros=drop)": 69.0548435572035,
}


def values(result):
    return dict(result.metrics.filter(slice_set="overall").select("metric", "value").iter_rows())


@pytest.mark.parametrize("uncertainty", [None, {"replicates": 20}])
@pytest.mark.parametrize("weighted", [False, True])
def test_two_classes(weighted, uncertainty):
    published = {metric: pair[weighted] for metric, pair in TWO_CLASSES.items() if pair[weighted] is not None}
    found = plm.evaluate(
        DATA / "two_class_example.csv",
        label="truth",
        positive="Class1",
        models="Class1",
        weight="weight" if weighted else None,
        metrics=list(published),
        uncertainty=uncertainty,
    )
    digits = {"accuracy": 5e-4, "brier": 5e-9}
    for metric, value in values(found).items():
        assert value == pytest.approx(published[metric], abs=digits.get(metric, 5e-14)), metric


def test_predicted_classes_give_the_same_as_their_scores():
    metrics = [metric for metric in TWO_CLASSES if metric not in {*AREAS, "log_loss", "brier"}]
    found = plm.evaluate(
        DATA / "two_class_example.csv",
        label="truth",
        positive="Class1",
        models={"score": "Class1", "class": {"prediction": "predicted"}},
        weight="weight",
        metrics=metrics,
    ).metrics
    of_score, of_class = (found.filter(model=model)["value"].to_list() for model in ("score", "class"))
    assert of_class == pytest.approx(of_score, rel=1e-12)


@pytest.mark.parametrize(("weight", "published"), [(None, 164.154824942657), ("weight", 9223.24329427478)])
def test_sums_of_log_losses(weight, published):
    found = plm.evaluate(
        DATA / "two_class_example.csv",
        label="truth",
        positive="Class1",
        models="Class1",
        weight=weight,
        metrics=["log_loss"],
    ).metrics
    assert found.select(pl.col("value") * pl.col("weight")).item() == pytest.approx(published, rel=1e-12)


def test_solubility():
    found = plm.evaluate(
        DATA / "solubility_test.csv",
        task="regression",
        label="solubility",
        models="prediction",
        weight="weight",
        metrics=[*SOLUBILITY, "mape"],
    )
    *defined, undefined = found.metrics.iter_rows(named=True)
    assert [row["value"] for row in defined] == pytest.approx(list(SOLUBILITY.values()), rel=1e-12)
    assert (undefined["value"], undefined["status"], undefined["note"]) == (
        None,
        "zero_label",
        "labels of 0: 2",
    )


def test_adult_in_a_suite(tmp_path):
    """The evaluation that came with the predictions, from YAML to the tables in the run folder."""
    suite = tmp_path / "adult.yaml"
    suite.write_text(
        f"""
        data: {{path: {ADULT}}}
        columns: {{label: label}}
        models: {{gbdt: p_gbdt}}
        metrics: [accuracy, n]
        uncertainty: {{replicates: 100, seed: 1}}
        """
    )
    result = plm.run(suite)
    written = pl.read_parquet(result.folder / "metrics.parquet")
    assert written.equals(result.metrics)
    accuracy, rows = written.iter_rows(named=True)
    assert accuracy["value"] == pytest.approx(0.8723513, abs=5e-8)
    assert rows["value"] == 9769
    # The published interval is Wilson's; a bootstrap one is as wide, but for the noise of 100 replicates.
    assert accuracy["upper"] - accuracy["lower"] == pytest.approx(0.880823 - 0.867679, rel=0.35)


HANDBOOK = [(1, 0.9, 150), (1, 0.1, 50), (0, 0.9, 30), (0, 0.1, 770)]
TEN_ROWS = {
    "y": [1, 0, 1, 1, 0, 1, 0, 0, 1, 0],
    "hard": [1, 0, 1, 0, 0, 1, 1, 0, 1, 0],
    "p": [0.9, 0.1, 0.8, 0.4, 0.2, 0.7, 0.6, 0.3, 0.85, 0.15],
}


@pytest.mark.parametrize("repeated", [False, True])
def test_confusion_table_of_a_thousand(repeated):
    rows = pl.DataFrame(HANDBOOK, schema=["y", "p", "w"], orient="row")
    if repeated:
        rows = rows.select(pl.col("y", "p").repeat_by("w").explode(empty_as_null=False))
    published = {
        "precision": 0.833,
        "recall": 0.75,
        "specificity": 0.9625,
        "f1": 0.789,
        "mcc": 0.742,
        "accuracy": 0.92,
        "prevalence": 0.2,
        "selection_rate": 0.18,
    }
    counts = {"tp": 150, "fn": 50, "fp": 30, "tn": 770}
    found = plm.evaluate(
        rows, label="y", models="p", weight=None if repeated else "w", metrics=[*published, *counts]
    )
    assert values(found) == pytest.approx({**published, **counts}, abs=5e-4)


def test_ten_rows_with_hard_predictions_and_scores():
    rows = pl.DataFrame(TEN_ROWS)
    of_class = dict.fromkeys(["accuracy", "precision", "recall", "f1", "fbeta(beta=2)"], 0.8) | {"mcc": 0.6}
    found = plm.evaluate(rows, label="y", models={"m": {"prediction": "hard"}}, metrics=list(of_class))
    assert values(found) == pytest.approx(of_class)
    assert values(plm.evaluate(rows, label="y", models="p", metrics=["roc_auc"])) == {"roc_auc": 0.96}


def test_four_regression_rows():
    rows = pl.DataFrame({"y": [3.0, -0.5, 2.0, 7.0], "p": [2.5, 0.0, 2.0, 8.0]})
    found = plm.evaluate(rows, task="regression", label="y", models="p", metrics=["mae", "mse", "r2"])
    assert values(found) == pytest.approx({"mae": 0.5, "mse": 0.375, "r2": 0.9486}, abs=5e-5)
