"""Differences: of models, from an earlier run, and of slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.report.html.blocks import Cell, PageSection, Table, estimate_cell, rows_cell, words
from plmetrics.report.html.sections.features import shown_table
from plmetrics.report.numbers import comparison_estimate, omission, p_value, plural
from plmetrics.report.sections.differences import (
    MOST_PAIRS,
    adjustment,
    clearest,
    different_parts,
    is_tested,
    on_all_rows,
    pairs,
    reading_counts,
    reading_text,
    rival,
    tested_p,
)
from plmetrics.report.sections.overall import MOST_MODELS, metric_label
from plmetrics.report.sections.tests import (
    adjustments,
    effect_text,
    further_tests,
    pair_text,
    refusals,
    slice_counts,
)

if TYPE_CHECKING:
    from plmetrics.report.html.sections.pictures import Gallery
    from plmetrics.report.summary import Summary

_MOST_SLICES = 20
_MOST_PAIRS, _MOST_METRICS = 100, 20
_PARTS = (
    *("model", "baseline", "metric", "class", "slice_set", "slice", "part"),
    *("value", "bound", "sampling_error", "status"),
)


def changes(summary: Summary) -> PageSection:
    """Changes against an earlier run."""
    return PageSection("Against the reference run", [*_tables(summary, "run"), *_parts(summary, "run")])


def differences(summary: Summary, gallery: Gallery) -> PageSection:
    """Differences of models from the baseline."""
    tables = [*_tables(summary, "model"), *_further_tests(summary), *_parts(summary, "model")]
    return PageSection(
        "Differences of models",
        [*gallery.pictures("differences", "critical_difference"), *tables] if tables else [],
    )


def _parts(summary: Summary, contrast: str) -> list[Table]:
    frame = summary.decomposition.filter(contrast=contrast)
    table = shown_table("Parts of the change", "decomposition", frame, _PARTS, summary.level)
    return [] if table is None else [table]


def _further_tests(summary: Summary) -> list[Table]:
    rows, in_slices = further_tests(summary)
    every = pl.concat([rows, in_slices])
    if every.is_empty():
        return []
    cells = [
        [
            words(metric_label(row)),
            words(pair_text(row)),
            words(row["test"]),
            estimate_cell(effect_text(row), row["difference"]),
            rows_cell(row["n"]),
            _p_cell(row),
        ]
        for row in rows.head(_MOST_PAIRS).iter_rows(named=True)
    ]
    notes = [
        f"p values are {adjustments(summary, every)}",
        *omission(rows.height - _MOST_PAIRS, "test", "comparisons"),
        *slice_counts(summary, in_slices),
        *refusals(every),
    ]
    return [Table("Tests", ["metric", "models", "test", "difference", "n", "p"], cells, notes)]


def _tables(summary: Summary, contrast: str) -> list[Table]:
    parts = pairs(summary, contrast)
    if len(parts) > MOST_PAIRS:
        return _by_metric(summary, on_all_rows(pl.concat(parts)))
    return [table for part in parts if (table := _pair(summary, part)) is not None]


def _by_metric(summary: Summary, frame: pl.DataFrame) -> list[Table]:
    """Of many pairs a table a metric, the largest gain first, with the counts of readings."""
    tables = []
    parts = frame.partition_by("metric", "class", "scale", maintain_order=True)
    for part in parts[:_MOST_METRICS]:
        first = part.row(0, named=True)
        gain = -pl.col("difference") if summary.directions.get(first["metric"]) == "lower" else "difference"
        rows = part.sort(gain, descending=True, nulls_last=True, maintain_order=True).head(_MOST_PAIRS)
        tested = is_tested(part)
        cells = [
            [words(row["model"]), words(row["baseline"]), *_difference(row, tested=tested)]
            for row in rows.iter_rows(named=True)
        ]
        notes = [reading_counts(part), *_p_words(summary, tested=tested)]
        notes += omission(part.height - _MOST_PAIRS, "comparison", "comparisons")
        scale = first["scale"].replace("_", " ")
        columns = ["model", "against", scale, *_columns(tested=tested)]
        caption = f"{scale.capitalize()}s in {metric_label(first)}"
        if part is parts[:_MOST_METRICS][-1]:
            notes += omission(len(parts) - _MOST_METRICS, "metric", "comparisons")
        tables.append(Table(caption, columns, cells, [note for note in notes if note], first=20))
    return tables


def _pair(summary: Summary, part: pl.DataFrame) -> Table | None:
    first = part.row(0, named=True)
    rows = on_all_rows(part).rows(named=True)
    if not rows:
        return None
    caption = f"{first['model']} against {rival(first)}"
    tested = is_tested(part)
    cells = [[words(metric_label(row)), *_difference(row, tested=tested)] for row in rows]
    columns = ["metric", first["scale"].replace("_", " "), *_columns(tested=tested)]
    notes = [*_p_words(summary, tested=tested), *different_parts(rows)]
    return Table(caption, columns, cells, notes, first=40)


def slice_differences(summary: Summary, gallery: Gallery) -> PageSection:
    """Slices with the clearest differences to the rest, by model."""
    frame = summary.comparisons.filter(pl.col("contrast").is_in(["slice", "rest"]))
    tables = []
    many = frame["model"].n_unique() > MOST_MODELS
    named = ["slice", "model", "baseline"] if many else ["slice", "baseline"]
    for part in frame.partition_by(*(() if many else ("model",)), "scale", maintain_order=True):
        first = part.row(0, named=True)
        tested, rows = is_tested(part), clearest(part)
        cells = [
            [
                *(words(row[name]) for name in named),
                words(metric_label(row)),
                *_difference(row, tested=tested),
            ]
            for row in rows.head(_MOST_SLICES).iter_rows(named=True)
        ]
        left = rows.height - _MOST_SLICES
        notes = _p_words(summary, tested=tested)
        if left > 0:
            order = "the smallest p values" if tested else "the largest"
            notes.append(f"{order}; {plural(left, 'comparison')} more in the table comparisons")
        if part.height > rows.height:
            notes.append(f"{plural(part.height - rows.height, 'comparison')} without a value")
        scale = first["scale"].replace("_", " ")
        columns = [*named[:-1], "against", "metric", scale, *_columns(tested=tested)]
        caption = "Slices of all models" if many else f"Slices of {first['model']}"
        if cells:
            tables.append(Table(caption, columns, cells, notes))
    pictures = gallery.pictures("slice_differences") if tables else []
    return PageSection("Slices against others", [*pictures, *tables])


def _columns(*, tested: bool) -> tuple[str, ...]:
    return ("p", "reading") if tested else ()


def _difference(row: dict[str, Any], *, tested: bool) -> list[Cell]:
    """Difference with its interval, and with a test its p value and reading."""
    difference = estimate_cell(comparison_estimate(row), row["difference"])
    if not tested:
        return [difference]
    return [difference, _p_cell(row), words(reading_text(row), row["reading"] or "")]


def _p_cell(row: dict[str, Any]) -> Cell:
    p = tested_p(row)
    return Cell("" if p is None else p_value(p), value=p, number=True)


def _p_words(summary: Summary, *, tested: bool) -> list[str]:
    return [f"p values are {adjustment(summary)}"] if tested else []
