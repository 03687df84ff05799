"""Every way a command can fail, as one readable block on stderr and an exit code."""

from __future__ import annotations

import itertools
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import typer

from plmetrics.cli.terminal.console import say, wants_color, write_result
from plmetrics.cli.terminal.native_words import native_words
from plmetrics.core.errors import (
    SHOWN_PROBLEMS,
    CallError,
    ConfigError,
    PlmetricsWarning,
    Problem,
    further_problems,
)
from plmetrics.core.names import did_you_mean, printable
from plmetrics.runs.failure import BUG, INTERRUPTED, Failure, failure_of

if TYPE_CHECKING:
    from pathlib import Path

    from plmetrics.runs.outcome import ExitPolicy

_BUG_HINT = "This is a bug in plmetrics. Run again with --debug to see where, and report it with the suite."


class UsageError(CallError):
    """A mistake on the command line beyond the parser's checks."""

    @classmethod
    def unknown(cls, name: str, names: Iterable[str], kind: str) -> UsageError:
        """Problem of an unknown name on the command line, with the nearest known one."""
        return cls(Problem(f"unknown {kind} '{name}'", hint=did_you_mean(name, names)))


def refuse_existing(path: Path, *, force: bool) -> None:
    """Refuse to replace a file without `--force`.

    Raises:
        UsageError: it is there.
    """
    if path.exists() and not force:
        message = f"{path} is there already"
        raise UsageError(Problem(message, hint="choose another name, or replace it with --force"))


@contextmanager
def usage() -> Iterator[None]:
    """Problem located on the command line, for calls without a suite."""
    try:
        yield
    except ConfigError as error:
        raise UsageError(error.problems) from error


@contextmanager
def guard(*, debug: bool = False, json: bool = False, exits: ExitPolicy | None = None) -> Iterator[None]:
    """Turn any exception into an exit code and a message; `debug` adds the traceback.

    With `json` a JSON object on stdout says so, too; `exits` may choose another exit code.

    Panics of the engine and interrupts do not derive from Exception, so everything is caught.
    """
    with native_words() as words:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PlmetricsWarning)  # commands print them
                yield
        except (SystemExit, GeneratorExit, typer.Exit, typer.Abort):
            raise
        except BaseException as error:
            failure = failure_of(error)
            if exits is not None:
                failure = exits.of_failure(failure)
            words.pass_on(panics=debug or failure.exit_code == BUG)
            if debug:
                say("".join(traceback.format_exception(error)).rstrip())
            say(block(failure, color=wants_color(sys.stderr)))
            for warning in failure.warnings:
                say(f"warning: {warning}")
            if json:
                with suppress(OSError):  # A full disk behind stdout: stderr has said so
                    write_result(failure_json(failure))
            raise typer.Exit(failure.exit_code) from None


@contextmanager
def caught_warnings() -> Iterator[list[str]]:
    """Context of a list, filled with our warnings: for entry points with a table as their only result."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PlmetricsWarning)
        yield texts
    for record in caught:
        if issubclass(record.category, PlmetricsWarning):
            texts.append(str(record.message))
        else:
            warnings.warn_explicit(record.message, record.category, record.filename, record.lineno)


def block(failure: Failure, *, color: bool = False) -> str:
    """Failure as text: its title, then problems with their places, 50 at most; a hint follows its last problem."""
    if failure.error == INTERRUPTED:
        return failure.title
    word = "\x1b[1;31merror:\x1b[0m" if color else "error:"
    count = f" ({len(failure.problems)} problems)" if len(failure.problems) > 1 else ""
    lines = [f"{word} {failure.title}{count}"]
    problems = failure.problems[:SHOWN_PROBLEMS]
    for problem, following in itertools.zip_longest(problems, problems[1:]):
        shared = following is not None and following.hint == problem.hint
        lines.append(_problem(replace(problem, hint=None) if shared else problem))
    lines += [f"  {line}" for line in further_problems(failure.problems)]
    if failure.exit_code == BUG:
        lines.append(f"  {_BUG_HINT}")
    return "\n".join(lines)


def _problem(problem: Problem) -> str:
    return "\n".join(f"  {line}" for line in printable(str(problem), keep="\n").split("\n"))


def failure_json(failure: Failure) -> str:
    """The failure as a JSON object: its exit code, its problems with place and hint, and the run folder if any."""
    from plmetrics.report.export import json_text

    return json_text(
        {
            "status": "failed",
            "exit_code": failure.exit_code,
            "error": failure.error,
            "message": failure.message,
            "problems": [_entry(problem) for problem in failure.problems],
            "warnings": list(failure.warnings),
            "folder": None if failure.folder is None else str(failure.folder),
        }
    )


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether a command line asks for JSON; it need not be valid otherwise.

    >>> wants_json(["run", "--unknown", "--format", "json"]), wants_json(["run", "--format=json"]), wants_json(["json"])
    (True, True, False)
    """
    pairs = itertools.pairwise(arguments)
    return "--format=json" in arguments or any(pair == ("--format", "json") for pair in pairs)


def _entry(problem: Problem) -> dict[str, Any]:
    return {
        "message": problem.message,
        "where": None if problem.where is None else asdict(problem.where),
        "path": list(problem.path),
        "hint": problem.hint,
    }
