"""`plmetrics history`: the values of a suite's intervals, one after another."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from typer import Argument, Option

from plmetrics.cli.options import Debug, run_folders
from plmetrics.cli.terminal.console import say, say_warnings, shown_path, wants_color, width, write_result
from plmetrics.cli.terminal.guard import UsageError, guard, usage
from plmetrics.core.errors import Problem

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.features.nights.interval_history import History

HistoryFormat: TypeAlias = Literal["text", "json", "csv", "parquet"]


def history(
    runs: Annotated[
        Path,
        Argument(
            metavar="RUNS",
            help="The folder of a suite's runs, its latest.json, or its parent.",
            readable=False,
            autocompletion=run_folders,
        ),
    ],
    metrics: Annotated[
        list[str] | None, Argument(metavar="[METRIC]...", help="The metrics; all if not given.")
    ] = None,
    model: Annotated[
        list[str] | None,
        Option("--model", metavar="MODEL", help="Only this model. May be given several times."),
    ] = None,
    slices: Annotated[
        list[str] | None,
        Option(
            "--slice",
            metavar="SET[=VALUE]",
            help="A slice, or all slices of a set, in place of all rows. May be given several times.",
        ),
    ] = None,
    last: Annotated[int, Option("--last", metavar="N", min=1, help="Number of intervals.")] = 30,
    everything: Annotated[bool, Option("--all", help="Also results that others have superseded.")] = False,
    form: Annotated[
        HistoryFormat,
        Option("--format", help="text for people; json, csv, and parquet in a file for programs."),
    ] = "text",
    output: Annotated[
        Path | None,
        Option("--output", metavar="FILE", readable=False, help="Write a file and print nothing."),
    ] = None,
    debug: Debug = False,
) -> None:
    """Show values and verdicts of the last intervals.

    There is a sparkline of each value. Intervals without a result, damaged and accepted ones are marked.
    A suite without intervals has its runs by time.
    """
    with guard(debug=debug, json=form == "json"):
        if form == "parquet" and output is None:
            raise UsageError(Problem("--format parquet needs a file", hint="--output history.parquet"))
        from plmetrics.features.nights.change_points.history_levels import read_rows
        from plmetrics.features.nights.history_selection import ALL, home_of

        with usage():
            asked = metrics or None, model, slices or [ALL]
            values, rows = read_rows(home_of(runs), *asked, last=last, superseded=everything)
        if output is not None:
            _write(output, _content(values, rows, form))
        else:
            write_result(_content(values, rows, form).decode())
        say_warnings(values.warnings)


def _content(values: History, rows: pl.DataFrame, form: HistoryFormat) -> bytes:
    from plmetrics.features.nights.history_report import history_csv, history_json, history_text

    match form:
        case "parquet":
            buffer = io.BytesIO()
            rows.write_parquet(buffer)
            return buffer.getvalue()
        case "csv":
            return history_csv(rows).encode()
        case "json":
            return history_json(values, rows).encode()
    return history_text(values, rows, width(), color=wants_color(sys.stdout)).encode()


def _write(path: Path, content: bytes) -> None:
    from plmetrics.runs.files import environment_faults, write_atomic

    with environment_faults(f"{shown_path(path)} cannot be written"):
        write_atomic(path, content)
    say(f"written: {shown_path(path)}")
