from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp
from sklearn import metrics as sk

from plmetrics.catalogue.registry import create
from plmetrics.core.segments import Segments
from plmetrics.states.sums import View

NAMES = ("roc_auc", "gini", "average_precision", "ks")
METRICS = [create("binary", name, {}) for name in NAMES]


def both(y):
    return 0 < y.sum() < len(y)


def pairs(y, p, w):
    """Area by comparing every positive with every negative."""
    if not both(y):
        return np.nan
    difference = p[y == 1][:, None] - p[y == 0]
    mass = w[y == 1][:, None] * w[y == 0]
    return (mass * ((difference > 0) + (difference == 0) / 2)).sum() / mass.sum()


def gini(y, p, w):
    return 2 * sk.roc_auc_score(y, p, sample_weight=w) - 1 if both(y) else np.nan


def average_precision(y, p, w):
    return sk.average_precision_score(y, p, sample_weight=w) if y.any() else np.nan


def ks(y, p, w):
    if not both(y):
        return np.nan
    below = p <= np.unique(p)[:, None]
    shares = [(below * w)[:, y == label].sum(axis=1) / w[y == label].sum() for label in (0, 1)]
    return np.abs(shares[1] - shares[0]).max()


REFERENCES = {"roc_auc": pairs, "gini": gini, "average_precision": average_precision, "ks": ks}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_expression_equals_the_independent_formula(name, weight, check_expr):
    check_expr(create("binary", name, {}), weight, REFERENCES[name])


def test_ks_equals_scipy():
    rng = np.random.default_rng(0)
    label = rng.random(300) < 0.3
    score = (rng.normal(size=300) + label).round(1)
    rows = pl.DataFrame({"y": label, "p": score})
    expected = ks_2samp(score[label], score[~label]).statistic
    assert rows.select(create("binary", "ks", {}).expr("y", "p")).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "without_positives", "without_negatives"),
    [
        ("roc_auc", "no_positives", "no_negatives"),
        ("gini", "no_positives", "no_negatives"),
        ("average_precision", "no_positives", "ok"),
        ("ks", "no_positives", "no_negatives"),
    ],
)
def test_undefined(name, without_positives, without_negatives, status):
    metric = create("binary", name, {})
    assert status(metric, [], []) == "no_rows"
    assert status(metric, [0, 0], [0.9, 0.1]) == without_positives
    assert status(metric, [1, 1], [0.9, 0.1]) == without_negatives
    assert status(metric, [1, 0, 0], [0.9, 0.1, 0.1], [0.0, 1.0, 1.0]) == without_positives


def state(positive, negative, tied=False):
    """A point state from the weights per point."""
    positive, negative = np.asarray(positive, dtype=np.float64), np.asarray(negative, dtype=np.float64)
    return view(positive, negative, positive.sum(axis=-1), negative.sum(axis=-1), tied)


def view(positive, negative, positives, negatives, tied=False):
    weight = positives + negatives
    totals = {"positives": positives, "negatives": negatives, "weight": weight, "n": weight}
    return View({"positive": positive, "negative": negative, "tied": tied, **totals})


def random_points(rng, shape):
    empty = rng.random(shape) < 0.3
    return [np.where(empty | (rng.random(shape) < 0.3), 0.0, rng.gamma(2.0, 1.0, shape)) for _ in range(2)]


def test_a_small_slice_keeps_its_digits_beside_a_huge_one():
    rng = np.random.default_rng(3)
    sizes = [1000, 50]
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    scale = np.repeat([1e12, 1e-3], sizes)
    positive, negative = rng.random((2, 1050)) * scale
    ragged = [Segments(part, offsets) for part in (positive, negative)]
    whole = view(*ragged, *(part.total() for part in ragged))
    alone = state(positive[1000:], negative[1000:])
    for metric in METRICS:
        assert metric.finalise(whole)[1] == pytest.approx(metric.finalise(alone), rel=1e-12)


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_perfect_separation_is_exactly_1_also_under_weights(metric):
    rng = np.random.default_rng(4)
    positive, negative = rng.random((2, 200, 30))
    positive[:, :17] = 0.0
    negative[:, 17:] = 0.0
    assert (metric.finalise(state(positive, negative)) == 1.0).all()
    if metric.name in {"roc_auc", "gini"}:
        assert (metric.finalise(state(positive[:, ::-1], negative[:, ::-1])) == metric.range[0]).all()


def test_ks_deviation_is_the_largest_change_of_the_gap():
    metric = create("binary", "ks", {})
    replicates = random_points(np.random.default_rng(5), (6, 8))
    point = [part[0] + 1.0 for part in replicates]
    found = metric.deviation(state(*replicates), state(*point))
    for index in range(6):
        moved = 0.0
        for cut in range(1, 9):
            gaps = [
                p[:cut].sum() / p.sum() - n[:cut].sum() / n.sum()
                for p, n in ([part[index] for part in replicates], point)
            ]
            moved = max(moved, abs(gaps[0] - gaps[1]))
        assert found[index] == pytest.approx(moved, rel=1e-12)


def orders(positives, negatives):
    """All sequences of tie groups that a bin of unit rows can hold."""
    if positives == negatives == 0:
        yield []
        return
    for p, n in product(range(positives + 1), range(negatives + 1)):
        if p + n:
            for rest in orders(positives - p, negatives - n):
                yield [(p, n), *rest]


def errors_of(metric, bins, tied):
    """How far every order within bins is from that of the bins, but of those that are one score."""
    binned = metric.finalise(state(*zip(*bins, strict=True)))
    within = ([[cell]] if whole else list(orders(*cell)) for cell, whole in zip(bins, tied, strict=True))
    for chosen in product(*within):
        points = [point for cell in chosen for point in cell]
        yield metric.finalise(state(*zip(*points, strict=True))) - binned


BINS = [
    [(1, 1)],
    [(2, 2)],
    [(3, 1), (0, 2)],
    [(1, 2), (2, 1)],
    [(0, 0), (2, 1), (1, 2)],
    [(0, 2), (2, 0)],
    [(1, 3), (1, 1), (2, 0)],
    [(2, 0), (2, 2), (0, 1)],
]


@pytest.mark.parametrize("bins", BINS, ids=str)
@pytest.mark.parametrize("name", ["roc_auc", "gini", "ks"])
def test_bound_is_the_largest_error_of_any_order_within_bins(name, bins):
    metric = create("binary", name, {})
    for tied in product([False, True], repeat=len(bins)):
        largest = max(abs(error) for error in errors_of(metric, bins, tied))
        found = metric.bound(state(*zip(*bins, strict=True), np.array(tied)))
        assert found == pytest.approx(largest, abs=1e-14), tied


@pytest.mark.parametrize("bins", BINS, ids=str)
def test_bound_of_average_precision_holds_and_is_reached_by_small_rows(bins):
    metric = create("binary", "average_precision", {})
    bound = metric.bound(state(*zip(*bins, strict=True)))
    for tied in product([False, True], repeat=len(bins)):
        largest = max(abs(error) for error in errors_of(metric, bins, tied))
        assert metric.bound(state(*zip(*bins, strict=True), np.array(tied))) >= largest - 1e-14
    parts = 2000
    binned = metric.finalise(state(*zip(*bins, strict=True)))
    worst = [point for p, n in bins for point in [*[(p / parts, 0)] * parts, (0, n)]]
    best = [point for p, n in bins for point in [(0, n), (p, 0)]]
    reached = [abs(metric.finalise(state(*zip(*points, strict=True))) - binned) for points in (worst, best)]
    assert bound == pytest.approx(max(reached), abs=2e-3)


@pytest.mark.parametrize("name", ["roc_auc", "gini", "ks"])
def test_bins_of_one_class_need_no_bound(name):
    assert create("binary", name, {}).bound(state([0, 2, 0, 3], [1, 0, 4, 0])) == 0.0


ROWS = st.lists(
    st.tuples(st.booleans(), st.integers(-4, 4), st.integers(1, 3)), min_size=2, max_size=25
).filter(lambda rows: len({label for label, _, _ in rows}) == 2)
FEW = settings(max_examples=25, deadline=None)


def values(label, score, weight):
    rows = pl.DataFrame({"y": label, "p": [float(s) for s in score], "w": weight})
    return rows.select(metric.expr("y", "p", "w") for metric in METRICS).row(0, named=True)


@pytest.mark.slow
@FEW
@given(rows=ROWS)
def test_a_monotone_transform_changes_nothing(rows):
    label, score, weight = map(list, zip(*rows, strict=True))
    assert values(label, np.exp(score) - 7, weight) == values(label, score, weight)


@pytest.mark.slow
@FEW
@given(rows=ROWS)
def test_flipping_labels_or_scores_mirrors_the_area(rows):
    label, score, weight = map(list, zip(*rows, strict=True))
    plain = values(label, score, weight)
    other_class = values([not y for y in label], score, weight)
    other_way = values(label, [-s for s in score], weight)
    for mirrored in (other_class, other_way):
        assert mirrored["roc_auc"] == pytest.approx(1 - plain["roc_auc"], abs=1e-14)
        assert mirrored["gini"] == pytest.approx(-plain["gini"], abs=1e-14)
        assert mirrored["ks"] == pytest.approx(plain["ks"], abs=1e-14)


def test_minus_zero_ties_with_zero():
    assert values([True, False], [0.0, -0.0], [1.0, 1.0])["roc_auc"] == 0.5
