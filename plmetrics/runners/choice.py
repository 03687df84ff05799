"""Runner over any backend, and its choice by its name, as suites and the command line write it, or by an executor."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Self, TypeAlias

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.names import did_you_mean
from plmetrics.core.threads import processors
from plmetrics.runners.protocol import Backend, Crash, ExecutorSource, Receipt, Runner, RunnerTask
from plmetrics.runners.worker import call, receipt_of

if TYPE_CHECKING:
    from types import TracebackType


class PoolRunner:
    """A runner over a backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._backend.close(cancel=kind is not None)

    def begin(self, task: str, jobs: int) -> None:
        """Let workers begin before their units are known; see `Runner`."""
        self._backend.begin(task, jobs)

    def map(self, task: str, jobs: Sequence[RunnerTask]) -> Iterator[Receipt | Crash]:
        """Run a task on some units; see `Runner`.

        A unit whose worker died is tried again alone, after the others: so none is blamed for what another did to the
        worker that they shared, and one that needs much memory has it.
        """
        waiting, suspects, attempts = deque(jobs), deque[RunnerTask](), Counter[str]()
        flying: dict[Future[str], RunnerTask] = {}
        ended: SimpleQueue[Future[str]] = SimpleQueue()

        def start(job: RunnerTask) -> None:
            future = self._submit(task, job)
            flying[future] = job
            future.add_done_callback(ended.put)  # also when a pool is shut down, which `wait` would not see

        try:
            while waiting or flying or suspects:
                while waiting and len(flying) < self._backend.window:
                    start(waiting.popleft())
                if not flying:
                    start(suspects.popleft())
                future = ended.get()
                job, error = flying.pop(future), future.exception()
                if error is None:
                    yield Receipt(job.name, receipt_of(future.result()))
                    continue
                if not self._backend.is_crash(error):
                    raise error
                attempts[job.name] += 1
                if attempts[job.name] > self._backend.retries:
                    yield Crash(job.name, attempts[job.name], str(error) or type(error).__name__)
                else:
                    suspects.append(job)
        finally:
            for future in flying:
                future.cancel()

    def _submit(self, task: str, job: RunnerTask) -> Future[str]:
        """Submitted call of a unit; the refusal of a broken pool counts as a crash of a worker, too."""
        try:
            return self._backend.submit(task, job.text)
        except Exception as error:
            refusal: Future[str] = Future()
            refusal.set_exception(error)
            return refusal


class InlineBackend:
    """Synchronous calls in this process."""

    window = 1
    retries = 0

    def begin(self, task: str, jobs: int) -> None:
        """Nothing: there is no other process."""

    def submit(self, task: str, text: str) -> Future[str]:
        """Call a task at once."""
        future: Future[str] = Future()
        try:
            future.set_result(json.dumps({"receipt": call(task, text)}))
        except Exception as error:
            future.set_exception(error)
        return future

    def is_crash(self, error: BaseException) -> bool:  # noqa: ARG002 (there is no other process)
        """Never: the worker is this process."""
        return False

    def close(self, *, cancel: bool) -> None:
        """Nothing is running."""


On: TypeAlias = str | Executor | ExecutorSource
"""Choice of a runner: its name, an executor, or a client of Dask."""

KINDS = ("inline", "processes", "dask", "ray")
_WRITE = "write inline, processes:4, dask:tcp://HOST:8786, ray or ray:ADDRESS"


def split_name(text: str) -> tuple[str, str]:
    """Kind of a runner and its options.

    Raises:
        ConfigError: there is no such kind, or what is said of it is wrong.

    >>> split_name("processes:4"), split_name("dask:tcp://10.0.0.1:8786")
    (('processes', '4'), ('dask', 'tcp://10.0.0.1:8786'))
    """
    kind, _, detail = text.partition(":")
    if kind not in KINDS:
        raise ConfigError(
            Problem(f"unknown runner '{text}'", ("engine", "on"), did_you_mean(kind, KINDS) or _WRITE)
        )
    wrong = (kind == "inline" and detail) or (
        kind == "processes" and detail and not (detail.isdecimal() and int(detail) > 0)
    )
    if wrong:
        raise ConfigError(Problem(f"'{text}' is no runner", ("engine", "on"), _WRITE))
    return kind, detail


def process_count(text: str) -> int:
    """Number of concurrent processes of a runner on this machine.

    >>> process_count("processes:4"), process_count("inline")
    (4, 1)
    """
    kind, detail = split_name(text)
    return int(detail or processors()) if kind == "processes" else 1


def runner_of(on: On, address: str | None = None, cpus: int | None = None) -> Runner:
    """Runner from its name or object.

    Args:
        on: its name, such as `processes:4`, an executor, or a client of Dask, which stays open.
        address: that of the cluster, where the name does not have it.
        cpus: processors of a task.

    Raises:
        ConfigError: there is no such runner.
        EnvironmentFault: its extra is not installed, or its cluster does not answer.
    """
    return PoolRunner(_backend(on, address, cpus))


def _backend(on: On, address: str | None, cpus: int | None) -> Backend:
    if isinstance(on, Executor):
        from plmetrics.runners.executors import ExecutorBackend

        return ExecutorBackend(on, threads=cpus)
    if not isinstance(on, str):
        from plmetrics.runners.executors import client_backend

        if not hasattr(on, "get_executor"):
            msg = f"{type(on).__name__} is no runner"
            raise ConfigError(Problem(msg, ("on",), f"{_WRITE}, or give an executor or a client of Dask"))
        return client_backend(on, cpus)
    kind, detail = split_name(on)
    if kind == "processes":
        from plmetrics.runners.processes import ProcessesBackend

        count = process_count(on)
        return ProcessesBackend(count, cpus or max(processors() // count, 1))
    if kind == "ray":
        from plmetrics.runners.ray_tasks import RayBackend

        return RayBackend(detail or address, cpus or 1)
    if kind == "dask":
        from plmetrics.runners.executors import dask_backend

        if not (detail or address):
            raise ConfigError(Problem("dask needs the address of its scheduler", ("engine", "on"), _WRITE))
        return dask_backend(detail or str(address), cpus)
    return InlineBackend()
