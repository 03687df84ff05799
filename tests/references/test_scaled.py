"""Scaled errors against loops over the series."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

import plmetrics as plm
from plmetrics.engine.aggregate.aggregation import sum_plans
from plmetrics.engine.binding.bind import bind
from plmetrics.engine.prepare.preparation import prepare
from plmetrics.features.explain.passes import fallbacks
from plmetrics.suite.arguments import suite_from_arguments
from plmetrics.table.opening import open_source


def table() -> pl.DataFrame:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"shop": ["a"] * 30 + ["b"] * 20 + ["c"], "day": [*range(30), *range(20), 0]})
    frame = frame.with_columns(y=pl.Series(rng.normal(10, 3, 51)), w=pl.Series(rng.choice([1.0, 2.0], 51)))
    frame = frame.with_columns(
        p=pl.col("y") + pl.Series(rng.normal(0, 1, 51)), scale=pl.Series(rng.uniform(1, 3, 51))
    )
    return frame.sample(fraction=1.0, shuffle=True, seed=1)


def by_hand(rows: pl.DataFrame, shops: str, season: int, weight: str | None) -> float:
    """The mean error of some shops over the mean change of their labels in a season."""
    errors, changes, masses = [], [], []
    for shop in shops:
        part = rows.filter(shop=shop).sort("day")
        y, p = part["y"].to_list(), part["p"].to_list()
        w = [1.0] * len(y) if weight is None else part[weight].to_list()
        errors += [(w[i] * abs(p[i] - y[i]), w[i]) for i in range(len(y))]
        changes += [w[i] * abs(y[i] - y[i - season]) for i in range(season, len(y))]
        masses += w[season:]
    mean = sum(error for error, _ in errors) / sum(mass for _, mass in errors)
    return mean / (sum(changes) / sum(masses))


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("season", [1, 7])
def test_the_scale_from_labels_in_time_order(season: int, weight: str | None) -> None:
    rows = table()
    given = "" if season == 1 else f"season={season}, "
    metric = f"mase({given}time=day, series=shop)"
    found = plm.evaluate(
        rows,
        task="regression",
        label="y",
        models="p",
        metrics=[metric],
        slices=["shop"],
        weight=weight,
        uncertainty={"replicates": 50},
    ).metrics
    assert found["metric"].unique().to_list() == [metric]
    value = dict(zip(found["slice"], found["value"], strict=True))
    assert value["all"] == pytest.approx(by_hand(rows, "abc", season, weight), rel=1e-12)
    for shop in "ab":
        assert value[f"shop={shop}"] == pytest.approx(by_hand(rows, shop, season, weight), rel=1e-12)
    assert found.filter(slice="shop=c")["status"].item() == "zero_denominator"
    assert found.filter(slice="all")["interval_status"].item() == "ok"


def test_bad_labels_and_rows_of_weight_0_are_no_naive_forecasts() -> None:
    """Dropped labels are unknown, rows of weight 0 absent."""
    rows = pl.DataFrame(
        {"day": range(6), "y": [1.0, float("nan"), 2.0, 5.0, 9.0, 8.0], "w": [1, 1, 1, 1, 0, 1]}
    )
    found = plm.evaluate(
        rows.with_columns(p=pl.lit(4.0)),
        task="regression",
        label="y",
        models="p",
        weight="w",
        missing="drop",
        metrics=["mase(time=day)", "scaled_mae(by=w)"],
    ).metrics
    errors = (3 + 2 + 1 + 4) / 4
    naive = ((5 - 2) + (8 - 5)) / 2
    assert found["value"].to_list() == pytest.approx([errors / naive, errors / np.std([1, 2, 5, 8])])


@pytest.mark.parametrize("metric", ["mase(time=day)", "scaled_mae(by=shop)"])
@pytest.mark.parametrize("other", [0.3, 0.1 + 0.2])
def test_labels_that_differ_in_their_last_digits_are_no_scale(metric: str, other: float) -> None:
    rows = pl.DataFrame({"shop": "a", "day": [1, 2, 3], "y": [0.3, other, 0.3], "p": [1.0, 2.0, 3.0]})
    found = plm.evaluate(rows, task="regression", label="y", models="p", metrics=[metric]).metrics
    assert found.select("value", "status").row(0) == (None, "zero_denominator")


@pytest.mark.parametrize("metric", ["mase(time=day, series=shop)", "scaled_mae(by=shop)"])
def test_states_of_some_rows_are_refused(metric: str) -> None:
    with pytest.raises(plm.ConfigError, match="reads other rows beside each row"):
        plm.state(table(), task="regression", label="y", models="p", metrics=["mae", metric])


def test_a_scale_column() -> None:
    rows = table()
    expected = ((rows["p"] - rows["y"]).abs() / rows["scale"]).mean()
    found = plm.evaluate(
        rows, task="regression", label="y", models="p", metrics=["mase(scale=scale)"]
    ).metrics
    assert found["value"].item() == pytest.approx(expected, rel=1e-12)


def test_a_scale_column_is_tested_as_the_mean_over_rows_that_it_is() -> None:
    rows = table().with_columns(naive=pl.col("y") + 2.0 * (pl.col("day") % 3) - 1.7)
    found = plm.evaluate(
        rows,
        task="regression",
        label="y",
        models={"model": "p", "naive": "naive"},
        metrics=["mase(scale=scale)"],
        compare={
            "baseline": "naive",
            "tests": ["paired_t", {"diebold_mariano": {"time": "day", "horizon": 2}}],
        },
    ).comparisons
    loss = [(rows[model] - rows["y"]).abs() / rows["scale"] for model in ("p", "naive")]
    rows = rows.with_columns(loss=loss[0] - loss[1])
    paired = found.filter(test="paired_t")["p_value"].item()
    assert paired == pytest.approx(stats.ttest_1samp(rows["loss"].to_numpy(), 0.0).pvalue, rel=1e-9)
    losses = rows.group_by("day").agg(pl.col("loss").mean()).sort("day")["loss"].to_numpy()
    count, away = len(losses), losses - losses.mean()
    variance = (away @ away + 2 * away[1:] @ away[:-1]) / count**2
    statistic = losses.mean() / np.sqrt(variance * count / (count - 3 + 2 / count))
    ordered = found.filter(pl.col("test").str.starts_with("diebold_mariano"))["p_value"].item()
    assert ordered == pytest.approx(2 * stats.t.sf(abs(statistic), count - 1), rel=1e-9)


def test_plans_stream() -> None:
    suite = suite_from_arguments(
        task="regression", label="y", models="p", metrics=["mase(time=day, series=shop)"], slices=["shop"]
    )
    run_plan = prepare(bind(suite, open_source(table())))
    assert not [fallback for group in sum_plans(run_plan) for plan in group for fallback in fallbacks(plan)]


@pytest.mark.parametrize(
    ("metric", "kind", "words"),
    [
        ("mase", plm.ConfigError, "give either scale"),
        ("mase(scale=scale, time=day)", plm.ConfigError, "give either scale"),
        ("mase(season=2, scale=scale)", plm.ConfigError, "belong to time"),
        ("mase(scale=gone)", plm.DataError, "'gone'"),
        ("mase(time=gone)", plm.DataError, "'gone'"),
        (
            "mase(scale=bad)",
            plm.DataError,
            "1 of 51 values is null, infinite or not above 0; the first is 0.0",
        ),
        ("mase(scale=shop)", plm.DataError, "of type String, but must hold numbers"),
        ("mase(time=gap, series=shop)", plm.DataError, "within 'shop'): 1 of 51 values is null or NaN"),
        (
            "mase(time=nan, series=shop)",
            plm.DataError,
            "(time of mase within 'shop'): 1 of 51 values is null or NaN; the first is nan in row 7",
        ),
        (
            "mase(time=text, series=shop)",
            plm.DataError,
            "51 of 51 values are no ISO date, and such texts are not in the order of time",
        ),
        ("mase(time=day)", plm.DataError, "41 of 51 values are the time of another row of a series"),
        ("mase(time=date)", plm.DataError, "the first is 2026-01-"),
        ("mase(season=99999999999999999999, time=day)", plm.ConfigError, "from 1 to 1,000,000,000"),
    ],
)
def test_what_is_wrong_is_said(metric: str, kind: type[Exception], words: str) -> None:
    rows = table().with_columns(bad=pl.when(pl.int_range(pl.len()) == 3).then(0.0).otherwise(1.0))
    rows = rows.with_columns(gap=pl.when(pl.int_range(pl.len()) != 7).then("day"))
    rows = rows.with_columns(nan=pl.col("gap").cast(pl.Float64).fill_null(float("nan")))
    rows = rows.with_columns(
        text=pl.date(2026, 1, 30).dt.offset_by(pl.format("{}d", "day")).dt.strftime("%d.%m.%Y")
    )
    rows = rows.with_columns(date=pl.date(2026, 1, 1 + pl.col("day")))
    with pytest.raises(kind) as error:
        plm.evaluate(rows, task="regression", label="y", models="p", metrics=[metric])
    assert words in str(error.value)


def test_iso_texts_are_times() -> None:
    rows = table().with_columns(date=pl.date(2026, 1, 30).dt.offset_by(pl.format("{}d", "day")))
    rows = rows.with_columns(text=pl.col("date").cast(pl.String))
    names = ["mase(time=date, series=shop)", "mase(time=text, series=shop)"]
    found = plm.evaluate(rows, task="regression", label="y", models="p", metrics=names).metrics["value"]
    assert found.to_list() == pytest.approx([by_hand(rows, "abc", 1, None)] * 2, rel=1e-12)


@pytest.mark.parametrize("weight", [None, "w"])
def test_the_scale_of_a_segment(weight: str | None) -> None:
    """In every slice an error has the unit of its segment; a segment of one row has none."""
    rows = table().with_columns(half=pl.col("day") < 15)
    settings = {
        "task": "regression",
        "label": "y",
        "models": "p",
        "weight": weight,
        "slices": ["half", "shop"],
    }
    found = plm.evaluate(
        rows, metrics=["scaled_mae(by=shop)"], uncertainty={"replicates": 50}, **settings
    ).metrics
    scale = {}
    for shop in "ab":
        y = rows.filter(shop=shop)["y"].to_numpy()
        scale[shop] = np.std(y)
    for row in found.filter(pl.col("slice") != "shop=c").iter_rows(named=True):
        part = rows.filter(pl.col("shop") != "c")
        if row["slice_set"] == "half":
            part = part.filter(half=row["slice"] == "half=true")
        if row["slice_set"] == "shop":
            part = part.filter(shop=row["slice"][-1])
        errors = [abs(r["p"] - r["y"]) / scale[r["shop"]] for r in part.iter_rows(named=True)]
        mass = np.ones(len(errors)) if weight is None else part[weight].to_numpy()
        assert row["value"] == pytest.approx(np.average(errors, weights=mass), rel=1e-12)
        assert row["interval_status"] == "ok"
    assert found.filter(slice="shop=c")["status"].item() == "zero_denominator"
    assert found["note"][0].startswith("no scale in rows of weight")


@pytest.mark.parametrize("power", [-1010, -600, 520, 1010])
def test_the_unit_of_the_labels_does_not_show_in_errors_by_segment(power: int) -> None:
    asked = {"task": "regression", "label": "y", "models": "p", "metrics": ["scaled_mae(by=shop)"]}
    units = [table().with_columns(pl.col("y", "p") * 2.0**exponent) for exponent in (0, power)]
    plain, other = (plm.evaluate(rows, **asked).metrics["value"].item() for rows in units)
    assert other == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize("missing", ["drop", "drop_per_model"])
@pytest.mark.parametrize("bad", ["score", "weight"])
def test_rows_that_are_left_out_have_no_part_in_the_scale(missing: str, bad: str) -> None:
    """With a bad score of one model of two, it is evaluated for the other under `drop_per_model`."""
    rows = table().filter(pl.col("shop") != "c").with_columns(q=pl.col("p") + 1)
    out = pl.Series(np.random.default_rng(3).random(rows.height) < 0.2)
    column = "p" if bad == "score" else "w"
    rows = rows.with_columns(
        pl.when(out).then(100.0).otherwise("y").alias("y"),
        pl.when(out).then(None).otherwise(column).alias(column),
    )
    found = plm.evaluate(
        rows,
        task="regression",
        label="y",
        models=["p", "q"],
        weight="w",
        missing=missing,
        metrics=["scaled_mae(by=shop)", {"name": "absent", "null_share": "p"}],
    ).metrics
    evaluated = rows.filter(~out)
    scaled = rows if (missing, bad) == ("drop_per_model", "score") else evaluated
    scale = {shop: np.std(scaled.filter(shop=shop)["y"].to_numpy()) for shop in "ab"}
    errors = [abs(row["p"] - row["y"]) / scale[row["shop"]] for row in evaluated.iter_rows(named=True)]
    value = found.filter(model="p", metric="scaled_mae(by=shop)")["value"].item()
    assert value == pytest.approx(np.average(errors, weights=evaluated["w"].to_numpy()), rel=1e-12)


def test_quantiles_tops_drift_and_searches_do_without_the_scale() -> None:
    rows = table().with_columns(pl.when(pl.col("day") % 5 == 0).then(None).otherwise("p").alias("p"))
    settings = {"task": "regression", "label": "y", "models": "p", "missing": "drop"}
    found = plm.evaluate(
        rows,
        metrics=["mae", "scaled_mae(by=shop)"],
        slices={"third": {"column": "y", "quantiles": 3}, "most": {"column": "w", "top": 1}},
        drift={"where": "day < 9", "columns": ["w"]},
        find_slices={"columns": ["shop"], "metric": "mae"},
        **settings,
    ).metrics
    alone = plm.evaluate(rows, metrics=["scaled_mae(by=shop)"], **settings).metrics
    value = found.filter(slice="all", metric="scaled_mae(by=shop)")["value"].item()
    assert value == pytest.approx(alone["value"].item(), rel=1e-12)


def test_rows_of_weight_0_are_accounted_for_beside_a_scale() -> None:
    table = pl.DataFrame({"y": [1.0, 3.0, 2.0], "p": [1.5, 2.0, 4.0], "w": [1, 2, 0], "g": ["a"] * 3})
    given = {"task": "regression", "label": "y", "models": {"m": "p"}, "weight": "w"}
    plain, scaled = (
        plm.evaluate(table, metrics=metrics, **given).record["rows"]
        for metrics in (["mae"], ["scaled_mae(by=g)"])
    )
    assert scaled == plain == {"read": 3, "zero_weight": 1, "used": {"m": 2}, "dropped": {"m": 0}}
