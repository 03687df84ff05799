"""The report's section of a cross-validation."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from report.html.test_page import Page

import plmetrics as plm
from plmetrics.features.cross_validation.cross_validation_report import cross_validation
from plmetrics.report.html.page import html_text
from plmetrics.report.summary import summarise


def text(width: int = 100, **arguments: Any) -> str:
    random = np.random.default_rng(0)
    label = random.integers(0, 2, 240)
    frame = pl.DataFrame(
        {
            "y": label,
            "p": np.clip(0.3 * label + 0.7 * random.random(240), 0, 1),
            "q": random.random(240),
            "fold": np.arange(240) % 3,
            "inner": [None, 1, 2] * 80,
            "split": ["train", "valid"] * 120,
            "size": [10, 10, 20, 20] * 60,
        }
    ).with_columns(inner=pl.col("inner").shuffle(1))
    given = {"label": "y", "models": ["p", "q"], "metrics": ["accuracy"], **arguments}
    summary = summarise(plm.evaluate(frame, **given))
    return "\n".join(line.plain for line in cross_validation(summary, width))


def test_nothing_without_folds() -> None:
    assert text() == ""


def test_folds() -> None:
    lines = text(fold="fold").splitlines()
    assert lines[0] == "Cross-validation"
    assert lines[1].split() == ["metric", "model", "mean", "sd", "least", "to", "most", "pooled", "folds"]
    assert [line.split()[:2] for line in lines[2:]] == [["accuracy", "p"], ["accuracy", "q"]]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("section", "words"),
    [
        (
            {"inner": "inner"},
            ["nested accuracy:", "chosen by accuracy of inner folds: p in 3", "selection optimism of"],
        ),
        ({"split": "split"}, ["p accuracy: training rows less others", "high variance"]),
        ({"split": "split", "train_size": "size"}, ["train, at 10", "valid, at 20", "improving"]),
        ({"repeated": {"forest": ["p", "q"]}}, ["forest brier: bias_squared"]),
    ],
)
def test_what_is_asked_for_is_said(section: Any, words: list[str]) -> None:
    said = text(fold="fold", cross_validation=section)
    for word in words:
        assert word in said, said


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", [40, 60, 120])
def test_fits_the_width(width: int) -> None:
    said = text(width, fold="fold", cross_validation={"split": "split"}, uncertainty={"replicates": 20})
    assert max(map(len, said.splitlines())) <= width


def test_many_rows_are_counted() -> None:
    metrics = [f"recall(threshold={number / 20})" for number in range(1, 13)]
    said = text(fold="fold", metrics=metrics)
    assert "and 4 rows more in cross_validation.parquet" in said


def test_undefined_folds_are_told() -> None:
    said = text(fold="y", metrics=["roc_auc"])
    assert "(no_defined_folds)" in said
    assert "2 (2 undefined)" in said
    assert "undefined folds left out: 2 (no_negatives, no_positives)" in said


def test_rows_of_classes_name_them() -> None:
    frame = pl.DataFrame(
        {"y": list("abc") * 40, "fold": [0, 1] * 60, "split": ["train"] * 60 + ["valid"] * 60}
    )
    asked = {"task": "multiclass", "label": "y", "models": {"m": {"prediction": "y"}}, "fold": "fold"}
    result = plm.evaluate(
        frame, metrics=["recall(average=none)"], cross_validation={"split": "split"}, **asked
    )
    summary = summarise(result)
    said = [line.plain.strip() for line in cross_validation(summary, 100)]
    for name in "abc":
        assert sum(line.startswith(f"m recall(average=none) [{name}]: training rows") for line in said) == 1
    head, *rows = Page(html_text(summary)).tables["Cross-validation"]
    titles = [cell[0] for cell in head]
    assert {"class", "split"} <= set(titles)
    places = [tuple(row[titles.index(title)][0] for title in ("class", "kind", "split")) for row in rows]
    assert len(set(places)) == len(places) == result.cross_validation.height == 9
