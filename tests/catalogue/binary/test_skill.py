import math

import numpy as np
import polars as pl
import pytest
from scipy.stats import entropy
from sklearn import metrics as sk

from plmetrics.catalogue.registry import create


def default(y, w):
    share = np.average(y, weights=w)
    return entropy([share, 1 - share])


def log_loss_skill(clip):
    def reference(y, p, w):
        held = np.clip(p, clip, 1 - clip)
        if y.all() or not y.any():
            return np.nan
        both = np.column_stack([1 - held, held])
        return 1 - sk.log_loss(y, both, sample_weight=w, labels=[0, 1]) / default(y, w)

    return reference


def brier_skill(y, p, w):
    """scikit-learn's r2 of the scores as predictions of the labels is the same number."""
    return np.nan if y.all() or not y.any() else sk.r2_score(y, p, sample_weight=w)


CASES = [
    ("default_log_loss", {}, lambda y, p, w: default(y, w)),
    ("log_loss_skill", {}, log_loss_skill(2.220446049250313e-16)),
    ("log_loss_skill", {"clip": 0.01}, log_loss_skill(0.01)),
    ("brier_skill", {}, brier_skill),
    ("brier_uncertainty", {}, lambda y, p, w: np.average((y - np.average(y, weights=w)) ** 2, weights=w)),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "parameters", "reference"), CASES)
def test_expression_equals_the_independent_formula(name, parameters, reference, weight, check_expr):
    check_expr(create("binary", name, parameters), weight, reference)


@pytest.mark.parametrize("name", ["log_loss_skill", "brier_skill"])
def test_one_class_leaves_nothing_to_compare_with(name, status):
    metric = create("binary", name, {})
    assert status(metric, [], []) == "no_rows"
    assert status(metric, [1, 1], [0.9, 0.8]) == "zero_denominator"
    assert status(metric, [0, 1], [0.1, 0.2], [1.0, 0.0]) == "zero_denominator"
    assert status(metric, [0, 1], [0.1, 0.2]) == "ok"


@pytest.mark.parametrize(("name", "most"), [("default_log_loss", math.log(2)), ("brier_uncertainty", 0.25)])
def test_the_default_is_defined_for_one_class(name, most, status):
    metric = create("binary", name, {})
    assert status(metric, [], []) == "no_rows"
    for labels, expected in ([[1], 0.0], [[0, 0], 0.0], [[1, 0], most]):
        rows = pl.DataFrame({"y": labels, "p": [0.3] * len(labels)})
        found = rows.select(metric.expr("y", "p")).item()
        assert found == expected
        assert math.copysign(1.0, found) == 1.0
    assert not metric.needs_score


@pytest.mark.parametrize("name", ["log_loss_skill", "brier_skill"])
def test_the_prevalence_as_score_has_no_skill(name):
    rows = pl.DataFrame({"y": [1, 0, 0, 1, 0], "w": [1.0, 2.0, 0.5, 0.5, 2.0]})
    metric = create("binary", name, {})
    assert rows.select(metric.expr("y", pl.lit(0.25), "w")).item() == pytest.approx(0.0, abs=1e-15)
    assert rows.select(metric.expr("y", "y", "w")).item() == pytest.approx(1.0, rel=1e-12)
