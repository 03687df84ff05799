"""What holds for every registered metric."""

import dataclasses
import math
import pickle
from typing import get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plmetrics.catalogue.metric import Direction
from plmetrics.catalogue.needs import Bins, Family, Kind, Points, Sums
from plmetrics.catalogue.parameters import parameters
from plmetrics.catalogue.registry import classes, create
from plmetrics.catalogue.thresholds import Best, Optimal, Reach
from plmetrics.core.text import parse_call
from plmetrics.suite.problems import Findings
from plmetrics.suite.sections.metrics import MetricReader

REQUIRED = {
    "fbeta": {"beta": 2},
    "expected_cost": {"cost_fp": 1, "cost_fn": 5},
    "ppv_at_prevalence": {"prevalence": 0.1},
    "adjusted_r2": {"predictors": 3},
    "precision_at_recall": {"recall": 0.9},
    "precision_at_volume": {"volume": 0.1},
    "recall_at_precision": {"precision": 0.9},
    "recall_at_fpr": {"fpr": 0.01},
    "fpr_at_recall": {"recall": 0.95},
    "precision_at_k": {"k": 10},
    "interpolated_precision": {"recall": 0.3},
    "tweedie_deviance": {"power": 1.5},
    "recall_at_k": {"k": 0.1},
    "lift_at_k": {"k": 0.1},
    "quantile_loss": {"tau": 0.9},
    "absolute_error_quantile": {"q": 0.9},
    "mase": {"scale": "naive"},
    "scaled_mae": {"by": "segment"},
    "lin_lin": {"over": 1.0, "under": 3.0},
    "linex": {"a": 0.5},
    "top_k_accuracy": {"k": 2},
    "interval_coverage": {"level": 0.8},
    "interval_coverage_p_value": {"level": 0.8},
    "interval_width": {"level": 0.8},
    "interval_score": {"level": 0.8},
    "ate_ipw": {"propensity": "chance of treatment"},
    "ate_aipw": {"propensity": "true", "mu0": "mu-0", "mu1": "µ'1"},
    "uplift_at_k": {"k": 0.1},
}
MORE = [
    ("binary", "precision", {"threshold": -0.25}),
    ("binary", "fbeta", {"beta": 0.5, "threshold": 1e-300}),
    ("binary", "expected_cost", {"cost_fp": 0.1, "cost_fn": 0, "prevalence": 1e-9, "threshold": 1e22}),
    ("binary", "log_loss", {"clip": 1e-7}),
    ("binary", "ece", {"bins": 10, "strategy": "quantile", "norm": "l2", "debias": True}),
    ("binary", "log_loss_skill", {"clip": 1e-7}),
    ("binary", "brier_within_bin", {"bins": 10, "strategy": "quantile"}),
    ("binary", "recall", {"threshold": Best(None, create("binary", "f1", {}))}),
    ("binary", "precision", {"threshold": Reach("split = 'valid'", "recall", 0.9)}),
    ("binary", "fbeta", {"beta": 2, "threshold": Optimal(None, 1.0, 4.0)}),
    ("binary", "kernel_ce", {"bandwidth": 0.05}),
    ("binary", "corp_miscalibration", {"score": "log_loss"}),
    ("binary", "calibration_intercept", {"slope": "free"}),
    ("binary", "hosmer_lemeshow", {"groups": 5, "df": "groups-2"}),
    ("binary", "roc_auc", {"max_fpr": 0.1}),
    ("binary", "pr_auc", {"method": "davis_goadrich"}),
    ("binary", "interpolated_ap", {"points": "all"}),
    ("regression", "mape", {"zeros": "drop"}),
    ("regression", "mape", {"zeros": "epsilon", "epsilon": 0.1}),
    ("regression", "adjusted_r2", {"predictors": 0}),
    ("regression", "huber", {"delta": 0.25}),
]


def required(cls):
    """Values of the parameters that a metric cannot do without."""
    known = dict(REQUIRED.get(cls.name, {}))
    if cls.family == "derived":
        inner = next(
            other
            for other in classes(cls.task)
            if other.name not in REQUIRED and not other.additive and not required(other)
        )
        part = "labelled" if cls.name == "shrunken_rate" else inner.name
        known |= {"to": "m", "by": "region", "reference": "north west", "metric": create(cls.task, part, {})}
    return {
        name: (10 if cls.task == "ranking" and name == "k" else known.get(name))
        for name, field in parameters(cls).items()
        if field.default is dataclasses.MISSING
    }


RELEASE = [cls for cls in classes() if cls.task in {"binary", "regression"} and cls.family != "derived"]
METRICS = [create(cls.task, cls.name, REQUIRED.get(cls.name, {})) for cls in RELEASE]
METRICS += [create(*more) for more in MORE]
OTHERS = [create(cls.task, cls.name, required(cls)) for cls in classes() if cls not in RELEASE] + [
    create("multiclass", "precision", {"average": "weighted", "undefined": "zero"}),
    create("multiclass", "roc_auc", {"scheme": "ovo"}),
    create("quantile", "crps", {"fair": True}),
    create("uplift", "ate_ipw", {"propensity": "1", "estimator": "horvitz_thompson", "clip": 0.05}),
    create("uplift", "qini", {"method": "guelman", "normalise": "perfect"}),
    create("uplift", "uplift_at_k", {"k": 10, "by": "arm"}),
]


def has_expression(metric):
    """Whether it can be said as one expression on the rows."""
    rule = metric.chosen_threshold
    known = metric.expressible and isinstance(metric.needs, (Sums, Points))
    return known and (rule is None or rule.constant is not None)


EXPRESSIVE = {
    task: [metric for metric in METRICS if metric.task == task and has_expression(metric)]
    for task in ("binary", "regression")
}
OF_COUNTS = {
    "n",
    "prevalence",
    "default_log_loss",
    "default_accuracy",
    "brier_uncertainty",
    "corp_uncertainty",
}
BINNED = {"ece", "brier_reliability", "brier_resolution", "brier_within_bin"}
BINNED |= {"hosmer_lemeshow", "hosmer_lemeshow_p_value"}
FINDS_ITS_THRESHOLD = {
    *("precision_at_recall", "precision_at_volume", "recall_at_precision", "recall_at_fpr", "fpr_at_recall"),
    *("precision_at_k", "recall_at_k", "lift_at_k", "max_accuracy"),
}
FEW = settings(max_examples=3, deadline=None)


def test_facts_are_complete():
    for cls in classes():
        for fact in ("name", "use_when", "beware", "formula", "reference"):
            text = getattr(cls, fact)
            assert text, cls
            assert text == text.strip(), cls
            assert "\n" not in text, cls
        assert cls.__doc__, cls
        assert cls.use_when.endswith("."), cls
        assert cls.beware.endswith("."), cls
        assert cls.direction in get_args(Direction), cls
        assert cls.family in get_args(Family), cls
        low, high = cls.range
        assert low < high, cls
        assert not math.isnan(low + high) or math.isinf(low), cls
        assert all(field.metadata["doc"] for field in dataclasses.fields(cls)), cls


def test_text_parses_back_to_the_same_metric():
    for metric in (*METRICS, *OTHERS):
        call = parse_call(metric.text, unnamed=True)
        assert MetricReader(metric.task, Findings()).read(metric.text, ()) == metric, metric
        assert call.name == metric.name, metric


def test_metrics_can_be_pickled():
    metrics = METRICS + OTHERS
    assert pickle.loads(pickle.dumps(metrics)) == metrics


def test_needs_fit_the_family():
    for metric in METRICS:
        assert bool(metric.atoms()) or metric.name in OF_COUNTS or metric.family in {"scores", "ranks"}, (
            metric
        )
        assert metric.needs.family == metric.family, metric
        assert isinstance(metric.needs, Bins) == (metric.name in BINNED), metric
        assert metric.needs_score == (metric.probability or metric.family in {"scores", "ranks"}), metric
        assert metric.kind in get_args(Kind), metric
        fields = {field.name for field in dataclasses.fields(metric)}
        assert metric.threshold_free == (
            "threshold" not in fields and metric.name not in FINDS_ITS_THRESHOLD
        ), metric


def sums(metric, shape, rng):
    """Random states of a family of sums, with empty cells."""
    cells = np.where(rng.random((4, *shape)) < 0.35, 0.0, rng.integers(1, 30, (4, *shape)))
    weight = cells.sum(axis=0)
    state = {
        "n": weight,
        "weight": weight,
        "positives": cells[0] + cells[2],
        "negatives": cells[1] + cells[3],
    }
    known = dict(zip(("tp", "fp", "fn", "tn"), cells, strict=True))
    for name in metric.atoms():
        state[name] = known.get(name, weight * rng.random(shape))
    return state


@pytest.mark.parametrize("metric", [metric for metric in METRICS if metric.family == "sums"], ids=str)
def test_leading_axes_do_not_matter(metric, check_axes):
    rng = np.random.default_rng(0)
    check_axes(metric, sums(metric, (5, 7), rng))


WEIGHTS = st.sampled_from([0, 1, 2, 3])
ROWS = {
    "binary": st.tuples(st.integers(0, 1), st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.500001, 1.0]), WEIGHTS),
    "regression": st.tuples(st.sampled_from([-2.5, 0.0, 0.1, 4.0]), st.integers(-5, 5), WEIGHTS),
}
SETS = {
    task: st.lists(st.lists(row, min_size=1, max_size=15), min_size=8, max_size=20)
    for task, row in ROWS.items()
}
SCHEMA = {"g": pl.Int64, "y": pl.Float64, "p": pl.Float64, "w": pl.Float64}


def values(metrics, sets, weight="w"):
    """Values by metric text for every set of rows, all sets in one plan."""
    rows = [(group, *map(float, row)) for group, part in enumerate(sets) for row in part]
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    found = frame.group_by("g").agg(metric.expr("y", "p", weight) for metric in metrics)
    by_set = {row.pop("g"): row for row in found.iter_rows(named=True)}
    return [by_set.get(group, {metric.text: None for metric in metrics}) for group in range(len(sets))]


def assert_same(found, expected, *, leave_out=()):
    for one, other in zip(found, expected, strict=True):
        for text, value in other.items():
            if text not in leave_out:
                assert one[text] == (None if value is None else pytest.approx(value, rel=1e-9, abs=1e-9)), (
                    text
                )


@pytest.mark.exhaustive
@pytest.mark.parametrize("label", [2.0, math.inf, math.nan, None])
@pytest.mark.parametrize("task", ["binary", "regression"])
def test_a_label_that_is_none_leaves_a_group_without_a_value(task, label):
    if (task, label) == ("regression", 2.0):
        pytest.skip("a number is a label there")
    sets = [[(1, 0.9, 1), (0, 0.3, 1), (label, 0.5, 1)]]
    frame = pl.DataFrame(sets[0], schema={"y": pl.Float64, "p": pl.Float64, "w": pl.Float64}, orient="row")
    (found,) = frame.select(metric.expr("y", "p", "w") for metric in EXPRESSIVE[task]).to_dicts()
    counted = {"n": 3.0, "labelled": 2 / 3} if label is None else {}
    assert {text: value for text, value in found.items() if value is not None} == {
        text: value for text, value in counted.items() if text in found
    }
    assert "labelled" in found


@pytest.mark.slow
@pytest.mark.parametrize("task", ["binary", "regression"])
@FEW
@given(data=st.data())
def test_weights_are_repetitions_and_order_does_not_matter(task, data):
    sets = data.draw(SETS[task])
    weighted = values(EXPRESSIVE[task], sets)
    repeated = [[row for row in part for _ in range(row[2])] for part in sets]
    assert_same(values(EXPRESSIVE[task], repeated, weight=None), weighted, leave_out={"n"})
    present = [[row for row in part if row[2] > 0][::-1] for part in sets]
    assert_same(values(EXPRESSIVE[task], present), weighted)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["binary", "regression"])
@FEW
@given(data=st.data())
def test_values_stay_in_range(task, data):
    ranges = {metric.text: metric.range for metric in EXPRESSIVE[task]}
    for found in values(EXPRESSIVE[task], data.draw(SETS[task])):
        for text, value in found.items():
            low, high = ranges[text]
            assert value is None or low <= value <= high, text


@FEW
@given(sets=SETS["binary"])
def test_counts_of_parts_add_up_to_the_whole(sets):
    cells = [create("binary", name, {}) for name in ("tp", "fp", "fn", "tn")]
    first = values(cells, [part[: len(part) // 2] for part in sets])
    second = values(cells, [part[len(part) // 2 :] for part in sets])
    for one, two, both in zip(first, second, values(cells, sets), strict=True):
        for cell, value in both.items():
            assert (one[cell] or 0.0) + (two[cell] or 0.0) == (value or 0.0)
