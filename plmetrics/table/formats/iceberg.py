"""Iceberg tables: the metadata with the parquet files of a snapshot."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Sequence
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.errors import AbsentDataError, DataError, Problem, needs_extra
from plmetrics.core.names import is_address
from plmetrics.table.files import Complaints, SourceFile, shown_path
from plmetrics.table.formats.hive import FILE_PATH, Partitions
from plmetrics.table.formats.iceberg_deletes import FieldNames, deleted_rows, file_place, is_data
from plmetrics.table.formats.lakehouse import (
    ICEBERG,
    METADATA_ENDING,
    Listing,
    absent_version,
    data_files,
    unreadable,
)
from plmetrics.table.formats.parquet import Footer, columns_of, footer_file
from plmetrics.table.storage.addresses import parse_address
from plmetrics.table.storage.objects import at_once, each_file, names_in

if TYPE_CHECKING:
    import pyarrow as pa

_VERSION = re.compile(r"v?(\d+)")
_MOVED = "restore the file; a table that was moved names its files where they were, so register it anew"
_REWRITE = "rewrite the table's data files, for example with rewrite_data_files"


def list_table(place: str, complaints: Complaints, version: int | None = None) -> Listing:
    """The files of a snapshot of an Iceberg table, the present one if none is named, sorted by name.

    Args:
        place: the table's folder, or one of its metadata files; a path or an address.
        complaints: takes whatever is wrong with a data file.
        version: the snapshot's id.

    Raises:
        DataError: the metadata cannot be read, or the table asks for what plain parquet files do not show
        EnvironmentFault: the extra is not installed
    """
    metadata = place if place.endswith(METADATA_ENDING) else _latest(place)
    root = posixpath.dirname(posixpath.dirname(metadata))
    table, entries = _open(metadata, version)
    data = {file_place(entry.data_file): entry for entry in entries if is_data(entry)}
    _refuse_other_formats(entries, root)
    files = data_files(list(data), root, complaints, _MOVED)
    footers = _footers(list(files.values()), complaints)
    fields = FieldNames.of(table, version)
    names = {path: fields.stored_names(schema) for path, (_, schema) in footers.items()}
    listed = sorted(
        (file for path, file in files.items() if path in footers),
        key=lambda file: (str(sorted(names[file.path].items(), key=str)), file.name),
    )
    deletions = (
        {}
        if complaints
        else deleted_rows(table, entries, {file.path: data[file.path] for file in listed}, fields)
    )
    return Listing(
        ICEBERG,
        tuple(listed),
        pl.scan_iceberg(table, snapshot_id=version).collect_schema(),
        _no_partitions(listed),
        _metadata_columns(table),
        stored_names=names,
        deletions=deletions,
        footers={path: footer for path, (footer, _) in footers.items()},
        version=table.metadata.current_snapshot_id if version is None else version,
    )


def _footers(files: Sequence[SourceFile], complaints: Complaints) -> dict[str, tuple[Footer, pa.Schema]]:
    """Footers of files by path, and their columns with the ids of the table's fields."""
    import pyarrow.parquet as pq

    def read(file: SourceFile) -> tuple[Footer, pa.Schema] | None:
        content = footer_file(file, complaints)
        footer = None if content is None else columns_of(content, file, complaints)
        return None if content is None or footer is None else (footer, pq.read_schema(BytesIO(content)))

    answers = zip(files, each_file(read, files), strict=True)
    return {file.path: answer for file, answer in answers if answer is not None}


def _latest(root: str) -> str:
    """The metadata file of the highest version, the youngest of several."""
    if is_address(root):
        address = parse_address(f"{root}/metadata")
        names = [name for name in names_in(address) if name.endswith(METADATA_ENDING)]
        return f"{address}/{max(names, key=lambda name: (_version(name), name))}"

    def age(file: Path) -> tuple[int, float]:
        return (_version(file.name), file.stat().st_mtime)

    return str(max((Path(root) / "metadata").glob("*" + METADATA_ENDING), key=age))


def _version(name: str) -> int:
    version = _VERSION.match(name)
    return int(version[1]) if version else -1


def _open(metadata: str, snapshot: int | None = None) -> tuple[Any, list[Any]]:
    if not is_address(metadata) and not Path(metadata).exists():
        msg = f"{shown_path(metadata)}: no such file or folder"
        raise AbsentDataError(msg)
    with needs_extra("iceberg", "reading an Iceberg table"):
        import pyarrow  # noqa: F401  (the library opens local files with it, but does not require it)
        from pyiceberg.table import StaticTable
    try:
        table = StaticTable.from_metadata(metadata, _properties(metadata))
        chosen = table.current_snapshot() if snapshot is None else table.snapshot_by_id(snapshot)
        manifests = [] if chosen is None else chosen.manifests(table.io)
        entries = at_once(lambda manifest: manifest.fetch_manifest_entry(table.io), manifests)
    except Exception as error:  # the library lets errors of JSON, Avro, pydantic and the file system through
        raise unreadable(ICEBERG, shown_path(metadata), error) from error
    if snapshot is not None and chosen is None:
        raise absent_version(metadata, snapshot, table.metadata.current_snapshot_id)
    return table, list(chain.from_iterable(entries))


def _properties(metadata: str) -> dict[str, str]:
    """Properties of a private S3 server for the library."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL")
    return {"s3.endpoint": endpoint} if endpoint and metadata.startswith("s3://") else {}


def _refuse_other_formats(entries: Iterable[Any], root: str) -> None:
    kinds = {str(entry.data_file.file_format.value) for entry in entries}
    if others := sorted(kinds - {"PARQUET", "PUFFIN"}):
        message = f"{shown_path(root)}: some of its files are {', '.join(others)}, not parquet"
        raise DataError(Problem(message, hint=_REWRITE))


def _metadata_columns(table: Any) -> frozenset[str]:
    """Columns with values possibly in the metadata alone: partition values and defaults."""
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


def _no_partitions(files: Sequence[SourceFile]) -> Partitions:
    paths = pl.DataFrame({FILE_PATH: [file.path for file in files]}, schema={FILE_PATH: pl.String})
    return Partitions(pl.Schema(), paths, native=True)
