"""Values printed in handbooks and by other tools."""

from pathlib import Path

import polars as pl
import pytest
from sklearn.metrics import average_precision_score, d2_brier_score, d2_log_loss_score, roc_auc_score

import plmetrics as plm
from plmetrics.catalogue.registry import create

ADULT = Path(__file__).parents[2] / "configs" / "data" / "adult_test_with_predictions.parquet"


def test_eighteen_of_25_pairs():
    rows = pl.DataFrame(
        {
            "y": [1, 1, 0, 1, 0, 1, 0, 0, 1, 0],
            "p": [0.92, 0.85, 0.78, 0.71, 0.65, 0.55, 0.42, 0.30, 0.22, 0.10],
        }
    )
    assert rows.select(create("binary", "roc_auc", {}).expr("y", "p")).item() == pytest.approx(
        0.72, rel=1e-12
    )
    assert rows.select(create("binary", "fp", {"threshold": 0.5}).expr("y", "p")).item() == 2
    assert rows.select(create("binary", "fp", {"threshold": 0.2}).expr("y", "p")).item() == 4


@pytest.mark.parametrize(
    ("name", "printed", "label", "prediction"),
    [
        ("explained_variance", "0.957", [3.0, -0.5, 2.0, 7.0], [2.5, 0.0, 2.0, 8.0]),
        ("msle", "0.0397", [3.0, 5.0, 2.5, 7.0], [2.5, 5.0, 4.0, 8.0]),
        ("rmsle", "0.199", [3.0, 5.0, 2.5, 7.0], [2.5, 5.0, 4.0, 8.0]),
    ],
)
def test_values_printed_in_the_manual_of_scikit_learn(name, printed, label, prediction):
    rows = pl.DataFrame({"y": label, "p": prediction})
    found = rows.select(create("regression", name, {}).expr("y", "p")).item()
    assert f"{found:.4f}".startswith(printed)


def test_five_forecasts_of_rain_by_hand():
    """Three days at 0.25, one of them wet, and two at 0.75, both wet: prevalence 3/5."""
    rows = pl.DataFrame({"y": [0, 1, 0, 1, 1], "p": [0.25, 0.25, 0.25, 0.75, 0.75]})
    names = ("brier", "brier_reliability", "brier_resolution", "brier_uncertainty", "brier_within_bin")
    found = plm.evaluate(rows, label="y", models="p", metrics=list(names)).metrics["value"].to_list()
    reliability = (3 * (1 / 4 - 1 / 3) ** 2 + 2 * (3 / 4 - 1) ** 2) / 5
    resolution = (3 * (1 / 3 - 3 / 5) ** 2 + 2 * (1 - 3 / 5) ** 2) / 5
    assert found == pytest.approx([0.1625, reliability, resolution, 6 / 25, 0.0], rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("model", ["p_gbdt", "p_rf", "p_oblique_rf"])
def test_skills_and_areas_of_the_adult_predictions_equal_scikit_learn(model):
    rows = pl.read_parquet(ADULT, columns=["label", model])
    theirs = {
        "log_loss_skill": d2_log_loss_score,
        "brier_skill": d2_brier_score,
        "roc_auc": roc_auc_score,
        "average_precision": average_precision_score,
    }
    expressions = [create("binary", name, {}).expr("label", model) for name in theirs]
    expected = [score(rows["label"], rows[model]) for score in theirs.values()]
    assert rows.select(expressions).row(0) == pytest.approx(expected, rel=1e-12)
