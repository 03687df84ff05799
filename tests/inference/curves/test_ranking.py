"""Curves of a ranking against their definitions, and how little thinning moves them."""

import numpy as np
import polars as pl
import pytest
from references.rankings import hull_auc, points
from references.samples import sample

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
        yield f"g={'null' if value is None else value}", part


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
        if positives == 0:
            assert all(frame.is_empty() for frame in own.values())
            continue
        operating = points(y, p, w)
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
        cost = [(2 * fp + 7 * (positives - tp)) / total for _, tp, fp in operating]
        np.testing.assert_allclose(own["cost"]["y"], [*cost[::-1], 7 * positives / total])
        assert own["cost"]["x"].to_list()[:-1] == [t for t, _, _ in operating[::-1]]
        if negatives == 0:
            assert own["roc_hull"].is_empty()
            continue
        hull = own["roc_hull"].select("x", "y").to_numpy()
        assert (hull[0] == 0).all()
        np.testing.assert_allclose(hull[-1], 1)
        assert np.trapezoid(hull[:, 1], hull[:, 0]) == pytest.approx(hull_auc(y, p, w))
        slopes = np.diff(hull[:, 1]) / np.maximum(np.diff(hull[:, 0]), 1e-300)
        assert (np.diff(slopes) < 0).all()


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
    models = ["sharp_top", "broad", "useless"]
    found = curves(table, models=models, curves=["roc", "roc_hull"])
    hull = found.filter(curve="roc_hull_models")
    assert set(hull["model"]) == {"sharp_top", "broad"}
    assert hull["upper"][0] is None
    assert hull["lower"][-1] == 0
    every = found.filter(curve="roc")
    for row in hull.iter_rows(named=True):
        slope = (row["lower"] + (row["upper"] or row["lower"] + 10)) / 2
        best = (every["y"] - slope * every["x"]).max()
        assert row["y"] - slope * row["x"] == pytest.approx(best, abs=1e-12)
    assert curves(table, models="broad", curves=["roc_hull"]).filter(curve="roc_hull_models").is_empty()


@pytest.mark.parametrize("shape", ["roc", "steps", "noise"])
def test_thinning_hardly_moves_the_area(shape):
    rng = np.random.default_rng(0)
    size = 60_000
    if shape == "roc":
        positive = rng.random(size) < 0.3
        order = np.argsort(-rng.beta(1 + positive, 2))
        x, y = np.cumsum(~positive[order]) / (~positive).sum(), np.cumsum(positive[order]) / positive.sum()
    elif shape == "steps":
        x, y = np.sort(rng.random(size)), np.sort(rng.integers(0, 40, size) / 40)
    else:
        x = np.arange(size) / size
        y = 0.3 + 0.5 * x + np.cumsum(rng.normal(0, 1e-4, size))
    keep = thin(x, y)
    assert len(keep) <= 1000
    assert (keep[0], keep[-1]) == (0, size - 1)
    assert abs(np.trapezoid(y[keep], x[keep]) - np.trapezoid(y, x)) < 1e-4
    assert np.abs(np.interp(x, x[keep], y[keep]) - y)[np.append(np.diff(x) > 1e-9, False)].max() < 0.01


@pytest.mark.parametrize(
    ("task", "curve", "words"),
    [
        ("binary", "residual_qq", "curve 'residual_qq' belongs to task 'regression'"),
        ("regression", "lift", "curve 'lift' belongs to task 'binary'"),
        ("binary", {"curve": "cost", "cost_fp": -1}, "cost_fp must be"),
        ("binary", "rok", "curve must be"),
    ],
)
def test_what_is_wrong_is_said(task, curve, words):
    table = sample(20, seed=1)
    with pytest.raises(plm.ConfigError) as caught:
        plm.evaluate(
            table.with_columns(pl.col("y").cast(pl.Float64)), task=task, label="y", models="p", curves=[curve]
        )
    assert words in str(caught.value)
