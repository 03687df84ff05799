"""Exact ordered metrics by points: what a run finds does not depend on how many passes it takes."""

import json
from functools import cache

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.core.errors import ConfigError
from plmetrics.engine import run_plan
from plmetrics.engine.memory import budget
from plmetrics.engine.memory.budget import OrderPlan
from plmetrics.engine.order import by_ranges as ranges
from plmetrics.engine.order import range_reader
from plmetrics.engine.prepare import preparation as prepare

METRICS = ["roc_auc", "average_precision", "ks", "ece", "brier"]
WITH_SCORES = [*METRICS, "precision_at_recall(recall=0.5)", "precision_at_k(k=100)"]
SLICES = {"region": "region", "age": {"column": "age", "bins": [20, 60]}, "both": ["region", "age"]}


def table(rows=6000, seed=3, low=0.0):
    rng = np.random.default_rng(seed)
    label = rng.random(rows) < 0.3
    scores = {
        name: np.clip(rng.normal(0.4 + shift * label, 0.2), low, 1.0).round(digits)
        for name, shift, digits in (("a", 0.2, 9), ("b", 0.1, 2))
    }
    region = rng.choice(["north", "south", "tiny"], rows, p=[0.6, 0.397, 0.003])
    unit = rng.integers(0, 600, rows)
    age = 10 * rng.integers(0, 9, rows)
    weight = rng.lognormal(0, 2, rows) * (rng.random(rows) < 0.9)
    columns = {"y": label.astype(np.int8), **scores, "region": region, "age": age, "unit": unit}
    return pl.DataFrame(columns | {"w": weight, "whole": rng.integers(0, 4, rows)})


def evaluate(frame, **options):
    given = {"label": "y", "models": {"a": "a", "b": "b"}, "slices": SLICES, "metrics": METRICS} | options
    return plm.evaluate(frame, **given)


def planned(monkeypatch, models, parts):
    """Make every run read scores of so many models at a time, in so many ranges."""
    plan = OrderPlan("points", models, parts, -(-2 // models) * parts, 0)
    monkeypatch.setattr(run_plan, "order_plan", lambda *_: plan)


@cache
def in_memory(low, options):
    """The values of rows that are held in memory, made once for all passes."""
    return evaluate(table(low=low), **json.loads(options)).metrics


def assert_alike(found, expected, *columns, rtol=1e-12):
    keys = ["model", "slice_set", "slice", "metric"]
    assert found.select(*keys, "status", "n").equals(expected.select(*keys, "status", "n"))
    for name in ("value", *columns):
        assert found[name].is_null().equals(expected[name].is_null())
        one, other = found[name].drop_nulls().to_numpy(), expected[name].drop_nulls().to_numpy()
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-13, err_msg=name)


@pytest.mark.alike
@pytest.mark.slow
@pytest.mark.parametrize(("models", "parts"), [(2, 1), (1, 1), (1, 3), (1, 17)])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"metrics": WITH_SCORES, "low": -2.0},
        {"where": "age < 50"},
        {"slices": None},
        {"max_cells": 3},
        {"lookup": 2},
        {"weight": "w"},
        {"weight": "w", "metrics": WITH_SCORES, "low": -2.0},
        {"weight": "whole", "metrics": WITH_SCORES, "where": "age < 50"},
    ],
    ids=[
        "plain",
        "thresholds and negative scores",
        "some rows",
        "overall",
        "many cubes",
        "no table of cells",
        "weights",
        "weights, thresholds and negative scores",
        "whole weights of some rows",
    ],
)
def test_values_are_those_of_rows_held_in_memory(monkeypatch, models, parts, options):
    options = dict(options)
    low = options.pop("low", 0.0)
    if "max_cells" in options:
        monkeypatch.setattr(prepare, "MAX_CELLS", options.pop("max_cells"))
    lookup = options.pop("lookup", None)
    if low < 0:
        options["metrics"] = [text for text in options["metrics"] if text not in {"ece", "brier"}]
    expected = in_memory(low, json.dumps(options))
    planned(monkeypatch, models, parts)
    if lookup is not None:
        monkeypatch.setattr(range_reader, "LOOKUP_CELLS", lookup)
    assert_alike(evaluate(table(low=low), **options).metrics, expected, "threshold")


@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("parts", [1, 4])
def test_rows_are_dropped_for_each_model_alone(monkeypatch, parts, weight):
    frame = table().with_columns(a=pl.when(pl.col("age") < 30).then(None).otherwise("a"))
    frame = frame.with_columns(w=pl.when(pl.col("unit") < 20).then(None).otherwise("w"))
    options = {"missing": "drop_per_model", "metrics": ["roc_auc", "average_precision"], "weight": weight}
    expected = evaluate(frame, **options).metrics
    assert expected["n"].n_unique() > len(SLICES)
    planned(monkeypatch, 1, parts)
    assert_alike(evaluate(frame, **options).metrics, expected)


@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "w"])
def test_curves_are_those_of_rows_held_in_memory(monkeypatch, weight):
    options = {"curves": ["roc", {"curve": "pr", "slices": ["region"]}, "reliability"], "metrics": ["brier"]}
    options["weight"] = weight
    expected = evaluate(table(), **options).curves
    planned(monkeypatch, 1, 3)
    found = evaluate(table(), **options).curves
    exactly = ["model", "slice_set", "slice", "curve", "n"]
    assert found.select(exactly).equals(expected.select(exactly))
    for name in ("x", "y", "threshold"):
        np.testing.assert_allclose(found[name].cast(pl.Float64), expected[name].cast(pl.Float64), rtol=1e-12)


@pytest.mark.alike
@pytest.mark.slow
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("metrics", [METRICS, WITH_SCORES])
def test_intervals_do_not_depend_on_the_passes(monkeypatch, metrics, weight):
    options = {"metrics": metrics, "unit": "unit", "uncertainty": {"replicates": 50, "seed": 1}}
    options["weight"] = weight
    options["compare"] = {"baseline": "a"}
    planned(monkeypatch, 2, 1)
    expected = evaluate(table(), **options)
    planned(monkeypatch, 1, 5)
    found = evaluate(table(), **options)
    # Among 21 rows, a replicate one rounding away from a perfect one has another interval on the logit scale.
    many = [each.metrics.filter(pl.col("n") > 100) for each in (found, expected)]
    assert_alike(*many, "lower", "upper", "std_error")
    assert many[0].filter(metric="roc_auc")["lower"].is_not_null().all()


RESTS = {"compare": {"slices": {"region": "rest", "odd": "rest"}}}
ODD = {"odd": {"where": "age in (10, 30) and a > 0.5"}}


@pytest.mark.alike
@pytest.mark.slow
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("metrics", [METRICS, WITH_SCORES])
@pytest.mark.parametrize("shared", [4, 0], ids=["counted by cell", "counted by slice"])
def test_rests_are_those_of_rows_held_in_memory(monkeypatch, weight, metrics, shared):
    monkeypatch.setattr("plmetrics.engine.order.parts._CELLS_PER_SLICE", shared)
    options = {"weight": weight, "metrics": metrics, "slices": SLICES | ODD, **RESTS}
    expected = evaluate(table(), **options).comparisons
    planned(monkeypatch, 1, 3)
    found = evaluate(table(), **options).comparisons
    keys = ["contrast", "slice_set", "slice", "metric", "model", "status", "n"]
    assert found.select(keys).equals(expected.select(keys))
    assert found.filter(contrast="rest").height > len(metrics)
    both = (each["difference"].cast(pl.Float64).fill_null(9.0) for each in (found, expected))
    np.testing.assert_allclose(*both, rtol=1e-9, atol=1e-12)


@pytest.mark.alike
@pytest.mark.slow
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("shared", [4, 0], ids=["counted by cell", "counted by slice"])
def test_intervals_of_rests_are_close_to_those_of_resampled_rows(monkeypatch, weight, shared):
    monkeypatch.setattr("plmetrics.engine.order.parts._CELLS_PER_SLICE", shared)
    options = {"weight": weight, "metrics": METRICS, "slices": {"region": "region"} | ODD, **RESTS}
    options |= {"unit": "unit", "uncertainty": {"replicates": 200, "seed": 1}}
    expected = evaluate(table(), **options).comparisons
    planned(monkeypatch, 1, 3)
    found = evaluate(table(), **options).comparisons
    large = (pl.col("contrast") == "rest") & (pl.col("slice") != "region=tiny")
    both = [each.filter(large)["std_error"].to_numpy() for each in (found, expected)]
    assert len(both[0]) == 2 * 3 * len(METRICS)
    np.testing.assert_allclose(*both, rtol=0.06)


@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "w"])
def test_standard_errors_are_close_to_those_of_resampled_rows(monkeypatch, weight):
    options = {"metrics": ["roc_auc", "average_precision"], "slices": None, "unit": "unit", "weight": weight}
    options["uncertainty"] = {"replicates": 400, "seed": 1}
    expected = evaluate(table(), **options).metrics
    planned(monkeypatch, 1, 3)
    found = evaluate(table(), **options).metrics
    assert_alike(found, expected, "std_error", rtol=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("parts", [1, 3])
def test_the_order_of_the_rows_does_not_show_where_it_must_not(monkeypatch, parts):
    frame = table().with_columns(w=pl.col("w").replace(0.0, 0.3))
    planned(monkeypatch, 1, parts)
    options = {"weight": "w", "reproducible": True, "metrics": WITH_SCORES}
    orders = (frame, frame.reverse(), frame.sample(fraction=1, shuffle=True, seed=1))
    one, *others = (evaluate(rows, **options).metrics for rows in orders)
    for other in others:
        assert other.equals(one)


@pytest.mark.exhaustive
@pytest.mark.parametrize("parts", [1, 3])
def test_the_order_of_rows_with_equal_scores_and_weights_does_not_show_in_rests(monkeypatch, parts):
    frame = table().with_columns(pl.col("a", "b").round(1), w=0.1 + pl.col("whole") / 7)
    planned(monkeypatch, 1, parts)
    options = {"weight": "w", "reproducible": True, "slices": {"region": "region"}}
    options |= {"compare": {"slices": {"region": "rest"}}, "metrics": ["roc_auc", "average_precision"]}
    orders = (frame, frame.reverse(), frame.sample(fraction=1, shuffle=True, seed=1))
    one, *others = (evaluate(rows, **options).comparisons for rows in orders)
    assert one["difference"].is_not_null().all()
    for other in others:
        assert other.equals(one)


@pytest.mark.slow
@pytest.mark.parametrize("weight", [None, "w"])
def test_a_run_reads_as_many_ranges_as_its_memory_asks_for(reads, weight):
    counted = []
    several = (1_500_000, 2_500_000) if weight is None else (9_000_000, 14_000_000)
    for memory in (*several, 40_000_000):
        evaluate(table(60_000), exact=True, memory=memory, weight=weight)
        counted.append(len(reads) - sum(counted))
    assert counted[0] > counted[1] > 2
    assert counted[2] == 1
    assert [len(models) for models in reads] == [*(1 for _ in reads[1:]), 2]


def test_memory_that_is_too_small_is_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr(budget, "POINT_ROWS", 1000)
    with pytest.raises(ConfigError, match="memory") as told:
        evaluate(table(60_000), exact=True, memory=400_000)
    assert "raise memory" in str(told.value)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"task": "ranking", "query": "unit", "metrics": ["ndcg"]}, "ranking holds 6,000 rows"),
        ({"metrics": ["precision(threshold=max(f1))"]}, "choosing a threshold holds 6,000 rows"),
    ],
)
def test_what_must_hold_rows_says_so_where_there_is_no_room(options, what):
    with pytest.raises(ConfigError, match=what) as told:
        evaluate(table(), slices=None, memory=10_000, **options)
    assert "raise memory" in str(told.value)


def test_nothing_is_left_behind_when_a_pass_fails(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    planned(monkeypatch, 1, 3)
    frame, passes = table(), []
    own = ranges.add_range

    def fails(work):
        passes.append(work)
        if len(passes) == 2:
            raise KeyboardInterrupt
        own(work)

    monkeypatch.setattr(ranges, "add_range", fails)
    with pytest.raises(KeyboardInterrupt):
        evaluate(frame)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(ranges, "add_range", own)
    assert evaluate(frame).metrics.height > 0


@pytest.mark.slow
def test_without_exact_a_run_counts_where_one_pass_is_not_enough(monkeypatch):
    monkeypatch.setattr(budget, "POINT_ROWS", 1000)
    assert evaluate(table(60_000), memory=2_000_000).metrics["bound"].is_not_null().any()
    assert evaluate(table(60_000), memory=30_000_000).metrics["bound"].is_null().all()


@pytest.mark.parametrize("weight", [None, "w"])
def test_bins_alone_are_counted_in_one_pass_without_a_sample(monkeypatch, weight):
    planned(monkeypatch, 2, 1)
    monkeypatch.setattr(ranges.RangeReader, "read", None)
    monkeypatch.setattr("plmetrics.engine.order.encoding._sample_plan", None)
    frame = table(3000)
    found = evaluate(frame, metrics=["ece"], slices=None, weight=weight, uncertainty=False).metrics
    masses = frame["w"].to_numpy() if weight else np.ones(3000)
    for model, value in found.select("model", "value").iter_rows():
        score = frame[model].to_numpy()
        bins = np.ceil(score * 15).clip(1).astype(int)
        gaps = [(masses * (score - frame["y"].to_numpy()))[bins == each].sum() for each in range(1, 16)]
        assert value == pytest.approx(np.abs(gaps).sum() / masses.sum(), abs=1e-14)
