"""The command line on real files: what is printed, what is written, and the exit code."""

import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from plmetrics.core.results import TABLES

SUITE = """\
name: nightly
data: {path: scores.parquet}
columns: {label: y}
models: {old: s_old, new: s_new}
metrics: [roc_auc, recall, brier]
slices: {region: region}
uncertainty: {replicates: 20}
compare: {baseline: old}
gates:
  - {metric: roc_auc, at_least: 0.6}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    draw = random.Random(3)
    rows = []
    for _ in range(400):
        y = draw.random() < 0.4
        score = min(max(draw.gauss(0.6 if y else 0.4, 0.15), 0), 1)
        region = draw.choice(["north", "south", "\x1b[31m[bold]west"])
        rows.append({"y": int(y), "s_old": score, "s_new": score**2, "region": region})
    pl.DataFrame(rows).write_parquet(tmp_path / "scores.parquet")
    file = tmp_path / "nightly.yaml"
    file.write_text(SUITE)
    return file


def runs(home: Path) -> list[Path]:
    return sorted(place for place in home.iterdir() if place.is_dir())


def pointer(home: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((home / "latest.json").read_text())
    return content


def test_a_run_prints_and_writes_the_same(invoke: Any, suite: Path) -> None:
    outcome = invoke("run", str(suite), "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    printed = json.loads(outcome.out)
    (folder,) = runs(suite.parent / "runs" / "nightly")
    assert printed["folder"] == str(folder)
    filled = {name: schema for name, schema in TABLES.items() if printed[name]}
    names = [*filled, "replicates", "units"]
    others = {"README.md", "run.json"}
    assert {file.name for file in folder.iterdir()} == {*others, *(f"{name}.parquet" for name in names)}
    for name, schema in filled.items():
        stored = pl.read_parquet(folder / f"{name}.parquet")
        assert stored.schema == schema
        assert_frame_equal(pl.DataFrame(printed[name], schema=schema), stored)
    record = json.loads((folder / "run.json").read_text())
    assert (record["status"], record["exit_code"], record["verdict"]) == ("complete", 0, "pass")
    assert record["rows"]["read"] == 400
    assert record["run_id"] == folder.name == pointer(folder.parent)["folder"]


def test_the_report_escapes_slice_values(invoke: Any, suite: Path) -> None:
    outcome = invoke("run", str(suite), "--set", "gates=null")
    assert outcome.code == 0
    assert "\x1b" not in outcome.out
    assert outcome.out.startswith("DONE  nightly: no gates\n")


def test_results_repeat(invoke: Any, suite: Path) -> None:
    first, second = (json.loads(invoke("run", str(suite), "--format", "json").out) for _ in range(2))
    for table in TABLES:
        assert_frame_equal(pl.DataFrame(first[table]), pl.DataFrame(second[table]))
    assert len(runs(suite.parent / "runs" / "nightly")) == 2


def test_a_failed_gate_is_3_with_results(invoke: Any, suite: Path) -> None:
    outcome = invoke(
        "run", str(suite), "--set", "uncertainty.level=0.9", "--output", str(suite.parent / "else")
    )
    assert outcome.code == 0
    suite.write_text(SUITE.replace("0.6", "0.999"))
    outcome = invoke("run", str(suite), "--output", str(suite.parent / "else"))
    assert outcome.code == 3
    assert outcome.out.startswith("FAIL  nightly: 2 fail\n")
    home = suite.parent / "else" / "nightly"
    assert pointer(home)["exit_code"] == 3
    assert (home / pointer(home)["folder"] / "metrics.parquet").exists()


def spoil_scores(folder: Path) -> None:
    frame = pl.read_parquet(folder / "scores.parquet")
    frame.with_columns(s_new=pl.lit(float("nan"))).write_parquet(folder / "scores.parquet")


def drop_column(folder: Path) -> None:
    pl.read_parquet(folder / "scores.parquet").drop("s_new").write_parquet(folder / "scores.parquet")


def truncate(folder: Path) -> None:
    file = folder / "scores.parquet"
    file.write_bytes(file.read_bytes()[:-40])


def remove(folder: Path) -> None:
    (folder / "scores.parquet").unlink()


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("spoil", "code", "words"),
    [
        (spoil_scores, 4, "s_new"),
        (drop_column, 4, "s_new"),
        (truncate, 4, "scores.parquet"),
        (remove, 5, "scores.parquet"),
    ],
)
def test_bad_data_is_4_absent_data_5_and_both_replace_the_pointer(
    invoke: Any, suite: Path, spoil: Any, code: int, words: str
) -> None:
    assert invoke("run", str(suite), "-q").code == 0
    spoil(suite.parent)
    outcome = invoke("run", str(suite))
    assert (outcome.code, outcome.out) == (code, "")
    assert words in outcome.err
    assert "Traceback" not in outcome.err
    home = suite.parent / "runs" / "nightly"
    assert (pointer(home)["status"], pointer(home)["exit_code"]) == ("failed", code)
    left = sorted(file.name for file in (home / pointer(home)["folder"]).iterdir())
    assert left == ["README.md", "run.json"]


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("roc_auc, recall", "roc_acu, recall", "nightly.yaml:5:"),
        ("compare", "compares", "nightly.yaml:8:"),
        ("replicates: 20", "replicates: many", "nightly.yaml:7:"),
        ("compare: {baseline: old}", "output: {directory: ..}", "nightly.yaml:8:"),
    ],
)
def test_a_bad_suite_is_2_with_its_place(invoke: Any, suite: Path, old: str, new: str, place: str) -> None:
    suite.write_text(SUITE.replace(old, new))
    for command in ("run", "validate") if "output" not in new else ("run",):
        outcome = invoke(command, str(suite))
        assert (outcome.code, outcome.out) == (2, "")
        assert place in outcome.err


def test_validate(invoke: Any, suite: Path) -> None:
    outcome = invoke("validate", str(suite))
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "valid: nightly (4 columns, 2 models, 3 metrics, 1 slice set, 1 gate)\n"
    drop_column(suite.parent)
    assert invoke("validate", str(suite)).code == 4
    assert not (suite.parent / "runs").exists()


@pytest.mark.parametrize(("key", "code"), [("interval.column", 4), ("compare.run", 5)])
def test_validate_looks_for_the_column_of_intervals_and_the_earlier_run(
    invoke: Any, suite: Path, key: str, code: int
) -> None:
    outcome = invoke("validate", str(suite), "--set", f"{key}=nowhere")
    assert (outcome.code, "nowhere" in outcome.err) == (code, True)


def test_no_suite(invoke: Any, tmp_path: Path) -> None:
    assert invoke("run", str(tmp_path / "absent.yaml")).code == 2
