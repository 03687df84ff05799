"""NDJSON files: a JSON object on every line, with the columns as its keys.

The types are inferred: from all lines while the files are small together, else from the first lines of each file. A
key that a line leaves out is null there. Dates stay text, as in CSV files.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.exceptions import PanicException, PolarsError

from plmetrics.core.names import is_address
from plmetrics.table.formats.common_columns import ColumnRules, common_columns
from plmetrics.table.formats.compression import (
    UPSTREAM,
    CompressionError,
    add_fault,
    encoding_fault,
    open_text,
    with_compressions,
)
from plmetrics.table.formats.csv import inferred_rows
from plmetrics.table.formats.hive import FILE_PATH
from plmetrics.table.storage.addresses import parse_address
from plmetrics.table.storage.objects import each_file
from plmetrics.table.storage.stores import scan_options

if TYPE_CHECKING:
    from plmetrics.table.files import Complaints, SourceFile
    from plmetrics.table.formats.reader import Reader

KIND = "ndjson"
NATIVE_PARTITIONS = False
ENDINGS = with_compressions(".ndjson", ".jsonl")

_ONE_OBJECT = "every line must hold one JSON object"
_NUMBERS = (pl.Int64, pl.Int128, pl.Float64)


def inspect(
    files: Sequence[SourceFile], complaints: Complaints, optional: Collection[str] = ()
) -> tuple[list[SourceFile], pl.Schema]:
    """Files, and the columns of the first one with types common to all.

    Other files need these columns too, but for the `optional` ones; columns that the first file does not have are
    ignored. Whole numbers in one file and numbers in another are numbers, text and anything else is text.
    """
    rows = inferred_rows(files)
    columns_of_each = zip(files, each_file(lambda file: _columns(file, rows, complaints), files), strict=True)
    legible = ((file, columns) for file, columns in columns_of_each if columns is not None)
    rules = ColumnRules(_common_type, "write the column in one way in all files", "write null, not nothing")
    chosen, schema = common_columns(legible, rules, complaints, optional)
    for name in optional:
        if rows is None and schema.get(name) == pl.Null:
            del schema[name]  # No line of any file has a value: nothing tells its type.
    types = {name: pl.String() if dtype == pl.Null else dtype for name, dtype in schema.items()}
    return chosen, pl.Schema(types)


def scan(reader: Reader, row_index: str | None = None) -> pl.LazyFrame:
    """Lazy scan of all files; see `reader.FileFormat`."""
    return pl.scan_ndjson(
        list(map(_pattern, reader.files)),
        schema=reader.stored,
        row_index_name=row_index,
        include_file_paths=FILE_PATH if row_index or not reader.partitions.native else None,
        **scan_options(reader.files),
    )


def _pattern(file: SourceFile) -> str:
    """The path as a glob of this file alone, since Polars takes these for globs; escapes are of disks alone."""
    return file.path if is_address(file.path) else glob.escape(file.path)


def _columns(file: SourceFile, rows: int | None, complaints: Complaints) -> pl.Schema | None:
    if is_address(file.path) and parse_address(file.path).is_bucket and glob.has_magic(file.path):
        complaints.add(
            file.path, "its name is taken for a glob, of other objects", "rename it without *, ? and ["
        )
        return None
    try:
        columns = pl.scan_ndjson(
            [_pattern(file)], infer_schema_length=rows, **scan_options([file])
        ).collect_schema()
    except OSError as error:
        add_fault(complaints, file.path, error)
    except (PolarsError, PanicException) as error:
        complaints.add(file.path, *_fault(file, rows, str(error).splitlines()[0]))
    else:
        if columns:
            return columns
        complaints.add(file.path, "no line has a key", _ONE_OBJECT)
    return None


def _fault(file: SourceFile, rows: int | None, reason: str) -> tuple[str, str]:
    """Fault of the first bad line, found by a second look."""
    try:
        with open_text(file.path) as lines:
            for number, line in enumerate(lines, start=1):
                if rows is not None and number > rows:
                    break
                if line.strip() and (fault := _line_fault(line)):
                    return f"line {number:,} {fault[0]}", fault[1]
    except CompressionError as error:
        return str(error), UPSTREAM
    except UnicodeDecodeError:
        return encoding_fault(file.path)
    return f"is not an NDJSON file that can be read: {reason}", _ONE_OBJECT


def _line_fault(line: str) -> tuple[str, str] | None:
    if line.startswith("\ufeff"):
        return "begins with a byte order mark", "write the file as UTF-8 without one"

    def refuse(word: str) -> Any:
        raise _NotANumberError(word)

    try:
        value = json.loads(line, parse_constant=refuse)
    except _NotANumberError as error:
        return f"holds {error}, which JSON does not have", "write null for a value that is not known"
    except (ValueError, RecursionError):
        return "is not JSON", f"{_ONE_OBJECT}; the program that writes the file may have stopped halfway"
    return None if isinstance(value, dict) else ("is not a JSON object", _ONE_OBJECT)


class _NotANumberError(Exception):
    """A word such as NaN."""


def _common_type(first: pl.DataType, other: pl.DataType) -> pl.DataType | None:
    if other in (first, pl.Null):
        return first
    if first == pl.Null:
        return other
    if pl.String in (first, other):
        return pl.String()
    if first in _NUMBERS and other in _NUMBERS:
        return pl.Float64() if pl.Float64 in (first, other) else pl.Int128()
    return None
