"""The history of a suite as text, JSON or CSV, and the last intervals before a result for its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.text import Text

from plmetrics.core.errors import PlmetricsError
from plmetrics.core.names import printable
from plmetrics.features.nights.change_points.history_levels import (
    change_lines,
    changes_of,
    last_places,
    with_levels,
)
from plmetrics.features.nights.history_selection import ALL, metric_names, select
from plmetrics.features.nights.interval_history import (
    CURRENT,
    DAMAGED,
    MISSING,
    MOMENT,
    SUPERSEDED,
    read_history,
)
from plmetrics.report.export import finite_rows, json_text
from plmetrics.report.layout import (
    FAINT,
    Column,
    align,
    flow,
    heading,
    join_blocks,
    remarks,
    table,
    table_or_stack,
    to_text,
)
from plmetrics.report.numbers import MISSING as UNDEFINED
from plmetrics.report.numbers import Row, ValueText, estimate, number, plural
from plmetrics.report.sections.overall import metric_label

if TYPE_CHECKING:
    from plmetrics.features.nights.interval_history import History
    from plmetrics.report.summary import Summary

BLOCKS = "▁▂▃▄▅▆▇█"
GAP = "·"
CHANGE = "|"
_NARROWEST = 40
_MOST_POINTS = 60
_MOST_MOVES = 8
_MOVED = "moved"
_STYLES = {"fail": "bold red", "warn": "yellow", "inconclusive": "yellow", "pass": "green"}
_NOT_PLAIN = ("fail", "warn", "inconclusive")
_READ, _IN_TERMINAL = 60, 14
_MOST_METRICS, _MOST_LINES = 4, 12
_MOST_SERIES = 120


def sparkline(values: Sequence[float | None], changes: Sequence[int] = ()) -> str:
    """Values as blocks between the lowest and the highest of them; a point for each absent one.

    A bar comes before the values that `changes` numbers: another level begins there.

    >>> sparkline([1.0, 2.0, None, 4.5], changes=[3])
    '▁▃·|█'
    """
    defined = [value for value in values if value is not None]
    low, high = min(defined, default=0.0), max(defined, default=0.0)
    top = len(BLOCKS) - 1

    def block(value: float | None) -> str:
        if value is None:
            return GAP
        return BLOCKS[top // 2] if high == low else BLOCKS[round((value - low) / (high - low) * top)]

    return "".join(
        f"{CHANGE if place in changes else ''}{block(value)}" for place, value in enumerate(values)
    )


def history_text(history: History, rows: pl.DataFrame, width: int = 100, *, color: bool = False) -> str:
    """A head, a sparkline a series, changes in words, and a table a metric and slice.

    `rows` have levels. Lines are not longer than `width`, but for narrow terminals of less than 40 columns.
    """
    width = max(width, _NARROWEST)
    lines, groups = sparklines(rows, width, _MOST_POINTS), _by_metric(series_of(rows))
    blocks = [_head(history, rows, width), _first(lines, _MOST_SERIES, width), moves(rows, width)]
    starts = accumulate(map(len, groups), initial=0)
    shown = [parts for parts, start in zip(groups, starts, strict=False) if start < _MOST_SERIES]
    blocks += [_table(rows, parts, width) for parts in shown]
    if len(groups) > len(shown):
        count = plural(len(groups) - len(shown), "table")
        blocks.append(remarks([f"{count} more: name metrics, --model, --slice, or a --format"], width, ""))
    return to_text(join_blocks(blocks), width, color=color)


def history_json(history: History, rows: pl.DataFrame) -> str:
    """One JSON object: exit code, the folder, unreadable parts, and the rows as a list of records."""
    moments = pl.col(MOMENT).dt.to_string("iso:strict")
    return json_text(
        {
            "status": "complete",
            "exit_code": 0,
            "name": history.home.name,
            "folder": str(history.home),
            "warnings": list(history.warnings),
            "changes": changes_of(rows).with_columns(moments).to_dicts(),
            "history": finite_rows(rows).with_columns(moments).to_dicts(),
        }
    )


def history_csv(rows: pl.DataFrame) -> str:
    """The rows as CSV, undefined values empty."""
    moments = pl.col("start", "end").dt.to_string("iso:strict")
    return rows.with_columns(moments, pl.col(pl.Float64).fill_nan(None)).write_csv()


def series_of(rows: pl.DataFrame) -> list[pl.DataFrame]:
    """Values of each metric, class, slice and model, without empty series."""
    values = rows.filter(pl.col("model").is_not_null())
    return values.partition_by("metric", "class", "slice_set", "slice", "model", maintain_order=True)


def sparklines(rows: pl.DataFrame, width: int, most: int) -> list[Text]:
    """A line for each series: its metric, slice and model, its last values as blocks, and the last one."""
    places = _places(rows).filter(pl.col("status") != SUPERSEDED)
    moments = places.unique("start", maintain_order=True).select("start").tail(most)
    current = rows.filter(pl.col("status") == CURRENT)
    cells = []
    for part in (part for parts in _by_metric(series_of(current)) for part in parts):
        first = part.row(0, named=True)
        values = moments.join(part.select("start", "value"), on="start", how="left", maintain_order="left")
        starts = changes_of(part)["start"].to_list()
        changes = [place for place, start in enumerate(moments["start"].to_list()) if start in starts]
        label = metric_label(first) + ("" if first["slice"] == ALL else f", {first['slice']}")
        last = part["value"][-1]
        line = sparkline([None if v is None or v != v else v for v in values["value"].to_list()], changes)  # noqa: PLR0124
        cells.append((label, first["model"], line, UNDEFINED if last is None else number(last)))
    if not cells:
        return []
    columns = [Column(""), Column(""), Column(""), Column("", "right")]
    texts = [[Text(printable(cell)) for cell in row] for row in cells]
    return [line for line in table_or_stack(columns, texts, width) if line.plain.strip()]


def _first(lines: list[Text], most: int, width: int) -> list[Text]:
    """The first lines, and the number of the others."""
    more = [f"{plural(len(lines) - most, 'line')} more"] if len(lines) > most else []
    return [*lines[:most], *remarks(more, width, "")]


def moves(rows: pl.DataFrame, width: int) -> list[Text]:
    """The changes of level in words, the last ones first."""
    lines = [*change_lines(changes_of(rows))][::-1]
    more = [f"{plural(len(lines) - _MOST_MOVES, 'earlier change')}"] if len(lines) > _MOST_MOVES else []
    return remarks([*lines[:_MOST_MOVES], *more], width, "")


def _head(history: History, rows: pl.DataFrame, width: int) -> list[Text]:
    """Name of the suite, the first and the last interval, and the number of each kind."""
    places = _places(rows)
    kinds = places["status"].to_list()
    current = places.filter(pl.col("status") == CURRENT)
    verdicts = current["verdict"].to_list()
    what = "interval" if places["interval"].is_not_null().any() else "run"
    count = places.filter(pl.col("status") != SUPERSEDED)["start"].len()
    facts = [
        plural(count, what),
        *(f"{verdicts.count(word)} {word}" for word in ("fail", "inconclusive") if word in verdicts),
        *(f"{kinds.count(kind)} {kind}" for kind in (MISSING, DAMAGED, SUPERSEDED) if kind in kinds),
    ]
    labels = [_label(row) for row in places.rows(named=True)]
    title = Text.assemble(("History", "bold"), "  ", (f"{printable(history.home.name)}:", "bold"))
    span = " to ".join(dict.fromkeys([labels[0], labels[-1]])) if labels else ""
    pieces = [title, *(Text(f"{fact},", FAINT) for fact in facts), Text(span, FAINT)]
    return flow(pieces, width, indent=0, gap=1)


def _by_metric(series: Sequence[pl.DataFrame]) -> list[list[pl.DataFrame]]:
    groups: dict[tuple[Any, ...], list[pl.DataFrame]] = {}
    for part in series:
        key = tuple(part[name][0] for name in ("metric", "class", "slice_set", "slice"))
        groups.setdefault(key, []).append(part)
    return list(groups.values())


def _table(rows: pl.DataFrame, parts: Sequence[pl.DataFrame], width: int) -> list[Text]:
    """A metric of a slice: intervals with their verdicts, the value of each model, and marks.

    Where the models do not fit beside each other, each has a table of its own: values below each other have no names.
    """
    first = parts[0].row(0, named=True)
    title = printable(metric_label(first))
    if first["slice"] != ALL:
        title = f"{title}, {printable(first['slice'])}"
    places = _places(rows).rows(named=True)
    columns = [Column("interval"), Column("verdict")]
    cells = [[Text(_label(place)), _verdict(place)] for place in places]
    for part in parts:
        values = {(row["start"], row["run_id"]): row for row in part.rows(named=True)}
        estimates = [values.get((place["start"], place["run_id"])) for place in places]
        columns.append(Column(printable(part["model"][0])))
        for line, text in zip(cells, _estimates(estimates), strict=True):
            line.append(text)
    marks = [_marks(place) for place in places]
    if any(marks):
        columns.append(Column(""))
        for line, mark in zip(cells, marks, strict=True):
            line.append(Text(mark, FAINT))
    if len(parts) > 1 and table(columns, cells, width) is None:
        return join_blocks([_table(rows, [part], width) for part in parts])
    return [*heading(title, width=width), *table_or_stack(columns, cells, width)]


def _estimates(rows: Sequence[Row | None]) -> list[Text]:
    texts = align([ValueText("") if row is None else _estimate(row) for row in rows])
    for text, row in zip(texts, rows, strict=True):
        if row is not None and row["gate_verdict"] in _NOT_PLAIN:
            text.append(f" {row['gate_verdict']}", _STYLES[row["gate_verdict"]])
        if row is not None and row["level_before"] is not None:
            text.append(f" {_MOVED}", "bold")
    return texts


def _estimate(row: Row) -> ValueText:
    return estimate(row["value"], row["lower"], row["upper"], status=row["value_status"])


def _places(rows: pl.DataFrame) -> pl.DataFrame:
    """Intervals and runs of rows, one row each."""
    columns = ("interval", "start", "run_id", "verdict", "status", "accepted")
    return rows.select(columns).unique(["start", "run_id"], keep="first", maintain_order=True)


def _label(place: Mapping[str, Any]) -> str:
    if place["interval"] is not None:
        return printable(place["interval"])
    return printable(place["run_id"]) if place["start"] is None else f"{place['start']:%Y-%m-%d %H:%M:%S}Z"


def _verdict(place: Mapping[str, Any]) -> Text:
    verdict = place["verdict"]
    return Text(UNDEFINED) if verdict is None else Text(printable(verdict), _STYLES.get(verdict, ""))


def _marks(place: Mapping[str, Any]) -> str:
    words = [] if place["status"] == CURRENT else [place["status"]]
    if place["verdict"] == "fail" and place["accepted"] and place["status"] != MISSING:
        words.append("accepted")
    return ", ".join(words)


def page_rows(summary: Summary) -> pl.DataFrame | None:
    """The values of all rows by interval in the metrics with gates, the last interval first."""
    rows = _recent(summary)
    if rows is None:
        return None
    columns = [
        "interval",
        "verdict",
        "model",
        "metric",
        "class",
        "value",
        "lower",
        "upper",
        "n",
        "level_before",
    ]
    absence = pl.when(pl.col("status") != CURRENT).then("status")
    latest_first = rows.sort("start", descending=True, maintain_order=True)
    return latest_first.select(*columns, result=absence, status="value_status")


def recent_lines(summary: Summary, width: int) -> list[Text]:
    """A sparkline a series; none where there is one interval alone."""
    rows = _recent(summary)
    if rows is None:
        return []
    starts = rows["start"].unique().sort().tail(_IN_TERMINAL)
    shown = rows.filter(pl.col("start") >= starts[0])
    lines = _first(sparklines(shown, width, _IN_TERMINAL), _MOST_LINES, width) + moves(shown, width)
    count = len(starts)
    title = heading("History", f"last {plural(count, 'interval')}", width)
    return [*title, *lines] if lines else []


def _recent(summary: Summary) -> pl.DataFrame | None:
    """Rows of the last intervals up to that of a result; None without an earlier one, or where none can be read."""
    assert summary.folder is not None
    try:
        history = read_history(summary.folder.parent, last=_READ, until=summary.record["interval"]["key"])
        rows = with_levels(select(history.frame, _metrics(history), None, [ALL]), history.calendar)
    except (PlmetricsError, OSError):
        return None
    rows = last_places(history, rows, _READ)
    current = rows.filter(pl.col("status") == CURRENT)["start"].n_unique()
    return rows if current > 1 else None


def _metrics(history: History) -> list[str]:
    """Metrics of gates, in the order of the result; the first one without any."""
    rows = history.frame.filter(pl.col("model").is_not_null(), pl.col("slice") == ALL)
    names = metric_names(rows)
    gated = set(history.gates["metric"].drop_nulls())
    return [name for name in names if name in gated][:_MOST_METRICS] or names[:1]
