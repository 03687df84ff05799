"""What README and documentation show is so: their suites run, their Python runs, their commands run."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import yaml
from architecture.pages import NIGHT, PAGES, ROOT, Block, blocks, make_folder, make_tables, runnable
from typer.testing import CliRunner

import plmetrics as plm
from plmetrics.cli.app import app
from plmetrics.report.summary import summarise
from plmetrics.report.terminal import render

_NO_ERROR = "ignore::plmetrics.core.errors.PlmetricsWarning"
_SCRIPTS = """
import json, os, sys
for folder, name, text in json.load(sys.stdin):
    os.chdir(folder)
    exec(compile(text, name, "exec"), {"__name__": "snippets"})
"""
COMMAND = re.compile(r"^((?:\w+=\S+ )*)plmetrics (.*)$", re.MULTILINE)
WITH_COMMANDS = [
    page for page in PAGES if any(COMMAND.search(block.text) for block in blocks("sh", page=page))
]


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder in which the snippets of a page run."""
    tables = tmp_path_factory.mktemp("tables")
    make_tables(tables)

    @cache
    def made(page: str) -> Path:
        folder = tables.parent / page.replace("/", "-")
        make_folder(folder, tables, page)
        return folder

    return made


def run_suite(block: Block, folder: Path, monkeypatch: pytest.MonkeyPatch) -> plm.Result:
    """The result of a suite on a page, run in the page's folder."""
    monkeypatch.setenv("TABLE", "days")
    monkeypatch.setenv("NIGHT", "february")
    monkeypatch.setenv("TEXTFILE", str(folder / "textfile"))
    monkeypatch.setenv("METRICS_DB", "sqlite:///results.db")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", str(folder / "mlruns"))
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    suite = runnable(block, folder)
    asked = yaml.safe_load(block.text)
    fewer = {"uncertainty.replicates": 20} if isinstance(asked.get("uncertainty"), dict) else {}
    night = NIGHT if "interval" in asked else None
    return plm.run(suite, output=folder / "runs", set=fewer, interval=night)


@pytest.mark.exhaustive
@pytest.mark.parametrize("block", blocks("yaml"), ids=str)
def test_suites_run(block: Block, folder_of: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = yaml.safe_load(block.text)
    result = run_suite(block, folder_of(block.page), monkeypatch)
    assert result.metrics["status"].eq("ok").any()
    assert result.gates.height >= len(asked.get("gates", ()))
    for curve in asked.get("curves", ()):
        name = curve if isinstance(curve, str) else curve["curve"]
        assert result.curves.filter(curve=name).height


@pytest.mark.parametrize("report", blocks("text"), ids=str)
def test_a_report_is_that_of_the_suite_above_it(report: Block, folder_of: Callable[[str], Path]) -> None:
    suite = [block for block in blocks("yaml", page=report.page) if block.line < report.line][-1]
    folder = folder_of(report.page)
    result = plm.run(runnable(suite, folder), output=folder / "runs")
    assert render(summarise(result, None), 100) == report.text
    assert report.text.lower().startswith(result.verdict)


@pytest.mark.slow
def test_python_runs(folder_of: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    for block in blocks("yaml", page="docs/exports.md"):
        if "delta:" in block.text:  # Python reads what it writes
            run_suite(block, folder_of(block.page), monkeypatch)
    scripts = []
    for page in dict.fromkeys(block.page for block in blocks("python")):
        script = ""
        for block in blocks("python", page=page):
            script += "\n" * (block.line - script.count("\n")) + block.text
        scripts.append((str(folder_of(page)), page, script))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", _NO_ERROR, "-c", _SCRIPTS],
        input=json.dumps(scripts),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.exhaustive
@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_commands_run(page: str, folder_of: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder_of(page))
    for block in blocks("sh", page=page):
        for variables, command in COMMAND.findall(block.text):
            for variable in variables.split():
                monkeypatch.setenv(*variable.split("="))
            outcome = CliRunner().invoke(app, shlex.split(command, comments=True))
            assert outcome.exit_code == 0, (command, outcome.output)


def test_many_commands_are_shown() -> None:
    assert sum(len(COMMAND.findall(block.text)) for block in blocks("sh")) > 15
