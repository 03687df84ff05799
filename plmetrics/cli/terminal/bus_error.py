"""Message on SIGBUS, the signal for a memory-mapped file truncated during a run.

Polars maps csv, NDJSON and Arrow files, and reads beyond the end of one that is cut meanwhile. That is no exception.
Handlers of the module `signal` do not help: they wait until the instruction is over, which fails again and again.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Lock

from plmetrics.core.errors import DataError

_MAPS = Path("/proc/self/maps")
_FIRST = Lock()


def explain_bus_errors() -> None:
    """On SIGBUS from a truncated memory-mapped file, end with a message and the exit code of bad data (Linux)."""
    if sys.platform == "linux" and _MAPS.exists():
        ctypes.CDLL(None).signal(signal.SIGBUS, _HANDLER)


def _handle(number: int) -> None:
    _FIRST.acquire()  # several threads may read beyond the end at once: the first one ends the process
    files = ", ".join(_cut_files())
    if not files:  # something else is wrong: the instruction fails again, now as if there were no handler
        ctypes.CDLL(None).signal(number, None)
        _FIRST.release()
        return
    text = f"error: {DataError.title}\n  {files} changed while it was read: it was cut off\n"
    os.write(
        _console(), f"{text}      run again when no program writes to the files\n".encode(errors="replace")
    )
    os._exit(DataError.exit_code)


_HANDLER = ctypes.CFUNCTYPE(None, ctypes.c_int)(_handle)


def _console() -> int:
    """File descriptor of Python's error messages: standard error itself may lead to a file for a while."""
    try:
        return sys.stderr.fileno()
    except (OSError, ValueError, AttributeError):
        return 2


def _cut_files() -> Iterator[str]:
    """Files shorter than their memory mapping; libraries end in such room anyway."""
    lengths: dict[str, int] = {}
    libraries = set()
    for line in _MAPS.read_text(errors="surrogateescape").splitlines():
        span, access, offset, _, inode, *path = line.split(maxsplit=5)
        if path and inode != "0":
            start, end = (int(address, 16) for address in span.split("-"))
            lengths[path[0]] = max(lengths.get(path[0], 0), int(offset, 16) + end - start)
            if "x" in access:
                libraries.add(path[0])
    for name, length in lengths.items():
        if name in libraries:
            continue
        try:
            size = Path(name).stat().st_size
        except OSError:  # its name is gone, its content is not
            continue
        if size <= length - mmap.PAGESIZE:
            yield name
