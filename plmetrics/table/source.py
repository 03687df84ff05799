"""Source of the rows: one lazy table over files or a frame, checked before anything is read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Literal

import polars as pl
import polars.selectors as cs
from polars.exceptions import PanicException, PolarsError

from plmetrics.core.errors import DataError, Problem
from plmetrics.core.hashing import mix_expr
from plmetrics.core.names import RESERVED_PREFIX, SuitePath
from plmetrics.table.files import Complaints, SourceFile, shown_path
from plmetrics.table.formats.hive import FILE_PATH, Partitions
from plmetrics.table.formats.reader import ROW_KEY, SHIFT, Reader, row_number

NotRetrieved = Literal["refused", "no_part", "zero"]

__all__ = ["ROW_KEY", "ROW_NUMBER", "Source", "SourceFile"]

ROW_NUMBER = "@@number"


@dataclass(frozen=True, slots=True)
class Source:
    """Unread prediction table.

    `kind` is the format, `frame`, or `spark` for a batch of Spark's rows; `files` is empty for these two; `rows` is
    known where footers or a DataFrame tell it, else None. `not_retrieved` says what a score that is null means in a
    ranking: that it is bad, or that the model did not retrieve the row; a query of which it retrieved nothing then has
    "no_part" or counts "zero". `unjudged` is the number of queries of a ranking that its judgements lack, and which are
    left out. `conflicts` are columns that a change of its form left out, since its rows disagree: plans of an example.
    `absent` are columns that it lacks, and which are null, `derived` those computed from others. `resource` is what
    must last as long as the table does, `version` the version of a Delta table, or the snapshot of an Iceberg table.
    `folders` are the partitions of all files, also of those that a condition leaves out.
    """

    frame: pl.LazyFrame
    schema: pl.Schema
    files: tuple[SourceFile, ...]
    kind: str
    rows: int | None
    reader: Reader | None = field(default=None, repr=False, compare=False)
    not_retrieved: NotRetrieved = "refused"
    unjudged: int = 0
    conflicts: Mapping[str, pl.LazyFrame] = field(default_factory=dict, repr=False, compare=False)
    absent: tuple[str, ...] = ()
    derived: Mapping[str, pl.Expr] = field(default_factory=dict, repr=False, compare=False)
    resource: object = field(default=None, repr=False, compare=False)
    version: int | None = None
    folders: Partitions | None = field(default=None, repr=False, compare=False)

    @property
    def bytes(self) -> int:
        """Size of the files."""
        return sum(file.size for file in self.files)

    def with_absent(self, column: str) -> Source:
        """Table with an optional column, null if absent.

        >>> from plmetrics.table.opening import open_source
        >>> open_source(pl.DataFrame({"p": [0.5]})).with_absent("y").frame.collect().rows()
        [(0.5, None)]
        """
        if column in self.schema:
            return self
        schema = pl.Schema({**self.schema, column: pl.Null()})
        return replace(
            self,
            frame=self.frame.with_columns(pl.lit(None).alias(column)),
            schema=schema,
            absent=(*self.absent, column),
        )

    def with_columns(self, values: Mapping[str, pl.Expr], dtypes: Mapping[str, pl.DataType]) -> Source:
        """Table with columns computed from its others and from those before them.

        >>> from plmetrics.table.opening import open_source
        >>> table = open_source(pl.DataFrame({"days": [31, 3]}))
        >>> table.with_columns({"late": pl.col("days") > 30}, {"late": pl.Boolean()}).frame.collect().rows()
        [(31, True), (3, False)]
        """
        return replace(
            self,
            frame=_with_values(self.frame, values),
            schema=pl.Schema({**self.schema, **dtypes}, check_dtypes=False),
            derived={**self.derived, **values},
        )

    def _all_columns(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Rows of the files with their absent columns as null and their derived columns, in order."""
        if self.absent:
            rows = rows.with_columns(pl.lit(None).alias(name) for name in self.absent)
        return _with_values(rows, self.derived)

    def with_row_key(self) -> pl.LazyFrame:
        """The table with the UInt64 column `ROW_KEY`: a key of the file's name and the row's number in it.

        The key of a row depends neither on other files nor on filters above; for a frame it is a key of the
        row number.

        >>> from plmetrics.table.opening import open_source
        >>> open_source(pl.DataFrame({"y": [0, 1]})).with_row_key().collect()[ROW_KEY].to_list()
        [0, 6238072747940578789]
        """
        if self.reader is None:
            rows = self.frame.with_row_index(ROW_KEY).with_columns(pl.lit(0, dtype=pl.UInt64).alias(SHIFT))
        else:
            rows = self._all_columns(self.reader.numbered_rows())
        key = mix_expr(row_number() + pl.col(SHIFT))
        return rows.select(cs.by_name(*self.schema), key.alias(ROW_KEY))

    def in_folders(self, condition: pl.Expr, columns: Collection[str]) -> Source:
        """Source without the files excluded by a condition on the partition columns of their folders.

        A scan that knows these columns itself leaves such files out anyway. Row keys stay what they are.
        """
        reader = self.reader
        if reader is None or reader.partitions.native or not set(columns) <= set(reader.partitions.schema):
            return self
        values = reader.partitions.values
        try:
            mask = values.select(condition.fill_null(value=False).alias("match"))["match"]
        except PolarsError:  # such as a CAST that fails: said when the rows are read, as for other formats
            return self
        if not columns or mask.all() or not mask.any():
            return self
        return self._of(reader.only(mask))

    def of_each_file(self) -> Iterator[Source]:
        """The rows of each file as a table of its own."""
        if self.reader is not None:
            for path in self.reader.partitions.values[FILE_PATH]:
                yield self._of(self.reader.only(self.reader.partitions.values[FILE_PATH] == path))

    def in_parts(self, number: int) -> list[Source]:
        """Parts of consecutive files of about equal size, at most so many."""
        reader = self.reader
        total = self.bytes
        if reader is None or not total:
            return [self]
        ends = accumulate(file.size for file in reader.files)
        middles = (end - file.size / 2 for end, file in zip(ends, reader.files, strict=True))
        places = pl.Series([min(int(middle * number / total), number - 1) for middle in middles])
        return [self._of(reader.only(places == place)) for place in places.unique().sort()]

    def _of(self, reader: Reader) -> Source:
        counts = [file.live_rows for file in reader.files if file.live_rows is not None]
        rows = sum(counts) if len(counts) == len(reader.files) else None
        return replace(
            self, frame=self._all_columns(reader.rows()), files=reader.files, reader=reader, rows=rows
        )

    def check_rows(self, *, fill: bool = False, ends: bool = False) -> list[str]:
        """Report errors silent in a scan: csv rows with more or fewer fields than the header, lost queries, folders.

        With `fill`, absent fields are null, and only warned of. With `ends` large files are looked at at their end.

        Raises:
            DataError: there are such rows.
        """
        if self.unjudged:
            word, verb = ("query", "is") if self.unjudged == 1 else ("queries", "are")
            return [f"{self.unjudged:,} {word} of the runs without judgements {verb} left out"]
        folders = [] if self.folders is None else self.folders.one_value_warnings()
        if self.kind != "csv":
            return folders
        from plmetrics.table.formats import csv

        complaints = Complaints()
        warnings = csv.check_rows(self.files, complaints, fill=fill, ends=ends)
        complaints.settle()
        return warnings + folders

    def place(self, row: int) -> str:
        """Place of a row: its number in its file, if there are several files of known lengths, or in a Spark batch."""
        start = 0
        for file in self.files if len(self.files) > 1 else ():
            if file.live_rows is None:
                break
            if row < start + file.live_rows:
                return f"row {row - start:,} of {shown_path(file.path)}"
            start += file.live_rows
        return f"row {row:,} of a batch of Spark" if self.kind == "spark" else f"row {row:,}"


def _with_values(rows: pl.LazyFrame, values: Mapping[str, pl.Expr]) -> pl.LazyFrame:
    """Rows with columns computed from those before them: each step makes all up to one that reads another of it."""
    step: dict[str, pl.Expr] = {}
    for name, value in values.items():
        if not step.keys().isdisjoint((name, *value.meta.root_names())):
            rows, step = rows.with_columns(step.values()), {}
        step[name] = value.alias(name)
    return rows.with_columns(step.values()) if step else rows


def schema_of(frame: pl.LazyFrame) -> pl.Schema:
    """The columns of a table.

    Raises:
        DataError: it cannot be read, or a name is reserved.
    """
    try:
        schema = frame.collect_schema()
    except (PolarsError, PanicException, OSError) as error:
        from plmetrics.table.storage.faults import is_storage_error, storage_fault

        if is_storage_error(error):
            raise storage_fault(error, "the table") from error
        msg = f"the table cannot be read: {str(error).strip().splitlines()[0]}"
        raise DataError(msg) from error
    check_column_names(schema)
    return schema


def check_column_names(names: Iterable[str], path: SuitePath = ()) -> None:
    """See that no column is called like those that stand beside the columns of the data.

    Raises:
        DataError: some are; all are named.
    """
    hint = f"rename the column: names that begin with {RESERVED_PREFIX} are those of columns that are added"
    problems = [
        Problem(f"column '{name}': the name is reserved", path, hint)
        for name in names
        if name.startswith(RESERVED_PREFIX)
    ]
    if problems:
        raise DataError(problems)
