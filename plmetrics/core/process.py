"""Ownership of the process: only the command line changes settings of its host, a library none."""

from __future__ import annotations

import atexit
import gc
import os

_ours = False
_added: set[str] = set()
_YOUNG_OBJECTS = 100_000
"""How many new objects the search for unreachable ones waits for: modules and plans make many that stay."""
ENVIRONMENT = {"OPENBLAS_THREAD_TIMEOUT": "4", "PYDANTIC_DISABLE_PLUGINS": "__all__"}
"""Threads of products go to sleep when they are done: by default they keep a processor busy for some 25 ms more.
Looking for Pydantic's plugins reads what all installed packages say of themselves."""


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


def is_ours() -> bool:
    """Whether settings of the whole process may be changed: those of its allocator, and its environment."""
    return _ours


def original_environment() -> dict[str, str]:
    """Environment at the start of this process, for programs of others."""
    return {name: value for name, value in os.environ.items() if name not in _added}
