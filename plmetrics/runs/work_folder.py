"""The work folder of a run until it has ended: readers see nothing of it, and then all of it.

On a disk that is a hidden folder, which is renamed. A bucket renames nothing: there a run is its run.json, which is
written last, on condition that there is none. Until then the content waits in memory.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from plmetrics.core.errors import EnvironmentFault, Problem
from plmetrics.runs.files import (
    create,
    is_old,
    lock_folder,
    make_directory,
    names_in,
    remove_folder,
    remove_temporary,
    write_atomic,
)

if TYPE_CHECKING:
    from plmetrics.table.storage.places import BucketPlace, Place

RECORD = "run.json"
RUN_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}", re.ASCII)
"""The name of a run: when it began, and a number that tells it from others of that second."""

_NAMES = 20
"""How many names of runs are tried, of which a store may say that they are taken."""


class WorkFolder(Protocol):
    """Running run."""

    @property
    def path(self) -> Place:
        """The run folder to be."""

    def announce(self, record: bytes) -> None:
        """Announce the run as running."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file."""

    def clear(self) -> None:
        """Remove all files but the record."""

    def reveal(self) -> None:
        """Bring the run folder into sight."""

    def discard(self) -> None:
        """Remove the folder."""

    def release(self) -> None:
        """Release the lock, with any outcome of the run."""


def begin(home: Place) -> WorkFolder:
    """New run in the folder of a suite's runs, created if absent.

    What killed runs left there is removed, once it is a day old.

    Raises:
        OSError: the system refuses.
        EnvironmentFault: any name is taken.
    """
    make_directory(home)
    names = [name for name in names_in(home) if name.startswith(".")]
    remove_temporary(home, names)
    for name in names:
        run_id = name[1 : -len(".partial")]
        if name.endswith(".partial") and RUN_ID.fullmatch(run_id):
            with suppress(OSError):
                _remove_leftovers(home, run_id)
    for _ in range(_NAMES):
        run_id = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
        if (home / run_id).exists():
            continue
        if not isinstance(home, Path):
            return _BucketWork(home, run_id)
        with suppress(FileExistsError):
            (home / work_folder(run_id)).mkdir()
            return _LocalWork(home, run_id)
    msg, hint = f"{home}: any folder is there, whatever its name", "see what the store answers to listings"
    raise EnvironmentFault(Problem(msg, ("output", "directory"), hint))


def work_folder(run_id: str) -> str:
    """Name of the hidden folder of a running run."""
    return f".{run_id}.partial"


class _LocalWork:
    def __init__(self, home: Path, run_id: str) -> None:
        self.path = home / run_id
        self._folder = home / work_folder(run_id)
        self._lock = lock_folder(self._folder)

    def announce(self, record: bytes) -> None:
        self.write(RECORD, record)

    def write(self, name: str, content: bytes) -> None:
        write_atomic(self._folder / name, content)

    def clear(self) -> None:
        for file in self._folder.iterdir():
            if file.name != RECORD:
                file.unlink()

    def reveal(self) -> None:
        os.replace(self._folder, self.path)  # noqa: PTH105
        self.release()

    def discard(self) -> None:
        try:
            shutil.rmtree(self._folder, ignore_errors=True)
        finally:
            self.release()

    def release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


class _BucketWork:
    """Run in a bucket: `_mark` is the only record in the hidden folder; `_sent` may be in the bucket already."""

    def __init__(self, home: BucketPlace, run_id: str) -> None:
        self.path = home / run_id
        self._mark = home / work_folder(run_id) / RECORD
        self._files: dict[str, bytes] = {}
        self._sent: set[str] = set()
        self._running = b""

    def announce(self, record: bytes) -> None:
        self._running = record
        self._mark.write_bytes(record)

    def write(self, name: str, content: bytes) -> None:
        self._files[name] = content

    def clear(self) -> None:
        self._files = {}

    def reveal(self) -> None:
        from plmetrics.table.storage.objects import at_once

        self.announce(self._running)  # A run of more than a day is not abandoned.
        names = [name for name in self._files if name != RECORD]
        self._sent |= set(names)
        at_once(lambda name: (self.path / name).write_bytes(self._files[name]), names)
        if not create(self.path / RECORD, self._files[RECORD]):
            raise EnvironmentFault(Problem(f"{self.path} is there already", hint="run again"))
        # The run is in sight; what is left behind shows nowhere.
        with suppress(EnvironmentFault):
            at_once(lambda name: (self.path / name).unlink(), self._sent - set(names))
            self.discard()

    def discard(self) -> None:
        with suppress(EnvironmentFault):
            self._mark.unlink()

    def release(self) -> None:
        pass


def _remove_leftovers(home: Place, run_id: str) -> None:
    """Remove leftovers of runs killed a day ago or earlier: on a disk a running one holds its lock."""
    work = home / work_folder(run_id)
    if not is_old(work):
        return
    if not isinstance(work, Path):
        if not (home / run_id / RECORD).is_file():
            remove_folder(home / run_id)
        remove_folder(work)
        return
    lock = lock_folder(work)
    if lock is not None:
        shutil.rmtree(work, ignore_errors=True)
        os.close(lock)
