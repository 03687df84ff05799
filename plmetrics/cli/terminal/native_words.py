"""Output of native libraries to the standard error while a command runs.

The engine reports a panic there at once, whatever its thread, also where it becomes an error of the data. So the
descriptor leads to a file meanwhile, whose text is passed on at the end; what Python writes goes another way, at once.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from plmetrics.core.process import is_ours

_STDERR = 2
_WANTED_AT_ONCE = "POLARS_VERBOSE"
_PANIC = re.compile(rb"^\n?thread '[^\n]*' (?:\(\d+\) )?panicked at ", re.MULTILINE)


class NativeWords:
    """Text in a file; none where `console` is None: then it is on the console already.

    `panicked` says whether there was a report of a panic: its thread may still be writing it.
    """

    def __init__(self, console: int | None = None) -> None:
        self._console = console
        self.panicked = False

    def pass_on(self, *, panics: bool) -> None:
        """Copy the diverted output so far to the console, with or without reports of panics."""
        if self._console is None:
            return
        text = os.pread(_STDERR, os.lseek(_STDERR, 0, os.SEEK_END), 0)
        os.ftruncate(_STDERR, 0)
        os.lseek(_STDERR, 0, os.SEEK_SET)
        remainder = without_panics(text)
        self.panicked |= len(remainder) < len(text)
        with suppress(OSError), open(self._console, "wb", closefd=False) as console:
            console.write(text if panics else remainder)


def without_panics(text: bytes) -> bytes:
    r"""The text before the first report of a panic: those of several threads may be mixed, and none says where it ends.

    >>> without_panics(b"one\n\nthread 'x' (7) panicked at a.rs:1:2:\nno\nnote: run again\n")
    b'one\n'
    """
    return _PANIC.split(text, maxsplit=1)[0]


@contextmanager
def native_words() -> Iterator[NativeWords]:
    """Divert the output of native libraries, in a process of the command line; reports of panics are not passed on.

    After a panic it stays aside for as long as the process lasts.
    """
    global _waiting  # noqa: PLW0603
    console = (
        _turned_aside() if is_ours() and os.name == "posix" and _WANTED_AT_ONCE not in os.environ else None
    )
    if console is None:
        yield NativeWords()
        return
    words = _waiting = NativeWords(console)
    ctypes.CDLL(None).signal(signal.SIGABRT, _HANDLER)
    stderr = sys.stderr
    stream = _stream_to(console)
    try:
        yield words
    finally:
        words.pass_on(panics=False)
        if not words.panicked:
            sys.stderr, _waiting = stderr, None
            if stream is not None:
                with suppress(OSError):  # nobody reads any more
                    stream.close()
            os.dup2(console, _STDERR)
            os.close(console)


def _turned_aside() -> int | None:
    """Copy of the descriptor of the console; the descriptor itself leads to a file from now on."""
    try:
        console = os.dup(_STDERR)
        file = _nameless_file()
    except OSError:  # there is no standard error, or no place for files
        return None
    os.dup2(file, _STDERR)
    os.close(file)
    return console


def _nameless_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("stderr")
    import tempfile

    file, path = tempfile.mkstemp()
    os.unlink(path)  # noqa: PTH108
    return file


def _stream_to(console: int) -> TextIO | None:
    """Let `sys.stderr` write to the console, unless it leads elsewhere anyway."""
    stderr = sys.stderr
    try:
        is_console = stderr.fileno() == _STDERR
    except (OSError, ValueError, AttributeError):
        is_console = False
    if not is_console:
        return None
    stderr.flush()
    sys.stderr = stream = open(os.dup(console), "w", 1, stderr.encoding, stderr.errors)  # noqa: PTH123, SIM115
    return stream


def _handle(number: int) -> None:
    """Print the reason before the process is stopped, such as by a lack of memory: diverted output is lost then."""
    if _waiting is not None:
        _waiting.pass_on(panics=True)
    ctypes.CDLL(None).signal(number, None)


_waiting: NativeWords | None = None
_HANDLER = ctypes.CFUNCTYPE(None, ctypes.c_int)(_handle)
