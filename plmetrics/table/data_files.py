"""Opening files as a source: formats by ending, folders of partitions, Delta and Iceberg tables, and TREC files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from polars.exceptions import PanicException

from plmetrics.core.errors import AbsentDataError, ConfigError, Problem
from plmetrics.core.names import is_address
from plmetrics.table.files import (
    Complaints,
    SourceFile,
    absolute,
    kind_of,
    list_files,
    shown_path,
    stat_files,
)
from plmetrics.table.formats.hive import Partitions, find_partitions
from plmetrics.table.formats.lakehouse import (
    DELTA,
    ListedFiles,
    Listing,
    article,
    refuse_loose_files,
    table_kind,
)
from plmetrics.table.formats.reader import FileFormat, Reader
from plmetrics.table.source import Source, schema_of
from plmetrics.table.stamps import check_stamps


@cache
def formats() -> dict[str, FileFormat]:
    """The formats of files by kind."""
    from plmetrics.table.formats import csv, ipc, ndjson, parquet

    return {parquet.KIND: parquet, csv.KIND: csv, ipc.KIND: ipc, ndjson.KIND: ndjson}


def endings() -> dict[str, str]:
    """By ending of a file's name the kind of its format."""
    return {ending: kind for kind, reader in formats().items() for ending in reader.ENDINGS}


def open_trec(files: Mapping[str, Any], base: Path) -> Source:
    """Judgements and runs as a table of queries and documents."""
    from plmetrics.table.formats.trec import read_trec, runs_of

    keys = {"qrels", "run", "complete"}
    if not isinstance(files, Mapping) or not {"qrels", "run"} <= set(files) <= keys:
        message = "trec files are a mapping of qrels and run, with or without complete"
        raise ConfigError(Problem(message, ("data", "trec"), "write {trec: {qrels: FILE, run: FILE}}"))
    complete = bool(files.get("complete"))
    table, unjudged, notes = read_trec(files["qrels"], runs_of(files["run"]), base, complete=complete)
    return Source(
        table.lazy(),
        table.schema,
        notes,
        kind="trec",
        rows=table.height,
        not_retrieved="zero" if complete else "no_part",
        unjudged=unjudged,
    )


def open_files(
    paths: Sequence[str],
    base: Path,
    where: str | None,
    optional: Collection[str] = (),
    version: int | None = None,
) -> Source:
    """Files, folders or globs of one format, or a Delta or Iceberg table; `where` may leave out partitions.

    Files may lack the `optional` columns. `version` is that of a Delta table, or the snapshot of an Iceberg table.
    """
    complaints = Complaints()
    listing = _listing(paths, base, complaints, version)
    if listing is not None:
        complaints.settle()
        source = _open_format(ListedFiles(listing), listing.files, listing.partitions, complaints)
        return replace(source, version=listing.version)
    if version is not None:
        raise ConfigError(Problem("only Delta and Iceberg tables have versions", ("data", "version")))
    by_ending = endings()
    named = list_data_files(paths, base, complaints)
    everywhere = find_partitions(named, complaints)
    chosen, partitions = _prune_files(named, everywhere, where, complaints)
    refuse_loose_files(file.path for file in chosen if not is_address(file.path))
    files = _inspect_files(chosen, by_ending, complaints)
    kind = kind_of(files, by_ending, complaints)
    if kind is None:
        complaints.settle()
        msg = "there are no data files"
        raise AbsentDataError(msg)
    format_ = formats()[kind]
    partitions = partitions.read_by_scan() if format_.NATIVE_PARTITIONS else partitions
    return replace(_open_format(format_, files, partitions, complaints, optional), folders=everywhere)


def list_data_files(paths: Sequence[str], base: Path, complaints: Complaints) -> list[SourceFile]:
    """Data files of paths or addresses, sorted by name; sizes are those of addresses alone.

    Raises:
        ConfigError: a path is empty, paths and addresses are mixed, or a file is named twice.
    """
    remote = [is_address(path) for path in paths]
    if any(remote):
        if not all(remote):
            message = "the files of one table lie on a local disk or in a store, not in both"
            raise ConfigError(Problem(message, path=("data", "path")))
        from plmetrics.table.storage.listing import list_objects

        return list_objects(paths, endings(), complaints)
    return list_files(paths, base, endings(), complaints)


def _inspect_files(
    files: Sequence[SourceFile], by_ending: Mapping[str, str], complaints: Complaints
) -> tuple[SourceFile, ...]:
    if files and is_address(files[0].path):
        from plmetrics.table.storage.listing import inspect_objects

        return inspect_objects(files, by_ending, complaints)
    return stat_files(files, by_ending, complaints)


def _prune_files(
    files: Sequence[SourceFile], partitions: Partitions, where: str | None, complaints: Complaints
) -> tuple[Sequence[SourceFile], Partitions]:
    """Files with possible rows of a condition.

    Raises:
        AbsentDataError: there are none.
    """
    if where is None or not partitions.schema:
        return files, partitions
    holds = partitions.holding(where)
    if files and not holds.any():
        complaints.settle()  # A folder that could not be listed may hold them.
        raise AbsentDataError(
            Problem(f"no partition satisfies where: {where}", ("data", "where"), partitions.ranges())
        )
    chosen = [file for file, may in zip(files, holds, strict=True) if may]
    return chosen, partitions.part(holds)


def _listing(paths: Sequence[str], base: Path, complaints: Complaints, version: int | None) -> Listing | None:
    """Files of a Delta or Iceberg table, for a path of one."""
    for path in paths:
        if is_address(path) and len(paths) > 1:
            continue
        place = path.rstrip("/") if is_address(path) else str(absolute(path, base))
        kind = table_kind(place)
        if kind is None:
            continue
        if len(paths) > 1:
            message = f"{shown_path(place)} is {article(kind)} table, which stands alone, not in a list"
            raise ConfigError(Problem(message, path=("data", "path"), hint="name one table"))
        listing = _list_table(kind, place, complaints, version)
        if not listing.files and not complaints:
            msg = f"{shown_path(place)}: {article(kind)} table without rows"
            raise AbsentDataError(msg)
        return listing
    return None


def _list_table(kind: str, place: str, complaints: Complaints, version: int | None) -> Listing:
    """The data files of a Delta or Iceberg table, of its present version if none is named."""
    if kind == DELTA:
        from plmetrics.table.formats import delta

        return delta.list_table(place, complaints, version)
    from plmetrics.table.formats import iceberg

    return iceberg.list_table(place, complaints, version)


def _open_format(
    format_: FileFormat,
    files: Sequence[SourceFile],
    partitions: Partitions,
    complaints: Complaints,
    optional: Collection[str] = (),
) -> Source:
    try:
        inspected, stored = format_.inspect(files, complaints, optional)
        complaints.settle()
        reader = Reader(format_, tuple(inspected), stored, partitions, bool(optional))
        frame = reader.rows()
        schema = schema_of(frame)
    except AbsentDataError:
        raise
    except (Exception, PanicException) as error:
        # Formats open a file several times, and expect it to be there still.
        check_stamps({file.path: file.stamp for file in files}, error=error)
        raise
    counts = [file.live_rows for file in inspected if file.live_rows is not None]
    rows = sum(counts) if len(counts) == len(inspected) else None
    return Source(frame, schema, reader.files, kind=format_.KIND, rows=rows, reader=reader)
