"""Where a run comes from, the README of its folder, and tables that are not written."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import plmetrics as plm
from plmetrics.cli.app import app
from plmetrics.core.results import TABLES
from plmetrics.runs.readme import readme_text
from plmetrics.runs.record import git_commit, mask_argument, rows_read

ROOT = Path(__file__).parents[2]
SUITE = """\
data: {path: "${PLACE}/day.parquet"}
columns: {label: y}
models: {m: p}
metrics: [roc_auc]
gates: [{metric: roc_auc, at_least: 0.99, name: "good | <b>enough</b>"}]
"""


@pytest.fixture
def folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLACE", "canary-4711")
    Path("canary-4711").mkdir()
    frame = pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.1, 0.9, 0.8, 0.7]})
    frame.write_parquet("canary-4711/day.parquet")
    Path("nightly.yaml").write_text(SUITE, encoding="utf-8")
    return root


def git(*words: str) -> str:
    head = ["git", "-c", "user.name=x", "-c", "user.email=x@x", *words]
    return subprocess.run(head, check=True, capture_output=True, text=True).stdout.strip()


def command_line(*words: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    import os

    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-m", "plmetrics", "run", "nightly.yaml", *words]
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=environment)
    pointer = json.loads(Path("runs/nightly/latest.json").read_text())
    return done, json.loads((Path("runs/nightly") / pointer["folder"] / "run.json").read_text())


@pytest.mark.slow
def test_a_run_says_where_it_comes_from(folder: Path) -> None:
    git("init", "-q")
    git("add", "nightly.yaml")
    git("commit", "-qm", "x")
    labels = ("--label", "git=abc", "--label", "team=risk=eu")
    done, record = command_line(*labels, "--set", "data.path=canary-4711/*.parquet", "-q")
    assert done.returncode == 3
    assert record["git_commit"] == git("rev-parse", "HEAD")
    assert record["suite_file"] == str(folder.resolve() / "nightly.yaml")
    assert record["run_labels"] == {"git": "abc", "team": "risk=eu"}
    assert record["command"][1:4] == ["run", "nightly.yaml", "--label"]
    assert record["files"][0]["path"] == "day.parquet"
    assert record["files"][0]["folder"] == str(folder.resolve() / "canary-4711")
    assert "git: abc, team: risk=eu" in done.stdout
    assert record["host"]


def test_labels_are_in_no_fingerprint(folder: Path) -> None:
    first, second = plm.run("nightly.yaml", labels={"a": "b"}), plm.run("nightly.yaml")
    assert first.record["fingerprint"] == second.record["fingerprint"]
    with pytest.raises(plm.ConfigError, match="the name of a label"):
        plm.run("nightly.yaml", labels={"a b": "c"})
    words = ["run", "nightly.yaml", "--label", "nothing"]
    assert CliRunner().invoke(app, words).exit_code == 2


@pytest.mark.slow
def test_what_is_secret_is_not_recorded(folder: Path) -> None:
    words = ("--set", "output.directory=runs", "--label", "api_token=tok-4712", "--label", "at=canary-4711")
    _, record = command_line(*words)
    text = json.dumps({key: record[key] for key in ("command", "files", "suite_file", "suite")})
    assert "4711" not in text
    assert "4712" not in text
    assert record["files"][0]["folder"].endswith("${PLACE}")
    assert mask_argument("--password=x") == "--password=***"
    assert mask_argument("notify.webhook=http://x/y") == "notify.webhook=***"
    assert mask_argument("metrics=[roc_auc]") == "metrics=[roc_auc]"


def test_a_folder_in_no_repository(tmp_path: Path) -> None:
    assert git_commit(tmp_path) is None
    (tmp_path / ".git").mkdir()
    assert git_commit(tmp_path) is None


def test_a_folder_has_a_readme_and_no_empty_table(folder: Path) -> None:
    result = plm.run("nightly.yaml", labels={"git": "abc"})
    assert result.folder is not None
    assert sorted(path.name for path in result.folder.iterdir()) == [
        "README.md",
        "gates.parquet",
        "metrics.parquet",
        "run.json",
    ]
    text = (result.folder / "README.md").read_text()
    assert len(text.splitlines()) <= 14
    assert "Verdict **fail** (exit code 3)" in text
    assert "Failed gates: good \\| \\<b\\>enough\\</b\\> (1)" in text
    assert "git: abc" in text
    assert "metrics.parquet: a row per model" in text
    loaded = plm.load(result.folder)
    for name, schema in TABLES.items():
        assert loaded.tables[name].schema == result.tables[name].schema
        assert loaded.tables[name].is_empty() == (name not in {"gates", "metrics"})
        assert set(schema) <= set(loaded.tables[name].columns)
    assert not plm.diff(result.folder, result).changed


def test_a_readme_says_what_each_file_is_for() -> None:
    record = {
        "name": "nightly",
        "run_id": "1",
        "status": "ok",
        "verdict": "pass",
        "exit_code": 0,
        "finished": "now",
    }
    record["tables"] = dict.fromkeys(["drift_histograms", "labelling"])
    lines = readme_text(record, None, ["drift.state", "interval.state"]).splitlines()
    files = [line for line in lines if line.startswith("* ")]
    assert len(files) == 5
    assert all(": " in line and not line.endswith("a table") for line in files)


@pytest.mark.parametrize("status", ["complete", "failed"])
def test_a_readme_says_which_interval_a_run_is_of(status: str) -> None:
    interval = {"key": "2026-03-07", "start": "", "end": "", "timezone": "UTC"}
    record = {
        "name": "nightly",
        "run_id": "1",
        "status": status,
        "verdict": "pass",
        "exit_code": 4,
        "finished": "",
    }
    text = readme_text(record | {"interval": interval, "run_labels": {"git": "abc"}}, None)
    assert "\ninterval: 2026-03-07, git: abc\n" in text


def test_old_folders_with_empty_tables_are_read(folder: Path) -> None:
    """Versions before this one wrote every table."""
    result = plm.run("nightly.yaml")
    assert result.folder is not None
    record = json.loads((result.folder / "run.json").read_text())
    for name in ("comparisons", "curves"):
        file = result.folder / f"{name}.parquet"
        TABLES[name].to_frame().write_parquet(file)
        record["tables"][name] = {"rows": 0, "bytes": file.stat().st_size}
    (result.folder / "run.json").write_text(json.dumps(record))
    assert plm.load(result.folder).curves.is_empty()


def test_a_failed_run_has_a_readme(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLACE", "canary-4712")
    with pytest.raises(plm.AbsentDataError):
        plm.run("nightly.yaml")
    (run,) = Path("runs/nightly").glob("2*")
    assert sorted(path.name for path in run.iterdir()) == ["README.md", "run.json"]
    text = (run / "README.md").read_text()
    assert "The run failed (exit code 5)" in text
    assert "canary" not in text


def test_the_rows_of_a_ranking_are_those_of_its_table(tmp_path: Path) -> None:
    suite = Path(__file__).parents[2] / "configs" / "ranking.yaml"
    result = plm.run(suite, output=tmp_path)
    assert result.folder is not None
    assert ", 1,010 rows." in (result.folder / "README.md").read_text()
    assert rows_read(result.record) == 1010
