"""Ownership of the process: only the command line changes settings of its host, a library none."""

from __future__ import annotations

import atexit
import gc
import os
import re
import signal
from dataclasses import dataclass
from pathlib import Path

_ours = False
_added: set[str] = set()
_evaluating = 0
"""The process that evaluates, by number; 0 before the first evaluation, -1 where none is possible."""
_YOUNG_OBJECTS = 100_000
"""How many new objects the search for unreachable ones waits for: modules and plans make many that stay."""
ENVIRONMENT = {"OPENBLAS_THREAD_TIMEOUT": "4", "PYDANTIC_DISABLE_PLUGINS": "__all__"}
"""Threads of products go to sleep when they are done: by default they keep a processor busy for some 25 ms more.
Looking for Pydantic's plugins reads what all installed packages say of themselves."""


@dataclass(slots=True)
class Interruption:
    """What interrupts this process, as a signal: a person does by SIGINT, a scheduler by SIGTERM.

    >>> Interruption().exit_code, Interruption(15).exit_code, Interruption(15).title
    (130, 143, 'ended by SIGTERM')
    """

    signal: int = signal.SIGINT

    @property
    def exit_code(self) -> int:
        """Exit code of a process that the signal ends, as shells tell it."""
        return 128 + self.signal

    @property
    def title(self) -> str:
        """What to say of it."""
        return (
            "interrupted" if self.signal == signal.SIGINT else f"ended by {signal.Signals(self.signal).name}"
        )


interruption = Interruption()


def take_over() -> None:
    """Mark this process as the command line's, before it starts anything.

    At its end the system takes its memory back at once: nothing is looked for in it before.
    """
    global _ours  # noqa: PLW0603
    _ours = True
    _added.update(ENVIRONMENT.keys() - os.environ.keys())
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    gc.set_threshold(_YOUNG_OBJECTS, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)


def refuse_fork() -> None:
    """Refuse to evaluate in a process that was forked from one that has evaluated, or used Polars otherwise.

    Raises:
        EnvironmentFault: it was: the query engine's threads do not live in it, and it would wait for them for ever.
    """
    global _evaluating  # noqa: PLW0603
    if not _evaluating:
        _evaluating = -1 if _lacks_threads_of_parent() else os.getpid()
    if _evaluating != os.getpid():
        from plmetrics.core.errors import EnvironmentFault, Problem

        msg = (
            "this process was forked from one that has evaluated, or used Polars: it would wait for threads that are "
            "not in it"
        )
        hint = 'start it by spawn or forkserver: multiprocessing.get_context("spawn")'
        raise EnvironmentFault(Problem(msg, hint=hint))


def _lacks_threads_of_parent() -> bool:
    """Whether the query engine has threads in the parent process, and cannot start them in this one; Linux tells."""
    import polars as pl

    try:
        before = _thread_names(os.getpid())
        pl.thread_pool_size()  # starts them, unless they were when the process was forked
        threads, of_parent = _thread_names(os.getpid()), _thread_names(os.getppid())
    except OSError:
        return False
    engine = re.compile(rf"{re.escape(os.environ.get('POLARS_THREAD_NAME', 'polars'))}-\d+")
    present = threads.keys() - before.keys() or any(map(engine.match, threads.values()))
    return not present and any(map(engine.match, of_parent.values()))


def _thread_names(process: int) -> dict[int, str]:
    """Names of the threads of a process by number, in the first 15 characters."""
    folders = Path(f"/proc/{process}/task").iterdir()
    return {int(folder.name): (folder / "comm").read_text().strip() for folder in folders}


def is_ours() -> bool:
    """Whether settings of the whole process may be changed: those of its allocator, and its environment."""
    return _ours


def original_environment() -> dict[str, str]:
    """Environment at the start of this process, for programs of others."""
    return {name: value for name, value in os.environ.items() if name not in _added}
