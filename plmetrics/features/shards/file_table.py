"""Files of a table as JSON, for another machine to open some of them as the same table, without a look at others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from plmetrics.core.errors import ConfigError, DataError, Problem
from plmetrics.core.names import is_address
from plmetrics.core.redaction import mask_address
from plmetrics.states.state_format import frame_of, frame_text
from plmetrics.suite.yaml.variables import expand
from plmetrics.table.data_files import formats
from plmetrics.table.files import SourceFile, shown_path
from plmetrics.table.formats.hive import FILE_PATH, Partitions
from plmetrics.table.formats.lakehouse import ListedFiles, Listing
from plmetrics.table.formats.reader import FileFormat, Reader
from plmetrics.table.source import Source, schema_of
from plmetrics.table.stamps import stamps_now


def table_content(source: Source) -> dict[str, Any]:
    """Facts common to all files of a table.

    Raises:
        ConfigError: it has no files.
    """
    reader = _reader(source)
    return {
        "kind": source.kind,
        "columns": frame_text(pl.DataFrame(schema=reader.stored)),
        "partitions": reader.partitions.schema.names(),
        "native": reader.partitions.native,
        "insert": reader.insert,
        "absent": list(source.absent),
    }


def file_contents(source: Source, written: Callable[[str], str]) -> list[dict[str, Any]]:
    """Facts of each file; `written` is a function for the texts of paths."""
    reader = _reader(source)
    values = reader.partitions.values
    names = reader.partitions.schema.names()
    return [
        {
            "path": _without_signature(written(_absolute(file.path))),
            "name": file.name,
            "bytes": file.size,
            "rows": file.rows,
            # Size and time of the last change, or entity tag: what every machine with access to the file reads.
            "stamp": None if file.stamp is None else list(file.stamp[2:]),
            **({"partition": frame_text(values[number].select(names))} if names else {}),
            **({} if file.separator == "," else {"separator": file.separator}),
            **_lakehouse_facts(reader.format, file),
        }
        for number, file in enumerate(reader.files)
    ]


def open_table(table: Mapping[str, Any], files: Sequence[Mapping[str, Any]]) -> Source:
    """Some files of a table.

    Raises:
        DataError: a file changed since it was written down.
        ConfigError: a path names a variable that is not set.
    """
    listed = _source_files(files)
    stored = frame_of(table["columns"]).schema
    values = pl.DataFrame({FILE_PATH: [file.path for file in listed]})
    if table["partitions"]:
        values = pl.concat(
            [values, pl.concat([frame_of(file["partition"]) for file in files])], how="horizontal"
        )
    schema = pl.Schema({name: values.schema[name] for name in table["partitions"]})
    partitions = Partitions(schema, values, table["native"])
    reader = Reader(
        _format(table["kind"], listed, files, stored, partitions),
        tuple(listed),
        stored,
        partitions,
        table["insert"],
    )
    frame = reader.rows()
    counts = [file.live_rows for file in listed if file.live_rows is not None]
    rows = sum(counts) if len(counts) == len(listed) else None
    source = Source(frame, schema_of(frame), reader.files, table["kind"], rows, reader)
    for column in table["absent"]:
        source = source.with_absent(column)
    return source


def _absolute(path: str) -> str:
    """Absolute path, valid for workers started anywhere."""
    return path if is_address(path) else str(Path(path).absolute())


def _without_signature(path: str) -> str:
    if mask_address(path) == path:
        return path
    msg = f"{mask_address(path)}: the signature of an address would be written into the plan"
    hint = "write the address as a variable of the environment, ${NAME}, which workers have as well"
    raise ConfigError(Problem(msg, ("data", "path"), hint))


def _reader(source: Source) -> Reader:
    if source.reader is None or source.kind == "query":
        msg = "only a table of files has units: rows in memory, those of a query and TREC files are one"
        raise ConfigError(Problem(msg, ("data",), "write the table to several parquet files"))
    return source.reader


def _lakehouse_facts(format_: FileFormat, file: SourceFile) -> dict[str, Any]:
    """Column names of a file of a Delta or Iceberg table, and its deleted rows."""
    if not isinstance(format_, ListedFiles):
        return {}
    names, deleted = format_.stored_names(file), format_.deleted_rows(file)
    return {
        **({"stored_names": dict(names)} if names else {}),
        **({} if deleted is None else {"deleted": frame_text(deleted.alias("row").to_frame())}),
    }


def _format(
    kind: str,
    files: Sequence[SourceFile],
    contents: Sequence[Mapping[str, Any]],
    stored: pl.Schema,
    partitions: Partitions,
) -> FileFormat:
    present = formats().get(kind)
    if present is not None:
        return present
    names = {
        file.path: content["stored_names"]
        for file, content in zip(files, contents, strict=True)
        if "stored_names" in content
    }
    deletions = {
        file.path: frame_of(content["deleted"])["row"]
        for file, content in zip(files, contents, strict=True)
        if "deleted" in content
    }
    return ListedFiles(
        Listing(kind, tuple(files), stored, partitions, stored_names=names, deletions=deletions)
    )


def _source_files(contents: Sequence[Mapping[str, Any]]) -> list[SourceFile]:
    paths = [_path(content["path"]) for content in contents]
    stamps = stamps_now(paths)
    files = []
    for path, content in zip(paths, contents, strict=True):
        stamp = stamps[path]
        if stamp is None or (content["stamp"] is not None and list(stamp[2:]) != content["stamp"]):
            verb = "is not there any more" if stamp is None else "changed since the plan was made"
            raise DataError(
                Problem(f"{shown_path(path)} {verb}", hint="make the plan again: plmetrics units")
            )
        deleted = frame_of(content["deleted"]).height if "deleted" in content else 0
        facts = (content["name"], content["bytes"], content["rows"], stamp)
        separator = content.get("separator", ",")
        files.append(SourceFile(path, *facts, deleted=deleted, separator=separator))
    return files


def _path(text: str) -> str:
    path = expand(text)
    if path is None:
        msg = f"{text}: a variable of the environment in it is not set here"
        raise ConfigError(Problem(msg, hint="set it as where the plan was made"))
    return path


def variable_paths(names: Iterable[str]) -> Callable[[str], str]:
    """Writes paths with variables of the environment in place of their values, longest first."""
    values = {os.environ[name]: name for name in names if os.environ.get(name, "").strip("./")}

    def written(path: str) -> str:
        if "${" in path:
            return path
        for value in sorted(values, key=len, reverse=True):
            path = path.replace(value, f"${{{values[value]}}}") if "${" not in path else path
        return path

    return written
