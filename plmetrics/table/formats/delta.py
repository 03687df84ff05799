"""Delta tables: the log with the parquet files of a version, and their partitions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

import polars as pl

from plmetrics.core.errors import needs_extra
from plmetrics.core.names import is_address
from plmetrics.table.files import Complaints, SourceFile, shown_path
from plmetrics.table.formats.hive import FILE_PATH, NULL, Partitions, partition_pairs
from plmetrics.table.formats.lakehouse import DELTA, Listing, absent_version, data_files, unreadable
from plmetrics.table.storage.stores import plain_http

_PARTITION = "partition."
_REPAIR = "restore the file, or repair the table: DeltaTable.repair() takes lost files out of the log"
_MAPPING = "delta.columnMapping.mode"
_STORED_NAME = "delta.columnMapping.physicalName"


def list_table(root: str, complaints: Complaints, version: int | None = None) -> Listing:
    """The files of a Delta table at a version, the present one if none is named, sorted by name.

    Raises:
        DataError: the log cannot be read
        EnvironmentFault: the extra is not installed, or a store cannot be reached
    """
    table = _open(root, version)
    actions = pl.DataFrame(table.get_add_actions(flatten=True))
    schema = pl.Schema(table.schema())
    names = _stored_names(table)
    keys = list(table.metadata().partition_columns)
    values = actions.select("path", *(_partition_values(actions, key, names, schema) for key in keys))
    places = {_place(path, root): path for path in actions["path"]}
    listed = data_files(list(places), root, complaints, _REPAIR)
    files = tuple(sorted(listed.values(), key=lambda file: file.name))
    partitions = pl.DataFrame(
        {"path": [places[file.path] for file in files], FILE_PATH: [file.path for file in files]},
        schema={"path": pl.String, FILE_PATH: pl.String},
    )
    values = partitions.join(values, on="path", how="left", maintain_order="left").drop("path")
    in_files = pl.Schema({name: dtype for name, dtype in schema.items() if name not in keys})
    stored_names = {name: names[name] for name in in_files if name in names}
    return Listing(
        DELTA,
        files,
        in_files,
        _partitions(values),
        stored_names=dict.fromkeys((file.path for file in files), stored_names),
        deletions=_deletions(table, root, files),
        version=table.version(),
    )


def _open(root: str, version: int | None) -> Any:
    with needs_extra("delta", "reading a Delta table"):
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    try:
        table = DeltaTable(root, storage_options={"AWS_ALLOW_HTTP": "true"} if plain_http(root) else None)
        present = table.version()
        if version is not None and version != present:
            if not 0 <= version < present:
                raise absent_version(root, version, present)
            table.load_as_version(version)
    except (DeltaError, OSError, ValueError) as error:
        raise unreadable(DELTA, shown_path(root), error) from error
    return table


def _stored_names(table: Any) -> Mapping[str, str]:
    """Physical column names in the files, for a table with column mapping."""
    if table.metadata().configuration.get(_MAPPING, "none") == "none":
        return {}
    fields = json.loads(table.schema().to_json())["fields"]
    return {field["name"]: field["metadata"].get(_STORED_NAME, field["name"]) for field in fields}


def _partition_values(
    actions: pl.DataFrame, key: str, names: Mapping[str, str], schema: pl.Schema
) -> pl.Expr:
    """Values of a partition column by file; a column of nulls alone is stored nowhere."""
    columns = (_PARTITION + name for name in (key, names.get(key, key)))
    column = next((name for name in columns if name in actions.columns), None)
    if column is None:
        return pl.lit(None, dtype=pl.String).alias(key)
    return (pl.col(column).cast(schema[key]) if names else pl.col(column)).alias(key)


def _deletions(table: Any, root: str, files: Sequence[SourceFile]) -> dict[str, pl.Series]:
    """Numbers of rows with a deletion mark, by the path of their file."""
    if "deletionVectors" not in (table.protocol().reader_features or ()):
        return {}
    vectors = pl.DataFrame(table.deletion_vectors())
    paths = {file.path for file in files}
    deletions = {}
    for path, retained in vectors.select("filepath", "selection_vector").iter_rows():
        place = path if path in paths else _place(path, root)
        deletions[place] = (~pl.Series(retained, dtype=pl.Boolean)).arg_true()
    return deletions


def _place(path: str, root: str) -> str:
    """The file of a path in the log: escaped, and relative to the table unless it is a URL."""
    parts = urlsplit(path)
    if parts.scheme in {"", "file"}:
        place = unquote(parts.path if parts.scheme else path)
        return place if place.startswith("/") and not is_address(root) else f"{root}/{place.lstrip('/')}"
    return unquote(path)


def _partitions(values: pl.DataFrame) -> Partitions:
    schema = pl.Schema({name: dtype for name, dtype in values.schema.items() if name != FILE_PATH})
    return Partitions(schema, values, native=not schema or _stand_in_paths(values, schema))


def _stand_in_paths(values: pl.DataFrame, schema: pl.Schema) -> bool:
    """Whether the folder names of all files agree with the log, as a scan reads partition values there."""
    texts = values.with_columns(pl.col(schema.names()).cast(pl.String))
    return all(
        [(key, None if text == NULL else unquote(text)) for key, text in partition_pairs(row[FILE_PATH])]
        == [(key, row[key]) for key in schema]
        for row in texts.iter_rows(named=True)
    )
