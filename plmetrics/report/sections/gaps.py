"""Null values and intervals, counted by reason, and the notes of rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl
from rich.text import Text

from plmetrics.core.names import name_list, printable
from plmetrics.report.layout import flow, heading, join_blocks, remarks
from plmetrics.report.numbers import left_out, number, plural

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

_NAMED = 3
_NOTES = 5
_NAMES = "classes left out: "
"""What stands before names, which may be numbers."""
_NUMBER = re.compile(r"(?<![\w=.,'\"-])\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]\d+)?(?![\w'\"])")


def gaps(summary: Summary, width: int) -> list[Text]:
    """Counts of null values and intervals by reason, and the most frequent notes."""
    frame = summary.metrics
    parts = [
        _reasons("No value", without_value(frame), "status", width),
        _reasons("No interval", without_interval(frame), "interval_status", width),
        _notes(frame, width),
        _no_intervals(summary, width),
    ]
    return join_blocks(parts)


def _no_intervals(summary: Summary, width: int) -> list[Text]:
    """Way to intervals, for a run without any: a result without a folder comes from arguments."""
    asked = summary.level is not None or "experiment" in summary.others
    statuses = summary.metrics["interval_status"]
    if asked or statuses.is_empty() or not (statuses == "not_requested").all():
        return []
    key = "uncertainty=True" if summary.place is None else "uncertainty: true in the suite"
    return remarks([f"Intervals are off: {key} adds them"], width, indent=0)


def _reasons(title: str, frame: pl.DataFrame, reason: str, width: int) -> list[Text]:
    if frame.is_empty():
        return []
    rows = []
    for word, values, places, metrics in reason_counts(frame, reason):
        counts = [Text(plural(values, "value")), Text(f"in {plural(places, 'slice')}")]
        rows.append([Text(printable(word)), *counts, Text(printable(name_list(metrics, _NAMED)))])
    longest = max(status.cell_len for status, *_ in rows)
    lines = heading(title, width=width)
    for status, *cells in rows:
        status.append(" " * (longest - status.cell_len))
        lines += flow([status + Text("  ") + cells[0], *cells[1:]], width)
    return lines


def without_value(metrics: pl.DataFrame) -> pl.DataFrame:
    """Rows of undefined values."""
    return metrics.filter(pl.col("value").is_null())


def without_interval(metrics: pl.DataFrame) -> pl.DataFrame:
    """Rows of values whose interval was asked for and does not exist."""
    return metrics.filter(
        pl.col("interval_status").is_in(["ok", "not_requested"]).not_(), pl.col("value").is_not_null()
    )


def reason_counts(frame: pl.DataFrame, reason: str) -> Iterator[tuple[str, int, int, list[str]]]:
    """Each reason with the numbers of its values and of their slices, and the metrics."""
    for (status,), part in frame.group_by(reason, maintain_order=True):
        places = part.select("slice_set", "slice").n_unique()
        yield str(status), part.height, places, part["metric"].unique(maintain_order=True).to_list()


def metric_notes(metrics: pl.DataFrame, most: int) -> list[str]:
    """The most frequent notes of values, and how exact values of binned scores are."""
    texts = note_counts(metrics, most)
    bound = metrics.filter(pl.col("value").is_not_null())["bound"].max()
    if isinstance(bound, float) and bound > 0:
        texts.append(f"scores were binned: values are exact to within {number(bound)} (column `bound`)")
    return texts


def note_counts(frame: pl.DataFrame, most: int) -> list[str]:
    """The most frequent notes, each with the number of its values, and how many more there are.

    Notes that differ in numbers alone are one, with the smallest and the largest of these.
    """
    alike: dict[str, list[tuple[str, int]]] = {}
    for note, times in frame["note"].drop_nulls().value_counts(sort=True).rows():
        form = note if _NAMES in note else _NUMBER.sub("\0", note)
        alike.setdefault(form, []).append((note, times))
    counts = [
        (_joint([note for note, _ in notes]), sum(times for _, times in notes)) for notes in alike.values()
    ]
    counts.sort(key=lambda each: (-each[1], each[0]))
    texts = [f"{note} ({plural(times, 'value')})" for note, times in counts[:most]]
    return texts + left_out(len(counts) - most, "note", "metrics")


def _joint(notes: list[str]) -> str:
    """One note for several that differ in numbers alone."""
    if len(notes) == 1:
        return notes[0]

    def span(numbers: tuple[str, ...]) -> str:
        least, largest = (end(numbers, key=lambda text: float(text.replace(",", ""))) for end in (min, max))
        return least if least == largest else f"{least} to {largest}"

    spans = map(span, zip(*(_NUMBER.findall(note) for note in notes), strict=True))
    return _NUMBER.sub(lambda _: next(spans), notes[0])


def _notes(frame: pl.DataFrame, width: int) -> list[Text]:
    texts = metric_notes(frame, _NOTES)
    return heading("Notes", width=width) + remarks(texts, width) if texts else []
