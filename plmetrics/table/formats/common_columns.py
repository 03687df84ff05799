"""Common columns of a table's files: with the widest type of each, and a complaint of conflicts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.names import name_list

if TYPE_CHECKING:
    from plmetrics.table.files import Complaints, SourceFile


@dataclass(frozen=True, slots=True)
class ColumnRules:
    """Rules for the columns of files of one format: the common type of two, None without one, and hints."""

    common_type: Callable[[pl.DataType, pl.DataType], pl.DataType | None]
    one_type: str
    absent: str | None = None

    def common(self, first: pl.DataType, other: pl.DataType) -> pl.DataType | None:
        """Common type of two columns; of lists that of their items, of which a file may have none."""
        if isinstance(first, pl.List) and isinstance(other, pl.List):
            items = self.common(*(pl.Series([], dtype=lists.inner).dtype for lists in (first, other)))
            return None if items is None else pl.List(items)
        return self.common_type(first, other)


def common_columns(
    files: Iterable[tuple[SourceFile, Mapping[str, pl.DataType]]],
    rules: ColumnRules,
    complaints: Complaints,
    optional: Collection[str],
) -> tuple[list[SourceFile], dict[str, pl.DataType]]:
    """Files, and the common columns: those of the first and `optional` ones, with the widest type of each.

    Files are looked at as they come, so that complaints are in the order of files.
    """
    chosen: list[SourceFile] = []
    schema: dict[str, pl.DataType] = {}
    first: Mapping[str, pl.DataType] = {}
    for file, columns in files:
        first = first if chosen else columns
        schema = schema if chosen else dict(columns)
        chosen.append(file)
        for name, dtype in schema.items():
            if name in columns:
                wide = rules.common(dtype, columns[name])
                if wide is None:
                    before = chosen[0].name if first.get(name) == dtype else "the files before it"
                    message = f"column '{name}' is {columns[name]}, but {dtype} in {before}"
                    complaints.add(file.path, message, rules.one_type)
                schema[name] = dtype if wide is None else wide
            elif name not in optional:
                complaints.add(
                    file.path, f"column '{name}' is missing; {chosen[0].name} has it", rules.absent
                )
        schema |= {name: columns[name] for name in optional if name in columns and name not in schema}
    return chosen, schema


def column_differences(
    columns: Collection[str], expected: Collection[str], first: SourceFile, optional: Collection[str] = ()
) -> list[str]:
    """Missing and additional columns of a file against the first, in words."""
    missing = [name for name in expected if name not in columns and name not in optional]
    extra = [name for name in columns if name not in expected and name not in optional]
    return [
        *([f"lacks columns that {first.name} has: {name_list(missing)}"] if missing else []),
        *([f"has columns that {first.name} lacks: {name_list(extra)}"] if extra else []),
    ]
