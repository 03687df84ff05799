"""Metrics of other packages: found by their entry point, in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

ROOT = Path(__file__).parents[2]
GOOD = """
import plmetrics as plm


class WorkedHours(plm.Metric):
    name, task, family = "worked_hours", "binary", "sums"
    range, direction = (0.0, float("inf")), "none"

    def columns(self):
        return ("hours",)

    def atoms(self):
        return {"hours": plm.Atom("hours", lambda rows: rows.column("hours"))}

    def finalise(self, state):
        return state.hours / state.weight
"""


def package(folder, code, value="hours_metrics:WorkedHours"):
    (folder / "hours_metrics.py").write_text(code)
    info = folder / "hours_metrics-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hours-metrics\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[plmetrics.metrics]\nhours = {value}\n")


def plmetrics(folder, *words):
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"}
    command = [sys.executable, "-m", "plmetrics", *words]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def suite(tmp_path):
    pl.DataFrame({"y": [0, 1], "p": [0.2, 0.7], "hours": [10.0, 20.0]}).write_parquet(
        tmp_path / "scores.parquet"
    )
    text = "data: {path: scores.parquet}\ncolumns: {label: y}\nmodels: {a: p}\nmetrics: [worked_hours]\n"
    (tmp_path / "suite.yaml").write_text(text)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "value", "words"),
    [
        (GOOD, "hours_metrics:WorkedHours", ["metrics"]),
        (GOOD.replace("class", "@plm.register\nclass"), "hours_metrics", ["run", "suite.yaml"]),
        (GOOD.replace("class", "@plm.register\nclass"), "hours_metrics:WorkedHours", ["run", "suite.yaml"]),
    ],
    ids=["a class", "a module that registers", "a class that is registered"],
)
def test_a_package_announces_a_metric(suite, code, value, words):
    package(suite, code, value)
    done = plmetrics(suite, *words, "--format", "json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    if words == ["metrics"]:
        assert "worked_hours" in [metric["name"] for metric in told]
    else:
        assert [row["value"] for row in told["metrics"]] == [15.0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import nowhere_to_be_found\n", "nowhere_to_be_found"),
        (GOOD.replace("sums", "totals"), "family of the metric class WorkedHours"),
    ],
)
def test_a_package_that_cannot_be_loaded_is_named(suite, code, words):
    package(suite, code)
    done = plmetrics(suite, "run", "suite.yaml")
    assert done.returncode == 6
    assert "'hours-metrics'" in done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
