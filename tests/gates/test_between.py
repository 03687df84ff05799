"""Gates on how far slices differ, and how metrics across groups are written."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from typer.testing import CliRunner

import plmetrics as plm
from plmetrics.cli.app import app

RECALLS = {"a": 0.8, "b": 0.6, "c": 0.7}
ROWS = 200


def table() -> pl.DataFrame:
    """Three groups of known recall, all of which are selected in a quarter of the rows of label 0."""
    parts = []
    for group, recall in RECALLS.items():
        hits = round(ROWS * recall)
        scores = [0.9] * hits + [0.1] * (ROWS - hits) + [0.9, 0.1, 0.1, 0.1] * (ROWS // 4)
        parts.append(pl.DataFrame({"y": [1] * ROWS + [0] * ROWS, "p": scores, "group": [group] * 2 * ROWS}))
    return pl.concat(parts).with_columns(even=pl.lit(0.6))


def judged(gate: dict[str, Any], **keywords: Any) -> dict[str, Any]:
    asked = {"metrics": ["recall", "selection_rate"], "slices": ["group"]} | keywords
    result = plm.evaluate(table(), label="y", models="p", gates=[gate], **asked)
    assert set(result.metrics["metric"]) == {"recall", "selection_rate"}
    (row,) = result.gates.to_dicts()
    assert (row["slice_set"], row["slice"]) == ("group", "all")
    return row


@pytest.mark.parametrize(
    ("rule", "observed", "verdict"),
    [
        ({"at_most": 0.2}, 0.2, "pass"),
        ({"at_most": 0.19}, 0.2, "fail"),
        ({"ratio_at_least": 0.75}, 0.75, "pass"),
        ({"ratio_at_least": 0.76}, 0.75, "fail"),
    ],
)
def test_values_are_judged(rule: dict[str, float], observed: float, verdict: str) -> None:
    row = judged({"metric": "recall", "between": "group"} | rule)
    kind = ", kind=ratio" if "ratio_at_least" in rule else ""
    assert row["metric"] == f"disparity(recall, by=group{kind})"
    assert (row["observed"], row["verdict"]) == (pytest.approx(observed), verdict)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("rule", "verdict"),
    [
        ({"at_most": 0.4}, "pass"),
        ({"at_most": 0.2}, "inconclusive"),
        ({"at_most": 0.05}, "fail"),
        ({"ratio_at_least": 0.5}, "pass"),
        ({"ratio_at_least": 0.75}, "inconclusive"),
        ({"ratio_at_least": 0.95}, "fail"),
    ],
)
def test_intervals_are_judged(rule: dict[str, float], verdict: str) -> None:
    gate = {"metric": "recall", "between": "group", "using": "interval"} | rule
    row = judged(gate, uncertainty={"replicates": 200})
    assert row["lower"] < row["observed"] < row["upper"]
    assert row["verdict"] == verdict


def test_without_two_groups_nothing_passes() -> None:
    row = judged({"metric": "recall", "between": "group", "at_most": 1}, where="group = 'a' OR y = 0")
    assert (row["verdict"], row["status"]) == ("inconclusive", "too_few_groups")
    assert row["note"] == "not judged: group=b, group=c (no_positives)"


@pytest.mark.parametrize("written", [{"four_fifths": "group"}, {"four_fifths": "group", "name": "eeoc"}])
def test_four_fifths(written: dict[str, str]) -> None:
    rates = [(recall + 0.25) / 2 for recall in RECALLS.values()]
    row = judged(written)
    assert row["gate"] == written.get("name", "four_fifths")
    assert row["observed"] == pytest.approx(min(rates) / max(rates))
    assert (row["verdict"], row["rule"]) == ("pass", ">= 0.8")
    assert judged(written, metrics=["recall", "selection_rate"], where="group <> 'c'")["verdict"] == "pass"


def test_differences_between_models_are_judged() -> None:
    gate = {"metric": "recall", "between": "group", "against": "even", "no_worse_than": 0.1}
    result = plm.evaluate(
        table(),
        label="y",
        models={"p": "p", "even": "even"},
        metrics=["recall"],
        slices=["group"],
        gates=[gate],
        compare="even",
    )
    (row,) = result.gates.to_dicts()
    assert (row["model"], row["observed"], row["verdict"]) == ("p", pytest.approx(0.2), "fail")
    assert set(result.comparisons["metric"]) == {"recall"}
    assert set(result.comparisons["family_size"]) == {0}


def test_a_failed_gate_ends_with_3(tmp_path: Path) -> None:
    table().write_parquet(tmp_path / "t.parquet")
    suite = {
        "data": {"path": "t.parquet"},
        "columns": {"label": "y"},
        "models": {"m": "p"},
        "metrics": ["recall"],
        "slices": {"group": "group"},
        "gates": [{"metric": "recall", "between": "group", "ratio_at_least": 0.8}],
    }
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(suite))
    done = CliRunner().invoke(app, ["run", str(tmp_path / "s.yaml")])
    assert done.exit_code == 3, done.output
    (record,) = tmp_path.glob("runs/s/*/run.json")
    said = json.loads(record.read_text())["suite"]["gates"][0]
    assert (said["metric"], said["between"], said["ratio_at_least"]) == ("recall", "group", 0.8)


PARITY = {"four_fifths": "group"}
ODDS = {"metric": "recall", "between": "group", "at_most": 0.5}
CALIBRATION = {"metric": "calibration_gap(by=group)", "at_most": 0.9}


@pytest.mark.parametrize("gates", [[PARITY, ODDS, CALIBRATION], [PARITY, ODDS], [ODDS, CALIBRATION]])
def test_three_criteria_together_are_doubted(gates: list[dict[str, Any]]) -> None:
    metrics = ["recall", "calibration_gap(by=group)"]
    result = plm.evaluate(table(), label="y", models="p", metrics=metrics, slices=["group"], gates=gates)
    doubts = [word for word in result.record["warnings"] if "between the slices of 'group' together" in word]
    assert len(doubts) == (len(gates) == 3)


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("demographic_parity_difference", ["parameter 'by' is missing"]),
        ("demographic_parity_difference(by=gruop)", ["'gruop' is not one of the slice sets", "'group'"]),
        ("demographic_parity_difference(by=sex)", ["'sex' is not one of the slice sets", "write by=gender"]),
        ("disparity(recal, by=group)", ["unknown metric 'recal'", "did you mean 'recall'?"]),
        ("disparity(recall(threshold=x), by=group)", ["threshold must be a finite number"]),
        ("disparity(recall, 0.3, by=group)", ["the value 0.3", "has no name"]),
        ("disparity(by=group)", ["parameter 'metric' is missing"]),
        ("disparity(3, by=group)", ["a metric is a text", "not 3"]),
        ("disparity(disparity(recall, by=group), by=group)", ["has one value for all slices"]),
        ("disparity(recall, by=group, method=reference)", ["method=reference needs reference"]),
        ("disparity(recall, by=group, reference=a)", ["read with method=reference only"]),
        ("disparity(recall, by=group, method=reference, reference=aa)", ["'aa' is not a slice of 'group'"]),
        ("recall(0.3)", ["the value 0.3", "has no name"]),
        ("average_odds_difference(by=group)", ["parameter 'reference' is missing"]),
    ],
)
def test_what_is_wrong_is_said(metric: str, words: list[str]) -> None:
    frame = table().with_columns(sex="group")
    with pytest.raises(plm.ConfigError) as caught:
        plm.evaluate(
            frame, label="y", models="p", metrics=[metric], slices={"group": "group", "gender": "sex"}
        )
    (problem,) = caught.value.problems
    assert problem.path[:2] == ("metrics", 0)
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "disparity(recall(threshold=0.3), by=group)",
        "disparity(recall(threshold=max(f1)), by=group, kind=ratio, method=reference, reference='group=b')",
        "equalized_odds_difference(by='age group', agg=mean, method=to_overall, favourable=negative, threshold=0.3)",
        "disparate_impact(by=group, reference=1)",
        "disparate_impact(by=group, reference=true)",
        "calibration_gap(by=group, kind=ece, min_share=0)",
    ],
)
def test_texts_read_back(text: str) -> None:
    assert plm.metric(text).text == text


def test_hard_predictions_have_one_threshold() -> None:
    frame = table().with_columns(called=(pl.col("p") > 0.5).cast(pl.Int64))
    given: dict[str, Any] = {"label": "y", "models": {"m": {"prediction": "called"}}, "slices": ["group"]}
    found = plm.evaluate(frame, metrics=["disparity(recall, by=group)"], **given).metrics
    assert found["value"].item() == pytest.approx(0.2)
    for metric in ("disparity(recall(threshold=0.3), by=group)", "disparity(roc_auc, by=group)"):
        with pytest.raises(plm.ConfigError, match="only hard predictions"):
            plm.evaluate(frame, metrics=[metric], **given)
