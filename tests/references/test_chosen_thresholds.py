"""Thresholds chosen from rows, against a search over all of them in plain Python."""

import numpy as np
import polars as pl
import pytest

import plmetrics as plm


def table(seed, rows=400, ties=True):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, rows)
    score = np.clip(rng.normal(0.4 + 0.25 * label, 0.2), 0, 1)
    return pl.DataFrame(
        {
            "y": label,
            "p": np.round(score, 2) if ties else score,
            "w": rng.integers(0, 4, rows),
            "split": rng.choice(["valid", "test"], rows),
            "g": rng.choice(["a", "b"], rows),
        }
    )


def confusion(rows, threshold, weight):
    tp = fp = fn = tn = 0.0
    for y, p, w in rows.select("y", "p", weight).iter_rows():
        called = p >= threshold
        tp += w * (called and y == 1)
        fp += w * (called and y == 0)
        fn += w * (not called and y == 1)
        tn += w * (not called and y == 0)
    return tp, fp, fn, tn


def f1(tp, fp, fn, tn):
    return 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else None


def cost(tp, fp, fn, tn):
    return (fp + 5 * fn) / (tp + fp + fn + tn)


def accuracy(tp, fp, fn, tn):
    return (tp + tn) / (tp + fp + fn + tn)


BEST = {
    "max(f1)": (f1, 1),
    "max(accuracy)": (accuracy, 1),
    "min(expected_cost(cost_fp=1, cost_fn=5))": (cost, -1),
}


def best(rows, value, sign, weight):
    """The highest threshold at which a value is best; None above all scores."""
    held = rows.filter(pl.col(weight) > 0)
    candidates = [*sorted(set(held["p"]), reverse=True)]
    values = {t: value(*confusion(held, t, weight)) for t in [2.0, *candidates]}
    values = {t: sign * v for t, v in values.items() if v is not None}
    top = max(values.values())
    return max(t for t, v in values.items() if v >= top - 1e-12)


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rule", BEST)
def test_the_best_threshold(rule, weighted, seed):
    rows = table(seed).with_columns(one=1)
    value, sign = BEST[rule]
    wanted = best(rows, value, sign, "w" if weighted else "one")
    text = f"recall(threshold={rule})"
    found = plm.evaluate(rows, label="y", models="p", weight="w" if weighted else None, metrics=[text])
    row = found.metrics.row(0, named=True)
    assert row["metric"] == text
    assert row["threshold"] == wanted
    tp, _, fn, _ = confusion(rows, wanted, "w" if weighted else "one")
    assert row["value"] == pytest.approx(tp / (tp + fn))


def test_the_unit_of_costs_moves_no_threshold():
    rule = "recall(threshold=min(expected_cost(cost_fp={0}, cost_fn={0})))"
    one, other = (
        plm.evaluate(table(0), label="y", models="p", metrics=[rule.format(unit)]).metrics["threshold"].item()
        for unit in (1, 2.0**-50)
    )
    assert one == other


LIMITS = {
    "recall": lambda tp, fp, fn, tn: tp / (tp + fn),
    "precision": lambda tp, fp, fn, tn: tp / (tp + fp) if tp + fp else None,
    "fpr": lambda tp, fp, fn, tn: fp / (fp + tn),
    "volume": lambda tp, fp, fn, tn: (tp + fp) / (tp + fp + fn + tn),
}


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("share", LIMITS)
@pytest.mark.parametrize("limit", [0.05, 0.3, 0.7, 0.9])
def test_reaching_a_limit(share, limit):
    rows = table(4).with_columns(one=1)
    points = {t: confusion(rows, t, "one") for t in [2.0, *sorted(set(rows["p"]), reverse=True)]}
    shares = {t: LIMITS[share](*cells) for t, cells in points.items()}
    if share == "fpr":
        met = [t for t, value in shares.items() if value <= limit + 1e-12]
    else:
        met = [t for t, value in shares.items() if value is not None and value >= limit - 1e-12]
    if share in {"recall", "volume"}:
        wanted = max(met)
    else:
        most = max(points[t][0] for t in met)
        wanted = max(t for t in met if points[t][0] == most)
    found = plm.evaluate(rows, label="y", models="p", metrics=[f"precision(threshold=at({share}={limit}))"])
    threshold = found.metrics["threshold"].item()
    assert threshold == wanted if wanted <= 1 else threshold > rows["p"].max()


def test_a_limit_that_no_threshold_reaches():
    rows = pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.9, 0.5, 0.4, 0.3]})
    found = plm.evaluate(
        rows, label="y", models="p", metrics=["recall(threshold=at(precision=0.9))", "recall"]
    )
    assert found.metrics["status"].to_list() == ["unreachable", "ok"]
    assert found.metrics["threshold"].to_list() == [None, 0.5]


def test_costs_alone():
    rows = table(5)
    text = "expected_cost(cost_fp=1, cost_fn=4, threshold=optimal(cost_fp=1, cost_fn=4))"
    given = plm.evaluate(
        rows, label="y", models="p", metrics=["expected_cost(cost_fp=1, cost_fn=4, threshold=0.2)"]
    )
    found = plm.evaluate(rows, label="y", models="p", metrics=[text])
    assert found.metrics["value"].item() == given.metrics["value"].item()
    assert found.metrics["threshold"].item() == 0.2


@pytest.mark.parametrize("form", ["entry", "parameters", "text"])
def test_choosing_on_other_rows(form):
    rows = table(6).with_columns(one=1)
    condition = "split = 'valid'"
    metric = {
        "entry": {"metric": "recall(threshold=max(f1))", "select_on": condition},
        "parameters": {"recall": {"threshold": "max(f1)", "select_on": condition}},
        "text": f'recall(threshold=max(f1, select_on="{condition}"))',
    }[form]
    found = plm.evaluate(rows, label="y", models="p", metrics=[metric], where="split = 'test'", slices="g")
    wanted = best(rows.filter(split="valid"), f1, 1, "one")
    assert found.metrics["threshold"].unique().to_list() == [wanted]
    test = rows.filter(split="test")
    for name, part in (("all", test), ("g=a", test.filter(g="a")), ("g=b", test.filter(g="b"))):
        tp, _, fn, _ = confusion(part, wanted, "one")
        assert found.metrics.filter(slice=name)["value"].item() == pytest.approx(tp / (tp + fn))
    assert found.record["warnings"] == []
    assert found.record["constants"]["thresholds"]["p"] == {"max(f1, select_on=\"split = 'valid'\")": wanted}


def test_each_model_has_its_own_threshold_and_replicates_keep_it():
    rows = table(7, ties=False).with_columns(q=pl.col("p") / 2)
    found = plm.evaluate(
        rows,
        label="y",
        models=["p", "q"],
        metrics=["recall(threshold=max(f1))"],
        uncertainty={"replicates": 50},
        compare="p",
    )
    p, q = found.metrics["threshold"]
    assert q == pytest.approx(p / 2)
    assert found.metrics["value"].n_unique() == 1
    assert found.comparisons["difference"].item() == 0
    assert any("select_on" in warning for warning in found.record["warnings"])


def test_equal_models_with_unequal_thresholds_are_not_equal():
    rows = table(8).with_columns(q=pl.when(pl.col("split") == "test").then("p").otherwise(1 - pl.col("p")))
    metric = {"metric": "recall(threshold=max(f1))", "select_on": "split = 'valid'"}
    found = plm.evaluate(
        rows, label="y", models=["p", "q"], metrics=[metric], where="split = 'test'", compare="p"
    )
    values = found.metrics["value"]
    assert values[0] != values[1]
    assert found.comparisons["difference"].item() == pytest.approx(values[1] - values[0])


def test_optimal_warns_of_scores_that_are_not_calibrated():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=5000)
    calibrated = pl.DataFrame({"y": (rng.uniform(size=5000) < p).astype(int), "p": p})
    off = calibrated.with_columns(p=pl.col("p") ** 3)
    metrics = ["accuracy(threshold=optimal(cost_fp=1, cost_fn=2))"]
    assert plm.evaluate(calibrated, label="y", models="p", metrics=metrics).record["warnings"] == []
    (warning,) = plm.evaluate(off, label="y", models="p", metrics=metrics).record["warnings"]
    assert "assumes calibrated scores" in warning
    weighted = off.with_columns(w=2)
    assert plm.evaluate(weighted, label="y", models="p", weight="w", metrics=metrics).record["warnings"] == [
        warning
    ]


def test_drop_per_model_chooses_on_the_rows_of_each_model():
    rows = table(9).with_columns(one=1, q=pl.when(pl.col("g") == "a").then("p"))
    found = plm.evaluate(
        rows, label="y", models=["p", "q"], missing="drop_per_model", metrics=["f1(threshold=max(f1))"]
    )
    assert found.metrics["threshold"].to_list() == [
        best(rows, f1, 1, "one"),
        best(rows.filter(g="a"), f1, 1, "one"),
    ]


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("recall(threshold=best(f1))", "threshold=best(...) is not known"),
        ("recall(threshold=max(roc_auc))", "'roc_auc' is read at no threshold"),
        ("recall(threshold=max(f1(threshold=0.3)))", "is what is to be chosen"),
        ("recall(threshold=max(f1, f1))", "max takes the name of one metric"),
        ("recall(threshold=max(f9))", "unknown metric 'f9'"),
        ("recall(threshold=at(recall=2))", "a number from 0 to 1"),
        ("recall(threshold=at(mcc=0.5))", "at takes no mcc"),
        ("recall(threshold=at(recall=0.5, fpr=0.1))", "at takes one limit"),
        ("recall(threshold=optimal(cost_fp=0, cost_fn=0))", "two costs"),
        ("recall(threshold=max(f1, select_on='split ='))", "split ="),
        ("fbeta(beta=max(f1))", "beta cannot be max(f1)"),
        ({"metric": "recall", "select_on": "g = 'a'"}, "select_on needs a threshold that is chosen"),
        ({"metric": "recall(threshold=max(f1))", "select_on": 3}, "select_on must be an SQL condition"),
        (
            {"metric": "recall(threshold=max(f1))", "select_on": ""},
            "select_on must be an SQL condition, not ''",
        ),
    ],
)
def test_what_is_wrong_is_said(metric, words):
    with pytest.raises(plm.ConfigError) as caught:
        plm.evaluate(table(0), label="y", models="p", metrics=[metric])
    assert words in str(caught.value)


def test_no_rows_and_bad_rows_to_choose_on():
    rows = table(1)
    metric = {"metric": "recall(threshold=max(f1))", "select_on": "g = 'zzz'"}
    with pytest.raises(plm.DataError, match="no rows to choose a threshold on"):
        plm.evaluate(rows, label="y", models="p", metrics=[metric])
    bad = rows.with_columns(y=pl.when(pl.col("g") == "b").then(None).otherwise("y"))
    metric["select_on"] = "g = 'b'"
    with pytest.raises(plm.DataError, match="have a bad label, score or weight"):
        plm.evaluate(bad, label="y", models="p", metrics=[metric], where="g = 'a'")
    metric["select_on"] = "splt = 'valid'"
    with pytest.raises(plm.DataError, match=r"column 'splt' \(in select_on\) is not in the data"):
        plm.evaluate(rows, label="y", models="p", metrics=[metric])


@pytest.mark.parametrize(("label", "word"), [(0, "positive"), (1, "negative")])
def test_rows_of_one_class_to_choose_on_are_told(label, word):
    metric = {"metric": "accuracy(threshold=max(f1))", "select_on": f"y = {label} AND split = 'valid'"}
    found = plm.evaluate(table(1), label="y", models="p", metrics=[metric], where="split = 'test'")
    (text,) = found.warnings
    assert text.startswith(f"no row to choose a threshold on is {word}: max(f1")


def test_a_model_has_a_threshold_of_its_own_in_place_of_the_default(tmp_path):
    rows = table(3)
    asked = {
        "label": "y",
        "weight": "w",
        "models": {"own": {"score": "p", "threshold": 0.35}, "usual": "p"},
        "metrics": ["f1", "accuracy(threshold=0.7)", "f1(threshold=max(f1))"],
        "slices": {"g": "g"},
        "calibrate": {"method": "platt", "fit_on": "split = 'valid'", "models": "own"},
    }
    result = plm.evaluate(rows, **asked)
    cuts = {"own": 0.35, "usual": 0.5, "own_platt": 0.5}
    named = {(row["model"], row["metric"]): row["threshold"] for row in result.metrics.to_dicts()}
    assert {model: named[model, "f1"] for model in cuts} == cuts
    assert {named[model, "accuracy(threshold=0.7)"] for model in cuts} == {0.7}
    for part, of in [("all", rows), ("g=a", rows.filter(g="a"))]:
        cells = confusion(of.filter(split="test"), 0.35, "w")
        (value,) = result.metrics.filter(metric="f1", model="own", slice=part)["value"]
        assert value == pytest.approx(f1(*cells), abs=1e-12)


@pytest.mark.parametrize(
    ("rule", "threshold"),
    [
        ("at(precision=0.7)", 0.6),  # reached at 0.9 as well, with a third of its recall
        ("at(fpr=0.5)", 0.6),
        ("at(fpr=0)", 0.9),
        ("at(recall=0.5)", 0.7),
        ("at(volume=0.4)", 0.8),
    ],
)
def test_a_limit_is_reached_with_the_highest_recall_or_at_the_highest_threshold(rule, threshold):
    frame = pl.DataFrame({"y": [1, 0, 1, 1, 0], "p": [0.9, 0.8, 0.7, 0.6, 0.5]})
    found = plm.evaluate(frame, label="y", models="p", metrics=f"recall(threshold={rule})").metrics
    assert found["threshold"].item() == threshold
