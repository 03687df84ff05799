"""Curves of a regression against NumPy."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

import plmetrics as plm

NAMES = [
    "residual_histogram",
    "residual_qq",
    "label_histogram",
    "conditional_label",
    "conditional_prediction",
    "conditional_recall",
    "residual_prediction",
    "residual_quantiles",
]
CURVES = [{"curve": name, "slices": ["g"]} for name in NAMES]


def table(rows=600, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.normal(10, 3, rows)
    return pl.DataFrame(
        {
            "y": y,
            "p": y + rng.normal(0.5, 1, rows),
            "q": rng.normal(10, 3, rows),
            "w": rng.integers(0, 3, rows),
            "g": rng.choice(["a", "b"], rows),
        }
    )


def curves(rows, **arguments):
    given = {"task": "regression", "label": "y", "models": ["p", "q"], "metrics": ["mae"], "slices": "g"}
    return plm.evaluate(rows, **{**given, "curves": CURVES, **arguments}).curves


def parts(rows, weight):
    rows = rows.filter(pl.col("w") > 0) if weight else rows
    for text, part in (("all", rows), ("g=a", rows.filter(g="a")), ("g=b", rows.filter(g="b"))):
        w = part["w"].to_numpy().astype(float) if weight else np.ones(part.height)
        yield text, part["y"].to_numpy(), part, w


@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "w"])
def test_histograms_share_their_bins(weight):
    rows = table()
    found = curves(rows, weight=weight)
    held = rows.filter(pl.col("w") > 0) if weight else rows
    every = np.concatenate([held["p"] - held["y"], held["q"] - held["y"]])
    edges = {
        "residual_histogram": np.linspace(every.min(), every.max(), 51),
        "label_histogram": np.linspace(held["y"].min(), held["y"].max(), 51),
    }
    for text, y, part, w in parts(rows, weight):
        for model in ("p", "q"):
            values = {"residual_histogram": part[model].to_numpy() - y, "label_histogram": y}
            for name, numbers in values.items():
                own = found.filter(curve=name, slice=text, model=model)
                share, _ = np.histogram(numbers, bins=edges[name], weights=w)
                np.testing.assert_allclose(own["y"], share / w.sum(), atol=1e-12)
                np.testing.assert_allclose(own["threshold"], edges[name][1:])
                assert own["n"].sum() == len(numbers)


@pytest.mark.slow
def test_residuals_against_normal_quantiles():
    rows = table(401)
    own = curves(rows).filter(curve="residual_qq", slice="all", model="p")
    errors = np.sort(rows["p"] - rows["y"])
    np.testing.assert_allclose(own["x"], stats.norm.ppf((np.arange(1, 402) - 0.5) / 401))
    np.testing.assert_allclose(own["y"], (errors - errors.mean()) / errors.std())
    long = curves(table(5000)).filter(curve="residual_qq", slice="all", model="p")
    assert 100 < long.height <= 1000


@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "w"])
def test_conditional_means(weight):
    rows = table()
    found = curves(rows, weight=weight)
    for text, y, part, w in parts(rows, weight):
        for model in ("p", "q"):
            p = part[model].to_numpy()
            for name, by, values in (
                ("conditional_label", p, y),
                ("conditional_prediction", y, p),
                ("residual_prediction", p, p - y),
            ):
                own = found.filter(curve=name, slice=text, model=model)
                assert own.height == 20
                low = -np.inf
                for row in own.iter_rows(named=True):
                    inside = (by > low) & (by <= row["threshold"])
                    low = row["threshold"]
                    assert row["n"] == inside.sum()
                    assert row["x"] == pytest.approx(np.average(by[inside], weights=w[inside]))
                    assert row["y"] == pytest.approx(np.average(values[inside], weights=w[inside]))
                    if weight is None:
                        low_end, high_end = stats.ttest_1samp(values[inside], 0).confidence_interval(0.95)
                        assert (row["lower"], row["upper"]) == (
                            pytest.approx(low_end),
                            pytest.approx(high_end),
                        )
                assert own["n"].sum() == len(y)


def test_a_bin_of_fewer_than_two_effective_rows_has_no_band():
    y = np.arange(40.0)
    rows = pl.DataFrame({"y": y, "p": y // 2, "w": np.tile([1.0, 1.0, 1.0, 1e-3], 10)})
    own = plm.evaluate(
        rows, task="regression", label="y", models="p", weight="w", curves=["conditional_label"]
    ).curves
    lone = own.filter(pl.int_range(pl.len()) % 2 == 1)
    assert own["n"].to_list() == [2] * 20
    assert lone["lower"].is_null().all()
    even = own.filter(pl.int_range(pl.len()) % 2 == 0)
    assert (even["upper"] - even["y"]).to_list() == pytest.approx([stats.t.ppf(0.975, 1) / 2] * 10)


@pytest.mark.slow
def test_conditional_recall_is_the_share_that_stays_in_its_bin():
    rows = table()
    own = curves(rows).filter(curve="conditional_recall", slice="all", model="p")
    edges = [-np.inf, *own["threshold"].to_list()[:-1], np.inf]
    y, p = rows["y"].to_numpy(), rows["p"].to_numpy()
    for row, low, high in zip(own.iter_rows(named=True), edges[:-1], edges[1:], strict=True):
        inside = (y > low) & (y <= high)
        assert row["y"] == pytest.approx(((p > low) & (p <= high))[inside].mean())
    perfect = curves(rows.with_columns(p="y")).filter(curve="conditional_recall", slice="all", model="p")
    assert (perfect["y"] == 1).all()


@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "w"])
def test_residual_quantiles_of_bins_of_the_prediction(weight):
    rows = table()
    found = curves(rows, weight=weight).filter(curve="residual_quantiles")
    for text, y, part, w in parts(rows, weight):
        p = part["p"].to_numpy()
        for level in (0.05, 0.25, 0.5, 0.75, 0.95):
            own = found.filter(slice=text, model="p", **{"class": str(level)})
            assert own.height == 20
            low = -np.inf
            for row in own.iter_rows(named=True):
                inside = (p > low) & (p <= row["threshold"])
                low = row["threshold"]
                assert row["n"] == inside.sum()
                assert row["x"] == pytest.approx(np.average(p[inside], weights=w[inside]))
                repeated = np.repeat((p - y)[inside], w[inside].astype(int))
                assert row["y"] == pytest.approx(np.quantile(repeated, level, method="averaged_inverted_cdf"))
            assert own["n"].sum() == len(y)
    assert found.filter(slice="all", model="p").height == 100


@pytest.mark.slow
def test_constant_values_and_single_rows():
    rows = table(30).with_columns(y=pl.lit(4.0), p=pl.lit(4.0), q=pl.lit(5.0))
    found = curves(rows)
    assert found.filter(curve="residual_qq").is_empty()
    assert found.filter(curve="label_histogram", slice="all", model="p")["y"].max() == 1
    one = curves(table(1), slices=None, curves=NAMES)
    conditional = one.filter(curve="conditional_label", model="p").row(0, named=True)
    assert (conditional["n"], conditional["lower"], conditional["upper"]) == (1, None, None)


def test_equal_residuals_are_one_point_at_the_middle_of_their_ranks():
    rows = pl.DataFrame({"y": [0.0] * 8, "p": [-2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 4.0], "q": 0.0, "g": "a"})
    own = curves(rows).filter(curve="residual_qq", slice="all", model="p")
    np.testing.assert_allclose(own["x"], stats.norm.ppf([0.5 / 8, 0.5, 7.5 / 8]), atol=1e-12)


@pytest.mark.slow
def test_offsets_of_any_size_cost_no_digits():
    rows = table()
    far = rows.with_columns(pl.col("y", "p", "q") + 1e9)
    own, other = (curves(frame).filter(curve="conditional_label") for frame in (rows, far))
    for column in ("y", "lower", "upper"):
        np.testing.assert_allclose(other[column] - 1e9, own[column], atol=1e-5)


def test_residuals_that_differ_by_rounding_alone_have_no_normal_quantiles():
    """0.1 + 1 - 0.1 is 1 but for its last digit; a spread of 1e-9 of the residual is one."""
    y = np.round(np.random.default_rng(2).normal(size=200), 2)
    for spread, points in ((0.0, 0), (1e-9, 200)):
        p = y + 1 + spread * np.arange(200)
        found = plm.evaluate(
            pl.DataFrame({"y": y, "p": p}),
            task="regression",
            label="y",
            models="p",
            metrics=["error_variance"],
            curves=["residual_qq"],
        )
        assert found.curves.height == points
        assert (found.metrics["value"].item() > 0) == (spread > 0)
