"""Titles, subtitles and descriptions of charts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.report.numbers import count, level_text, number

if TYPE_CHECKING:
    from plmetrics.report.charts.selection import Selection
    from plmetrics.report.charts.series import Series

_MOST_FACTS = 5


def first_facts(facts: Sequence[str]) -> str:
    """The first facts of a description, and the number of the others.

    >>> first_facts([f"fact {number}" for number in range(8)])
    'fact 0; fact 1; fact 2; fact 3; fact 4; and 3 more'
    """
    more = len(facts) - _MOST_FACTS
    return "; ".join([*facts[:_MOST_FACTS], *([f"and {count(more)} more"] if more > 0 else [])])


def three_digits(value: float) -> str:
    """A number in a chart, to three digits.

    >>> three_digits(0.342855)
    '0.343'
    """
    return number(float(f"{value:.3g}"))


def title_of(name: str, series: Series) -> str:
    """Chart's name with the text common to all series."""
    return f"{name}: {series.common}" if series.common else name


def band_words(selection: Selection, series: Series, of: str) -> str:
    """Method of the bands; empty without bands."""
    if not series.frame["lo"].is_not_null().any():
        return ""
    return f"{level_words(selection)} band of {of}, pointwise"


def level_words(selection: Selection) -> str:
    """The level of intervals, such as 95%."""
    level = selection.summary.level
    return level_text(0.95 if level is None else level)


def heading_of(selection: Selection, series: Series, metric: str) -> str | None:
    """Meaning of the numbers of a legend; None where it has none."""
    if not any(series.values):
        return None
    intervals = any("[" in text for text in series.values)
    return f"{metric} [{level_words(selection)} interval]" if intervals else metric


def direction_words(selection: Selection, metric: str) -> str:
    """Better side of a metric, in brackets; empty where none is."""
    direction = selection.summary.directions.get(metric, "none")
    words = {"higher": "higher is better", "lower": "lower is better", "zero": "best at 0"}.get(direction)
    return f" ({words})" if words else ""


def size_words(selection: Selection, series: Series) -> str:
    """Rows of the drawn slice, if it is one; and omitted ones."""
    slices = series.drawn["slice"].unique()
    words = []
    if len(slices) == 1:
        slice_set = selection.slice_set or "overall"
        rows = selection.summary.metrics.filter(slice_set=slice_set, slice=slices[0])["n"].drop_nulls()
        if len(rows):
            words.append(f"n = {count(rows.max())}")  # type: ignore[arg-type]
    return "; ".join([*words, *series.notes])


def metric_of(selection: Selection, name: str) -> str | None:
    """First metric of this name, with any parameters, as the result writes it."""
    texts = selection.summary.metrics["metric"].unique(maintain_order=True).to_list()
    return next((text for text in texts if text.split("(")[0] == name), None)


def dot_words(chosen: pl.DataFrame) -> str:
    """Meaning of the points on a curve; empty where there are none."""
    return "" if chosen.is_empty() else "points: at the thresholds of metrics"


def at_a_tenth(points: pl.DataFrame) -> str:
    """The height of a curve over a tenth, between its points."""
    there = points.drop_nulls(["x", "y"]).sort("x", maintain_order=True)
    return three_digits(float(np.interp(0.1, there["x"], there["y"])))


def findings(
    title: str, series: Series, fact: Callable[[pl.DataFrame], str], points: pl.DataFrame | None = None
) -> str:
    """Description of a chart: a fact of each series, told from its points, or from those before thinning."""
    frame = series.frame if points is None else points
    parts = {part["s"][0]: part for part in frame.partition_by("s", maintain_order=True)}
    several = len(series.labels) > 1
    words = [
        f"{name}: {description}" if several else description
        for label, name in zip(series.labels, series.names, strict=True)
        if label in parts and (description := fact(parts[label]))
    ]
    return f"{title}. {'; '.join(words)}." if words else f"{title}."


def finding(title: str, metric: str, series: Series, selection: Selection) -> str:
    """Description of a curve: the metric's value of each series, or their names where none has one."""
    values = [" ".join(label.split()) for label in series.labels if label]
    has_metric = selection.summary.metrics.filter(pl.col("metric") == metric).height > 0
    has_metric &= len(series.names) < 2 or series.labels != series.names
    if not values:
        return f"{title}. {series.frame.height} points."
    return f"{title}. {metric if has_metric else 'Series'}: {'; '.join(values)}."
