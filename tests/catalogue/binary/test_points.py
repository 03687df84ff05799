"""What holds for every metric of points: leading axes, segments, bounds on bins, status and threshold."""

from functools import cache
from itertools import pairwise, product

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.core.errors import ConfigError
from plmetrics.core.segments import Segments
from plmetrics.inference.metric_values import conditions, score_view

BOTH = {"no_positives": "no_positives", "no_negatives": "no_negatives"}
POSITIVES = {"no_positives": "no_positives", "no_negatives": "ok"}
ROWS = {"no_positives": "ok", "no_negatives": "ok"}
STATUSES = {
    "roc_auc(max_fpr=0.3)": BOTH,
    "roc_auc(min_recall=0.6)": BOTH,
    "roc_hull_auc": BOTH,
    "pr_auc": POSITIVES,
    "pr_auc(method=upper_trapezoid)": POSITIVES,
    "pr_auc(method=davis_goadrich)": POSITIVES,
    "interpolated_ap": POSITIVES,
    "interpolated_ap(points=101)": POSITIVES,
    "interpolated_ap(points=all)": POSITIVES,
    **{f"precision_at_recall(recall={limit})": POSITIVES for limit in (0.5, 1)},
    **{f"precision_at_volume(volume={limit})": ROWS for limit in (0.25, 0.6)},
    **{f"recall_at_precision(precision={limit})": POSITIVES for limit in (0.5, 0.75)},
    **{f"recall_at_fpr(fpr={limit})": BOTH for limit in (0.25, 0.5)},
    **{f"fpr_at_recall(recall={limit})": BOTH for limit in (0.5, 1)},
    **{f"precision_at_k(k={k})": ROWS for k in (1, 3, 0.4)},
    "recall_at_k(k=2)": POSITIVES,
    "lift_at_k(k=0.4)": POSITIVES,
    "max_accuracy": ROWS,
}
METRICS = [plm.metric(text, task="binary") for text in STATUSES]
WITH_CUT = [metric for metric in METRICS if not metric.threshold_free]
OF_AREAS = [plm.metric(name, task="binary") for name in ("roc_auc", "gini", "average_precision", "ks")]
every_metric = pytest.mark.parametrize("metric", METRICS, ids=str)
every_metric_of_order = pytest.mark.parametrize("metric", [*METRICS, *OF_AREAS], ids=str)


def state(positive, negative, tied=False, **flags):
    positive, negative = np.asarray(positive, dtype=np.float64), np.asarray(negative, dtype=np.float64)
    score = np.broadcast_to(np.arange(positive.shape[-1], dtype=np.float64), positive.shape)
    points = {"score": score, "positive": positive, "negative": negative, "tied": tied}
    return score_view(points, **flags)


def undefined(metric, view):
    return np.any([np.broadcast_to(holds, np.shape(view.weight)) for _, holds in conditions(metric, view)], 0)


def everything(metric, view):
    with np.errstate(divide="ignore", invalid="ignore"):
        found = {"value": metric.finalise(view), "bound": metric.bound(view)}
        if metric in WITH_CUT:
            found["cut"] = metric.cut(view)
    return {name: np.broadcast_to(array, np.shape(view.weight)) for name, array in found.items()}


def random_points(rng, shape):
    empty = rng.random(shape) < 0.3
    return [np.where(empty | (rng.random(shape) < 0.3), 0.0, rng.gamma(2.0, 1.0, shape)) for _ in range(2)]


@every_metric_of_order
def test_leading_axes_and_empty_points(metric):
    positive, negative = random_points(np.random.default_rng(1), (4, 3, 9))
    positive[0, 0], negative[1, 1] = 0.0, 0.0
    positive[2, 2] = negative[2, 2] = 0.0
    whole = state(positive, negative)
    together, missing = everything(metric, whole), undefined(metric, whole)
    for index in np.ndindex(4, 3):
        occupied = positive[index] + negative[index] > 0
        alone = state(positive[index][occupied], negative[index][occupied])
        assert missing[index] == undefined(metric, alone)
        if not missing[index]:
            apart = everything(metric, alone)
            for name in ("value", "bound"):
                assert together[name][index] == pytest.approx(apart[name], rel=1e-12, abs=1e-14), name
    assert missing[2, 2]


@pytest.mark.exhaustive
@every_metric_of_order
@pytest.mark.parametrize("flags", [{}, {"coarse": True}, {"joined": True}], ids=str)
def test_segments_equal_separate_slices(metric, flags):
    rng = np.random.default_rng(2)
    offsets = np.array([0, 5, 5, 12, 13, 20])
    replicates = random_points(rng, (3, 20))
    for positive, negative in (replicates, [part[0] for part in replicates]):
        parts = {"score": np.broadcast_to(np.arange(20.0), positive.shape)}
        parts |= {"positive": positive, "negative": negative}
        ragged = {name: Segments(np.ascontiguousarray(part), offsets) for name, part in parts.items()}
        whole = score_view(ragged, **flags)
        together, missing = everything(metric, whole), undefined(metric, whole)
        assert together["value"].shape == (*positive.shape[:-1], 5)
        assert missing[..., 1].all()
        for index, (first, last) in enumerate(pairwise(offsets)):
            alone = score_view({name: part[..., first:last] for name, part in parts.items()}, **flags)
            assert (missing[..., index] == undefined(metric, alone)).all()
            kept = ~missing[..., index]
            for name, array in everything(metric, alone).items():
                found = together[name][..., index][kept]
                np.testing.assert_allclose(found, array[kept], rtol=1e-12, atol=1e-14, err_msg=name)


@cache
def orders(positives, negatives):
    """All sequences of tie groups that a bin of unit rows can hold."""
    if positives == negatives == 0:
        return [()]
    return [
        ((p, n), *rest)
        for p, n in product(range(positives + 1), range(negatives + 1))
        if p + n
        for rest in orders(positives - p, negatives - n)
    ]


BINS = [
    [(2, 2)],
    [(3, 1), (0, 2)],
    [(0, 2), (3, 1)],
    [(1, 2), (2, 1)],
    [(0, 0), (2, 1), (1, 2)],
    [(0, 2), (2, 0)],
    [(1, 3), (1, 1), (2, 0)],
    [(2, 0), (2, 2), (0, 1)],
    [(1, 1), (1, 0), (0, 1), (2, 1)],
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("bins", BINS, ids=str)
def test_no_order_within_bins_is_farther_away_than_the_bound(bins):
    for tied in product([False, True], repeat=len(bins)):
        assert_bounds_hold(bins, tied)


def assert_bounds_hold(bins, tied):
    """No order within those bins that are not one score is farther away."""
    within = [[(cell,)] if whole else orders(*cell) for cell, whole in zip(bins, tied, strict=True)]
    chosen = [[point for cell in cells for point in cell] for cells in product(*within)]
    longest = max(map(len, chosen))
    points = np.array([[(0, 0)] * (longest - len(points)) + points for points in chosen], dtype=np.float64)
    fine, binned = state(points[..., 0], points[..., 1]), state(*zip(*bins, strict=True), np.array(tied))
    for metric in METRICS:
        known = ~undefined(metric, fine)
        if not undefined(metric, binned) and known.any():
            with np.errstate(divide="ignore", invalid="ignore"):
                largest = np.abs(metric.finalise(fine) - metric.finalise(binned))[known].max()
                assert metric.bound(binned) >= largest - 1e-12, (metric, tied)
            if all(tied):
                assert metric.bound(binned) == pytest.approx(0.0, abs=1e-12), metric


@pytest.mark.parametrize(
    "metric", [m for m in METRICS if m.name not in {"pr_auc", "precision_at_volume"}], ids=str
)
def test_bins_of_one_class_need_no_bound(metric):
    """But for lines that begin, and volumes that are reached, inside of a bin."""
    assert metric.bound(state([0, 1, 0, 1], [1, 0, 1, 0])) == pytest.approx(0.0, abs=1e-15)


def test_positives_before_all_negatives_have_the_precision_1_in_any_order():
    assert plm.metric("pr_auc", task="binary").bound(state([0, 1, 3], [2, 0, 0])) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        *("recall_at_precision(precision=0.6)", "precision_at_recall(recall=0.6)", "recall_at_fpr(fpr=0.6)"),
        *("precision_at_volume(volume=0.6)", "fpr_at_recall(recall=0.6)", "interpolated_ap"),
    ],
)
def test_limits_that_are_reached_but_for_rounding_in_single_precision(text):
    """Of five equal scores the third reaches 0.6 exactly: sums in any order and precision say so."""
    metric = plm.metric(text, task="binary")
    weight = np.random.default_rng(3).uniform(1e5, 1e6, (200, 1)) * [2, 2, 2, 2, 2]
    other = weight * ([1, 1, 2 / 3, 2 / 3, 2 / 3] if "precision=" in text else 1)
    exact, rounded = (
        score_view(
            {"score": np.arange(5.0), "tied": True}
            | {"positive": weight.astype(kind), "negative": other.astype(kind)},
            coarse=True,
        )
        for kind in (np.float64, np.float32)
    )
    assert metric.finalise(rounded) == pytest.approx(metric.finalise(exact), rel=1e-5)


def evaluated(metric, label, score, weight):
    rows = pl.DataFrame({"y": label, "p": score, "w": weight})
    return plm.evaluate(rows, label="y", models="p", weight="w", metrics=[metric]).metrics.row(0, named=True)


@pytest.mark.exhaustive
@pytest.mark.parametrize("text", STATUSES)
@pytest.mark.parametrize("missing", ["no_positives", "no_negatives"])
def test_status_without_a_class(text, missing):
    label = [0 if missing == "no_positives" else 1] * 4
    found = evaluated(text, label, [0.9, 0.8, 0.2, 0.1], [1.0, 2.0, 1.0, 1.0])
    expected = STATUSES[text][missing]
    assert found["status"] == expected
    assert (found["value"] is None) == (expected != "ok")
    if expected != "ok":
        assert found["threshold"] is None


@pytest.mark.parametrize(
    ("text", "value", "threshold", "status"),
    [
        ("recall_at_precision(precision=0.9)", None, None, "unreachable"),
        ("recall_at_fpr(fpr=0.4)", 0.0, None, "ok"),
        ("recall_at_fpr(fpr=0.5)", 0.5, 0.6, "ok"),
        ("fpr_at_recall(recall=0.5)", 0.5, 0.6, "ok"),
        ("max_accuracy", 0.5, None, "ok"),
        ("precision_at_k(k=5)", None, None, "too_few_rows"),
        ("precision_at_k(k=4)", 0.5, 0.1, "ok"),
        ("lift_at_k(k=2)", 1.0, 0.6, "ok"),
    ],
)
def test_ends_by_hand(text, value, threshold, status):
    """Rows from the highest score: negative, positive, negative, positive."""
    found = evaluated(text, [0, 1, 0, 1], [0.9, 0.6, 0.4, 0.1], [1.0] * 4)
    assert (found["value"], found["threshold"], found["status"]) == (value, threshold, status)


@pytest.mark.exhaustive
@every_metric
def test_one_row(metric):
    found = evaluated(metric, [1], [0.3], [0.5])
    expected = STATUSES[metric.text]["no_negatives"]
    if getattr(metric, "k", 0) >= 1:
        expected = "too_few_rows"
    assert found["status"] == expected


@pytest.mark.parametrize("text", STATUSES)
def test_no_expression_form(text):
    with pytest.raises(ConfigError, match=r"no expression form; use plmetrics\.evaluate"):
        plm.metric(text, task="binary").expr("y", "p")


def test_spellings():
    assert str(plm.metric("pr_auc(method=trapezoid)", task="binary")) == "pr_auc"
    assert str(plm.metric("gain(k=0.10)", task="binary")) == "recall_at_k(k=0.1)"
    assert str(plm.metric("roc_auc", task="binary")) == "roc_auc"


@pytest.mark.parametrize(
    "text",
    [
        *(f"precision_at_k(k={k})" for k in (0, -1, 1.5, 0.0)),
        *(f"interpolated_ap(points={points})" for points in (12, "some")),
        *(f"recall_at_fpr(fpr={limit})" for limit in (0, 1.1, -0.1)),
        *(
            "roc_auc(max_fpr=0)",
            "roc_auc(min_recall=1)",
            "roc_auc(max_fpr=0.1, min_recall=0.5)",
            "pr_auc(method=simpson)",
            "recall_at_precision",
        ),
    ],
)
def test_parameters_have_a_domain(text):
    with pytest.raises(ConfigError):
        plm.metric(text, task="binary")


@pytest.mark.exhaustive
@pytest.mark.parametrize("metric", WITH_CUT, ids=str)
def test_thresholds_of_slices_are_their_own(metric):
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"g": rng.integers(0, 3, 200), "p": rng.random(200).round(2)})
    frame = frame.with_columns(y=pl.Series(rng.random(200) < frame["p"].to_numpy()))
    together = plm.evaluate(frame, label="y", models="p", metrics=[metric], slices={"g": "g"}).metrics
    for group in range(3):
        alone = plm.evaluate(frame.filter(g=group), label="y", models="p", metrics=[metric]).metrics
        row = together.filter(slice=f"g={group}")
        assert row["threshold"].item() == alone["threshold"].item()
        assert row["value"].item() == pytest.approx(alone["value"].item(), rel=1e-12)


@pytest.mark.parametrize(
    ("points", "status"), [("", "not_estimable"), ("(points=101)", "ok"), ("(points=all)", "ok")]
)
def test_precision_down_to_the_last_positive_has_no_interval(points: str, status: str) -> None:
    """With 11 points it is 1 / 11 of the value, and depends on one score, as an extreme does."""
    random = np.random.default_rng(4)
    y = random.integers(0, 2, 400)
    frame = pl.DataFrame({"y": y, "p": y + random.normal(size=400)})
    metrics = [f"interpolated_ap{points}"]
    found = plm.evaluate(
        frame, label="y", models="p", metrics=metrics, uncertainty={"replicates": 50}
    ).metrics
    assert found["interval_status"].to_list() == [status]
