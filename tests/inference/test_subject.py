"""Weights with one block moved, and which kinds of replicates a suite needs."""

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.core.results import METRICS_SCHEMA, first_rows
from plmetrics.inference.estimate import Estimate
from plmetrics.inference.intervals.spread import replicate_spread, standard_error
from plmetrics.inference.subject import Replication
from plmetrics.inference.weights import TILT, Nudges, replicate_counts
from plmetrics.report.summary import summarise

UNITS = np.array([3, 1, 0, 4])


def matrix(kind: str) -> np.ndarray:
    """The weights written out."""
    steps = (-1.0,) if kind == "jackknife" else (TILT, -TILT)
    return np.concatenate([1 + step * np.eye(len(UNITS)) for step in steps])


@pytest.mark.parametrize("kind", ["jackknife", "influence"])
class TestNudges:
    def test_are_a_matrix_that_is_never_written_out(self, kind: str) -> None:
        nudges = Nudges(kind, UNITS)
        assert nudges.shape == matrix(kind).shape
        assert np.concatenate(list(nudges.rows())) == pytest.approx(matrix(kind))

    def test_times_states(self, kind: str) -> None:
        random = np.random.default_rng(1)
        nudges = Nudges(kind, UNITS)
        states = random.random((5, 4))
        assert nudges.of(states) == pytest.approx(states @ matrix(kind).T)
        counts = random.random((2, 4, 3, 2))
        expected = np.einsum("rb,sbij->srij", matrix(kind), counts)
        assert replicate_counts(nudges, counts) == pytest.approx(expected)
        present = np.array([0, 3])
        held = random.random((2, 6))
        assert nudges.among(held, present) == pytest.approx(matrix(kind)[:, present] @ held)

    def test_totals_are_scaled_to_the_units_there_are(self, kind: str) -> None:
        left = matrix(kind) @ UNITS
        assert Nudges(kind, UNITS).scale == pytest.approx(UNITS.sum() / left)


def test_nothing_is_left_of_a_single_block() -> None:
    assert np.isnan(Nudges("jackknife", np.array([7])).scale).all()


def test_undefined_without_one_block_is_undefined() -> None:
    left_out = np.array([[0.5, 0.5], [np.nan, 0.4], [0.7, 0.6]])
    found = replicate_spread(left_out, np.ones(2), "jackknife", np.full(2, 0.5), np.array([3, 3]))
    assert found.too_many_undefined.tolist() == [True, False]
    assert found.undefined.tolist() == [1, 0]


@pytest.mark.parametrize("kind", ["jackknife", "influence"])
def test_fewer_than_two_blocks_have_no_standard_error(kind: str) -> None:
    replicates = np.random.default_rng(1).random((6, 2))
    found = standard_error(replicates, kind, np.full(2, 0.5), np.array([1, 2]))
    assert np.isnan(found[0])
    assert found[1] > 0


def test_taking_slices_keeps_what_replicates_are() -> None:
    ok = np.array(["ok", "ok"], dtype=object)
    placements = np.array([0.1, 0.2]), np.array([0.3, 0.4])
    whole = Estimate(
        np.array([0.5, 0.6]),
        ok,
        np.array([9, 8]),
        np.zeros((3, 2)),
        (),
        kind="jackknife",
        groups=np.array([7, 6]),
        placements=placements,
    )
    part = whole.take(np.array([1]))
    assert (part.kind, part.groups.tolist()) == ("jackknife", [6])
    assert [side.tolist() for side in part.placements] == [[0.2], [0.4]]


FRAME = pl.DataFrame({"y": [0, 1] * 30, "p": np.linspace(0, 1, 60), "q": np.linspace(1, 0, 60)})


def kinds(
    metrics: list[object], uncertainty: dict[str, object], **given: object
) -> dict[str, tuple[object, ...]]:
    asked = {"label": "y", "models": ["p", "q"], "metrics": metrics, "uncertainty": uncertainty, **given}
    suite = plm.evaluate(FRAME, **asked).suite
    replication = Replication(suite, compared=suite.compare is not None)
    return {metric.text: replication.kinds(metric) for metric in suite.metrics}


def test_closed_forms_need_no_replicates_unless_models_are_compared() -> None:
    metrics = ["roc_auc", "accuracy", "f1", "ks"]
    alone = kinds(metrics, {"method": "auto", "replicates": 20})
    assert alone == {"roc_auc": (None,), "accuracy": (None,), "f1": ("influence",), "ks": ("bootstrap",)}
    compared = kinds(metrics, {"method": "auto", "replicates": 20}, compare="q")
    assert compared["roc_auc"] == ("influence", None)


def test_what_is_made_from_a_metric_brings_its_own_kind() -> None:
    formula = {"name": "square", "formula": "accuracy * accuracy"}
    suite = plm.evaluate(
        FRAME,
        label="y",
        models="p",
        metrics=["accuracy", formula],
        uncertainty={"method": "auto", "replicates": 20},
    ).suite
    replication = Replication(suite, compared=False)
    accuracy = suite.metrics[0]
    assert replication.kinds(accuracy) == (None,)
    assert set(replication.of_leaf(accuracy)) == {None, "bootstrap"}


def test_the_first_of_several_rows() -> None:
    asked = {"label": "y", "models": ["p", "q"], "metrics": ["roc_auc", "f1"]}
    result = plm.evaluate(FRAME, uncertainty={"methods": ["jackknife", "delta", "delong"]}, **asked)
    kept = first_rows(result.metrics)
    assert kept.select("model", "metric", "method").rows() == [
        ("p", "roc_auc", "jackknife"),
        ("p", "f1", "jackknife"),
        ("q", "roc_auc", "jackknife"),
        ("q", "f1", "jackknife"),
    ]
    assert summarise(result).metrics.equals(kept)
    assert first_rows(kept).equals(kept)
    assert first_rows(METRICS_SCHEMA.to_frame()).is_empty()
