"""The isotonic recalibration curve against scikit-learn's regression, its band against a bootstrap of that."""

import numpy as np
import polars as pl
import pytest
from references.samples import EXACT, probability_sample
from sklearn.isotonic import IsotonicRegression

import plmetrics as plm


def curves(table, **arguments):
    asked = [{"curve": "corp", "slices": "g"}]
    given = {"label": "y", "models": "p", "metrics": ["accuracy"], "slices": "g", "curves": asked}
    return plm.evaluate(table, **{**given, **arguments}).curves


@pytest.mark.exhaustive
@EXACT
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("decimals", [None, 2])
@pytest.mark.parametrize("rows", [1, 30, 1_500])
def test_knots_are_those_of_scikit_learn(rows, decimals, weight, exact):
    table = probability_sample(rows, seed=1, decimals=decimals, power=1.5)
    found = curves(table, weight=weight, exact=exact)
    for text, part in [("all", table), ("g=a", table.filter(g="a"))]:
        own = found.filter(slice=text)
        if part.is_empty():
            assert own.is_empty()
            continue
        fit = IsotonicRegression().fit(part["p"], part["y"], sample_weight=part["w"] if weight else None)
        atol = 1e-12 if exact is None else 1e-3
        edge = 0 if exact is None or own.height < 3 else slice(0, -1)
        if exact is None:
            np.testing.assert_allclose(own["x"], fit.X_thresholds_, atol=atol)
        elif own.height > 2:
            np.testing.assert_allclose(own["x"][edge], fit.X_thresholds_[edge], atol=atol)
        np.testing.assert_allclose(own["y"], fit.y_thresholds_, atol=1e-12)
        if weight:
            assert own["n"].null_count() == own.height
            continue
        pieces = own.group_by("y", maintain_order=True).agg(
            pl.col("n").first(), pl.col("n").n_unique().alias("same")
        )
        fitted = fit.predict(part["p"])
        assert pieces["same"].to_list() == [1] * pieces.height
        assert pieces["n"].to_list() == [int(np.isclose(fitted, y, atol=1e-9).sum()) for y in pieces["y"]]


@pytest.mark.slow
@EXACT
def test_bands_are_about_those_of_a_bootstrap(exact):
    table = probability_sample(2_000, seed=2, power=1.5)
    own = curves(table, exact=exact, uncertainty={"replicates": 500, "seed": 1}).filter(slice="all")
    assert own["lower"].is_sorted()
    assert own["upper"].is_sorted()
    inner = own.filter(pl.col("x").is_between(0.05, 0.8))
    rng = np.random.default_rng(0)
    y, p = table["y"].to_numpy(), table["p"].to_numpy()
    drawn = []
    for _ in range(300):
        index = rng.integers(0, len(y), len(y))
        drawn.append(IsotonicRegression(out_of_bounds="clip").fit(p[index], y[index]).predict(inner["x"]))
    lower, upper = np.quantile(drawn, [0.025, 0.975], axis=0)
    assert (inner["upper"] - inner["lower"]).mean() == pytest.approx((upper - lower).mean(), rel=0.08)
    np.testing.assert_allclose(inner["lower"], lower, atol=0.05)
    np.testing.assert_allclose(inner["upper"], upper, atol=0.05)


def test_any_score_is_recalibrated_and_one_class_has_no_band():
    table = probability_sample(500, seed=3, power=1.5).with_columns(p=pl.col("p") * 500 - 100)
    assert curves(table).filter(slice="all")["x"].min() < 0
    bare = curves(table.with_columns(y=pl.lit(value=True)), uncertainty={"replicates": 50})
    assert bare["y"].unique().to_list() == [1.0]
    assert bare["lower"].null_count() == bare.height
