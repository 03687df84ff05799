import numpy as np
import polars as pl
import pytest
from sklearn import metrics as sk

from plmetrics.catalogue.parameters import ParameterError
from plmetrics.catalogue.registry import create

EPSILON = 2.220446049250313e-16


def log_loss(clip):
    def reference(y, p, w):
        held = np.clip(p, clip, 1 - clip)
        return sk.log_loss(y, np.column_stack([1 - held, held]), sample_weight=w, labels=[0, 1])

    return reference


def brier(y, p, w):
    return sk.brier_score_loss(y, p, sample_weight=w, pos_label=1)


def spherical(y, p, w):
    """By its definition: the probability of what happened over the length of the vector of probabilities."""
    given = [(p if label else 1 - p) / np.hypot(p, 1 - p) for label, p in zip(y, p, strict=True)]
    return np.average(given, weights=w)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("name", "parameters", "reference"),
    [
        ("log_loss", {}, log_loss(EPSILON)),
        ("log_loss", {"clip": 0.01}, log_loss(0.01)),
        ("brier", {}, brier),
        ("spherical_score", {}, spherical),
    ],
)
def test_expression_equals_the_reference(name, parameters, reference, weight, check_expr):
    check_expr(create("binary", name, parameters), weight, reference)


@pytest.mark.parametrize(("score", "expected"), [(0.0, -np.log(EPSILON)), (1.0, 0.0)])
def test_certain_scores_are_clipped(score, expected):
    rows = pl.DataFrame({"y": [1], "p": [score]})
    assert rows.select(create("binary", "log_loss", {}).expr("y", "p")).item() == pytest.approx(
        expected, abs=3e-16
    )


@pytest.mark.parametrize("clip", [0, 0.5, 1, -1e-3])
def test_clip_has_a_domain(clip):
    with pytest.raises(ParameterError, match=r"clip must be above 0 and below 0\.5"):
        create("binary", "log_loss", {"clip": clip})


@pytest.mark.parametrize("name", ["log_loss", "brier", "spherical_score"])
def test_only_no_rows_is_undefined(name, status):
    metric = create("binary", name, {})
    assert status(metric, [], []) == "no_rows"
    assert status(metric, [1], [0.3]) == "ok"
    assert status(metric, [0, 0], [0.3, 0.3]) == "ok"


@pytest.mark.parametrize("name", ["log_loss", "brier", "spherical_score"])
def test_proper_scores_say_so(name):
    metric = create("binary", name, {})
    assert metric.probability
    assert metric.needs_score
    assert metric.proper == "strictly"


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("truth", [0.03, 0.5, 0.8])
@pytest.mark.parametrize("name", ["log_loss", "brier", "spherical_score"])
def test_no_score_beats_the_true_probability(name, truth):
    rows = pl.DataFrame({"y": [1, 0], "w": [truth, 1 - truth]})
    metric = create("binary", name, {})
    tried = np.linspace(0.01, 0.99, 99)
    values = rows.select(metric.expr("y", pl.lit(score), "w").alias(str(score)) for score in tried).row(0)
    best = np.argmin(values) if metric.direction == "lower" else np.argmax(values)
    assert tried[best] == pytest.approx(truth)
