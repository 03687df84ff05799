"""Histograms of both windows on shared bins: the share of rows in each, columns with the largest drift first."""

from __future__ import annotations

from typing import Any

import polars as pl

from plmetrics.core.errors import Problem
from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.grammar import base, channel, chart_title, concat, datum, layer_charts, options
from plmetrics.report.charts.marks import add_title, axis, nice_ticks
from plmetrics.report.charts.selection import NothingToDraw, Selection
from plmetrics.report.charts.texts import short
from plmetrics.report.charts.theme import LIGHT, SERIES
from plmetrics.report.charts.words import first_facts
from plmetrics.report.numbers import count, number, omission

MOST_PAIRS = 24
_COLUMNS, _WIDTH, _HEIGHT = 3, 230, 130
_KEYS = ["subject", "model", "column", "slice_set", "slice"]
_MOST_LABELS = 5


def draw(selection: Selection) -> Figure:
    """A panel a column: the reference as a grey area, the rows of now as a line."""
    table = selection.summary.tables.get("drift_histograms")
    if table is None or table.is_empty():
        raise NothingToDraw(
            Problem("the result has no table drift_histograms", hint="run it again with drift")
        )
    bins = selection.rows(table)
    order = _by_size(selection.summary.drift, bins)
    shown = order.head(MOST_PAIRS)
    parts = [
        (
            row,
            bins.join(
                pl.DataFrame([row]).select(_KEYS).cast(pl.String), on=_KEYS, how="semi", nulls_equal=True
            ),
        )
        for row in shown.rows(named=True)
    ]
    panels = [_panel(part, _heading(row)) for row, part in parts]
    notes = omission(order.height - shown.height, "column", "drift_histograms")
    title = "Columns then and now"
    subtitle = ("grey: reference, blue: now; share of rows by bin; sorted by psi", _sizes(bins), *notes)
    chart: Any = panels[0] if len(panels) == 1 else concat(*panels, columns=_COLUMNS, spacing=26)
    width = (_WIDTH + 60) * min(len(panels), _COLUMNS)
    words = first_facts([_heading(row) for row in shown.rows(named=True)])
    drawn = pl.concat([part for _, part in parts])
    return Figure(
        add_title(chart, title, subtitle, width, frame="bounds"), drawn, title, f"{title}. {words}.", notes
    )


def _by_size(drift: pl.DataFrame, bins: pl.DataFrame) -> pl.DataFrame:
    """The columns with their psi, the largest first; those without one in the order of the table."""
    keys = bins.select(_KEYS).unique(maintain_order=True)
    psi = drift.filter(pl.col("measure").str.starts_with("psi")).select(*_KEYS, "value")
    psi = psi.unique(_KEYS, keep="first", maintain_order=True)
    joined = keys.join(psi, on=_KEYS, how="left", nulls_equal=True, maintain_order="left")
    return joined.sort("value", descending=True, nulls_last=True, maintain_order=True)


def _heading(row: dict[str, Any]) -> str:
    name = short(row["column"], 20)
    if row["subject"] == "score":
        name = f"{short(row['model'], 14)} ({short(row['column'], 10)})"
    if row["slice"] != "all":
        name = f"{name}, {short(row['slice'], 14)}"
    return name if row["value"] is None else f"{name}  psi {number(row['value'])}"


def _panel(part: pl.DataFrame, heading: str) -> Any:
    part = part.with_columns(k=pl.int_range(pl.len()))
    top = (
        max(float(part.select(pl.max_horizontal(pl.col("^share_.*$").max().fill_null(0.0))).item()), 1e-9)
        * 1.08
    )
    ticks, words = _labels(part)
    x = axis("x", None, (0, part.height), ticks=ticks)
    x["axis"] = options(values=ticks, labelExpr=_expression(ticks, words), labelAngle=0, grid=False)
    y = axis("y", None, (0, top), form=".0%" if top > 0.05 else ".1%", ticks=nice_ticks((0, top), 4))
    outlines = [_outline(part, column) for column in ("share_reference", "share_current")]
    area = base(outlines[0]).mark("area", color=LIGHT["reference"], opacity=0.35)
    line = base(outlines[1]).mark("line", color=SERIES[0], strokeWidth=1.8)
    across, order = channel(**x), channel("k:Q")
    chart = layer_charts(
        area.encode(x=across, y=channel(**y), y2=datum(0)), line.encode(x=across, y=channel(**y), order=order)
    )
    return chart.properties(
        width=_WIDTH, height=_HEIGHT, title=chart_title(heading, fontSize=11.5, offset=6, anchor="start")
    )


def _outline(part: pl.DataFrame, column: str) -> pl.DataFrame:
    """Corners of the steps over consecutive bins."""
    share = pl.col(column).fill_null(0.0)
    left = part.select(x=pl.col("k").cast(pl.Float64) + 1e-6, y=share, k=2 * pl.col("k"))
    right = part.select(x=pl.col("k") + 1.0, y=share, k=2 * pl.col("k") + 1)
    return pl.concat([left, right]).sort("k")


def _labels(part: pl.DataFrame) -> tuple[list[float], list[str]]:
    """Positions and labels of ticks: edges of intervals, or names in the middle of a bin."""
    step = -(-part.height // _MOST_LABELS)
    ticks: list[float] = []
    words: list[str] = []
    for row in part.rows(named=True)[::step]:
        edge = row["kind"] == "interval" and row["lower"] is not None
        ticks.append(float(row["k"]) if edge else row["k"] + 0.5)
        words.append(
            number(row["lower"]) if edge and row["unit"] is None else short(row["bin"] or "(missing)", 9)
        )
    return ticks, words


def _expression(ticks: list[float], words: list[str]) -> str:
    """Tick labels as a Vega expression; names are escaped data."""
    import json

    pairs = {f"{tick:g}": word for tick, word in zip(ticks, words, strict=True)}
    return f"({json.dumps(pairs)})[toString(datum.value)]"


def _sizes(bins: pl.DataFrame) -> str:
    first = bins.group_by(_KEYS, maintain_order=True).agg(pl.col("n_reference", "n_current").sum())
    reference, current = first["n_reference"].max(), first["n_current"].max()
    return f"{count(int(reference or 0))} reference rows, {count(int(current or 0))} now"  # type: ignore[arg-type]
