"""`plmetrics state`: write the mergeable state of a run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

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
from plmetrics.cli.terminal.console import say_warnings, shown_path, write_result
from plmetrics.cli.terminal.guard import guard
from plmetrics.cli.terminal.progress import Progress

if TYPE_CHECKING:
    from plmetrics.table.storage.places import Place


def state(
    suite: SuiteFile,
    output: Annotated[
        Path | None,
        Option(
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
        Option(metavar="I/N", help="The states of one of N parts of the table's units, such as 3/8."),
    ] = None,
    unit: Annotated[
        str | None, Option(metavar="ID", help="The state of one unit; the beginning of its id will do.")
    ] = None,
    plan: PlanFile = None,
    form: Outcome = "text",
    debug: Debug = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Write the state of a run, for merging with others.

    A state holds sums and counts. Write one a day, and any days merge into the results of one run over all their
    rows. States add where their constants are equal, so give later ones the constants of an earlier one that many rows
    stand behind. Metrics of scores are counted on a grid and have a bound; what needs the rows is refused by name.

    With --shard, --unit or --plan there is a state for each of those units of the table: see plmetrics units.
    """
    with guard(debug=debug, json=form == "json"):
        of_units = shard is not None or unit is not None or plan is not None
        with Progress(sys.stderr, quiet=quiet) as progress:
            if of_units:
                from plmetrics.api.shards.plans import unit_states

                files: Sequence[str | Place] = unit_states(
                    suite,
                    output,
                    set=overrides(settings),
                    shard=shard,
                    unit=unit,
                    plan=plan,
                    constants=constants,
                    progress=progress,
                )
                warnings: tuple[str, ...] = ()
            else:
                from plmetrics.api import states

                changes = overrides(settings)
                result = states.state(suite, output, set=changes, constants=constants, progress=progress)
                assert result.path is not None
                files, warnings = [result.path], result.warnings
        _write_paths(files, form, warnings, several=of_units)
        say_warnings(warnings)


def _write_paths(
    files: Sequence[str | Place], form: OutcomeFormat, warnings: Sequence[str], *, several: bool
) -> None:
    """Write the paths of states, a line each, or as the outcome of the command in JSON."""
    if form != "json":
        write_result("".join(f"{file if isinstance(file, str) else shown_path(file)}\n" for file in files))
        return
    from plmetrics.report.export import json_text

    head = {"status": "complete", "exit_code": 0, "folder": None}
    names = [str(file) for file in files]
    entry: dict[str, object] = {"states": names} if several else {"state": names[0]}
    write_result(json_text(head | entry | {"warnings": list(warnings)}))
