"""The same rows, evaluated with one choice after another, make a remark with counts; a repeated run makes none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import plmetrics as plm
from plmetrics.runs.history.repetition import MANY

METRICS = ["recall", "precision", "f1", "mcc", "accuracy", "specificity"]


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    pl.DataFrame({"y": [0, 1, 1, 0] * 5, "p": [0.1, 0.9, 0.4, 0.6] * 5}).write_parquet(tmp_path / "t.parquet")
    file = tmp_path / "s.yaml"
    file.write_text(
        "data: {path: t.parquet}\ncolumns: {label: y}\nmodels: {m: p}\noutput: {directory: runs}\n"
    )
    return file


@pytest.mark.filterwarnings("ignore::plmetrics.PlmetricsWarning")
def test_the_sixth_choice_is_told_and_a_repeated_one_is_not(suite: Path) -> None:
    def told(**settings: Any) -> list[str]:
        warnings = plm.run(suite, set=settings).warnings
        return [text for text in warnings if text.startswith("the same rows")]

    assert [told(metrics=[name]) for name in METRICS[:MANY]] == [[]] * MANY
    assert told(metrics=METRICS[:1]) == []
    (text,) = told(metrics=[METRICS[MANY]])
    assert text.startswith(
        f"the same rows were evaluated in {MANY + 1} earlier runs, with {MANY} other choices"
    )
    assert told(metrics=[METRICS[MANY]]) == []
    assert told(**{"metrics": ["brier"], "data.where": "p < 0.8"}) == []
    frame = pl.read_parquet(suite.parent / "t.parquet")
    frame.head(12).write_parquet(suite.parent / "t.parquet")
    assert told(metrics=["brier"]) == []
