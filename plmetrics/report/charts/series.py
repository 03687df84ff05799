"""Curves as series of a panel: a line a model, or a line a slice of one model, at most five in a panel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.inference.curves.thinning import thin
from plmetrics.report.charts.marks import MOST_SERIES
from plmetrics.report.charts.texts import short
from plmetrics.report.numbers import row_estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.report.charts.selection import Selection

MOST_POINTS = 200

Keys = tuple[str, str, str | None]
"""Model, slice and class of a curve."""


@dataclass(frozen=True, slots=True)
class Series:
    """Points in short columns with their series, labels in order, what all have in common, and what is left out."""

    frame: pl.DataFrame
    labels: tuple[str, ...]
    common: str
    drawn: pl.DataFrame
    omitted: int

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not drawn."""
        return (f"{self.omitted} more are in the table curves",) if self.omitted else ()


def series_of(selection: Selection, points: pl.DataFrame, metric: str | None = None) -> Series:
    """Points of the table `curves` as series; the label tells the metric of each, if it has a value there.

    What all series have in common stands in the title, and what tells them apart in their labels.
    """
    columns = ["model", "slice", "class"]
    keys: list[Keys] = points.select(columns).unique(maintain_order=True).rows()
    shown = keys[:MOST_SERIES]
    labels = _labels(shown, [_estimate(selection, key, metric) for key in shown])
    numbers = pl.DataFrame(
        {
            "model": [key[0] for key in shown],
            "slice": [key[1] for key in shown],
            "class": pl.Series([key[2] for key in shown], dtype=pl.String),
            "s": list(labels),
        }
    )
    points = pl.concat([_thinned(part) for part in points.partition_by(columns, maintain_order=True)])
    drawn = points.join(numbers, on=columns, how="inner", nulls_equal=True, maintain_order="left")
    frame = drawn.select(
        "x",
        "y",
        pl.col("lower").alias("lo"),
        pl.col("upper").alias("hi"),
        "s",
        pl.col("threshold").alias("h"),
        pl.col("n").alias("n"),
        k=pl.int_range(pl.len()),
    )
    return Series(frame, labels, _common(keys), drawn.drop("s"), len(keys) - len(shown))


def _thinned(points: pl.DataFrame) -> pl.DataFrame:
    """As many points as an eye can tell apart."""
    if points.height <= MOST_POINTS:
        return points
    return points[thin(points["x"].to_numpy(), points["y"].to_numpy(), MOST_POINTS)]


def _labels(keys: Sequence[Keys], values: Sequence[str]) -> tuple[str, ...]:
    """Names of the series, told apart by number where cut texts are the same."""
    vary = [len({key[part] for key in keys}) > 1 for part in range(3)]
    names = [
        ", ".join(short(str(key[part])) for part in range(3) if vary[part] and key[part]) for key in keys
    ]
    texts = [f"{name}  {value}".strip() for name, value in zip(names, values, strict=True)]
    return tuple(
        text if texts.count(text) == 1 else f"{text} ({number})" for number, text in enumerate(texts, 1)
    )


def _common(keys: Sequence[Keys]) -> str:
    """What all series have in common."""
    parts = [{key[part] for key in keys} for part in range(3)]
    common = [
        short(str(next(iter(part)))) for part in parts if len(part) == 1 and part not in ({None}, {"all"})
    ]
    return ", ".join(common)


def _estimate(selection: Selection, key: Keys, metric: str | None) -> str:
    """The value of a metric of a series, with its interval; empty where it was not asked for."""
    model, text, label = key
    rows = selection.summary.metrics.filter(
        pl.col("metric") == metric,
        pl.col("model") == model,
        pl.col("slice") == text,
        pl.col("slice_set") == (selection.slice_set or "overall"),
        pl.col("class").eq_missing(pl.lit(label, dtype=pl.String)),
    )
    return "" if rows.is_empty() else str(row_estimate(rows.row(0, named=True)))
