"""Iceberg tables: the metadata say which parquet files belong to a snapshot."""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import polars as pl

from plmetrics.core.errors import AbsentDataError, DataError, EnvironmentFault, Problem
from plmetrics.core.names import is_address
from plmetrics.table.files import shown_path
from plmetrics.table.formats.hive import FILE_PATH, Partitions
from plmetrics.table.formats.lakehouse import (
    ICEBERG,
    METADATA_ENDING,
    Listing,
    absent_version,
    data_files,
    unreadable,
)
from plmetrics.table.storage.addresses import parse_address
from plmetrics.table.storage.objects import names_in, open_binary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from plmetrics.table.files import Complaints, SourceFile

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
    table, tasks = _open(metadata, version)
    _refuse_hidden_changes(table, tasks, root)
    places = {_place(task.file.file_path): task for task in tasks}
    listed = data_files(list(places), root, complaints, _MOVED)
    files = tuple(sorted(listed.values(), key=lambda file: file.name))
    present = table.metadata.current_snapshot_id if version is None else version
    schema = pl.scan_iceberg(table, snapshot_id=version).collect_schema()
    deletions = _deletions(table, {file.path: places[file.path] for file in files})
    return Listing(
        ICEBERG,
        files,
        schema,
        _no_partitions(files),
        _metadata_columns(table),
        deletions=deletions,
        version=present,
    )


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
    try:
        import pyarrow  # noqa: F401  (the library opens local files with it, but does not require it)
        from pyiceberg.table import StaticTable
    except ImportError as error:
        fault = EnvironmentFault.missing_extra(extra="iceberg", needed_for="reading an Iceberg table")
        raise fault from error
    try:
        table = StaticTable.from_metadata(metadata, _properties(metadata))
        is_absent = snapshot is not None and table.snapshot_by_id(snapshot) is None
        tasks = [] if is_absent else list(table.scan(snapshot_id=snapshot).plan_files())
    except Exception as error:  # the library lets errors of JSON, Avro, pydantic and the file system through
        raise unreadable(ICEBERG, shown_path(metadata), error) from error
    if snapshot is not None and is_absent:
        raise absent_version(metadata, snapshot, table.metadata.current_snapshot_id)
    return table, tasks


def _properties(metadata: str) -> dict[str, str]:
    """How the library finds an S3 server of one's own."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL")
    return {"s3.endpoint": endpoint} if endpoint and metadata.startswith("s3://") else {}


def _deletions(table: Any, tasks: Mapping[str, Any]) -> dict[str, pl.Series]:
    """By the path of a file the numbers of its rows that delete files name."""
    delete_files = {file for task in tasks.values() for file in task.delete_files}
    if not delete_files:
        return {}
    deleted = pl.concat(_deleted_rows(table, file) for file in delete_files).unique()
    by_path = deleted.partition_by("file_path", as_dict=True)
    by_place = {_place(str(path)): rows["pos"] for (path,), rows in by_path.items()}
    return {place: numbers for place, numbers in by_place.items() if place in tasks}


def _deleted_rows(table: Any, file: Any) -> pl.DataFrame:
    """Paths and row numbers that one delete file names."""
    schema = {"file_path": pl.String, "pos": pl.Int64}
    place = _place(file.file_path)
    if str(file.file_format.value) == "PARQUET":
        source = open_binary(place) if is_address(place) else place
        return pl.read_parquet(source, columns=list(schema)).cast(pl.Schema(schema))
    from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
    from pyiceberg.table.puffin import PuffinFile

    with table.io.new_input(file.file_path).open() as opened:
        vectors = deletion_vectors_from_puffin_file(PuffinFile(opened.read()))
    frames = (
        pl.DataFrame({"pos": pl.Series(vector.to_vector().to_pylist(), dtype=pl.Int64)}).select(
            file_path=pl.lit(vector.referenced_data_file), pos="pos"
        )
        for vector in vectors
    )
    return pl.concat([pl.DataFrame(schema=schema), *frames])


def _refuse_hidden_changes(table: Any, tasks: Sequence[Any], root: str) -> None:
    """Columns that are renamed without the files saying so."""
    message = None
    if others := sorted({str(task.file.file_format.value) for task in tasks} - {"PARQUET"}):
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


def _place(path: str) -> str:
    """The path or address of a file."""
    return urlsplit(path).path if path.startswith("file:") else path


def _no_partitions(files: Sequence[SourceFile]) -> Partitions:
    paths = pl.DataFrame({FILE_PATH: [file.path for file in files]}, schema={FILE_PATH: pl.String})
    return Partitions(pl.Schema(), paths, native=True)
