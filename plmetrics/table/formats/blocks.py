"""The footer of an Arrow file: where its record batches lie, and how many rows they hold.

Polars tells a file's schema from the footer, but not its number of rows. Footer and batch headers are tables of
FlatBuffers: a table starts with the way back to a list of its fields' places, 0 for a field at its default.
"""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

from plmetrics.table.formats.footer import FooterError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

MAGIC = b"ARROW1"
DAMAGED = "truncated or not an Arrow file"
_FEATHER_1 = b"FEA1"
_FEATHER_1_FILE = "a Feather file of version 1; write it as version 2, which is an Arrow file"
_CONTINUED = b"\xff\xff\xff\xff"
_STREAM = "an Arrow stream, which has no footer; write it as an Arrow file"
_DICTIONARIES_FIELD, _BATCHES_FIELD, _HEADER_FIELD, _LENGTH_FIELD = 2, 3, 2, 0
_BLOCK = struct.Struct("<qi4xq")


def batch_rows(file: BinaryIO) -> int:
    """The number of rows of an Arrow file: the sum over its record batches.

    Raises:
        FooterError: the file is truncated, a stream, of an old version or not an Arrow file
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    _check_head(file.read(len(MAGIC)))
    file.seek(max(0, size - 10))
    tail = file.read(10)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or not 0 < length <= size - 18:
        raise FooterError(DAMAGED)
    file.seek(size - 10 - length)
    footer = file.read(length)
    try:
        for block in _blocks(footer, _DICTIONARIES_FIELD):  # Polars panics where one leads out of the file
            _check_block(*block, size)
        return sum(_rows(file, *block, size) for block in _blocks(footer, _BATCHES_FIELD))
    except (struct.error, IndexError):
        raise FooterError(DAMAGED) from None


def _check_head(head: bytes) -> None:
    if head.startswith(_FEATHER_1):
        raise FooterError(_FEATHER_1_FILE)
    if head.startswith(_CONTINUED):
        raise FooterError(_STREAM)
    if head != MAGIC:
        raise FooterError(DAMAGED)


def _blocks(footer: bytes, field: int) -> Iterator[tuple[int, int, int]]:
    """Offset, length of the header and length of the body of each block in a field of the footer."""
    place = _field(footer, _root(footer), field)
    if place is None:
        return
    start = place + _number("<I", footer, place)
    for index in range(_number("<I", footer, start)):
        yield _BLOCK.unpack_from(footer, start + 4 + index * _BLOCK.size)


def _check_block(offset: int, header: int, body: int, size: int) -> None:
    if min(offset, header, body) < 0 or offset + header + body > size:
        raise IndexError


def _rows(file: BinaryIO, offset: int, header: int, body: int, size: int) -> int:
    """The rows of one record batch, from its header."""
    _check_block(offset, header, body, size)
    file.seek(offset)
    message = file.read(header)
    message = message[8:] if message.startswith(_CONTINUED) else message[4:]
    place = _field(message, _root(message), _HEADER_FIELD)
    if place is None:
        raise IndexError
    length = _field(message, place + _number("<I", message, place), _LENGTH_FIELD)
    return 0 if length is None else _number("<q", message, length)


def _root(data: bytes) -> int:
    return _number("<I", data, 0)


def _field(data: bytes, table: int, index: int) -> int | None:
    """The place of a field of a table; None where it is left at its default."""
    fields = table - _number("<i", data, table)
    if fields < 0:
        raise IndexError
    entry = 4 + 2 * index
    offset = _number("<H", data, fields + entry) if entry < _number("<H", data, fields) else 0
    return table + offset if offset else None


def _number(layout: str, data: bytes, place: int) -> int:
    number: int = struct.unpack_from(layout, data, place)[0]
    return number
