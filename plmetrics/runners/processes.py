"""Runner in processes of this machine: a killed one is restarted, and only its unit is run again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue

from plmetrics.core.process import ENVIRONMENT
from plmetrics.runners.worker import THREADS

_SERVE = "from plmetrics.runners.worker import serve; serve()"
_GRACE = 2.0
"""Seconds that a process has to remove what it has half written."""

_PATIENCE = 10.0
"""Seconds that a process without work has to end."""


class WorkerDeathError(RuntimeError):
    """The process of a call ended before it answered."""


class ProcessesBackend:
    """Pool of processes, each restarted after a crash: fresh interpreters, never forks of this one.

    Args:
        count: how many processes.
        threads: how many threads Polars may take in each.
    """

    retries = 3

    def __init__(self, count: int, threads: int) -> None:
        self.window = count
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="plmetrics-runner")
        self._workers = [_Worker(threads) for _ in range(count)]
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)

    def begin(self, task: str, jobs: int) -> None:
        """Start processes; each imports the task by itself."""
        for worker in self._workers[:jobs]:
            worker.begin(task)

    def submit(self, task: str, text: str) -> Future[str]:
        """Call a task in an idle process."""
        return self._pool.submit(self._call, task, text)

    def _call(self, task: str, text: str) -> str:
        worker = self._idle.get()
        try:
            return worker.call(task, text)
        finally:
            self._idle.put(worker)

    def is_crash(self, error: BaseException) -> bool:
        """Whether the process died."""
        return isinstance(error, WorkerDeathError)

    def close(self, *, cancel: bool) -> None:
        """Stop all processes; with `cancel` also busy ones."""
        if cancel:
            for worker in self._workers:
                worker.terminate()
            for worker in self._workers:
                worker.kill()
        self._pool.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.dismiss()
        for worker in self._workers:
            worker.end()


class _Worker:
    """A process for one call at a time; none before the first."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._process: subprocess.Popen[bytes] | None = None
        self._over = False

    def begin(self, task: str) -> None:
        if self._process is None:
            _tell(self._start(), {"task": task})

    def call(self, task: str, text: str) -> str:
        process = self._process or self._start()
        _tell(process, {"task": task, "text": text})
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.endswith(b"\n"):
            self._process = None
            raise WorkerDeathError(_ending(_exit_code(process)))
        return line.decode()

    def _start(self) -> subprocess.Popen[bytes]:
        if self._over:
            msg = "the runner was closed"
            raise WorkerDeathError(msg)
        path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
        environment = ENVIRONMENT | os.environ | {THREADS: str(self._threads), "PYTHONPATH": path}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        return self._process

    def terminate(self) -> None:
        """Ask the process to end; there will be no other."""
        self._over = True
        process = self._process
        if process is not None:
            process.terminate()

    def kill(self) -> None:
        """Await the end of a terminated process, and kill it after a delay."""
        process = self._process
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
            process.kill()

    def dismiss(self) -> None:
        """Close the process's input, as there is no more work."""
        self._over = True
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()

    def end(self) -> None:
        """Await the end of an idle process."""
        process, self._process = self._process, None
        if process is None:
            return
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
        _exit_code(process)


def _tell(process: subprocess.Popen[bytes], content: dict[str, str]) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # then it is dead, as its answer shows
        process.stdin.write(json.dumps(content).encode() + b"\n")
        process.stdin.flush()


def _exit_code(process: subprocess.Popen[bytes]) -> int:
    """Exit code of a process with closed pipes."""
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        with suppress(BrokenPipeError):
            pipe.close()
    return process.wait()


def _ending(code: int) -> str:
    if code >= 0:
        return f"its process ended with exit code {code}"
    names = {int(number): number.name for number in signal.Signals}
    return f"its process was ended by signal {-code} ({names.get(-code, 'unknown')})"
