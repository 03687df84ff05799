"""Facts of the columns of an undescribed table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from plmetrics.core.names import is_pattern, number_text
from plmetrics.engine.streaming import collected_frame

_LONGEST = 40
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """Facts of a column: finite values only in `low` and `high`, texts for a column of other than numbers."""

    name: str
    dtype: pl.DataType
    rows: int
    nulls: int
    bad: int
    distinct: int
    low: Any
    high: Any

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers."""
        return self.dtype.is_numeric()

    @property
    def zero_one(self) -> bool:
        """Whether it holds nothing but 0 and 1, or booleans."""
        integral = self.numeric and self.distinct <= 2 and {self.low, self.high} <= {0, 1}
        return self.dtype == pl.Boolean or integral

    @property
    def has_two_values(self) -> bool:
        """Whether it can be a binary label."""
        return self.zero_one or (self.distinct == 2 and not self.dtype.is_temporal())

    @property
    def is_share(self) -> bool:
        """Whether it holds decimal numbers in [0, 1]."""
        return self.dtype.is_float() and self.low is not None and self.low >= 0 and self.high <= 1

    @property
    def kind(self) -> str:
        """Content, in a word."""
        if self.numeric:
            return "numbers"
        if self.dtype.is_temporal():
            return "dates"
        return "booleans" if self.dtype == pl.Boolean else "texts"

    @property
    def is_date(self) -> bool:
        """Whether the column is of dates, or of texts with a date at their start."""
        if self.dtype.is_temporal():
            return self.dtype != pl.Time
        texts = self.dtype == pl.String and self.low is not None
        return texts and all(map(_DATE.match, (self.low, self.high)))

    @property
    def span(self) -> str:
        """The range, as text."""
        return f"{short_text(self.low)} to {short_text(self.high)}"

    @property
    def words(self) -> str:
        """The column in a few words."""
        kind = self.kind.removesuffix("s") if self.distinct == 1 else self.kind
        return f"{self.distinct:,} {kind}, {self.span}"


def column_facts(rows: pl.LazyFrame, columns: Iterable[str], *, exact: bool) -> dict[str, ColumnFacts]:
    """Facts of some columns from one scan; without `exact` the numbers of different values are estimates."""
    schema = rows.collect_schema()
    chosen = [name for name in dict.fromkeys(columns) if _plain(schema[name]) and _is_nameable(name)]
    plans = [_plan(name, schema[name], exact=exact).alias(str(place)) for place, name in enumerate(chosen)]
    values = collected_frame(rows.select(pl.len().alias("rows"), *plans)).row(0, named=True)
    return {
        name: ColumnFacts(name=name, dtype=schema[name], rows=values["rows"], **values[str(place)])
        for place, name in enumerate(chosen)
    }


def short_text(value: Any) -> str:
    """A value for a comment: four digits of a number, the beginning of a long text.

    >>> short_text(0.123456), short_text("north")
    ('0.1235', 'north')
    """
    if isinstance(value, (int, float)):
        return number_text(float(f"{value:.4g}"))
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _plain(dtype: pl.DataType) -> bool:
    opaque = dtype.is_nested() or isinstance(dtype, pl.BaseExtension)
    return not opaque and dtype not in {pl.Binary, pl.Object, pl.Null} and dtype != pl.Duration


def _is_nameable(name: str) -> bool:
    return bool(name.strip()) and not is_pattern(name)


def _plan(name: str, dtype: pl.DataType, *, exact: bool) -> pl.Expr:
    column, bad = pl.col(name), pl.lit(0)
    if dtype.is_float():
        bad = (~column.is_finite()).sum()
        column = pl.when(column.is_finite()).then(column)
    elif dtype.is_decimal():
        column = column.cast(pl.Float64)
    elif not dtype.is_numeric():
        column = column.cast(pl.String)
    values = column.drop_nulls()
    return pl.struct(
        nulls=pl.col(name).null_count(),
        bad=bad,
        distinct=values.n_unique() if exact else values.approx_n_unique(),
        low=column.min(),
        high=column.max(),
    )
