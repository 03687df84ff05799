"""Footer of a parquet file: its bytes, and its number of rows.

Polars tells a file's schema without reading data, but not its number of rows. That is the third field of the
footer, a struct in Thrift's compact encoding: what stands before it is stepped over. Plans of `len` would take four
times as long for many files, and name none of those that are damaged.
"""

from __future__ import annotations

import os
from typing import BinaryIO

MAGIC = b"PAR1"
DAMAGED = "truncated or not a parquet file"
_ENCRYPTED = b"PARE"
_ENCRYPTED_FILE = "encrypted; write it without encryption"
_ROWS_FIELD = 3
_STOP, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 0, 3, 7, 8, 9, 10, 12
_BOOLEANS = (1, 2)
_INTEGERS = (4, 5, 6)
_LONG_LIST = 15


class FooterError(ValueError):
    """File without a readable footer; the message is for the user."""


def read_footer(file: BinaryIO) -> bytes:
    """The footer's bytes, without the length and the magic word after them.

    Raises:
        FooterError: the file is truncated, encrypted or not a parquet file
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    tail = file.read(8)
    if tail[4:] == _ENCRYPTED:
        raise FooterError(_ENCRYPTED_FILE)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or length > size - 12:
        raise FooterError(DAMAGED)
    file.seek(size - 8 - length)
    return file.read(length)


def footer_rows(footer: bytes) -> int:
    """The number of rows a footer states.

    Version 1, no columns, 5 rows:

    >>> footer_rows(bytes([0x15, 2, 0x19, 0x0C, 0x16, 10, 0]))
    5

    Raises:
        FooterError: the bytes are not a footer
    """
    try:
        return _Cursor(footer).rows()
    except (IndexError, RecursionError):
        raise FooterError(DAMAGED) from None


class _Cursor:
    """A place in compact-encoded bytes. Reading past their end is an IndexError."""

    __slots__ = ("data", "place")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0

    def rows(self) -> int:
        field = 0
        while True:
            step, kind = self.field()
            if kind == _STOP:
                raise IndexError
            field = field + step if step else self.integer()
            if field == _ROWS_FIELD and kind in _INTEGERS:
                return self.integer()
            self.skip(kind)

    def field(self) -> tuple[int, int]:
        """Difference of the next field's number to the last (0: written in full), and its type."""
        head = self.byte()
        return head >> 4, head & 15

    def byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1]

    def varint(self) -> int:
        value = shift = 0
        while True:
            part = self.byte()
            value |= (part & 127) << shift
            shift += 7
            if part < 128:
                return value

    def integer(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def skip(self, kind: int) -> None:
        if kind == _BYTE:
            self.byte()
        elif kind in _INTEGERS:
            self.varint()
        elif kind == _DOUBLE:
            self.place += 8
        elif kind == _BINARY:
            length = self.varint()
            self.place += length
        elif kind in {_LIST, _SET}:
            self.skip_list()
        elif kind == _STRUCT:
            self.skip_struct()
        elif kind not in _BOOLEANS:
            raise IndexError

    def skip_list(self) -> None:
        count, kind = self.field()
        if count == _LONG_LIST:
            count = self.varint()
        for _ in range(count):
            self.skip(_BYTE if kind in _BOOLEANS else kind)

    def skip_struct(self) -> None:
        while True:
            step, kind = self.field()
            if kind == _STOP:
                return
            if not step:
                self.varint()
            self.skip(kind)
