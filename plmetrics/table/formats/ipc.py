"""Arrow files, which are Feather files of version 2: footers and schemas, read before any data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from polars.exceptions import PanicException, PolarsError

from plmetrics.table.files import listed
from plmetrics.table.formats.blocks import DAMAGED, batch_rows
from plmetrics.table.formats.footer import FooterError
from plmetrics.table.formats.hive import FILE_PATH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.table.files import Complaints, SourceFile
    from plmetrics.table.formats.hive import Partitions

KIND = "ipc"
NATIVE_PARTITIONS = True
ENDINGS: tuple[str, ...] = (".arrow", ".ipc", ".feather")

_UPSTREAM = "the program that writes it may have stopped halfway; write it again"
_ONE_SCHEMA = (
    "all Arrow files of a table need the same columns with the same types; parquet files may differ more"
)


def inspect(files: Sequence[SourceFile], complaints: Complaints) -> tuple[list[SourceFile], pl.Schema]:
    """The files with their row counts, and their common columns, which may stand in any order."""
    counted_files: list[SourceFile] = []
    schema = pl.Schema()
    for file in files:
        footer = _read_one(file, complaints)
        if footer is None:
            continue
        rows, columns = footer
        if not counted_files:
            schema = columns
        else:
            _compare(schema, columns, file, counted_files[0], complaints)
        counted_files.append(replace(file, rows=rows))
    return counted_files, schema


def scan(
    files: Sequence[SourceFile],
    stored: pl.Schema,  # noqa: ARG001
    partitions: Partitions,
    row_index: str | None = None,
) -> pl.LazyFrame:
    """One lazy scan of all files; with `row_index`, rows are numbered across the files.

    Rows know their `FILE_PATH` where they are numbered or the partitions are not native.
    """
    native = partitions.native
    hive_schema = partitions.schema if native and partitions.schema else None
    return pl.scan_ipc(
        [file.path for file in files],
        glob=False,
        hive_partitioning=hive_schema is not None,
        hive_schema=hive_schema,
        row_index_name=row_index,
        include_file_paths=FILE_PATH if row_index or not native else None,
    )


def _read_one(file: SourceFile, complaints: Complaints) -> tuple[int, pl.Schema] | None:
    try:
        with Path(file.path).open("rb") as stream:
            rows = batch_rows(stream)
        return rows, pl.Schema(pl.read_ipc_schema(file.path))
    except OSError as error:
        complaints.fault(file.path, error)
    except FooterError as error:
        complaints.add(file.path, str(error), _UPSTREAM if str(error) == DAMAGED else None)
    except (PolarsError, PanicException):
        complaints.add(file.path, DAMAGED, _UPSTREAM)
    return None


def _compare(
    schema: pl.Schema, columns: pl.Schema, file: SourceFile, first: SourceFile, complaints: Complaints
) -> None:
    missing = [name for name in schema if name not in columns]
    extra = [name for name in columns if name not in schema]
    faults = []
    if missing:
        faults.append(f"lacks columns that {first.name} has: {listed(missing)}")
    if extra:
        faults.append(f"has columns that {first.name} lacks: {listed(extra)}")
    faults += [
        f"column '{name}' is {columns[name]}, but {dtype} in {first.name}"
        for name, dtype in schema.items()
        if columns.get(name, dtype) != dtype
    ]
    if faults:
        complaints.add(file.path, "; ".join(faults), _ONE_SCHEMA)
