"""Runner over any backend, with a bounded number of calls in flight and retries after a crash; and this process."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Self

from plmetrics.runners.protocol import Backend, Crash, Receipt, RunnerTask
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
