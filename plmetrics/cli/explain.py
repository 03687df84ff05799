"""`plmetrics explain`: the plan of a run, without the run."""

from __future__ import annotations

import sys
from typing import Annotated

from typer import Option

from plmetrics.cli.options import Debug, OutcomeFormat, Settings, SuiteFile, overrides
from plmetrics.cli.terminal.console import wants_color, width, write_result
from plmetrics.cli.terminal.guard import guard
from plmetrics.cli.terminal.progress import Progress


def explain(
    suite: SuiteFile,
    settings: Settings = None,
    no_data: Annotated[
        bool, Option("--no-data", help="Do not look at the data: no numbers of slices, units and rows.")
    ] = False,
    form: Annotated[OutcomeFormat, Option("--format", help="text or json.")] = "text",
    debug: Debug = False,
) -> None:
    """Show what a run would read, group and hold.

    The first stage of a run is done, as it finds the slices and units; nothing is evaluated or written.
    """
    with guard(debug=debug, json=form == "json"):
        from plmetrics.api.inspection import bound_suite
        from plmetrics.features.explain import explanation
        from plmetrics.features.explain.explain_report import explain_json, explain_text

        with (
            Progress(sys.stderr) as progress,
            bound_suite(suite, overrides(settings), progress, data=not no_data) as request,
        ):
            plan = explanation.explain(request, data=not no_data)
        if form == "json":
            write_result(explain_json(plan))
        else:
            write_result(explain_text(plan, width(), color=wants_color(sys.stdout)))
