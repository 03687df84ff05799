"""Tables with their files in a log or in metadata: the common parts of Delta and Iceberg."""

from __future__ import annotations

import glob
import os
import posixpath
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, groupby
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import AbsentDataError, DataError, PlmetricsError, Problem
from plmetrics.core.names import is_address
from plmetrics.table.files import Complaints, SourceFile, shown_path, stamp
from plmetrics.table.formats import parquet
from plmetrics.table.formats.hive import FILE_PATH, Partitions
from plmetrics.table.storage.addresses import Address, parse_address
from plmetrics.table.storage.faults import is_storage_error, storage_fault
from plmetrics.table.storage.objects import at_once, each_file, facts_stamp, names_in, object_facts

if TYPE_CHECKING:
    from plmetrics.table.formats.parquet import Footer
    from plmetrics.table.formats.reader import Reader

DELTA, ICEBERG = "delta", "iceberg"
METADATA_ENDING = ".metadata.json"
_LOG = "_delta_log"
_METADATA = "metadata"
_PLACE = "@@place"


@dataclass(frozen=True, slots=True)
class Listing:
    """The parquet files of a table at one version.

    `schema` is that of its columns that stand in the files. Those that came later than some files are null there,
    those of `needed` must stand in all. `stored_names` are by path of a file the names that columns have in it, where
    these are others, and None where it lacks the column; files of equal names follow each other. `deletions` are the
    numbers of rows that are deleted, by the path of their file, `footers` what was read of files already.
    """

    kind: str
    files: tuple[SourceFile, ...]
    schema: pl.Schema
    partitions: Partitions
    needed: frozenset[str] = frozenset()
    stored_names: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    deletions: Mapping[str, pl.Series] = field(default_factory=dict)
    footers: Mapping[str, Footer] = field(default_factory=dict)
    version: int | None = None


def table_kind(place: str) -> str | None:
    """Whether a path or an address is a Delta table, an Iceberg table or the metadata of one; else None."""
    if place.endswith(METADATA_ENDING):
        return ICEBERG
    if is_address(place):
        return _remote_kind(parse_address(place))
    if os.path.isdir(f"{place}/{_LOG}"):  # noqa: PTH112 (each folder of a table is asked: texts are cheap)
        return DELTA
    metadata = f"{place}/{_METADATA}"
    try:
        if os.path.isdir(metadata) and any(Path(metadata).glob("*" + METADATA_ENDING)):  # noqa: PTH112
            return ICEBERG
    except OSError:  # what is wrong is said when the path is looked at as a file
        pass
    return None


def _remote_kind(address: Address) -> str | None:
    if not address.is_bucket or glob.has_magic(address.path) or "." in posixpath.basename(address.path):
        return None
    names = names_in(address)
    if _LOG in names:
        return DELTA
    if _METADATA not in names:
        return None
    files = names_in(address._replace(key=f"{address.key}/{_METADATA}"))
    return ICEBERG if any(name.endswith(METADATA_ENDING) for name in files) else None


def refuse_loose_files(paths: Iterable[str]) -> None:
    """Refuse single files of a table: some may no longer belong to it.

    Raises:
        DataError: names the tables
    """
    folders: set[str] = set()
    for path in paths:
        folder = path
        while (folder := os.path.dirname(folder)) not in folders:  # noqa: PTH120
            folders.add(folder)
    problems = [
        loose_files(shown_path(folder), kind) for folder in sorted(folders) if (kind := table_kind(folder))
    ]
    if problems:
        raise DataError(problems)


def loose_files(shown: str, kind: str) -> Problem:
    """Problem of single files of a table."""
    message = f"{shown}: is {article(kind)} table, whose folder may hold files that it has dropped"
    return Problem(message, hint="name the table's folder itself, and nothing else")


def article(kind: str) -> str:
    """The kind as it stands in a sentence.

    >>> article("iceberg")
    'an Iceberg'
    """
    return "an Iceberg" if kind == ICEBERG else "a Delta"


def data_files(paths: Sequence[str], root: str, complaints: Complaints, hint: str) -> dict[str, SourceFile]:
    """Files of a table by path or address; a complaint with the hint for each absent one."""
    remote = bool(paths) and is_address(paths[0])
    files = (at_once if remote else map)(lambda path: _data_file(path, root, complaints, hint), paths)
    return {path: file for path, file in zip(paths, files, strict=True) if file is not None}


def _data_file(place: str, root: str, complaints: Complaints, hint: str) -> SourceFile | None:
    name = place.removeprefix(root).lstrip("/") if place.startswith(f"{root}/") else place
    if is_address(place):
        address = parse_address(place)
        facts = object_facts(address)
        if facts is None:
            complaints.add(place, "no such object, but the table names it", hint)
            return None
        return SourceFile(place, name, facts.size, stamp=facts_stamp(address, facts))
    path = Path(place)
    try:
        status = path.stat()
    except FileNotFoundError:
        complaints.add(path, "no such file, but the table names it", hint)
        return None
    except OSError as error:
        complaints.fault(path, error)
        return None
    return SourceFile(place, name, status.st_size, stamp=stamp(status))


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
        files_with_rows: list[SourceFile] = []
        schema: dict[str, pl.DataType] = {}
        present = self._listing.footers
        footers = each_file(lambda file: present.get(file.path) or parquet.read_one(file, complaints), files)
        for file, footer in zip(files, footers, strict=True):
            if footer is None:
                continue
            rows, columns = footer
            names = self.stored_names(file)
            for name in self._listing.schema:
                stored_name = names.get(name, name)
                if stored_name is not None and stored_name in columns:
                    dtype = columns[stored_name]
                    wide = parquet.common_type(schema.get(name, dtype), dtype)
                    if wide is None:
                        message = f"column '{name}' is {dtype}, but {schema[name]} in the files before it"
                        complaints.add(file.path, message)
                    else:
                        schema[name] = wide
                elif name in self._listing.needed:
                    complaints.add(file.path, f"column '{name}' stands in the table's metadata only")
            deleted = self._listing.deletions.get(file.path)
            files_with_rows.append(replace(file, rows=rows, deleted=0 if deleted is None else len(deleted)))
        return files_with_rows, pl.Schema(
            {name: schema.get(name, dtype) for name, dtype in self._listing.schema.items()}
        )

    def scan(self, reader: Reader, row_index: str | None = None) -> pl.LazyFrame:
        """Lazy scan of all files; a column absent in a file is null there.

        Rows that are marked as deleted keep their numbers, and are left out.
        """
        deleted = self._deleted_rows(reader.files)
        index = row_index or (_PLACE if len(deleted) else None)
        rows = self._scan_rows(reader, index)
        if len(deleted):
            rows = rows.join(deleted.to_frame(index).lazy(), on=index, how="anti", maintain_order="left")
        if index is None or index == row_index:
            return rows
        return rows.drop(index, *((FILE_PATH,) if reader.partitions.native else ()))

    def stored_names(self, file: SourceFile) -> Mapping[str, str | None]:
        """Differing names of columns in a file: None if it has none of them."""
        return self._listing.stored_names.get(file.path, {})

    def deleted_rows(self, file: SourceFile) -> pl.Series | None:
        """Numbers of a file's deleted rows, None without any."""
        return self._listing.deletions.get(file.path)

    def _scan_rows(self, reader: Reader, index: str | None) -> pl.LazyFrame:
        """Rows of all files under the table's names: one scan for consecutive files of equal names."""
        scans, start, stored = [], 0, reader.stored
        for names, group in groupby(reader.files, self.stored_names):
            similar = tuple(group)
            in_files = {
                stored_name: dtype
                for name, dtype in stored.items()
                if (stored_name := names.get(name, name)) is not None
            }
            rows = parquet.scan(
                replace(reader, files=similar, stored=pl.Schema(in_files), insert=True), index
            )
            new_names = {stored_name: name for name, stored_name in names.items() if stored_name in in_files}
            absent = [name for name in stored if names.get(name, name) is None]
            rows = rows.rename(new_names).with_columns(
                pl.lit(None, stored[name]).alias(name) for name in absent
            )
            rows = rows.select(*stored, pl.exclude(*stored)) if absent else rows
            if index is not None and start:
                rows = rows.with_columns(pl.col(index) + start)
            scans.append(rows)
            start += sum(file.rows or 0 for file in similar)
        return scans[0] if len(scans) == 1 else pl.concat(scans, how="diagonal")

    def _deleted_rows(self, files: Sequence[SourceFile]) -> pl.Series:
        """Numbers, across files, of the deleted rows."""
        starts = accumulate((file.rows or 0 for file in files), initial=0)
        deletions = self._listing.deletions
        parts = [
            deletions[file.path].cast(pl.UInt64) + start
            for file, start in zip(files, starts, strict=False)
            if file.path in deletions
        ]
        return pl.concat([pl.Series(dtype=pl.UInt64), *parts]).cast(pl.get_index_type())


def absent_version(root: str, version: int, present: int | None) -> AbsentDataError:
    """Error of an absent version of a table."""
    hint = None if present is None else f"the present one is {present}"
    return AbsentDataError(
        Problem(f"{shown_path(root)}: there is no version {version}", ("data", "version"), hint)
    )


def unreadable(kind: str, root: str, error: BaseException) -> PlmetricsError:
    """Error of a table with an unreadable log or metadata."""
    if is_address(root) and is_storage_error(error):
        return storage_fault(error, root)
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return DataError(f"{root}: {article(kind)} table that cannot be read: {lines[0]}")
