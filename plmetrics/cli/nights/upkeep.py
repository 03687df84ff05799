"""`plmetrics accept` and `plmetrics gc`: what of the results of intervals counts, and what goes."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from plmetrics.cli.options import Debug, OutputFolder, RunPath, Settings, SuiteFile, overrides
from plmetrics.cli.terminal.console import shown_path, write_result
from plmetrics.cli.terminal.guard import guard, usage


def accept(
    run: RunPath,
    because: Annotated[str, Option("--because", metavar="TEXT", help="Why it is to count.")],
    by: Annotated[
        str | None,
        Option("--by", metavar="NAME", help="Name of the person who accepts it; the user if not given."),
    ] = None,
    debug: Debug = False,
) -> None:
    """Accept the result of an interval although gates failed.

    It may then be a reference of later intervals. Who says so, and why, is recorded, and shown in the history.
    """
    with guard(debug=debug):
        from plmetrics.api.nights.acceptance import accept as accept_run
        from plmetrics.core.names import printable

        with usage():
            manifest = accept_run(run, because, by)
        assert manifest.accepted is not None
        words = (
            f"{manifest.interval}: {manifest.run} ({manifest.verdict}) is accepted by {manifest.accepted.by}"
        )
        write_result(f"{printable(words)}\n")


def gc(
    suite: SuiteFile,
    dry_run: Annotated[bool, Option("--dry-run", help="Say what would go, and remove nothing.")] = False,
    output: OutputFolder = None,
    settings: Settings = None,
    debug: Debug = False,
) -> None:
    """Remove superseded runs, and what is older than `keep` says.

    The values and verdicts of an interval always stay. How old an interval is counts from the last one with a result.
    """
    with guard(debug=debug):
        from plmetrics.api.nights.collection import collect_garbage
        from plmetrics.report.numbers import plural

        removals = collect_garbage(suite, output=output, set=overrides(settings), dry_run=dry_run)
        for removal in removals:
            write_result(
                f"{shown_path(removal.path)}: {plural(len(removal.files), 'file')}, {removal.reason}\n"
            )
        total = sum(removal.bytes for removal in removals)
        write_result(f"{total / 1e6:.1f} MB {'would go' if dry_run else 'are gone'}\n")
