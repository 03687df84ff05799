"""${VAR} in the texts of a suite: nights of one suite, whose fingerprint does not know their days."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

SUITE = """\
name: nightly-${REGION}
data: {path: "scores/${DATA}", where: "day = DATE '${DAY}' AND n < ${MOST}"}
columns: {label: "${LABEL}"}
models: {m: "${SCORE}"}
metrics: [roc_auc]
output: {directory: "runs/${REGION}"}
"""
CANARY = "canary-4711"
VALUES = {
    "REGION": "eu",
    "DATA": CANARY,
    "DAY": "2026-03-01",
    "MOST": "9",
    "LABEL": "label_of_truth",
    "SCORE": "score_of_model",
}


@pytest.fixture
def folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in VALUES.items():
        monkeypatch.setenv(name, value)
    place = Path("scores") / CANARY
    place.mkdir(parents=True)
    days = ["2026-03-01"] * 4 + ["2026-03-02"] * 4
    pl.DataFrame(
        {
            "label_of_truth": [0, 1, 0, 1, 1, 1, 0, 1],
            "score_of_model": [0.1, 0.9, 0.8, 0.7, 0.3, 0.6, 0.5, 0.2],
            "day": pl.Series(days).str.to_date(),
            "n": [1] * 8,
        }
    ).write_parquet(place / "x.parquet")
    Path("suite.yaml").write_text(SUITE, encoding="utf-8")
    return root


def run(invoke: Any, *options: str) -> tuple[dict[str, Any], dict[str, Any]]:
    outcome = invoke("run", "suite.yaml", "--format", "json", *options)
    content = json.loads(outcome.out)
    return content, json.loads((Path(content["folder"]) / "run.json").read_text())


def test_two_nights_of_one_suite(invoke: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, one = run(invoke)
    monkeypatch.setenv("DAY", "2026-03-02")
    monkeypatch.setenv("MOST", "5.5")
    second, other = run(invoke)
    assert [content["metrics"][0]["value"] for content in (first, second)] == [0.75, 1 / 3]
    assert first["name"] == "nightly-eu"
    assert Path(first["folder"]).parts[-4:-1] == ("runs", "eu", "nightly-eu")
    assert one["suite"] == other["suite"]
    assert one["fingerprint"] == other["fingerprint"]
    assert one["where_identity"] != other["where_identity"]
    assert one["suite"]["data"]["where"] == "day = DATE '${DAY}' AND n < ${MOST}"
    assert one["suite"]["models"] == {"m": {"score": "${SCORE}"}}
    assert one["suite"]["columns"] == {"label": "${LABEL}"}
    for file in folder.glob("runs/**/*.json"):
        assert CANARY not in file.read_text()


def test_a_night_is_not_taken_for_another(invoke: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same file, another condition: the earlier night is a reference; the same night again is not."""
    compared = ("--set", "compare.run=runs/eu/nightly-eu")
    run(invoke)
    assert run(invoke, *compared)[0]["comparisons"] == []
    monkeypatch.setenv("DAY", "2026-03-02")
    (row,) = run(invoke, *compared)[0]["comparisons"]
    assert row["difference"] == pytest.approx(1 / 3 - 0.75)


def test_states_of_two_nights_add(invoke: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("--set", "metrics=[accuracy]", "--set", "name=nights")
    for day in ("2026-03-01", "2026-03-02"):
        monkeypatch.setenv("DAY", day)
        frame = pl.read_parquet(f"scores/{CANARY}/*.parquet").filter(
            pl.col("day") == pl.lit(day).str.to_date()
        )
        monkeypatch.setenv("DATA", f"{CANARY}-{day}")
        Path(f"scores/{CANARY}-{day}").mkdir()
        frame.write_parquet(f"scores/{CANARY}-{day}/x.parquet")
        assert invoke("state", "suite.yaml", *options).code == 0
    merged = invoke("merge", "states", "--format", "json")
    assert merged.code == 0, merged.err
    assert json.loads(merged.out)["metrics"][0]["value"] == 0.5
    assert json.loads(merged.out)["metrics"][0]["n"] == 8


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("DAY", "2026-03-01' OR n > '0", "more than one literal"),
        ("DAY", "2026-13-01", "'${DAY}' is not a date"),
        ("MOST", "5 OR TRUE", "the value of ${MOST} is no number"),
        ("REGION", "../away", "the name"),
        ("SCORE", "canary-4712", "column '${SCORE}'"),
    ],
)
def test_values_that_do_not_fit(
    invoke: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    monkeypatch.setenv(name, value)
    outcome = invoke("run", "suite.yaml")
    assert outcome.code in {2, 4}
    assert "suite.yaml:" in outcome.err
    assert value not in outcome.err
    for file in folder.glob("runs/**/*.json"):
        assert value not in file.read_text()


def test_variables_that_are_not_set(invoke: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MOST", "LABEL"):
        monkeypatch.delenv(name)
    outcome = invoke("run", "suite.yaml")
    assert outcome.code == 2
    assert "suite.yaml:2:" in outcome.err and "MOST is not set" in outcome.err  # noqa: PT018
    assert "suite.yaml:3:" in outcome.err and "LABEL is not set" in outcome.err  # noqa: PT018
    assert json.loads(Path("runs/eu/nightly-eu/latest.json").read_text())["exit_code"] == 2
