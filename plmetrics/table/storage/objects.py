"""Objects by address: their facts, their bytes as a stream, and the contents of folders."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from plmetrics.core.errors import AbsentDataError, ConfigError, PlmetricsError, Problem
from plmetrics.core.names import is_address
from plmetrics.table.storage import stores
from plmetrics.table.storage.addresses import Address, parse_address
from plmetrics.table.storage.faults import is_storage_error, storage_fault

if TYPE_CHECKING:
    from plmetrics.table.files import SourceFile
    from plmetrics.table.storage.stores import ObjectFacts

_AT_ONCE = 16
_READ_AHEAD = 1 << 20

T = TypeVar("T")
"""A request."""
U = TypeVar("U")
"""The answer to a request."""


def object_facts(address: Address) -> ObjectFacts | None:
    """The facts of an object; None where there is none.

    Raises:
        EnvironmentFault: the store cannot be reached, or denies access.
    """
    try:
        return _answer_of(address, lambda: _head(address))
    except AbsentDataError:
        return None


def list_folder(address: Address) -> list[ObjectFacts]:
    """All objects below a folder of a store."""
    return _answer_of(address, lambda: list(stores.list_below(address.root, address.key.strip("/"))))


def read_object(address: Address) -> bytes:
    """All bytes of an object.

    Raises:
        AbsentDataError: there is none.
    """
    if not address.is_web:
        return _answer_of(address, lambda: stores.read(address.root, address.key))[0]
    facts = _answer_of(address, lambda: _head(address))
    return _answer_of(address, lambda: _read(address, 0, facts.size))


def write_object(address: Address, content: bytes) -> None:
    """Write an object atomically; one of that name is replaced.

    Raises:
        ConfigError: it is on a web server.
        EnvironmentFault: the store cannot be reached, or denies access.
    """
    if not address.is_bucket or not address.key:
        message = f"{address.message_text}: nothing can be written there"
        raise ConfigError(Problem(message, hint="name an object or a folder in a bucket: s3://BUCKET/FOLDER"))
    _answer_of(address, lambda: stores.write(address.root, address.key, content))


def create_object(address: Address, content: bytes) -> bool:
    """Write an object unless there is one; False where there is another one.

    One of the same content is this one: where an answer was lost, the request was repeated, and refused.
    """
    if _answer_of(address, lambda: stores.write(address.root, address.key, content, "create")):
        return True
    return read_object(address) == content


def update_object(address: Address, change: Callable[[bytes | None], bytes | None]) -> None:
    """Update an object by a function of its content, with a retry after a concurrent change.

    `change` takes the content, None where there is no object; gives the new one, None where it is to stay.
    """
    written = False
    while not written:
        try:
            before, version = _answer_of(address, lambda: stores.read(address.root, address.key))
        except AbsentDataError:
            before, version = None, "create"
        after = change(before)
        written = after is None or _write_over(address, after, version)


def delete_object(address: Address) -> None:
    """Remove an object, if there is one."""
    _answer_of(address, lambda: stores.delete(address.root, address.key))


def list_in(address: Address) -> tuple[list[str], list[ObjectFacts]]:
    """The names of the folders right below a folder of a store, and the objects there."""
    return _answer_of(address, lambda: stores.list_in(address.root, address.key.strip("/")))


def names_in(address: Address) -> list[str]:
    """The names of the objects and folders right below a folder of a store."""
    folders, objects = list_in(address)
    return [*folders, *(facts.key.rpartition("/")[2] for facts in objects)]


def facts_stamp(address: Address, facts: ObjectFacts) -> tuple[str | int, ...]:
    """Stamp to tell an object from its replacement."""
    return (address.root, address.path, facts.size, facts.identity)


def object_stamp(path: str) -> tuple[str | int, ...] | None:
    """The stamp of an object as it is now; None where there is none."""
    address = parse_address(path)
    facts = object_facts(address)
    return None if facts is None else facts_stamp(address, facts)


def open_object(path: str, read_ahead: int = _READ_AHEAD, size: int | None = None) -> io.BufferedReader:
    """The bytes of an object, read in ranges; its size is asked for where it is not known.

    Raises:
        AbsentDataError: there is none.
        EnvironmentFault: the store cannot be reached, or denies access.
    """
    address = parse_address(path)
    if size is None:
        size = _answer_of(address, lambda: _head(address)).size
    return io.BufferedReader(_ObjectBytes(address, size), read_ahead)


def open_binary(path: str, read_ahead: int = _READ_AHEAD, size: int | None = None) -> BinaryIO:
    """The bytes of a file or an object."""
    return open_object(path, read_ahead, size) if is_address(path) else Path(path).open(mode="rb")


def each_file(question: Callable[[SourceFile], U], files: Sequence[SourceFile]) -> Iterable[U]:
    """Answers in order; of objects several are waited for at once."""
    return at_once(question, files) if files and is_address(files[0].path) else map(question, files)


def at_once(question: Callable[[T], U], items: Iterable[T]) -> list[U]:
    """Answers in order, with several requests at once."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(question, items))


class _ObjectBytes(io.RawIOBase):
    """The bytes of an object of known size."""

    def __init__(self, address: Address, size: int) -> None:
        self._address = address
        self._size = size
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        self._place = max(0, start + offset)
        return self._place

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        length = max(0, min(len(view), self._size - self._place))
        if length:
            block = _answer_of(self._address, lambda: _read(self._address, self._place, length))
            length = len(block)
            view[:length] = block
        self._place += length
        return length


def _write_over(address: Address, content: bytes, version: Any) -> bool:
    return _answer_of(address, lambda: stores.write(address.root, address.key, content, version))


def _head(address: Address) -> ObjectFacts:
    if not address.is_web:
        return stores.head(address.root, address.key)
    from plmetrics.table.storage import web  # what speaks HTTP takes long to load

    return web.head(address)


def _read(address: Address, start: int, length: int) -> bytes:
    if not address.is_web:
        return stores.read_range(address.root, address.key, start, length)
    from plmetrics.table.storage import web

    return web.read_range(address, start, length)


def _answer_of(address: Address, question: Callable[[], T]) -> T:
    try:
        return question()
    except PlmetricsError:
        raise
    except Exception as error:  # obstore has many kinds; others are no fault of the store
        if not (isinstance(error, OSError) or is_storage_error(error)):
            raise
        raise storage_fault(error, address.message_text) from error
