"""Drift from a suite to its run folder: what is printed, what is written, and the exit code."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import plmetrics as plm

SUITE = """\
name: nightly
data: {path: now.parquet}
columns: {label: y}
models: {m: p}
metrics: [accuracy]
slices: {site: site}
drift:
  reference: before.csv
  columns: [age, site]
  slices: site
  gates:
    - {name: ages, measure: psi, column: age, at_most: 0.2}
    - {measure: null_share, column: age, at_most: 0.1}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    rows = range(200)
    frame = pl.DataFrame(
        {"y": [i % 2 for i in rows], "p": [i / 200 for i in rows], "age": [i % 50 for i in rows]}
    )
    frame = frame.with_columns(
        site=pl.when(pl.col("y") == 1).then(pl.lit("north")).otherwise(pl.lit("south"))
    )
    frame.write_csv(tmp_path / "before.csv")
    frame.with_columns(pl.col("age") + 20).write_parquet(tmp_path / "now.parquet")
    file = tmp_path / "nightly.yaml"
    file.write_text(SUITE)
    return file


def run_folder(suite: Path) -> Path:
    home = suite.parent / "runs" / "nightly"
    return home / str(json.loads((home / "latest.json").read_text())["folder"])


def test_a_gate_on_drift_fails_the_run_and_stands_everywhere(invoke: Any, suite: Path) -> None:
    outcome = invoke("run", str(suite))
    assert outcome.code == 3
    assert outcome.out.startswith("FAIL  nightly: 1 fail, 1 pass\n")
    assert "Drift (200 reference rows, 200 rows now)" in outcome.out
    folder = run_folder(suite)
    said = json.loads((folder / "run.json").read_text())
    assert (said["exit_code"], said["verdict"]) == (3, "fail")
    table = pl.read_parquet(folder / "drift.parquet")
    assert said["tables"]["drift"]["rows"] == table.height
    gates = pl.read_parquet(folder / "gates.parquet")
    assert dict(gates.select("gate", "verdict").iter_rows()) == {
        "ages": "fail",
        "drift: null_share of age <= 0.1": "pass",
    }
    psi = table.filter(column="age", measure="psi", slice_set="overall")["value"].item()
    assert gates["observed"].to_list() == [psi, 0.0]
    assert psi > 0.25
    assert "Drift (200 reference rows" in invoke("report", str(folder)).out


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("setting", "code", "verdict"),
    [
        ("drift.gates=[{measure: psi, column: age, at_most: 0.2, level: warn}]", 0, "pass"),
        ("drift.gates=[{measure: psi, column: site, at_most: 0.2}]", 0, "pass"),
        ("drift.gates=[{measure: ks_2samp, column: age, p_at_least: 0.01}]", 3, "fail"),
        ("drift.gates=[{measure: mean, column: age, at_least: -1}]", 0, "pass"),
        ("drift.gates=[{measure: mean, column: site, at_most: 1}]", 0, "inconclusive"),
        ("drift.gates=[{measure: mean, column: site, at_most: 1, on_undefined: fail}]", 3, "fail"),
        ("drift.gates=[]", 0, "none"),
    ],
)
def test_exit_codes(invoke: Any, suite: Path, setting: str, code: int, verdict: str) -> None:
    outcome = invoke("run", str(suite), "--set", setting, "--format", "json")
    printed = json.loads(outcome.out)
    assert (outcome.code, printed["verdict"]) == (code, verdict)
    assert {row["column"] for row in printed["drift"]} == {"p", "y", "age", "site"}


@pytest.mark.parametrize("command", ["run", "validate"])
@pytest.mark.parametrize(
    ("setting", "code", "words"),
    [
        ("drift.columns=[age, aeg]", 4, "did you mean 'age'"),
        ("drift.reference=absent.csv", 5, "absent.csv"),
        ("drift.measures=[pis]", 2, "did you mean 'psi'"),
        ("drift.where=agee > 1", 4, "column 'agee'"),
        ("drift.where=age >", 2, "drift.where"),
    ],
)
def test_what_is_wrong_is_said(
    invoke: Any, suite: Path, command: str, setting: str, code: int, words: str
) -> None:
    outcome = invoke(command, str(suite), "--set", setting)
    assert outcome.code == code
    assert words in outcome.err
    assert "Traceback" not in outcome.err


def test_what_is_wrong_has_its_line(invoke: Any, suite: Path) -> None:
    suite.write_text(SUITE.replace("[age, site]", "[age, place]"))
    outcome = invoke("validate", str(suite))
    assert outcome.code == 4
    assert "nightly.yaml:9" in outcome.err


@pytest.mark.parametrize("command", ["run", "validate"])
def test_a_run_that_keeps_no_counts_is_no_reference_but_its_files_are(
    invoke: Any, suite: Path, command: str
) -> None:
    assert invoke("run", str(suite), "--output", str(suite.parent / "weekly")).code == 3
    suite.write_text(SUITE.replace("reference: before.csv", "run: weekly/nightly"))
    outcome = invoke(command, str(suite))
    assert outcome.code == 4
    said = " ".join(outcome.err.split())
    assert "keeps no counts for drift" in said
    assert "drift: {state: before.state}" in said
    assert "now.parquet" in said
    suite.write_text(SUITE.replace("reference: before.csv", "run: runs/weekly"))
    outcome = invoke(command, str(suite))
    assert outcome.code == 5
    assert "no such folder" in outcome.err


@pytest.mark.slow
def test_every_night_is_measured_from_the_one_before(invoke: Any, suite: Path) -> None:
    """The first has nothing to be measured from, whether or not it had a reference of its own."""
    assert invoke("run", str(suite)).code == 3
    suite.write_text(SUITE.replace("reference: before.csv", "run: runs/nightly"))
    first = invoke("run", str(suite))
    assert first.code == 0
    assert "no earlier run of this suite yet that drift can be measured from" in " ".join(first.err.split())
    assert (run_folder(suite) / "drift.state").is_file()
    assert not (run_folder(suite) / "drift.parquet").exists()
    again = invoke("run", str(suite), "--format", "json")
    assert (again.code, json.loads(again.out)["drift"]) == (0, [])
    assert "(the same data)" in again.err
    now = pl.read_parquet(suite.parent / "now.parquet")
    now.reverse().write_parquet(suite.parent / "now.parquet")
    second = invoke("run", str(suite), "--format", "json")
    assert second.code == 0
    rows = [row for row in json.loads(second.out)["drift"] if row["measure"] == "psi"]
    assert [(row["value"], row["status"]) for row in rows] == [(0, "ok")] * 12
    older = pl.read_csv(suite.parent / "before.csv").with_columns(pl.col("age") + 60)
    older.write_parquet(suite.parent / "now.parquet")
    assert invoke("run", str(suite)).code == 3


@pytest.mark.slow
def test_a_state_is_a_reference_as_its_rows_are(invoke: Any, suite: Path) -> None:
    before = ("--set", "data.path=before.csv", "--output", str(suite.parent / "before.state"))
    assert invoke("state", str(suite), *before).code == 0
    by_rows = invoke("run", str(suite), "--format", "json")
    suite.write_text(SUITE.replace("reference: before.csv", "state: before.state"))
    by_state = invoke("run", str(suite), "--format", "json")
    assert by_state.code == by_rows.code == 3
    for key in ("drift", "gates"):
        assert json.loads(by_state.out)[key] == json.loads(by_rows.out)[key]
    assert invoke("explain", str(suite)).code == 0


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("command", ["run", "validate"])
@pytest.mark.parametrize(
    ("section", "code", "words"),
    [
        ("state: before.csv", 4, "before.csv is truncated, or no state"),
        ("state: now.parquet", 4, "is a parquet file, but no state"),
        ("state: absent.state", 5, "absent.state: no such file"),
        ("state: plain.state", 4, "holds no counts for drift: its suite has no section drift"),
        ("state: [before.state, before.state]", 4, "rows would count twice"),
        ("state: before.state, where: age > 3", 2, "where picks rows of the reference, and a state has none"),
        ("state: before.state, run: runs", 2, "run and state both say what the reference is"),
        ("state: before.state, reference: before.csv", 2, "state and reference both say"),
        ("run: runs, reference: before.csv", 2, "run and reference both say"),
    ],
)
def test_what_is_no_reference_is_told(
    invoke: Any, suite: Path, command: str, section: str, code: int, words: str
) -> None:
    for name, text in (("before", SUITE), ("plain", SUITE.partition("drift:")[0])):
        suite.write_text(text)
        assert invoke("state", str(suite), "--output", str(suite.parent / f"{name}.state")).code == 0
    start = SUITE.partition("drift:")[0]
    suite.write_text(f"{start}drift: {{{section}, columns: [age]}}\n")
    outcome = invoke(command, str(suite))
    assert outcome.code == code
    assert words in " ".join(outcome.err.split())
    assert "Traceback" not in outcome.err


@pytest.mark.slow
def test_merged_states_keep_counts_and_say_that_nothing_was_measured(invoke: Any, suite: Path) -> None:
    folder = suite.parent
    for name in ("before.csv", "now.parquet"):
        state = str(folder / "days" / f"{name}.state")
        assert invoke("state", str(suite), "--set", f"data.path={name}", "--output", state).code == 0
    merged = str(folder / "both.state")
    outcome = invoke("merge", str(folder / "days"), "--states", merged)
    assert outcome.code == 0
    assert "drift is not measured here" in " ".join(outcome.err.split())
    apart, together = (
        SUITE.replace("reference: before.csv", f"state: {path}") for path in ("days", "both.state")
    )
    said = []
    for text in (apart, together, SUITE.replace("before.csv", "[before.parquet, now.parquet]")):
        pl.read_csv(folder / "before.csv").write_parquet(folder / "before.parquet")
        suite.write_text(text)
        said.append(json.loads(invoke("run", str(suite), "--format", "json").out)["drift"])
    assert said[0] == said[1] == said[2]
    suite.write_text(apart)
    invoke("run", str(suite))
    kept = str(run_folder(suite) / "drift.state")
    for command in (["merge", kept], ["state", str(suite), "--constants", kept]):
        outcome = invoke(*command)
        assert outcome.code == 4
        assert "holds what drift counts, and no metrics" in " ".join(outcome.err.split())


def test_a_run_without_drift_has_an_empty_table(invoke: Any, suite: Path) -> None:
    suite.write_text(SUITE.partition("drift:")[0])
    outcome = invoke("run", str(suite))
    assert outcome.code == 0
    assert "Drift" not in outcome.out
    assert not (run_folder(suite) / "drift.parquet").exists()
    assert plm.load(run_folder(suite)).drift.is_empty()


def test_explain_says_what_is_compared(invoke: Any, suite: Path) -> None:
    outcome = invoke("explain", str(suite))
    assert outcome.code == 0
    assert "4 columns against the reference, overall and in 1 slice set" in " ".join(outcome.out.split())
