"""Metrics of several classes a row, held against scikit-learn and SciPy."""

import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import ks_2samp
from sklearn import metrics as sk

import plmetrics as plm

CLASSES = ["spam", "urgent", "bill", "other"]
MODEL: dict[str, Any] = {"m": {"proba": "p_"}}
ROLES: dict[str, Any] = {"task": "multilabel", "label": "y_", "models": MODEL}
RATES = {
    "precision": sk.precision_score,
    "recall": sk.recall_score,
    "f1": sk.f1_score,
    "jaccard": sk.jaccard_score,
}


def table(rows: int = 300, seed: int = 1) -> pl.DataFrame:
    """Scores with ties, rows with all classes and with none, and a slice that lacks a class."""
    rng = np.random.default_rng(seed)
    truth = rng.random((rows, 4)) < [0.5, 0.3, 0.2, 0.1]
    truth[:5], truth[5:10] = True, False
    group = np.where(truth[:, 3], "x", rng.choice(["x", "y"], rows))
    score = np.clip(
        np.round(0.5 * rng.random((rows, 4)) + 0.4 * truth * rng.random((rows, 4)) + 0.1, 1), 0, 1
    )
    weight = rng.choice([0.0, 0.5, 1.0, 2.0], rows)
    frame = pl.DataFrame({"w": weight, "g": group, "u": np.arange(rows) % 90})
    return frame.with_columns(
        *(pl.Series(f"y_{name}", truth[:, number].astype(int)) for number, name in enumerate(CLASSES)),
        *(pl.Series(f"p_{name}", score[:, number]) for number, name in enumerate(CLASSES)),
    )


def truth_of(rows: pl.DataFrame) -> Any:
    return rows.select(f"y_{name}" for name in CLASSES).to_numpy()


def score_of(rows: pl.DataFrame) -> Any:
    return rows.select(f"p_{name}" for name in CLASSES).to_numpy()


@cache
def row_areas() -> list[float]:
    """The area of each row of the table with classes and without."""
    rows = table()
    pairs = zip(truth_of(rows), score_of(rows), strict=True)
    return [sk.roc_auc_score(y, s) for y, s in pairs if y.any() and not y.all()]


@cache
def expected_values(*, weighted: bool, threshold: float = 0.5) -> dict[str, float]:
    rows = table()
    weight = rows["w"].to_numpy() if weighted else None
    y, s = truth_of(rows), score_of(rows)
    p = (s >= threshold).astype(int)
    more: dict[str, Any] = {"sample_weight": weight}
    at = "" if threshold == 0.5 else f", threshold={threshold}"
    out = {
        f"hamming_loss({at[2:]})": sk.hamming_loss(y, p, **more),
        f"subset_accuracy({at[2:]})": sk.accuracy_score(y, p, **more),
        "coverage_error": sk.coverage_error(y, s, **more),
        "label_ranking_loss": sk.label_ranking_loss(y, s, **more),
        "label_ranking_average_precision": sk.label_ranking_average_precision_score(y, s, **more),
        "log_loss": np.mean([sk.log_loss(y[:, c], s[:, c], labels=[0, 1], **more) for c in range(4)]),
    }
    for average in ("macro", "micro", "weighted", "samples"):
        text = f"(average={average}, undefined=zero{at})".replace("average=macro, ", "")
        for name, score in RATES.items():
            out[name + text] = score(y, p, average=average, zero_division=0, **more)
        out["fbeta" + text.replace("undefined", "beta=2, undefined")] = sk.fbeta_score(
            y, p, beta=2, average=average, zero_division=0, **more
        )
    for average in ("macro", "micro", "weighted"):
        text = "" if average == "macro" else f"(average={average})"
        out[f"roc_auc{text}"] = sk.roc_auc_score(y, s, average=average, **more)
        out[f"average_precision{text}"] = sk.average_precision_score(y, s, average=average, **more)
    w = np.ones(len(y)) if weight is None else weight
    mixed, some = (y.any(axis=1) & ~y.all(axis=1), y.any(axis=1))
    out["roc_auc(average=samples)"] = np.average(row_areas(), weights=w[mixed])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        precision = sk.average_precision_score(y, s, average="samples", **more)
    out["average_precision(average=samples, undefined=zero)"] = precision
    out["average_precision(average=samples)"] = precision * w.sum() / w[some].sum()
    return {name.removesuffix("()"): value for name, value in out.items()}


def evaluated(rows: Any, metrics: Any, **more: Any) -> pl.DataFrame:
    return plm.evaluate(rows, **{**ROLES, **more}, metrics=list(metrics)).metrics


@pytest.mark.alike
@pytest.mark.slow
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("threshold", [0.5, 0.3])
def test_values_are_those_of_scikit_learn(weight: str | None, threshold: float) -> None:
    rows = table()
    expected = expected_values(weighted=weight is not None, threshold=threshold)
    found = evaluated(rows, expected, weight=weight)
    assert dict(found.select("metric", "value").rows()) == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("memory", [None, "60MB"])
def test_weighted_values_stand_beside_those_without_weights(memory: str | None) -> None:
    """Also at thresholds that a rule chooses, which heeds the weights of each."""
    rows = table().with_columns(tags=lists(table().select(f"y_{name}" for name in CLASSES), "tags", 1.0))
    expected = {name: expected_values(weighted=name == "m_w") for name in ("m", "m_w")}
    more: dict[str, Any] = {"weight": [None, "w"], "memory": memory}
    found = plm.evaluate(rows, **ROLES, metrics=list(expected["m"]), **more).metrics
    for name, values in expected.items():
        own = found.filter(model=name)
        assert dict(own.select("metric", "value").rows()) == pytest.approx(values, rel=1e-12)
    rule = ["f1(average=none, threshold=max(f1))", "f1(average=micro)"]
    lists_of_labels = {**ROLES, "label": "tags", "classes": CLASSES, **more}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", plm.PlmetricsWarning)
        both = plm.evaluate(rows, **lists_of_labels, metrics=rule).metrics
        alone = [evaluated(rows, rule, weight=weight) for weight in (None, "w")]
    for column in ("value", "threshold", "n"):
        assert both[column].to_list() == pytest.approx([*alone[0][column], *alone[1][column]], nan_ok=True)


def test_each_class_is_a_binary_task() -> None:
    rows = table()
    y, s = truth_of(rows), score_of(rows)
    expected = {
        "recall(average=none)": sk.recall_score(y, s >= 0.5, average=None),
        "roc_auc(average=none)": sk.roc_auc_score(y, s, average=None),
        "ks(average=none)": [ks_2samp(s[y[:, c] == 1, c], s[y[:, c] == 0, c]).statistic for c in range(4)],
        "specificity(average=none)": [sk.recall_score(1 - y[:, c], s[:, c] < 0.5) for c in range(4)],
        "support": y.sum(axis=0),
    }
    found = evaluated(rows, expected)
    for name, values in expected.items():
        each = found.filter(metric=name)
        assert each["class"].to_list() == CLASSES
        np.testing.assert_allclose(each["value"].to_numpy(), values, rtol=1e-12)


FORMS: dict[str, Any] = {
    "prefix": {"label": "y_*"},
    "columns by class": {"label": {name: f"y_{name}" for name in CLASSES}},
    "columns": {"label": CLASSES, "models": {"m": {"proba": {name: f"p_{name}" for name in CLASSES}}}},
    "lists": {"label": "tags", "classes": CLASSES},
    "lists of calls": {"label": "tags", "classes": CLASSES, "models": {"m": {"prediction": "calls"}}},
}


def lists(rows: pl.DataFrame, prefix: str, limit: float) -> pl.Series:
    names = [
        [name for name, value in zip(CLASSES, row, strict=True) if value >= limit] for row in rows.rows()
    ]
    return pl.Series(prefix, names, dtype=pl.List(pl.String))


@pytest.mark.exhaustive
@pytest.mark.parametrize("form", FORMS)
def test_labels_come_in_several_forms(form: str) -> None:
    rows = table()
    rows = rows.with_columns(
        *(pl.col(f"y_{name}").alias(name) for name in CLASSES),
        tags=lists(rows.select(f"y_{name}" for name in CLASSES), "tags", 1.0),
        calls=lists(rows.select(f"p_{name}" for name in CLASSES), "calls", 0.5),
    )
    texts = ["precision", "f1(average=samples)", "hamming_loss", "subset_accuracy"]
    assert (
        evaluated(rows, texts, **FORMS[form])["value"].to_list() == evaluated(rows, texts)["value"].to_list()
    )


def test_slices_and_intervals_are_those_of_their_rows() -> None:
    rows = table(900)
    texts = [
        "f1",
        "jaccard(average=samples)",
        "hamming_loss",
        "lrap",
        "roc_auc",
        "average_precision(undefined=zero)",
    ]
    asked: dict[str, Any] = {"uncertainty": {"replicates": 150}, "unit": "u", "weight": "w"}
    found = evaluated(rows, texts, slices=["g"], **asked)
    assert (found.filter(slice_set="overall")["interval_status"] == "ok").all()
    assert (found["lower"] <= found["value"]).all()
    for group in ("x", "y"):
        alone = evaluated(rows.filter(g=group), texts, weight="w")
        part = found.filter(slice=f"g={group}")
        np.testing.assert_allclose(part["value"].to_numpy(), alone["value"].to_numpy(), rtol=1e-12)
        assert part["note"].to_list() == alone["note"].to_list()
    assert (
        found.filter(slice="g=y", metric="f1")["note"].item() is None
    )  # the class is called, though no row has it
    assert found.filter(slice="g=y", metric="roc_auc")["note"].item() == "classes left out: other"


def test_means_over_rows_have_the_standard_error_of_a_mean() -> None:
    rows = table()
    y, p = truth_of(rows), score_of(rows) >= 0.5
    each = (y != p).mean(axis=1)
    found = evaluated(rows, ["hamming_loss"], uncertainty={"method": "auto"})
    assert found["method"].item() == "t"
    assert found["std_error"].item() == pytest.approx(each.std(ddof=1) / np.sqrt(len(each)), rel=1e-9)


@pytest.mark.slow
def test_averages_over_classes_have_the_standard_error_of_fresh_samples() -> None:
    values = [evaluated(table(400, seed), ["f1"])["value"].item() for seed in range(60)]
    found = evaluated(table(400), ["f1"], uncertainty={"method": "auto"})
    assert found["method"].item() == "delta"
    assert found["std_error"].item() == pytest.approx(np.std(values, ddof=1), rel=0.25)


def test_states_add() -> None:
    rows = table()
    texts = ["f1", "precision(average=samples)", "lrap", "coverage_error", "subset_accuracy", "roc_auc"]
    first = plm.state(rows[:140], **ROLES, metrics=texts)
    merged = plm.merge(first, plm.state(rows[140:], **ROLES, metrics=texts, constants=first)).metrics
    whole = evaluated(rows, texts)["value"].to_numpy()
    off = np.abs(merged["value"].to_numpy() - whole)
    assert (off[:5] < 1e-12).all()
    assert off[5] <= merged["bound"][5] + 1e-12


def test_curves_are_drawn_for_each_class() -> None:
    rows = table()
    found = plm.evaluate(rows, **ROLES, metrics=["f1"], curves=["roc", "pr", "reliability"]).curves
    assert set(found["class"]) == set(CLASSES)
    roc = found.filter(curve="roc").filter(pl.col("class") == "urgent").sort("x", "y")
    area = np.trapezoid(roc["y"].to_numpy(), roc["x"].to_numpy())
    assert area == pytest.approx(sk.roc_auc_score(rows["y_urgent"], rows["p_urgent"]), rel=1e-9)


def tagged(value: Any) -> Any:
    """The table with tags as lists, the first of which is the given one."""
    return lambda rows: rows.with_columns(
        tags=pl.Series([value] + [["spam"]] * (rows.height - 1), dtype=pl.List(pl.String))
    )


CALLED: dict[str, Any] = {"classes": CLASSES, "models": {"m": {"prediction": "tags"}}}
BAD: list[tuple[Any, dict[str, Any], type[Exception], list[str]]] = [
    (
        lambda r: r.with_columns(y_spam=pl.lit(2)),
        {},
        plm.DataError,
        ["y_spam", "class 'spam'", "neither 0 nor 1"],
    ),
    (lambda r: r.with_columns(y_spam=pl.lit(None)), {}, plm.DataError, ["y_spam", "null"]),
    (
        lambda r: r.with_columns(p_bill=pl.lit(1.5)),
        {"metrics": ["log_loss"]},
        plm.DataError,
        ["outside [0, 1]"],
    ),
    (lambda r: r.drop("y_other"), {}, plm.DataError, ["'y_other'", "class 'other'"]),
    (tagged(["no"]), {"label": "tags"}, plm.DataError, ["tags", "none of 'spam'"]),
    (tagged(["spam", None]), {"label": "tags"}, plm.DataError, ["tags", "none of 'spam'"]),
    (tagged(None), {"label": "tags"}, plm.DataError, ["tags", "null"]),
    (tagged([]), {"label": "tags", "models": {"m": {"prediction": "tags"}}}, plm.ConfigError, ["classes="]),
    (tagged(["spam", "no"]), CALLED, plm.DataError, ["tags", "prediction of model 'm'", "none of 'spam'"]),
    (tagged(["SPAM"]), CALLED, plm.DataError, ["1 of 40 values", "['SPAM']", "classes:"]),
    (tagged(["0", "1"]), CALLED, plm.DataError, ["['0', '1']", "not 0 and 1"]),
    (tagged(["spam", None]), CALLED, plm.DataError, ["tags", "none of 'spam'"]),
    (tagged(None), CALLED, plm.DataError, ["tags", "prediction of model 'm'", "null"]),
    (
        lambda r: r.with_columns(tags="y_bill"),
        CALLED,
        plm.DataError,
        ["'tags' (prediction", "lists of classes"],
    ),
    (lambda r: r.with_columns(tags=pl.lit("spam")), {"label": "tags"}, plm.DataError, ["(label)", "lists"]),
    (
        lambda r: r,
        {"task": "multiclass", "label": "g", "models": {"m": {"proba": {"x": "p_spam", "y": "p_spam"}}}},
        plm.ConfigError,
        ["models.m.proba", "'p_spam' stands there 2 times"],
    ),
    (lambda r: r, {"label": dict.fromkeys(CLASSES, "y_spam")}, plm.ConfigError, ["'y_spam' stands there 4"]),
    (lambda r: r, {"baseline": True}, plm.ConfigError, ["baseline", "multilabel"]),
    (lambda r: r, {"task": "binary", "label": ["a", "b"], "models": "g"}, plm.ConfigError, ["'multilabel'"]),
    (lambda r: r, {"label": {"spam": "y_spam", "ham": "y_bill"}}, plm.ConfigError, ["'ham'", "'other'"]),
    (lambda r: r, {"label": {"spam": "y_spam"}}, plm.ConfigError, ["at least two"]),
    (tagged([]), {"label": ["tags", "tags"]}, plm.ConfigError, ["'tags'", "for a column of lists"]),
]


@pytest.mark.parametrize(("change", "arguments", "kind", "words"), BAD)
def test_bad_input_is_said(
    change: Any, arguments: dict[str, Any], kind: type[Exception], words: list[str]
) -> None:
    asked = {"metrics": ["f1"], **arguments}
    with pytest.raises(kind) as error:
        plm.evaluate(change(table(40)), **{**ROLES, **asked})
    for word in words:
        assert word in str(error.value)


def test_bad_rows_may_be_dropped() -> None:
    rows = table()
    bad = rows.with_columns(
        pl.when(pl.int_range(pl.len()) < 30).then(None).otherwise("y_spam").alias("y_spam")
    )
    texts = ["f1", "hamming_loss"]
    dropped = evaluated(bad, texts, missing="drop")
    assert dropped["n"].to_list() == [270, 270]
    assert dropped["value"].to_list() == evaluated(rows[30:], texts)["value"].to_list()


@pytest.mark.parametrize("missing", ["drop", "drop_per_model"])
def test_rows_with_calls_of_no_class_may_be_dropped(missing: str) -> None:
    rows = pl.DataFrame(
        {
            "label": [["a"], ["a", "b"], ["b"], [], ["b"]],
            "calls": [["a"], ["a"], ["b", "z"], [], ["b", "b"]],
            "other": [["a"], ["a", "b"], ["b"], ["A"], ["b"]],
        }
    )
    models = {name: {"prediction": name} for name in ("calls", "other")}
    call: dict[str, Any] = {"task": "multilabel", "label": "label", "classes": ["a", "b"]}
    found = plm.evaluate(rows, **call, models=models, metrics=["subset_accuracy"], missing=missing)
    kept = {"calls": 2 / 3, "other": 1.0} if missing == "drop" else {"calls": 3 / 4, "other": 1.0}
    assert dict(found.metrics.select("model", "value").iter_rows()) == pytest.approx(kept)
    assert found.metrics["n"].to_list() == ([3, 3] if missing == "drop" else [4, 4])


def test_columns_of_the_label_without_scores_are_told() -> None:
    rows, models = table(40).drop("p_other"), {"m": {"proba": "p_"}}
    call: dict[str, Any] = {**ROLES, "models": models, "metrics": ["f1"]}
    (text,) = (text for text in plm.evaluate(rows, **call).warnings if "'y_other'" in text)
    assert "no model has such a class" in text
    named = [name for name in CLASSES if name != "other"]
    assert not any("y_other" in text for text in plm.evaluate(rows, **call, classes=named).warnings)


@pytest.mark.slow
def test_a_suite_runs_from_the_command_line(tmp_path: Path) -> None:
    table().write_parquet(tmp_path / "rows.parquet")
    (tmp_path / "suite.yaml").write_text(
        "task: multilabel\ndata: {path: rows.parquet}\ncolumns: {label: {spam: y_spam, urgent: y_urgent}}\n"
        "undefined: zero\nmodels: {m: {proba: {spam: p_spam, urgent: p_urgent}}}\n"
        "metrics: [f1, recall(average=none), lrap]\nslices: [g]\ngates: [{metric: f1, at_least: 0.1}]\n"
        "output: {directory: runs}\n"
    )
    command = [sys.executable, "-m", "plmetrics", "run", str(tmp_path / "suite.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "f1(undefined=zero)" in done.stdout
    assert "urgent" in done.stdout


@pytest.mark.parametrize("weight", [None, "w"])
def test_rows_that_means_over_rows_leave_out_are_counted_in_the_note(weight: str | None) -> None:
    rows = pl.DataFrame(
        {
            "y_a": [1, 0, 1, 0],
            "y_b": [0, 0, 1, 1],
            "p_a": [0.9, 0.1, 0.7, 0.2],
            "p_b": [0.2, 0.3, 0.8, 0.1],
            "w": [1.0, 2.0, 0.5, 4.0],
        }
    )
    w = rows["w"].to_numpy() if weight else np.ones(4)
    left_out = {
        "recall(average=samples)": w[1],
        "precision(average=samples)": w[1] + w[3],
        "specificity(average=samples)": w[2],
        "roc_auc(average=samples)": w[1] + w[2],
        "average_precision(average=samples)": w[1],
    }
    zero = ["recall(average=samples, undefined=zero)", "average_precision(average=samples, undefined=zero)"]
    halved = {"name": "half", "formula": "recall(average=samples) / 2"}
    settings = {"task": "multilabel", "label": "y_", "models": {"m": {"proba": "p_"}}, "weight": weight}
    found = plm.evaluate(rows, metrics=[*left_out, *zero, halved], **settings).metrics
    notes = dict(found.select("metric", "note").iter_rows())
    for metric, out in [*left_out.items(), ("half", w[1])]:
        assert notes[metric] == f"left out: rows of weight {out:g}"
    assert [notes[metric] for metric in zero] == [None, None]
