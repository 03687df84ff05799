"""`plmetrics state`: write the state of a run, which merges with those of other rows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from plmetrics.cli.options import (
    ConstantsFile,
    Debug,
    Outcome,
    OutcomeFormat,
    PlanFile,
    Settings,
    SuiteFile,
    overrides,
)
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
    constants: ConstantsFile = None,
    shard: Annotated[
        str | None,
        typer.Option(metavar="I/N", help="The states of one of N parts of the table's units, such as 3/8."),
    ] = None,
    unit: Annotated[
        str | None, typer.Option(metavar="ID", help="The state of one unit; the beginning of its id will do.")
    ] = None,
    plan: PlanFile = None,
    form: Outcome = OutcomeFormat.text,
    debug: Debug = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Write the state of a run, which merges with others.

    A state holds sums and counts. Write one a day, and any days merge into the results of one run over all their
    rows. States add where their constants are equal, so give later ones the constants of an earlier one that many rows
    stand behind. Metrics of scores are counted on a grid and have a bound; what needs the rows is refused by name.

    With --shard, --unit or --plan there is a state for each of those units of the table: see plmetrics units.
    """
    if shard is not None or unit is not None or plan is not None:
        _units(suite, output, settings, constants, shard, unit, plan, form, debug=debug, quiet=quiet)
        return
    with guard(debug=debug, json=form == "json"):
        from plmetrics.api import states
        from plmetrics.core.names import printable
        from plmetrics.report.export import json_text

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


def _units(
    suite: Path,
    output: Path | None,
    settings: list[str] | None,
    constants: Path | None,
    shard: str | None,
    unit: str | None,
    plan: Path | None,
    form: OutcomeFormat,
    *,
    debug: bool,
    quiet: bool,
) -> None:
    """Write the states of units and print their files, one a line."""
    with guard(debug=debug, json=form == "json"):
        from plmetrics.api.shards.unit_runs import unit_states
        from plmetrics.report.export import json_text

        with Progress(sys.stderr, quiet=quiet) as progress:
            files = unit_states(
                suite,
                output,
                set=overrides(settings),
                shard=shard,
                unit=unit,
                plan=plan,
                constants=constants,
                progress=progress,
            )
        if form is OutcomeFormat.json:
            head = {"status": "complete", "exit_code": 0, "folder": None, "states": list(map(str, files))}
            write_result(json_text(head | {"warnings": []}))
        else:
            write_result("".join(f"{shown_path(file)}\n" for file in files))
