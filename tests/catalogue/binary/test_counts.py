import numpy as np
import polars as pl
import pytest

from plmetrics.catalogue.binary.counts import quadrants
from plmetrics.catalogue.registry import create


def cell(positive, called, threshold=0.5):
    return lambda y, p, w: w[((y == 1) == positive) & ((p >= threshold) == called)].sum()


REFERENCES = {
    "tp": cell(True, True),
    "fp": cell(False, True),
    "fn": cell(True, False),
    "tn": cell(False, False),
    "n": lambda y, p, w: len(y),
    "prevalence": lambda y, p, w: np.average(y, weights=w),
    "selection_rate": lambda y, p, w: np.average(p >= 0.5, weights=w),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_expression_equals_the_plain_formula(name, weight, check_expr):
    check_expr(create("binary", name, {}), weight, REFERENCES[name])


@pytest.mark.parametrize("threshold", [-3.0, 0.0, 0.4, 1.0, 1e300])
def test_a_score_at_the_threshold_is_called_positive(threshold, check_expr):
    metric = create("binary", "tp", {"threshold": threshold})
    check_expr(metric, "w", cell(True, True, threshold))


def test_boolean_labels_are_labels():
    rows = pl.DataFrame({"y": [True, False, True], "p": [0.9, 0.9, 0.1]})
    assert rows.select(create("binary", "tp", {}).expr("y", "p")).item() == 1.0


def test_equal_thresholds_share_their_atoms():
    precision = create("binary", "precision", {"threshold": 1}).atoms()
    recall = create("binary", "recall", {"threshold": 1.0}).atoms()
    assert precision["tp"].key == recall["tp"].key == quadrants(1.0)["tp"].key == "tp(threshold=1)"
    assert set(precision) == {"tp", "fp"}
    assert set(recall) == {"tp", "fn"}


@pytest.mark.parametrize("name", ["tp", "fp", "fn", "tn", "n"])
def test_totals_are_marked_as_totals(name):
    assert create("binary", name, {}).additive


@pytest.mark.parametrize("name", REFERENCES)
def test_without_rows_there_is_no_count(name, status):
    assert status(create("binary", name, {}), [], []) == "no_rows"
    assert status(create("binary", name, {}), [1, 0], [0.9, 0.1], [0.0, 0.0]) == "no_rows"
    assert status(create("binary", name, {}), [1, 0], [0.9, 0.1]) == "ok"
