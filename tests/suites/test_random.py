"""Suites and tables built at random: validate, explain and run agree, and results keep their promises."""

import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from hypothesis import given, settings
from suites.drawn import suites
from suites.sections import with_sections

from plmetrics.core.results import TABLES
from plmetrics.runs.reading import StoredRun, open_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("random")


def plmetrics(*words: str) -> tuple[int, str, str]:
    """The command line in this process, with what it prints."""
    import contextlib
    import io
    import sys
    from unittest import mock

    from plmetrics.cli.app import main

    out, errors = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["plmetrics", *words]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(errors),
        pytest.raises(SystemExit) as stopped,
    ):
        main()
    return int(stopped.value.code or 0), out.getvalue(), errors.getvalue()


@pytest.mark.slow
@given(made=suites())
def test_validate_explain_and_run_agree(made: tuple[dict[str, Any], pl.DataFrame], folder: Path) -> None:
    suite, table = made
    table.write_parquet(folder / "table.parquet")
    file = folder / "suite.yaml"
    file.write_text(yaml.safe_dump(suite, sort_keys=False))
    code, _, errors = plmetrics("validate", str(file))
    assert code == 0, errors
    assert all(line.startswith("warning: ") for line in errors.splitlines()), errors
    code, told, errors = plmetrics("explain", str(file))
    assert code == 0, errors
    assert "Traceback" not in told + errors
    code, out, errors = plmetrics("run", str(file), "--format", "json")
    assert code in {0, 3}, errors
    assert "Traceback" not in errors
    keeps_its_promises(suite, json.loads(out), folder)


@pytest.mark.slow
@settings(max_examples=max(4, settings.default.max_examples // 3))
@given(made=with_sections())
def test_every_section_keeps_its_promises(made: tuple[dict[str, Any], pl.DataFrame], folder: Path) -> None:
    suite, table = made
    table.write_parquet(folder / "table.parquet")
    file = folder / "sections.yaml"
    file.write_text(yaml.safe_dump(suite, sort_keys=False))
    code, _, errors = plmetrics("validate", str(file))
    assert code == 0, errors
    explained, _, _ = plmetrics("explain", str(file))
    code, out, errors = plmetrics("run", str(file), "--format", "json")
    assert explained in ({0, 4} if code == 4 else {0}), errors
    if code == 4:
        assert "drift" in suite
        assert "reference has no rows" in errors or "nothing is left to compare" in errors, errors
        return
    assert code in {0, 3}, errors
    run = open_run(Path(json.loads(out)["folder"]))
    tables = tables_of(run)
    for name, frame in tables.items():
        consistent(name, frame)
    gates = tables["gates"]
    assert set(gates["verdict"]) <= {"pass", "fail", "inconclusive", "skipped"}
    listed = set(gates["gate"].str.split(" [").list.first())
    assert {gate["name"] for gate in suite.get("gates", ()) if "name" in gate} <= listed
    code, _, errors = plmetrics("report", str(run.folder))
    assert code == 0, errors


def tables_of(run: StoredRun) -> dict[str, pl.DataFrame]:
    """The tables of a run, which writes none without a row."""
    written = {name: run.table(name) for name in TABLES if name in run.record["tables"]}
    assert all(frame.height and frame.schema == TABLES[name] for name, frame in written.items())
    return {name: written.get(name, schema.to_frame()) for name, schema in TABLES.items()}


VALUES = {"metrics": "value", "comparisons": "difference", "folds": "value", "decomposition": "value"}
"""What is null exactly where `status` is not ok."""


def consistent(name: str, frame: pl.DataFrame) -> None:
    """Whether numbers are finite, and statuses say what is there."""
    for column in frame.select(pl.selectors.float()):
        assert name == "curves" or column.drop_nulls().is_finite().all(), (name, column.name)
    if name in VALUES:
        wrong = frame.filter(pl.col(VALUES[name]).is_null() == (pl.col("status") == "ok"))
        assert wrong.is_empty(), (name, wrong.rows(named=True)[:1])
    if "interval_status" in frame.columns:
        ends_missing = pl.col("lower").is_null() | pl.col("upper").is_null()
        wrong = frame.filter(
            (ends_missing == (pl.col("interval_status") == "ok")) | (pl.col("lower") > pl.col("upper"))
        )
        assert wrong.is_empty(), (name, wrong.rows(named=True)[:1])
    if "p_adjusted" in frame.columns:
        wrong = frame.filter(~pl.col("p_value").is_between(0, 1) | (pl.col("p_adjusted") > 1))
        wrong = pl.concat([wrong, frame.filter(pl.col("p_adjusted") < pl.col("p_value") - 1e-12)])
        assert wrong.is_empty(), (name, wrong.rows(named=True)[:1])


def keeps_its_promises(suite: dict[str, Any], out: dict[str, Any], folder: Path) -> None:
    run = open_run(Path(out["folder"]))
    tables = tables_of(run)
    metrics = tables["metrics"]
    overall = metrics.filter(slice_set="overall")
    per_model = overall.group_by("model").len()["len"].unique()
    assert len(per_model) == 1
    assert set(metrics["model"]) == {"one", "two"}
    for row in metrics.iter_rows(named=True):
        assert (row["value"] is None) == (row["status"] != "ok"), row
        assert (row["lower"] is None) == (row["upper"] is None) == (row["interval_status"] != "ok"), row
        numbers = [
            row[key] for key in ("value", "lower", "upper", "std_error", "weight") if row[key] is not None
        ]
        assert all(map(math.isfinite, numbers)), row
        if row["lower"] is not None:
            assert row["lower"] <= row["upper"], row
    for row in tables["comparisons"].iter_rows(named=True):
        assert (row["difference"] is None) == (row["status"] != "ok"), row
        if row["p_adjusted"] is not None:
            assert 0 <= row["p_value"] <= row["p_adjusted"] <= 1, row
    assert tables["comparisons"].is_empty() == ("compare" not in suite)
    gates = tables["gates"]
    assert gates.is_empty() == (not suite.get("gates"))
    undefined = gates.filter(pl.col("observed").is_null())
    assert not undefined["verdict"].is_in(["pass", "fail"]).any()
