"""Signals by which a scheduler ends a process: SIGTERM, and SIGHUP of a closed terminal.

They interrupt a run as Ctrl-C does, which ends scans and leaves nothing half done; the exit code is the signal's own.
Without a handler the first process of a container does not heed SIGTERM at all.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from plmetrics.core.process import interruption

if TYPE_CHECKING:
    from types import FrameType

_SECONDS = 20
"""Time to end: Kubernetes kills after 30 s."""

_answer = threading.Event()
"""Whether an interrupt has reached Python, as far as can be known.

One that comes right before a long wait is not seen until its end.
"""


def end_on_signals() -> None:
    """Let SIGTERM and SIGHUP interrupt this process; not where they, or interrupts, are ignored, nor on Windows."""
    is_main = threading.current_thread() is threading.main_thread()
    if (
        sys.platform == "win32"
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        or not is_main
    ):
        return
    numbers = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) is signal.SIG_DFL]
    with suppress(OSError, RuntimeError):  # no file, no thread: the system ends the process by itself
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        threading.Thread(target=partial(_await, reading, numbers), daemon=True, name="signals").start()
        # Python's own handlers wait for the end of a scan: bytes of the pipe come at once.
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        for number in numbers:
            signal.signal(number, lambda *_: None)
        if "polars" in sys.modules:  # which looks for interrupts, until there is a new handler
            _answer.set()
        else:
            signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _answer.set()
    signal.default_int_handler(number, frame)


def _await(reading: int, numbers: list[signal.Signals]) -> None:
    """Interrupt the main thread on one of some signals, again until it answers, and end the process if it does not."""
    number = next(each for each in iter(lambda: os.read(reading, 1)[0], 0) if each in numbers)
    interruption.signal = number
    main, end = threading.main_thread().ident, time.monotonic() + _SECONDS
    assert main is not None
    signal.pthread_kill(main, signal.SIGINT)
    while not _answer.wait(1) and time.monotonic() < end:
        signal.pthread_kill(main, signal.SIGINT)
    time.sleep(max(0.0, end - time.monotonic()))
    with suppress(OSError):
        os.write(2, f"{interruption.title}\n".encode())
    os._exit(interruption.exit_code)
