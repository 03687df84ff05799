"""Errors, with the exit codes of the command line.

PlmetricsError            1  the root; raised as itself only for a bug of ours
├── ConfigError           2  the suite or the call is wrong; nothing was read
├── DataError             4  the data is not what the suite says
│   ├── AbsentDataError   5  there is no data yet for what is asked
│   └── UnitsMissingError 5  units of a planned table are missing, or end their workers
└── EnvironmentFault      6  permissions, storage, a missing extra
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from plmetrics.core.names import SuitePath


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to fix: the problem, its place, and the remedy.

    `path` is the place in the suite, as keys and list positions: `("metrics", 0)`.
    `where` is the place in the file, known once the suite came from one. `is_placed` says that the message names the
    place itself, as that of a value of `--set`, which is in no file.

    >>> print(Problem("unknown metric 'roc_acu'", ("metrics", 0), "did you mean 'roc_auc'?"))
    metrics.0: unknown metric 'roc_acu'
        did you mean 'roc_auc'?
    """

    message: str
    path: SuitePath = ()
    hint: str | None = None
    where: Location | None = None
    is_placed: bool = False

    def __str__(self) -> str:
        place = "" if self.is_placed else str(self.where or ".".join(str(step) for step in self.path))
        text = f"{place}: {self.message}" if place else self.message
        return f"{text}\n    {self.hint}" if self.hint else text


SHOWN_PROBLEMS = 50
"""Number of problems in a message: a suite written by a program may have thousands."""


def further_problems(problems: Sequence[Problem]) -> list[str]:
    """Line with the number of problems beyond those in a message; none where all are in it."""
    further = len(problems) - SHOWN_PROBLEMS
    return [f"... and {further:,} more"] if further > 0 else []


def message_of(problems: Sequence[Problem]) -> str:
    """Message of an error: the texts of its first problems, one below the other, and the number of the others."""
    return "\n".join([*map(str, problems[:SHOWN_PROBLEMS]), *further_problems(problems)])


class PlmetricsError(Exception):
    """Root of all errors raised by plmetrics on purpose.

    `problems` are the things to fix, all at once; the message is the texts of the first 50, one below the other.
    `exit_code` is that of the command line.
    """

    exit_code: ClassVar[int] = 1
    title: ClassVar[str] = "plmetrics failed"

    def __init__(self, problems: str | Problem | Sequence[Problem]) -> None:
        if isinstance(problems, str):
            problems = Problem(problems)
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__(message_of(self.problems))

    def _render_traceback_(self) -> list[str]:
        """Lines for IPython: the remedy, without our own frames; of a bug everything."""
        public = next(kind for kind in type(self).__mro__ if kind.__module__ == "plmetrics")
        if public is PlmetricsError:
            from traceback import format_exception

            return "".join(format_exception(self)).splitlines()
        return f"{public.__name__}: {self}".splitlines()


class ConfigError(PlmetricsError, ValueError):
    """The suite, a keyword argument or the command line is wrong. Nothing was read. It is a ValueError as well.

    >>> import plmetrics as plm
    >>> plm.metric("roc_acu")
    Traceback (most recent call last):
        ...
    plmetrics.ConfigError: unknown metric 'roc_acu' for task 'binary'
        did you mean 'roc_auc'?
    """

    exit_code = 2
    title = "the suite is not valid"


class CallError(ConfigError):
    """A wrong argument beside the suite, such as the text of an interval."""

    title = "the command line is not valid"


class DataError(PlmetricsError):
    """Error of a file or a column at odds with the suite: absent, damaged, of another type, or with bad values.

    >>> import polars as pl, plmetrics as plm
    >>> frame = pl.DataFrame({"y": [0, 2], "p": [0.1, 0.9]})
    >>> plm.evaluate(frame, label="y", models="p")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    plmetrics.DataError: label: column 'y' (label): 1 of 2 values is neither 0 nor 1; ...
    """

    exit_code = 4
    title = "the data is not what the suite says"


class AbsentDataError(DataError):
    """Error of data not there yet: no such file, no match, or no rows. A retry may succeed.

    >>> import polars as pl, plmetrics as plm
    >>> frame = pl.DataFrame({"day": [1, 2], "y": [0, 1], "p": [0.1, 0.9]})
    >>> plm.evaluate(frame, label="y", models="p", where="day = 3")
    Traceback (most recent call last):
        ...
    plmetrics.AbsentDataError: where: no row satisfies where: day = 3
    """

    exit_code = 5
    title = "there is no data for what is asked"

    @classmethod
    def without_rows(cls, where: str | None) -> AbsentDataError:
        """Error of a table without rows, or without any of the condition of the suite."""
        message = "the table has no rows" if where is None else f"no row satisfies where: {where}"
        return cls(Problem(message, ("data", "path" if where is None else "where")))


class UnitsMissingError(DataError):
    """Error of uncounted units of a planned table: with missing states, or with a crash in each worker."""

    exit_code = 5
    title = "units are missing"


class EnvironmentFault(PlmetricsError):  # noqa: N818
    """Refusal by the machine: permissions, storage, or an extra that is not installed."""

    exit_code = 6
    title = "the environment does not allow this"

    @classmethod
    def missing_extra(cls, extra: str, needed_for: str) -> EnvironmentFault:
        """Error with the extra to install, and its use."""
        return cls(
            Problem(f"{needed_for} needs the extra '{extra}'", hint=f"pip install 'plmetrics[{extra}]'")
        )


_REFUSALS = {
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
    *(errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.EBUSY),
    *(errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN, errno.ECONNRESET, errno.EHOSTDOWN, errno.EHOSTUNREACH),
}


def is_refusal(error: OSError) -> bool:
    """Whether the system refuses, so that nothing is known of the content; else there is none."""
    return error.errno in _REFUSALS


def os_message(error: OSError) -> str:
    """The system's words and the file they are about, without the error number."""
    reason = (error.strerror or str(error) or type(error).__name__).lower()
    return f"{error.filename}: {reason}" if error.filename else reason


def refusal(error: OSError, doing: str = "") -> Problem:
    """Problem of an error of the system: its words, and what to do; `doing` says what was to be written."""
    hint = None
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            hint = "free some space, or choose another place to write to"
        case errno.EACCES | errno.EPERM | errno.EROFS:
            hint = "choose a place that you may write to" if doing else "let this user read and write it"
        case errno.EIO | errno.ESTALE | errno.ETIMEDOUT | errno.ENOTCONN | errno.EHOSTDOWN:
            hint = "run again when the disk answers"
    return Problem(f"{doing}: {os_message(error)}" if doing else os_message(error), hint=hint)


@contextmanager
def read_faults() -> Iterator[None]:
    """Context of reading: what is absent stays an OSError, and a refusal is what it is of a bucket.

    Raises:
        EnvironmentFault: the system does not read what is there, so that nothing is known of it.
    """
    try:
        yield
    except OSError as error:
        if not is_refusal(error):
            raise
        raise EnvironmentFault(refusal(error)) from error


@contextmanager
def needs_extra(extra: str, needed_for: str) -> Iterator[None]:
    """Context of importing the packages of an extra, with an error that names the extra.

    Raises:
        EnvironmentFault: it is not installed; which extra to install, and why.
    """
    try:
        yield
    except ImportError as error:
        raise EnvironmentFault.missing_extra(extra, needed_for) from error


@contextmanager
def errors_at(*path: str | int) -> Iterator[None]:
    """Give the problems of errors a place in the suite."""
    try:
        yield
    except PlmetricsError as error:
        raise type(error)([replace(problem, path=path) for problem in error.problems]) from error


@contextmanager
def call_errors(argument: str) -> Iterator[None]:
    """Let errors of an argument be those of the call, and not of the suite.

    Raises:
        CallError: in place of any ConfigError.
        EnvironmentFault: one from within.
    """
    try:
        yield
    except ConfigError as error:
        raise CallError([replace(problem, path=(argument,)) for problem in error.problems]) from error
    except EnvironmentFault as error:
        raise EnvironmentFault([replace(problem, path=(argument,)) for problem in error.problems]) from error


class PlmetricsWarning(UserWarning):
    """A note on a probable mistake that is no error; also in `warnings` of the result."""


class Collected:
    """Errors of independent steps, raised as one.

    >>> collected = Collected()
    >>> with collected.step():
    ...     raise DataError("column 'y' is absent")
    >>> with collected.step():
    ...     raise DataError("column 'p' is absent")
    >>> collected.settle()
    Traceback (most recent call last):
        ...
    plmetrics.DataError: column 'y' is absent
    column 'p' is absent
    """

    def __init__(self) -> None:
        self._errors: list[ConfigError | DataError] = []

    @contextmanager
    def step(self) -> Iterator[None]:
        """Collect the problems of a step; its result is then missing."""
        try:
            yield
        except (ConfigError, DataError) as error:
            self._errors.append(error)

    def settle(self) -> None:
        """Raise the collected problems.

        Raises:
            DataError: the data are to blame for some of it.
            ConfigError: the suite is to blame for some of it, and data is at most absent.
            AbsentDataError: all of it is that data is absent.
        """
        problems = dict.fromkeys(problem for error in self._errors for problem in error.problems)
        if problems:
            raise self._kind()(list(problems))

    def _kind(self) -> type[DataError | ConfigError]:
        lasting = [error for error in self._errors if not isinstance(error, AbsentDataError)]
        if not lasting:
            return AbsentDataError
        return DataError if any(isinstance(error, DataError) for error in lasting) else ConfigError


for _public in (PlmetricsError, ConfigError, DataError, AbsentDataError, EnvironmentFault, PlmetricsWarning):
    _public.__module__ = "plmetrics"  # What tracebacks call them is what callers import.
