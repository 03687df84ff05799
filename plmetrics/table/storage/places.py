"""Places in a bucket, with the interface of paths of a local disk: a folder is a prefix of names."""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from plmetrics.core.errors import AbsentDataError, ConfigError, Problem
from plmetrics.table.storage.addresses import Address, parse_address
from plmetrics.table.storage.objects import (
    create_object,
    delete_object,
    list_folder,
    list_in,
    names_in,
    object_facts,
    open_object,
    read_object,
    update_object,
    write_object,
)

if TYPE_CHECKING:
    from io import BufferedReader

    from plmetrics.core.names import SuitePath

_READ_AHEAD = 1 << 24


class PlaceFacts(NamedTuple):
    """The size and the time of the last change, as `os.stat_result` has them."""

    st_size: int
    st_mtime: float


@dataclass(frozen=True, slots=True, order=True)
class BucketPlace:
    """Folder or object of a bucket. Its methods are those of `pathlib.Path`, with the same errors.

    A store that cannot be reached, or denies access, is an EnvironmentFault.
    """

    address: Address

    @classmethod
    def of(cls, text: str, path: SuitePath = ()) -> BucketPlace:
        """The place of an address.

        `path` is its place in the suite.

        Raises:
            ConfigError: it is none, or is not of a bucket.
        """
        try:
            address = parse_address(text)
        except ConfigError as error:
            raise ConfigError([replace(problem, path=path) for problem in error.problems]) from error
        if not address.is_bucket:
            message = f"'{address.message_text}' is no folder of a bucket"
            hint = "results go to a directory, or to a bucket: s3://BUCKET/runs, gs:// or az://"
            raise ConfigError(Problem(message, path, hint))
        key = posixpath.normpath(f"/{address.key}").strip("/")
        return cls(address._replace(key=key))

    def __str__(self) -> str:
        return str(self.address).rstrip("/")

    def __fspath__(self) -> str:
        return str(self)

    def __truediv__(self, name: str | Path) -> BucketPlace:
        return BucketPlace(self.address._replace(key=f"{self.address.key}/{name}".strip("/")))

    @property
    def name(self) -> str:
        """The last part of its name; of a bucket itself none."""
        return posixpath.basename(self.address.key)

    @property
    def parent(self) -> BucketPlace:
        """Folder of the place."""
        return BucketPlace(self.address._replace(key=posixpath.dirname(self.address.key)))

    def resolve(self) -> BucketPlace:
        """The place itself: a bucket has no links."""
        return self

    def exists(self) -> bool:
        """Whether there is such an object or folder."""
        return self.is_file() or self.is_dir()

    def is_file(self) -> bool:
        """Whether there is such an object."""
        return bool(self.address.key) and object_facts(self.address) is not None

    def is_dir(self) -> bool:
        """Whether there are objects below it."""
        return any(list_in(self.address))

    def names(self) -> list[str]:
        """The names of its direct children."""
        return names_in(self.address)

    def sizes(self) -> dict[str, int]:
        """The objects right below it, by name, with their sizes."""
        return {facts.key.rpartition("/")[2]: facts.size for facts in list_in(self.address)[1]}

    def modified_below(self, name: str) -> dict[str, float]:
        """Direct subfolders with an object of a name, with the time of its last change."""
        start = f"{self.address.key}/" if self.address.key else ""
        objects = ((facts.key.removeprefix(start).split("/"), facts) for facts in list_folder(self.address))
        return {parts[0]: facts.modified for parts, facts in objects if parts[1:] == [name]}

    def stat(self) -> PlaceFacts:
        """Size and time of the last change; of a folder those of all objects in it."""
        facts = object_facts(self.address) if self.address.key else None
        objects = list_folder(self.address) if facts is None else [facts]
        if not objects:
            raise self._absence()
        return PlaceFacts(sum(each.size for each in objects), max(each.modified for each in objects))

    def lstat(self) -> PlaceFacts:
        """Its size and time, as `stat`: a bucket has no links."""
        return self.stat()

    def read_bytes(self) -> bytes:
        """Its content."""
        with self._absent():
            return read_object(self.address)

    def read_text(self, encoding: str = "utf-8") -> str:
        """Its content as text."""
        return self.read_bytes().decode(encoding)

    def open(self, mode: str) -> BufferedReader:
        """Its content, read a piece at a time."""
        assert mode == "rb"
        with self._absent():
            return open_object(str(self), _READ_AHEAD)

    def write_bytes(self, content: bytes) -> None:
        """Write it, all of it or nothing."""
        write_object(self.address, content)

    def create(self, content: bytes) -> bool:
        """Write it unless it is there; False where it is, with another content."""
        return create_object(self.address, content)

    def update(self, change: Callable[[bytes | None], bytes | None]) -> None:
        """Update the object by a function of its current content, atomically."""
        update_object(self.address, change)

    def unlink(self, missing_ok: bool = True) -> None:  # noqa: ARG002, FBT001, FBT002
        """Remove it; a store does not say whether it was there."""
        delete_object(self.address)

    @contextmanager
    def _absent(self) -> Iterator[None]:
        try:
            yield
        except AbsentDataError as error:
            raise self._absence() from error

    def _absence(self) -> FileNotFoundError:
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))


Place: TypeAlias = Path | BucketPlace
"""Where artifacts lie: a folder or file of this machine, or of a bucket."""
