"""Rows by true and called class, from the curve or the metrics of a result."""

from __future__ import annotations

import polars as pl

from plmetrics.core.errors import Problem
from plmetrics.report.charts.selection import NothingToDraw, Selection

CELLS = {
    "tp": ("positive", "positive"),
    "fn": ("positive", "negative"),
    "fp": ("negative", "positive"),
    "tn": ("negative", "negative"),
}
"""The true and the called class of each metric."""
_COLUMNS = (
    *("model", "slice", "true", "called", "share", "weight", "n", "threshold", "place", "called_place"),
    "unit",
)
ROWS, WEIGHTS = "rows", "weights"
"""What `n` counts: of metrics with weights alone the rows are not known."""
_ROUNDING = 1e-9


def counts_of(selection: Selection) -> pl.DataFrame:
    """Row per pair of classes, with the share of the true class in the predicted one, its weight and rows.

    `place` and `called_place` number the classes in their order; `unit` is what `n` counts.

    Raises:
        NothingToDraw: the result has neither the curve `confusion` nor the metrics `tp`, `fp`, `fn` and `tn`.
    """
    points = selection.summary.curves.filter(curve="confusion")
    if not points.is_empty():
        return _of_classes(selection.rows(points))
    metrics = selection.rows(selection.summary.metrics)
    counts = metrics.filter(pl.col("metric").str.split("(").list.first().is_in(list(CELLS)))
    counts = counts.with_columns(kind=pl.col("metric").str.split("(").list.first())
    first = counts.filter(pl.col("threshold") == pl.col("threshold").first().over("model", "slice"))
    complete = first.filter(pl.col("kind").n_unique().over("model", "slice") == len(CELLS))
    if complete.is_empty():
        raise NothingToDraw(
            Problem(
                "the result has no counts of true and called classes",
                hint="ask for them when you evaluate: curves: [confusion], or metrics tp, fp, fn and tn "
                "with one threshold",
            )
        )
    return _of_binary(complete.unique(["model", "slice", "kind"], keep="first", maintain_order=True))


def _of_classes(points: pl.DataFrame) -> pl.DataFrame:
    names = points["class"].unique(maintain_order=True).to_list()
    called = pl.col("x").cast(pl.Int64)
    return points.select(
        "model",
        "slice",
        true="class",
        called=called.replace_strict(dict(enumerate(names)), return_dtype=pl.String),
        share="y",
        weight="threshold",
        n="n",
        threshold=pl.lit(None, dtype=pl.Float64),
        place=pl.col("class").replace_strict(names, range(len(names)), return_dtype=pl.Int64),
        called_place=called,
        unit=pl.lit(ROWS),
    )


def _of_binary(counts: pl.DataFrame) -> pl.DataFrame:
    """The four counts as cells; weights are rounded."""
    kinds, places = list(CELLS), {"negative": 0, "positive": 1}
    truth = pl.col("kind").replace_strict(kinds, [CELLS[kind][0] for kind in kinds])
    called = pl.col("kind").replace_strict(kinds, [CELLS[kind][1] for kind in kinds])
    cells = counts.with_columns(true=truth, called=called)
    total = pl.col("value").sum().over("model", "slice", "true")
    uneven = (pl.col("weight") - pl.col("n")).abs() + (pl.col("value") - pl.col("value").round()).abs()
    return (
        cells.with_columns(
            share=pl.when(total > 0).then(pl.col("value") / total),
            weight="value",
            unit=pl.when((uneven > _ROUNDING).any()).then(pl.lit(WEIGHTS)).otherwise(pl.lit(ROWS)),
            n=pl.col("value").round().cast(pl.Int64),
            place=pl.col("true").replace_strict(places, return_dtype=pl.Int64),
            called_place=pl.col("called").replace_strict(places, return_dtype=pl.Int64),
        )
        .select(_COLUMNS)
        .sort("place", "called_place", maintain_order=True)
        .sort("model", "slice", maintain_order=True)
    )


def share_words(counts: pl.DataFrame) -> str:
    """What the shares are of, for a note beside the counts."""
    weighted = (counts["weight"] - counts["n"]).abs() > _ROUNDING
    by_weight = weighted.any() or counts["unit"][0] == WEIGHTS
    return "share of the true class" + (" by weight" if by_weight else "")
