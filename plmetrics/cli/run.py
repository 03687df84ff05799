"""`plmetrics run`: evaluate a suite, write its run folder, print the result."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from typer import Option

from plmetrics.cli.options import (
    Debug,
    FailOnWords,
    Labels,
    OutputFolder,
    Quiet,
    ResultFormat,
    Settings,
    SkipIfEmpty,
    SliceSets,
    SuiteFile,
    check_slice_sets,
    exit_policy,
    label_texts,
    overrides,
)
from plmetrics.cli.terminal.console import say, say_warnings, shown_path, wants_color, width, write_result
from plmetrics.cli.terminal.guard import UsageError, guard
from plmetrics.cli.terminal.progress import Progress
from plmetrics.core.errors import Problem

if TYPE_CHECKING:
    from plmetrics.api.result import Result
    from plmetrics.cli.options import ReportFormat
    from plmetrics.runs.outcome import ExitPolicy, Outcome


def run(
    suite: SuiteFile,
    output: OutputFolder = None,
    settings: Settings = None,
    form: ResultFormat = "text",
    debug: Debug = False,
    quiet: Quiet = False,
    slices: SliceSets = None,
    fail_on: FailOnWords = None,
    skip_if_empty: SkipIfEmpty = False,
    label: Labels = None,
    interval: Annotated[
        str | None, Option("--interval", metavar="A", help="The interval to evaluate, as 2026-11-20 or A/B.")
    ] = None,
    following: Annotated[
        bool, Option("--next", help="Evaluate the first interval without an accepted result.")
    ] = False,
    force: Annotated[
        bool, Option("--force", help="Evaluate an interval again also where nothing changed.")
    ] = False,
    on: Annotated[
        str | None,
        Option(
            "--on",
            metavar="RUNNER",
            help="Count the units of the table there: inline, processes:4, dask:tcp://HOST:8786, ray or ray:ADDRESS.",
        ),
    ] = None,
) -> None:
    """Evaluate a suite, write its run folder and print the result.

    The run folder holds run.json and the tables metrics, comparisons, gates and curves as parquet files.
    """
    with guard(debug=debug, json=form == "json"):
        exits = exit_policy(fail_on, skip_if_empty=skip_if_empty)
        if following and interval is not None:
            raise UsageError(Problem("--next and --interval exclude each other"))
        if following and on is not None:
            hint = "plmetrics backfill --jobs N runs intervals side by side"
            raise UsageError(Problem("--next and --on exclude each other", hint=hint))
    with guard(debug=debug, json=form == "json", exits=exits):
        from plmetrics.api import evaluation
        from plmetrics.api.suite_run import RunOptions, open_suite

        changes, labels = overrides(settings), label_texts(label)
        sets = _requested_sets(suite, changes, slices)
        with Progress(sys.stderr, quiet=quiet) as progress:
            if following:
                from plmetrics.api.nights.backfill import evaluate_next

                options = RunOptions(progress, exits, labels, sys.argv)
                result = evaluate_next(*open_suite(suite, changes, output), options, force=force)
            else:
                result = evaluation.run(
                    suite,
                    output=output,
                    set=changes,
                    progress=progress,
                    exits=exits,
                    interval=interval,
                    force=force,
                    on=on,
                    labels=labels,
                    command=sys.argv,
                )
        show_and_exit(result, form, quiet=quiet, slices=sets, exits=exits)


def _requested_sets(
    suite: Path, changes: Mapping[str, object], slices: Sequence[str] | None
) -> tuple[str, ...]:
    """The slice sets to list, checked before the run takes its time."""
    if not slices:
        return ()
    from plmetrics.suite.yaml.load import load_suite

    return check_slice_sets(slices, tuple(load_suite(suite, changes).suite.slices))


def show_and_exit(
    result: Result,
    form: ReportFormat,
    *,
    quiet: bool,
    slices: Sequence[str] = (),
    exits: ExitPolicy | None = None,
) -> NoReturn:
    """Print a result and its warnings, and end with the exit code of its verdict."""
    from plmetrics.api.suite_run import REPORT
    from plmetrics.runs.outcome import ExitPolicy

    exits = exits or ExitPolicy()
    exit_code = exits.of_result(result.verdict, result.gates)
    write_result(result_text(result, form, exit_code, quiet=quiet, slices=slices))
    warn(result, form)
    if result.folder is not None and (result.folder / REPORT).is_file():
        say(f"report: {shown_path(result.folder / REPORT)}")
    reason = exits.reason(result.gates)
    if reason is not None:
        say(reason)
    raise typer.Exit(exit_code)


def result_text(
    result: Outcome, form: ReportFormat, exit_code: int = 0, *, quiet: bool, slices: Sequence[str] = ()
) -> str:
    """A result as it is printed."""
    match form:
        case "json":
            from plmetrics.report.export import to_json

            return to_json(result, result.folder, exit_code)
        case "csv":
            from plmetrics.core.names import printable
            from plmetrics.report.export import to_csv

            text = to_csv(result)
            return printable(text, keep="\n") if sys.stdout.isatty() else text
    from plmetrics.report.markdown import to_markdown
    from plmetrics.report.summary import summarise
    from plmetrics.report.terminal import render

    place = None if result.folder is None else shown_path(result.folder)
    if form == "markdown":
        return to_markdown(summarise(result, place))
    return render(
        summarise(result, place), width(), color=wants_color(sys.stdout), brief=quiet, slices=slices
    )


def warn(result: Result, form: ReportFormat) -> None:
    """Print warnings; those of gates if the result lacks them."""
    say_warnings(result.record.get("warnings", ()))
    if form in {"text", "markdown"}:
        return
    counted = Counter(result.gates.select("gate", "level", "verdict").rows())
    say_warnings(
        f"gate {gate}: {verdict}" + (f" ({checks} checks)" if checks > 1 else "")
        for (gate, level, verdict), checks in counted.items()
        if verdict == "inconclusive" or (verdict == "fail" and level == "warn")
    )
