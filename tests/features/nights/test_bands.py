"""Control bands of a month of nights, by the command line's functions."""

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.api.nights.acceptance import accept
from plmetrics.api.nights.backfill import backfill
from plmetrics.suite.reader import suite_from_mapping

FIRST = date(2026, 3, 1)
SUITE = """
data: {path: scores}
interval: {partition: day}
columns: {label: y}
models: {m: {score: m}}
metrics: [roc_auc]
slices: {region: region}
uncertainty: {replicates: 20}
gates:
"""


def write_night(folder: Path, number: int, strength: float = 1.5, rows: int = 400) -> str:
    """One night's rows, where scores tell labels apart by so much. Its date."""
    day = FIRST + timedelta(days=number)
    numbers = np.random.default_rng(number)
    label = numbers.random(rows) < 0.4
    score = numbers.normal(size=rows) + strength * label
    place = folder / "scores" / f"day={day}"
    place.mkdir(parents=True, exist_ok=True)
    region = np.array(["n", "s"])[np.arange(rows) % 2]
    pl.DataFrame({"y": label.astype(int), "m": 1 / (1 + np.exp(-score)), "region": region}).write_parquet(
        place / "part.parquet"
    )
    return str(day)


def nights(folder: Path, strengths: list[float], *gates: str) -> list[str]:
    """A suite with these gates, and a night for each strength; the verdicts."""
    (folder / "nightly.yaml").write_text(SUITE + "".join(f"  - {gate}\n" for gate in gates))
    for number, strength in enumerate(strengths):
        write_night(folder, number, strength)
    return verdicts(folder, 0, len(strengths))


def verdicts(folder: Path, first: int, last: int) -> list[str]:
    start, end = (str(FIRST + timedelta(days=number)) for number in (first, last))
    return [outcome.verdict for outcome in backfill(folder / "nightly.yaml", start, end)]


def result_of(folder: Path, number: int) -> plm.Result:
    """The result of a night."""
    home = folder / "runs" / "nightly"
    key = str(FIRST + timedelta(days=number))
    manifest = json.loads(max((home / "intervals" / key).iterdir()).read_text())
    return plm.load(home / manifest["run"])


def references_of(folder: Path, number: int) -> dict[str, Any]:
    """What run.json says of the intervals that the band of a night is made of."""
    (reference,) = result_of(folder, number).record["references"].values()
    return reference


@pytest.mark.slow
def test_a_night_that_is_worse_fails_and_is_no_reference(tmp_path: Path) -> None:
    strengths = [1.5] * 9 + [0.1] + [1.5]
    seen = nights(tmp_path, strengths, "{metric: roc_auc, within: {sd: 6, window: 56d}}")
    assert seen == ["inconclusive"] * 8 + ["pass", "fail", "pass"]
    reference = references_of(tmp_path, 10)
    assert reference["intervals"] == [str(FIRST + timedelta(days=number)) for number in range(9)]
    assert "its gates failed" in {passed["reason"] for passed in reference["passed_over"]}


@pytest.mark.slow
def test_the_band_is_that_of_the_values_of_earlier_nights(tmp_path: Path) -> None:
    nights(tmp_path, [1.5] * 10, "{metric: roc_auc, slices: region, within: {sd: 60, last: 8}}")
    (gate, _) = result_of(tmp_path, 9).gates.to_dicts()
    earlier = [
        result_of(tmp_path, number)
        .metrics.filter(metric="roc_auc", slice_set="region", slice="region=n")
        .row(0, named=True)
        for number in range(1, 9)
    ]
    values = np.array([row["value"] for row in earlier])
    noise = gate_noise(result_of(tmp_path, 9), earlier)
    half = 60 * (values.var(ddof=1) * (1 + 1 / 8) + noise) ** 0.5
    assert gate["slice"] == "region=n"
    text = f"within 60 sd of 8 intervals: [{values.mean() - half:.5g}, {values.mean() + half:.5g}]"
    assert gate["rule"] == text


def gate_noise(result: plm.Result, earlier: list[dict[str, Any]]) -> float:
    """By how much the squared error of a night's value exceeds that of the earlier ones."""
    row = result.metrics.filter(metric="roc_auc", slice_set="region", slice="region=n").row(0, named=True)
    mean = np.mean([other["std_error"] ** 2 for other in earlier])
    return float(max(0.0, row["std_error"] ** 2 - mean))


@pytest.mark.slow
def test_an_accepted_night_counts_from_then_on(tmp_path: Path) -> None:
    nights(tmp_path, [1.5] * 9 + [0.1, 1.5], "{metric: roc_auc, within: {sd: 6, window: 56d}}")
    before = result_of(tmp_path, 10)
    accept(tmp_path / "runs" / "nightly" / result_of(tmp_path, 9).record["run_id"], "a holiday", "me")
    assert verdicts(tmp_path, 10, 11) == ["pass"]
    after = result_of(tmp_path, 10)
    assert before.record["run_id"] != after.record["run_id"]
    assert len(references_of(tmp_path, 10)["intervals"]) == 10


@pytest.mark.slow
def test_nights_in_a_row_are_held_against_the_band_before_them(tmp_path: Path) -> None:
    gate = "{metric: roc_auc, within: {sd: 6, last: 9}, consecutive: 3}"
    seen = nights(tmp_path, [1.5] * 10 + [0.1] * 3, gate)
    assert seen == ["inconclusive"] * 10 + ["inconclusive"] * 2 + ["fail"]
    assert references_of(tmp_path, 12)["intervals"][-1] == str(FIRST + timedelta(days=9))
    assert "failed 3 of 3 runs in a row" in result_of(tmp_path, 12).gates["note"].item()


@pytest.mark.slow
def test_nights_of_another_meaning_are_passed_over(tmp_path: Path) -> None:
    nights(tmp_path, [1.5] * 9, "{metric: roc_auc, within: {sd: 6, window: 56d}}")
    text = (tmp_path / "nightly.yaml").read_text()
    (tmp_path / "nightly.yaml").write_text(text.replace("{label: y}", "{label: y}\npositive: 0"))
    assert verdicts(tmp_path, 8, 9) == ["inconclusive"]
    reasons = {passed["reason"] for passed in references_of(tmp_path, 8)["passed_over"]}
    assert any("its values mean something else: positive was" in reason for reason in reasons)


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ("{metric: roc_auc, within: {sd: 3}}", "a band needs one of window and last"),
        ("{metric: roc_auc, within: {sd: 3, last: 9, window: 9d}}", "a band needs one of window and last"),
        ("{metric: roc_auc, within: {sd: 0, last: 9}}", "greater than 0"),
        ("{metric: roc_auc, within: {sd: 3, last: 5}}", "5 intervals are fewer than min_intervals: 8"),
        ("{metric: roc_auc, within: {sd: 3, last: 9}, at_least: 0.5}", "a gate has one rule"),
        ("{metric: roc_auc, within: {sd: 3, last: 9}, using: interval}", "within judges the value"),
        ("{metric: roc_auc, within: {sd: 3, last: 9}, correction: holm}", "correction: holm is of intervals"),
    ],
)
def test_what_does_not_go_together_is_said(tmp_path: Path, gate: str, message: str) -> None:
    with pytest.raises(plm.ConfigError) as caught:
        nights(tmp_path, [1.5], gate)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "reference", ["previous", {"ago": "7d"}, {"window": "3d"}, {"run": "20260301T000000Z-abcdef"}]
)
@pytest.mark.parametrize("section", ["compare", "drift"])
def test_without_intervals_there_is_no_reference_to_one(section: str, reference: Any) -> None:
    """It compared with nothing for ever, and gates on it left the exit code at 0."""
    asked = {section: {"run" if section == "compare" else "reference": reference}}
    suite = {
        "data": {"path": "x"},
        "columns": {"label": "y"},
        "models": {"m": "p"},
        "metrics": ["brier"],
        **asked,
    }
    with pytest.raises(
        plm.ConfigError, match=f"{section}.*is about earlier intervals, and the suite has none"
    ):
        suite_from_mapping(suite, name="s")


def test_without_intervals_there_is_no_band() -> None:
    frame = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9]})
    gate: Any = {"metric": "roc_auc", "within": {"sd": 3, "last": 20}}
    with pytest.raises(plm.ConfigError, match="within is about earlier intervals"):
        plm.evaluate(frame, label="y", models="p", metrics=["roc_auc"], gates=[gate])
