"""Delta tables: the log says which parquet files belong to the present version, and their partitions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import polars as pl

from plmetrics.core.errors import DataError, EnvironmentFault, Problem
from plmetrics.table.files import shown_path
from plmetrics.table.formats.hive import FILE_PATH, NULL, Partitions, partition_pairs
from plmetrics.table.formats.lakehouse import DELTA, Listing, data_file, unreadable

if TYPE_CHECKING:
    from plmetrics.table.files import Complaints, SourceFile

_PARTITION = "partition."
_REPAIR = "restore the file, or repair the table: DeltaTable.repair() takes lost files out of the log"
_MAPPING = "delta.columnMapping.mode"


def list_table(root: Path, complaints: Complaints) -> Listing:
    """The files of a Delta table at its present version, sorted by name.

    Raises:
        DataError: the log cannot be read, or the table asks for what plain parquet files do not show
        EnvironmentFault: the extra is not installed
    """
    table = _open(root)
    _refuse_hidden_changes(table, root)
    actions = pl.DataFrame(table.get_add_actions(flatten=True))
    keys = list(table.metadata().partition_columns)
    values = actions.select(
        "path",
        *(
            pl.col(_PARTITION + key).alias(key)
            if _PARTITION + key in actions.columns
            else pl.lit(None, dtype=pl.String).alias(key)
            for key in keys
        ),
    )
    paths: dict[SourceFile, str] = {}
    for path in actions["path"]:
        file = data_file(_on_disk(path, root), root, complaints, _REPAIR)
        if file is not None:
            paths[file] = path
    files = tuple(sorted(paths, key=lambda file: file.name))
    partitions = pl.DataFrame(
        {"path": [paths[file] for file in files], FILE_PATH: [file.path for file in files]},
        schema={"path": pl.String, FILE_PATH: pl.String},
    )
    values = partitions.join(values, on="path", how="left", maintain_order="left").drop("path")
    declared = pl.scan_delta(table).collect_schema()
    schema = pl.Schema({name: dtype for name, dtype in declared.items() if name not in keys})
    return Listing(DELTA, files, schema, _partitions(values))


def _open(root: Path) -> Any:
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    except ImportError as error:
        raise EnvironmentFault.missing_extra(extra="delta", needed_for="reading a Delta table") from error
    try:
        return DeltaTable(str(root))
    except (DeltaError, OSError, ValueError) as error:
        raise unreadable(DELTA, Path(shown_path(root)), error) from error


def _refuse_hidden_changes(table: Any, root: Path) -> None:
    """Rows that are deleted, and columns that are renamed, without the files saying so."""
    if table.metadata().configuration.get(_MAPPING, "none") != "none":
        message = "its columns have other names in its files (column mapping)"
        raise DataError(Problem(f"{shown_path(root)}: {message}", hint="write a copy without column mapping"))
    features = table.protocol().reader_features or ()
    if "deletionVectors" in features and pl.DataFrame(table.deletion_vectors()).height:
        message = "rows of its files are marked as deleted (deletion vectors)"
        hint = "purge them first: REORG TABLE ... APPLY (PURGE)"
        raise DataError(Problem(f"{shown_path(root)}: {message}", hint=hint))


def _on_disk(path: str, root: Path) -> Path:
    """The file of a path in the log: escaped, and relative to the table unless it is a URL."""
    parts = urlsplit(path)
    return root / unquote(parts.path if parts.scheme == "file" else path)


def _partitions(values: pl.DataFrame) -> Partitions:
    schema = pl.Schema({name: dtype for name, dtype in values.schema.items() if name != FILE_PATH})
    return Partitions(schema, values, native=not schema or _stand_in_paths(values, schema))


def _stand_in_paths(values: pl.DataFrame, schema: pl.Schema) -> bool:
    """Whether the folders of all files say the same as the log, so that a scan finds the values there."""
    texts = values.with_columns(pl.col(schema.names()).cast(pl.String))
    return all(
        [(key, None if text == NULL else unquote(text)) for key, text in partition_pairs(row[FILE_PATH])]
        == [(key, row[key]) for key in schema]
        for row in texts.iter_rows(named=True)
    )
