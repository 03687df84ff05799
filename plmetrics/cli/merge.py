"""`plmetrics merge`: results from states, without the rows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from plmetrics.cli.options import Debug, FailOnWords, Quiet, ResultFormat, SkipIfEmpty, exit_policy
from plmetrics.cli.run import show_and_exit
from plmetrics.cli.terminal.guard import guard
from plmetrics.cli.terminal.progress import Progress


def merge(
    states: Annotated[
        list[Path],
        Argument(
            metavar="STATES...",
            help="State files, or folders of them; addresses, too.",
            readable=False,
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        Option(metavar="DIR", readable=False, help="Write a run folder there; none if not given."),
    ] = None,
    merged: Annotated[
        Path | None,
        Option(
            "--states",
            metavar="FILE",
            readable=False,
            help="Write the merged state, too: months merge once, and then as one state.",
        ),
    ] = None,
    allow_overlap: Annotated[
        bool, Option("--allow-overlap", help="Take states that share a file; its rows then count twice.")
    ] = False,
    interval: Annotated[
        str | None,
        Option(
            "--interval",
            metavar="A/B",
            help="Intervals from A to before B, or of a month; of a folder of runs.",
        ),
    ] = None,
    allow_missing: Annotated[
        bool, Option("--allow-missing", help="Leave out intervals of A/B, or planned units, without a state.")
    ] = False,
    plan: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            readable=False,
            help="The plan of the units that states are of; units.plan beside them if not given.",
        ),
    ] = None,
    least_coverage: Annotated[
        float,
        Option(
            metavar="SHARE",
            min=0.0,
            max=1.0,
            help="With --allow-missing: the share of the rows with which the result does not fail.",
        ),
    ] = 1.0,
    fail_on: FailOnWords = None,
    skip_if_empty: SkipIfEmpty = False,
    form: ResultFormat = "text",
    debug: Debug = False,
    quiet: Quiet = False,
) -> None:
    """Print the results of the union of rows of some states.

    They are those that one run over the rows would give.

    With --interval the one thing to name is the folder of a suite's runs, such as runs/nightly: the states of its
    intervals are added, and what is missing ends the command with exit code 5.

    States of units lie beside their plan: a unit that is missing ends the command with exit code 5, too.

    States must be of one suite and have the same constants; states that share a file or a query are refused.
    """
    with guard(debug=debug, json=form == "json"):
        exits = exit_policy(fail_on, skip_if_empty=skip_if_empty)
    with guard(debug=debug, json=form == "json", exits=exits):
        from plmetrics.api import merging

        with Progress(sys.stderr, quiet=quiet) as progress:
            result = merging.merge(
                *states,
                output=output,
                state=merged,
                allow_overlap=allow_overlap,
                interval=interval,
                allow_missing=allow_missing,
                plan=plan,
                least_coverage=least_coverage,
                progress=progress,
                exits=exits,
            )
        show_and_exit(result, form, quiet=quiet, exits=exits)
