"""Protocol of runners: one task on many units of work, with an outcome for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Executor, Future
    from types import TracebackType


@dataclass(frozen=True, slots=True)
class RunnerTask:
    """A unit of work by its name, and the JSON that the task is given of it."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """Receipt of a unit: JSON, small, since what the task makes lies in files."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Crash:
    """A unit whose worker died in every attempt."""

    name: str
    attempts: int
    reason: str


class Backend(Protocol):
    """A place where calls run."""

    @property
    def window(self) -> int:
        """How many calls may be in flight at a time."""

    @property
    def retries(self) -> int:
        """How often a call is made again whose worker died, beside what the backend does by itself."""

    def begin(self, task: str, jobs: int) -> None:
        """Let workers begin for so many calls of a task that are to come, where that takes time."""

    def submit(self, task: str, text: str) -> Future[str]:
        """Call a task, named as `module:function`, with a text; gives an answer as `worker.answer` does."""

    def is_crash(self, error: BaseException) -> bool:
        """Whether an error of a call means that its worker died."""

    def close(self, *, cancel: bool) -> None:
        """End what the backend has started; with `cancel` also what is still running."""


class Runner(Protocol):
    """Runs tasks; what it has started ends with the block that it is entered for."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def begin(self, task: str, jobs: int) -> None:
        """Let workers begin while it is still found out what they are to do: so many units at most."""

    def map(self, task: str, jobs: Sequence[RunnerTask]) -> Iterator[Receipt | Crash]:
        """Run a task on some units, in any order, a bounded number at a time.

        A unit whose worker died is tried again, up to three times. An error that the task raises ends the map: it is
        raised as it is, and what has not begun is cancelled.
        """


class ExecutorSource(Protocol):
    """A client of Dask, or what else gives an executor of its cluster."""

    def get_executor(self, **options: Any) -> Executor:
        """An executor whose calls run on the cluster."""

    def ncores(self) -> dict[str, int]:
        """The processors of each worker."""
