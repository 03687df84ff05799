"""Choice of a runner by its name, as suites and the command line write it, or by an executor."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import TypeAlias

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.names import did_you_mean
from plmetrics.core.threads import processors
from plmetrics.runners.pool import InlineBackend, PoolRunner
from plmetrics.runners.protocol import Backend, ExecutorSource, Runner

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
