"""The entry point of the command line."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from plmetrics import __version__
from plmetrics.cli.diff import diff
from plmetrics.cli.explain import explain
from plmetrics.cli.init import init
from plmetrics.cli.merge import merge
from plmetrics.cli.metrics import metrics
from plmetrics.cli.readout import readout
from plmetrics.cli.report import report
from plmetrics.cli.run import run
from plmetrics.cli.schema import schema
from plmetrics.cli.split import split
from plmetrics.cli.state import state
from plmetrics.cli.suggest import suggest
from plmetrics.cli.terminal.bus_error import explain_bus_errors
from plmetrics.cli.terminal.console import open_streams, say, write_result
from plmetrics.cli.validate import validate
from plmetrics.core.process import take_over
from plmetrics.runs.failure import INTERRUPTED

_EXIT_CODES = """\b
Exit codes:
  0   done; gates pass, only warn, or are inconclusive
  1   unexpected error: a bug in plmetrics
  2   the suite or the command line is not valid
  3   a gate failed, results are written; or diff --fail-on found a change
  4   the data is not what the suite says
  6   the environment: permissions, storage, a missing extra
  130 interrupted
"""

app = typer.Typer(
    name="plmetrics",
    help="Trustworthy evaluation of prediction tables: every metric, every model, every segment.",
    epilog=_EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    run,
    validate,
    explain,
    metrics,
    diff,
    report,
    schema,
    init,
    suggest,
    split,
    readout,
    state,
    merge,
):
    app.command()(command)


def _version(requested: bool) -> None:
    if requested:
        write_result(f"plmetrics {__version__}\n")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Trustworthy evaluation of prediction tables: every metric, every model, every segment."""


def main() -> None:
    """Run the command line; the exit code says how it went."""
    take_over()
    open_streams()
    explain_bus_errors()
    try:
        app(prog_name="plmetrics")
    except KeyboardInterrupt:
        say("interrupted")
        sys.exit(INTERRUPTED)
