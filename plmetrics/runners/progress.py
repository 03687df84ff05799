"""Progress of a run over units in words: units, rows or bytes, and the remaining time."""

from __future__ import annotations

import time
from collections.abc import Callable


class UnitProgress:
    """Counts units as they are done.

    Args:
        units: how many there are.
        size: the sum of their sizes.
        noun: what sizes are counted in, `rows` or `bytes`.
        tell: is called with the words.
        clock: seconds that pass.

    >>> words = []
    >>> progress = UnitProgress(4, 4_000, "rows", words.append, iter([0.0, 10.0]).__next__)
    >>> progress.add(1_000)
    >>> words
    ['units: 0 of 4', 'units: 1 of 4, 1,000 of 4,000 rows, about 30 s left']
    """

    def __init__(
        self,
        units: int,
        size: int,
        noun: str,
        tell: Callable[[str], object] | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._units, self._size, self._noun = units, size, noun
        self._tell, self._clock = tell, clock
        self._done = self._sized = 0
        self._start = clock()
        self._say(f"units: 0 of {units:,}")

    def add(self, size: int, *, again: bool = False) -> None:
        """Count a finished unit; `again` marks one reused at no cost."""
        self._done += 1
        self._sized += size
        if again:
            self._size -= size
            self._sized -= size
        self._say(f"units: {self._done:,} of {self._units:,}{self._amount()}{self._remaining_time()}")

    def _amount(self) -> str:
        return f", {self._sized:,} of {self._size:,} {self._noun}" if self._size else ""

    def _remaining_time(self) -> str:
        if not self._sized or self._sized >= self._size:
            return ""
        seconds = (self._clock() - self._start) * (self._size - self._sized) / self._sized
        return f", about {seconds:,.0f} s left"

    def _say(self, words: str) -> None:
        if self._tell is not None:
            self._tell(words)
