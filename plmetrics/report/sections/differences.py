"""Differences of models to the baseline and of slices to the rest, with readings against noise."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.text import Text

from plmetrics.core.names import printable
from plmetrics.inference.comparisons.readings import DIFFERENT_PARTS, READINGS
from plmetrics.inference.tables import INDEPENDENT_TEST, TESTS
from plmetrics.report.layout import FAINT, Column, align, heading, join_blocks, remarks, table_or_stack
from plmetrics.report.numbers import Row, comparison_estimate, count, left_out, p_value, plural
from plmetrics.report.sections.overall import metric_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.report.summary import Summary

_PLACE = ["contrast", "model", "baseline", "slice_set", "slice", "metric", "class"]
_STYLES = {"better": "green", "worse": "red", "higher": "cyan", "lower": "cyan"}
_ARROWS = {"better": "▲", "worse": "▼", "higher": "▲", "lower": "▼"}
_MOST = 8
MOST_PAIRS = 8
"""More comparisons of models are counted, not listed."""


def differences(summary: Summary, width: int) -> list[Text]:
    """Block per model, baseline and scale: differences on all rows with their readings, and slices in one line.

    The baseline is another model, or an earlier run; of many pairs of models there is none.
    """
    small = [parts for contrast in ("model", "run") if len(parts := pairs(summary, contrast)) <= MOST_PAIRS]
    return join_blocks([_pair(summary, part, width) for parts in small for part in parts])


def pairs(summary: Summary, contrast: str) -> list[pl.DataFrame]:
    """The comparisons of models, or with a run: a frame per model, baseline and scale."""
    frame = usual_tests(summary.comparisons.filter(pl.col("contrast") == contrast))
    return frame.partition_by("model", "baseline", "scale", maintain_order=True)


def usual_tests(comparisons: pl.DataFrame) -> pl.DataFrame:
    """Comparisons without further tests; DeLong's where it is the test of the intervals' method."""
    default = pl.col("test").is_null() | pl.col("test").is_in([*TESTS.values(), INDEPENDENT_TEST])
    delong = pl.col("test") == "delong"
    if not comparisons.select((delong & ~default).any()).item():
        return comparisons.filter(default)
    answered = (default & (pl.col("scale") == "difference")).any().over(_PLACE)
    return comparisons.filter(default | (delong & ~answered))


def on_all_rows(comparisons: pl.DataFrame) -> pl.DataFrame:
    """Comparisons on all rows, by metrics across slices as well."""
    return comparisons.filter(slice="all")


def leading_scale(comparisons: pl.DataFrame) -> pl.DataFrame:
    """Comparisons on one scale: the difference, or the first that was asked for without it."""
    scales = comparisons["scale"].unique(maintain_order=True).to_list()
    return comparisons.filter(scale="difference" if "difference" in scales or not scales else scales[0])


def tested_p(row: Row) -> float | None:
    """The p value of a comparison, adjusted where there are adjusted ones."""
    p: float | None = row["p_value"] if row["p_adjusted"] is None else row["p_adjusted"]
    return p


def adjustment(summary: Summary) -> str:
    """The correction of p values in words."""
    return "not adjusted" if summary.correction in {None, "none"} else f"adjusted by {summary.correction}"


def rival(row: Row) -> str:
    """The other side of a comparison: a model, or an earlier run."""
    return f"run {row['baseline']}" if row["contrast"] == "run" else str(row["baseline"])


def is_tested(comparisons: pl.DataFrame) -> bool:
    """Whether one of the comparisons has a p value."""
    return bool(comparisons["p_value"].is_not_null().any())


def reading_text(row: Row) -> str:
    """The reading of a comparison with its arrow; empty without one."""
    reading = row["reading"] or ""
    return f"{_ARROWS[reading]} {reading}" if reading in _ARROWS else reading


def reading_counts(comparisons: pl.DataFrame) -> str:
    """The number of comparisons with each reading, in words."""
    counts = Counter(comparisons["reading"])
    return ", ".join(f"{count(counts[reading])} {reading}" for reading in READINGS if counts[reading])


def _remark(summary: Summary, scale: str, *, tested: bool) -> str:
    """Remark beside the title of comparisons: their scale, and the correction of their p values."""
    word = scale.replace("_", " ")
    return f"{word}, p {adjustment(summary)}" if tested else word


def _pair(summary: Summary, pair: pl.DataFrame, width: int) -> list[Text]:
    first = pair.row(0, named=True)
    rows = on_all_rows(pair).rows(named=True)
    tested = is_tested(pair)
    title = f"{printable(first['model'])} against {printable(rival(first))}"
    lines = heading(title, _remark(summary, first["scale"], tested=tested), width)
    lines += _lines(rows, width, tested=tested)
    in_slices = pair.filter(pl.col("slice") != "all", pl.col("p_value").is_not_null())
    words = [] if in_slices.is_empty() else [f"in slices: {reading_counts(in_slices)}"]
    return lines + remarks([*different_parts(rows), *words], width)


def different_parts(rows: Sequence[Row]) -> list[str]:
    """The metrics whose two values leave out different parts, with these, in words."""
    notes = [(metric_label(row), row["note"] or "") for row in rows]
    return [f"{metric}: {note}" for metric, note in notes if note.startswith(DIFFERENT_PARTS)]


def _lines(rows: list[Row], width: int, *, tested: bool) -> list[Text]:
    cells = []
    for row, difference in zip(rows, align([comparison_estimate(row) for row in rows]), strict=True):
        cells.append([Text(metric_label(row)), difference])
        if tested:
            cells[-1] += _reading_cells(row)
    title = rows[0]["scale"].replace("_", " ") if rows else "difference"
    columns = [Column("metric"), Column(title), Column("p", align="right"), Column("reading")]
    return table_or_stack(columns if tested else columns[:2], cells, width)


def _reading_cells(row: Row) -> list[Text]:
    return [Text(p_value(tested_p(row))), Text(reading_text(row), _STYLES.get(row["reading"], FAINT))]


def slice_comparisons(summary: Summary, width: int) -> list[Text]:
    """A block per model, slice set and scale: the comparisons with the smallest p values, or the largest."""
    frame = summary.comparisons.filter(pl.col("contrast").is_in(["slice", "rest"]))
    parts = frame.partition_by("model", "slice_set", "scale", maintain_order=True)
    return join_blocks([_block(summary, part, width) for part in parts])


def _block(summary: Summary, part: pl.DataFrame, width: int) -> list[Text]:
    first = part.row(0, named=True)
    tested = is_tested(part)
    title = f"{printable(first['model'])}: slices of {printable(first['slice_set'])}"
    lines = heading(title, _remark(summary, first["scale"], tested=tested), width)
    rows = clearest(part).rows(named=True)
    named = Column("slice"), Column("against"), Column("metric"), Column(first["scale"].replace("_", " "))
    columns = [*named, Column("p", align="right"), Column("reading")] if tested else list(named)
    numbers = align([comparison_estimate(row) for row in rows[:_MOST]])
    cells = [_cells(row, number, tested=tested) for row, number in zip(rows[:_MOST], numbers, strict=True)]
    lines += table_or_stack(columns, cells, width)
    words = left_out(len(rows) - _MOST, "comparison", "comparisons")
    if part.height > len(rows):
        words.append(f"{plural(part.height - len(rows), 'comparison')} without a value")
    return lines + remarks(words, width)


def clearest(comparisons: pl.DataFrame) -> pl.DataFrame:
    """Those with a value: the smallest p values first, then the largest differences, or the ratios farthest from 1."""
    p = pl.coalesce("p_adjusted", "p_value")
    away = (pl.col("difference") - pl.when(pl.col("scale") == "ratio").then(1.0).otherwise(0.0)).abs()
    defined = comparisons.filter(pl.col("difference").is_not_null())
    return defined.sort(p, away, descending=[False, True], nulls_last=True, maintain_order=True)


def _cells(row: dict[str, Any], number: Text, *, tested: bool) -> list[Text]:
    cells = [Text(printable(row["slice"])), Text(printable(row["baseline"])), Text(metric_label(row)), number]
    return cells + _reading_cells(row) if tested else cells
