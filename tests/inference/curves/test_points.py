"""Curves against scikit-learn and plain formulas, from sorted rows and from a grid."""

import numpy as np
import polars as pl
import pytest
from references.samples import SLICE_TEXTS, sample
from sklearn.metrics import precision_recall_curve, roc_curve

import plmetrics as plm

CURVES = [{"curve": name, "slices": ["g"]} for name in ("roc", "pr", "reliability")]
EXACT = pytest.mark.parametrize("exact", [None, False], ids=["rows", "grid"])
WEIGHT = pytest.mark.parametrize("weight", [None, "w"])


def curves(table, **arguments):
    given = {"label": "y", "models": {"m": "p"}, "metrics": ["accuracy"], "slices": "g", "curves": CURVES}
    return plm.evaluate(table, **{**given, **arguments}).curves


def slices(table, weight):
    table = table.filter(pl.col("w") > 0) if weight else table
    yield "all", table, (table["w"] if weight else None)
    for (value,), part in table.group_by("g"):
        yield SLICE_TEXTS[value], part, (part["w"] if weight else None)


@pytest.mark.exhaustive
@EXACT
@WEIGHT
@pytest.mark.parametrize("rows", [5, 60, 400])
def test_points_are_those_of_scikit_learn(rows, weight, exact):
    table = sample(rows, seed=4)
    found = curves(table, weight=weight, exact=exact)
    for text, part, mass in slices(table, weight):
        roc, pr = (found.filter(slice=text, curve=name) for name in ("roc", "pr"))
        if part["y"].n_unique() < 2:
            assert roc.is_empty()
            assert pr.is_empty() == (not part["y"].any())
            continue
        x, y, _ = roc_curve(part["y"], part["p"], sample_weight=mass, drop_intermediate=False)
        np.testing.assert_allclose(roc.select("x", "y"), np.column_stack([x, y]), atol=1e-12)
        precision, recall, _ = precision_recall_curve(part["y"], part["p"], sample_weight=mass)
        np.testing.assert_allclose(
            pr.select("x", "y"), np.column_stack([recall, precision])[::-1], atol=1e-12
        )


@EXACT
def test_thresholds_lead_back_to_their_points(exact, monkeypatch):
    """Also on bins that hold several scores: the rows at or above a point's threshold are those it counts."""
    monkeypatch.setattr("plmetrics.engine.order.encoding.FINE_BINS", 12)
    monkeypatch.setattr("plmetrics.engine.order.encoding._LEAST_BINS", 12)
    table = sample(300, seed=2, ties=False)
    found = curves(table, exact=exact).filter(curve="roc", slice="all")
    assert found["threshold"].is_finite().all()
    assert found["threshold"].null_count() == (1 if exact is None else 2)
    for x, y, threshold in (
        found.filter(pl.col("threshold").is_not_null()).select("x", "y", "threshold").rows()
    ):
        called = table.filter(pl.col("p") >= threshold)
        assert y == pytest.approx(called["y"].sum() / table["y"].sum())
        assert x == pytest.approx((~called["y"]).sum() / (~table["y"]).sum())


def test_long_curves_are_thinned_and_keep_their_ends():
    rng = np.random.default_rng(0)
    positive = rng.random(5_000) < 0.3
    table = pl.DataFrame({"y": positive, "p": rng.beta(1 + positive, 2), "g": "a"})
    found = curves(table).filter(slice="all")
    for name, first in (("roc", (0.0, 0.0)), ("pr", (0.0, 1.0))):
        points = found.filter(curve=name).select("x", "y")
        assert 500 < points.height <= 1000
        assert points.row(0) == first
        assert points.row(-1)[0] == 1.0
        assert points["x"].is_sorted()


@EXACT
@WEIGHT
def test_reliability_is_the_mean_score_and_the_rate_of_each_bin(weight, exact):
    table = sample(200, seed=7, ties=False)
    found = curves(table, weight=weight, exact=exact).filter(curve="reliability")
    for text, part, mass in slices(table, weight):
        own = found.filter(slice=text)
        y, p = part["y"].to_numpy(), part["p"].to_numpy()
        w = np.ones(len(y)) if mass is None else mass.to_numpy()
        number = np.array([next(b for b in range(15) if v <= (b + 1) / 15) for v in p])
        held = np.unique(number)
        x = [np.average(p[number == b], weights=w[number == b]) for b in held]
        rate = [np.average(y[number == b], weights=w[number == b]) for b in held]
        np.testing.assert_allclose(own.select("x", "y"), np.column_stack([x, rate]), atol=1e-12)
        if weight is None:
            assert own["n"].to_list() == [int((number == b).sum()) for b in held]
            assert ((own["lower"] <= own["y"] + 1e-12) & (own["y"] <= own["upper"] + 1e-12)).all()


def test_a_weighted_band_needs_more_than_one_unit_in_the_bin():
    rows = {
        "y": [True, False, True, True],
        "p": [0.5, 0.5, 0.9, 0.9],
        "u": [1, 2, 3, 3],
        "w": [2.0, 2.0, 1.0, 1.0],
    }
    table = pl.DataFrame(rows).with_columns(g=pl.lit("a"))
    settings = {"weight": "w", "unit": "u", "uncertainty": {"replicates": 200}}
    shared, alone = curves(table, **settings).filter(curve="reliability", slice="all").iter_rows(named=True)
    assert shared["lower"] < shared["y"] < shared["upper"]
    assert (alone["y"], alone["lower"], alone["upper"]) == (1.0, None, None)
