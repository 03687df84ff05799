"""Whole numbers that Float64 cannot hold are a warning, with their number and an example by Python's own integers."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.diagnostics.float_rounding import rounding_warnings
from plmetrics.engine.inquiry import answer

LIMIT = 2**53
LARGE = [LIMIT - 1, LIMIT, LIMIT + 1, LIMIT + 2, LIMIT + 3, None, -LIMIT - 1, 0]


def warnings_of(values: list[int | None], dtype: Any) -> list[str]:
    table = pl.DataFrame({"x": pl.Series(values, dtype=dtype)})
    return answer(rounding_warnings(table.lazy(), table.schema, {"x": "label"}))


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        (pl.Int64, [*LARGE, 2**63 - 1, -(2**63)]),
        (pl.Int128, [*LARGE, 2**100 + 1, 2**100]),
        (pl.UInt64, [2**64 - 1, 2**64 - 2**11, 2**63 + 10, 5]),
    ],
)
def test_rounded_numbers_are_counted(dtype: Any, values: list[int | None]) -> None:
    rounded = [value for value in values if value is not None and int(float(value)) != value]
    (warning,) = warnings_of(values, dtype)
    least = min(rounded)
    assert f"{len(rounded)} whole numbers are beyond 2^53" in warning
    assert f"such as {least} to {int(float(least))};" in warning


@pytest.mark.parametrize("dtype", [pl.Int64, pl.UInt64, pl.Int128])
def test_numbers_that_are_held_are_no_warning(dtype: Any) -> None:
    assert not warnings_of([0, 1, LIMIT, LIMIT + 2, 2**60, None], dtype)


def test_columns_of_fewer_bits_are_not_read() -> None:
    question = rounding_warnings(
        pl.LazyFrame(), pl.Schema({"x": pl.Int32(), "y": pl.Float64()}), {"x": "label"}
    )
    with pytest.raises(StopIteration):
        next(question)


ROWS = pl.DataFrame({"y": [0, 1] * 20, "p": [0.25, 0.5] * 20, "big": [LIMIT + place for place in range(40)]})

DRIFT = {"reference": ROWS, "columns": ["big"]}


def found(**asked: Any) -> list[str]:
    table = asked.pop("table", ROWS)
    result = plm.evaluate(table, **asked)
    return [text for text in result.warnings if "2^53" in text]


@pytest.mark.parametrize(
    ("asked", "role"),
    [
        (
            {"task": "binary", "label": "y", "models": {"m": "big"}, "metrics": ["roc_auc"]},
            "prediction of model 'm'",
        ),
        ({"task": "regression", "label": "big", "models": {"m": "p"}, "metrics": ["mae"]}, "label"),
        ({"label": "y", "weight": "big", "models": {"m": "p"}, "metrics": ["brier"]}, "weight"),
        (
            {
                "label": "y",
                "models": {"m": "p"},
                "metrics": ["brier"],
                "drift": {"reference": ROWS, "columns": ["big"]},
            },
            "drift",
        ),
    ],
)
def test_roles_of_numbers(asked: dict[str, Any], role: str) -> None:
    with pytest.warns(plm.PlmetricsWarning):
        (warning,) = found(**asked)
    assert warning.startswith(f"column 'big' ({role}): 20 whole numbers are beyond 2^53")


def test_keys_and_classes_are_exact() -> None:
    binary = {"label": "big", "positive": LIMIT + 1, "models": {"m": "p"}, "metrics": ["prevalence"]}
    assert plm.evaluate(ROWS, **binary).metrics["value"].to_list() == [1 / 40]
    table = ROWS.with_columns(big=pl.col("big") % 3 + LIMIT, said=(pl.col("big") + pl.col("y")) % 3 + LIMIT)
    asked = {
        "task": "multiclass",
        "label": "big",
        "models": {"m": {"prediction": "said"}},
        "metrics": ["accuracy"],
    }
    result = plm.evaluate(table, **asked, unit="big", slices={"s": "said"})
    assert result.metrics["value"][0] == (table["big"] == table["said"]).mean()
    assert not [text for text in result.warnings if "2^53" in text]


def test_states_warn_as_well() -> None:
    state = plm.state(ROWS, name="day", task="regression", label="big", models={"m": "p"}, metrics=["mae"])
    with pytest.warns(plm.PlmetricsWarning):
        merged = plm.merge(state)
    assert [text for text in merged.warnings if "20 whole numbers are beyond 2^53" in text]


@pytest.mark.parametrize(
    ("dtype", "narrow", "digits"), [(pl.Float32, np.float32, 6), (pl.Float16, np.float16, 3)]
)
def test_scores_that_numpy_calls_at_a_threshold_are_counted(dtype: Any, narrow: Any, digits: int) -> None:
    stored = np.repeat(np.arange(11) / 10, 3).astype(narrow)
    table = pl.DataFrame({"y": np.arange(33) % 2, "p": pl.Series(stored.tolist(), dtype=dtype)})
    for threshold in np.arange(1, 10) / 10:
        metrics = [f"selection_rate(threshold={threshold})", "recall"]
        result = plm.evaluate(table, label="y", models={"m": "p"}, metrics=metrics)
        missed = int((stored >= narrow(threshold)).sum() - (stored.astype(float) >= threshold).sum())
        texts = [text for text in result.warnings if "fewer than 64 bits" in text]
        assert len(texts) == (missed > 0)
        assert all(f"{missed} rows hold {threshold} in" in text for text in texts)
        derived = {"e": f"ROUND(CAST(p AS DOUBLE), {digits})"}
        assert not texts or f"derive {derived['e']}" in texts[0]
        exact = plm.evaluate(table, label="y", derive=derived, models={"m": "e"}, metrics=metrics)
        assert exact.metrics["value"][0] == (stored >= narrow(threshold)).mean()
        assert not [text for text in exact.warnings if "fewer than 64 bits" in text]


def test_scores_that_are_calibrated_are_not_compared() -> None:
    rows = pl.DataFrame({"y": [0, 1] * 30, "p": [0.1, 0.7, 0.2] * 20, "fit": [True] * 30 + [False] * 30})
    rows = rows.with_columns(pl.col("p").cast(pl.Float32))
    asked = {
        "label": "y",
        "metrics": ["recall(threshold=0.7)"],
        "calibrate": {"method": "platt", "fit_on": "fit"},
    }
    for model, gaps in (({"score": "p"}, 1), ({"margin": "p"}, 0)):
        result = plm.evaluate(rows, models={"m": model}, **asked)
        assert len([text for text in result.warnings if "20 rows hold 0.7 in" in text]) == gaps
