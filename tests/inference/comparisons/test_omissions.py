"""Comparisons of values that leave out different classes or groups say what these are."""

import polars as pl

import plmetrics as plm
from plmetrics.report.html.page import html_text
from plmetrics.report.summary import summarise

ROWS = pl.DataFrame(
    {
        "y": [*"aabbc"] * 20,
        "all": [*"abbac"] * 20,
        "two": [*"aabba"] * 20,
        "h": [*"vwvww"] * 20,
    }
)
LEFT_OUT = "values of different parts (here classes left out: c; there nothing left out)"


def evaluated(**options):
    models = {name: {"prediction": name} for name in ("all", "two")}
    metrics = ["precision", "precision(undefined=zero)", "accuracy"]
    asked = {"task": "multiclass", "label": "y", "models": models, "metrics": metrics}
    return plm.evaluate(ROWS, **asked, compare={"baseline": "all", **options}, slices={"h": "h"})


def test_averages_over_different_classes() -> None:
    result = evaluated()
    notes = result.comparisons.filter(slice_set="overall").select("metric", "note").rows()
    assert notes == [("precision", LEFT_OUT), ("precision(undefined=zero)", None), ("accuracy", None)]
    for text in (str(result), html_text(summarise(result))):
        assert f"precision: {LEFT_OUT}" in " ".join(text.split())


def test_slices_without_a_class() -> None:
    rows = evaluated(slices={"h": "rest"}).comparisons.filter(
        contrast="rest", model="all", metric="precision"
    )
    assert rows.select("slice", "note").rows() == [
        ("h=v", LEFT_OUT),
        ("h=w", "values of different parts (here nothing left out; there classes left out: c)"),
    ]


def test_gaps_between_different_groups() -> None:
    called = pl.when(h="x").then(0.1).otherwise(0.9)
    rows = ROWS.with_columns(h=pl.Series([*"vwxvw"] * 20), r=pl.col("y") == "a", p=pl.lit(0.9))
    result = plm.evaluate(
        rows.with_columns(q=called),
        label="r",
        models=["p", "q"],
        metrics=["disparity(precision, by=h)"],
        slices=["h"],
        compare="p",
    )
    assert result.comparisons["note"].to_list() == [
        "values of different parts (here not judged: h=x (zero_denominator); there nothing left out)"
    ]
