"""`plmetrics backfill`: evaluate many intervals of a suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from plmetrics.cli.options import (
    Debug,
    FailOnWords,
    Outcome,
    OutputFolder,
    Settings,
    SkipIfEmpty,
    SuiteFile,
    exit_policy,
    overrides,
)
from plmetrics.cli.terminal.console import say, write_result
from plmetrics.cli.terminal.guard import UsageError, guard
from plmetrics.core.errors import Problem
from plmetrics.core.names import printable

if TYPE_CHECKING:
    from plmetrics.api.nights.backfill import IntervalOutcome


def backfill(
    suite: SuiteFile,
    start: Annotated[str, Option("--from", metavar="A", help="Start of the first interval: 2026-11-01.")],
    end: Annotated[str, Option("--to", metavar="B", help="End of the last interval: 2026-12-01.")],
    only_missing: Annotated[
        bool, Option("--only-missing", help="Only intervals without a result, or without their labels.")
    ] = False,
    force: Annotated[
        bool, Option("--force", help="Evaluate again also what is there and would be the same.")
    ] = False,
    jobs: Annotated[int, Option("--jobs", "-j", min=1, help="Processes side by side.")] = 1,
    output: OutputFolder = None,
    settings: Settings = None,
    fail_on: FailOnWords = None,
    skip_if_empty: SkipIfEmpty = False,
    form: Outcome = "text",
    debug: Debug = False,
) -> None:
    """Evaluate many intervals of a suite, one after another.

    They are those from A to before B, each with a run folder of its own.

    An error in one interval leaves the others as they are; the exit code is the gravest of all, and 99 only where
    all were skipped. Intervals that are compared with earlier ones are evaluated one by one, in their order,
    whatever --jobs says.
    """
    with guard(debug=debug, json=form == "json"):
        from plmetrics.api.nights import backfill as nights

        if only_missing and force:
            raise UsageError([Problem("--only-missing and --force exclude each other")])
        outcomes = nights.backfill(
            suite,
            start,
            end,
            output=output,
            set=overrides(settings),
            only_missing=only_missing,
            force=force,
            jobs=jobs,
            exits=exit_policy(fail_on, skip_if_empty=skip_if_empty),
            on_each=None if form == "json" else _show,
        )
        code = nights.exit_code_of(outcomes)
        if form == "json":
            from dataclasses import asdict
            from json import dumps

            content = {"exit_code": code, "intervals": [asdict(outcome) for outcome in outcomes]}
            write_result(f"{dumps(content, indent=2)}\n")
        elif not outcomes:
            say("no interval is missing")
        raise typer.Exit(code)


def _show(outcome: IntervalOutcome) -> None:
    existing = "(accepted)" if outcome.accepted else "(was there)" if outcome.existing else ""
    words = " ".join(filter(None, (outcome.run, existing, outcome.message)))
    write_result(printable(f"{outcome.interval}  {outcome.verdict:12}  {words}") + "\n")
