"""Runs come back from their folders as the results that were written, those of earlier layouts as well."""

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import plmetrics as plm
from plmetrics.core.results import TABLES

SUITE = """
name: nightly
data: {path: day.parquet}
columns: {label: y}
models: {old: p, new: q}
metrics: [roc_auc, {mean: "score * 2", name: twice}, "recall(threshold=0.3)"]
slices: {g: g}
compare: old
uncertainty: {replicates: 20, keep: true}
gates: [{metric: roc_auc, at_least: 0.2}]
"""
ALWAYS = ("metrics", "comparisons", "gates", "curves")


def day(seed: int = 0) -> pl.DataFrame:
    row = pl.int_range(200, eager=True)
    return pl.DataFrame(
        {"y": row % 2, "p": row.hash(seed) % 97 / 97, "q": row.hash(seed + 1) % 89 / 89}
    ).with_columns(g=pl.when(row % 3 == 0).then(pl.lit("a")).otherwise(pl.lit("b|c")))


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    day().write_parquet(tmp_path / "day.parquet")
    file = tmp_path / "nightly.yaml"
    file.write_text(SUITE)
    return file


def same(first: plm.Result, second: plm.Result) -> None:
    for name, frame in first.tables.items():
        assert_frame_equal(second.tables[name], frame)


def test_the_folder_the_record_and_the_folder_of_the_suite(suite: Path) -> None:
    plm.run(suite)
    result = plm.run(suite)
    assert result.folder is not None
    for place in (result.folder, result.folder / "run.json", result.folder.parent, str(result.folder)):
        loaded = plm.load(place)
        same(result, loaded)
        assert loaded.folder == result.folder
    assert loaded.replicates is not None
    assert result.replicates is not None
    for name, frame in result.replicates.tables.items():
        assert_frame_equal(loaded.replicates.tables[name], frame)


def test_the_former_name_of_replicates_warns(suite: Path) -> None:
    result = plm.run(suite)
    with pytest.warns(DeprecationWarning, match=r"read Result\.replicates"):
        assert result.kept is result.replicates


def test_a_result_that_was_loaded_serves_as_a_reference(suite: Path) -> None:
    before = plm.run(suite)
    assert before.folder is not None
    asked = {"label": "y", "models": {"old": "p"}, "metrics": ["roc_auc"], "uncertainty": {"replicates": 20}}
    of_folder, of_result = (
        plm.evaluate(day(7), **asked, compare={"run": run}).comparisons
        for run in (str(before.folder), plm.load(before.folder))
    )
    assert of_folder["status"][0] == "ok"
    assert_frame_equal(of_folder, of_result)


def test_counts_of_drift_come_back(suite: Path) -> None:
    asked = {"drift.columns": ["p"], "drift.run": "runs/nightly"}
    result = plm.run(suite, set=asked)
    assert result.folder is not None
    assert result.drift_state is not None
    loaded = plm.load(result.folder)
    assert loaded.drift_state is not None
    assert loaded.drift_state.content == result.drift_state.content
    moved = [
        plm.evaluate(day(3), label="y", models={"old": "p"}, drift={"run": run, "columns": ["p"]}).drift
        for run in (result, loaded)
    ]
    assert moved[0].height > 0
    assert_frame_equal(*moved)


def earlier_layout(folder: Path) -> None:
    """What the first version wrote: four tables without hashes, with fewer columns, in another order."""
    record = json.loads((folder / "run.json").read_text())
    record["tables"] = {}
    for file in folder.glob("*.parquet"):
        if file.stem not in ALWAYS:
            file.unlink()
    for name in ALWAYS:
        file = folder / f"{name}.parquet"
        frame = pl.read_parquet(file) if file.is_file() else TABLES[name].to_frame()
        frame = frame.select(sorted(set(frame.columns) - {"reading", "statistic", "method"}))
        frame.write_parquet(folder / f"{name}.parquet")
        record["tables"][name] = {"rows": frame.height, "bytes": (folder / f"{name}.parquet").stat().st_size}
    (folder / "run.json").write_text(json.dumps(record))


def test_folders_of_earlier_layouts_are_read(suite: Path) -> None:
    result = plm.run(suite)
    assert result.folder is not None
    earlier_layout(result.folder)
    with pytest.warns(plm.PlmetricsWarning, match="the table metrics has no method"):
        loaded = plm.load(result.folder)
    for name in ALWAYS:
        shared = [
            column
            for column in result.tables[name].columns
            if column not in {"reading", "statistic", "method"}
        ]
        assert loaded.tables[name].columns == result.tables[name].columns
        assert_frame_equal(loaded.tables[name].select(shared), result.tables[name].select(shared))
    assert loaded.drift.columns == result.drift.columns
    assert "roc_auc" in repr(loaded)


def test_a_suite_that_is_refused_today_is_read_as_far_as_reports_need_it(suite: Path) -> None:
    result = plm.run(suite)
    assert result.folder is not None
    record = json.loads((result.folder / "run.json").read_text())
    record["suite"]["metrics"].append("gone_metric")
    record["suite"]["unknown_key"] = 3
    (result.folder / "run.json").write_text(json.dumps(record))
    loaded = plm.load(result.folder)
    assert [metric.text for metric in loaded.suite.metrics] == ["roc_auc", "recall(threshold=0.3)"]
    same(result, loaded)
    assert "PASS  nightly" in repr(loaded)


def test_the_last_complete_run_where_the_latest_failed(suite: Path) -> None:
    result = plm.run(suite)
    assert result.folder is not None
    (suite.parent / "day.parquet").unlink()
    with pytest.raises(plm.DataError):
        plm.run(suite)
    with pytest.warns(plm.PlmetricsWarning, match="failed with exit code 5: these are the results of"):
        loaded = plm.load(result.folder.parent)
    assert loaded.folder == result.folder
    same(result, loaded)
    (failed,) = [
        folder for folder in result.folder.parent.iterdir() if folder.is_dir() and folder != result.folder
    ]
    with pytest.raises(plm.DataError, match="has no results: the run failed with exit code 5"):
        plm.load(failed)
    shutil.rmtree(result.folder)
    with pytest.raises(plm.DataError, match="has no results: the run failed with exit code 5"):
        plm.load(failed.parent)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (plm.load, "path"),
        (plm.run, "path"),
        (lambda value: plm.run("nightly.yaml", output=value), "output"),
        (plm.validate, "path"),
        (plm.history, "folder"),
        (lambda value: plm.diff(value, "runs"), "before"),
        (lambda value: plm.diff(plm.evaluate(day(), label="y", models="p"), value), "after"),
        (lambda value: plm.evaluate(day(), label="y", models="p").report(value), "path"),
        (lambda value: plm.metric("recall").expr(label=value, score="p"), "label"),
        (lambda value: plm.metric("recall").expr("y", pl.col("p"), weight=value), "weight"),
    ],
)
def test_an_argument_that_is_no_path_or_column_is_named(
    call: Callable[[object], object], argument: str
) -> None:
    with pytest.raises(plm.ConfigError, match=rf"^{argument}: this must be .*not a value of type DataFrame$"):
        call(day())


def test_what_is_no_run_is_refused_in_words(suite: Path, tmp_path: Path) -> None:
    result = plm.run(suite)
    assert result.folder is not None
    with pytest.raises(plm.DataError, match="no such folder"):
        plm.load(tmp_path / "nowhere")
    with pytest.raises(plm.DataError, match="is a file, not a run folder"):
        plm.load(suite)
    with pytest.raises(plm.DataError, match=r"is not a run folder: it has no run\.json"):
        plm.load(tmp_path)
    with pytest.raises(plm.DataError, match="it holds runs of suites: name"):
        plm.load(result.folder.parent.parent)
    table = result.folder / "gates.parquet"
    content = bytearray(table.read_bytes())
    content[len(content) // 2] ^= 1
    table.write_bytes(content)
    with pytest.raises(plm.DataError, match="damaged"):
        plm.load(result.folder)


def test_loading_a_usual_run_warns_of_nothing(suite: Path) -> None:
    result = plm.run(suite)
    assert result.folder is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plm.load(result.folder)
