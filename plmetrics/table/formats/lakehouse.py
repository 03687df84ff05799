"""Tables whose log or metadata say which parquet files they are made of, and what both kinds have in common."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.table.files import SourceFile, shown_path, stamp
from plmetrics.table.formats import parquet
from plmetrics.table.storage.objects import each_file

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from plmetrics.table.files import Complaints
    from plmetrics.table.formats.hive import Partitions

DELTA, ICEBERG = "delta", "iceberg"
METADATA_ENDING = ".metadata.json"
_LOG = "_delta_log"
_METADATA = "metadata"


@dataclass(frozen=True, slots=True)
class Listing:
    """The parquet files of a table at its present version.

    `schema` is that of its columns that stand in the files. Those that came later than some files are null there,
    those of `needed` must stand in all.
    """

    kind: str
    files: tuple[SourceFile, ...]
    schema: pl.Schema
    partitions: Partitions
    needed: frozenset[str] = frozenset()


def table_kind(path: Path) -> str | None:
    """Whether a path is a Delta table, an Iceberg table or the metadata of one; else None."""
    if path.name.endswith(METADATA_ENDING):
        return ICEBERG
    try:
        if (path / _LOG).is_dir():
            return DELTA
        if any((path / _METADATA).glob("*" + METADATA_ENDING)):
            return ICEBERG
    except OSError:  # what is wrong is said when the path is looked at as a file
        pass
    return None


def refuse_loose_files(files: Iterable[SourceFile]) -> None:
    """Refuse files of a table that are named themselves: some may no longer belong to it.

    Raises:
        DataError: names the tables
    """
    folders = sorted({folder for file in files for folder in Path(file.path).parents})
    problems = [
        Problem(
            f"{shown_path(folder)}: is {article(kind)} table, whose folder may hold files that it has dropped",
            hint="name the table's folder itself, and nothing else",
        )
        for folder in folders
        if (kind := table_kind(folder))
    ]
    if problems:
        raise DataError(problems)


def article(kind: str) -> str:
    """The kind as it stands in a sentence.

    >>> article("iceberg")
    'an Iceberg'
    """
    return "an Iceberg" if kind == ICEBERG else "a Delta"


def data_file(path: Path, root: Path, complaints: Complaints, hint: str) -> SourceFile | None:
    """A file that a table names; None, and a complaint with the hint, if it is not there."""
    try:
        status = path.stat()
    except FileNotFoundError:
        complaints.add(path, "no such file, but the table names it", hint)
        return None
    except OSError as error:
        complaints.fault(path, error)
        return None
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
    return SourceFile(path=str(path), name=name, size=status.st_size, stamp=stamp(status))


class ListedFiles:
    """The format of the parquet files of a table."""

    NATIVE_PARTITIONS = True
    ENDINGS: tuple[str, ...] = ()

    def __init__(self, listing: Listing) -> None:
        self.KIND = listing.kind
        self._listing = listing

    def inspect(
        self,
        files: Sequence[SourceFile],
        complaints: Complaints,
        optional: Collection[str] = (),  # noqa: ARG002 (the table's metadata say which columns there are)
    ) -> tuple[list[SourceFile], pl.Schema]:
        """The files with the row counts of their footers, and the table's columns as wide as all files need them."""
        counted_files: list[SourceFile] = []
        schema: dict[str, pl.DataType] = {}
        footers = each_file(lambda file: parquet.read_one(file, complaints), files)
        for file, footer in zip(files, footers, strict=True):
            if footer is None:
                continue
            rows, columns = footer
            for name in self._listing.schema:
                if name in columns:
                    wide = parquet.common_type(schema.get(name, columns[name]), columns[name])
                    if wide is None:
                        message = (
                            f"column '{name}' is {columns[name]}, but {schema[name]} in the files before it"
                        )
                        complaints.add(file.path, message)
                    else:
                        schema[name] = wide
                elif name in self._listing.needed:
                    complaints.add(file.path, f"column '{name}' stands in the table's metadata only")
            counted_files.append(replace(file, rows=rows))
        return counted_files, pl.Schema(
            {name: schema.get(name, dtype) for name, dtype in self._listing.schema.items()}
        )

    def scan(
        self,
        files: Sequence[SourceFile],
        stored: pl.Schema,
        partitions: Partitions,
        row_index: str | None = None,
        *,
        insert: bool = True,  # noqa: ARG002
    ) -> pl.LazyFrame:
        """One lazy scan of all files; a column that a file does not have is null there."""
        return parquet.scan(files, stored, partitions, row_index, insert=True)


def unreadable(kind: str, root: Path, error: BaseException) -> DataError:
    """What is said where a table's log or metadata cannot be read."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return DataError(f"{root}: {article(kind)} table that cannot be read: {lines[0]}")
