"""Calls that change the disk, one of which fails or ends the process."""

import contextlib
import io
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from suites.nights import Nights

CALLS = ("fsync", "link", "replace", "mkdir")
"""What a night changes the disk with: every write is synced before it is renamed or linked."""

ALL_CALLS = ("write", *CALLS, "unlink", "rmdir")
"""The same with the writes themselves, of which half of the content is left, and removals."""


class Crash(BaseException):
    """The end of a process, as far as this one can play it."""


class Faults:
    """The calls that change the disk: one of them fails, or ends the process, and then `last` lets all others fail.

    `replace_attribute` is `setattr`, or that of a monkey patch.
    """

    def __init__(
        self,
        replace_attribute: Callable[[Any, str, Any], None],
        at: int,
        error: Callable[[], BaseException],
        *,
        last: bool,
        names: Sequence[str] = CALLS,
    ) -> None:
        self.calls: list[str] = []
        self._at, self._error, self._last = at, error, last
        for name in names:
            if name == "write":
                replace_attribute(io, "open", self._opening(io.open))
            else:
                replace_attribute(os, name, self._watch(name, getattr(os, name)))

    @property
    def ended(self) -> bool:
        """Whether everything was done before the fault was due."""
        return len(self.calls) < self._at

    def _is_due(self, name: str) -> bool:
        """Count a call: whether it is to fail. After the end of a process it does nothing more, not even tidy up."""
        self.calls.append(name)
        return len(self.calls) == self._at or (self._last and len(self.calls) > self._at > 0)

    def _watch(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **options: Any) -> Any:
            if self._is_due(name):
                raise self._error()
            return call(*arguments, **options)

        return watched

    def _opening(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def opened(path: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            file = call(path, mode, *arguments, **options)
            if "b" not in mode or mode == "rb":
                return file
            write = file.write

            def torn(content: Any) -> Any:
                if not self._is_due("write"):
                    return write(content)
                write(memoryview(content)[: len(content) // 2])
                file.flush()
                raise self._error()

            file.write = torn
            return file

        return opened


def crash_at_each_call(
    nights: Nights,
    folder: Path,
    step: int,
    do: Callable[[Nights], object],
    error: Callable[[], BaseException] = Crash,
    *,
    first: int | None = None,
) -> Iterator[Nights]:
    """Copies of the nights, in each of which something ended at another of its calls that change the disk."""
    import pytest  # not where processes of their own are to end

    at, ended = (step if first is None else first) - step, False
    while not ended:
        at += step
        copy = type(nights)(folder / str(at))
        shutil.copytree(nights.folder, copy.folder, ignore=shutil.ignore_patterns(folder.name))
        with pytest.MonkeyPatch.context() as patch:
            faults = Faults(patch.setattr, at, error, last=error is Crash, names=ALL_CALLS)
            with contextlib.suppress(Crash):
                do(copy)
        ended = faults.ended
        yield copy
        shutil.rmtree(copy.folder)


def age(folder: Path) -> None:
    """Let everything look two days old."""
    then = time.time() - 2 * 24 * 60 * 60
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (then, then))
