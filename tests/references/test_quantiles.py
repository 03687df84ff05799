"""Quantiles of errors and of row expressions, against NumPy and against rows that are repeated."""

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

import plmetrics as plm

METRICS = [
    "median_absolute_error",
    "absolute_error_quantile(q=0.9)",
    "absolute_error_quantile(q=0.25)",
    "max_error",
]
LEVELS = [0.5, 0.9, 0.25, 1.0]


def table(rows=301, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    y = rng.normal(10, 3, rows)
    p = y + rng.standard_t(3, rows)
    frame = pl.DataFrame({"y": y, "p": p, "q": y + rng.normal(0, 2, rows), "w": rng.integers(0, 4, rows)})
    frame = frame.with_columns(
        g=pl.Series(rng.choice(["a", "b", "c"], rows)), u=pl.Series(rng.integers(0, 60, rows))
    )
    return frame.with_columns(pl.col("y", "p", "q").round(0)) if ties else frame


def averaged_inverse(values, weights, level):
    """Straight from the definition, with whole weights as repeated rows."""
    ordered = sorted(v for v, w in zip(values, weights, strict=True) for _ in range(int(w)))
    place = level * len(ordered)
    if abs(place - round(place)) < 1e-9 and 0 < round(place) < len(ordered):
        return (ordered[round(place) - 1] + ordered[round(place)]) / 2
    return ordered[min(math.floor(place + 1e-9), len(ordered) - 1)]


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("rows", [1, 2, 10, 301])
def test_values(rows, weight, ties):
    frame = table(rows, ties=ties).with_columns(w=pl.col("w") + (rows < 3))
    found = plm.evaluate(
        frame, task="regression", label="y", models=["p", "q"], weight=weight, metrics=METRICS, slices="g"
    ).metrics
    for row in found.iter_rows(named=True):
        part = frame if row["slice"] == "all" else frame.filter(g=row["slice"][2:])
        errors = (part[row["model"]] - part["y"]).abs().to_list()
        weights = part["w"].to_list() if weight else [1] * part.height
        level = LEVELS[METRICS.index(row["metric"])]
        assert row["value"] == pytest.approx(averaged_inverse(errors, weights, level), rel=1e-12), row


def test_the_median_is_that_of_numpy():
    frame = table(500)
    found = plm.evaluate(frame, task="regression", label="y", models="p", metrics=METRICS[:1])
    assert found.metrics["value"].item() == np.median(np.abs(frame["p"] - frame["y"]))


def test_a_maximum_has_no_interval_and_no_weightless_row():
    frame = table().with_columns(
        p=pl.when(pl.int_range(pl.len()) == 5).then(1e6).otherwise("p"),
        w=pl.when(pl.int_range(pl.len()) == 5).then(0).otherwise("w"),
    )
    found = plm.evaluate(
        frame,
        task="regression",
        label="y",
        models=["p", "q"],
        weight="w",
        metrics=METRICS,
        uncertainty=True,
        compare="p",
    )
    row = found.metrics.filter(metric="max_error", model="p").row(0, named=True)
    assert row["value"] < 1000
    assert (row["lower"], row["upper"], row["std_error"], row["interval_status"]) == (
        None,
        None,
        None,
        "not_estimable",
    )
    difference = found.comparisons.filter(metric="max_error").row(0, named=True)
    assert difference["difference"] is not None
    assert (difference["lower"], difference["p_value"], difference["interval_status"]) == (
        None,
        None,
        "not_estimable",
    )


@pytest.mark.alike
@pytest.mark.slow
@pytest.mark.parametrize("rows", [1500, 60_000], ids=["exact replicates", "coarse replicates"])
@pytest.mark.parametrize("unit", [None, "u"])
def test_standard_errors_are_those_of_theory(rows, unit):
    """sqrt(q (1 - q) / n) / density, for errors of Student's t with 3 degrees; units are drawn apart from the rows."""
    errors = []
    for seed in range(6):
        frame = table(rows, 50 + seed).with_columns(u=pl.int_range(pl.len()) // 3)
        found = plm.evaluate(
            frame,
            task="regression",
            label="y",
            models="p",
            unit=unit,
            metrics=METRICS[:3],
            uncertainty={"replicates": 400, "seed": seed},
        ).metrics
        errors.append(found["std_error"].to_numpy())
    levels = np.array(LEVELS[:3])
    density = 2 * stats.t.pdf(stats.t.ppf((1 + levels) / 2, 3), 3)
    ratio = np.mean(errors, axis=0) / (np.sqrt(levels * (1 - levels) / rows) / density)
    assert (np.abs(ratio - 1) < (0.1 if rows > 5000 else 0.2)).all(), ratio


@pytest.mark.slow
def test_coarse_replicates_spread_as_exact_ones():
    frame = table(6000)
    both = []
    for replicates in (3000, 3500):  # 18 and 21 million rows x replicates
        found = plm.evaluate(
            frame, task="regression", label="y", models="p", metrics=METRICS[:3], slices="g",
            uncertainty={"replicates": replicates},
        ).metrics  # fmt: skip
        both.append(found.select("lower", "upper", "std_error").to_numpy())
    np.testing.assert_allclose(both[0], both[1], rtol=0.08)


def test_quantiles_of_row_expressions():
    frame = table().with_columns(latency=pl.when(pl.col("g") == "c").then(None).otherwise(pl.col("q") ** 2))
    metrics = [
        {"name": "p95", "quantile": "latency", "q": 0.95},
        {"name": "median_of_b", "quantile": "latency + label", "q": 0.5, "where": "g = 'b'"},
        {"name": "spread", "formula": "p95 - median_of_b"},
    ]
    found = plm.evaluate(
        frame,
        task="regression",
        label="y",
        models="p",
        metrics=metrics,
        slices="g",
        uncertainty={"replicates": 50},
    ).metrics
    held = frame.filter(pl.col("latency").is_not_null())
    of_b = held.filter(g="b")
    wanted = {
        "p95": averaged_inverse(held["latency"].to_list(), [1] * held.height, 0.95),
        "median_of_b": averaged_inverse((of_b["latency"] + of_b["y"]).to_list(), [1] * of_b.height, 0.5),
    }
    overall = {row["metric"]: row for row in found.filter(slice="all").iter_rows(named=True)}
    for name, value in wanted.items():
        assert overall[name]["value"] == pytest.approx(value, rel=1e-12)
        assert overall[name]["lower"] <= value <= overall[name]["upper"]
    assert overall["spread"]["value"] == pytest.approx(wanted["p95"] - wanted["median_of_b"])
    assert overall["spread"]["std_error"] > 0
    by_slice = {(row["slice"], row["metric"]): row["status"] for row in found.iter_rows(named=True)}
    assert by_slice["g=c", "p95"] == by_slice["g=a", "median_of_b"] == "zero_denominator"


def test_binary_tasks_take_quantiles_of_scores_beside_their_own_order():
    frame = table().with_columns(y=(pl.col("y") > 10).cast(pl.Int8))
    metrics = ["roc_auc", {"name": "median_score", "quantile": "score", "q": 0.5}]
    found = plm.evaluate(frame, label="y", models=["p", "q"], metrics=metrics, slices="g").metrics
    alone = plm.evaluate(frame, label="y", models=["p", "q"], metrics=["roc_auc"], slices="g").metrics
    assert found.filter(metric="roc_auc").equals(alone)
    medians = found.filter(metric="median_score", slice="all")["value"].to_list()
    assert medians == [frame["p"].median(), frame["q"].median()]


def test_drop_per_model_leaves_out_what_a_model_lacks():
    frame = table().with_columns(q=pl.when(pl.col("g") == "a").then("q"))
    found = plm.evaluate(
        frame, task="regression", label="y", models=["p", "q"], missing="drop_per_model", metrics=METRICS[:1]
    ).metrics["value"]
    part = frame.filter(g="a")
    assert found[0] == np.median(np.abs(frame["p"] - frame["y"]))
    assert found[1] == np.median(np.abs(part["q"] - part["y"]))


def within_bounds(found, frame, weight, metrics=METRICS):
    """Whether each value is as near to the one from repeated rows as its bound says, and the widest bound."""
    for row in found.iter_rows(named=True):
        part = frame if row["slice"] == "all" else frame.filter(g=row["slice"][2:])
        errors = (part[row["model"]] - part["y"]).abs().to_list()
        weights = part["w"].to_list() if weight else [1] * part.height
        true = averaged_inverse(errors, weights, LEVELS[metrics.index(row["metric"])])
        assert row["bound"] is not None, row
        assert abs(row["value"] - true) <= row["bound"] + 1e-12 * abs(true), (row, true)
        if row["metric"] == "max_error":
            assert row["bound"] == 0.0
    return found["bound"].max()


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("rows", [1, 10, 3001])
def test_a_grid_is_as_near_as_its_bound_says(rows, weight, ties):
    frame = table(rows, ties=ties).with_columns(w=pl.col("w") + (rows < 3))
    roles = {"task": "regression", "label": "y", "models": ["p", "q"], "weight": weight, "slices": "g"}
    found = plm.evaluate(frame, **roles, metrics=METRICS, exact=False).metrics
    assert within_bounds(found, frame, weight) < (0.001 if ties else 0.1)


@pytest.mark.slow
def test_states_add_to_the_quantiles_of_all_rows_in_any_order():
    """A slice that some days lack, and errors far beyond those that the grid was made for."""
    frame = table(2000, seed=5)
    days = [
        frame[:500],
        frame[500:900].filter(pl.col("g") != "a"),
        frame[900:].with_columns(p=pl.col("p") + 40),
    ]
    roles = {"task": "regression", "label": "y", "models": ["p", "q"], "slices": "g", "unit": "u"}
    roles |= {"metrics": METRICS, "uncertainty": {"replicates": 50}}
    first = plm.state(days[0], **roles)
    states = [first, *(plm.state(day, **roles, constants=first) for day in days[1:])]
    merged = plm.merge(*states).metrics
    assert merged.equals(plm.merge(*states[::-1]).metrics)
    assert merged.equals(plm.merge(plm.state(pl.concat(days), **roles, constants=first)).metrics)
    within_bounds(merged, pl.concat(days), None)


def test_intervals_on_a_grid_are_those_of_the_rows():
    frame = table(4000, seed=2)
    roles = {"task": "regression", "label": "y", "models": "p", "metrics": METRICS[:3], "unit": "u"}
    roles |= {"uncertainty": {"replicates": 400, "interval": "percentile"}}
    exact, near = (plm.evaluate(frame, **roles, exact=choice).metrics for choice in (True, False))
    width = exact["upper"] - exact["lower"]
    for end in ("lower", "upper"):
        assert ((exact[end] - near[end]).abs() < 0.15 * width).all(), end


def test_rows_without_a_label_are_on_the_grid_of_what_needs_none():
    frame = table(400).with_columns(y=pl.when(pl.col("u") < 30).then("y"))
    asked = [{"name": "middle", "quantile": "prediction", "q": 0.5}, "median_absolute_error"]
    roles = {"task": "regression", "label": "y", "models": "p", "labels": True, "metrics": asked}
    exact, near = (plm.evaluate(frame, **roles, exact=choice).metrics for choice in (True, False))
    assert exact["value"].to_list() == [
        frame["p"].median(),
        (frame["p"] - frame["y"]).drop_nulls().abs().median(),
    ]
    assert ((exact["value"] - near["value"]).abs() <= near["bound"]).all()
