"""Metrics as expressions on rows that are not clean: null, as `evaluate` refuses such rows."""

import math
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.exceptions import PolarsError
from sklearn.metrics import accuracy_score, mean_squared_error, roc_auc_score

import plmetrics as plm

RNG = np.random.default_rng(3)
ROWS = pl.DataFrame(
    {"g": [0, 1] * 40, "y": RNG.integers(0, 2, 80), "p": RNG.random(80), "w": RNG.random(80) + 0.5}
)
FLOATS = ROWS.with_columns(pl.col("y", "p", "w").cast(pl.Float64))
NAMES = {
    "binary": ("roc_auc", "average_precision", "ks", "accuracy", "brier"),
    "regression": ("rmse", "mae", "r2"),
}


def found(rows: pl.DataFrame, names: tuple[str, ...], task: str) -> pl.DataFrame:
    expressions = (plm.metric(name, task=task).expr("y", "p", "w") for name in names)
    return rows.group_by("g").agg(*expressions).sort("g")


@cache
def values_of_clean_rows(task: str) -> pl.DataFrame:
    return found(FLOATS, NAMES[task], task)


@pytest.mark.exhaustive
@pytest.mark.parametrize("task", ["binary", "regression"])
@pytest.mark.parametrize("column", ["y", "p", "w"])
@pytest.mark.parametrize("bad", [None, math.nan, math.inf, -math.inf, 0.5, -1.0])
def test_a_group_with_a_bad_row_has_no_value(task: str, column: str, bad: float | None) -> None:
    """NaN would be a score above all others, and predicted positive."""
    names = NAMES[task]
    value = pl.when(pl.int_range(pl.len()) == 4).then(pl.lit(bad, dtype=pl.Float64)).otherwise(column)
    odd = found(FLOATS.with_columns(value.alias(column)), names, task)
    is_sound = (
        bad is not None and math.isfinite(bad) and {"y": task != "binary", "p": True, "w": bad >= 0}[column]
    )
    assert [values[0] is not None for values in odd.select(names)] == [is_sound] * len(names)
    assert odd.row(1) == values_of_clean_rows(task).row(1)


def test_groups_of_clean_rows_have_the_values_of_scikit_learn() -> None:
    values = found(ROWS, ("roc_auc", "accuracy", "brier"), "binary")
    for group in (0, 1):
        y, p, w = (ROWS.filter(g=group)[name].to_numpy() for name in ("y", "p", "w"))
        assert values.row(group)[1:] == pytest.approx(
            (
                roc_auc_score(y, p, sample_weight=w),
                accuracy_score(y, p >= 0.5, sample_weight=w),
                mean_squared_error(y, p, sample_weight=w),
            )
        )


def test_a_text_is_no_score() -> None:
    rows: dict[str, Any] = {"y": [1, 0], "p": ["high", "low"]}
    with pytest.raises(PolarsError):
        pl.DataFrame(rows).select(plm.metric("roc_auc").expr("y", "p"))
