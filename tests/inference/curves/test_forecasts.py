"""Curves of forecasts against NumPy and SciPy: definitions written out row by row."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import confusion_matrix

import plmetrics as plm

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
MEMBERS = 7
NAMES = ["coverage", "quantile_coverage", "pit_histogram"]
MODELS = {
    "columns": {"quantiles": {level: f"q{level}" for level in LEVELS}},
    "normal": {"mean": "mu", "sd": "sd"},
    "ensemble": {"members": [f"m{number}" for number in range(MEMBERS)]},
}


def table(rows: int = 700, seed: int = 0, *, whole: bool = False) -> pl.DataFrame:
    """Forecasts that are about right, some of whose quantiles cross; `whole` ones are counts, which are often equal."""
    rng = np.random.default_rng(seed)
    mu = rng.normal(2, 1.5, rows)
    y = mu + rng.normal(size=rows)
    columns = {f"q{level}": mu + stats.norm.ppf(level) * 0.9 for level in LEVELS}
    columns |= {f"m{number}": mu + rng.normal(size=rows) for number in range(MEMBERS)}
    columns["q0.5"] = np.where(rng.random(rows) < 0.05, columns["q0.95"] + 1, columns["q0.5"])
    if whole:
        y = np.maximum(np.round(y), 0)
        columns = {name: np.maximum(np.round(values), 0) for name, values in columns.items()}
    frame = pl.DataFrame(columns).with_columns(
        y=pl.Series(y),
        mu=pl.Series(mu),
        sd=pl.Series(rng.uniform(0.5, 1.5, rows)),
        g=pl.Series(rng.choice(["a", "b"], rows)),
        w=pl.Series(rng.integers(0, 4, rows)),
        u=pl.Series(rng.integers(0, 60, rows)),
    )
    certain = pl.int_range(pl.len()) < 5
    frame = frame.with_columns(sd=pl.when(certain).then(0.0).otherwise("sd"))
    return frame.with_columns(mu=pl.when(pl.int_range(pl.len()) < 2).then("y").otherwise("mu"))


def curves(rows: Any, **arguments: Any) -> pl.DataFrame:
    given = {"task": "quantile", "label": "y", "models": MODELS, "metrics": ["crps"], "slices": "g"}
    asked = [{"curve": name, "slices": "g"} for name in NAMES]
    return plm.evaluate(rows, **{**given, "curves": asked, **arguments}).curves


def parts(rows: pl.DataFrame, weight: str | None) -> Any:
    rows = rows if weight is None else rows.filter(pl.col(weight) > 0)
    for text, part in (("all", rows), ("g=a", rows.filter(g="a")), ("g=b", rows.filter(g="b"))):
        yield text, part, np.ones(part.height) if weight is None else part[weight].to_numpy().astype(float)


def spread_over(low: float, high: float, edges: np.ndarray) -> np.ndarray:
    """A unit of mass evenly between two levels, by bin."""
    overlap = np.minimum(high, edges[1:]) - np.maximum(low, edges[:-1])
    return np.maximum(overlap, 0) / (high - low)


def transform(part: pl.DataFrame, model: str) -> tuple[np.ndarray, np.ndarray]:
    """The edges of bins, and the mass of each row in each."""
    y = part["y"].to_numpy()
    if model == "normal":
        edges = np.linspace(0, 1, 21)
        sd = part["sd"].to_numpy()
        error = y - part["mu"].to_numpy()
        with np.errstate(divide="ignore", invalid="ignore"):
            u = stats.norm.cdf(error / sd)
        out = [np.diff(edges) if np.isnan(value) else np.histogram(value, edges)[0] for value in u]
        return edges, np.array(out, dtype=float)
    columns = [f"q{level}" for level in LEVELS] if model == "columns" else MODELS["ensemble"]["members"]
    edges = np.array([0, *LEVELS, 1]) if model == "columns" else np.arange(MEMBERS + 2) / (MEMBERS + 1)
    out = []
    for label, values in zip(y, part.select(columns).to_numpy(), strict=True):
        ascending = np.sort(values)
        first, last = np.searchsorted(ascending, label), np.searchsorted(ascending, label, side="right")
        out.append(spread_over(edges[first], edges[last + 1], edges))
    return edges, np.array(out)


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("model", MODELS)
def test_histograms_of_the_transform(model: str, weight: str | None, *, whole: bool) -> None:
    rows = table(whole=whole)
    found = curves(rows, weight=weight).filter(curve="pit_histogram", model=model)
    for text, part, w in parts(rows, weight):
        own = found.filter(slice=text)
        edges, mass = transform(part, model)
        share = (w @ mass) / w.sum()
        np.testing.assert_allclose(own["x"], (edges[1:] + edges[:-1]) / 2)
        np.testing.assert_allclose(own["threshold"], edges[1:])
        np.testing.assert_allclose(own["y"], share / np.diff(edges), atol=1e-12)
        assert (own["y"] * np.diff(edges)).sum() == pytest.approx(1)
        if weight is None:
            np.testing.assert_allclose(own["n"], mass.sum(axis=0), atol=0.5 + 1e-9)
        else:
            assert own["n"].null_count() == own.height


def ends(part: pl.DataFrame, model: str) -> dict[float, np.ndarray]:
    """The quantiles of a model by level."""
    if model == "columns":
        return {level: part[f"q{level}"].to_numpy() for level in LEVELS}
    if model == "normal":
        mu, sd = part["mu"].to_numpy(), part["sd"].to_numpy()
        return {level: mu + stats.norm.ppf(level) * sd for level in np.arange(1, 20) / 20}
    ascending = np.sort(part.select(MODELS["ensemble"]["members"]).to_numpy(), axis=1)
    return {(rank + 1) / (MEMBERS + 1): ascending[:, rank] for rank in range(MEMBERS)}


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("model", MODELS)
def test_coverage(model: str, weight: str | None, *, whole: bool) -> None:
    rows = table(whole=whole)
    found = curves(rows, weight=weight).filter(model=model)
    for text, part, w in parts(rows, weight):
        y, quantiles = part["y"].to_numpy(), ends(part, model)
        below = found.filter(slice=text, curve="quantile_coverage")
        np.testing.assert_allclose(below["x"], list(quantiles))
        expected = [np.average(y <= values, weights=w) for values in quantiles.values()]
        np.testing.assert_allclose(below["y"], expected)
        levels = list(quantiles)
        pairs = [(low, high) for low, high in zip(levels, levels[::-1], strict=True) if low < high - 1e-9][
            ::-1
        ]
        central = found.filter(slice=text, curve="coverage")
        np.testing.assert_allclose(central["x"], [high - low for low, high in pairs])
        expected = [
            np.average((y >= quantiles[low]) & (y <= quantiles[high]), weights=w) for low, high in pairs
        ]
        np.testing.assert_allclose(central["y"], expected)
        assert (central["n"] == part.height).all()


def test_independent_rows_have_wilson_intervals() -> None:
    rows = table()
    found = curves(rows, slices=None, curves=NAMES)
    for row in found.filter(model="columns").iter_rows(named=True):
        width = 1.0 if row["threshold"] is None else 2 * (row["threshold"] - row["x"])
        hits = round(row["y"] * width * rows.height)
        test = stats.binomtest(hits, rows.height).proportion_ci(0.95, method="wilson")
        assert (row["lower"] * width, row["upper"] * width) == pytest.approx((test.low, test.high))


@pytest.mark.slow
@pytest.mark.parametrize("column", ["u", None])
def test_units_and_weights_have_percentiles_of_the_bootstrap(column: str | None) -> None:
    rows = table(2000)
    options = {"unit": "u"} if column else {"weight": "w"}
    assert curves(rows, **options)["lower"].null_count() > 0
    own = curves(rows, **options, uncertainty={"replicates": 2000, "method": "auto"})
    own = own.filter(model="columns", slice="all", curve="coverage", x=0.9).row(0, named=True)
    y = rows["y"].to_numpy()
    inside = (y >= rows["q0.05"].to_numpy()) & (y <= rows["q0.95"].to_numpy())
    w = np.ones(rows.height) if column else rows["w"].to_numpy().astype(float)
    unit = rows["u"].to_numpy() if column else np.arange(rows.height)
    hits, mass = np.bincount(unit, w * inside), np.bincount(unit, w)
    hits, mass = hits[mass > 0], mass[mass > 0]
    rng = np.random.default_rng(5)
    drawn = rng.multinomial(len(mass), np.full(len(mass), 1 / len(mass)), 4000)
    low, high = np.quantile((drawn @ hits) / (drawn @ mass), [0.025, 0.975])
    half = (high - low) / 2
    assert own["lower"] == pytest.approx(low, abs=0.2 * half)
    assert own["upper"] == pytest.approx(high, abs=0.2 * half)


def test_a_calibrated_forecast_is_flat_and_a_narrow_one_is_not() -> None:
    rng = np.random.default_rng(3)
    mu = rng.normal(size=4000)
    rows = pl.DataFrame({"y": mu + rng.normal(size=4000), "mu": mu}).with_columns(
        sd=pl.lit(1.0), narrow=pl.lit(0.6)
    )
    models = {"right": {"mean": "mu", "sd": "sd"}, "narrow": {"mean": "mu", "sd": "narrow"}}
    found = curves(rows, models=models, slices=None, curves=["pit_histogram"])
    assert stats.chisquare(found.filter(model="right")["n"]).pvalue > 0.01
    assert stats.chisquare(found.filter(model="narrow")["n"]).pvalue < 1e-20
    outer = found.filter(pl.col("model") == "narrow", pl.col("x").is_in([0.025, 0.975]))
    assert (outer["lower"] > 2).all()


def test_columns_named_by_what_they_begin_with_and_a_baseline() -> None:
    rows = table()
    named = curves(rows, models={"columns": {"quantiles": "q"}}, baseline=True)
    expected = curves(rows, models={"columns": MODELS["columns"]})
    assert named.filter(model="columns").equals(expected)
    flat = named.filter(model="baseline", slice="all", curve="quantile_coverage")
    np.testing.assert_allclose(flat["y"], LEVELS, atol=0.002)


def test_models_have_rows_of_their_own_where_values_are_missing() -> None:
    rows = table().with_columns(
        mu=pl.when(pl.int_range(pl.len()) < 300).then(None).otherwise("mu"),
        **{"q0.05": pl.when(pl.int_range(pl.len()) > 600).then(float("nan")).otherwise("q0.05")},
    )
    found = curves(rows, missing="drop_per_model").filter(slice="all")
    complete = curves(rows[300:], models={"normal": MODELS["normal"]}).filter(slice="all")
    columns = ["curve", "x", "y", "n", "lower"]
    assert found.filter(model="normal").select(columns).equals(complete.select(columns))
    assert found.filter(model="columns", curve="coverage")["n"].to_list() == [601, 601]
    with pytest.raises(plm.DataError, match="null"):
        curves(rows)


def test_many_members_share_bins() -> None:
    rng = np.random.default_rng(0)
    names = [f"m{number}" for number in range(49)]
    rows = pl.DataFrame(rng.normal(size=(3000, 50)), schema=["y", *names])
    found = curves(rows, models={"m": {"members": names}}, slices=None, curves=["pit_histogram"])
    assert found.height == 20
    rank = (rows.select(names).to_numpy() < rows["y"].to_numpy()[:, None]).sum(axis=1)
    expected, _ = np.histogram((rank + 0.5) / 50, [0, *found["threshold"]])
    np.testing.assert_array_equal(found["n"], expected)
    widths = np.diff([0, *found["threshold"]])
    np.testing.assert_allclose(found["y"], expected / 3000 / widths)


@pytest.mark.slow
def test_states_add_up_to_the_curves_of_all_rows() -> None:
    rows = table(whole=True)
    asked = [{"curve": name, "slices": "g"} for name in NAMES]
    arguments = {"task": "quantile", "label": "y", "models": MODELS, "metrics": ["crps"], "slices": "g"}
    states = [plm.state(part, curves=asked, **arguments) for part in (rows[:300], rows[300:])]
    merged, single = plm.merge(*states).curves, curves(rows)
    assert merged.drop("y", "lower", "upper").equals(single.drop("y", "lower", "upper"))
    for name in ("y", "lower", "upper"):
        np.testing.assert_allclose(merged[name], single[name], rtol=1e-12)


def test_they_are_in_the_metrics_nowhere_and_need_no_order() -> None:
    rows = table()
    result = plm.evaluate(
        rows, task="quantile", label="y", models=MODELS, metrics=["crps"], curves=NAMES, exact=False
    )
    assert result.metrics["metric"].unique().to_list() == ["crps"]
    assert result.curves["curve"].unique(maintain_order=True).to_list() == NAMES


def test_without_rows_or_pairs_of_levels_there_are_no_points() -> None:
    rows = table(40).with_columns(g=pl.when(pl.col("g") == "a").then(pl.lit("a")))
    found = curves(rows, models={"m": {"quantiles": {0.5: "q0.5", 0.9: "q0.75"}}})
    assert found.filter(curve="coverage").is_empty()
    assert found.filter(curve="pit_histogram", slice="all")["threshold"].to_list() == [0.5, 0.9, 1.0]
    with pytest.raises(plm.ConfigError, match="belongs to task 'quantile'"):
        plm.evaluate(rows, task="regression", label="y", models=["mu"], curves=["coverage"])


CUTS = {"a": 0.35, "b": 0.5}
DECISIONS_MODELS = {"a": {"score": "a", "threshold": 0.35}, "b": "b"}


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
    given = {"label": "y", "models": DECISIONS_MODELS, "metrics": ["accuracy"], "slices": ["g"]}
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
    asked = {
        "label": "y",
        "weight": "w",
        "models": DECISIONS_MODELS,
        "metrics": ["accuracy"],
        "curves": ["confusion"],
    }
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
