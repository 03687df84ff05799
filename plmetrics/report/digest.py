"""The short form of a report, as titled grids of text, for pull requests and notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from plmetrics.report.layout import filled_places
from plmetrics.report.leaderboard import BEST, clear_bests, primary_metric, ranking_board
from plmetrics.report.numbers import (
    Row,
    comparison_estimate,
    count,
    number,
    number_or_missing,
    omission,
    p_value,
    plural,
    row_estimate,
    signed_percent,
)
from plmetrics.report.sections.differences import (
    leading_scale,
    on_all_rows,
    reading_text,
    tested_p,
    usual_tests,
)
from plmetrics.report.sections.gates import CHECK_TITLES, check_texts, gate_checks
from plmetrics.report.sections.overall import metric_label
from plmetrics.report.sections.worst import caution, worst_slices
from plmetrics.report.summary import EXPERIMENT, Summary

MOST_GATES, MOST_METRICS, MOST_MODELS, MOST_CHANGES, MOST_SLICES = 20, 20, 8, 20, 10
RANKED_METRICS = 5
"""Beside more models than have a column each, so many metrics have one."""

_READOUT = (
    *("outcome", "arm", "units", "units of control", "mean", "mean of control"),
    *("difference", "lift", "p", "adjusted", "note"),
)


@dataclass(frozen=True, slots=True)
class Grid:
    """Titled table of texts; `remark` is its subject, or its omissions.

    `strong` are the places of cells to set in bold, by row and column.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    remark: str = ""
    strong: frozenset[tuple[int, int]] = frozenset()


def digest(summary: Summary) -> list[Grid]:
    """Grids of a result with rows, those with a need of a decision first."""
    grids = [
        _gates(summary.gates),
        _readout(summary),
        _changes(summary),
        _models(summary),
        _differences(summary),
        _worst(summary),
    ]
    return [grid for grid in grids if grid.rows]


def _gates(gates: pl.DataFrame) -> Grid:
    """Checks other than passed ones, the worst first."""
    checks = [row for row in gate_checks(gates) if row["outcome"] != "pass"]
    return Grid(
        "Gates",
        *_nonempty_columns(CHECK_TITLES, [check_texts(row) for row in checks[:MOST_GATES]]),
        "".join(omission(len(checks) - MOST_GATES, "check", "gates")),
    )


def _readout(summary: Summary) -> Grid:
    if EXPERIMENT not in summary.others:
        return Grid("Readout", (), ())
    table = summary.others[EXPERIMENT]
    every = table.filter(pl.col("test") != "sample_ratio", slice_set="overall").rows(named=True)
    rows = [
        [
            row["outcome"],
            row["arm"],
            *(count(row[name]) for name in ("units", "units_control")),
            *(number_or_missing(row[name]) for name in ("mean", "mean_control")),
            str(row_estimate(row, "difference", signed=True)),
            "" if row["lift"] is None else signed_percent(row["lift"]),
            *(p_value(row[name]) for name in ("p_value", "p_adjusted")),
            row["note"] or "",
        ]
        for row in every[:MOST_CHANGES]
    ]
    ratio = table.filter(test="sample_ratio").row(0, named=True)
    word = "sample ratio" if ratio["status"] == "ok" else "SAMPLE RATIO MISMATCH"
    left_out = omission(table.height - 1 - len(rows), "row", EXPERIMENT)
    remark = "; ".join([f"{word} (p {p_value(ratio['p_value'])}): {ratio['note']}", *left_out])
    return Grid("Readout", *_nonempty_columns(_READOUT, rows), remark)


def _changes(summary: Summary) -> Grid:
    frame = _overall(summary).filter(pl.col("contrast") == "run")
    runs = frame["baseline"].unique(maintain_order=True).to_list()
    title = f"Changes against run {runs[0]}" if runs else "Changes"
    return _comparisons(title, frame, ["model"])


def _differences(summary: Summary) -> Grid:
    frame = _overall(summary).filter(pl.col("contrast") == "model")
    return _comparisons("Differences", frame, ["model", "baseline"])


def _overall(summary: Summary) -> pl.DataFrame:
    return on_all_rows(leading_scale(usual_tests(summary.comparisons)))


def _comparisons(title: str, frame: pl.DataFrame, names: list[str]) -> Grid:
    rows = [
        [
            *(row[name] or "" for name in names),
            metric_label(row),
            str(comparison_estimate(row)),
            _p_text(row),
            reading_text(row),
        ]
        for row in frame.head(MOST_CHANGES).iter_rows(named=True)
    ]
    shown = ["model", "against"][: len(names)]
    scales = frame["scale"].unique(maintain_order=True).to_list()
    columns = [*shown, "metric", *(scale.replace("_", " ") for scale in scales[:1]), "p", "reading"]
    return Grid(
        title,
        *_nonempty_columns(columns, rows),
        "".join(omission(frame.height - MOST_CHANGES, "row", "comparisons")),
    )


def _p_text(row: Row) -> str:
    p = tested_p(row)
    return "" if p is None else p_value(p)


def _models(summary: Summary) -> Grid:
    """The values on all rows: a column a model, or a row a model where there are many."""
    rows = summary.overall.rows(named=True)
    models = list(dict.fromkeys(row["model"] for row in rows))
    values = {(metric_label(row), row["model"]): str(row_estimate(row)) for row in rows}
    metrics = list(dict.fromkeys(label for label, _ in values))
    if len(models) > MOST_MODELS:
        return _board(summary, values)
    shown = metrics[:MOST_METRICS]
    grid = [[label, *(values.get((label, model), "") for model in models)] for label in shown]
    strong = _strong(summary, [[(label, model) for model in models] for label in shown], first=1)
    remarks = [*([BEST] if strong else []), *omission(len(metrics) - MOST_METRICS, "metric", "metrics")]
    return Grid(summary.subjects, ["metric", *models], grid, "; ".join(remarks), strong)


def _strong(
    summary: Summary, places: Sequence[Sequence[tuple[str, str]]], first: int
) -> frozenset[tuple[int, int]]:
    """The cells of clear bests; `places` are the metric and model of each cell from the column `first` on."""
    bests = clear_bests(summary)
    return frozenset(
        (row, column)
        for row, cells in enumerate(places)
        for column, place in enumerate(cells, first)
        if place in bests
    )


def _board(summary: Summary, values: dict[tuple[str, str], str]) -> Grid:
    """A row a model, the best first."""
    metrics, board = ranking_board(summary)
    shown = metrics[:RANKED_METRICS]
    ranks = board.select("rank", "model").head(MOST_CHANGES).rows()
    rows = [
        ["" if rank is None else str(rank), model, *(values.get((label, model), "") for label in shown)]
        for rank, model in ranks
    ]
    strong = _strong(summary, [[(label, model) for label in shown] for _, model in ranks], first=2)
    remarks = [
        *([BEST] if strong else []),
        *omission(board.height - MOST_CHANGES, summary.subject, "metrics"),
        *omission(len(metrics) - RANKED_METRICS, "metric", "metrics"),
    ]
    title, columns = f"{summary.subjects} by {shown[0]}", ["rank", summary.subject, *shown]
    if all(rank is None for rank, _ in ranks):
        columns, rows = columns[1:], [row[1:] for row in rows]
    return Grid(title, columns, rows, "; ".join(remarks), strong)


def _worst(summary: Summary) -> Grid:
    """Slices with the largest shortfall to their model's overall value."""
    metric = primary_metric(summary)
    if metric is None:
        return Grid("Worst slices", (), ())
    direction = summary.directions[metric]
    slices = worst_slices(summary.metrics, metric, direction, MOST_SLICES, level=summary.level)
    rows = [
        [
            row["slice"],
            row["model"],
            str(row_estimate(row)),
            number(row["whole"]),
            count(row["n"]),
        ]
        for row in slices
    ]
    remark = caution(summary, metric)
    return Grid(
        f"Worst slices by {metric}", ["slice", "model", "value", "overall", summary.row_word], rows, remark
    )


def _nonempty_columns(columns: Sequence[str], rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    places = filled_places(rows)
    return [columns[place] for place in places], [[row[place] for place in places] for row in rows]


def warning_texts(summary: Summary, most: int) -> Iterator[str]:
    """Warnings of a run, and the number of further ones."""
    warnings = [str(text) for text in summary.record.get("warnings", ())]
    yield from warnings[:most]
    if len(warnings) > most:
        yield f"and {plural(len(warnings) - most, 'more warning')} in run.json"
