"""Leakage from a suite to its run folder: what is printed, what is written, and the exit code."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

SUITE = """\
name: nightly
data: {path: scores.parquet}
columns: {label: y}
models: {m: p}
metrics: [accuracy]
leakage:
  train: train.csv
  keys: [id]
  time: at
  duplicates: true
  attributes: true
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    rows = range(40)
    frame = pl.DataFrame({"y": [i % 2 for i in rows], "p": [i / 40 for i in rows], "id": rows, "at": rows})
    frame = frame.with_columns(
        outcome=pl.when(pl.col("y") == 1).then(pl.lit("won")).otherwise(pl.lit("lost"))
    )
    frame.write_parquet(tmp_path / "scores.parquet")
    pl.DataFrame({"id": [7, 11, 40], "at": [-5, 2, -1]}).write_csv(tmp_path / "train.csv")
    file = tmp_path / "nightly.yaml"
    file.write_text(SUITE)
    return file


def record(suite: Path) -> tuple[Path, dict[str, Any]]:
    home = suite.parent / "runs" / "nightly"
    folder = home / json.loads((home / "latest.json").read_text())["folder"]
    return folder, json.loads((folder / "run.json").read_text())


def test_leakage_fails_the_run_and_stands_everywhere(invoke: Any, suite: Path) -> None:
    outcome = invoke("run", str(suite))
    assert outcome.code == 3
    assert outcome.out.startswith("FAIL  nightly: 3 fail, 1 pass\n")
    line = "keys id fail 2 rows (5.00%) e.g. id=7"
    assert line in " ".join(outcome.out.split())
    folder, said = record(suite)
    assert (said["exit_code"], said["verdict"], said["tables"]["leakage"]["rows"]) == (3, "fail", 4)
    assert said["warnings"] == [
        "leakage: 2 rows (5.00%) have keys that are in the training table, e.g. id=7",
        "leakage: 3 rows (7.50%) are no later than the training table's last, e.g. at=0",
        "leakage: column 'outcome' tells the label by itself: error_reduction 1 by its value",
    ]
    table = pl.read_parquet(folder / "leakage.parquet")
    assert dict(table.select("check", "verdict").iter_rows()) == {
        "keys": "fail",
        "duplicates": "pass",
        "time": "fail",
        "attributes": "fail",
    }
    assert line in " ".join(invoke("report", str(folder)).out.split())


def test_warnings_do_not_fail_the_run(invoke: Any, suite: Path) -> None:
    outcome = invoke("run", str(suite), "--set", "leakage.level=warn", "--format", "json")
    printed = json.loads(outcome.out)
    assert (outcome.code, printed["verdict"]) == (0, "pass")
    assert [row["verdict"] for row in printed["leakage"]] == ["warn", "pass", "warn", "warn"]


def test_a_run_from_before_there_was_leakage_is_read(invoke: Any, suite: Path) -> None:
    suite.write_text(SUITE.partition("leakage:")[0])
    assert invoke("run", str(suite)).code == 0
    folder, said = record(suite)
    assert "leakage" not in said["tables"]
    outcome = invoke("report", str(folder))
    assert outcome.code == 0
    assert "Leakage" not in outcome.out


@pytest.mark.parametrize("command", ["run", "validate", "explain"])
@pytest.mark.parametrize(
    ("old", "new", "code", "place"),
    [
        ("train: train.csv", "train: absent.csv", 5, "nightly.yaml:7:"),
        ("keys: [id]", "keys: [outcome]", 4, "nightly.yaml:8:"),
        ("time: at", "time: outcome", 4, "nightly.yaml:9:"),
        ("duplicates: true", "duplicates: tru", 4, "nightly.yaml:10:"),
        ("attributes: true", "atributes: true", 2, "nightly.yaml:11:"),
    ],
)
def test_what_is_wrong_has_a_place(
    invoke: Any, suite: Path, command: str, old: str, new: str, code: int, place: str
) -> None:
    suite.write_text(SUITE.replace(old, new))
    outcome = invoke(command, str(suite))
    assert outcome.code == code
    assert place in outcome.err
    assert "Traceback" not in outcome.err


def test_explain_names_the_stage(invoke: Any, suite: Path) -> None:
    outcome = invoke("explain", str(suite))
    assert outcome.code == 0
    assert "keys, times, duplicates, 1 attribute" in outcome.out
