"""`plmetrics state`: write the mergeable state of a run."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003 (typer reads the annotations)
from typing import Annotated

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
    form: Outcome = OutcomeFormat.text,
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
        from plmetrics.report.export import json_text

        changes, warnings = overrides(settings), tuple[str, ...]()
        with Progress(sys.stderr, quiet=quiet) as progress:
            if shard is not None or unit is not None or plan is not None:
                from plmetrics.api.shards.plans import unit_states

                files = unit_states(
                    suite,
                    output,
                    set=changes,
                    shard=shard,
                    unit=unit,
                    plan=plan,
                    constants=constants,
                    progress=progress,
                )
                places = list(map(shown_path, files))
                entry: dict[str, object] = {"states": list(map(str, files))}
            else:
                from plmetrics.api import states

                result = states.state(suite, output, set=changes, constants=constants, progress=progress)
                path, warnings = result.path, result.warnings
                assert path is not None
                places, entry = [path if isinstance(path, str) else shown_path(path)], {"state": str(path)}
        if form is OutcomeFormat.json:
            head = {"status": "complete", "exit_code": 0, "folder": None}
            write_result(json_text(head | entry | {"warnings": list(warnings)}))
        else:
            write_result("".join(f"{place}\n" for place in places))
        say_warnings(warnings)
