"""Classification of exceptions: an exit code, a title, and problems to print and store.

The only place that maps exceptions to exit codes; the command line and the run folder both read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plmetrics.core.errors import EnvironmentFault, PlmetricsError, Problem, is_refusal, refusal
from plmetrics.core.process import interruption
from plmetrics.core.redaction import mask_address

if TYPE_CHECKING:
    from plmetrics.table.storage.places import Place

OK = 0
BUG = 1
GATE_FAILED = 3
SKIPPED = 99
INTERRUPTED = "Interrupted"
"""The kind of failure of a process that a person or a scheduler ends."""

_LONGEST = 600
_FOLDER, _WARNINGS = "_plmetrics_run_folder", "_plmetrics_run_warnings"
_SHORTAGES = ("can't start new thread", "failed to map segment from shared object")
"""What Python says where the system refuses memory or threads without a MemoryError."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Exception in words. `error` is the name of its kind, `problems` are the things to fix.

    `folder` is the run folder that records it, where there is one; `warnings` are what else was noted.
    """

    exit_code: int
    error: str
    title: str
    problems: tuple[Problem, ...]
    folder: Place | None = None
    warnings: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """The title and the first problem, on one line."""
        if not self.problems:
            return self.title
        more = len(self.problems) - 1
        suffix = f" (and {more} more)" if more else ""
        return f"{self.title}: {self.problems[0].message}{suffix}"


def verdict_exit_code(verdict: str) -> int:
    """Exit code of a completed run: 3 when a gate failed, else 0.

    >>> verdict_exit_code("fail"), verdict_exit_code("inconclusive")
    (3, 0)
    """
    return GATE_FAILED if verdict == "fail" else OK


def failure_of(error: BaseException) -> Failure:
    """Failure of an exception. Any unknown to be the user's or the machine's is a bug of ours.

    >>> failure_of(KeyboardInterrupt()).exit_code
    130
    """
    facts = vars(error)
    return replace(_read(error), folder=facts.get(_FOLDER), warnings=tuple(facts.get(_WARNINGS, ())))


def attach_folder(error: BaseException, folder: Place) -> None:
    """Attach the run folder with its record to an exception."""
    vars(error)[_FOLDER] = folder


def attach_warnings(error: BaseException, warnings: Sequence[str]) -> None:
    """Attach the warnings of the run to an exception."""
    vars(error)[_WARNINGS] = [*vars(error).get(_WARNINGS, ()), *warnings]


def problem_entry(problem: Problem) -> dict[str, Any]:
    """A problem as run.json stores it."""
    where = str(problem.where) if problem.where else None
    return {"message": problem.message, "path": list(problem.path), "where": where, "hint": problem.hint}


def _read(error: BaseException) -> Failure:
    if type(error) is not PlmetricsError and isinstance(error, PlmetricsError):
        return Failure(error.exit_code, type(error).__name__, error.title, tuple(map(_mask, error.problems)))
    if isinstance(error, KeyboardInterrupt):
        return Failure(interruption.exit_code, INTERRUPTED, interruption.title, ())
    if (shortage := _shortage(error)) is not None:
        return _environment([shortage])
    if isinstance(error, OSError) and is_refusal(error):
        return _environment([refusal(error)])
    if isinstance(error, FileNotFoundError) and not _has_directory():
        hint = "change to one that exists, or start again from where it was made anew"
        return _environment([Problem("the current directory of the process has been removed", hint=hint)])
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return Failure(BUG, type(error).__name__, "plmetrics failed unexpectedly", (_mask(Problem(text)),))


def _shortage(error: BaseException) -> Problem | None:
    if isinstance(error, MemoryError):
        hint = "lower `memory` in the suite, so that scores are binned and cubes are split earlier"
        return Problem("the machine ran out of memory", hint=hint)
    if any(words in str(error) for words in _SHORTAGES):
        hint = "allow the process more of both, as by `ulimit -v`, `ulimit -u` or the limits of its container"
        return Problem(f"the machine ran out of memory or threads: {error}", hint=hint)
    return None


def _has_directory() -> bool:
    try:
        return Path.cwd().is_dir()
    except FileNotFoundError:
        return False


def _mask(problem: Problem) -> Problem:
    """A problem without credentials in addresses, its words cut where they are endless."""
    hint = None if problem.hint is None else _abbreviate(mask_address(problem.hint))
    return replace(problem, message=_abbreviate(mask_address(problem.message)), hint=hint)


def _abbreviate(text: str) -> str:
    """Both ends of a long text: a message may begin with an expression and end with the problem."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 2 :]}"


def _environment(problems: Sequence[Problem]) -> Failure:
    fault = EnvironmentFault
    return Failure(fault.exit_code, fault.__name__, fault.title, tuple(problems))
