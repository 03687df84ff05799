"""Progress on stderr, for work of more than a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Self, TextIO

if TYPE_CHECKING:
    from types import TracebackType

    from rich.status import Status

_FIRST = 1.0
_EVERY = 10.0
_TICK = 0.2


class Progress:
    """Call it with the name of each stage as it begins.

    Nothing is shown in the first second. Then a terminal shows the running stage in one line that is gone at
    the end; anything else gets a line now and at most every ten seconds.
    """

    def __init__(
        self, stream: TextIO, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._quiet = quiet
        self._clock = clock
        self._start = clock()
        self._stage = ""
        self._last_line: float | None = None
        self._status: Status | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __call__(self, stage: str) -> None:
        """Show the current stage."""
        self._stage = stage

    def __enter__(self) -> Self:
        if not self._quiet:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._status is not None:
            self._status.stop()

    def tick(self) -> None:
        """Redraw the current line."""
        now = self._clock()
        seconds = now - self._start
        if seconds < _FIRST or not self._stage:
            return
        if self._stream.isatty():
            self._show(f"{self._stage} ({seconds:.0f} s)")
        elif self._last_line is None or now - self._last_line >= _EVERY:
            self._last_line = now
            self._stream.write(f"plmetrics: {self._stage} ({seconds:.0f} s)\n")
            self._stream.flush()

    def _show(self, text: str) -> None:
        if self._status is None:
            from rich.console import Console

            self._status = Console(file=self._stream, markup=False, emoji=False).status(text)
            self._status.start()
        self._status.update(text)

    def _watch(self) -> None:
        while not self._over.wait(_TICK):
            try:
                self.tick()
            except (OSError, ValueError):
                return
