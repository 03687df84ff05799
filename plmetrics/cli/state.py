"""`plmetrics state`: write the state of a run, which merges with those of other rows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from plmetrics.cli.options import Debug, Outcome, OutcomeFormat, Settings, SuiteFile, overrides
from plmetrics.cli.terminal.console import say, shown_path, write_result
from plmetrics.cli.terminal.guard import guard
from plmetrics.cli.terminal.progress import Progress


def state(
    suite: SuiteFile,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE|DIR",
            readable=False,
            help="The file, which ends in .state, a folder, or an address; the folder 'states' beside the suite if "
            "not given.",
        ),
    ] = None,
    settings: Settings = None,
    constants: Annotated[
        Path | None,
        typer.Option(
            metavar="STATE",
            readable=False,
            help="Take the constants of an earlier state: edges of quantiles, centres, thresholds, the grid of scores.",
        ),
    ] = None,
    form: Outcome = OutcomeFormat.text,
    debug: Debug = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Write the state of a run, which merges with others.

    A state holds sums and counts. Write one a day, and any days merge into the results of one run over all their
    rows. States add where their constants are equal, so give later ones the constants of an earlier one that many rows
    stand behind. Metrics of scores are counted on a grid and have a bound; what needs the rows is refused by name.
    """
    with guard(debug=debug, json=form == "json"):
        from plmetrics.api import states
        from plmetrics.report.export import json_text
        from plmetrics.report.layout import printable

        with Progress(sys.stderr, quiet=quiet) as progress:
            result = states.state(
                suite, output, set=overrides(settings), constants=constants, progress=progress
            )
        assert result.path is not None
        if form is OutcomeFormat.json:
            head = {"status": "complete", "exit_code": 0, "folder": None, "state": str(result.path)}
            write_result(json_text(head | {"warnings": list(result.warnings)}))
        else:
            place = shown_path(result.path) if isinstance(result.path, Path) else result.path
            write_result(f"{place}\n")
        for warning in result.warnings:
            say(printable(f"warning: {warning}"))
