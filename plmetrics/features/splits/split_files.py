"""Tables with new columns, written to files as they stream by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import polars as pl
import polars.selectors as cs

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.engine.faults import reading
from plmetrics.engine.memory.budget import machine_budget
from plmetrics.engine.memory.settings import memory_settings
from plmetrics.engine.streaming import write_rows
from plmetrics.runs.files import environment_faults, replacement

if TYPE_CHECKING:
    from plmetrics.table.formats.reader import FileFormat, Reader
    from plmetrics.table.source import Source

ENDINGS = (".parquet", ".csv")
_TEXT = "@@text|"


def write_split(data: str, output: Path, method: str, arguments: Mapping[str, Any]) -> None:
    """Write a table with the columns of a split to a file, `.parquet` or `.csv`.

    `method` is the name of a function in `plmetrics.features.splits.splitters`, with its `arguments`.

    Raises:
        AbsentDataError: the table has no rows.
        ConfigError: an argument is wrong, or the file is part of the data or of an unknown format.
        DataError: the data cannot be read, or do not have what is asked for.
        EnvironmentFault: the system refuses to write.
    """
    from plmetrics.features.splits import splitters
    from plmetrics.features.splits.split_request import check_not_empty
    from plmetrics.table.opening import open_source

    source = open_source(data)
    _check_output(output, source)
    check_not_empty(source)
    texts = _with_texts(source) if output.suffix.lower() == ".csv" else source
    stored = {
        name: pl.col(f"{_TEXT}{name}").alias(name) for name in source.schema if _TEXT + name in texts.schema
    }
    with memory_settings(machine_budget()), environment_faults("the table cannot be written"):
        rows = getattr(splitters, method)(texts, **arguments).lazy()
        names = [name for name in rows.collect_schema() if not name.startswith(_TEXT)]
        _write_table(source, rows.select(stored.get(name, cs.by_name(name)) for name in names), output)


def _with_texts(source: Source) -> Source:
    """A csv table with the texts of its columns beside their values: a code such as 007 is to be written as it was."""
    if source.kind != "csv" or source.reader is None:
        return source
    reader = replace(source.reader, format=cast("FileFormat", _TextColumns(source.reader.format)))
    texts = {f"{_TEXT}{name}": pl.String() for name in reader.stored if name not in reader.partitions.schema}
    schema = pl.Schema({**source.schema, **texts})
    return replace(source, frame=reader.rows(), schema=schema, reader=reader)


@dataclass(frozen=True, slots=True)
class _TextColumns:
    """Format with a second copy of each column as text in its scans."""

    base: FileFormat

    def scan(self, reader: Reader, row_index: str | None = None) -> pl.LazyFrame:
        """One lazy scan, as `reader.FileFormat` says."""
        texts = self.base.scan(replace(reader, stored=pl.Schema(dict.fromkeys(reader.stored, pl.String()))))
        columns = texts.select(cs.by_name(name).name.prefix(_TEXT) for name in reader.stored)
        return pl.concat([self.base.scan(reader, row_index), columns], how="horizontal")


def _check_output(output: Path, source: Source) -> None:
    """Check that a table can be written to a file.

    Raises:
        ConfigError: the format is unknown or has no form for a column, or the file is part of what is read.
    """
    if output.suffix.lower() not in ENDINGS:
        msg = f"'{output}' does not say its format"
        raise ConfigError(Problem(msg, ("output",), f"end the name in {' or '.join(ENDINGS)}"))
    wide = [
        name
        for name, dtype in source.schema.items()
        if dtype.is_nested() or isinstance(dtype, (pl.Binary, pl.Duration, pl.Object))
    ]
    if wide and output.suffix.lower() == ".csv":
        msg = f"column '{wide[0]}' is of type {source.schema[wide[0]]}, which csv has no form for"
        raise ConfigError(Problem(msg, ("output",), "write a .parquet file"))
    if any(Path(file.path).resolve() == output.resolve() for file in source.files):
        raise ConfigError(Problem(f"'{output}' is part of the data", ("output",), "write to another file"))


def _write_table(source: Source, rows: pl.LazyFrame, output: Path) -> None:
    """Write rows to a file as they stream by, under a temporary name until all are there."""
    output.parent.mkdir(parents=True, exist_ok=True)
    with replacement(output) as temporary, reading(source):
        write_rows(rows, temporary, output.suffix.lower())
