"""Provenance of the numbers: rows read and dropped, null values, definitions, and settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plmetrics.core.names import name_list
from plmetrics.report.catalogue import description
from plmetrics.report.charts.texts import clean
from plmetrics.report.html.blocks import Block, Definitions, PageSection, Table, Words, rows_cell, words
from plmetrics.report.numbers import omission, plural
from plmetrics.report.sections.gaps import metric_notes, reason_counts, without_interval, without_value

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.catalogue.metric import Metric
    from plmetrics.report.summary import Summary

_MOST = 40
_MOST_NOTES, _MOST_NAMES = 10, 5
_ROWS = {
    "read": "rows read",
    "zero_weight": "rows of weight 0",
    "fitted": "rows left out, as calibrators were fitted on them",
}
_QUERIES = {"read": "queries read", "pairs_read": "rows read", "zero_weight": "queries of weight 0"}
"""Of rankings the rows that count are queries."""


def definitions(summary: Summary) -> PageSection:
    """The metrics of the report with their definitions, formulas and better sides."""
    pairs = [(metric.text, _definition(metric)) for metric in summary.definitions[:_MOST]]
    left = Words(omission(len(summary.definitions) - _MOST, "metric", "metrics"), "note")
    return PageSection("How the numbers are defined", [Definitions(pairs), left] if pairs else [])


def _definition(metric: Metric) -> str:
    """The first line of the metric's description, and its better side."""
    better = {"higher": " Higher is better.", "lower": " Lower is better.", "zero": " Best at 0."}
    return f"{description(metric)}{better.get(metric.direction, '')}"


def settings(summary: Summary) -> PageSection:
    """The suite as YAML, versions, files and fingerprints."""
    import yaml

    record = summary.record
    facts: list[tuple[str, str]] = [
        (word, str(record[key]))
        for key, word in (
            ("run_id", "run"),
            ("started", "started"),
            ("seconds", "seconds"),
            ("fingerprint", "fingerprint of the suite"),
        )
        if key in record
    ]
    versions = record.get("versions", {})
    if versions:
        facts.append(("versions", ", ".join(f"{name} {number}" for name, number in versions.items())))
    facts += [
        (f"file {number}", ", ".join(_file_parts(file)))
        for number, file in enumerate(record.get("files", ())[:_MOST], 1)
    ]
    suite = record.get("suite")
    text = yaml.safe_dump(_plain(suite), sort_keys=False, allow_unicode=True) if suite else ""
    blocks = [Definitions(facts)] if facts else []
    return PageSection(
        "How it was computed", [*blocks, *([Words(text.splitlines(), "code")] if text else [])]
    )


def _file_parts(file: Mapping[str, Any]) -> list[str]:
    rows, digest = file.get("rows"), file.get("digest")
    counted = [] if rows is None else [plural(rows, "row")]
    return [str(file["path"]), *counted, *([] if digest is None else [f"digest {digest}"])]


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return clean(value) if isinstance(value, str) else value


def data_quality(summary: Summary) -> PageSection:
    """Account of the rows, undefined values with reasons, and the most frequent notes."""
    blocks: list[Block] = [
        *_rows(summary.record),
        *_reasons("Values that are undefined", without_value(summary.metrics), "status"),
        *_reasons("Values without an interval", without_interval(summary.metrics), "interval_status"),
        *_notes(summary.metrics),
    ]
    return PageSection("Data quality", blocks)


def _rows(record: Mapping[str, Any]) -> list[Block]:
    rows: dict[str, Any] = dict(record.get("rows", {}))
    ranking = bool(rows.get("pairs_read"))
    names = _QUERIES if ranking else _ROWS
    cells = [[words(text), rows_cell(rows[key])] for key, text in names.items() if rows.get(key)]
    for kind in ("used", "dropped", "unlabelled"):
        by_model = rows.get(kind)
        if isinstance(by_model, dict) and any(by_model.values()):
            cells += [[words(f"{kind} for {model}"), rows_cell(size)] for model, size in by_model.items()]
        elif isinstance(by_model, int) and by_model:
            cells.append([words(kind), rows_cell(by_model)])
    thing = "queries" if ranking else "rows"
    return [Table(thing.capitalize(), [thing, "number"], cells)] if cells else []


def _reasons(caption: str, metrics: pl.DataFrame, reason: str) -> list[Block]:
    cells = [
        [words(status), rows_cell(values), rows_cell(slices), words(name_list(names, _MOST_NAMES))]
        for status, values, slices, names in reason_counts(metrics, reason)
    ]
    return [Table(caption, ["reason", "values", "slices", "metrics"], cells)] if cells else []


def _notes(metrics: pl.DataFrame) -> list[Block]:
    lines = metric_notes(metrics, _MOST_NOTES)
    return [Words(lines, "note")] if lines else []
