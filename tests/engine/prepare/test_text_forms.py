"""Labels that are nearly the positive one are told, and others are not."""

import ast
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.engine.prepare.text_forms import near_classes

SCORES = np.random.default_rng(3).random(60)


def told(
    labels: list[Any], positive: Any, dtype: Any = pl.String, words: str = "as negative", **call: Any
) -> list[str]:
    rows = pl.DataFrame({"y": pl.Series(labels * (60 // len(labels)), dtype=dtype), "p": SCORES})
    call = {"label": "y", "models": "p", "metrics": ["brier"], "positive": positive, **call}
    found = [plm.evaluate(rows, **call).warnings, plm.merge(plm.state(rows, **call)).warnings]
    near = [[text for text in warnings if words in text] for warnings in found]
    assert near[0] == near[1]
    return near[0]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("labels", "positive", "near"),
    [
        (["yes", "no", "Yes"], "yes", ["Yes"]),
        (["yes", "no", " yes", "YES", "no", "no"], "yes", [" yes", "YES"]),
        (["no", "Si\u0301", "S\u00ed", "si"], "S\u00ed", ["Si\u0301"]),
        (["no", "yes\u200b", "\ufeffyes", "yes", "n", "o"], "yes", ["yes\u200b", "\ufeffyes"]),
        (["not  sure", "not sure", "no"], "not sure", ["not  sure"]),
    ],
)
@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical])
def test_labels_that_are_nearly_positive(
    labels: list[str], positive: str, near: list[str], dtype: Any
) -> None:
    (text,) = told(labels, positive, dtype)
    rows = sum(Counter(labels)[value] for value in near) * (60 // len(labels))
    assert text.startswith(f"column 'y': {rows} rows hold ")
    assert all(repr(value) in text or ascii(value) in text for value in near)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("labels", "positive", "dtype"),
    [
        (["yes", "no", "maybe"], "yes", pl.String),
        (["yes", "yes please", "ye s"], "yes", pl.String),
        (["1", "0", "1.0"], "1", pl.String),
        ([1, 0, 2], 1, pl.Int64),
        ([True, False], None, pl.Boolean),
    ],
)
def test_other_labels_are_not_told(labels: list[Any], positive: Any, dtype: Any) -> None:
    assert not told(labels, positive, dtype)


@pytest.mark.parametrize("label", ["Si\u0301", "S\u00ed\u00a0", "\ufeffS\u00ed", "s\u00ed"])
def test_a_positive_that_no_label_is_names_the_label_that_looks_like_it(label: str) -> None:
    with pytest.raises(plm.DataError) as error:
        told([label, "no"], "S\u00ed")
    (hint,) = (problem.hint for problem in error.value.problems)
    meant = hint.removeprefix("did you mean ").removesuffix("?")
    assert ast.literal_eval(meant) == label
    assert label == "s\u00ed" or "\\" in meant


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("absent", ["NA", "NaN", "<NA>", "None", "", "  "])
@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical])
def test_words_for_no_label_are_told_with_the_way_to_leave_them_out(absent: str, dtype: Any) -> None:
    labels = ["yes", "no", absent, "no"]
    (text,) = told(labels, "yes", dtype, "thus negative")
    assert text.startswith(f"column 'y': 15 rows hold '{absent}', ")
    way = f"CASE WHEN y NOT IN ('{absent}') THEN y END"
    assert f"derive {way}, with " in text
    rows = pl.DataFrame({"y": pl.Series(labels * 15, dtype=dtype), "p": SCORES})
    call: dict[str, Any] = {
        "label": "z",
        "derive": {"z": way},
        "positive": "yes",
        "models": "p",
        "missing": "drop",
    }
    assert plm.evaluate(rows, **call, metrics=["prevalence"]).metrics["value"].item() == pytest.approx(1 / 3)
    assert not told(["yes", "no", "none", "nan."], "yes", dtype, "thus negative")


@pytest.mark.parametrize("absent", ["NA", " "])
def test_words_for_no_class_are_told(absent: str) -> None:
    rows = pl.DataFrame({"y": ["a", "b", absent, "None"] * 9, "p": ["a", "b", "b", "None"] * 9})
    call: dict[str, Any] = {"task": "multiclass", "label": "y", "models": {"m": {"prediction": "p"}}}
    (text,) = (text for text in plm.evaluate(rows, **call, metrics=["mcc"]).warnings if "no value" in text)
    assert text.startswith(f"'{absent}' is a class like others; ")
    if absent.strip():  # a blank name is none
        named = plm.evaluate(rows, **call, metrics=["mcc"], classes=["a", "b", absent, "None"])
        assert not [text for text in named.warnings if "no value" in text]


@pytest.mark.parametrize("column", ["y", "p"])
def test_empty_text_is_no_class(column: str) -> None:
    rows = pl.DataFrame({"y": ["a", "b", "c"] * 9, "p": ["a", "b", "b"] * 9})
    rows = rows.with_columns(pl.col(column).replace("b", ""))
    call: dict[str, Any] = {"task": "multiclass", "models": {"m": {"prediction": "p"}}, "metrics": ["mcc"]}
    with pytest.raises(plm.DataError, match=r"an empty text in 'y', 'p' is the name of no class"):
        plm.evaluate(rows, label="y", **call)
    derived = {"y_named": "CASE WHEN y <> '' THEN y END"}
    call["models"] = {"m": {"prediction": "p_named"}}
    derived["p_named"] = "CASE WHEN p <> '' THEN p END"
    assert plm.evaluate(rows, label="y_named", derive=derived, missing="drop", **call).metrics["n"][
        0
    ] == 27 - 9 * (1 + (column == "p"))


def test_rows_that_are_not_evaluated_are_not_told() -> None:
    assert not told(["yes", "no", "Yes"], "yes", where="y <> 'Yes'")
    assert not told(["yes", "no", None], "yes", missing="drop")


def test_classes_that_were_called() -> None:
    rows = pl.DataFrame({"y": ["yes", "no"] * 30, "p": ["Yes", "no", "yes"] * 20})
    (text,) = plm.evaluate(
        rows, label="y", positive="yes", models={"m": {"prediction": "p"}}, metrics=["recall"]
    ).warnings
    assert text.startswith("column 'p': 20 rows hold 'Yes' and count as negative, as only 'yes' is positive")


def test_classes_that_are_nearly_the_same() -> None:
    rows = pl.DataFrame({"y": ["Cat", "dog", "a", "A"] * 9, "p": ["cat", "dog", "a", "A"] * 9})
    call: dict[str, Any] = {"task": "multiclass", "label": "y", "models": {"m": {"prediction": "p"}}}
    (text,) = plm.evaluate(rows, **call, metrics=["mcc"]).warnings
    assert text.startswith("classes 'Cat' and 'cat' are counted apart")
    assert not near_classes(["a", "A", "b", "cat", "dog", "1", "01"])
