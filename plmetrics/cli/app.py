"""The entry point of the command line."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperGroup

from plmetrics import __version__
from plmetrics.cli.diff import diff
from plmetrics.cli.explain import explain
from plmetrics.cli.init import init
from plmetrics.cli.merge import merge
from plmetrics.cli.metrics import metrics
from plmetrics.cli.nights.accept import accept
from plmetrics.cli.nights.backfill import backfill
from plmetrics.cli.nights.collection import gc
from plmetrics.cli.nights.history import history
from plmetrics.cli.power import power
from plmetrics.cli.readout import readout
from plmetrics.cli.report import report
from plmetrics.cli.run import run
from plmetrics.cli.schema import schema
from plmetrics.cli.split import split
from plmetrics.cli.state import state
from plmetrics.cli.suggest import suggest
from plmetrics.cli.terminal.bus_error import explain_bus_errors
from plmetrics.cli.terminal.console import open_streams, say, write_result
from plmetrics.cli.terminal.guard import UsageError, failure_json, wants_json
from plmetrics.cli.terminal.signals import end_on_signals
from plmetrics.cli.unit_list import units
from plmetrics.cli.validate import validate
from plmetrics.core.errors import Problem
from plmetrics.core.names import name_list, nearest
from plmetrics.core.process import interruption, take_over
from plmetrics.runs.failure import failure_of

_EXIT_CODES = """\b
Exit codes:
  0   done; gates pass, only warn, or are inconclusive
  1   unexpected error: a bug in plmetrics
  2   the suite or the command line is not valid
  3   a gate failed, results are written; or --fail-on found what it names
  4   the data is not what the suite says
  5   no data yet: no file, or no row, of what is asked; or units are missing
  6   the environment: permissions, storage, a missing extra
  99  no data yet, with --skip-if-empty
  130 interrupted; 143 and 129 ended by SIGTERM and SIGHUP
"""


class _Commands(TyperGroup):
    """The commands; where one is called wrongly, `--format json` has its object as well."""

    def main(self, args: Sequence[str] | None = None, *others: Any, **options: Any) -> Any:
        self._arguments = list(sys.argv[1:] if args is None else args)
        return super().main(args, *others, **options)

    def make_context(self, *others: Any, **options: Any) -> Any:
        with self._failures():
            return super().make_context(*others, **options)

    def invoke(self, ctx: Any) -> Any:
        with self._failures():
            return super().invoke(ctx)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except KeyboardInterrupt:  # Typer ends without a word
            say(interruption.title)
            raise typer.Exit(interruption.exit_code) from None
        except Exception as error:
            message = getattr(error, "format_message", None)  # of click, whichever Typer brings
            if message is not None:
                error.message = _choice_text(error.message)  # type: ignore[attr-defined]
            option = getattr(error, "option_name", "")
            if place := _place_of_option(option.removeprefix("--"), self._arguments[:1]):
                error.message = f"No such option: {option}; {place}"  # type: ignore[attr-defined]
                error.possibilities = None  # type: ignore[attr-defined]
            if message is not None and wants_json(self._arguments):
                problem = Problem(message())
                write_result(failure_json(failure_of(UsageError(problem))))
            raise


def _choice_text(message: str) -> str:
    """Message of a usage error without the words of Typer's parser, with a suggestion for a misspelt choice.

    >>> _choice_text("Value error, 'jsn' is not one of 'text', 'json'.")
    "'jsn' is not one of 'text', 'json'. Did you mean 'json'?"
    """
    message = message.removeprefix("Value error, ")
    name, _, choices = message.partition(" is not one of ")
    match = nearest(name.strip("'"), re.findall("'([^']*)'", choices))
    return f"{message.rstrip('.')}. Did you mean '{match}'?" if match else message


def _place_of_option(option: str, called: Sequence[str]) -> str | None:
    """The commands that have an option which the `called` one lacks, or the suite's key of that name, in words."""
    if not option:
        return None
    from plmetrics.suite.reader import suite_keys

    commands: dict[str, Any] = getattr(typer.main.get_command(app), "commands", {})
    options = {
        name: {text for parameter in command.params for text in parameter.opts}
        for name, command in commands.items()
    }
    key = option.replace("-", "_")
    if "--set" in options.get("".join(called), ()) and key in suite_keys():
        return f"it is a key of the suite: --set {key}=VALUE"
    others = [f"plmetrics {name}" for name, known in options.items() if f"--{option}" in known]
    return f"{name_list(others, 3)} {'has' if len(others) == 1 else 'have'} it" if others else None


app = typer.Typer(
    name="plmetrics",
    cls=_Commands,
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
    power,
    units,
    state,
    merge,
    backfill,
    history,
    accept,
    gc,
):
    app.command()(command)


def _version(requested: bool) -> None:
    if requested:
        write_result(f"plmetrics {__version__}\n")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Trustworthy evaluation of prediction tables: every metric, every model, every segment."""


def _of_call(arguments: Sequence[str]) -> typer.Typer:
    """Application with the called command alone, to save the set-up of other commands' options."""
    called = [
        info for info in app.registered_commands if info.callback and info.callback.__name__ in arguments[:1]
    ]
    if not called:
        return app
    application = copy(app)
    application.registered_commands = called
    return application


def main() -> None:
    """Run the command line and give its exit code."""
    take_over()
    open_streams()
    explain_bus_errors()
    end_on_signals()
    _of_call(sys.argv[1:])(prog_name="plmetrics")
