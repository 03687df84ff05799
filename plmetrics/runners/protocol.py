"""Protocol of runners: one task on many units of work, with an outcome for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future
    from types import TracebackType


@dataclass(frozen=True, slots=True)
class RunnerTask:
    """A unit of work by its name, and the JSON input of its task."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """Receipt of a unit: small JSON, as the task's output lies in files."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Crash:
    """A unit with a dead worker in every attempt."""

    name: str
    attempts: int
    reason: str


class Backend(Protocol):
    """A place where calls run."""

    @property
    def window(self) -> int:
        """Maximal number of calls in flight."""

    @property
    def retries(self) -> int:
        """Number of retries after a dead worker, beside those of the backend."""

    def begin(self, task: str, jobs: int) -> None:
        """Start workers ahead of a number of calls of a task, where a start takes time."""

    def submit(self, task: str, text: str) -> Future[str]:
        """Call a task, named as `module:function`, with a text; gives an answer as `worker.answer` does."""

    def is_crash(self, error: BaseException) -> bool:
        """Whether an error of a call means a dead worker."""

    def close(self, *, cancel: bool) -> None:
        """Stop the backend's workers; with `cancel` also busy ones."""


class Runner(Protocol):
    """Context of running tasks; its workers end with the block."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def begin(self, task: str, jobs: int) -> None:
        """Start workers ahead of their units: so many units at most."""

    def map(self, task: str, jobs: Sequence[RunnerTask]) -> Iterator[Receipt | Crash]:
        """Run a task on some units, in any order, a bounded number at a time.

        A unit whose worker died is tried again, up to three times. An error that the task raises ends the map: it is
        raised as it is, and what has not begun is cancelled.
        """


class ExecutorSource(Protocol):
    """A client of Dask, or another source of an executor of its cluster."""

    def get_executor(self, **options: Any) -> Executor:
        """Executor of calls on the cluster."""

    def ncores(self) -> dict[str, int]:
        """The processors of each worker."""
