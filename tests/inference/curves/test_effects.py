"""Curves of predicted effects against the metrics that are their areas, and against NumPy."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm

AREAS = {"qini": "qini", "uplift": "auuc", "guelman": "auuc(method=guelman)"}


def table(rows: int = 400, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    t, score = rng.random(rows) < 0.4, np.round(rng.normal(size=rows), 1)
    return pl.DataFrame(
        {
            "y": score * t + rng.normal(size=rows),
            "t": t,
            "p": score,
            "w": rng.integers(0, 3, rows),
            "g": rng.choice(["a", "b"], rows),
            "alone": t.astype(int),
        }
    )


def evaluate(rows: pl.DataFrame, *curves: str, slices: str | None = "g", **settings: Any) -> plm.Result:
    asked: dict[str, Any] = {"task": "uplift", "label": "y", "treatment": "t", "models": "p"}
    asked |= {"metrics": list(AREAS.values()), "slices": slices}
    asked["curves"] = [{"curve": curve, "slices": [slices]} if slices else curve for curve in curves]
    return plm.evaluate(rows, **asked | settings)


@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("curve", AREAS)
def test_metrics_are_areas_of_the_curves(curve: str, weight: str | None) -> None:
    result = evaluate(table(), curve, weight=weight)
    for name in ("all", "g=a", "g=b"):
        points = result.curves.filter(curve=curve, slice=name)
        x, y = points["x"].to_numpy(), points["y"].to_numpy()
        assert (x[0], y[0], x[-1]) == (0.0, 0.0, pytest.approx(1.0))
        assert points["threshold"].is_null().to_list() == [True] + [False] * (len(x) - 1)
        assert points["threshold"].drop_nulls().is_sorted(descending=True)
        area = np.trapezoid(y, x) - (y[-1] / 2 if curve == "qini" else 0.0)
        value = result.metrics.filter(metric=AREAS[curve], slice=name)["value"].item()
        assert area == pytest.approx(value, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("curve", [*AREAS, "effect_calibration"])
def test_a_slice_with_an_empty_arm_has_no_curve(curve: str) -> None:
    result = evaluate(table(), curve, slices="alone")
    assert result.curves["slice"].unique().to_list() == ["all"]


@pytest.mark.parametrize("weight", [None, "w"])
def test_effect_calibration_is_the_effect_by_tenth_of_the_scores(weight: str | None) -> None:
    rows = table()
    result = evaluate(rows, "effect_calibration", weight=weight, uncertainty={"replicates": 300})
    for name, part in {"all": rows, "g=a": rows.filter(g="a")}.items():
        own = part.filter(pl.col("w") > 0) if weight else part
        score, y, t = (own[column].to_numpy() for column in ("p", "y", "t"))
        w = own["w"].to_numpy() if weight else np.ones(len(score))
        repeated = np.repeat(score, w.astype(int))
        edges = np.quantile(repeated, np.arange(1, 10) / 10, method="averaged_inverted_cdf")
        bins = [np.searchsorted(edges, score) == number for number in range(10)]
        bins = [held for held in bins if (held & t).any() and (held & ~t).any()]
        points = result.curves.filter(slice=name)
        np.testing.assert_allclose(points["x"], [np.average(score[held], weights=w[held]) for held in bins])
        effects = [
            np.average(y[held & t], weights=w[held & t]) - np.average(y[held & ~t], weights=w[held & ~t])
            for held in bins
        ]
        np.testing.assert_allclose(points["y"], effects)
        assert ((points["lower"] <= points["y"]) & (points["y"] <= points["upper"])).all()
        assert points["n"].to_list() == ([None] * len(bins) if weight else [held.sum() for held in bins])


def test_bands_are_as_wide_as_effects_vary() -> None:
    """Half the width of a 95 % band is about 1.96 textbook errors of a difference of means."""
    rows = table(6000, seed=3)
    points = evaluate(rows, "effect_calibration", uncertainty={"replicates": 500}).curves.filter(slice="all")
    edges = np.quantile(rows["p"], np.arange(1, 10) / 10, method="averaged_inverted_cdf")
    place, t, y = np.searchsorted(edges, rows["p"]), rows["t"].to_numpy(), rows["y"].to_numpy()
    errors = [
        np.sqrt(sum(y[held].var(ddof=1) / held.sum() for held in (t & (place == i), ~t & (place == i))))
        for i in range(10)
    ]
    half = (points["upper"] - points["lower"]).to_numpy() / 2
    assert np.mean(half / errors) == pytest.approx(1.96, rel=0.08)


@pytest.mark.parametrize("curve", [*AREAS, "effect_calibration"])
def test_without_intervals_there_are_no_bands(curve: str) -> None:
    points = evaluate(table(), curve).curves
    assert points["lower"].null_count() == points["upper"].null_count() == points.height > 0


def gained(score: Any, y: Any, t: Any, w: Any, at: dict[str, pl.DataFrame]) -> dict[str, Any]:
    """Curves at the shares of some points, from weighted rows one by one: each row is a point."""
    order = np.argsort(-score, kind="stable")
    w, t, y = w[order], t[order], y[order]
    treated, control = np.cumsum(w * t), np.cumsum(w * ~t)
    treated_outcome, control_outcome = np.cumsum(w * t * y), np.cumsum(w * ~t * y)
    share = np.cumsum(w) / w.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.nan_to_num(treated_outcome / treated), np.nan_to_num(control_outcome / control)
        values = {
            "qini": (treated_outcome - means[1] * treated) / treated[-1],
            "uplift": share * (means[0] - means[1]),
            "guelman": treated_outcome / treated[-1] - control_outcome / control[-1],
        }
    return {
        curve: np.interp(own["x"], np.append(0, share), np.append(0, values[curve]))
        for curve, own in at.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"weight": "w"}, {"unit": "u"}], ids=["rows", "weights", "units"])
def test_bands_of_gains_are_those_of_a_bootstrap_of_rows(options: dict[str, str]) -> None:
    rng = np.random.default_rng(8)
    rows = table(3000, seed=8).with_columns(
        p=pl.Series(rng.normal(size=3000)), u=pl.Series(rng.integers(0, 80, 3000))
    )
    rows = rows.with_columns(y=pl.col("y") + pl.col("p") * pl.col("t"))
    asked = {"metrics": ["qini"], "slices": "g" if "unit" in options else None, **options}
    result = evaluate(rows, *AREAS, uncertainty={"replicates": 1000}, **asked).curves.filter(slice="all")
    points = {curve: result.filter(curve=curve) for curve in AREAS}
    at = np.array([0.1, 0.3, 0.6, 1.0])
    own = {
        curve: part[[int(np.argmin(np.abs(part["x"].to_numpy() - x))) for x in at]]
        for curve, part in points.items()
    }
    score, y, t = (rows[name].to_numpy() for name in ("p", "y", "t"))
    w = rows["w"].to_numpy().astype(float) if "weight" in options else np.ones(len(y))
    unit = rows["u"].to_numpy() if "unit" in options else np.arange(len(y))
    drawn = []
    for _ in range(600):
        times = np.bincount(rng.integers(0, unit.max() + 1, unit.max() + 1), minlength=unit.max() + 1)
        drawn.append(gained(score, y, t, w * times[unit], own))
    for curve, value in gained(score, y, t, w, own).items():
        low, high = np.quantile([one[curve] for one in drawn], [0.025, 0.975], axis=0)
        width = high - low
        np.testing.assert_allclose(own[curve]["y"], value, atol=1e-9)
        assert np.abs(own[curve]["lower"].to_numpy() - low).max() < 0.2 * width.max()
        np.testing.assert_allclose((own[curve]["upper"] - own[curve]["lower"]) / width, 1, atol=0.15)
        assert points[curve]["lower"][0] == points[curve]["upper"][0] == 0


@pytest.mark.slow
def test_the_last_point_of_gains_is_the_effect_with_its_interval() -> None:
    rows = table(2000, seed=2)
    result = evaluate(rows, "guelman", uncertainty={"replicates": 2000, "interval": "percentile"})
    last = result.curves.filter(slice="all").row(-1, named=True)
    settings = {"task": "uplift", "label": "y", "treatment": "t", "models": "p", "metrics": ["ate"]}
    effect = plm.evaluate(rows, **settings, uncertainty={"replicates": 2000, "interval": "percentile"})
    ate = effect.metrics.row(0, named=True)
    assert (last["x"], last["y"]) == (pytest.approx(1), pytest.approx(ate["value"]))
    half = (ate["upper"] - ate["lower"]) / 2
    assert last["lower"] == pytest.approx(ate["lower"], abs=0.02 * half)
    assert last["upper"] == pytest.approx(ate["upper"], abs=0.02 * half)


@pytest.mark.exhaustive
@pytest.mark.parametrize("curve", [*AREAS, "effect_calibration"])
def test_where_none_of_an_arm_had_the_outcome_there_is_no_band(curve: str) -> None:
    """Of five treated rows of which none bought no replicate buys: such bands held the curve in half the tables."""
    rng = np.random.default_rng(4)
    score, treated = np.sort(rng.random(600)), rng.random(600) < 0.2
    bought = (rng.random(600) < 0.3) & ~(treated & (score > 0.85))
    rows = pl.DataFrame({"p": score, "t": treated, "y": bought.astype(float), "g": 1, "w": 1})
    points = evaluate(rows, curve, uncertainty={"replicates": 100}).curves.filter(slice="all")
    none_bought = points["x"] > 0.9 if curve == "effect_calibration" else points["x"].is_between(0.01, 0.14)
    some = points["x"] < 0.7 if curve == "effect_calibration" else points["x"] > 0.3
    assert points.filter(none_bought)["lower"].null_count() == none_bought.sum() > 0
    assert points.filter(some)["lower"].null_count() == 0


def test_an_arm_of_one_unit_has_no_band() -> None:
    rows = table(300).with_columns(u=pl.when("t").then(0).otherwise(pl.int_range(pl.len())))
    points = evaluate(rows, "qini", unit="u", uncertainty={"replicates": 50}).curves
    assert points["lower"].null_count() == points.height > 0
