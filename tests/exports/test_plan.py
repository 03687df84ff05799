"""A suite's exports from end to end: where they stand, and what becomes of those that cannot be written."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from exports.examples import SUITE, write_rows

import plmetrics as plm
from plmetrics.cli import app
from plmetrics.exports.plan import DOCUMENTS, TARGETS
from plmetrics.suite.sections.output import DocumentName, Output

NAMES = list(DOCUMENTS)
FILES = {document.file for document in DOCUMENTS.values()}


def command(*arguments: str | Path, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command in a folder, with variables of the environment, in this process."""
    line, out, err = ["plmetrics", *map(str, arguments)], StringIO(), StringIO()
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.chdir(folder)
        patch.setattr(sys, "argv", line)
        for name, value in variables.items():
            patch.setenv(name, value)
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        stopped = stack.enter_context(pytest.raises(SystemExit))
        app.main()
    return subprocess.CompletedProcess(line, int(stopped.value.code or 0), out.getvalue(), err.getvalue())


def test_the_suite_knows_every_export() -> None:
    assert list(get_args(DocumentName)) == NAMES
    assert set(TARGETS) == set(Output.model_fields) - {"directory", "report", "also"}


@pytest.mark.slow
def test_documents_stand_in_the_run_folder(suite_file: Callable[..., Path]) -> None:
    file = suite_file({"also": NAMES})
    result = plm.run(file)
    assert result.folder is not None
    assert {path.name for path in result.folder.iterdir()} >= FILES
    shown = command("report", result.folder, "--format", "markdown", folder=Path.cwd())
    assert (result.folder / "summary.md").read_text() == shown.stdout
    assert (
        f'plmetrics_run_duration_seconds{{suite="credit"}} {result.record["seconds"]!r}'
        in (  # type: ignore[typeddict-item]
            result.folder / "metrics.prom"
        ).read_text()
    )


def test_a_path_gets_a_copy(
    suite_file: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "elsewhere" / "textfile"
    monkeypatch.setenv("TEXTFILE", str(outside))
    folder = tmp_path / "job"
    folder.mkdir()
    file = suite_file({"also": [{"junit": "ci/gates.xml"}, {"openmetrics": "${TEXTFILE}/credit.prom"}]})
    file = file.rename(folder / file.name)
    (tmp_path / "s.parquet").rename(folder / "s.parquet")
    result = plm.run(file)
    assert result.folder is not None
    assert (folder / "ci" / "gates.xml").read_bytes() == (result.folder / "junit.xml").read_bytes()
    assert [path.name for path in outside.iterdir()] == ["credit.prom"]
    assert (outside / "credit.prom").read_bytes() == (result.folder / "metrics.prom").read_bytes()
    record = json.loads((result.folder / "run.json").read_text())
    assert record["suite"]["output"]["also"][1] == {"openmetrics": "${TEXTFILE}/credit.prom"}


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("output", "words"),
    [
        ({"also": [{"junit": "../gates.xml"}]}, "the path '../gates.xml' leads out of the suite's folder"),
        (
            {"also": [{"junit": "/tmp/gates.xml"}]},
            "the path '/tmp/gates.xml' leads out of the suite's folder",
        ),
        (
            {"also": [{"junit": "${UP}/gates.xml"}]},
            "the path '${UP}/gates.xml' leads out of the suite's folder",
        ),
        ({"delta": "../lake"}, "the path '../lake' leads out of the suite's folder"),
        ({"delta": "s3://bucket/lake"}, "this cannot be a path on a local disk"),
        ({"database": "sqlite:////tmp/x.db"}, "the path '/tmp/x.db' leads out of the suite's folder"),
        ({"database": "sqlite://"}, "the database must be a file"),
        ({"database": "metrics.db"}, "this is not the address of a database"),
        ({"database": "postgresql://me:pa/ss@host:54x/db"}, "this is not the address of a database"),
        ({"database": "oracle://host/db"}, "the database must be PostgreSQL, MariaDB, MySQL or SQLite"),
        (
            {"mlflow": {"experiment": "e", "uri": "../mlruns"}},
            "the path '../mlruns' leads out of the suite's folder",
        ),
    ],
)
def test_what_is_wrong_is_said_before_the_run(
    suite_file: Callable[..., Path], output: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UP", "../else")
    file = suite_file(output)
    line = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if next(iter(output)) in text)
    for call in (plm.run, plm.validate):
        with pytest.raises(plm.ConfigError) as raised:
            call(file)
        (problem,) = raised.value.problems
        assert problem.message == words
        assert problem.where is not None
        assert problem.where.line >= line
        assert "pa/ss" not in str(raised.value)


@pytest.mark.slow
def test_a_database_that_is_not_there_costs_no_result(
    suite_file: Callable[..., Path], tmp_path: Path
) -> None:
    file = suite_file({"database": "${METRICS_DB}", "also": [{"junit": "gates.xml"}]})
    address = "postgresql://me:s3cr3t-word@127.0.0.1:1/metrics?application_name=x"
    done = command("run", file, folder=tmp_path, METRICS_DB=address)
    assert done.returncode == 6
    assert "not in the database postgresql://***@127.0.0.1:1/metrics: connection failed" in done.stderr
    assert "(verdict fail)" in done.stderr
    assert "suite.yaml:" in done.stderr
    (folder,) = [path for path in (tmp_path / "runs" / "credit").iterdir() if path.is_dir()]
    assert str(folder.relative_to(tmp_path)) in done.stderr
    record = json.loads((folder / "run.json").read_text())
    assert (record["status"], record["exit_code"]) == ("complete", 3)
    assert record["suite"]["output"]["database"] == "${METRICS_DB}"
    assert (tmp_path / "gates.xml").is_file()
    texts = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not [text for text in texts if b"s3cr3t-word" in text]
    assert "s3cr3t-word" not in done.stdout + done.stderr
    debug = command("run", file, "--debug", folder=tmp_path, METRICS_DB=address)
    assert "s3cr3t-word" not in debug.stdout + debug.stderr


@pytest.mark.slow
def test_programs_are_told_where_the_results_are(suite_file: Callable[..., Path], tmp_path: Path) -> None:
    file = suite_file({"database": "postgresql://me:hidden-word@127.0.0.1:1/metrics"})
    done = command("run", file, "--format", "json", folder=tmp_path)
    outcome = json.loads(done.stdout)
    assert outcome["exit_code"] == done.returncode == 6
    assert outcome["problems"][0]["path"] == ["output", "database"]
    assert (Path(outcome["folder"]) / "metrics.parquet").is_file()
    assert "hidden-word" not in done.stdout + done.stderr
    assert "hidden-word" not in (Path(outcome["folder"]) / "run.json").read_text()


@pytest.mark.parametrize(
    ("output", "package", "module"),
    [
        ({"database": "sqlite:///a.db"}, "sqlalchemy", "plmetrics.exports.database"),
        ({"delta": "lake"}, "deltalake", "plmetrics.exports.delta_tables"),
    ],
)
def test_a_missing_extra_is_named_before_the_run(
    suite_file: Callable[..., Path],
    tmp_path: Path,
    output: dict[str, str],
    package: str,
    module: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = suite_file(output)
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(plm.EnvironmentFault, match=f"needs the extra '{next(iter(output))}'"):
        plm.run(file)
    (folder,) = [path for path in (tmp_path / "runs" / "credit").iterdir() if path.is_dir()]
    assert json.loads((folder / "run.json").read_text())["status"] == "failed"


def test_each_export_is_tried_and_all_faults_are_told(
    suite_file: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    file = suite_file({"also": [{"junit": "file/a.xml"}, {"openmetrics": "b.prom"}], "delta": "file/lake"})
    with pytest.raises(plm.EnvironmentFault) as raised:
        plm.run(file)
    messages = [problem.message for problem in raised.value.problems]
    assert len(messages) == 2
    assert "a.xml: it cannot be written:" in messages[0]
    assert "but not in the Delta tables in" in messages[1]
    assert (tmp_path / "b.prom").is_file()


def test_a_run_that_fails_has_its_documents(suite_file: Callable[..., Path], tmp_path: Path) -> None:
    file = suite_file({"also": [*NAMES, {"openmetrics": "credit.prom"}], "delta": "lake"})
    (tmp_path / "s.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(plm.DataError) as raised:
        plm.run(file)
    assert raised.value.exit_code == 4
    (folder,) = [path for path in (tmp_path / "runs" / "credit").iterdir() if path.is_dir()]
    assert {path.name for path in folder.iterdir()} == FILES | {"run.json", "README.md"}
    text = (tmp_path / "credit.prom").read_text()
    assert 'plmetrics_run_exit_code{suite="credit"} 4' in text
    assert text == (folder / "metrics.prom").read_text()
    assert '"eventType": "FAIL"' in (folder / "openlineage.ndjson").read_text()
    assert (folder / "summary.md").read_text().startswith("## ERROR credit\n")
    assert not (tmp_path / "lake").exists()


def test_documents_of_a_skipped_run_tell_of_no_error(suite_file: Callable[..., Path], tmp_path: Path) -> None:
    file = suite_file({"also": NAMES}, data={"path": "absent.parquet"})
    assert command("run", file, "--skip-if-empty", folder=tmp_path).returncode == 99
    (folder,) = [path for path in (tmp_path / "runs" / "credit").iterdir() if path.is_dir()]
    texts = {path.name: path.read_text() for path in folder.iterdir()}
    assert 'errors="0" skipped="1"' in texts["junit.xml"]
    assert '<skipped message="there is no data for what is asked: ' in texts["junit.xml"]
    assert 'plmetrics_run_verdict{suite="credit",verdict="skipped"} 1' in texts["metrics.prom"]
    assert 'plmetrics_run_verdict{suite="credit",verdict="error"} 0' in texts["metrics.prom"]
    assert texts["summary.md"].startswith("## SKIPPED credit\n")
    events = [json.loads(line) for line in texts["openlineage.ndjson"].splitlines()]
    assert [event["eventType"] for event in events] == ["START", "ABORT"]


@pytest.mark.slow
def test_a_run_loads_what_it_asks_for(suite_file: Callable[..., Path], tmp_path: Path) -> None:
    others = "('sqlalchemy', 'deltalake', 'mlflow')"
    script = f"""
import sys, plmetrics
plmetrics.run('suite.yaml')
print(*(name for name in sys.modules if name.startswith('plmetrics.exports') or name in {others}))
"""
    expected = {"{}": set(), "{also: openmetrics}": {"openmetrics", "plan", "protocol", "tidy"}}
    for output, modules in expected.items():
        file = suite_file(yaml.safe_load(output))
        done = subprocess.run(
            [sys.executable, "-c", script], check=False, cwd=file.parent, capture_output=True, text=True
        )
        loaded = {name.removeprefix("plmetrics.exports.") for name in done.stdout.split()}
        assert loaded - {"plmetrics.exports"} == modules, done.stderr


@pytest.mark.slow
def test_a_file_that_prometheus_reads_is_of_the_last_interval_also_after_a_backfill(tmp_path: Path) -> None:
    for day in (20, 21):
        (tmp_path / "scores" / f"day=2025-11-{day}").mkdir(parents=True)
        write_rows(tmp_path / "scores" / f"day=2025-11-{day}")
    output = {"also": [{"openmetrics": "credit.prom"}, {"markdown": "summary.md"}]}
    suite = SUITE | {"data": {"path": "scores"}, "interval": {"partition": "day"}, "output": output}
    file, document = tmp_path / "suite.yaml", tmp_path / "credit.prom"
    file.write_text(yaml.safe_dump(suite))
    runs = []
    for day in (20, 21, 21):
        folder = plm.run(file, interval=f"2025-11-{day}", force=True).folder
        assert folder is not None
        assert document.read_bytes() == (folder / "metrics.prom").read_bytes()
        runs.append(folder.name)
    earlier = plm.run(file, interval="2025-11-20", force=True)
    (tmp_path / "scores" / "day=2025-11-20" / "s.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(plm.DataError):
        plm.run(file, interval="2025-11-20")
    assert 'plmetrics_interval_start_seconds{suite="credit"} 1763683200.0' in document.read_text()
    assert (tmp_path / "summary.md").read_text().startswith("## ERROR credit 2025-11-20")
    assert earlier.folder is not None
    assert (earlier.folder / "metrics.prom").is_file()
    with pytest.raises(plm.AbsentDataError):
        plm.run(file, interval="2025-11-22")
    assert 'plmetrics_run_exit_code{suite="credit"} 5' in document.read_text()


@pytest.mark.slow
def test_an_interval_that_is_there_is_delivered_where_it_was_not(tmp_path: Path) -> None:
    for day in (20, 21):
        (tmp_path / "scores" / f"day=2026-11-{day}").mkdir(parents=True)
        write_rows(tmp_path / "scores" / f"day=2026-11-{day}")
    output = {"database": "${METRICS_DB}", "also": [{"openmetrics": "credit.prom"}, "openlineage"]}
    suite = SUITE | {"data": {"path": "scores"}, "interval": {"partition": "day"}, "output": output}
    (tmp_path / "suite.yaml").write_text(yaml.safe_dump(suite))
    night = ("run", "suite.yaml", "--interval", "2026-11-20")
    away = command(*night, folder=tmp_path, METRICS_DB="postgresql://me@127.0.0.1:1/metrics")
    assert away.returncode == 6
    again = command(*night, folder=tmp_path, METRICS_DB="sqlite:///results.db")
    assert again.returncode == 3, again.stderr
    runs = [path for path in (tmp_path / "runs" / "credit").iterdir() if path.name.startswith("2")]
    assert len(runs) == 1
    span = ("backfill", "suite.yaml", "--from", "2026-11-20", "--to", "2026-11-22", "--force")
    assert command(*span, folder=tmp_path, METRICS_DB="sqlite:///results.db").returncode == 3
    with closing(sqlite3.connect(tmp_path / "results.db")) as connection:
        stored = connection.execute(
            "select run_key, interval_start, run_id from plmetrics_runs order by 1"
        ).fetchall()
    assert [row[:2] for row in stored] == [
        (f"2026-11-{day}T00:00:00Z/2026-11-{day + 1}T00:00:00Z", f"2026-11-{day} 00:00:00.000000")
        for day in (20, 21)
    ]
    assert runs[0].name not in [row[2] for row in stored]
    assert "plmetrics_interval_start_seconds" in (tmp_path / "credit.prom").read_text()
    (manifest,) = (tmp_path / "runs" / "credit" / "intervals" / "2026-11-21").glob("*.json")
    assert f"{stored[1][2]}/metrics.prom" in json.loads(manifest.read_text())["files"]
