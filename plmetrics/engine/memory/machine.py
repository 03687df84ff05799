"""Memory of the machine, or what control groups, such as a container's, allow of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_GROUPS = Path("/proc/self/cgroup")
_MOUNT = Path("/sys/fs/cgroup")


def machine_memory() -> int:
    """Bytes of memory that all of this process may take.

    >>> machine_memory() > 0
    True
    """
    if sys.platform == "win32":
        import ctypes

        status = (ctypes.c_uint64 * 8)(64)  # a MEMORYSTATUSEX: its size, the machine's memory, ...
        ctypes.windll.kernel32.GlobalMemoryStatusEx(status)
        return int(status[1])
    return min([os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), *_limits()])


def _limits() -> Iterator[int]:
    """Limits of the process's control groups and of those that these lie in; of both versions of the system."""
    for file in _limit_files():
        # A container sees its own part of the tree alone; `max` is no limit.
        with suppress(OSError, ValueError):
            yield int(file.read_text(encoding="ascii"))


def _limit_files() -> Iterator[Path]:
    groups: list[str] = []
    with suppress(OSError):
        groups = _GROUPS.read_text(encoding="utf-8").splitlines()
    for group in groups:
        _, controllers, path = group.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        tree, name = ("memory", "memory.limit_in_bytes") if controllers else ("", "memory.max")
        folder = _MOUNT / tree / path.lstrip("/")
        yield from (each / name for each in (folder, *folder.parents) if each.is_relative_to(_MOUNT / tree))
