"""The runner in this process: one unit after another."""

from __future__ import annotations

import json
from concurrent.futures import Future

from plmetrics.runners.worker import call


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
