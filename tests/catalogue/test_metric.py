from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from plmetrics.catalogue.bases import Norm
from plmetrics.catalogue.metric import Metric
from plmetrics.catalogue.parameters import ParameterError, finite, nonnegative, parameter, positive, share
from plmetrics.catalogue.registry import create
from plmetrics.states.sums import View


@dataclass(frozen=True)
class Sample(Metric):
    name = "sample"
    ratio: float | str = parameter("auto", doc="")
    limit: float | None = parameter(None, doc="")
    count: int = parameter(3, doc="")
    strict: bool = parameter(default=False, doc="")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "sample"),
        ({"ratio": "auto", "limit": None, "count": 3, "strict": False}, "sample"),
        ({"ratio": 1}, "sample(ratio=1)"),
        ({"ratio": 0.25, "limit": 2}, "sample(ratio=0.25, limit=2)"),
        ({"ratio": "wide"}, "sample(ratio=wide)"),
        ({"strict": True, "count": 7}, "sample(count=7, strict=true)"),
        ({"ratio": np.float64(0.5), "count": np.int64(9)}, "sample(ratio=0.5, count=9)"),
        ({"limit": np.float32(0.5)}, "sample(limit=0.5)"),
        ({"limit": Fraction(1, 4)}, "sample(limit=0.25)"),
    ],
)
def test_text_and_types(given, text):
    metric = Sample(**given)
    assert metric.text == str(metric) == text
    assert isinstance(metric.limit, float | None)


@pytest.mark.parametrize(
    "given",
    [
        {"ratio": True},
        {"ratio": None},
        {"limit": "2"},
        {"count": 2.0},
        {"count": True},
        {"strict": 1},
        {"strict": "true"},
        {"ratio": [0.5]},
        {"limit": 1 << 2000},
    ],
)
def test_a_value_of_another_type_is_refused(given):
    (name,) = given
    with pytest.raises(ParameterError, match=f"sample: {name} must be"):
        Sample(**given)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "0.5", False])
def test_messages_name_metric_parameter_and_domain(value):
    words = f"recall: threshold must be a finite number, or a rule such as max.f1., not {value!r}"
    with pytest.raises(ParameterError, match=words):
        create("binary", "recall", {"threshold": value})


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("recall", {"treshold": 0.5}, "recall: unknown parameter 'treshold' .did you mean 'threshold'"),
        ("roc_auc", {"threshold": 0.5}, "roc_auc: unknown parameter 'threshold' .known: max_fpr"),
        ("fbeta", {}, "fbeta: parameter 'beta' is missing .how many times recall"),
    ],
)
def test_messages_name_metric_and_parameter(name, given, words):
    with pytest.raises(ParameterError, match=words):
        create("binary", name, given)


@pytest.mark.parametrize("threshold", [-2, 0, 0.5, 17, -1e-300, 1e300])
def test_any_finite_threshold_is_allowed(threshold):
    assert create("binary", "recall", {"threshold": threshold}).threshold == threshold


def test_metrics_are_equal_when_their_texts_are():
    metrics = {
        create("binary", "fbeta", {"beta": 2}),
        create("binary", "fbeta", {"beta": 2.0, "threshold": 0.5}),
    }
    assert len(metrics) == 1


@pytest.mark.parametrize(
    ("check", "inside", "outside"),
    [
        (finite, [-1e308, 0, 3.5], [float("inf"), float("nan")]),
        (positive, [1e-300, 3], [0, -1, float("inf")]),
        (nonnegative, [0, 3], [-1e-300, float("inf"), float("nan")]),
        (share, [1e-9, 0.5], [0, 1, -1, float("nan")]),
        (parameter(options=("a", "b"), doc="").metadata["check"], ["a", "b"], ["c", ""]),
    ],
)
def test_domains(check, inside, outside):
    assert all(check(value) for value in inside)
    assert not any(check(value) for value in outside)


def test_options_are_the_domain():
    three = parameter("x", options=("x", "y", "z"), doc="")
    assert three.metadata["domain"] == "x, y or z"
    assert parameter(options=("a", "b"), doc="").metadata["domain"] == "a or b"


class TwoNorm(Norm):
    name = "two_norm"

    def gaps(self, state):
        return state.gap

    def size(self, state, gaps):
        return np.sqrt((state.mass * gaps**2).sum())


def test_a_norm_measures_gaps_and_their_change():
    replicate = View({"gap": np.array([3.0, 1.0]), "mass": np.array([4.0, 0.0])})
    point = View({"gap": np.array([1.0, 9.0]), "mass": np.array([1.0, 1.0])})
    assert TwoNorm().finalise(replicate) == 6.0
    assert TwoNorm().deviation(replicate, point) == 4.0
