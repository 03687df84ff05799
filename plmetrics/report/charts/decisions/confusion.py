"""The confusion matrix: called classes of the rows of each true class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.report.charts.decisions.confusion_counts import WEIGHTS, counts_of, share_words
from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.grammar import Chart, base, channel, chart_title, constant, layer_charts, options
from plmetrics.report.charts.marks import add_title
from plmetrics.report.charts.panels import PanelGrid, grid
from plmetrics.report.charts.series import MOST_PANELS
from plmetrics.report.charts.texts import in_line, short, width
from plmetrics.report.charts.theme import LIGHT, SERIES
from plmetrics.report.numbers import count, plural

if TYPE_CHECKING:
    from plmetrics.report.charts.selection import Selection

MOST_CLASSES = 12
MOST_CONFUSIONS = 12
EDGES = (0.02, 0.2, 0.4, 0.6, 0.8)
"""Shares from which on a cell has the next shade."""
FROM_PAPER = 4
"""The shade from which on the ink is that of the paper."""
_BAR, _BARS = 20, 260


def draw(selection: Selection) -> Figure:
    """A matrix a model and slice with the share of each true class and its rows; of many classes the most confused.

    Of a binary task it is counted by the metrics `tp`, `fp`, `fn` and `tn`, of classes by the curve `confusion`.
    """
    cells = counts_of(selection)
    parts = cells.partition_by("model", "slice", maintain_order=True)
    shown = parts[:MOST_PANELS]
    many = cells["true"].n_unique() > MOST_CLASSES
    keys = [(part["model"][0], part["slice"][0]) for part in shown]
    vary = [len({key[place] for key in keys}) > 1 for place in range(2)]
    among = [name for key in keys for name in key]
    names = [
        ", ".join(in_line(short(key[place], among=among)) for place in range(2) if vary[place])
        for key in keys
    ]
    charts = [
        _largest(part, MOST_CONFUSIONS, name) if many else _matrix(part, name)
        for part, name in zip(shown, names, strict=True)
    ]
    width = max(chart.width for chart in charts)
    drawn = grid([chart.chart for chart in charts], min(len(charts), 2 if width > 300 else 3), width)
    title, notes = _title(keys, vary), _notes(cells, len(parts), len(parts) - len(shown), many=many)
    chart = charts[0].chart if len(charts) == 1 else drawn.chart
    total = drawn.width if len(charts) > 1 else width + 120
    return Figure(
        add_title(chart, title, notes, total, frame="bounds"),
        pl.concat(shown).drop("place", "called_place"),
        title,
        _finding(title, shown, names),
        tuple(notes[1:]),
    )


def _title(keys: list[tuple[str, str]], vary: list[bool]) -> str:
    same = [in_line(short(keys[0][place])) for place in range(2) if not vary[place]]
    return ": ".join(["Confusion", ", ".join(name for name in same if name != "all")]).removesuffix(": ")


def _notes(cells: pl.DataFrame, parts: int, omitted: int, *, many: bool) -> list[str]:
    rows = cells.filter(model=cells["model"][0], slice=cells["slice"][0])
    number = f"; threshold {cells['threshold'][0]:g}" if cells["threshold"].is_not_null().all() else ""
    total = count(int(rows["n"].sum()))
    weighted = cells["unit"][0] == WEIGHTS
    size = f"numbers are weights, {total} in all" if weighted else f"n = {total}"
    first = f"{share_words(cells)}; {size}{number if cells['threshold'].n_unique() == 1 else ''}"
    notes = [first]
    if many:
        classes = cells["true"].n_unique()
        pairs = _largest_cells(rows, MOST_CONFUSIONS)
        left = classes - pl.concat([pairs["true"], pairs["called"]]).n_unique()
        absent = f"; {plural(left, 'class')} left out" if left and parts == 1 else ""
        notes.append(f"{count(classes)} classes: the {MOST_CONFUSIONS} largest confusions{absent}")
    if omitted:
        notes.append(f"{count(omitted)} more are in the table")
    return notes


def _finding(title: str, parts: list[pl.DataFrame], names: list[str]) -> str:
    texts = []
    for part, name in zip(parts, names, strict=True):
        words = "no confusion"
        for row in _largest_cells(part, 1).iter_rows(named=True):
            words = (
                f"{count(row['n'])} {row['unit']} of {short(row['true'])} are called {short(row['called'])}"
            )
        texts.append(f"{name} {words}".strip())
    return f"{title}. Largest confusion: {'; '.join(texts)}."


def _matrix(cells: pl.DataFrame, name: str) -> PanelGrid:
    """A matrix with the true class on y, the called one on x, the diagonal framed, and rows of each class."""
    names = cells.unique("place", keep="first").sort("place")["true"].to_list()
    size = 74 if len(names) <= 3 else 54 if len(names) <= 8 else 44
    side = size * len(names)
    x = _axis("x", len(names), reverse=False)
    y = _axis("y", len(names), reverse=True)
    boxes = _boxes(cells)
    cell = base(boxes.select("x", "x2", "y", "y2", "fill")).mark(
        "rect", stroke=LIGHT["paper"], strokeWidth=2, opacity=1
    )
    diagonal = boxes.filter(pl.col("x") == pl.col("y")).select("x", "x2", "y", "y2")
    frame = base(diagonal).mark("rect", fill=None, stroke=LIGHT["ink"], strokeWidth=1.2, opacity=1)
    box: dict[str, Any] = {"x": x, "x2": "x2:Q", "y": y, "y2": "y2:Q"}
    layers = [
        cell.encode(**box, fill=channel("fill:N", scale=None, legend=None)),
        frame.encode(**box),
        _words(boxes, x, y, "share_text", -7, 12),
        _words(boxes, x, y, "n_text", 8, 10),
        *_names(names, size, side),
        *_totals(cells, size, side),
    ]
    chart = layer_charts(*layers).properties(width=side, height=side, **_heading(name))
    return PanelGrid(chart, side)


def _heading(name: str) -> dict[str, Any]:
    return {"title": chart_title(name, frame="bounds", fontSize=12, offset=8)} if name else {}


def _axis(field: str, number: int, *, reverse: bool) -> Any:
    scale = options(domain=[0, number], reverse=reverse, nice=False, zero=False)
    return channel(f"{field}:Q", scale=scale, axis=None)


def _boxes(cells: pl.DataFrame) -> pl.DataFrame:
    """Places, shades, inks and texts of the cells; a class without rows has no shares."""
    shade = sum((pl.col("share") >= edge).cast(pl.Int64) for edge in EDGES)
    fills = {number: LIGHT[f"share-{number}"] for number in range(len(EDGES) + 1)}
    number = pl.when(pl.col("share").is_null()).then(0).otherwise(shade)
    texts = [f"{share:.0%}" if share is not None else "\u00b7" for share in cells["share"]]
    return cells.with_columns(shade=number).select(
        x=pl.col("called_place").cast(pl.Float64),
        x2=pl.col("called_place") + 1.0,
        y=pl.col("place").cast(pl.Float64),
        y2=pl.col("place") + 1.0,
        fill=pl.col("shade").replace_strict(fills, return_dtype=pl.String),
        ink=pl.when(pl.col("shade") >= FROM_PAPER)
        .then(pl.lit(LIGHT["paper"]))
        .otherwise(pl.lit(LIGHT["ink"])),
        share_text=pl.Series(texts, dtype=pl.String),
        n_text=pl.Series([count(n) if n is not None else "" for n in cells["n"]], dtype=pl.String),
    )


def _words(boxes: pl.DataFrame, x: Any, y: Any, column: str, dy: float, size: float) -> Chart:
    texts = boxes.select(x=pl.col("x") + 0.5, y=pl.col("y") + 0.5, t=column, ink="ink")
    mark = base(texts).mark("text", dy=dy, fontSize=size, baseline="middle")
    return mark.encode(x=x, y=y, text="t:N", color=channel("ink:N", scale=None, legend=None))


def _names(names: Sequence[str], size: float, side: float) -> list[Chart]:
    """Names of true classes at the left, of predicted ones above, and a title of both."""
    texts = [in_line(short(name, 16)) for name in names]
    steep = max(width(text) for text in texts) > size - 4
    gutter = max(width(text) for text in texts) + 14
    marks = []
    for place, text in enumerate(texts):
        word = base(pl.DataFrame({"t": [text]}))
        middle = size * (place + 0.5)
        marks += [
            word.mark("text", align="right", baseline="middle", color=LIGHT["ink"]).encode(
                x=constant(-8), y=constant(middle), text="t:N"
            ),
            word.mark(
                "text",
                align="left" if steep else "center",
                baseline="bottom" if not steep else "middle",
                angle=315 if steep else 0,
                color=LIGHT["ink"],
            ).encode(x=constant(middle), y=constant(-8), text="t:N"),
        ]
    above = gutter * 0.75 + 8 if steep else 24
    titles = (("Called class", side / 2, -above, 0), ("True class", -gutter - 6, side / 2, 270))
    return [*marks, *(_side_title(text, x, y, angle) for text, x, y, angle in titles)]


def _side_title(text: str, x: float, y: float, angle: float) -> Chart:
    mark = base(pl.DataFrame({"t": [text]})).mark(
        "text", angle=angle, fontSize=11.5, align="center", baseline="bottom", color=LIGHT["mute"]
    )
    return mark.encode(x=constant(x), y=constant(y), text="t:N")


def _totals(cells: pl.DataFrame, size: float, side: float) -> list[Chart]:
    totals = cells.group_by("place").agg(pl.col("n").sum()).sort("place")
    marks = []
    for place, rows in totals.iter_rows():
        word = base(pl.DataFrame({"t": [f"n = {count(rows)}"]}))
        mark = word.mark("text", align="left", baseline="middle", color=LIGHT["mute"], fontSize=10.5)
        marks.append(mark.encode(x=constant(side + 8), y=constant(size * (place + 0.5)), text="t:N"))
    return marks


def _largest_cells(cells: pl.DataFrame, most: int) -> pl.DataFrame:
    wrong = cells.filter(pl.col("place") != pl.col("called_place"), pl.col("n") > 0)
    return wrong.sort("n", "share", descending=True, maintain_order=True, nulls_last=True).head(most)


def _largest(cells: pl.DataFrame, most: int, name: str) -> PanelGrid:
    """Most confused pairs of classes, as bars with the share of the true class and its rows."""
    rows = _largest_cells(cells, most)
    texts = [
        f"{in_line(short(true, 18))} called {in_line(short(called, 18))}"
        for true, called in rows.select("true", "called").iter_rows()
    ]
    values = [f"{count(n)} ({share:.0%})" for n, share in rows.select("n", "share").iter_rows()]
    top = float(rows["n"].max() or 1)  # type: ignore[arg-type]
    frame = pl.DataFrame(
        {
            "x": rows["n"].cast(pl.Float64),
            "z": pl.Series([0.0] * rows.height, dtype=pl.Float64),
            "y": pl.Series([place + 0.5 for place in range(rows.height)], dtype=pl.Float64),
            "t": pl.Series(texts, dtype=pl.String),
            "v": pl.Series(values, dtype=pl.String),
        }
    )
    x = channel("x:Q", scale=options(domain=[0, top], nice=False), axis=None)
    y = channel("y:Q", scale=options(domain=[0, max(rows.height, 1)], reverse=True, nice=False), axis=None)
    bar = base(frame).mark("bar", color=SERIES[0], size=_BAR * 0.7)
    label = base(frame).mark("text", align="right", baseline="middle", color=LIGHT["ink"])
    value = base(frame).mark(
        "text", align="left", baseline="middle", dx=6, color=LIGHT["mute"], fontSize=10.5
    )
    chart = layer_charts(
        bar.encode(x=x, x2="z:Q", y=y),
        label.encode(x=constant(-8), y=y, text="t:N"),
        value.encode(x=x, y=y, text="v:N"),
    ).properties(width=_BARS, height=_BAR * max(rows.height, 1), **_heading(name))
    return PanelGrid(chart, _BARS)
