"""Reader of files of one format, and what a format knows of files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

import polars as pl

from plmetrics.table.formats.hive import FILE_PATH, Partitions

if TYPE_CHECKING:
    from plmetrics.table.files import Complaints, SourceFile

ROW_KEY = "@@row"
SHIFT = "@@shift"
_WORD = 1 << 64


class FileFormat(Protocol):
    """Interface of the modules in `formats`."""

    KIND: str
    ENDINGS: tuple[str, ...]
    NATIVE_PARTITIONS: bool

    def inspect(
        self, files: Sequence[SourceFile], complaints: Complaints, optional: Collection[str] = ()
    ) -> tuple[list[SourceFile], pl.Schema]:
        """Inspection of footers and headers: files with their facts, and their common columns.

        Files may lack the `optional` ones; where none has a value there, nothing may be said of them.
        """

    def scan(self, reader: Reader, row_index: str | None = None) -> pl.LazyFrame:
        """One lazy scan of the files of a reader; with `row_index`, rows are numbered across them.

        Rows know their `FILE_PATH` where they are numbered or the partitions are not native.
        """


@dataclass(frozen=True, slots=True)
class Reader:
    """Reader of the rows of files: format, columns in the files, columns in folder names.

    With `insert` a column that a file lacks is null there, and others than these are ignored.
    """

    format: FileFormat
    files: tuple[SourceFile, ...]
    stored: pl.Schema
    partitions: Partitions
    insert: bool = False

    def only(self, chosen: pl.Series) -> Reader:
        """The source of some of the files."""
        files = tuple(file for file, selected in zip(self.files, chosen, strict=True) if selected)
        partitions = replace(self.partitions, values=self.partitions.values.filter(chosen))
        return replace(self, files=files, partitions=partitions)

    def rows(self) -> pl.LazyFrame:
        """All rows, one scan."""
        rows = self.format.scan(self)
        return rows if self.partitions.native else self.partitions.attach(rows).drop(FILE_PATH)

    def numbered_rows(self) -> pl.LazyFrame:
        """All rows with their number, and the map from it to (hash of file name + number in the file).

        One scan numbers the rows across the files: with one scan a file, Polars would open all files at once.
        """
        rows = self.format.scan(self, ROW_KEY)
        starts = [0] * len(self.files)
        counts = [file.rows for file in self.files if file.rows is not None]
        if len(counts) == len(self.files):
            starts = [0, *accumulate(counts)][:-1]
        elif len(self.files) > 1:
            rows = rows.with_columns((row_number() - _first_of_file()).alias(ROW_KEY))
        shifts = [(_hash(file.name) - start) % _WORD for file, start in zip(self.files, starts, strict=True)]
        if len(shifts) == 1 and self.partitions.native:
            return rows.with_columns(pl.lit(shifts[0], dtype=pl.UInt64).alias(SHIFT))
        return self.partitions.attach(rows, pl.Series(SHIFT, shifts, dtype=pl.UInt64))


def _hash(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")


def row_number() -> pl.Expr:
    """Number of a row in all files, or in the frame."""
    return pl.col(ROW_KEY).cast(pl.UInt64)


def _first_of_file() -> pl.Expr:
    """The number of the first row of a row's file: where the path changes, carried forward."""
    path = pl.col(FILE_PATH)
    changes = path.ne_missing(path.shift())
    return pl.when(changes).then(row_number()).otherwise(pl.lit(0, dtype=pl.UInt64)).cum_max()
