"""Curves of a ranking against their definitions, and how little thinning moves them."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from references.rankings import hull_auc, points
from references.samples import SLICE_TEXTS, sample

import plmetrics as plm
from plmetrics.inference.curves.thinning import thin

NAMES = ["roc_hull", "pr_interpolated", "lift", "gain"]
COST = {"curve": "cost", "cost_fp": 2, "cost_fn": 7, "slices": ["g"]}
CURVES = [*({"curve": name, "slices": ["g"]} for name in NAMES), COST]


def curves(table, **arguments):
    given = {"label": "y", "models": {"m": "p"}, "metrics": ["accuracy"], "slices": "g", "curves": CURVES}
    return plm.evaluate(table, **{**given, **arguments}).curves


def parts(table):
    yield "all", table
    for (value,), part in table.group_by("g"):
        yield SLICE_TEXTS[value], part


@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("rows", [5, 60, 400])
def test_points_are_those_of_the_definitions(rows, weight):
    table = sample(rows, seed=4)
    found = curves(table, weight=weight)
    for text, part in parts(table.filter(pl.col("w") > 0) if weight else table):
        own = {name: found.filter(slice=text, curve=name) for name in (*NAMES, "cost")}
        y, p = part["y"].to_numpy(), part["p"].to_numpy()
        w = part["w"].to_numpy().astype(float) if weight else np.ones(len(y))
        positives, negatives, total = w[y].sum(), w[~y].sum(), w.sum()
        operating = points(y, p, w)
        cost = [(2 * fp + 7 * (positives - tp)) / total for _, tp, fp in operating]
        np.testing.assert_allclose(own["cost"]["y"], [*cost[::-1], 7 * positives / total])
        assert own["cost"]["x"].to_list()[:-1] == [t for t, _, _ in operating[::-1]]
        assert own["cost"]["x"].is_sorted()
        if positives == 0:
            assert all(own[name].is_empty() for name in NAMES)
            continue
        called = [(tp + fp) / total for _, tp, fp in operating]
        recall = [tp / positives for _, tp, _ in operating]
        precision = [tp / (tp + fp) for _, tp, fp in operating]
        gain = [(0.0, 0.0), *zip(called, recall, strict=True)]
        np.testing.assert_allclose(own["gain"].select("x", "y"), gain, atol=1e-12)
        lift = [value / (positives / total) for value in precision]
        np.testing.assert_allclose(own["lift"].select("x", "y"), np.column_stack([called, lift]))
        best = [max(v for r, v in zip(recall, precision, strict=True) if r >= level) for level in recall]
        np.testing.assert_allclose(own["pr_interpolated"]["y"], [max(precision), *best])
        for row in own["pr_interpolated"].iter_rows(named=True):
            here = next(i for i, (t, _, _) in enumerate(operating) if t == row["threshold"])
            assert precision[here] == pytest.approx(row["y"])
            assert recall[here] >= row["x"] - 1e-12
        if negatives == 0:
            assert own["roc_hull"].is_empty()
            continue
        hull = own["roc_hull"].select("x", "y").to_numpy()
        assert (hull[0] == 0).all()
        np.testing.assert_allclose(hull[-1], 1)
        assert np.trapezoid(hull[:, 1], hull[:, 0]) == pytest.approx(hull_auc(y, p, w))
        slopes = np.diff(hull[:, 1]) / np.maximum(np.diff(hull[:, 0]), 1e-300)
        assert (np.diff(slopes) < 0).all()


@pytest.mark.exhaustive
@pytest.mark.parametrize("classes", [0, 1, 2])
@pytest.mark.parametrize("rows", [1, 2, 5, 60])
def test_a_grid_with_a_bin_a_score_has_the_same_points(rows, classes):
    """But for the ends of cost: what lies below the lowest and above the highest edge need not be known there."""
    table = sample(rows, seed=rows, classes=classes)
    exact, grid = (curves(table, exact=exact) for exact in (True, False))
    points = [frame.filter(pl.col("curve") != "cost").drop("threshold") for frame in (exact, grid)]
    assert_frame_equal(*points)
    for text in exact["slice"].unique():
        every, known = (frame.filter(slice=text, curve="cost") for frame in (exact, grid))
        least = int(table["p"].min() == every["x"].min())
        below = len(every) - 1 - len(known)
        assert 0 <= below <= least
        assert known["y"].to_list() == pytest.approx(every["y"].to_list()[below:-1])


def test_the_costs_without_a_call_are_not_placed_inside_the_highest_bin(monkeypatch):
    monkeypatch.setattr("plmetrics.engine.order.encoding.FINE_BINS", 12)
    monkeypatch.setattr("plmetrics.engine.order.encoding._LEAST_BINS", 12)
    table = sample(300, seed=2, ties=False)
    found = curves(table, exact=False).filter(curve="cost", slice="all")
    assert found.height > 5
    for x, y in found.select("x", "y").rows():
        called, positive = table["p"] >= x, table["y"]
        assert y == pytest.approx((2 * (called & ~positive).sum() + 7 * (~called & positive).sum()) / 300)


def test_costs_across_models():
    """At every slope of iso-cost lines the corner that says so costs least of all models' points."""
    rng = np.random.default_rng(3)
    y = rng.random(600) < 0.4
    table = pl.DataFrame(
        {
            "y": y,
            "sharp_top": np.where(y & (rng.random(600) < 0.3), 1.0, rng.random(600)),
            "broad": rng.normal(1.2 * y, 1),
            "useless": rng.random(600),
            "g": "a",
        }
    )
    models = ["useless", "sharp_top", "broad"]
    found = curves(table, models=models, curves=["roc", "roc_hull"])
    hull = found.filter(curve="roc_hull_models")
    assert set(hull["model"]) == {"sharp_top", "broad"}
    assert (hull["x"][0], hull["y"][-1]) == (0, 1)
    for row in hull.filter(pl.col("threshold").is_not_null()).iter_rows(named=True):
        called = table.filter(pl.col(row["model"]) >= row["threshold"])
        assert row["y"] == pytest.approx(called["y"].sum() / y.sum())
        assert row["x"] == pytest.approx((~called["y"]).sum() / (~y).sum())
    assert hull["upper"][0] is None
    assert hull["lower"][-1] == 0
    every = found.filter(curve="roc")
    for row in hull.iter_rows(named=True):
        slope = (row["lower"] + (row["upper"] or row["lower"] + 10)) / 2
        best = (every["y"] - slope * every["x"]).max()
        assert row["y"] - slope * row["x"] == pytest.approx(best, abs=1e-12)
    positive = [True, False, False, True]
    ends = {"y": positive, "broad": [-9.0, 9.0, 9.0, -9.0], "useless": [1.0, 0.0, 1.0, 0.0], "g": ["a"] * 4}
    noisy = pl.concat([table.select(*ends), pl.DataFrame(ends)])
    ended = curves(noisy, models=["useless", "broad"], curves=["roc_hull"]).filter(curve="roc_hull_models")
    assert [ended.select("x", "y").row(place) for place in (0, -1)] == [(0, 0), (1, 1)]
    assert set(ended["model"]) == {"broad"}
    assert curves(table, models="broad", curves=["roc_hull"]).filter(curve="roc_hull_models").is_empty()


@pytest.mark.exhaustive
@pytest.mark.parametrize("size", [5_000, 60_000, 200_000])
@pytest.mark.parametrize("shape", ["roc", "pr", "steps", "noise"])
def test_thinning_hardly_moves_the_area(shape, size):
    rng = np.random.default_rng(0)
    if shape in {"roc", "pr"}:
        positive = rng.random(size) < 0.3
        order = np.argsort(-rng.beta(1 + positive, 2))
        hits, alarms = np.cumsum(positive[order]), np.cumsum(~positive[order])
        x, y = alarms / alarms[-1], hits / hits[-1]
        if shape == "pr":
            x, y = y, hits / (hits + alarms)
    elif shape == "steps":
        x, y = np.sort(rng.random(size)), np.sort(rng.integers(0, 40, size) / 40)
    else:
        x = np.arange(size) / size
        y = 0.3 + 0.5 * x + np.cumsum(rng.normal(0, 1e-4, size))
    keep = thin(x, y)
    assert len(keep) <= 1000
    assert abs(np.trapezoid(y[keep], x[keep]) - np.trapezoid(y, x)) < (1.5e-4 if shape == "pr" else 1e-4)
    assert (keep[0], keep[-1]) == (0, size - 1)
    assert farthest(x, y, keep) < 0.002


def farthest(x, y, keep):
    """The largest distance of a point from the nearest point of the line that takes its place."""
    line = np.clip(np.searchsorted(keep, np.arange(len(x)), side="right") - 1, 0, len(keep) - 2)
    start, end = keep[line], keep[line + 1]
    along = np.stack([x[end] - x[start], y[end] - y[start]])
    away = np.stack([x - x[start], y - y[start]])
    share = np.clip((along * away).sum(axis=0) / np.maximum((along**2).sum(axis=0), 1e-300), 0, 1)
    return np.hypot(*(away - share * along)).max()


def test_thinning_keeps_the_one_point_that_sticks_out():
    x = np.arange(300_000) / 300_000
    y = x.copy()
    y[[70_001, 210_007]] = 2.0, -2.0
    keep = thin(x, y)
    assert {70_001, 210_007} <= set(keep)
    assert len(keep) < 20
    np.testing.assert_array_equal(thin(np.ones(2000), np.full(2000, 5.0)), [0, 1999])


@pytest.mark.parametrize(
    ("task", "curve", "words"),
    [
        ("binary", "residual_qq", "curve 'residual_qq' belongs to task 'regression'"),
        ("regression", "lift", "curve 'lift' belongs to task 'binary'"),
        ("binary", {"curve": "cost", "cost_fp": -1}, "cost_fp must be"),
        ("binary", {"curve": "pr", "cost_fn": 3}, "cost_fn belongs to curve 'cost', not to 'pr'"),
        ("binary", "rok", "unknown curve 'rok'"),
    ],
)
def test_what_is_wrong_is_said(task, curve, words):
    table = sample(20, seed=1)
    with pytest.raises(plm.ConfigError) as caught:
        plm.evaluate(
            table.with_columns(pl.col("y").cast(pl.Float64)), task=task, label="y", models="p", curves=[curve]
        )
    assert words in str(caught.value)


def test_cost_has_one_pair_of_costs():
    table = sample(20, seed=1)
    twice = [COST, {**COST, "slices": []}]
    assert curves(table, curves=twice).equals(curves(table, curves=[COST]))
    with pytest.raises(plm.ConfigError, match="one pair of costs"):
        curves(table, curves=["cost", COST])


@pytest.mark.parametrize("size", [5_000, 60_000])
def test_rates_at_thresholds_stay_near_where_the_curve_is_straight(size):
    rng = np.random.default_rng(3)
    positive = rng.random(size) < 0.3
    score = np.where(positive, 0.5 + rng.beta(2, 2, size) / 2, rng.beta(2, 2, size) / 2)
    table = pl.DataFrame({"y": positive, "p": score, "g": "a"})
    drawn = (
        curves(table, models="p", curves=["roc"])
        .filter(slice="all")
        .drop_nulls("threshold")
        .sort("threshold")
    )
    assert drawn.height < 1000
    for name, group in (("x", ~positive), ("y", positive)):
        at = np.linspace(0.01, 0.99, 197)
        exact = 1 - np.searchsorted(np.sort(score[group]), at) / group.sum()
        shown = np.interp(at, drawn["threshold"], drawn[name])
        assert np.abs(shown - exact).max() < 0.005
