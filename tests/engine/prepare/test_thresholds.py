"""Thresholds by rule, of several classes and models: which rows are checked, and how often."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.engine.prepare import thresholds
from plmetrics.table.checks import VALID


def labels(number: int, rows: int = 60) -> pl.DataFrame:
    draw = np.random.default_rng(number)
    columns = {f"is_{n}": draw.integers(0, 2, rows) for n in range(number)}
    return pl.DataFrame(columns | {f"p_{n}": draw.random(rows) for n in range(number)})


def test_rows_are_checked_once_for_all_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[int] = []
    read = thresholds._rows_to_choose_on

    def counted(*arguments: Any, **options: Any) -> pl.LazyFrame:
        plan = read(*arguments, **options)
        checked[-1] += VALID in plan.collect_schema()
        return plan

    monkeypatch.setattr(thresholds, "_rows_to_choose_on", counted)
    rule = {"metric": "f1(threshold=max(f1))", "select_on": "true"}
    for number in (3, 12):
        checked.append(0)
        plm.evaluate(
            labels(number), task="multilabel", label="is_", models={"m": {"proba": "p_"}}, metrics=[rule]
        )
    assert checked == [1, 1]


def test_a_bad_score_of_the_last_label_is_an_error() -> None:
    rows = labels(3).with_columns(
        p_2=pl.when(pl.int_range(pl.len()) < 2).then(None).otherwise(pl.col("p_2")),
    )
    rule = {"metric": "f1(threshold=max(f1))", "select_on": "true"}
    with pytest.raises(plm.DataError, match="2 of the 60 rows to choose a threshold on have a bad"):
        plm.evaluate(
            rows,
            task="multilabel",
            label="is_",
            models={"m": {"proba": "p_"}},
            metrics=[rule],
            where="p_2 IS NOT NULL",
        )


@pytest.mark.parametrize("select_on", [None, "true"])
def test_a_bad_score_is_named_with_its_place(select_on: str | None) -> None:
    """Whatever the rows are that thresholds are chosen on: those of the run have no select_on to narrow."""
    rows = pl.DataFrame({"y": [0, 1] * 20, "p": [0.2, 0.7] * 19 + [0.2, 1.5]})
    rule = {"metric": "f1(threshold=max(f1))"} | ({} if select_on is None else {"select_on": select_on})
    with pytest.raises(plm.DataError) as told:
        plm.evaluate(rows, label="y", models={"m": "p"}, metrics=[rule, "brier"])
    assert "column 'p' (score of model 'm'): 1 of 40 values is outside [0, 1]" in str(told.value)
    assert ("select_on" in str(told.value)) == (select_on is not None)


def test_bad_rows_of_the_second_model_alone_are_an_error(tmp_path: Path) -> None:
    rows = pl.DataFrame({"y": [0, 1] * 20, "p": [0.2, 0.7] * 20, "v": [1.0] * 40, "w": [0.0, *[1.0] * 39]})
    rows = rows.with_columns(q=pl.when(pl.int_range(40) == 0).then(None).otherwise(pl.col("p")))
    rows.write_parquet(tmp_path / "t.parquet")
    models = {"one": {"score": "p", "weight": "w"}, "two": {"score": "q", "weight": "v"}}
    rule = {"metric": "f1(threshold=max(f1))", "select_on": "true"}
    with pytest.raises(plm.DataError, match="1 of the 40 rows to choose a threshold on have a bad"):
        plm.evaluate(tmp_path / "t.parquet", label="y", models=models, metrics=[rule], where="q IS NOT NULL")
