"""Texts in several forms of time are refused wherever rows are ordered by them."""

from typing import Any

import polars as pl
import pytest

import plmetrics as plm

DAYS = [f"2026-01-{day:02}" for day in range(1, 11)]
TABLE = pl.DataFrame(
    {"t": DAYS, "y": [1.0, 3, 2, 5, 4, 7, 6, 9, 8, 11], "a": range(10), "b": range(1, 11), "known": DAYS}
)
LATER = pl.col("t").str.ends_with("5").or_(pl.col("t").str.ends_with("8"))
MIXED = TABLE.with_columns(t=pl.when(LATER).then(pl.col("t") + " 00:00").otherwise("t"))
FORMS = "2 forms.*: 8 like '2026-01-01', 2 like '2026-01-05 00:00'"


def evaluate(table: pl.DataFrame, **asked: Any) -> plm.Result:
    return plm.evaluate(table, task="regression", label="y", models={"a": "a", "b": "b"}, **asked)


@pytest.mark.parametrize("missing", ["error", "drop", "drop_per_model"])
def test_mase(missing: str) -> None:
    with pytest.raises(plm.DataError, match=rf"column 't' \(time of mase\).*{FORMS}"):
        evaluate(MIXED, metrics=["mase(time=t)"], missing=missing)
    evaluate(TABLE, metrics=["mase(time=t)"], missing=missing)


def test_rows_that_are_not_evaluated_may_be_of_another_form() -> None:
    result = evaluate(MIXED, metrics=["mase(time=t)"], where="t NOT LIKE '% %'")
    assert result.metrics["n"].to_list() == [8, 8]


def test_diebold_mariano() -> None:
    asked = {"metrics": ["mae"], "compare": {"baseline": "a", "tests": ["diebold_mariano(time=t)"]}}
    with pytest.raises(plm.DataError, match=rf"column 't' \(time of diebold_mariano\).*{FORMS}"):
        evaluate(MIXED, **asked)
    evaluate(TABLE, **asked)


def test_time_ordered() -> None:
    with pytest.raises(plm.DataError, match=rf"column 't' \(time\).*{FORMS}"):
        plm.splits.time_ordered(MIXED, 2, time="t")
    with pytest.raises(plm.DataError, match=r"columns 't' \(time\) and 'known' \(purge\): .* 2 forms"):
        plm.splits.time_ordered(TABLE.with_columns(pl.col("known") + "T00:00"), 2, time="t", until="known")
    plm.splits.time_ordered(TABLE, 2, time="t", until="known")
