"""Hive partitions, columns in folder names: `region=DE/part-0.parquet`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any
from urllib.parse import unquote

import polars as pl
from polars.exceptions import PolarsError

from plmetrics.core.names import name_list
from plmetrics.table.files import PARTITION, Complaints, SourceFile

FILE_PATH = "@@path"

NULL = "__HIVE_DEFAULT_PARTITION__"
_TYPES: tuple[tuple[re.Pattern[str], pl.DataType, Callable[[str], Any]], ...] = (
    (re.compile(r"[+-]?\d{1,18}"), pl.Int64(), int),
    (re.compile(r"[+-]?\d{1,38}"), pl.Int128(), int),
    (re.compile(r"(?![+-]?\d{39})[+-]?\d+(\.\d+)?([eE][+-]?\d+)?"), pl.Float64(), float),
    (re.compile(r"\d{4}-\d\d-\d\d"), pl.Date(), date.fromisoformat),
    (re.compile(r"true|false"), pl.Boolean(), "true".__eq__),
)


@dataclass(frozen=True, slots=True)
class Partitions:
    """The partition columns of a source.

    `values` has one row per file, in their order: its path, and its value of each column. `native` says that the
    scan finds the same columns in the paths by itself, and so reads only the folders that a filter asks for.
    """

    schema: pl.Schema
    values: pl.DataFrame
    native: bool

    def attach(self, frame: pl.LazyFrame, *more: pl.Series) -> pl.LazyFrame:
        """Join facts of each file to its rows: partition columns, and `more`.

        A column of the same name in the files gives way. Rows stay in their order.
        """
        names = [] if self.native else self.schema.names()
        values = self.values.select(FILE_PATH, *names).with_columns(*more)
        rows = frame.drop(names, strict=False)
        return rows.join(values.lazy(), on=FILE_PATH, how="left", maintain_order="left")

    def read_by_scan(self) -> Partitions:
        """Partitions left to the scan of Polars, unless another folder of a path looks like one, or one not to it."""
        count, paths = len(self.schema), self.values[FILE_PATH]
        alike = all(len(partition_pairs(path)) == count and "*" not in path for path in paths)
        return replace(self, native=self.native or alike)

    def part(self, files: pl.Series) -> Partitions:
        """Those of some files, by a Boolean for each."""
        return replace(self, values=self.values.filter(files))

    def holding(self, where: str) -> pl.Series:
        """Whether a file may hold rows of a condition, by its terms on these columns alone."""
        return self._terms(where).fill_null(value=False)

    def null_count(self, where: str) -> int:
        """How many files leave a condition null, by its terms on these columns alone."""
        return self._terms(where).null_count()

    def _terms(self, where: str) -> pl.Series:
        from plmetrics.core.rowsql import conjuncts

        terms = [part for part in conjuncts(where) if part.columns and set(part.columns) <= set(self.schema)]
        holds = pl.all_horizontal(pl.lit(value=True), *(part.expr for part in terms))
        try:
            return self.values.select(FILE_PATH, holds=holds)["holds"]
        except PolarsError:  # such as a CAST that fails: said when the rows are read
            return pl.repeat(value=True, n=self.values.height, dtype=pl.Boolean, eager=True)

    def one_value_warnings(self) -> list[str]:
        """Warnings of folders whose names are one number, as p=007 and p=7 are."""
        pairs = {pair for path in self.values[FILE_PATH] for pair in partition_pairs(path) if pair[1] != NULL}
        warnings = []
        for name in self.schema:
            decoded = {text: unquote(text) for key, text in sorted(pairs) if key == name}
            alike: dict[Any, list[str]] = {}
            for text, value in _parse(decoded)[1].items():
                alike.setdefault(value, []).append(f"{name}={text}")
            warnings += [
                f"folders {' and '.join(folders)} are one value of column '{name}', {value}: rename them if it is two"
                for value, folders in alike.items()
                if len({unquote(folder) for folder in folders}) > 1
            ]
        return warnings

    def ranges(self) -> str:
        """The least and the greatest value of each column, in words."""
        values = self.values.drop(FILE_PATH)
        ends = values.select(pl.all().min().cast(pl.String)), values.select(pl.all().max().cast(pl.String))
        parts = [f"{name} from {ends[0][name].item()} to {ends[1][name].item()}" for name in values.columns]
        return f"the files hold {', '.join(parts)}"


def find_partitions(files: Sequence[SourceFile], complaints: Complaints) -> Partitions:
    """Partition columns in the files' names.

    A column is of whole numbers, numbers, ISO dates or true and false where all its values are, else text;
    `__HIVE_DEFAULT_PARTITION__` is null.
    """
    texts = [dict(partition_pairs(file.name)) for file in files]
    keys = list(texts[0]) if texts else []
    for file, keys_of_file in zip(files, texts, strict=True):
        if list(keys_of_file) != keys:
            message = f"the key=value folders are {_folders(keys_of_file)}, but {_folders(keys)} for {files[0].name}"
            complaints.add(file.path, message)
    columns = {key: _column([keys_of_file.get(key, NULL) for keys_of_file in texts]) for key in keys}
    return Partitions(
        schema=pl.Schema({key: column.dtype for key, column in columns.items()}),
        values=pl.DataFrame({FILE_PATH: [file.path for file in files], **columns}),
        native=not keys,
    )


def partition_pairs(path: str) -> list[tuple[str, str]]:
    """The `key=value` folders of a path, as they are written.

    >>> partition_pairs("region=DE/month=01/part-0.parquet")
    [('region', 'DE'), ('month', '01')]
    """
    matches = [PARTITION.fullmatch(folder) for folder in path.replace(os.sep, "/").split("/")[:-1]]
    return [(match[1], match[2]) for match in matches if match]


def _column(texts: Sequence[str]) -> pl.Series:
    decoded = {text: unquote(text) for text in set(texts) if text != NULL}
    dtype, parsed = _parse(decoded)
    return pl.Series([parsed.get(text) for text in texts], dtype=dtype)


def _parse(decoded: dict[str, str]) -> tuple[pl.DataType, dict[str, Any]]:
    for pattern, dtype, parse in _TYPES:
        if decoded and all(pattern.fullmatch(value) for value in decoded.values()):
            try:
                return dtype, {text: parse(value) for text, value in decoded.items()}
            except ValueError:
                break
    return pl.String(), decoded


def _folders(keys: Iterable[str]) -> str:
    return name_list([f"{key}=..." for key in keys]) or "none"
