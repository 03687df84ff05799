"""`plmetrics report`: the report of a written run."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

from plmetrics.cli.options import Debug, HtmlFile, ResultFormat, RunPath, SliceSets, check_slice_sets
from plmetrics.cli.run import result_text
from plmetrics.cli.terminal.console import say_warnings, write_html, write_result
from plmetrics.cli.terminal.guard import UsageError, guard
from plmetrics.core.errors import Problem


def report(
    run: RunPath,
    form: ResultFormat = "text",
    debug: Debug = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Only the verdict and the gates.")] = False,
    html: HtmlFile = None,
    show: Annotated[bool, Option("--open", help="Open the file of --html in a browser.")] = False,
    slices: SliceSets = None,
) -> None:
    """Print the report of a run again.

    With --html it is written as a page with charts.

    A run is its folder, its run.json, or the folder of a suite's runs: then the last complete one. The verdict of the
    gates is shown, not enforced: the exit code is 0 also where a gate failed.
    """
    with guard(debug=debug, json=form == "json"):
        if show and html is None:
            raise UsageError(Problem("--open opens the file of --html", hint="--html report.html --open"))
        if html is not None:
            from plmetrics.report.charts.rendering import start_renderer

            start_renderer()
        from plmetrics.api import inspection

        result = inspection.load_result(run)
        if html is not None:
            from plmetrics.report.html.page import html_text
            from plmetrics.report.summary import summarise

            write_html(html_text(summarise(result)), html)
            if show:
                typer.launch(html.resolve().as_uri())
        if html is None or form == "json":
            sets = check_slice_sets(slices, result.metrics["slice_set"].unique(maintain_order=True).to_list())
            write_result(result_text(result, form, quiet=quiet, slices=sets))
        say_warnings([*result.notes, *result.record.get("warnings", ())])
