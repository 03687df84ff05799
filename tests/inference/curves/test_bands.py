"""Bands of curves against bootstraps of rows and of clusters in NumPy, and how often they hold the true curve."""

import numpy as np
import polars as pl
import pytest
from conftest import THOROUGH
from polars.testing import assert_frame_equal
from scipy.stats import beta
from sklearn.metrics import roc_curve

import plmetrics as plm

CURVES = ["roc", "pr", "gain", "lift"]


def sample(rows, seed, prevalence=0.3, clusters=None):
    rng = np.random.default_rng(seed)
    if clusters is None:
        y, moved = rng.random(rows) < prevalence, 0.0
    else:
        unit = rng.integers(0, clusters, rows)
        y, moved = rng.random(clusters)[unit] < prevalence, rng.normal(0, 1, clusters)[unit]
    logit = rng.normal(1.5 * y, 1) + moved
    frame = pl.DataFrame({"y": y, "p": 1 / (1 + np.exp(-logit)), "g": "a"})
    return frame if clusters is None else frame.with_columns(u=pl.Series(unit))


def curves(table, **arguments):
    given = {"label": "y", "models": "p", "metrics": ["roc_auc"], "curves": CURVES}
    return plm.evaluate(
        table, **{"uncertainty": {"replicates": 1000, "seed": 5}, **given, **arguments}
    ).curves


def drawn_curves(y, p):
    """Recall by false positive rate, precision by recall and recall by share called, between points on lines."""
    fpr, recall, _ = roc_curve(y, p, drop_intermediate=False)
    return lambda x: at_points(y, fpr, recall, x)


def at_points(y, fpr, recall, x):
    positives, negatives = y.sum(), (~y).sum()
    first = np.unique(recall, return_index=True)[1]
    last = np.append(first[1:], len(recall)) - 1
    ends = np.column_stack([first, last]).ravel()
    called = np.interp(-x["pr"][::-1], -recall[ends][::-1], fpr[ends][::-1] * negatives)[::-1]
    right = x["pr"] * positives
    share = (recall * positives + fpr * negatives) / len(y)
    with np.errstate(invalid="ignore"):
        precision = right / (right + called)
    gain = np.interp(x["gain"], share, recall)
    lift = np.interp(x["lift"], share, recall) / x["lift"]
    return {"roc": np.interp(x["roc"], fpr, recall), "pr": precision, "gain": gain, "lift": lift}


def bootstrap_widths(table, places, draws, seed=0):
    """Widths of the bands of each curve, at several sets of places."""
    rng = np.random.default_rng(seed)
    y, p = table["y"].to_numpy(), table["p"].to_numpy()
    clustered = "u" in table.columns
    units = table["u"].to_numpy() if clustered else np.arange(len(y))
    rows = [np.flatnonzero(units == unit) for unit in np.unique(units)] if clustered else units
    drawn = [{name: [] for name in CURVES} for _ in places]
    for _ in range(draws):
        index = rng.integers(0, len(rows), len(rows))
        index = np.concatenate([rows[unit] for unit in index]) if clustered else index
        curves_at = drawn_curves(y[index], p[index])
        for by_curve, x in zip(drawn, places, strict=True):
            for name, values in curves_at(x).items():
                by_curve[name].append(values)
    return [
        {name: np.diff(np.quantile(v, [0.025, 0.975], axis=0), axis=0)[0] for name, v in by_curve.items()}
        for by_curve in drawn
    ]


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [None, 300], ids=["rows", "clusters"])
def test_widths_are_those_of_a_bootstrap(clusters):
    """In order and on a grid."""
    table = sample(3_000, seed=1, clusters=clusters)
    asked = {} if clusters is None else {"unit": "u"}
    found = [
        curves(table, exact=exact, **asked).filter(pl.col("x").is_between(0.05, 0.95))
        for exact in (None, False)
    ]
    places = [{name: inner.filter(curve=name)["x"].to_numpy() for name in CURVES} for inner in found]
    for inner, widths in zip(found, bootstrap_widths(table, places, draws=600), strict=True):
        for name, expected in widths.items():
            own = inner.filter(curve=name)
            width = (own["upper"] - own["lower"]).to_numpy()
            assert width.mean() == pytest.approx(expected.mean(), rel=0.05), name
            wide = expected > 0.3 * expected.mean()
            assert np.median(width[wide] / expected[wide]) == pytest.approx(1.0, abs=0.05), name
            assert (own["lower"] <= own["upper"]).all()


def test_a_band_leaves_the_points_as_they_are():
    table = sample(5_000, seed=2)
    banded, plain = curves(table), curves(table, uncertainty=None)
    assert plain.select(pl.all_horizontal(pl.col("lower", "upper").is_null()).all()).item()
    assert_frame_equal(banded.drop("lower", "upper"), plain.drop("lower", "upper"))
    for name in CURVES:
        own = banded.filter(curve=name)
        assert 500 < own.height <= 1000
        inside = own.filter(pl.col("lower").is_not_null() & (pl.col("x") > 0))
        assert inside.height > own.filter(pl.col("x") > 0).height - 10
        assert (
            (inside["lower"] <= inside["y"] + 1e-9) & (inside["y"] <= inside["upper"] + 1e-9)
        ).mean() > 0.97
    last = {name: banded.filter(curve=name).row(-1, named=True) for name in CURVES}
    assert all(last[name]["lower"] == last[name]["upper"] == last[name]["y"] for name in ("roc", "gain"))
    assert banded.filter(curve="pr").row(0, named=True)["lower"] is None


def test_a_point_has_the_band_of_its_x():
    """Points of one false positive rate share the band of the highest recall there, those of one recall a band, too."""
    found = curves(sample(300, seed=3))
    for name in ("roc", "pr"):
        ends = found.filter(curve=name).group_by("x").agg(pl.col("lower", "upper").n_unique())
        assert ends.select(pl.col("lower", "upper").max()).row(0) == (1, 1)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("rows", "banded"),
    [
        ({"y": [True, False] * 20, "p": [0.9, 0.1] * 20, "u": list(range(40))}, CURVES),
        ({"y": [True, False] * 20, "p": [0.9, 0.1] * 20, "u": [1] * 40}, []),
        ({"y": [True] * 2 + [False] * 38, "p": [0.9, 0.1] * 20, "u": [0, 0, *range(38)]}, []),
        ({"y": [False] * 2 + [True] * 38, "p": [0.9, 0.1] * 20, "u": [0, 0, *range(38)]}, CURVES[1:]),
        ({"y": [True] * 40, "p": [0.9, 0.1] * 20, "u": list(range(40))}, CURVES[1:]),
        ({"y": [False] * 40, "p": [0.9, 0.1] * 20, "u": list(range(40))}, []),
        ({"y": [True], "p": [0.4], "u": [1]}, []),
    ],
    ids=["units", "one_unit", "positives_of_one", "negatives_of_one", "positives", "negatives", "a_row"],
)
@pytest.mark.parametrize("exact", [None, False], ids=["rows", "grid"])
def test_there_is_no_band_without_units_of_both_classes(rows, banded, exact):
    found = curves(pl.DataFrame(rows), unit="u", exact=exact, uncertainty={"replicates": 200})
    shown = found.filter(pl.col("upper").is_not_null())["curve"].unique(maintain_order=True)
    assert shown.to_list() == banded


@pytest.mark.slow
def test_bands_in_slices_and_with_weights_are_those_of_the_rows_there():
    table = pl.concat([sample(1_500, seed=4), sample(800, seed=5).with_columns(g=pl.lit("b"))])
    table = table.with_columns(w=pl.lit(2.5), u=pl.int_range(pl.len()))
    asked = [{"curve": name, "slices": "g"} for name in CURVES]
    sliced = curves(table, curves=asked, slices="g", unit="u").filter(slice="g=b")
    weighted = curves(table, curves=asked, slices="g", unit="u", weight="w").filter(slice="g=b")
    assert_frame_equal(sliced, weighted, rel_tol=1e-6)
    alone = curves(table.filter(g="b"), unit="u")
    width = [(part["upper"] - part["lower"]).mean() for part in (sliced, alone)]
    assert width[0] == pytest.approx(width[1], rel=0.08)


@pytest.mark.slow
@pytest.mark.parametrize("exact", [None, False], ids=["rows", "grid"])
def test_bands_hold_the_true_curve(exact):
    """Scores of a Beta(1, 2) without and a Beta(2, 2) with the label, three in ten of which have it."""
    tables, rows = (1000, 1000) if THOROUGH else (80, 1000)
    grid = np.linspace(0, 1, 20_001)
    fpr, recall = beta.sf(grid, 1, 2)[::-1], beta.sf(grid, 2, 2)[::-1]
    share = 0.3 * recall + 0.7 * fpr
    true = {
        "roc": (fpr, recall),
        "pr": (recall, 0.3 * recall / np.maximum(share, 1e-300)),
        "gain": (share, recall),
        "lift": (share, recall / np.maximum(share, 1e-300)),
    }
    rng = np.random.default_rng(0)
    y = rng.random(tables * rows) < 0.3
    table = pl.DataFrame({"y": y, "p": rng.beta(1 + y, 2), "g": np.repeat(np.arange(tables), rows)})
    asked = {"slices": "g", "curves": [{"curve": name, "slices": "g"} for name in CURVES]}
    found = curves(table, exact=exact, uncertainty={"replicates": 200}, **asked).filter(slice_set="g")
    for name, (x, value) in true.items():
        inside = []
        for own in found.filter(curve=name).partition_by("slice"):
            at = np.searchsorted(own["x"].to_numpy(), [0.1, 0.3, 0.6])
            lower, upper, places = (own[column].to_numpy()[at] for column in ("lower", "upper", "x"))
            expected = np.interp(places, x, value)
            inside.append((lower <= expected) & (expected <= upper))
        assert len(inside) == tables
        assert np.mean(inside) == pytest.approx(0.95, abs=0.015 if THOROUGH else 0.045), name
