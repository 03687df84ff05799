"""A look at a table that nobody has described yet: a sample of its rows, and facts of some columns from all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.names import is_pattern
from plmetrics.suite.guesses import Facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from plmetrics.table.source import Source

SAMPLE_ROWS = 100_000
_PLACES = 5


def sample(source: Source, columns: Iterable[str] | None = None) -> pl.DataFrame:
    """Some rows, of some columns: from five places of the table where its length is known, else from its start."""
    rows = source.rows
    frame = source.frame if columns is None else source.frame.select(*dict.fromkeys(columns))
    if rows is None or rows <= SAMPLE_ROWS:
        return frame.head(SAMPLE_ROWS).collect()
    size = SAMPLE_ROWS // _PLACES
    starts = [place * (rows - size) // (_PLACES - 1) for place in range(_PLACES)]
    return pl.concat(pl.collect_all([frame.slice(start, size) for start in starts]))


def facts_of_sample(rows: pl.DataFrame) -> dict[str, Facts]:
    """Facts of every column of a sample."""
    return _measured(rows.lazy(), rows.schema, rows.columns, exact=True)


def facts_of_all(source: Source, columns: Iterable[str], sampled: Mapping[str, Facts]) -> dict[str, Facts]:
    """Facts of some columns, from one scan of all rows; numbers of different values are estimates.

    An estimate may take two values for one, so it counts for no less than what the sample held.
    """
    found = _measured(source.frame, source.schema, columns, exact=False)
    return {
        name: replace(held, distinct=max(held.distinct, sampled[name].distinct))
        for name, held in found.items()
    }


def _measured(
    rows: pl.LazyFrame, schema: pl.Schema, columns: Iterable[str], *, exact: bool
) -> dict[str, Facts]:
    chosen = [name for name in dict.fromkeys(columns) if _plain(schema[name]) and not is_pattern(name)]
    plans = [
        plan for index, name in enumerate(chosen) for plan in _plans(index, name, schema[name], exact=exact)
    ]
    found = rows.select(pl.len().alias("rows"), *plans).collect().row(0, named=True)
    return {name: _facts(index, name, schema[name], found) for index, name in enumerate(chosen)}


def _plain(dtype: pl.DataType) -> bool:
    return not dtype.is_nested() and dtype not in {pl.Binary, pl.Object, pl.Null}


def _plans(index: int, name: str, dtype: pl.DataType, *, exact: bool) -> list[pl.Expr]:
    column = pl.col(name)
    if dtype.is_float():
        bad = (~column.is_finite()).sum()
        column = pl.when(column.is_finite()).then(column)
    else:
        bad = pl.lit(0)
        column = column if dtype.is_numeric() else column.cast(pl.String)
    held = column.drop_nulls()
    return [
        pl.col(name).null_count().alias(f"{index}|nulls"),
        bad.alias(f"{index}|bad"),
        (held.n_unique() if exact else held.approx_n_unique()).alias(f"{index}|distinct"),
        column.min().alias(f"{index}|low"),
        column.max().alias(f"{index}|high"),
    ]


def _facts(index: int, name: str, dtype: pl.DataType, found: dict[str, Any]) -> Facts:
    held = {key: found[f"{index}|{key}"] for key in ("nulls", "bad", "distinct", "low", "high")}
    return Facts(name=name, dtype=dtype, rows=found["rows"], **held)
