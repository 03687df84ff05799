"""Differences of models to the baseline by query, in order of size, with the numbers of gains and losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.grammar import base, channel, layer_charts
from plmetrics.report.charts.marks import PANEL, SMALL_PANEL, add_title, axis, nice_ticks, reference, span
from plmetrics.report.charts.panels import model_panel, rows_of_panels
from plmetrics.report.charts.series import by_model, model_names
from plmetrics.report.charts.slices.estimate_texts import minus
from plmetrics.report.charts.texts import short
from plmetrics.report.charts.theme import SERIES
from plmetrics.report.charts.words import direction_words
from plmetrics.report.numbers import count, number

if TYPE_CHECKING:
    from plmetrics.report.charts.selection import Selection

CURVE = "query_differences"
_NEAR = 1e-12


def draw(selection: Selection) -> Figure:
    """A panel a model: queries from the largest gain to the largest loss, gains in blue, losses in orange."""
    curve = selection.curve(CURVE)
    shown, notes = by_model(curve)
    parts, names, alone = list(shown.values()), model_names(shown), len(shown) == 1
    metric, baseline = _metric_and_baseline(selection)
    lower = selection.summary.directions.get(metric) == "lower"
    domain = span(curve["y"], include=[0.0])
    y = axis(
        "y",
        f"Difference of {short(metric, 30)}{direction_words(selection, metric)}",
        domain,
        ticks=nice_ticks(domain, 6),
    )
    panels = [
        _panel(part, y, "" if alone else name, lower=lower) for part, name in zip(parts, names, strict=True)
    ]
    title = f"Differences to {baseline} by query" + (f": {names[0]}" if alone else "")
    words = [f"{name}: {tally(part, lower=lower)}" for part, name in zip(parts, names, strict=True)]
    subtitle = ("blue: better, orange: worse; queries in order of their difference", *words, *notes)
    drawn = rows_of_panels(panels, PANEL + 80, SMALL_PANEL + 90)
    ends = "; ".join(f"{name}: {_ends(part)}" for part, name in zip(parts, names, strict=True))
    description = f"{title}. {'; '.join(words)}. Largest: {ends}."
    chart = add_title(drawn.chart, title, subtitle, drawn.width, frame="bounds")
    return Figure(chart, pl.concat(parts), title, description, notes)


def _metric_and_baseline(selection: Selection) -> tuple[str, str]:
    summary = selection.summary
    rows = summary.comparisons.filter(contrast="model", metric=summary.query_metric or "")
    baselines = rows["baseline"].unique()
    baseline = short(baselines[0]) if len(baselines) == 1 else "earlier models"
    return summary.query_metric or "the metric", baseline


def tally(points: pl.DataFrame, *, lower: bool = False) -> str:
    """Numbers of better, equal and worse queries, from the ranks of the points.

    >>> tally(pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "y": [0.5, 0.0, 0.0, -0.1]}))
    'better in 1, equal in 2 and worse in 1 of 4 queries'
    """
    total = int(points["x"].max() or 0)  # type: ignore[arg-type]
    up = int(points.filter(pl.col("y") > _NEAR)["x"].max() or 0)  # type: ignore[arg-type]
    first = points.filter(pl.col("y") < -_NEAR)["x"].min()
    down = 0 if first is None else total - int(first) + 1  # type: ignore[arg-type]
    better, worse = (down, up) if lower else (up, down)
    about = "" if total == points.height else "about "
    return (
        f"{about}better in {count(better)}, equal in {count(total - up - down)} and worse in {count(worse)} of "
        f"{count(total)} queries"
    )


def _ends(points: pl.DataFrame) -> str:
    ordered = points.sort("y", descending=True)
    rows = [ordered.row(0, named=True), ordered.row(-1, named=True)]
    return ", ".join(
        f"query {short(row['class'] or '', 30)} {minus(number(row['y'], signed=True))}" for row in rows
    )


def _panel(points: pl.DataFrame, y: dict[str, Any], name: str, *, lower: bool) -> Any:
    total = float(points["x"].max() or 1)  # type: ignore[arg-type]
    x = axis("x", "Queries by difference", (0.5, total + 0.5), ticks=nice_ticks((0.5, total + 0.5), 5))
    good, bad = (SERIES[1], SERIES[0]) if lower else (SERIES[0], SERIES[1])
    layers = []
    for sign, ink in ((1, good), (-1, bad)):
        side = points.select("x", y=(pl.col("y") * sign).clip(0) * sign, zero=pl.lit(0.0))
        area = base(side).mark("area", color=ink, opacity=0.85, interpolate="step")
        layers.append(area.encode(x=channel(**x), y=channel(**y), y2="zero:Q"))
    layers.append(reference([(0.5, 0), (total + 0.5, 0)]))
    small, alone = (SMALL_PANEL + 20, SMALL_PANEL - 20), (PANEL + 80, PANEL - 100)
    return model_panel(layer_charts(*layers), name, small, alone)
