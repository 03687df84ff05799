"""Gates on one side of the errors alone are told of, and those that something else of the suite bounds are not."""

from typing import Any

import pytest

from plmetrics.diagnostics.gate_warnings import gate_warnings
from plmetrics.suite.arguments import suite_from_arguments


def suite(metrics: list[Any], gates: list[dict[str, Any]], **options: Any) -> Any:
    return suite_from_arguments(label="y", models={"m": "p"}, metrics=metrics, gates=gates, **options)


@pytest.mark.parametrize(
    ("metrics", "gated", "calls"),
    [
        (["recall"], "recall", "every row"),
        (["recall", "roc_auc", "prevalence"], "recall", "every row"),
        (["fnr", "npv"], "fnr", "every row"),
        (["precision", "average_precision"], "precision", "hardly any row"),
        (["specificity", "fpr"], "fpr", "hardly any row"),
    ],
)
def test_a_gate_that_a_trivial_model_passes(metrics: list[str], gated: str, calls: str) -> None:
    rule = "at_most" if gated in {"fnr", "fpr"} else "at_least"
    (text,) = gate_warnings(suite(metrics, [{"metric": gated, rule: 0.5}]))
    assert text.startswith(f"a model that calls {calls} positive passes the gate on {gated}")


def test_of_many_gates_the_first_are_named() -> None:
    metrics = [f"recall(threshold=0.{number})" for number in range(11, 99)]
    (text,) = gate_warnings(suite(metrics, [{"metric": metric, "at_least": 0.1} for metric in metrics]))
    assert "recall(threshold=0.2) and 78 more, and no metric" in text


@pytest.mark.parametrize(
    "metrics",
    [
        ["recall", "precision"],
        ["recall", "selection_rate"],
        ["recall", "f1"],
        ["recall", "fp"],
        ["recall", "roc_auc", "brier"],
        ["recall(threshold=max(f1))"],
        ["recall(threshold=optimal(cost_fp=1, cost_fn=5))"],
        ["roc_auc"],
    ],
)
def test_what_a_trivial_model_fails_is_not_told(metrics: list[str]) -> None:
    assert gate_warnings(suite(metrics, [{"metric": metrics[0], "at_least": 0.5}])) == []


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ({"metric": "roc_auc", "at_least": 80}, "roc_auc, at_least: 80: the metric is at most 1"),
        ({"metric": "brier", "at_most": -0.1}, "brier, at_most: -0.1: the metric is at least 0"),
        ({"metric": "roc_auc", "at_least": 1}, None),
        ({"metric": "log_loss", "at_most": 80}, None),
        ({"metric": "brier", "at_most": -0.1, "against": "n"}, None),
    ],
)
def test_a_limit_that_no_value_reaches(gate: dict[str, Any], said: str | None) -> None:
    asked = suite_from_arguments(
        label="y", models={"m": "p", "n": "q"}, metrics=["roc_auc", "brier", "log_loss"], gates=[gate]
    )
    assert gate_warnings(asked) == ([] if said is None else [f"no value passes the gate {said}"])


def test_several_limits_that_no_value_reaches_are_one_warning() -> None:
    limits = [("roc_auc", 80), ("roc_auc", 80), ("accuracy", 80), ("recall", 75), ("precision", 9), ("f1", 2)]
    gates = [{"metric": metric, "at_least": limit} for metric, limit in limits]
    metrics = list(dict.fromkeys(metric for metric, _ in limits))
    assert gate_warnings(suite(metrics, gates[:2])) == [
        "no value passes 2 gates: roc_auc, at_least: 80 (the metric is at most 1)"
    ]
    assert gate_warnings(suite(metrics, gates)) == [
        "no value passes 6 gates: roc_auc, at_least: 80 (the metric is at most 1); accuracy, at_least: 80 (the "
        "metric is at most 1); recall, at_least: 75 (the metric is at most 1); and 2 more"
    ]


def test_a_gap_between_slices_is_no_gate_on_the_rate() -> None:
    gates = [{"metric": "recall", "between": "g", "at_most": 0.1}]
    assert gate_warnings(suite(["recall"], gates, slices=["g"])) == []


def test_several_labels() -> None:
    roles = {"task": "multilabel", "label": "y", "models": {"m": {"proba": "p_"}}}
    gates = [{"metric": "recall", "at_least": 0.5}]
    assert len(gate_warnings(suite_from_arguments(**roles, metrics=["recall"], gates=gates))) == 1
    assert gate_warnings(suite_from_arguments(**roles, metrics=["recall", "precision"], gates=gates)) == []
