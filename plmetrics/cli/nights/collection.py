"""`plmetrics gc`: remove superseded and expired runs."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from plmetrics.cli.options import Debug, OutputFolder, Settings, SuiteFile, overrides
from plmetrics.cli.terminal.console import shown_path, write_result
from plmetrics.cli.terminal.guard import guard


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
