"""Deviances against scikit-learn's, and rows outside their domain."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import d2_tweedie_score, mean_tweedie_deviance

import plmetrics as plm

POWERS = [1.0, 1.5, 1.9, 2.0, 2.5, 3.0]
ROLES: dict[str, Any] = {"task": "regression", "label": "y", "models": "p"}


def table() -> pl.DataFrame:
    """Claims, a third of them 0 in one region."""
    rng = np.random.default_rng(4)
    mean = rng.lognormal(0.0, 1.0, 400)
    label = rng.gamma(2.0, mean / 2.0)
    region = np.array(["a", "b", None], dtype=object)[rng.integers(0, 3, 400)]
    label[(region == "a") & (rng.random(400) < 0.3)] = 0.0
    weight = rng.choice([0.0, 0.5, 1.0, 2.0], 400)
    return pl.DataFrame(
        {"y": label, "p": mean, "region": pl.Series(region.tolist(), dtype=pl.String), "w": weight}
    )


@pytest.mark.parametrize("weight", [None, "w"])
def test_values_are_those_of_scikit_learn(weight: str | None) -> None:
    rows = table()
    asked = [f"tweedie_deviance(power={power})" for power in POWERS]
    found = plm.evaluate(
        rows, **ROLES, weight=weight, metrics=asked, slices=["region"], uncertainty=True
    ).metrics
    parts = {"all": rows} | {
        f"region={name or 'null'}": rows.filter(pl.col("region").eq_missing(pl.lit(name)))
        for name in ("a", "b", None)
    }
    for row in found.iter_rows(named=True):
        part, power = (
            parts[row["slice"]].filter(pl.col("w") > 0 if weight else pl.lit(value=True)),
            float(row["metric"].partition("=")[2].rstrip(")")),
        )
        outside = int((part["y"] <= 0).sum()) if power >= 2 else 0
        if outside:
            assert (row["value"], row["status"]) == (None, "nonpositive_values")
            assert row["note"] == f"rows with a prediction of 0 or less or a label 0 or less: {outside}"
            continue
        weights = part["w"] if weight else None
        expected = mean_tweedie_deviance(part["y"], part["p"], sample_weight=weights, power=power)
        assert row["value"] == pytest.approx(expected, rel=1e-12), row
        assert row["lower"] < row["value"] < row["upper"]


def test_the_share_explained_is_a_formula_of_two_models() -> None:
    rows = table()
    found = plm.evaluate(
        rows, **ROLES, baseline=True, metrics=["relative(tweedie_deviance(power=1.5), to=baseline)"]
    )
    value = found.metrics.filter(model="p")["value"].item()
    assert 1 - value == pytest.approx(d2_tweedie_score(rows["y"], rows["p"], power=1.5), rel=1e-12)


def test_names_of_the_two_that_have_one() -> None:
    rows = table().filter(pl.col("y") > 0)
    found = plm.evaluate(rows, **ROLES, metrics=["poisson_deviance", "gamma_deviance"]).metrics
    assert found["metric"].to_list() == ["tweedie_deviance(power=1)", "tweedie_deviance(power=2)"]


@pytest.mark.parametrize(
    ("label", "prediction", "power", "defined"), [(0, 1, 1, True), (-1, 1, 1, False), (1, 0, 1, False)]
)
def test_rows_outside_the_domain(label: float, prediction: float, power: float, defined: bool) -> None:
    rows = pl.DataFrame({"y": [1.0, float(label)], "p": [1.0, float(prediction)]})
    found = plm.evaluate(rows, **ROLES, metrics=[f"tweedie_deviance(power={power})"]).metrics
    assert found["status"].item() == ("ok" if defined else "nonpositive_values")
