"""Keys of slices: a column's values, bins, top values, tags or a predicate, and their texts in results."""

from __future__ import annotations

import datetime
import zoneinfo
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.core.names import SuitePath, number_text
from plmetrics.core.ops import Codes
from plmetrics.core.slice_texts import NULL, OTHER, quote

Kind = Literal["column", "bins", "quantiles", "top", "tags", "predicate"]

NAN = "nan"
_WIDEST = 1 << 127
_FEW = 8
"""Up to so many edges a value is compared with each of them, which is faster than a search."""

TAG_SEPARATOR = "\x1f"
"""Separator of the tags of a row: a control character that no tag has."""

PREDICATE = "@where|"
"""Before the set's name in the column of a condition, and that of the condition where a set has several."""


@dataclass(frozen=True, slots=True)
class SliceKey:
    """One grouping key of rows. `column` is the canonical column of its value or number.

    `edges` are those of bins, and for `top` the values that have a slice of their own. Of `quantiles` and `top` only
    their `number` is known until the data has been looked at; `excluded` are values that a top leaves out, which are
    numbered behind the rest, and `values` those that have a slice as the column holds them. The value of `tags` is all
    tags of a row in one text. That of a period, which is `every` so long, is the date or time that it begins at.
    """

    column: str
    label: str
    expression: pl.Expr
    kind: Kind
    edges: tuple[Any, ...] = ()
    number: int = 0
    excluded: pl.Series | None = None
    values: pl.Series | None = None
    every: str = ""

    @property
    def waits(self) -> bool:
        """Whether its edges, or the values of a top, are still to be found in the data."""
        return self.kind == "quantiles" or (self.kind == "top" and self.values is None)

    def in_bins(self, edges: tuple[Any, ...], dtype: pl.DataType) -> SliceKey:
        """Key of the bins between edges of a column of this type."""
        index = bin_index(self.expression, dtype, edges) if edges else only_bin(self.expression, dtype)
        return replace(self, kind="bins", expression=index, edges=edges)

    def text(self, value: Any) -> str:
        """The value as it stands in the text of a slice."""
        text = self.plain(value)
        if text is None:
            return NULL
        if self.kind == "bins" or self._is_rest(value):
            return text
        return quote(text, NULL, OTHER) if self.kind == "top" else quote(text, NULL)

    def plain(self, value: Any) -> str | None:
        """The value as a text by itself, None for null."""
        if value is None:
            return None
        if self.kind == "bins":
            return bin_text(self.edges, value)
        if self._is_rest(value):
            return OTHER
        if self.every:
            return period_text(value, self.every)
        edge = self.edges[value] if self.kind == "top" else value
        return None if edge is None else value_text(edge)

    def _is_rest(self, value: Any) -> bool:
        return self.kind == "top" and value is not None and value >= len(self.edges)


def value_text(value: Any) -> str:
    """A group value as text: strings as they are, numbers in shortest form, booleans lower case, dates ISO.

    >>> value_text(2.0), value_text(Decimal("1.10")), value_text(True), value_text("north")
    ('2', '1.1', 'true', 'north')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, Decimal):
        text = f"{value or 0:f}"  # without the exponent and the zeros that the type of a column adds
        return text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return str(value)


def bin_text(edges: Sequence[Any], index: int) -> str:
    """The half-open interval of a bin; NaN is in none, and has the number behind the last.

    >>> bin_text((25, 40), 1), bin_text((25, 40), 0), bin_text((25, 40), 3)
    ('[25, 40)', '(-inf, 25)', 'nan')
    """
    if index > len(edges):
        return NAN
    lower = f"[{value_text(edges[index - 1])}" if index > 0 else "(-inf"
    upper = value_text(edges[index]) if index < len(edges) else "inf"
    return f"{lower}, {upper})"


def period_text(start: Any, every: str) -> str:
    """A period by its first year, month, day or hour.

    >>> period_text(datetime.date(1, 3, 1), "1mo"), period_text(datetime.date(2026, 3, 2), "1w")
    ('0001-03', '2026-03-02')
    """
    if isinstance(start, str) or not every.endswith("mo"):
        return value_text(start)
    return str(start)[: 4 if int(every[:-2]) % 12 == 0 else 7]


def period_start(column: pl.Expr, dtype: pl.DataType, every: str) -> pl.Expr:
    """Start date of a row's period, a time for periods of hours; null for a null.

    Times with a time zone belong to days of that zone, and a period of several hours that a clock is set back in begins
    where that time is first shown; weeks begin on Monday. Text is read as ISO dates, as csv files hold them; what is
    none counts as null.

    Raises:
        ValueError: the column has no such periods; the text says what it must hold.
    """
    by_hours = every.endswith("h")
    if dtype == pl.String and not by_hours:
        return column.str.head(10).str.to_date("%Y-%m-%d", strict=False).dt.truncate(every)
    if isinstance(dtype, pl.Datetime) and by_hours:
        start = column.dt.truncate(every)
        if dtype.time_zone is None or every == "1h":
            return start
        shown = start.dt.replace_time_zone(None)
        return shown.dt.replace_time_zone(dtype.time_zone, ambiguous="earliest")
    if isinstance(dtype, pl.Datetime) or (dtype == pl.Date and not by_hours):
        return column.dt.date().dt.truncate(every)
    msg = "times" if by_hours else "dates or times"
    raise ValueError(msg)


def bin_index(column: pl.Expr, dtype: pl.DataType, edges: Sequence[Any]) -> pl.Expr:
    """Number of edges at or below the value, null where the value is null, one more than all of them where it is NaN.

    A date among times is its midnight, and an edge without a time zone is in the column's. Text is read as ISO dates,
    as csv files hold them; what is none counts as null.

    Raises:
        ValueError: the edges cannot be compared with the column; the text says what they are.
    """
    if isinstance(edges[0], datetime.date):
        if dtype == pl.String and not any(isinstance(edge, datetime.datetime) for edge in edges):
            column, dtype = column.str.head(10).str.to_date("%Y-%m-%d", strict=False), pl.Date()
        edges = [_moment(edge, dtype) for edge in edges]
        if dtype == pl.Date and any(isinstance(edge, datetime.datetime) for edge in edges):
            column = column.cast(pl.Datetime("us"))
    elif not dtype.is_numeric():
        msg = "numbers"
        raise ValueError(msg)
    if len(edges) > _FEW:
        number = column.bin_intervals(_breaks(edges, dtype), labels=False)
    else:
        passed = [(column >= _number(edge)).cast(pl.UInt32) for edge in edges]
        number = pl.sum_horizontal(passed, ignore_nulls=False)
    return _behind(column, len(edges), number) if dtype.is_float() else number


def only_bin(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """The one bin of a column without edges."""
    number = pl.when(column.is_not_null()).then(pl.lit(0, dtype=pl.UInt32))
    return _behind(column, 0, number) if dtype.is_float() else number


def _behind(column: pl.Expr, edges: int, number: pl.Expr) -> pl.Expr:
    """The numbers of bins, with NaN behind the last."""
    return pl.when(column.is_nan()).then(pl.lit(edges + 1, dtype=pl.UInt32)).otherwise(number)


def _breaks(edges: Sequence[Any], dtype: pl.DataType) -> pl.Series:
    """Edges as a column for a binary search: those of a column of fewer than 64 bits are rounded as its values are."""
    if dtype in {pl.Float32, pl.Float16}:
        narrow = pl.Series(edges, dtype=dtype, strict=False)
        if narrow.n_unique() == len(edges):
            return narrow
    widest = max((abs(edge) for edge in edges if isinstance(edge, int)), default=0)
    if widest < 1 << 63:
        return pl.Series(edges, strict=False)
    exact = widest < _WIDEST and all(isinstance(edge, int) for edge in edges)
    return pl.Series(edges, dtype=pl.Int128) if exact else pl.Series(map(float, edges))


def _number(edge: Any) -> Any:
    """Edge as a number for an expression: Polars has no whole numbers of more than 128 bits."""
    return float(edge) if isinstance(edge, int) and abs(edge) >= _WIDEST else edge


def _moment(edge: datetime.date, dtype: pl.DataType) -> datetime.date:
    """Date or time comparable with a column of dates or times."""
    zoned = isinstance(edge, datetime.datetime) and edge.tzinfo is not None
    zone = dtype.time_zone if isinstance(dtype, pl.Datetime) else None
    if not isinstance(dtype, (pl.Date, pl.Datetime)) or (zoned and zone is None):
        msg = "times with a time zone" if zoned else "dates"
        raise ValueError(msg)
    if not isinstance(dtype, pl.Datetime):
        return edge
    if not isinstance(edge, datetime.datetime):
        edge = datetime.datetime.combine(edge, datetime.time())
    if zone is None:
        return edge
    timezone = zoneinfo.ZoneInfo(zone)
    return edge.astimezone(timezone) if zoned else edge.replace(tzinfo=timezone)


def tag_text(column: pl.Expr) -> pl.Expr:
    """All different tags of a row in one text, null where it has none."""
    tags = column.cast(pl.List(pl.String))
    occupied = tags.list.len() > tags.list.count_matches(None)
    texts = pl.when(occupied).then(tags.list.join(TAG_SEPARATOR))
    return texts.map_batches(_tags_in_order, return_dtype=pl.String, is_elementwise=True)


def _tags_in_order(texts: pl.Series) -> pl.Series:
    """Tags of each row, sorted and unique; each combination of tags is sorted once."""
    tags = pl.col("text").str.split(TAG_SEPARATOR)
    ordered = tags.list.eval(pl.element().sort().unique(maintain_order=True)).list.join(TAG_SEPARATOR)
    rows = texts.alias("text").to_frame()
    combinations = rows.unique().select("text", ordered.alias("tags"))
    return rows.join(combinations, on="text", how="left", maintain_order="left")["tags"]


def top_index(column: pl.Expr, values: pl.Series, excluded: pl.Series) -> pl.Expr:
    """Index of a value among the top ones; other values get the next index, excluded ones that after it."""
    other = len(values)
    place = place_in(_names(values), _text(column, values.dtype)).fill_null(other)
    if excluded.len():
        left_out = place_in(_names(excluded), _text(column, values.dtype)).is_not_null()
        place = pl.when(left_out).then(other + 1).otherwise(place)
    absent = len(values.drop_nulls()) if values.has_nulls() else other + int(excluded.has_nulls())
    return pl.when(column.is_null()).then(absent).otherwise(place).cast(pl.UInt32)


def _names(values: pl.Series) -> pl.Series:
    distinct = values.drop_nulls().unique(maintain_order=True)
    return (distinct.to_physical() if distinct.dtype.is_temporal() else distinct).cast(pl.String)


def _text(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    return (column.to_physical() if dtype.is_temporal() else column).cast(pl.String)


def place_in(names: pl.Series, text: pl.Expr) -> pl.Expr:
    """The number of each text among the names, null where it is none of them."""
    return text.cast(pl.Enum(names), strict=False).to_physical().cast(pl.Int64)


def refuse_name_of_rest(values: Iterable[Any], label: str, path: SuitePath, instead: str) -> None:
    """Refuse a column with a value named like the slice of its values outside the top.

    Raises:
        DataError: one is.
    """
    if OTHER in map(value_text, values):
        msg = f"column '{label}' has a value '{OTHER}' among its top, and the rest is called that"
        raise DataError(Problem(msg, path, f"rename the value, or {instead}"))


@dataclass(frozen=True, slots=True)
class TagMembers:
    """The tags of some combinations: their `names` in order, and an entry for each tag of each combination.

    `combination` is the place of the one, `tag` the number of the other's name.
    """

    names: pl.Series
    combination: Codes
    tag: Codes
    combinations: int

    @classmethod
    def of(cls, combinations: pl.Series) -> TagMembers:
        """Split the texts of combinations; null has no tag."""
        tags = combinations.str.split(TAG_SEPARATOR).to_frame("tag").with_row_index("of").explode("tag")
        tags = tags.drop_nulls()
        names = tags["tag"].unique().sort()
        number = tags.select(place_in(names, pl.col("tag"))).to_series()
        return cls(names, tags["of"].cast(pl.Int64).to_numpy(), number.to_numpy(), len(combinations))

    def numbers_among(self, tags: pl.Series) -> Codes:
        """By combination the place of its one tag among some, -1 for none."""
        occurs = tags.is_in(self.names.implode())
        places = np.full(len(self.names), -1, dtype=np.int64)
        places[self.names.search_sorted(tags.filter(occurs)).to_numpy()] = np.flatnonzero(occurs.to_numpy())
        ranks = places[self.tag]
        out = np.full(self.combinations, -1, dtype=np.int64)
        out[self.combination[ranks >= 0]] = ranks[ranks >= 0]
        return out
