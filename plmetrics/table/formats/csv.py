"""CSV files: UTF-8 text of fields between commas, semicolons, tabs or bars, with column names in the first line.

A CSV file does not state its types, so they are inferred: from all rows while the files are small together,
else from the first rows of each file. Words such as `nan` among numbers are numbers. Dates stay text,
because `03/04/2024` has two readings: ISO dates compare as text, and an expression may cast them. So do codes such
as `007`, which as a number would be that of `7`. Where no comma separates fields, it may be the mark of decimals.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import IO, TYPE_CHECKING

import polars as pl
from polars.exceptions import PanicException, PolarsError

from plmetrics.core.names import is_address, name_list, number_duplicates
from plmetrics.table.files import Complaints, SourceFile, shown_path
from plmetrics.table.formats.common_columns import column_differences
from plmetrics.table.formats.compression import (
    COMPRESSIONS,
    UPSTREAM,
    CompressionError,
    add_fault,
    decompressed_size,
    encoding_fault,
    open_bytes,
    open_text,
    with_compressions,
)
from plmetrics.table.formats.fields import LAST, UnevenRow, code_fields, uneven_rows
from plmetrics.table.formats.header import NUMBER, absent_header, has_number_names, header_fault, is_row
from plmetrics.table.formats.hive import FILE_PATH
from plmetrics.table.storage.objects import each_file, open_binary
from plmetrics.table.storage.stores import scan_options

if TYPE_CHECKING:
    from plmetrics.table.formats.reader import Reader

KIND = "csv"
NATIVE_PARTITIONS = False
ENDINGS = with_compressions(".csv", ".tsv")

_SMALL = 64 << 20
_TAIL = 1 << 20
_SAMPLED_ROWS = 1_000_000
_FEWEST_ROWS = 1000
_UNKNOWN = pl.Null()
_MARKS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_ONE_HEADER = "all CSV files of a table need the same columns"
_CUT_OFF = (
    "a value that is absent still has its {}; the program that writes the file may have stopped halfway"
)
_NO_LINE_END = (
    "the last line does not end in a line break; if the file was cut off there, its last value is cut, too"
)
_HUGE = re.compile(r"[+-]?\d{39,}")
"""A whole number that may not fit 128 bits."""
_REPEATED = re.compile(r"(.*) \(repeated, (\d+)\)", re.DOTALL)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_WIDER: dict[frozenset[type[pl.DataType]], pl.DataType] = {
    frozenset({pl.Int64, pl.Float64}): pl.Float64(),
    frozenset({pl.Int64, pl.Int128}): pl.Int128(),
    frozenset({pl.Int128, pl.Float64}): pl.Float64(),
}


def inspect(
    files: Sequence[SourceFile], complaints: Complaints, optional: Collection[str] = ()
) -> tuple[list[SourceFile], pl.Schema]:
    """Files, and the columns of the first one with types common to all.

    All files must have the same columns, in any order, but for the `optional` ones. Whole numbers in one file and
    numbers in another are numbers, text and anything else is text; a column without a value says nothing of its type.
    """
    headers = dict(filter(None, each_file(lambda file: _header(file, complaints), files)))
    if not headers:
        return [], pl.Schema()
    first = next(iter(headers))
    rows = inferred_rows(files)
    schema: dict[str, pl.DataType] = dict.fromkeys(headers[first], _UNKNOWN)
    schema |= {name: _UNKNOWN for name in optional if any(name in names for names in headers.values())}
    for file, names in headers.items():
        if file is first or _same_columns(file, names, first, headers[first], optional, complaints):
            _widen(schema, _types(file, names, rows, complaints), file, complaints)
    if rows is None:  # No line of any file has a value there: nothing tells its type.
        schema = {name: t for name, t in schema.items() if not (name in optional and t == _UNKNOWN)}
    types = {name: pl.String() if dtype == _UNKNOWN else dtype for name, dtype in schema.items()}
    return list(each_file(_row_counts, list(headers))), pl.Schema(types)


def scan(reader: Reader, row_index: str | None = None) -> pl.LazyFrame:
    """Lazy scan of all files; see `reader.FileFormat`."""
    rows = pl.scan_csv(
        [file.path for file in reader.files],
        glob=False,
        schema={_polars_name(name): dtype for name, dtype in reader.stored.items()},
        missing_columns="insert" if reader.insert else "raise",
        extra_columns="ignore" if reader.insert else "raise",
        separator=reader.files[0].separator,
        decimal_comma=_may_have_decimal_commas(reader.files[0]),
        row_index_name=row_index,
        include_file_paths=FILE_PATH if row_index or not reader.partitions.native else None,
        **scan_options(reader.files),
    )
    repeated = {_polars_name(name): name for name in reader.stored if _REPEATED.fullmatch(name)}
    return rows.rename(repeated) if repeated else rows


def check_rows(
    files: Sequence[SourceFile], complaints: Complaints, *, fill: bool = False, ends: bool = False
) -> list[str]:
    """Complain of rows with more or fewer fields than the header, unreported by Polars.

    With `fill`, where the latter are filled up with nulls, these are warnings, which are returned. With `ends` only the
    last row of each file is looked at, and that of large compressed files is not, unless all rows are read in no time.
    """
    warnings = []
    ends &= inferred_rows(files) is not None
    for file in files:
        with _complaining(file, complaints):
            names = len(next(_records(file), []))
            uneven, last = _last_row(file, names) if ends else _uneven_rows(file, names)
            if fill and uneven and all(row.fields is not None and row.fields < names for row in uneven):
                warnings.append(
                    f"{shown_path(file.path)}: {_uneven(uneven, names, file)[0]}; those that are absent are null"
                )
            elif uneven:
                complaints.add(file.path, *_uneven(uneven, names, file))
            elif last not in (b"\n", b"\r", b""):
                warnings.append(f"{shown_path(file.path)}: {_NO_LINE_END}")
    return warnings


def _uneven_rows(file: SourceFile, names: int) -> tuple[list[UnevenRow], bytes]:
    """The rows with another number of fields, and the last byte."""
    with open_bytes(file.path) as stream:
        watched = _LastByteStream(stream)
        return uneven_rows(watched, names, file.separator), watched.last


class _LastByteStream:
    """Stream with its last byte known at the end: a compressed one cannot be read from there."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.last = b""

    def read(self, size: int) -> bytes:
        block = self._stream.read(size)
        self.last = block[-1:] or self.last
        return block


def _last_row(file: SourceFile, names: int) -> tuple[list[UnevenRow], bytes]:
    """Fault of the last row of a file, where its beginning is certain: without quotes around."""
    if file.name.lower().endswith(COMPRESSIONS):
        return [], b""
    with open_binary(file.path) as stream:
        stream.seek(-min(file.size, _TAIL), os.SEEK_END)
        tail = stream.read()
    start = tail.rstrip(b"\r\n").rfind(b"\n") + 1
    if start == 0 or b'"' in tail:
        return [], tail[-1:]
    fields = tail[start:].count(file.separator.encode()) + 1
    return [UnevenRow(LAST, fields)] * int(fields != names), tail[-1:]


def _uneven(rows: Sequence[UnevenRow], names: int, file: SourceFile) -> tuple[str, str]:
    """Fault of the first of some rows, the number of further ones, and the remedy."""
    first, more = rows[0], len(rows) - 1
    place = "the last line" if first.line == LAST else f"line {first.line:,}"
    if first.fields is None:
        return f"{place} opens a quote that is never closed", UPSTREAM
    fields = "1 field" if first.fields == 1 else f"{first.fields:,} fields"
    suffix = f" (and {more:,} more {'row' if more == 1 else 'rows'})" if more else ""
    message = f"{place} has {fields}, but the header names {names:,}{suffix}"
    mark = _MARKS[file.separator]
    return message, _CUT_OFF.format(mark) if first.fields < names else f"quote values that contain {mark}s"


def _row_counts(file: SourceFile) -> SourceFile:
    """File with its number of rows, known without a scan only if it is 0."""
    with open_text(file.path, encoding="latin-1") as stream:
        stream.readline()
        return file if stream.read(1) else replace(file, rows=0)


def inferred_rows(files: Sequence[SourceFile]) -> int | None:
    """Number of rows of each file for type inference; None: all."""
    if sum(decompressed_size(file) for file in files) <= _SMALL:
        return None
    return max(_FEWEST_ROWS, _SAMPLED_ROWS // len(files))


@contextmanager
def _complaining(file: SourceFile, complaints: Complaints) -> Iterator[None]:
    """Context manager: an error of a file becomes a complaint."""
    try:
        yield
    except OSError as error:
        add_fault(complaints, file.path, error)
    except UnicodeDecodeError:
        complaints.add(file.path, *encoding_fault(file.path))
    except CompressionError as error:
        complaints.add(file.path, str(error), UPSTREAM)
    except csv.Error as error:
        words = f"a column name of more than {csv.field_size_limit():,} characters"
        reason = words if str(error).startswith("field larger") else str(error)
        complaints.add(file.path, f"is not a CSV file that can be read: {reason}")
    except (PolarsError, PanicException) as error:
        complaints.add(file.path, f"is not a CSV file that can be read: {str(error).splitlines()[0]}")


def _records(file: SourceFile) -> Iterator[list[str]]:
    with open_text(file.path, encoding="utf-8-sig") as stream:
        yield from csv.reader(stream, delimiter=file.separator)


def _header(file: SourceFile, complaints: Complaints) -> tuple[SourceFile, list[str]] | None:
    """The file with its separator, and the column names; None, and a complaint, where there is no proper header."""
    names: list[str] = []
    with _complaining(file, complaints):
        names = next(_records(file), [])
        if len(names) == 1 and (mark := max(_MARKS, key=names[0].count)) in names[0]:
            file = replace(file, separator=mark)
            names = next(_records(file), [])
        fault = header_fault(names)
        if fault:
            complaints.add(file.path, *fault)
            return None
    return (file, number_duplicates(names, "{} (repeated, {})")) if names else None


def _polars_name(name: str) -> str:
    match = _REPEATED.fullmatch(name)
    if match is None:
        return name
    return match[1] if match[2] == "1" else f"{match[1]}_duplicated_{int(match[2]) - 2}"


def _same_columns(
    file: SourceFile,
    names: list[str],
    first: SourceFile,
    expected: list[str],
    optional: Collection[str],
    complaints: Complaints,
) -> bool:
    faults = column_differences(names, expected, first, optional)
    if file.separator != first.separator:
        mark, other = _MARKS[file.separator], _MARKS[first.separator]
        faults = [f"separates columns with {mark}s, {shown_path(first.path)} with {other}s"]
    if faults:
        complaints.add(file.path, "; ".join(faults), _ONE_HEADER)
    return not faults


def _types(
    file: SourceFile, names: list[str], rows: int | None, complaints: Complaints
) -> dict[str, pl.DataType]:
    """Inferred type of each column; text is looked at again for numbers like `nan`, whole numbers for codes."""
    with _complaining(file, complaints):
        inferred = _inferred_types(file, rows)
        if inferred.names() != [_polars_name(name) for name in names]:
            message = f"its header cannot be read: {name_list(names)}"
            complaints.add(
                file.path, message, "lines must end in a line feed, not in a carriage return alone"
            )
            return {}
        types = dict(zip(names, inferred.dtypes(), strict=True))
        words = [name for name, dtype in types.items() if dtype in {pl.String, pl.Int128}]
        found = _word_types(file, {name: names.index(name) for name in words}, rows)
        types |= {name: t for name, t in found.items() if t != _UNKNOWN or types[name] == pl.String}
        whole = {name for name, dtype in types.items() if dtype.is_integer()}
        if whole:
            with open_bytes(file.path) as stream:
                places = code_fields(stream, rows, file.separator)
                codes = [names[place] for place in places if place < len(names)]
            types |= dict.fromkeys(whole.intersection(codes), pl.String())
        if not has_number_names([_REPEATED.sub(r"\1", name) for name in names], list(types.values())):
            return types
        records = islice(_records(file), _FEWEST_ROWS)
        first = next(records)
        if not is_row(first, list(types.values()), records):
            return types
        complaints.add(file.path, *absent_header(first))
    return {}


def _may_have_decimal_commas(file: SourceFile) -> bool:
    return file.separator != ","


def _inferred_types(file: SourceFile, rows: int | None) -> pl.Schema:
    """Types as Polars infers them; fields that no comma separates are numbers with a point or with a comma."""

    def of(*, decimal_comma: bool) -> pl.Schema:
        return pl.scan_csv(
            file.path,
            glob=False,
            separator=file.separator,
            decimal_comma=decimal_comma,
            infer_schema_length=rows,
            **scan_options([file]),
        ).collect_schema()

    types = of(decimal_comma=False)
    if not _may_have_decimal_commas(file):
        return types
    decimals = {name: dtype for name, dtype in of(decimal_comma=True).items() if dtype == pl.Float64}
    return pl.Schema({**types, **decimals})


def _word_types(file: SourceFile, columns: dict[str, int], rows: int | None) -> dict[str, pl.DataType]:
    """Types of columns of text: text, numbers with words like `nan` among them, or nothing at all."""
    types: dict[str, pl.DataType] = dict.fromkeys(columns, _UNKNOWN)
    undecided, comma = dict(columns), _may_have_decimal_commas(file)
    try:
        for record in islice(_records(file), 1, None if rows is None else rows + 1):
            for name, place in list(undecided.items()):
                value = record[place] if place < len(record) else ""
                value = value.replace(",", ".") if comma else value
                if _NOT_FINITE.fullmatch(value):
                    types[name] = pl.Float64()
                elif value and (not NUMBER.fullmatch(value) or _HUGE.fullmatch(value)):
                    types[name] = pl.String()
                    del undecided[name]
            if not undecided:
                break
    except csv.Error:  # a value that is longer than the module takes
        types |= _long_types(file, list(undecided), rows)
    return types


def _long_types(file: SourceFile, columns: list[str], rows: int | None) -> dict[str, pl.DataType]:
    """Types as by `_word_types`, of some columns read together."""
    names = [_polars_name(name) for name in columns]
    source = open_binary(file.path) if is_address(file.path) else file.path
    table = pl.read_csv(
        source, columns=names, glob=False, infer_schema=False, n_rows=rows, separator=file.separator
    )
    word, number = (f"^({pattern.pattern})$" for pattern in (_NOT_FINITE, NUMBER))
    aggregates = []
    for index, name in enumerate(columns):
        value = pl.col(_polars_name(name))
        words = value.str.contains(f"(?i){word}")
        aggregates += [words.any().alias(f"{index} word")]
        aggregates += [(~words & ~value.str.contains(number)).any().alias(f"{index} text")]
    facts = table.select(aggregates).row(0, named=True)
    types: dict[str, pl.DataType] = dict.fromkeys(columns, _UNKNOWN)
    for index, name in enumerate(columns):
        if facts[f"{index} text"]:
            types[name] = pl.String()
        elif facts[f"{index} word"]:
            types[name] = pl.Float64()
    return types


def _widen(
    schema: dict[str, pl.DataType], types: Mapping[str, pl.DataType], file: SourceFile, complaints: Complaints
) -> None:
    for name, dtype in types.items():
        dtype_so_far = schema[name]
        pair = frozenset({dtype_so_far.base_type(), dtype.base_type()})
        if dtype_so_far == _UNKNOWN:
            schema[name] = dtype
        elif pl.String in pair:
            schema[name] = pl.String()
        elif pair in _WIDER:
            schema[name] = _WIDER[pair]
        elif dtype not in (dtype_so_far, _UNKNOWN):
            message = f"column '{name}' is {dtype}, but {dtype_so_far} in the files before it"
            complaints.add(file.path, message, "write the column in one way in all files")
