"""Net benefit against its definition, row by row."""

import numpy as np
import polars as pl
import pytest
from references.samples import EXACT, probability_sample

import plmetrics as plm


def curves(table, **arguments):
    asked = [{"curve": "net_benefit", "slices": "g"}]
    given = {"label": "y", "models": "p", "metrics": ["accuracy"], "slices": "g", "curves": asked}
    return plm.evaluate(table, **{**given, **arguments}).curves


def benefit(y, called, w, t):
    """Vickers and Elkin (2006): tp/n - fp/n t/(1 - t)."""
    n = w.sum()
    return (w[y & called].sum() / n) - (w[~y & called].sum() / n) * t / (1 - t)


@pytest.mark.exhaustive
@EXACT
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("decimals", [None, 2])
def test_values_are_those_of_the_definition(decimals, weight, exact):
    table = probability_sample(1_200, seed=1, decimals=decimals)
    found = curves(table, weight=weight, exact=exact)
    for text, part in [("all", table), ("g=a", table.filter(g="a"))]:
        y, p, w = (part[name].to_numpy() for name in "ypw")
        w = w if weight else np.ones(len(y))
        ts = [i / 100 for i in range(1, 100)]
        own, on_all = (found.filter(slice=text, curve=name) for name in ("net_benefit", "net_benefit_all"))
        assert own["x"].to_list() == own["threshold"].to_list() == on_all["x"].to_list() == ts
        assert on_all["model"].unique().to_list() == [""]
        np.testing.assert_allclose(own["y"], [benefit(y, p >= t, w, t) for t in ts], atol=1e-12)
        np.testing.assert_allclose(on_all["y"], [benefit(y, p >= 0, w, t) for t in ts], atol=1e-12)


@pytest.mark.slow
@EXACT
def test_bands_are_those_of_a_bootstrap(exact):
    table = probability_sample(2_000, seed=2)
    found = curves(table, exact=exact, uncertainty={"replicates": 1000, "seed": 1}).filter(slice="all")
    rng = np.random.default_rng(0)
    y, p = table["y"].to_numpy(), table["p"].to_numpy()
    draws = rng.multinomial(len(y), np.full(len(y), 1 / len(y)), size=1000)
    for name, lowest in (("net_benefit", None), ("net_benefit_all", 0.0)):
        widths, expected = [], []
        for row in found.filter(curve=name)[4:70:5].iter_rows(named=True):
            t = row["x"]
            called = p >= (t if lowest is None else lowest)
            drawn = draws @ (y * called - ~y * called * t / (1 - t)) / len(y)
            expected.append(np.diff(np.quantile(drawn, [0.025, 0.975]))[0])
            widths.append(row["upper"] - row["lower"])
            assert row["lower"] < row["y"] < row["upper"]
        np.testing.assert_allclose(widths, expected, rtol=0.12)
        assert np.mean(widths) == pytest.approx(np.mean(expected), rel=0.06)


def test_one_curve_of_acting_on_all_for_all_models():
    table = probability_sample(200, seed=3).with_columns(q=pl.col("p") ** 2)
    found = curves(table, models=["p", "q"], curves=["net_benefit"])
    counts = found.group_by("curve", "model", maintain_order=True).len()
    assert counts.rows() == [("net_benefit", "p", 99), ("net_benefit", "q", 99), ("net_benefit_all", "", 99)]


@EXACT
def test_odd_tables(exact):
    one = curves(
        pl.DataFrame({"y": [False], "p": [0.4], "g": ["a"]}), exact=exact, uncertainty={"replicates": 50}
    )
    assert one["lower"].null_count() == one.height
    assert one.filter(curve="net_benefit", slice="all")["y"].to_list()[40:] == [0.0] * 59
    with pytest.raises(plm.DataError, match=r"outside \[0, 1\]"):
        curves(pl.DataFrame({"y": [False, True], "p": [0.4, 1.2], "g": ["a", "a"]}), exact=exact)
