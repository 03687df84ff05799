"""How ordered metrics are brought in order: by what they read, how many rows there are, and what memory allows."""

import re
from dataclasses import replace

import polars as pl
import pytest

import plmetrics as plm
from plmetrics.core.errors import ConfigError
from plmetrics.engine.binding.bind import bind
from plmetrics.engine.memory.budget import order_plan, separates_scans
from plmetrics.suite.arguments import suite_from_arguments
from plmetrics.table.opening import open_source

ROWS = 20_000_000
FRAME = pl.DataFrame(
    {"y": [0, 1], "a": [0.1, 0.2], "b": [0.3, 0.4], "w": [1.0, 2.0], "g": ["x", "y"], "u": [1, 2]}
)
HELD = {"rows": 4_000_000}
INTERVALS = {"unit": "u", "uncertainty": {"replicates": 1000}}


def plan(rows=ROWS, memory=4_000_000_000, number_of_slices=1, **options):
    given = {"label": "y", "models": {"a": "a", "b": "b"}, "metrics": ["roc_auc", "ks"], "slices": {"g": "g"}}
    suite = suite_from_arguments(**(given | options | {"memory": int(memory)}))
    return order_plan(bind(suite, open_source(FRAME)), rows, 1, number_of_slices)


@pytest.mark.parametrize(
    ("way", "options"),
    [
        ("points", {}),
        ("points", INTERVALS),
        ("points", {"metrics": ["pr_auc", "precision_at_k(k=10)"]}),
        ("points", {"metrics": ["pr_auc", "ece"]}),
        ("rows", {"metrics": ["pr_auc", "ece"], **HELD}),
        ("rows", {"curves": ["roc", "reliability"], **HELD}),
        ("points", {"metrics": ["pr_auc", "ece"], "weight": "w", **HELD}),
        ("points", {"metrics": ["pr_auc", "ece"], **INTERVALS, **HELD}),
        ("grid", {"metrics": ["pr_auc", "ece"], "memory": 4e8, **HELD}),
        ("points", {"exact": True}),
        ("grid", {"exact": False}),
        ("rows", {"rows": 10_000}),
        ("points", {"weight": "w"}),
        ("points", {"weight": "w", "curves": ["roc"], "memory": 8e9, **INTERVALS}),
        ("rows", {"metrics": ["ece(strategy=quantile)", "roc_auc"]}),
        ("rows", {"metrics": ["corp_miscalibration"]}),
        ("rows", {"metrics": ["roc_auc"]}),
        ("points", {"compare": {"slices": {"g": "rest"}}}),
        ("points", {"metrics": ["roc_auc"], **INTERVALS}),
        ("points", {"curves": ["roc"]}),
    ],
)
def test_the_way_follows_from_what_is_read(way, options):
    assert plan(**options).way == way


@pytest.mark.parametrize(("memory", "way"), [(4e9, "grid"), (8e9, "rows")])
def test_two_arms_take_what_a_run_of_them_was_seen_to_take(memory, way):
    """Twenty million rows of one model and 20 slices took 6.0 GB where they were sorted, on a machine with room."""
    of_arms = {"task": "uplift", "treatment": "y", "models": {"a": "a"}, "metrics": ["qini"]}
    assert plan(memory=memory, **of_arms).way == way


def test_errors_of_rows_take_what_a_run_of_them_was_seen_to_take():
    """Twenty million rows of two models, 20 slices and intervals took 2.77 GB beside the libraries."""
    asked = {"task": "regression", "metrics": ["median_absolute_error"], **INTERVALS}
    assert plan(**asked).bytes == pytest.approx(2.77e9, rel=0.02)
    assert plan(rows=30_000_000, **asked).way == "grid"


@pytest.mark.parametrize(
    ("slices", "memory", "way"),
    [(1, 4e9, "points"), (1000, 4e9, "points"), (5000, 4e9, "rows"), (5000, 1e8, "points")],
)
def test_replicates_of_many_small_slices_are_made_from_sorted_rows_that_fit(slices, memory, way):
    options = {"unit": "u", "uncertainty": {"replicates": 200}, "exact": True}
    assert plan(2_000_000, memory, slices, **options).way == way


@pytest.mark.parametrize(
    "asked",
    [
        {"metrics": ["ece(strategy=quantile)"]},
        {"metrics": ["calibration_slope"]},
        {"metrics": ["kernel_ce", "brier", "corp_miscalibration"]},
    ],
    ids=lambda asked: asked["metrics"][0],
)
def test_what_a_grid_cannot_serve_is_refused_before_a_row_is_read(asked, monkeypatch):
    def read(*_):
        raise AssertionError

    monkeypatch.setattr("plmetrics.engine.prepare.preparation.prepare", read)
    frame = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.4]})
    with pytest.raises(plm.ConfigError, match=r"needs the sorted rows, which exact=False") as refused:
        plm.evaluate(frame, label="y", models="p", exact=False, **asked)
    names = [problem.message.split()[0].split("(")[0] for problem in refused.value.problems]
    assert names == [text.split("(")[0] for text in asked["metrics"] if text != "brier"]


def test_a_refusal_names_the_metric_that_was_asked_for():
    frame = pl.DataFrame({"y": ["u", "v"], "u": [0.1, 0.4], "v": [0.9, 0.6]})
    asked = {
        "models": {"m": {"proba": {"u": "u", "v": "v"}}},
        "metrics": ["classwise_ece(strategy=quantile)"],
    }
    with pytest.raises(
        plm.ConfigError, match=r"^metrics.0: classwise_ece\(strategy=quantile\) needs the sorted"
    ):
        plm.evaluate(frame, task="multiclass", label="y", exact=False, **asked)


def test_less_memory_means_fewer_models_at_a_time_and_then_more_ranges():
    plans = [plan(memory=memory, exact=True) for memory in (4e9, 1.6e9, 0.5e9, 0.3e9)]
    assert [each.orders for each in plans] == [2, 1, 1, 1]
    assert [each.passes for each in plans] == [each.ranges * 2 // each.orders for each in plans]
    ranges = [each.ranges for each in plans]
    assert ranges[:2] == [1, 1]
    assert 1 < ranges[2] < ranges[3]
    for each, memory in zip(plans, (4e9, 1.6e9, 0.5e9, 0.3e9), strict=True):
        assert each.bytes <= memory / 2


@pytest.mark.parametrize(
    ("rows", "memory", "apart"), [(10**7, 4e9, False), (10**8, 4e9, True), (10**7, 1e9, True)]
)
def test_plans_scan_rows_by_themselves_where_those_that_wait_have_no_room(rows, memory, apart):
    """Drift of 1e7 rows held 1.2 GB that a slow plan had yet to take, of a shared scan; of 2e8 rows it took 14 GB."""
    asked = {"label": "y", "models": {"a": "a"}, "metrics": ["brier"], "memory": int(memory)}
    source = replace(open_source(FRAME), rows=rows)
    assert separates_scans(bind(suite_from_arguments(**asked), source).view) == apart


def test_weights_take_more_room():
    plans = [plan(memory=1e9, exact=True, weight=weight, slices=None) for weight in (None, "w")]
    assert [each.way for each in plans] == ["points", "points"]
    assert plans[1].ranges > plans[0].ranges


def test_without_exact_it_counts_instead_of_reading_ranges():
    assert plan(memory=0.5e9).way == "grid"
    assert plan(memory=1.6e9).way == "points"


def test_models_that_drop_rows_of_their_own_are_read_alone():
    assert plan(missing="drop_per_model").orders == 1


@pytest.mark.parametrize(
    "options",
    [
        {"metrics": ["corp_miscalibration"]},
        {"memory": 50_000_000},
        {"curves": ["roc"], "memory": 300_000_000},
        {"compare": {"slices": {"g": "rest"}}, "memory": 400_000_000},
    ],
)
def test_what_cannot_be_sorted_in_ranges_is_refused(options):
    with pytest.raises(ConfigError, match="exact: true needs about") as told:
        plan(**({"memory": 500_000_000, "exact": True} | options))
    assert "leave exact out" in str(told.value)


@pytest.mark.parametrize(
    "options",
    [{}, {"weight": "w"}, {"compare": {"slices": {"g": "rest"}}}, {"weight": "w", "curves": ["roc"]}],
    ids=["plain", "weights", "rests", "weights and scores"],
)
def test_the_memory_that_is_asked_for_is_enough(options):
    with pytest.raises(ConfigError, match="raise memory to") as told:
        plan(memory=50_000_000, exact=True, **options)
    number, unit = re.search(r"raise memory to ([0-9.]+)(MB|GB)", str(told.value)).groups()
    enough = float(number) * {"MB": 1e6, "GB": 1e9}[unit]
    assert plan(memory=enough, exact=True, **options).way in {"points", "rows"}
