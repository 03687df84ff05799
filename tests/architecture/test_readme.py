"""The README says what is so: its suites run, its Python runs, its commands exist, its tables are current."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
import yaml
from typer.testing import CliRunner

import plmetrics as plm
from plmetrics.catalogue import registry
from plmetrics.catalogue.custom import AGGREGATES
from plmetrics.cli.app import app
from plmetrics.core.results import TABLES
from plmetrics.core.rowsql.functions import FUNCTION_NAMES
from plmetrics.report.catalogue import markdown_text, undefined_statuses
from plmetrics.report.summary import summarise
from plmetrics.report.terminal import render
from plmetrics.suite.gates import Gate
from plmetrics.suite.problems import SUITE_KEYS
from plmetrics.suite.sections import Compare, Curve, SliceSet, Uncertainty
from plmetrics.suite.tasks import CurveName
from plmetrics.table.source import ENDINGS

_NO_ERROR = "ignore::plmetrics.core.errors.PlmetricsWarning"
ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
BEGIN, END = "<!-- metrics:begin -->\n", "<!-- metrics:end -->\n"
UPDATE = "PLMETRICS_UPDATE"
BASE: dict[str, Any] = {
    "name": "snippet",
    "data": {"path": "scores/*.parquet"},
    "columns": {"label": "defaulted"},
    "models": {"champion": "score_v1", "challenger": "score_v2"},
    "metrics": ["roc_auc"],
}
REGRESSION = {"columns": {"label": "balance"}, "models": {"champion": "forecast"}, "metrics": ["mae"]}


@dataclass(frozen=True)
class Block:
    """A fenced block of the README."""

    language: str
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """The file that the block's first line says it is."""
        found = re.match(r"# (\S+\.ya?ml)\b", self.text)
        return found[1] if found else None


def blocks(*languages: str) -> list[Block]:
    found = re.finditer(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    every = [Block(match[1], match[2], TEXT.count("\n", 0, match.start()) + 1) for match in found]
    return [block for block in every if block.language in languages]


def named(block: Block) -> str:
    return f"line-{block.line}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the README's snippets read."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "data").symlink_to(ROOT / "configs" / "data", target_is_directory=True)
    (folder / "scores").mkdir()
    table = prediction_table(600)
    for index, month in enumerate(("january", "february")):
        table[index * 300 : index * 300 + 300].write_parquet(folder / "scores" / f"{month}.parquet")
    for (day,), part in table.partition_by("day", as_dict=True, include_key=False).items():
        (folder / "days" / f"day={day}").mkdir(parents=True)
        part.write_parquet(folder / "days" / f"day={day}" / "part-0.parquet")
    applications = table.select("defaulted", "score_v1", "score_v2", "split", "region", "age").with_row_index(
        "application_id"
    )
    applications.with_columns(scored_on=pl.date(2026, 3, 1)).write_parquet(folder / "applications.parquet")
    earlier = pl.DataFrame({"application_id": range(595, 700), "scored_on": [date(2026, 2, 1)] * 105})
    earlier.write_parquet(folder / "training.parquet")
    for block in blocks("yaml"):
        if block.file is not None:
            (folder / block.file).write_text(block.text, encoding="utf-8")
    (folder / "suite.yaml").write_text(full_suite(), encoding="utf-8")
    before = ["--set", "data.path=scores/january.parquet", "--output", str(folder / "january.state")]
    CliRunner().invoke(app, ["state", str(folder / "nightly.yaml"), *before], catch_exceptions=False)
    return folder


def full_suite() -> str:
    return next(block.text for block in blocks("yaml") if "name: credit-risk" in block.text)


def prediction_table(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    chance = rng.random(rows)
    return pl.DataFrame(
        {
            "customer_id": rng.integers(0, rows // 3, rows),
            "defaulted": (rng.random(rows) < chance).astype(int),
            "score_v1": chance,
            "score_v2": np.clip(chance + rng.normal(0, 0.1, rows), 0, 1),
            "decision": (chance > 0.6).astype(int),
            "forecast": rng.normal(50_000, 20_000, rows),
            "exposure": rng.integers(1, 4, rows).astype(float),
            "balance": rng.integers(1, 200_000, rows),
            "age": rng.integers(18, 80, rows),
            "region": rng.choice(["north", "south", "east"], rows),
            "country": rng.choice(["de", "fr", "es", "it", "pl"], rows),
            "device": rng.choice(["web", "phone"], rows),
            "channel": rng.choice(["live", "test"], rows, p=[0.9, 0.1]),
            "split": rng.choice(["valid", "test"], rows),
            "segments": [["vip"] * (i % 3 == 0) + ["new"] * (i % 2) for i in range(rows)],
            "day": [date(2026, 1 + i % 3, 1 + i % 2) for i in range(rows)],
        }
    )


def runnable(block: Block, folder: Path) -> Path:
    """The block as a suite in a file: what it leaves out is taken from a small one."""
    given = yaml.safe_load(block.text)
    base = BASE | REGRESSION if given.get("task") == "regression" else BASE
    rest = {key: value for key, value in base.items() if key not in given and "defaults" not in given}
    file = folder / f"snippet-{block.line}.yaml"
    file.write_text(block.text + yaml.safe_dump(rest) * bool(rest), encoding="utf-8")
    return file


def test_ci_runs_the_test_command_of_the_readme() -> None:
    commands = [line for line in TEXT.splitlines() if line.startswith("python3 -m venv")]
    assert len(commands) == 2
    assert commands[1] in (ROOT / ".ci" / "run").read_text().splitlines()


def test_the_table_of_metrics_is_current() -> None:
    ours = [metric for metric in registry.classes() if metric.__module__.startswith("plmetrics.")]
    before, _, rest = TEXT.partition(BEGIN)
    table, _, after = rest.partition(END)
    current = f"\n{markdown_text(ours)}\n"
    if os.environ.get(UPDATE):
        README.write_text(before + BEGIN + current + END + after, encoding="utf-8")
        return
    assert table == current, f"run {UPDATE}=1 python -m pytest {Path(__file__).relative_to(ROOT)}"


@pytest.mark.parametrize("block", blocks("yaml"), ids=named)
def test_suites_run(block: Block, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TABLE", "days")
    suite = runnable(block, folder)
    asked = yaml.safe_load(block.text)
    fewer = {"uncertainty.replicates": 20} if isinstance(asked.get("uncertainty"), dict) else {}
    result = plm.run(suite, output=folder / "runs", set=fewer)
    assert result.metrics["status"].eq("ok").any()
    assert result.gates.height >= len(asked.get("gates", ()))
    for curve in asked.get("curves", ()):
        name = curve if isinstance(curve, str) else curve["curve"]
        assert result.curves.filter(curve=name).height


def test_the_report_is_that_of_the_suite_above_it(folder: Path) -> None:
    (report,) = blocks("text")
    suite = [block for block in blocks("yaml") if block.line < report.line][-1]
    result = plm.run(runnable(suite, folder), output=folder / "runs")
    assert render(summarise(result, None), 100) == report.text
    assert result.verdict == "fail"


def test_python_runs(folder: Path) -> None:
    script = "\n\n".join(f"# README.md:{block.line}\n{block.text}" for block in blocks("python"))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", _NO_ERROR, "-c", script],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_commands_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    lines = [line for block in blocks("sh") for line in block.text.splitlines()]
    commands = [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("plmetrics ")]
    assert len(commands) > 5
    for command in commands:
        outcome = CliRunner().invoke(app, command)
        assert outcome.exit_code == 0, (command, outcome.output)


@pytest.mark.parametrize(
    "command", [info.callback.__name__ for info in app.registered_commands if info.callback]
)
def test_every_command_is_explained(command: str) -> None:
    assert f"`{command}`" in TEXT
    assert re.search(rf"^plmetrics {command}\b", TEXT, re.MULTILINE)


def test_the_contents_name_every_chapter() -> None:
    prose = re.sub(r"^```.*?^```$", "", TEXT, flags=re.MULTILINE | re.DOTALL)
    chapters = [chapter for chapter in re.findall(r"^## (.+)$", prose, re.MULTILINE) if chapter != "Start"]
    contents = TEXT[TEXT.index("**Contents**") : TEXT.index("## The whole way")]
    assert re.findall(r"\[(.+?)\]\(#", contents) == chapters


def test_the_keywords_of_evaluate_are_listed() -> None:
    listed = TEXT[TEXT.index("The keyword arguments are the keys of the suite") :].split("\n\n")[0]
    signature = inspect.signature(plm.evaluate)
    assert re.findall(r"`(\w+)`", listed) == [name for name in signature.parameters if name != "data"]


def test_links_lead_somewhere() -> None:
    anchors = {
        re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
        for title in re.findall(r"^#+ (.*)", TEXT, re.M)
    }
    for link in re.findall(r"\]\(([^)]+)\)", TEXT):
        assert link[1:] in anchors if link.startswith("#") else (ROOT / link).exists(), link


@pytest.mark.parametrize(
    "name",
    [
        *(column for schema in TABLES.values() for column in schema),
        "defaults",
        *(key for key in SUITE_KEYS if key not in {"data", "columns", "output"}),
        *(f"uncertainty.{key}" for key in Uncertainty.model_fields),
        *(f"compare.{key}" for key in Compare.model_fields),
        *Gate.model_fields,
        *Curve.model_fields,
        *get_args(CurveName),
        *(name.upper() for name in FUNCTION_NAMES),
        *(ending for ending in ENDINGS if not ending.endswith((".gz", ".zst"))),
    ],
)
def test_every_word_is_explained(name: str) -> None:
    assert f"`{name}`" in TEXT


@pytest.mark.parametrize("key", ["column", *SliceSet.model_fields])
def test_every_key_of_a_slice_set_is_shown(key: str) -> None:
    shown = TEXT.partition("\n## Slices\n")[2].partition("\n## ")[0]
    assert f"{{{key}: " in shown or f", {key}: " in shown


@pytest.mark.parametrize("kind", [*AGGREGATES, "quantile", "formula", "over"])
def test_every_kind_of_custom_metric_is_explained(kind: str) -> None:
    assert f"`{kind}: " in TEXT


@pytest.mark.parametrize(
    "status", sorted({word for cls in registry.classes() for word in undefined_statuses(cls)})
)
def test_every_status_is_explained(status: str) -> None:
    explained = TEXT.partition("Why there is no value")[2]
    assert f"`{status}`" in explained


@pytest.mark.parametrize("task", registry.tasks())
def test_default_metrics_are_those_of_the_task(task: str) -> None:
    listed = ", ".join(f"`{metric.text}`" for metric in registry.default_metrics(task))
    assert f"for `{task}` {listed}" in " ".join(TEXT.split())
