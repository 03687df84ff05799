"""`plmetrics diff`: changes between two runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from plmetrics.cli.options import Debug, HtmlFile, TableFormat, run_folders
from plmetrics.cli.terminal.console import wants_color, width, write_html, write_result
from plmetrics.cli.terminal.guard import guard

if TYPE_CHECKING:
    from plmetrics.runs.history.diff import Diff


def diff(
    before: Annotated[
        Path,
        Argument(
            metavar="BEFORE",
            help="A run folder, or a folder with latest.json.",
            readable=False,
            autocompletion=run_folders,
        ),
    ],
    after: Annotated[
        Path,
        Argument(
            metavar="AFTER", help="The run to compare with it.", readable=False, autocompletion=run_folders
        ),
    ],
    fail_on: Annotated[
        Literal["change"] | None,
        Option("--fail-on", help="Exit with 3 if a value, a status, a gate or the set of rows changed."),
    ] = None,
    form: Annotated[
        TableFormat,
        Option("--format", help="text for people, json for programs, csv for the table of values."),
    ] = "text",
    debug: Debug = False,
    html: HtmlFile = None,
) -> None:
    """Compare two runs, and report the changes.

    A run is its folder, its run.json, or the folder of a suite's runs: then the latest.

    With intervals in both runs, a value has changed if the interval of the difference does not hold 0. Runs over the
    same units that kept their replicates are compared replicate by replicate. Others count as independent samples:
    the half width is the root of the summed squares of the two runs' half widths. Without intervals, a value has
    changed if it differs by more than 1e-9 of its size.
    """
    with guard(debug=debug, json=form == "json"):
        from plmetrics.api import inspection
        from plmetrics.runs.failure import GATE_FAILED, OK

        changes = inspection.diff(before, after)
        exit_code = GATE_FAILED if fail_on == "change" and changes.changed else OK
        if html is not None:
            from plmetrics.report.html.difference import diff_html

            write_html(diff_html(changes), html)
        if html is None or form == "json":
            write_result(_text(changes, form, exit_code))
        raise typer.Exit(exit_code)


def _text(changes: Diff, form: TableFormat, exit_code: int) -> str:
    from plmetrics.report.diff import diff_csv, diff_json, diff_text

    match form:
        case "json":
            return diff_json(changes, exit_code)
        case "csv":
            return diff_csv(changes)
    return diff_text(changes, width(), color=wants_color(sys.stdout))
