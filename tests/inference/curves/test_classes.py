"""Curves of one class against the rest are those of a binary task on that class."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import plmetrics as plm

CLASSES = ["bird", "cat", "dog"]
NAMES = ["roc", "pr", "reliability", "score_histogram"]
MODELS = {"m": {"proba": {"cat": "c", "dog": "d", "bird": "b"}}}


def sample(rows, seed):
    rng = np.random.default_rng(seed)
    number = rng.integers(0, 3, rows)
    logits = rng.normal(0, 1, (rows, 3))
    logits[np.arange(rows), number] += 1
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return pl.DataFrame(
        {
            "y": np.array(CLASSES)[number],
            **dict(zip("bcd", p.T, strict=True)),
            "g": rng.choice(["u", "v"], rows),
            "w": rng.integers(1, 4, rows) / 2,
        }
    )


def curves(table, curves, **arguments):
    return plm.evaluate(table, label="y", metrics=["accuracy"], slices="g", curves=curves, **arguments).curves


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("uncertainty", [None, {"replicates": 150, "seed": 2}])
def test_each_class_is_a_binary_task(uncertainty, weight):
    table = sample(700, seed=1)
    asked = [{"curve": name, "slices": "g"} for name in NAMES]
    settings = {"uncertainty": uncertainty, "weight": weight}
    found = curves(table, [*asked, "confusion"], task="multiclass", models=MODELS, **settings)
    assert found.filter(curve="confusion").height == 9
    for name in CLASSES:
        binary = table.with_columns(y=pl.col("y") == name)
        expected = curves(binary, asked, models={"m": name[0]}, **settings)
        own = found.filter(pl.col("class") == name, pl.col("curve") != "confusion")
        plain = pl.col("curve").is_in(NAMES[:3])
        assert_frame_equal(own.filter(plain).drop("class"), expected.filter(plain).drop("class"))
        for curve, side in (("score_histogram", "positive"), ("score_histogram_rest", "negative")):
            theirs = expected.filter(pl.col("class") == side).drop("curve", "class")
            assert_frame_equal(own.filter(curve=curve).drop("curve", "class"), theirs)


def test_they_go_with_areas_of_the_classes_and_without_the_table_of_confusion():
    table = sample(300, seed=2)
    given = {"task": "multiclass", "label": "y", "models": MODELS, "metrics": ["roc_auc(average=none)"]}
    result = plm.evaluate(table, curves=["roc"], **given)
    areas = dict(result.metrics.select("class", "value").rows())
    for (name,), points in result.curves.group_by("class"):
        assert np.trapezoid(points["y"], points["x"]) == pytest.approx(areas[name], abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"models": {**MODELS, "hard": {"prediction": "y"}}},
            "model 'hard' has only hard predictions, and curve roc",
        ),
        ({"curves": ["corp"]}, "known: confusion, roc, pr, reliability, score_histogram"),
    ],
)
def test_what_is_wrong_is_said(arguments, words):
    with pytest.raises(plm.ConfigError) as caught:
        plm.evaluate(
            sample(20, seed=3),
            **{"task": "multiclass", "label": "y", "models": MODELS, "curves": ["roc"], **arguments},
        )
    assert words in str(caught.value)


def test_states_hold_them():
    """Few scores, each in a bin of its own: the curves of days added are those of all rows."""
    roles = {"task": "multiclass", "label": "y", "models": MODELS, "metrics": ["accuracy"]}
    roles |= {"curves": ["roc", "pr", "reliability", "score_histogram"]}
    days = [sample(60, seed=seed) for seed in (4, 5, 6)]
    whole = plm.state(pl.concat(days), **roles)
    merged = plm.merge(*(plm.state(day, **roles, constants=whole) for day in days)).curves
    rows = plm.evaluate(pl.concat(days), **roles).curves
    keys = ["curve", "class"]
    assert merged.group_by(keys).len().sort(keys).equals(rows.group_by(keys).len().sort(keys))
    for column in ("x", "y", "n"):
        assert merged[column].to_list() == pytest.approx(rows[column].to_list(), nan_ok=True), column
