"""Slice sets as keys of a row, integer cells, and the slices they decode to.

A *key* is one expression a row is grouped by: a column, the bin of a column, or a predicate. A *slice set* crosses
keys. A *cube* is a group of keys numbered in mixed radix, so that one integer per row, its cell, serves every set
whose keys the cube holds.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.names import number_text

if TYPE_CHECKING:
    from collections.abc import Sequence

Codes = NDArray[np.int64]

_WIDEST_SPAN = 1 << 16
_LOOKUP_CELLS = 1 << 22


@dataclass(frozen=True, slots=True)
class SliceKey:
    """One thing rows are grouped by. `column` is the canonical column that holds its value or bin number."""

    column: str
    label: str
    expression: pl.Expr
    kind: Literal["column", "bins", "predicate"]
    edges: tuple[Any, ...] = ()

    def text(self, value: Any) -> str:
        """The value as it stands in results."""
        if value is None:
            return "null"
        if self.kind == "bins":
            return bin_text(self.edges, value)
        return value_text(value)


@dataclass(frozen=True, slots=True)
class SliceSet:
    """A named crossing of keys; without keys it is `overall`."""

    name: str
    keys: tuple[SliceKey, ...]

    @property
    def is_predicate(self) -> bool:
        """Whether the set has the one slice of rows where its predicate holds."""
        return len(self.keys) == 1 and self.keys[0].kind == "predicate"


@dataclass(frozen=True, slots=True)
class Slices:
    """The slices of one set that occur: a frame of key values, one row a slice, in result order."""

    slice_set: SliceSet
    values: pl.DataFrame

    def __len__(self) -> int:
        return self.values.height

    def texts(self) -> list[str]:
        """The `slice` column of the results."""
        if not self.slice_set.keys:
            return ["all"]
        if self.slice_set.is_predicate:
            return [f"{self.slice_set.name}=true"]
        return [", ".join(f"{part['column']}={part['value']}" for part in row) for row in self.pairs()]

    def pairs(self) -> list[list[dict[str, str]]]:
        """The `slice_values` column of the results."""
        if not self.slice_set.keys:
            return [[]]
        if self.slice_set.is_predicate:
            return [[{"column": self.slice_set.name, "value": "true"}]]
        return [
            [
                {"column": key.label, "value": key.text(value)}
                for key, value in zip(self.slice_set.keys, row, strict=True)
            ]
            for row in self.values.iter_rows()
        ]


def value_text(value: Any) -> str:
    """A group value as text: strings as they are, numbers in shortest form, booleans lower case, dates ISO.

    >>> value_text(2.0), value_text(True), value_text("north")
    ('2', 'true', 'north')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return str(value)


def bin_text(edges: Sequence[Any], index: int) -> str:
    """The half-open interval of a bin.

    >>> bin_text((25, 40), 1), bin_text((25, 40), 0)
    ('[25, 40)', '(-inf, 25)')
    """
    lower = f"[{value_text(edges[index - 1])}" if index > 0 else "(-inf"
    upper = value_text(edges[index]) if index < len(edges) else "inf"
    return f"{lower}, {upper})"


def bin_index(column: pl.Expr, edges: Sequence[Any]) -> pl.Expr:
    """Number of edges at or below the value, null where the value is null."""
    passed = [(column >= edge).cast(pl.UInt32) for edge in edges]
    return pl.sum_horizontal(passed, ignore_nulls=False)


def order(values: pl.DataFrame) -> pl.DataFrame:
    """Slices in result order: by value of each key in turn, null last."""
    return values.sort(values.columns, nulls_last=True) if values.width else values


@dataclass(frozen=True, slots=True)
class KeyCodes:
    """The integer code of one key: what it is computed from, how many codes there are, null last."""

    key: SliceKey
    values: pl.Series
    first: int | None = None

    @classmethod
    def of(cls, key: SliceKey, values: pl.Series) -> KeyCodes:
        """Choose the cheapest code for the values that occur: an offset for integers and dates, else a look-up."""
        values = values.drop_nulls().unique().sort()
        if values.dtype.is_integer() or values.dtype == pl.Date:
            physical = values.to_physical()
            low, high = physical.min(), physical.max()
            if isinstance(low, int) and isinstance(high, int) and high - low < _WIDEST_SPAN:
                return cls(key, values, low)
        return cls(key, values)

    @property
    def size(self) -> int:
        """Number of codes, the one for null included."""
        if self.first is None:
            return len(self.values) + 1
        last = self.values.to_physical().max()
        assert isinstance(last, int)
        return last - self.first + 2

    def expression(self) -> pl.Expr:
        """The code of each row, from the key's canonical column."""
        column = pl.col(self.key.column)
        if self.first is not None:
            code = column.to_physical().cast(pl.Int64) - self.first
        elif self.values.dtype == pl.Boolean:
            code = column.cast(pl.Int64) - (0 if self.values.is_empty() or not self.values[0] else 1)
        else:
            names = self.values.cast(pl.String)
            code = column.cast(pl.String).cast(pl.Enum(names), strict=False).to_physical().cast(pl.Int64)
        return code.fill_null(self.size - 1)


@dataclass(frozen=True, slots=True)
class Cube:
    """Keys numbered together. `sets` are the slice sets it serves."""

    codes: tuple[KeyCodes, ...]
    sets: tuple[Slices, ...]

    @property
    def columns(self) -> list[str]:
        """The canonical columns of the keys."""
        return [part.key.column for part in self.codes]

    @property
    def cells(self) -> int:
        """Number of cells, occupied or not."""
        return int(np.prod([part.size for part in self.codes], dtype=object)) if self.codes else 1

    def cell(self) -> pl.Expr:
        """The cell of each row: the codes of the keys as digits in mixed radix."""
        cell = pl.lit(0, dtype=pl.Int64)
        for part in self.codes:
            cell = cell * part.size + part.expression()
        return cell

    def slice_codes(self, slices: Slices, cells: Codes) -> Codes:
        """For each row's cell the number of its slice in the set, -1 where it belongs to none."""
        if not slices.slice_set.keys:
            return np.zeros(len(cells), dtype=np.int64)
        known = self._set_cells(slices, slices.values)
        position = np.argsort(known, kind="stable")
        if self.cells <= max(_LOOKUP_CELLS, 4 * len(cells)):
            table = self._find(known, position, self._project(slices, np.arange(self.cells)))
            return table[cells]
        return self._find(known, position, self._project(slices, cells))

    @staticmethod
    def _find(known: Codes, position: Codes, wanted: Codes) -> Codes:
        if len(known) == 0:
            return np.full(len(wanted), -1, dtype=np.int64)
        place = np.minimum(np.searchsorted(known, wanted, sorter=position), len(known) - 1)
        found = position[place]
        return np.where(known[found] == wanted, found, -1)

    def _members(self, slices: Slices) -> list[int]:
        own = [part.key.column for part in self.codes]
        return [own.index(key.column) for key in slices.slice_set.keys]

    def _project(self, slices: Slices, cells: Codes) -> Codes:
        digits: list[Codes] = []
        for part in reversed(self.codes):
            digits.append(cells % part.size)
            cells = cells // part.size
        digits.reverse()
        return self._number(slices, [digits[index] for index in self._members(slices)])

    def _set_cells(self, slices: Slices, values: pl.DataFrame) -> Codes:
        parts = [self.codes[index] for index in self._members(slices)]
        columns = values.select(part.expression().alias(f"{i}") for i, part in enumerate(parts))
        return self._number(slices, [columns[f"{i}"].to_numpy() for i in range(len(parts))])

    def _number(self, slices: Slices, digits: Sequence[Codes]) -> Codes:
        number = np.zeros(len(digits[0]), dtype=np.int64)
        for index, digit in zip(self._members(slices), digits, strict=True):
            number = number * self.codes[index].size + digit
        return number


def plan_cubes(sets: Sequence[Slices], codes: dict[str, KeyCodes], blocks: int, max_cells: int) -> list[Cube]:
    """Group slice sets into few cubes, each with at most `max_cells` cells x blocks where it can be."""
    grouped: list[tuple[list[str], list[Slices]]] = []
    for slices in sorted(sets, key=lambda part: -len(part.slice_set.keys)):
        columns = [key.column for key in slices.slice_set.keys]
        for known, members in grouped:
            union = [*known, *(column for column in columns if column not in known)]
            if len(union) == len(known) or _cells(union, codes) * blocks <= max_cells:
                known[:] = union
                members.append(slices)
                break
        else:
            grouped.append((columns, [slices]))
    return [Cube(tuple(codes[column] for column in columns), tuple(members)) for columns, members in grouped]


def _cells(columns: Sequence[str], codes: dict[str, KeyCodes]) -> int:
    return int(np.prod([codes[column].size for column in columns], dtype=object)) if columns else 1
