"""Runs of treatment effects: columns that are read, constants, and rows that are left out."""

from pathlib import Path

import polars as pl
import pytest

import plmetrics as plm
from plmetrics.api.inspection import bound_suite
from plmetrics.features.explain.explanation import explain

SUITE = """
name: effects
task: uplift
data: {path: table.csv}
columns: {label: y, treatment: t}
models: {a: p, b: q}
metrics: [ate, ate_ipw(propensity=e), qini]
curves: [qini]
output: {directory: runs}
"""


def table() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "y": [3, 1, 0, 2, 5, 1],
            "t": [1, 0, 1, 0, 1, 0],
            "p": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
            "q": [0.5, None, 0.3, 0.4, 0.2, 0.1],
            "e": [0.5, 0.5, 0.4, 0.4, 0.6, 0.6],
            "unread": list("abcdef"),
        }
    )


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    table().with_columns(pl.col("q").fill_null(0.0)).write_csv(tmp_path / "table.csv")
    file = tmp_path / "suite.yaml"
    file.write_text(SUITE)
    return file


def test_explain_names_the_columns_that_are_read(suite: Path) -> None:
    with bound_suite(suite) as request:
        assert explain(request).source.columns == ("y", "t", "p", "q", "e")


def test_a_run_writes_effects_and_curves(suite: Path) -> None:
    result = plm.run(suite)
    assert result.folder is not None
    assert pl.read_parquet(result.folder / "curves.parquet").equals(result.curves)
    assert set(result.curves["model"]) == {"a", "b"}
    values = result.metrics.filter(metric="ate")["value"].to_list()
    assert values == [pytest.approx(8 / 3 - 4 / 3)] * 2


@pytest.mark.parametrize(("missing", "rows"), [("drop", [5, 5]), ("drop_per_model", [6, 5])])
def test_rows_without_a_score_are_left_out(missing: str, rows: list[int]) -> None:
    settings = {"task": "uplift", "label": "y", "treatment": "t", "metrics": ["ate", "qini"]}
    found = plm.evaluate(table(), models={"a": "p", "b": "q"}, missing=missing, **settings).metrics
    left = table().drop_nulls("q")
    for model, column, n in zip("ab", "pq", rows, strict=True):
        alone = plm.evaluate(table() if n == 6 else left, models={model: column}, **settings).metrics
        assert found.filter(model=model)["n"].to_list() == [n, n]
        assert found.filter(model=model)["value"].to_list() == pytest.approx(alone["value"].to_list())
