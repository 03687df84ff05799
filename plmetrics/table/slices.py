"""Slice sets as keys of a row, integer cells, and the slices they decode to.

A *key* is one expression a row is grouped by: a column, the bin of a column, or a predicate. A *slice set* crosses
keys. A *cube* is a group of keys numbered in mixed radix, so that one integer per row, its cell, serves every set
whose keys the cube holds. Where the crossing is too wide for an integer, cells are the slices of its widest set.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.exceptions import PanicException

from plmetrics.core.errors import DataError, Problem
from plmetrics.core.names import WITHIN
from plmetrics.core.ops import Codes
from plmetrics.core.quantiles import shortest_decimals
from plmetrics.core.results import SLICE_VALUES
from plmetrics.core.slice_texts import quote, slice_place
from plmetrics.table.joins import left_join
from plmetrics.table.slice_keys import PREDICATE, SliceKey, TagMembers, place_in, value_text

_WIDEST_SPAN = 1 << 16
_WIDEST_NUMBER = 1 << 62
LOOKUP_CELLS = 1 << 22


@dataclass(frozen=True, slots=True)
class SliceSet:
    """A named crossing of keys; without keys it is `overall`.

    `within` is a predicate: rows where it does not hold are in no slice of the set. One that is not `resampled` has
    values alone. `maker` is the key of the feature that made it from another, or put it within some rows.
    """

    name: str
    keys: tuple[SliceKey, ...]
    exclude: tuple[Any, ...] = ()
    within: SliceKey | None = None
    resampled: bool = True
    maker: str = ""

    @property
    def columns(self) -> list[str]:
        """Canonical columns of a row's slice."""
        within = [] if self.within is None else [self.within.column]
        return list(dict.fromkeys([*(key.column for key in self.keys), *within]))

    @property
    def is_whole(self) -> bool:
        """Whether all rows of the table are one slice."""
        return not self.columns

    @property
    def is_derived(self) -> bool:
        """Whether the run made it from another set, such as the folds of one; its name says so."""
        return "|" in self.name

    @property
    def crossing(self) -> tuple[str, str] | None:
        """Crossed sets of groups and levels, for comparisons of groups within each level."""
        parts = self.name.split("|")
        return (parts[1], parts[2]) if parts[0] == WITHIN and len(parts) > 1 else None

    @property
    def is_predicate(self) -> bool:
        """Whether the set has the one slice of rows where its predicate holds."""
        return len(self.keys) == 1 and self.keys[0].kind == "predicate"

    @property
    def is_tagged(self) -> bool:
        """Whether a row has many tags, and is in the slice of each."""
        return len(self.keys) == 1 and self.keys[0].kind == "tags"


@dataclass(frozen=True)
class Slices:
    """Nonempty slices of one set: a frame of key values, one row a slice, in result order.

    `omissions` are key values that occur, too, but are excluded: rows of these need a cell of their own. Texts are made
    once, since every result table has them.
    """

    slice_set: SliceSet
    values: pl.DataFrame
    omissions: pl.DataFrame | None = None

    @property
    def occurring(self) -> pl.DataFrame:
        """The key values of all rows, excluded or not."""
        return self.values if self.omissions is None else pl.concat([self.values, self.omissions])

    def __len__(self) -> int:
        return self.values.height

    def texts(self) -> list[str]:
        """The `slice` column of the results."""
        return list(self._texts)

    @cached_property
    def _texts(self) -> list[str]:
        if not self.slice_set.keys:
            return ["all"]
        if self.slice_set.is_predicate:
            return [f"{quote(self.slice_set.name)}={quote(self._predicate)}"]
        named = [
            [f"{label}={key.text(value)}" for value in plain_values(column, key.label)]
            for key, column in zip(self.slice_set.keys, self.values, strict=True)
            for label in [quote(key.label)]
        ]
        return [", ".join(row) for row in zip(*named, strict=True)]

    @property
    def _predicate(self) -> str:
        """Name of the slice of a condition: its own, where the set has several."""
        key = self.slice_set.keys[0]
        return "true" if key.column == f"{PREDICATE}{self.slice_set.name}" else key.label

    def pairs(self) -> list[list[dict[str, str | None]]]:
        """The `slice_values` column of the results."""
        if not self.slice_set.keys:
            return [[]]
        if self.slice_set.is_predicate:
            return [[{"column": self.slice_set.name, "value": self._predicate}]]
        return [
            [{"column": key.label, "value": text} for key, text in zip(self.slice_set.keys, row, strict=True)]
            for row in zip(*self._plain_by_key, strict=True)
        ]

    def pair_lists(self) -> pl.Series:
        """The pairs as a column: lists of structs."""
        if not self.slice_set.keys or self.slice_set.is_predicate:
            return pl.Series(self.pairs(), dtype=SLICE_VALUES)
        columns = {str(place): values for place, values in enumerate(self._plain_by_key)}
        texts = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
        structs = [
            pl.struct(pl.lit(key.label).alias("column"), pl.col(str(place)).alias("value"))
            for place, key in enumerate(self.slice_set.keys)
        ]
        return texts.select(pl.concat_list(structs)).to_series().cast(SLICE_VALUES)

    @cached_property
    def _plain_by_key(self) -> list[list[str | None]]:
        """The value of each key as a text by itself, of every slice."""
        return [
            column.to_list()
            if column.dtype == pl.String
            else [key.plain(value) for value in plain_values(column, key.label)]
            for key, column in zip(self.slice_set.keys, self.values, strict=True)
        ]


def plain_values(column: pl.Series, label: str) -> list[Any]:
    """Values as Python objects with distinct texts; times finer than a microsecond have none.

    Raises:
        DataError: a date or time is outside the years of the calendar; `label` names the column.
    """
    column = shortest_decimals(column)
    if column.dtype == pl.Duration:
        column = column.dt.to_string("iso")
    elif column.dtype == pl.Time or getattr(column.dtype, "time_unit", None) == "ns":
        fine = (column.to_physical() % 1000 != 0).any()
        column = column.dt.to_string("iso").str.replace(" ", "T") if fine else column
    try:
        return column.to_list()
    except (PanicException, ValueError, OverflowError) as error:
        msg = f"column '{label}': a slice's {column.dtype.base_type()} is outside the years 1 to 9999"
        raise DataError(
            Problem(msg, ("slices",), "the column is damaged or has another unit of time")
        ) from error


def drop_exclusions(slices: Slices) -> tuple[Slices, list[Any]]:
    """Slices without exclusions, and the exclusions without a slice."""
    labels = [key.label for key in slices.slice_set.keys]
    rows = [[part["value"] for part in row] for row in slices.pairs()]
    texts = slices.texts()
    keep = np.ones(len(rows), dtype=np.bool_)
    unknown = []
    for item in slices.slice_set.exclude:
        named = slice_place(item, texts) if isinstance(item, str) else None
        mapping = item if isinstance(item, Mapping) else {labels[0]: item}
        excluded = {labels.index(name): _excluded_text(value) for name, value in mapping.items()}
        matches = [
            number == named or all(row[place] == value for place, value in excluded.items())
            for number, row in enumerate(rows)
        ]
        keep &= ~np.array(matches, dtype=np.bool_)
        if not any(matches):
            unknown.append(item)
    mask = pl.Series(keep, dtype=pl.Boolean)
    return Slices(slices.slice_set, slices.values.filter(mask), slices.values.filter(~mask)), unknown


def _excluded_text(value: Any) -> str | None:
    return None if value is None else value_text(value)


def order(values: pl.DataFrame) -> pl.DataFrame:
    """Slices in result order: by value of each key in turn, null last."""
    return values.sort(values.columns, nulls_last=True) if values.width else values


@dataclass(frozen=True)
class KeyCodes:
    """Integer codes of one key: their input, their number, null last."""

    key: SliceKey
    values: pl.Series
    first: int | None = None

    @classmethod
    def of(cls, key: SliceKey, values: pl.Series) -> KeyCodes:
        """Cheapest code for some values: an offset for integers and dates, else a look-up."""
        values = values.drop_nulls().unique().sort()
        if values.dtype.is_integer() or values.dtype.is_temporal():
            physical = values.to_physical()
            low, high = physical.min(), physical.max()
            if isinstance(low, int) and isinstance(high, int) and high - low < _WIDEST_SPAN:
                fits = low >= -(1 << 63) and high < 1 << 63
                return cls(key, values, low if fits else None)
        return cls(key, values)

    @cached_property
    def size(self) -> int:
        """Number of codes, the one for null included."""
        if self.first is None:
            return len(self.values) + 1
        last = self.values.to_physical().max()
        assert isinstance(last, int)
        return last - self.first + 2

    @cached_property
    def tags(self) -> TagMembers:
        """The tags of all values."""
        return TagMembers.of(self.values)

    def expression(self) -> pl.Expr:
        """The code of each row, from the key's canonical column."""
        column = pl.col(self.key.column)
        if self.first is not None:
            code = column.to_physical().cast(pl.Int64) - self.first
        elif self.values.dtype == pl.Boolean:
            code = column.cast(pl.Int64) - (0 if self.values.is_empty() or not self.values[0] else 1)
        else:
            temporal = self.values.dtype.is_temporal()
            names = (self.values.to_physical() if temporal else self.values).cast(pl.String)
            code = place_in(names, (column.to_physical() if temporal else column).cast(pl.String))
        return code.fill_null(self.size - 1)


@dataclass(frozen=True, slots=True)
class Cube:
    """Keys numbered together. `sets` are the slice sets it serves, the widest first."""

    codes: tuple[KeyCodes, ...]
    sets: tuple[Slices, ...]

    @property
    def columns(self) -> list[str]:
        """The canonical columns of the keys."""
        return [part.key.column for part in self.codes]

    @property
    def cells(self) -> int:
        """Number of cells, occupied or not."""
        return self._listing.height + 1 if self._lists_cells else self._crossings

    @property
    def _crossings(self) -> int:
        return math.prod(part.size for part in self.codes)

    @property
    def _lists_cells(self) -> bool:
        """Whether cells are those of the widest set, and one more for rows of none of them."""
        return self._crossings > _WIDEST_NUMBER

    @property
    def _listing(self) -> pl.DataFrame:
        """Key values of each listed cell; conditions of sets are constant in each."""
        frame = self.sets[0].occurring
        for name in (name for name in self.columns if name not in frame.columns):
            frame = frame.join(pl.DataFrame({name: [False, True]}), how="cross")
        return frame

    def cell(self) -> pl.Expr:
        """The cell of each row: the codes of the keys as digits in mixed radix, or the number in a list."""
        if self._lists_cells:
            digits = pl.concat_str([part.expression() for part in self.codes], separator="|")
            names = self._listing.select(digits.alias("name"))["name"]
            return place_in(names, digits).fill_null(len(names))
        cell = pl.lit(0, dtype=pl.Int64)
        for part in self.codes:
            cell = cell * part.size + part.expression()
        return cell

    def slice_codes(self, slices: Slices, cells: Codes) -> Codes:
        """For each row's cell the number of its slice in the set, -1 where it belongs to none."""
        within = slices.slice_set.within
        codes = self._codes_of(slices, cells)
        return codes if within is None else np.where(self._holds(within, cells), codes, -1)

    def _holds(self, key: SliceKey, cells: Codes) -> NDArray[np.bool_]:
        """Mask of the cells of a predicate."""
        if self._lists_cells:
            return np.append(self._listing[key.column].to_numpy(), [False])[cells]
        true: NDArray[np.bool_] = self._digit(self.columns.index(key.column), cells) == 1
        return true

    def _digit(self, place: int, cells: Codes) -> Codes:
        """Code of one key in each cell."""
        after = math.prod(part.size for part in self.codes[place + 1 :])
        return cells // after % self.codes[place].size

    def _codes_of(self, slices: Slices, cells: Codes) -> Codes:
        """As `slice_codes`, of all rows."""
        if not slices.slice_set.keys:
            return np.zeros(len(cells), dtype=np.int64)
        if slices.slice_set.is_tagged:
            return self._tagged_codes(slices)[cells]
        if self._lists_cells:
            return self._listed_codes(slices)[cells]
        set_cells = self._set_cells(slices, slices.values)
        position = np.argsort(set_cells, kind="stable")
        if self.cells <= len(cells):
            table = self._find(set_cells, position, self._project(slices, np.arange(self.cells)))
            return table[cells]
        return self._find(set_cells, position, self._project(slices, cells))

    def _tagged_codes(self, slices: Slices) -> Codes:
        """Number of the one tag of each cell among the slices, -1 for none."""
        (place,) = self._members(slices)
        code_of_tags = np.append(self.codes[place].tags.numbers_among(slices.values.to_series()), -1)
        return code_of_tags[self._digit(place, np.arange(self.cells))]

    def _listed_codes(self, slices: Slices) -> Codes:
        keys = slices.values.columns
        numbered = slices.values.with_row_index("@code")
        joined = left_join(self._listing.select(keys), numbered, keys)
        return np.append(joined["@code"].cast(pl.Int64).fill_null(-1).to_numpy(), -1)

    @staticmethod
    def _find(sorted_by: Codes, position: Codes, targets: Codes) -> Codes:
        if len(sorted_by) == 0:
            return np.full(len(targets), -1, dtype=np.int64)
        place = np.minimum(np.searchsorted(sorted_by, targets, sorter=position), len(sorted_by) - 1)
        candidates = position[place]
        return np.where(sorted_by[candidates] == targets, candidates, -1)

    def _members(self, slices: Slices) -> list[int]:
        names = [part.key.column for part in self.codes]
        return [names.index(key.column) for key in slices.slice_set.keys]

    def _project(self, slices: Slices, cells: Codes) -> Codes:
        return self._number(slices, [self._digit(place, cells) for place in self._members(slices)])

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
    for slices in sorted(sets, key=lambda part: -len(part.slice_set.columns)):
        columns = slices.slice_set.columns
        for cube_columns, members in grouped:
            union = [*cube_columns, *(column for column in columns if column not in cube_columns)]
            if len(union) == len(cube_columns) or _cells(union, codes) * blocks <= max_cells:
                cube_columns[:] = union
                members.append(slices)
                break
        else:
            grouped.append((columns, [slices]))
    return [Cube(tuple(codes[column] for column in columns), tuple(members)) for columns, members in grouped]


def _cells(columns: Sequence[str], codes: dict[str, KeyCodes]) -> int:
    return math.prod(codes[column].size for column in columns)
