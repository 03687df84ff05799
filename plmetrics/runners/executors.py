"""Runner over any executor of `concurrent.futures`, such as that of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from plmetrics.core.errors import EnvironmentFault, Problem, needs_extra
from plmetrics.core.threads import processors
from plmetrics.runners.worker import answer

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from plmetrics.runners.protocol import ExecutorSource

_DEATHS = frozenset({"BrokenExecutor", "KilledWorker", "WorkerDeathError"})
"""Names of the errors that tell of a worker that died: those of libraries are known without these libraries."""

_EXTRA = "dask"
_PER_SLOT = 2
"""Calls in flight for each that can run, so that no worker waits for the next one."""


class ExecutorBackend:
    """Calls on an executor, shut down with `end` alone.

    Args:
        executor: where calls run.
        slots: how many it runs at a time; what it says of itself if not given.
        threads: how many threads Polars may take in a call, where it has not begun yet.
        end: ends what was started for the executor.
    """

    retries = 1
    """Once, alone: executors such as Dask's try again themselves, and blame all that shared a worker."""

    def __init__(
        self,
        executor: Executor,
        slots: int | None = None,
        threads: int | None = None,
        end: Callable[[], object] | None = None,
    ) -> None:
        workers = slots or getattr(executor, "_max_workers", None) or processors()
        self.window = _PER_SLOT * workers
        self._executor = executor
        self._threads = threads
        self._end = end

    def begin(self, task: str, jobs: int) -> None:
        """Nothing: workers are there."""

    def submit(self, task: str, text: str) -> Future[str]:
        """Call a task somewhere."""
        return self._executor.submit(answer, task, text, self._threads)

    def is_crash(self, error: BaseException) -> bool:
        """Whether a worker died, by the name of the error."""
        return any(kind.__name__ in _DEATHS for kind in type(error).__mro__)

    def close(self, *, cancel: bool) -> None:  # noqa: ARG002 (what is in flight was cancelled)
        """Shut down the executor and its resources."""
        if self._end is not None:
            self._end()


def dask_backend(address: str, threads: int | None) -> ExecutorBackend:
    """Calls on the cluster of a Dask scheduler, with its retries for dead workers.

    Raises:
        EnvironmentFault: Dask is not installed, or there is no scheduler at the address.
    """
    with needs_extra(_EXTRA, f"the runner {_EXTRA}"):
        distributed: Any = import_module("distributed")
    try:
        client = distributed.Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        hint = "start one with `dask scheduler`, and workers with `dask worker ADDRESS`"
        raise EnvironmentFault(
            Problem(f"no Dask scheduler answers at {address}", ("engine",), hint)
        ) from error
    return client_backend(client, threads, end=client.close)


def client_backend(
    client: ExecutorSource, threads: int | None, end: Callable[[], object] | None = None
) -> ExecutorBackend:
    """Calls on the cluster of a client of Dask; `end` is called when they are over."""
    slots = max(sum(client.ncores().values()), 1)
    return ExecutorBackend(client.get_executor(pure=False), slots, threads, end)
