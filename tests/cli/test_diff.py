"""`plmetrics diff` and `plmetrics report` on runs that were made."""

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm

SUITE = """\
name: nightly
data: {path: scores.parquet}
columns: {label: y}
models: {m: p}
metrics: [roc_auc, recall]
slices: {g: g}
uncertainty: {replicates: 50}
gates:
  - {metric: roc_auc, at_least: 0.6}
"""


def write_scores(folder: Path, shift: float, seed: int) -> None:
    draw = np.random.default_rng(seed)
    y = draw.integers(0, 2, 400)
    frame = pl.DataFrame({"y": y, "p": shift * y + draw.random(400), "g": draw.choice(["a", "b"], 400)})
    frame.write_parquet(folder / "scores.parquet")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of one suite: `old`, `again` on the same rows, `worse` on rows of a worse model, and `failed`."""
    folder = tmp_path_factory.mktemp("diff")
    (folder / "nightly.yaml").write_text(SUITE)
    for name, shift, seed in (("old", 0.5, 0), ("again", 0.5, 0), ("worse", 0.0, 2)):
        write_scores(folder, shift, seed)
        plm.run(folder / "nightly.yaml", output=folder / name)
    (folder / "scores.parquet").write_text("")
    with pytest.raises(plm.DataError):
        plm.run(folder / "nightly.yaml", output=folder / "failed")
    return folder


def home(made: Path, name: str) -> str:
    return str(made / name / "nightly")


def test_the_same_rows_give_no_change(invoke: Any, made: Path) -> None:
    outcome = invoke("diff", home(made, "old"), home(made, "again"), "--fail-on", "change")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("UNCHANGED  ")
    assert "6 values the same" in outcome.out


def test_a_worse_model_is_a_change(invoke: Any, made: Path) -> None:
    outcome = invoke("diff", home(made, "old"), home(made, "worse"))
    assert (outcome.code, outcome.err) == (0, "")
    for words in ("CHANGED  ", "verdict: pass -> fail", "pass -> fail", "beyond the interval", "g=a"):
        assert words in outcome.out
    assert invoke("diff", home(made, "old"), home(made, "worse"), "--fail-on", "change").code == 3


def test_json_and_csv_and_python_agree(invoke: Any, made: Path) -> None:
    sides = (home(made, "old"), home(made, "worse"))
    found = plm.diff(*sides)
    content = json.loads(invoke("diff", *sides, "--format", "json").out)
    assert content["changed"] is found.changed is True
    assert content["metrics"] == found.metrics.to_dicts()
    rows = list(csv.DictReader(io.StringIO(invoke("diff", *sides, "--format", "csv").out)))
    assert [row["change"] for row in rows] == found.metrics["change"].to_list()


def test_a_gate_whose_limit_moved_is_the_same_gate(made: Path, invoke: Any, tmp_path: Path) -> None:
    """Also where its name has the limit in it; the other limit of the metric is a gate of its own."""
    write_scores(tmp_path, 0.5, 0)
    limits = (
        "{metric: roc_auc, at_least: 0.62}",
        "{metric: roc_auc, at_most: 0.99}",
        "{metric: recall, at_least: 0}",
    )
    start = SUITE[: SUITE.index("  - {")]
    (tmp_path / "nightly.yaml").write_text(start + "".join(f"  - {limit}\n" for limit in limits))
    plm.run(tmp_path / "nightly.yaml", output=tmp_path / "now")
    sides = (home(made, "old"), str(tmp_path / "now" / "nightly"))
    gates = plm.diff(*sides).gates.select("gate", "change", "before_rule", "before", "after")
    assert gates.rows() == [
        ("roc_auc >= 0.62", "rule", ">= 0.6", "pass", "pass"),
        ("roc_auc <= 0.99", "new", None, None, "pass"),
        ("recall >= 0", "new", None, None, "pass"),
    ]
    assert "roc_auc >= 0.62 (was >= 0.6)" in invoke("diff", *sides).out


def test_a_gate_that_only_warns_now_is_a_change(tmp_path: Path, invoke: Any) -> None:
    """The check fails in both runs; the first run failed by it, the second does not."""
    write_scores(tmp_path, 0.5, 0)
    start = SUITE[: SUITE.index("  - {")]
    for name, level in (("first", "fail"), ("then", "warn")):
        rule = f"  - {{metric: roc_auc, at_least: 0.99, level: {level}}}\n"
        (tmp_path / "nightly.yaml").write_text(start + rule)
        plm.run(tmp_path / "nightly.yaml", output=tmp_path / name)
    sides = [str(tmp_path / name / "nightly") for name in ("first", "then")]
    found = plm.diff(*sides)
    assert found.verdicts == ("fail", "pass")
    assert found.gates.select("change", "before_rule", "before", "after").rows() == [
        ("rule", ">= 0.99, level fail", "fail", "fail")
    ]
    outcome = invoke("diff", *sides, "--fail-on", "change")
    assert outcome.code == 3
    assert "roc_auc >= 0.99 (was >= 0.99, level fail)" in outcome.out


def test_gates_that_share_a_key_are_paired_by_name(tmp_path: Path) -> None:
    """Two limits of a metric, one to warn and one to fail: neither is taken for the other."""
    write_scores(tmp_path, 0.5, 0)
    start = SUITE[: SUITE.index("  - {")]
    for name, warns in (("first", 0.61), ("then", 0.63)):
        rules = f"  - {{metric: roc_auc, at_least: 0.6}}\n  - {{metric: roc_auc, at_least: {warns}, level: warn}}\n"
        (tmp_path / "nightly.yaml").write_text(start + rules)
        plm.run(tmp_path / "nightly.yaml", output=tmp_path / name)
    gates = plm.diff(tmp_path / "first" / "nightly", tmp_path / "then" / "nightly").gates
    assert dict(gates.select("gate", "change").rows()) == {
        "roc_auc >= 0.6": "same",
        "roc_auc >= 0.63": "new",
        "roc_auc >= 0.61": "gone",
    }


def test_gates_of_versions_without_keys_and_limits_are_the_same(tmp_path: Path, invoke: Any) -> None:
    write_scores(tmp_path, 0.5, 0)
    start = SUITE[: SUITE.index("  - {")]
    (tmp_path / "nightly.yaml").write_text(f"{start}  - {{metric: roc_auc, at_least: 0.6}}\n")
    run = plm.run(tmp_path / "nightly.yaml", output=tmp_path).folder
    assert run is not None
    earlier = tmp_path / "earlier" / run.name
    shutil.copytree(run, earlier)
    table = earlier / "gates.parquet"
    pl.read_parquet(table).drop("key", "at_least", "at_most", "baseline", "scale").write_parquet(table)
    record = json.loads((earlier / "run.json").read_text())
    record["tables"]["gates"] = {"rows": 1, "bytes": table.stat().st_size}
    (earlier / "run.json").write_text(json.dumps(record))
    for sides in ((earlier, run), (run, earlier)):
        assert invoke("diff", *map(str, sides), "--fail-on", "change").code == 0


def test_results_in_memory_can_be_compared(made: Path) -> None:
    frame = pl.DataFrame({"y": [0, 1] * 40, "p": [0.3, 0.4] * 40})
    one, other = (
        plm.evaluate(frame, label="y", models={"m": "p"}, metrics=["roc_auc", "recall"], min_rows=least)
        for least in (0, 1)
    )
    assert not plm.diff(one, one).changed
    assert plm.diff(one, other).notes == ("the suites differ: min_rows",)
    assert set(plm.diff(home(made, "old"), one).metrics["change"]) == {"gone", "value"}


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [("failed", 4, "the run failed with exit code 4"), ("none", 5, "no such folder")],
)
@pytest.mark.parametrize("command", [("report",), ("diff", "old")])
def test_runs_that_cannot_be_read(
    invoke: Any, made: Path, command: tuple[str, ...], name: str, code: int, words: str
) -> None:
    verb, *others = command
    outcome = invoke(verb, *(home(made, other) for other in others), home(made, name))
    assert (outcome.code, outcome.out) == (code, "")
    assert outcome.err.startswith("error: the run cannot be read")
    assert words in outcome.err
    assert "Traceback" not in outcome.err
    assert (
        "Traceback" in invoke(verb, *(home(made, other) for other in others), home(made, name), "--debug").err
    )


def test_a_table_that_is_gone(invoke: Any, made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    (run,) = (made / "old" / "nightly").glob("2*")
    shutil.copytree(run, folder)
    (folder / "gates.parquet").unlink()
    outcome = invoke("report", str(folder))
    assert outcome.code == 4
    assert "gates.parquet is absent" in outcome.err


@pytest.mark.parametrize(
    "arguments", [("diff",), ("diff", "a"), ("report",), ("diff", "a", "b", "--fail-on", "x")]
)
def test_usage(invoke: Any, arguments: tuple[str, ...]) -> None:
    assert invoke(*arguments).code == 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("form", ["text", "json", "csv"])
def test_the_report_is_that_of_the_run(invoke: Any, made: Path, tmp_path: Path, form: str) -> None:
    write_scores(tmp_path, 0.0, 2)
    (tmp_path / "nightly.yaml").write_text(SUITE)
    run = invoke("run", str(tmp_path / "nightly.yaml"), "--format", form)
    again = invoke("report", str(tmp_path / "runs" / "nightly"), "--format", form)
    assert (run.code, again.code) == (3, 0)
    assert again.out == run.out.replace('"exit_code": 3', '"exit_code": 0')  # the verdict is not enforced


def test_a_quiet_report(invoke: Any, made: Path) -> None:
    out = invoke("report", home(made, "worse"), "-q").out
    assert out.startswith("FAIL  nightly")
    assert "Overall" not in out


def test_a_report_is_written_as_a_page(made: Path, invoke: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    outcome = invoke("report", home(made, "old"), "--html", str(page))
    assert (outcome.code, outcome.out) == (0, "")
    assert f"written: {page}" in outcome.err
    assert "PASS" in page.read_text("utf-8")


def test_a_difference_is_written_as_a_page(made: Path, invoke: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    outcome = invoke(
        "diff", home(made, "old"), home(made, "worse"), "--html", str(page), "--fail-on", "change"
    )
    assert (outcome.code, outcome.out) == (3, "")
    assert "CHANGED" in page.read_text("utf-8")


def test_a_page_that_cannot_be_written_is_a_fault_of_the_environment(
    made: Path, invoke: Any, tmp_path: Path
) -> None:
    outcome = invoke("report", home(made, "old"), "--html", str(tmp_path / "absent" / "page.html"))
    assert outcome.code == 6
    assert "page.html cannot be written" in outcome.err


def test_only_a_file_is_opened(made: Path, invoke: Any) -> None:
    outcome = invoke("report", home(made, "old"), "--open")
    assert outcome.code == 2
    assert "--html report.html --open" in outcome.err
