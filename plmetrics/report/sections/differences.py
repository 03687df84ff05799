"""How the models differ from the baseline on all rows, and whether that is more than noise."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.text import Text

from plmetrics.report.layout import FAINT, Column, aligned, heading, printable, stack, table, wrapped
from plmetrics.report.numbers import estimate, p_value
from plmetrics.report.sections.overall import metric_label

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

Row = dict[str, Any]
_STYLES = {"better": "green", "worse": "red", "higher": "cyan", "lower": "cyan"}
_ARROWS = {"better": "▲", "worse": "▼", "higher": "▲", "lower": "▼"}
_SWAPPED = {"better": "worse", "worse": "better"}


def differences(summary: Summary, width: int) -> list[Text]:
    """A line per metric and model: difference to the baseline, adjusted p value, and what it means."""
    frame = summary.comparisons.filter(pl.col("contrast") == "model", pl.col("scale") == "difference")
    lines: list[Text] = []
    for baseline in frame["baseline"].unique(maintain_order=True):
        of_baseline = frame.filter(pl.col("baseline") == baseline)
        rows = of_baseline.filter(pl.col("slice_set") == "overall").rows(named=True)
        lines += heading(f"Against {printable(baseline)}", _remark(summary, rows), width)
        lines += _lines(summary, rows, width)
        lines += _in_slices(summary, of_baseline.filter(pl.col("slice_set") != "overall"), width)
    return lines


def reading(row: Row, direction: str, alpha: float, values: tuple[float, float] | None = None) -> str:
    """What a difference says in a word or two.

    `values` are those of the model and of the baseline; a metric that should be near zero needs them.
    """
    difference, p = row["difference"], row["p_value"]
    if difference is None:
        return ""
    if difference == 0 and row["lower"] in (None, 0) and row["upper"] in (None, 0):
        return "equal"
    if p is None:
        return "not tested"
    adjusted = row["p_adjusted"]
    if (p if adjusted is None else adjusted) >= alpha:
        return "no clear difference"
    if direction == "zero" and values is not None:
        return "better" if abs(values[0]) < abs(values[1]) else "worse"
    if direction not in {"higher", "lower"}:
        return "higher" if difference > 0 else "lower"
    word = "better" if difference > 0 else "worse"
    return word if direction == "higher" else _SWAPPED[word]


def _lines(summary: Summary, rows: list[Row], width: int) -> list[Text]:
    overall = summary.metrics.filter(pl.col("slice_set") == "overall")
    keys = overall.select("metric", "class", "model").rows()
    values = dict(zip(keys, overall["value"].to_list(), strict=True))
    tested = any(row["p_value"] is not None for row in rows)
    differences_shown = aligned([_shown(row) for row in rows])
    cells = []
    before = None
    for row, difference in zip(rows, differences_shown, strict=True):
        pair = [values.get((row["metric"], row["class"], row[side])) for side in ("model", "baseline")]
        known = (pair[0], pair[1]) if pair[0] is not None and pair[1] is not None else None
        word = reading(row, summary.directions.get(row["metric"], "none"), _alpha(summary), known)
        label = metric_label(row)
        p = row["p_value"] if row["p_adjusted"] is None else row["p_adjusted"]
        cells.append([Text(label), Text(printable(row["model"])), difference, Text(p_value(p)), _word(word)])
    columns = [
        Column("metric"),
        Column("model", flexible=True, least=10),
        Column("difference"),
        Column("p", align="right"),
        Column("reading"),
    ]
    kept = [0, 1, 2, 3, 4] if tested else [0, 1, 2]
    grid = []
    for row_cells in cells:
        first = Text("") if row_cells[0].plain == before else row_cells[0]
        before = row_cells[0].plain
        grid.append([[first, *row_cells[1:]][i] for i in kept])
    fitting = table([columns[i] for i in kept], grid, width)
    return fitting if fitting is not None else _stacked(rows, cells, width, tested=tested)


def _stacked(rows: list[Row], cells: list[list[Text]], width: int, *, tested: bool) -> list[Text]:
    lines: list[Text] = []
    before = None
    for row, (metric, model, _, p, word) in zip(rows, cells, strict=True):
        if metric.plain != before:
            lines += wrapped(metric, width)
        before = metric.plain
        pieces = [model, aligned([_shown(row)])[0]]
        if tested:
            pieces += [Text("p ", FAINT) + p, word]
        lines += _indented(pieces, width)
    return lines


def _indented(pieces: list[Text], width: int) -> list[Text]:
    label, *rest = pieces
    one = Text("    ") + Text("  ").join(piece for piece in pieces if piece.plain)
    return [one] if one.cell_len <= width else stack(label, rest, width, indent=4)


def _in_slices(summary: Summary, frame: pl.DataFrame, width: int) -> list[Text]:
    rows = frame.filter(pl.col("p_value").is_not_null()).rows(named=True)
    if not rows:
        return []
    alpha = _alpha(summary)
    counts = Counter(reading(row, summary.directions.get(row["metric"], "none"), alpha) for row in rows)
    order = ("better", "worse", "higher", "lower", "equal", "no clear difference")
    parts = ", ".join(f"{counts[word]} {word}" for word in order if counts[word])
    return wrapped(Text(f"in slices, of {len(rows)} tested differences: {parts}", FAINT), width)


def _shown(row: Row) -> Any:
    return estimate(
        row["difference"],
        row["lower"],
        row["upper"],
        status=row["status"],
        interval_status=row["interval_status"],
        signed=True,
    )


def _word(word: str) -> Text:
    arrow = _ARROWS.get(word)
    return Text(f"{arrow} {word}" if arrow else word, _STYLES.get(word, FAINT))


def _alpha(summary: Summary) -> float:
    return 1 - (0.95 if summary.level is None else summary.level)


def _remark(summary: Summary, rows: list[Row]) -> str:
    if not any(row["p_value"] is not None for row in rows):
        return "model - baseline"
    how = "not adjusted" if summary.correction in (None, "none") else f"adjusted: {summary.correction}"
    return f"model - baseline; p {how}"
