"""Arrow files (Feather of version 2): footers and schemas, read before any data.

Polars tells a file's schema from the footer, but not its number of rows. Footer and batch headers are tables of
FlatBuffers: a table starts with the way back to a list of its fields' places, 0 for a field at its default. Lengths of
compressed buffers are checked before Polars trusts them with memory.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

import polars as pl
from polars.exceptions import PanicException, PolarsError

from plmetrics.core.names import is_address
from plmetrics.table.common_types import unnamed_zone
from plmetrics.table.formats.common_columns import column_differences
from plmetrics.table.formats.footer import FooterError
from plmetrics.table.formats.hive import FILE_PATH
from plmetrics.table.storage.objects import each_file, open_binary
from plmetrics.table.storage.stores import scan_options

if TYPE_CHECKING:
    from plmetrics.table.files import Complaints, SourceFile
    from plmetrics.table.formats.reader import Reader

KIND = "ipc"
NATIVE_PARTITIONS = True
ENDINGS: tuple[str, ...] = (".arrow", ".ipc", ".feather")

_TAIL = 1 << 16
_UPSTREAM = "the program that writes it may have stopped halfway; write it again"
_ONE_SCHEMA = (
    "all Arrow files of a table need the same columns with the same types; parquet files may differ more"
)

MAGIC = b"ARROW1"
DAMAGED = "truncated or not an Arrow file"
_FEATHER_1 = b"FEA1"
_FEATHER_1_FILE = "a Feather file of version 1; write it as version 2, which is an Arrow file"
_CONTINUED = b"\xff\xff\xff\xff"
_STREAM = "an Arrow stream, which has no footer; write it as an Arrow file"
_DICTIONARIES_FIELD, _BATCHES_FIELD = 2, 3
_KIND_FIELD, _HEADER_FIELD, _DATA_FIELD = 1, 2, 1
_LENGTH_FIELD, _BUFFERS_FIELD, _COMPRESSION_FIELD, _CODEC_FIELD = 0, 2, 3, 0
_DICTIONARY = 2
_BLOCK, _BUFFER = struct.Struct("<qi4xq"), struct.Struct("<qq")
_RATIOS = {0: 1 << 8, 1: 1 << 16}
"""By codec (LZ4, Zstandard) more bytes than one compressed byte can stand for."""


def inspect(
    files: Sequence[SourceFile],
    complaints: Complaints,
    optional: Collection[str] = (),  # noqa: ARG001 (one scan of Arrow files needs the same columns in all)
) -> tuple[list[SourceFile], pl.Schema]:
    """Files with their row counts, and their common columns in any order."""
    files_with_rows: list[SourceFile] = []
    schema = pl.Schema()
    footers = each_file(lambda file: _read_one(file, complaints), files)
    for file, footer in zip(files, footers, strict=True):
        if footer is None:
            continue
        rows, columns = footer
        if not files_with_rows:
            schema = columns
        else:
            _compare(schema, columns, file, files_with_rows[0], complaints)
        files_with_rows.append(replace(file, rows=rows))
    return files_with_rows, schema


def scan(reader: Reader, row_index: str | None = None) -> pl.LazyFrame:
    """Lazy scan of all files; see `reader.FileFormat`."""
    native = reader.partitions.native
    hive_schema = reader.partitions.schema if native and reader.partitions.schema else None
    return pl.scan_ipc(
        [file.path for file in reader.files],
        glob=False,
        hive_partitioning=hive_schema is not None,
        hive_schema=hive_schema,
        row_index_name=row_index,
        include_file_paths=FILE_PATH if row_index or not native else None,
        **scan_options(reader.files),
    )


def _read_one(file: SourceFile, complaints: Complaints) -> tuple[int, pl.Schema] | None:
    try:
        with open_binary(file.path, _TAIL, file.size) as stream:
            rows = batch_rows(stream)
        if is_address(file.path):
            return rows, pl.scan_ipc([file.path], glob=False, **scan_options([file])).collect_schema()
        return rows, pl.Schema(pl.read_ipc_schema(file.path))
    except OSError as error:
        complaints.fault(file.path, error)
    except FooterError as error:
        complaints.add(file.path, str(error), _UPSTREAM if str(error) == DAMAGED else None)
    except (PolarsError, PanicException) as error:
        complaints.add(file.path, *(unnamed_zone(error) or (DAMAGED, _UPSTREAM)))
    return None


def _compare(
    schema: pl.Schema, columns: pl.Schema, file: SourceFile, first: SourceFile, complaints: Complaints
) -> None:
    faults = column_differences(columns, schema, first)
    faults += [
        f"column '{name}' is {columns[name]}, but {dtype} in {first.name}"
        for name, dtype in schema.items()
        if columns.get(name, dtype) != dtype
    ]
    if faults:
        complaints.add(file.path, "; ".join(faults), _ONE_SCHEMA)


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
        for block in _blocks(footer, _DICTIONARIES_FIELD):
            message, batch = _batch(file, *block, size)
            _check_lengths(file, message, batch, block[0] + block[1], block[2])
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
    message, batch = _batch(file, offset, header, body, size)
    _check_lengths(file, message, batch, offset + header, body)
    length = _field(message, batch, _LENGTH_FIELD)
    return 0 if length is None else _number("<q", message, length)


def _batch(file: BinaryIO, offset: int, header: int, body: int, size: int) -> tuple[bytes, int]:
    """Header of a record batch, and the start of its body; also of a dictionary's."""
    _check_block(offset, header, body, size)
    file.seek(offset)
    message = file.read(header)
    message = message[8:] if message.startswith(_CONTINUED) else message[4:]
    root = _root(message)
    kind = _field(message, root, _KIND_FIELD)
    batch = _table(message, root, _HEADER_FIELD)
    if kind is not None and message[kind] == _DICTIONARY:
        batch = _table(message, batch, _DATA_FIELD)
    return message, batch


def _check_lengths(file: BinaryIO, message: bytes, batch: int, start: int, body: int) -> None:
    """Check the claimed sizes of compressed buffers against their bytes: the process would run out of memory.

    Raises:
        IndexError: one does.
    """
    place, compression = (_field(message, batch, field) for field in (_BUFFERS_FIELD, _COMPRESSION_FIELD))
    if place is None or compression is None:
        return
    codec = _field(message, compression + _number("<I", message, compression), _CODEC_FIELD)
    most = _RATIOS.get(0 if codec is None else message[codec], 0)
    first = place + _number("<I", message, place)
    for index in range(_number("<I", message, first)):
        offset, length = _BUFFER.unpack_from(message, first + 4 + index * _BUFFER.size)
        _check_block(offset, length, 0, body)
        if length:
            file.seek(start + offset)
            if _number("<q", file.read(8), 0) > most * length:
                raise IndexError


def _table(data: bytes, table: int, index: int) -> int:
    place = _field(data, table, index)
    if place is None:
        raise IndexError
    return place + _number("<I", data, place)


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
