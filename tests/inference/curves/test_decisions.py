"""Confusion matrices of two classes, against scikit-learn's."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import confusion_matrix

import plmetrics as plm

CUTS = {"a": 0.35, "b": 0.5}
MODELS = {"a": {"score": "a", "threshold": 0.35}, "b": "b"}


def made(rows: int = 300) -> pl.DataFrame:
    random = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "y": random.integers(0, 2, rows),
            "a": random.random(rows).round(2),
            "b": random.random(rows).round(2),
            "w": random.integers(0, 4, rows),
            "g": random.choice(["x", "y"], rows),
        }
    )


def evaluated(table: pl.DataFrame, **more: Any) -> plm.Result:
    given = {"label": "y", "models": MODELS, "metrics": ["accuracy"], "slices": ["g"]}
    return plm.evaluate(table, **(given | {"curves": [{"curve": "confusion", "slices": "g"}]} | more))


@pytest.mark.parametrize("weight", [None, "w"])
def test_cells_are_those_of_scikit_learn(weight: str | None) -> None:
    table = made()
    curves = evaluated(table, weight=weight).curves
    assert curves.height == 2 * 3 * 4
    for place, rows in [("all", table), ("g=x", table.filter(g="x")), ("g=y", table.filter(g="y"))]:
        for model, cut in CUTS.items():
            own = curves.filter(model=model, slice=place)
            weights = None if weight is None else rows[weight]
            masses = confusion_matrix(rows["y"], rows[model] >= cut, sample_weight=weights)
            present = rows if weight is None else rows.filter(pl.col(weight) > 0)
            counts = confusion_matrix(present["y"], present[model] >= cut)
            assert own["class"].to_list() == ["negative"] * 2 + ["positive"] * 2
            assert own["x"].to_list() == [0.0, 1.0] * 2
            assert own["threshold"].to_list() == masses.ravel().tolist()
            assert own["n"].to_list() == counts.ravel().tolist()
            shares = masses / masses.sum(axis=1, keepdims=True)
            assert own["y"].to_list() == pytest.approx(shares.ravel().tolist(), abs=1e-15)


def test_a_class_without_rows_has_no_shares_and_small_slices_no_matrix() -> None:
    table = made().with_columns(
        y=pl.lit(1), g=pl.when(pl.int_range(300) < 5).then(pl.lit("x")).otherwise(pl.lit("y"))
    )
    curves = evaluated(table, min_rows=10).curves
    assert set(curves["slice"]) == {"all", "g=y"}
    assert curves.filter(pl.col("class") == "negative")["y"].null_count() == 8
    assert curves.filter(pl.col("class") == "negative")["n"].to_list() == [0] * 8


def test_states_of_parts_have_the_matrix_of_all_rows() -> None:
    table = made()
    asked = {"label": "y", "weight": "w", "models": MODELS, "metrics": ["accuracy"], "curves": ["confusion"]}
    parts = [plm.state(table[start : start + 150], **asked) for start in (0, 150)]
    merged = plm.merge(*parts)
    whole = plm.evaluate(table, **asked)
    assert merged.curves.equals(whole.curves)


def test_hard_predictions_and_runs_without_the_rows_have_one() -> None:
    table = made().with_columns(h=pl.col("a") > 0.5)
    result = evaluated(table, models={"h": {"prediction": "h"}}, exact=False)
    own = result.curves.filter(slice="all")
    assert own["n"].to_list() == confusion_matrix(table["y"], table["h"]).ravel().tolist()


def test_a_model_of_its_own_weight_has_its_own_matrix() -> None:
    table = made()
    curves = evaluated(table, models={"a": {"score": "a", "weight": "w"}, "b": "b"}).curves.filter(
        slice="all"
    )
    present = table.filter(pl.col("w") > 0)
    masses = confusion_matrix(table["y"], table["a"] >= 0.5, sample_weight=table["w"])
    assert curves.filter(model="a")["threshold"].to_list() == masses.ravel().tolist()
    counts = confusion_matrix(present["y"], present["a"] >= 0.5)
    assert curves.filter(model="a")["n"].to_list() == counts.ravel().tolist()
    plain = confusion_matrix(table["y"], table["b"] >= 0.5)
    assert curves.filter(model="b")["n"].to_list() == plain.ravel().tolist()
