"""Iceberg tables: the metadata say which parquet files belong to the present snapshot."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import polars as pl

from plmetrics.core.errors import AbsentDataError, DataError, EnvironmentFault, Problem
from plmetrics.table.files import shown_path
from plmetrics.table.formats.hive import FILE_PATH, Partitions
from plmetrics.table.formats.lakehouse import ICEBERG, METADATA_ENDING, Listing, data_file, unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.table.files import Complaints, SourceFile

_VERSION = re.compile(r"v?(\d+)")
_MOVED = "restore the file; a table that was moved names its files where they were, so register it anew"
_REWRITE = "rewrite the table's data files, for example with rewrite_data_files"


def list_table(path: Path, complaints: Complaints) -> Listing:
    """The files of the present snapshot of an Iceberg table, sorted by name.

    Args:
        path: the table's folder, or one of its metadata files.
        complaints: takes whatever is wrong with a data file.

    Raises:
        DataError: the metadata cannot be read, or the table asks for what plain parquet files do not show
        EnvironmentFault: the extra is not installed
    """
    metadata = path if path.name.endswith(METADATA_ENDING) else _latest(path)
    root = metadata.parent.parent
    table, tasks = _open(metadata)
    _refuse_hidden_changes(table, tasks, root)
    data_files = (data_file(_on_disk(task.file.file_path), root, complaints, _MOVED) for task in tasks)
    files = tuple(sorted((file for file in data_files if file), key=lambda file: file.name))
    schema = pl.scan_iceberg(table).collect_schema()
    return Listing(ICEBERG, files, schema, _no_partitions(files), _metadata_columns(table))


def _latest(root: Path) -> Path:
    """The metadata file of the highest version, the youngest of several."""

    def age(file: Path) -> tuple[int, float]:
        version = _VERSION.match(file.name)
        return (int(version[1]) if version else -1, file.stat().st_mtime)

    return max((root / "metadata").glob("*" + METADATA_ENDING), key=age)


def _open(metadata: Path) -> tuple[Any, list[Any]]:
    if not metadata.exists():
        msg = f"{shown_path(metadata)}: no such file or folder"
        raise AbsentDataError(msg)
    try:
        import pyarrow  # noqa: F401  (the library opens local files with it, but does not require it)
        from pyiceberg.table import StaticTable
    except ImportError as error:
        fault = EnvironmentFault.missing_extra(extra="iceberg", needed_for="reading an Iceberg table")
        raise fault from error
    try:
        table = StaticTable.from_metadata(str(metadata))
        return table, list(table.scan().plan_files())
    except Exception as error:  # the library lets errors of JSON, Avro, pydantic and the file system through
        raise unreadable(ICEBERG, Path(shown_path(metadata)), error) from error


def _refuse_hidden_changes(table: Any, tasks: Sequence[Any], root: Path) -> None:
    """Rows that are deleted, and columns that are renamed, without the files saying so."""
    message = None
    if any(task.delete_files for task in tasks):
        message = "rows of its files are marked as deleted (delete files)"
    elif others := sorted({str(task.file.file_format.value) for task in tasks} - {"PARQUET"}):
        message = f"its data files are {', '.join(others)}, not parquet"
    else:
        names: dict[int, set[str]] = {}
        fields: dict[str, set[int]] = {}
        for schema in table.metadata.schemas:
            for field in schema.fields:
                names.setdefault(field.field_id, set()).add(field.name)
                fields.setdefault(field.name, set()).add(field.field_id)
        renamed = [sorted(every) for every in names.values() if len(every) > 1]
        reused = [name for name, every in fields.items() if len(every) > 1]
        if renamed or reused:
            changes = " and ".join([" = ".join(every) for every in renamed] + reused)
            message = f"columns were renamed or replaced, so that older files name them otherwise: {changes}"
    if message is not None:
        raise DataError(Problem(f"{shown_path(root)}: {message}", hint=_REWRITE))


def _metadata_columns(table: Any) -> frozenset[str]:
    """Columns whose values may stand in the metadata only: partition values and defaults."""
    schema = table.schema()
    partitions = {
        field.source_id
        for spec in table.metadata.partition_specs
        for field in spec.fields
        if str(field.transform) == "identity"
    }
    return frozenset(
        field.name
        for field in schema.fields
        if field.field_id in partitions or getattr(field, "initial_default", None) is not None
    )


def _on_disk(path: str) -> Path:
    parts = urlsplit(path)
    if parts.scheme not in {"", "file"}:
        message = f"'{path}': remote storage is not available yet"
        raise DataError(Problem(message, hint="copy the table to a local disk first"))
    return Path(parts.path if parts.scheme else path)


def _no_partitions(files: Sequence[SourceFile]) -> Partitions:
    paths = pl.DataFrame({FILE_PATH: [file.path for file in files]}, schema={FILE_PATH: pl.String})
    return Partitions(pl.Schema(), paths, native=True)
