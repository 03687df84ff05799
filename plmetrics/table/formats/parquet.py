"""Parquet files: footers and schemas, read before any data."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING, TypeAlias

import polars as pl
from polars.exceptions import PanicException, PolarsError

from plmetrics.table.common_types import unnamed_zone
from plmetrics.table.formats.common_columns import ColumnRules, common_columns
from plmetrics.table.formats.footer import DAMAGED, MAGIC, FooterError, footer_rows, read_footer
from plmetrics.table.formats.hive import FILE_PATH
from plmetrics.table.storage.objects import each_file, open_binary
from plmetrics.table.storage.stores import scan_options

if TYPE_CHECKING:
    from plmetrics.table.files import Complaints, SourceFile
    from plmetrics.table.formats.reader import Reader

Footer: TypeAlias = "tuple[int, Mapping[str, pl.DataType]]"
"""The number of rows of a file, and its columns."""

KIND = "parquet"
NATIVE_PARTITIONS = True
ENDINGS: tuple[str, ...] = (".parquet", ".pq")

_TAIL = 1 << 16
_UPSTREAM = "the program that writes it may have stopped halfway; write it again"
_DIGITS = 38
_FEWER = f"write them with at most {_DIGITS} digits, or as text"
_ONE_TYPE = "write the column with one type in all files"
_CASTS = pl.ScanCastOptions(
    integer_cast=["upcast", "allow-float"], float_cast=["upcast"], categorical_to_string="allow"
)
_UNSIGNED, _SIGNED, _FLOAT = range(3)
# A type holds another without loss if its kind is not lower and it has as many bits for whole numbers.
_NUMBERS: dict[type[pl.DataType], tuple[int, int]] = {
    pl.UInt8: (_UNSIGNED, 8),
    pl.UInt16: (_UNSIGNED, 16),
    pl.UInt32: (_UNSIGNED, 32),
    pl.UInt64: (_UNSIGNED, 64),
    pl.Int8: (_SIGNED, 7),
    pl.Int16: (_SIGNED, 15),
    pl.Int32: (_SIGNED, 31),
    pl.Int64: (_SIGNED, 63),
    pl.Int128: (_SIGNED, 127),
    pl.Float16: (_FLOAT, 11),
    pl.Float32: (_FLOAT, 24),
    pl.Float64: (_FLOAT, 53),
}


def inspect(
    files: Sequence[SourceFile], complaints: Complaints, optional: Collection[str] = ()
) -> tuple[list[SourceFile], pl.Schema]:
    """The files with their row counts, and the columns of the first one, as wide as all files need them.

    Columns may stand in another order, and columns that the first file does not have are ignored. Numeric
    types that differ are read as the type that holds both; any other difference is a complaint. Files may lack the
    `optional` ones.
    """
    footers = zip(files, each_file(lambda file: read_one(file, complaints), files), strict=True)
    legible = ((replace(file, rows=footer[0]), footer[1]) for file, footer in footers if footer is not None)
    chosen, schema = common_columns(legible, ColumnRules(common_type, _ONE_TYPE), complaints, optional)
    return chosen, pl.Schema(schema)


def scan(reader: Reader, row_index: str | None = None) -> pl.LazyFrame:
    """Lazy scan of all files; see `reader.FileFormat`."""
    native = reader.partitions.native
    hive_schema = reader.partitions.schema if native and reader.partitions.schema else None
    return pl.scan_parquet(
        [file.path for file in reader.files],
        glob=False,
        schema={name: dtype for name, dtype in reader.stored.items() if name not in reader.partitions.schema},
        hive_partitioning=hive_schema is not None,
        hive_schema=hive_schema,
        extra_columns="ignore",
        missing_columns="insert" if reader.insert else "raise",
        cast_options=_CASTS,
        row_index_name=row_index,
        include_file_paths=FILE_PATH if row_index or not native else None,
        **scan_options(reader.files),
    )


def read_one(file: SourceFile, complaints: Complaints) -> Footer | None:
    """The number of rows and the columns of one file, from its footer; None, and a complaint, where it has none."""
    footer = footer_file(file, complaints)
    return None if footer is None else columns_of(footer, file, complaints)


def footer_file(file: SourceFile, complaints: Complaints) -> bytes | None:
    """The footer of a file as a parquet file without rows; None, and a complaint, where it has none."""
    try:
        with open_binary(file.path, _TAIL, file.size) as stream:
            footer = read_footer(stream)
    except OSError as error:
        complaints.fault(file.path, error)
    except FooterError as error:
        complaints.add(file.path, str(error), _UPSTREAM)
    else:
        return MAGIC + footer + len(footer).to_bytes(4, "little") + MAGIC
    return None


def columns_of(footer: bytes, file: SourceFile, complaints: Complaints) -> Footer | None:
    """Number of rows and columns of a footer, as `read_one` gives them."""
    try:
        columns = pl.read_parquet_schema(BytesIO(footer))
        for name, dtype in columns.items():
            if isinstance(dtype, pl.Decimal) and dtype.precision > _DIGITS:
                complaints.add(file.path, f"column '{name}' has decimals of {dtype.precision} digits", _FEWER)
        return footer_rows(footer[len(MAGIC) : -len(MAGIC) - 4]), columns
    except FooterError as error:
        complaints.add(file.path, str(error), _UPSTREAM)
    except (PolarsError, PanicException) as error:
        complaints.add(file.path, *(unnamed_zone(error) or (DAMAGED, _UPSTREAM)))
    return None


def common_type(first: pl.DataType, other: pl.DataType) -> pl.DataType | None:
    """Common type of two, or None. Whole numbers beside others are Float64, exact up to 2^53.

    >>> common_type(pl.UInt32(), pl.Int32())
    Int64
    >>> common_type(pl.Int64(), pl.Float64())
    Float64
    """
    if other in (first, pl.Null):
        return first
    if first == pl.Null:
        return other
    if {first.base_type(), other.base_type()} == {pl.Categorical, pl.String}:
        return pl.String()
    if isinstance(first, pl.Decimal) and isinstance(other, pl.Decimal) and first.scale == other.scale:
        return pl.Decimal(max(first.precision, other.precision), first.scale)
    for candidate in (first, other, pl.Int16(), pl.Int32(), pl.Int64(), pl.Float64(), pl.Int128()):
        if _holds(candidate, first) and _holds(candidate, other):
            return candidate
    numbers = all(dtype.base_type() in _NUMBERS for dtype in (first, other))
    return pl.Float64() if numbers else None


def _holds(target: pl.DataType, source: pl.DataType) -> bool:
    required, actual = _NUMBERS.get(target.base_type()), _NUMBERS.get(source.base_type())
    return (
        required is not None and actual is not None and required[0] >= actual[0] and required[1] >= actual[1]
    )
