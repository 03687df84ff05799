"""Runner on a Ray cluster: plain tasks, with Ray's retries after the death of a worker or a node."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from plmetrics.core.errors import EnvironmentFault, Problem, needs_extra
from plmetrics.core.threads import processors
from plmetrics.runners.worker import THREADS, answer

if TYPE_CHECKING:
    from concurrent.futures import Future

_RETRIES = 3
_EXTRA = "ray"
_PER_SLOT = 2
_DEATHS = frozenset({"WorkerCrashedError", "NodeDiedError", "OutOfMemoryError", "LocalRayletDiedError"})


class RayBackend:
    """Calls as tasks of Ray.

    Args:
        address: that of a cluster, `auto` for the one that this machine is in; a cluster of this machine alone is
            started where none is given and the process has none.
        threads: the processors of a task, and the threads that Polars may take in it.
    """

    retries = 0

    def __init__(self, address: str | None, threads: int) -> None:
        with needs_extra(_EXTRA, f"the runner {_EXTRA}"):
            ray: Any = import_module("ray")
        self._ray = ray
        self._started = not ray.is_initialized()
        if self._started:
            self._connect(address)
        cpus = float(ray.cluster_resources().get("CPU", 1))
        self.window = _PER_SLOT * max(int(cpus // threads), 1)
        self._task: Any = ray.remote(answer).options(
            num_cpus=min(threads, cpus),
            max_retries=_RETRIES,
            scheduling_strategy="SPREAD",
            runtime_env={"env_vars": {THREADS: str(threads)}},
        )
        self._references: dict[Future[str], Any] = {}

    def _connect(self, address: str | None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        try:
            if address is None:
                self._ray.init(num_cpus=processors(), include_dashboard=False, **quiet)
            else:
                self._ray.init(address=address, **quiet)
        except (OSError, RuntimeError, ValueError) as error:
            words = str(error).strip().splitlines()[0]
            msg = f"no Ray cluster at {address or 'this machine'}: {words}"
            raise EnvironmentFault(Problem(msg, ("engine",), "start one with `ray start --head`")) from error

    def begin(self, task: str, jobs: int) -> None:
        """Nothing: workers are those of the cluster."""

    def submit(self, task: str, text: str) -> Future[str]:
        """Call a task somewhere."""
        reference = self._task.remote(task, text)
        future: Future[str] = reference.future()
        self._references[future] = reference
        future.add_done_callback(lambda over: self._references.pop(over, None))
        return future

    def is_crash(self, error: BaseException) -> bool:
        """Whether a worker or its node died in every attempt."""
        return any(kind.__name__ in _DEATHS for kind in type(error).__mro__)

    def close(self, *, cancel: bool) -> None:
        """Leave the cluster, if it was joined here."""
        if cancel:
            for reference in list(self._references.values()):
                with suppress(Exception):
                    self._ray.cancel(reference, force=True)
        if self._started:
            self._ray.shutdown()
