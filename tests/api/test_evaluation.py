"""A suite that asks for a report gets one beside its tables, and loses nothing where that fails."""

from pathlib import Path

import polars as pl
import pytest

import plmetrics as plm
from plmetrics.api import suite_run
from plmetrics.core.errors import EnvironmentFault
from plmetrics.report.charts.rendering import RENDERER
from plmetrics.report.html import rendering

SUITE = """\
name: nightly
data: {path: scores.parquet}
columns: {label: y}
models: {m: p}
metrics: [roc_auc]
output: {report: true}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.1, 0.7, 0.6, 0.4]}).write_parquet(tmp_path / "scores.parquet")
    path = tmp_path / "nightly.yaml"
    path.write_text(SUITE)
    return path


def test_a_report_stands_beside_the_tables(suite: Path) -> None:
    result = plm.run(suite)
    assert result.folder is not None
    assert "0.75" in (result.folder / "report.html").read_text("utf-8")
    assert plm.load(result.folder).metrics.equals(result.metrics)


def test_a_run_without_one_has_none(suite: Path) -> None:
    result = plm.run(suite, set={"output.report": False})
    assert result.folder is not None
    assert not (result.folder / "report.html").exists()


@pytest.mark.parametrize(("report", "first"), [(True, ["renderer", "rows"]), (False, ["rows"])])
def test_the_renderer_of_a_report_starts_before_rows_are_read(
    suite: Path, monkeypatch: pytest.MonkeyPatch, report: bool, first: list[str]
) -> None:
    calls: list[str] = []
    evaluate, start = suite_run.evaluate_suite, RENDERER.start
    monkeypatch.setattr(RENDERER, "start", lambda: (calls.append("renderer"), start()))
    monkeypatch.setattr(suite_run, "evaluate_suite", lambda *of: (calls.append("rows"), evaluate(*of))[1])
    plm.run(suite, set={"output.report": report})
    assert calls[: len(first)] == first
    assert ("renderer" in calls) is report


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (EnvironmentFault("the disk is full"), "the disk is full"),
        (ZeroDivisionError("x"), "a fault of plmetrics: ZeroDivisionError('x')"),
    ],
)
def test_a_report_that_cannot_be_written_is_a_warning(
    suite: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception, reason: str
) -> None:
    def refuse(*_: object) -> None:
        raise fault

    monkeypatch.setattr(rendering, "write_page", refuse)
    result = plm.run(suite)
    assert result.warnings == (f"report.html is not written: {reason}",)
    assert result.metrics["value"].to_list() == [0.75]
