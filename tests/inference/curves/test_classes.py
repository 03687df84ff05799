"""Curves of one class against the rest, and of pairs of classes, are those of a binary task on their rows."""

from itertools import permutations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sklearn.metrics import precision_recall_curve, roc_auc_score, roc_curve

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


@pytest.mark.exhaustive
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


@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("exact", [True, False])
def test_pairs_of_classes_are_two_classes_in_scikit_learn(weight, exact):
    table = sample(400, seed=7).with_columns(pl.col("b", "c", "d").round(2))
    asked = [{"curve": name, "slices": "g", "scheme": "ovo"} for name in ("roc", "pr")]
    given = {"task": "multiclass", "models": MODELS, "weight": weight, "exact": exact}
    found = curves(table, asked, **given)
    pairs = list(permutations(CLASSES, 2))
    assert found["class"].unique().sort().to_list() == sorted(f"{one} vs {other}" for one, other in pairs)
    for (one, other), part in ((pair, part) for pair in pairs for part in ("all", "g=u", "g=v")):
        rows = table.filter(pl.col("y").is_in([one, other]), (part == "all") | (pl.col("g") == part[-1]))
        given = (rows["y"] == one).to_numpy(), rows[one[0]].to_numpy()
        weights = None if weight is None else rows[weight].to_numpy()
        own = found.filter(pl.col("class") == f"{one} vs {other}", slice=part)
        fpr, tpr, _ = roc_curve(*given, sample_weight=weights, drop_intermediate=False)
        roc = own.filter(curve="roc").select("x", "y").to_numpy()
        np.testing.assert_allclose(roc, np.column_stack([fpr, tpr]), atol=1e-12)
        precision, recall, _ = precision_recall_curve(*given, sample_weight=weights)
        pr = own.filter(curve="pr").select("x", "y").to_numpy()
        np.testing.assert_allclose(pr, np.column_stack([recall, precision])[::-1], atol=1e-12)


def test_areas_of_pairs_have_the_mean_of_hand_and_till():
    table = sample(300, seed=8)
    given = {"task": "multiclass", "label": "y", "models": MODELS, "metrics": ["roc_auc(scheme=ovo)"]}
    result = plm.evaluate(table, curves=[{"curve": "roc", "scheme": "ovo"}], **given)
    areas = [np.trapezoid(part["y"], part["x"]) for _, part in result.curves.group_by("class")]
    value = result.metrics["value"].item()
    assert np.mean(areas) == pytest.approx(value, abs=1e-12)
    expected = roc_auc_score(table["y"], table.select("b", "c", "d").to_numpy(), multi_class="ovo")
    assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("weight", [None, "w"])
def test_reliability_of_pairs_is_that_of_the_share_of_the_first(weight):
    """Rows to which neither class is possible say nothing about the pair."""
    none = pl.DataFrame({"y": ["bird", "cat"], "b": 0.0, "c": 0.0, "d": 1.0, "g": "u", "w": 1.0})
    table = pl.concat([sample(500, seed=9), none])
    asked = [{"curve": "reliability", "scheme": "ovo", "bins": 10}]
    found = curves(table, asked, task="multiclass", models=MODELS, weight=weight)
    for one, other in (("cat", "dog"), ("cat", "bird"), ("dog", "bird")):
        p, q = pl.col(one[0]), pl.col(other[0])
        rows = table.filter(pl.col("y").is_in([one, other]), p + q > 0).with_columns(p=p / (p + q))
        expected = curves(
            rows.with_columns(y=pl.col("y") == one),
            [{"curve": "reliability", "bins": 10}],
            models={"m": "p"},
            weight=weight,
        )
        own = found.filter(pl.col("class") == f"{one} vs {other}")
        assert_frame_equal(own.drop("class"), expected.drop("class"))
        share, hit = rows["p"].to_numpy(), (rows["y"] == one).to_numpy()
        w = np.ones(len(share)) if weight is None else rows[weight].to_numpy()
        first = share <= 0.1
        means = [np.average(each[first], weights=w[first]) for each in (share, hit)]
        assert own.row(0, named=True)["x"] == pytest.approx(means[0], abs=1e-12)
        assert own.row(0, named=True)["y"] == pytest.approx(means[1], abs=1e-12)
    assert found["class"].n_unique() == 3


def test_names_of_pairs_tell_them_apart():
    table = pl.DataFrame({"y": ["a", "b vs c", "a vs b", "c"] * 3, **{k: np.arange(12) / 48 for k in "pqrs"}})
    models = {
        "m": {"proba": dict(zip(["a", "b vs c", "a vs b", "c"], "pqrs", strict=True)), "normalise": True}
    }
    given = {"task": "multiclass", "label": "y", "models": models, "metrics": ["roc_auc"]}
    found = plm.evaluate(table[1:], curves=[{"curve": "roc", "scheme": "ovo"}], **given).curves
    assert found["class"].n_unique() == 12
    assert {'a vs "b vs c"', '"a vs b" vs c'} <= set(found["class"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"curves": ["roc", {"curve": "roc", "scheme": "ovo"}]}, "curve 'roc' is drawn for one scheme"),
        (
            {"curves": [{"curve": "score_histogram", "scheme": "ovo"}]},
            "scheme belongs to curve 'roc' or 'pr' or 'reliability', not to 'score_histogram'",
        ),
        (
            {"task": "multilabel", "label": "y_", "curves": [{"curve": "roc", "scheme": "ovo"}]},
            "a row of 'multilabel' may have both classes",
        ),
        (
            {"task": "binary", "models": {"m": "b"}, "curves": [{"curve": "roc", "scheme": "ovo"}]},
            "pairs of classes belong to task 'multiclass'",
        ),
    ],
)
def test_schemes_that_do_not_fit_are_refused(arguments, words):
    with pytest.raises(plm.ConfigError, match=words):
        plm.evaluate(
            sample(20, seed=3), **{"task": "multiclass", "label": "y", "models": MODELS, **arguments}
        )


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


@pytest.mark.exhaustive
@pytest.mark.parametrize("asked", [NAMES[:3], [{"curve": name, "scheme": "ovo"} for name in NAMES[:3]]])
def test_states_hold_them(asked):
    """Few scores, each in a bin of its own: the curves of days added are those of all rows."""
    roles = {"task": "multiclass", "label": "y", "models": MODELS, "metrics": ["accuracy"]}
    roles |= {"curves": [*asked, "score_histogram"]}
    days = [sample(60, seed=seed) for seed in (4, 5, 6)]
    whole = plm.state(pl.concat(days), **roles)
    merged = plm.merge(*(plm.state(day, **roles, constants=whole) for day in days)).curves
    rows = plm.evaluate(pl.concat(days), **roles).curves
    keys = ["curve", "class"]
    assert merged.group_by(keys).len().sort(keys).equals(rows.group_by(keys).len().sort(keys))
    for column in ("x", "y", "n"):
        assert merged[column].to_list() == pytest.approx(rows[column].to_list(), nan_ok=True), column


@pytest.mark.parametrize("column", ["y", "called"])
@pytest.mark.parametrize("value", [None, "fish"])
def test_a_row_without_a_class_is_a_data_error(column, value):
    table = pl.DataFrame({"y": ["bird", "cat", "dog"] * 2, "called": ["bird", "dog", "dog"] * 2})
    table[3, column] = value
    given = {
        "task": "multiclass",
        "label": "y",
        "models": {"m": {"prediction": "called"}},
        "classes": CLASSES,
    }
    with pytest.raises(plm.DataError, match=f"column '{column}'.*in row 3"):
        plm.evaluate(table, metrics=["accuracy"], curves=["confusion"], **given)
