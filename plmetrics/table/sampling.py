"""Samples of rows for estimates: edges of bins, and cuts between passes."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from plmetrics.core.hashing import SAMPLE_SALT, mix_expr, mix_int
from plmetrics.table.prediction_columns import LABEL, UNIT, RoleColumns, part_column

_ROW = "@@row"


def every_kth(rows: pl.LazyFrame, step: int) -> pl.LazyFrame:
    """The first row and every `step`-th after it.

    >>> every_kth(pl.LazyFrame({"x": [5, 6, 7, 8]}), 2).select("x").collect()["x"].to_list()
    [5, 7]
    """
    return rows.with_row_index(_ROW).filter(pl.col(_ROW) % step == 0)


def by_content(rows: pl.LazyFrame, step: int, names: Iterable[str]) -> pl.LazyFrame:
    """About one row in `step`, the same ones in any order: by a hash of numbers, times and booleans.

    Rows that are equal in all of these are taken together, or none of them.

    >>> frame = pl.LazyFrame({"x": range(1000)})
    >>> one, other = (by_content(rows, 10, ["x"]).collect() for rows in (frame, frame.reverse()))
    >>> one.height, one.equals(other.reverse())
    (112, True)
    """
    schema = rows.collect_schema()
    word = pl.lit(0, dtype=pl.UInt64)
    for place, name in enumerate(names):
        number = pl.col(name).to_physical()
        if schema[name] == pl.UInt64:
            bits = number.fill_null(0)
        elif schema[name].is_numeric() or schema[name].is_temporal() or schema[name] == pl.Boolean:
            bits = (number.cast(pl.Float64) + 0.0).fill_null(0.0).reinterpret(dtype=pl.UInt64)
        else:
            continue
        word = word ^ mix_expr(bits ^ pl.lit(mix_int(SAMPLE_SALT + place), dtype=pl.UInt64))
    return rows.filter(word % step == 0)


def telling(roles: RoleColumns, names: Iterable[str]) -> list[str]:
    """Identifying columns of rows: unit, label and predictions, as far as they exist."""
    parts = [part_column(model, part) for model, columns in roles.models.items() for part in columns.parts]
    unit = [] if roles.unit_name is None else [UNIT]
    available = set(names)
    return [name for name in dict.fromkeys([*unit, LABEL, *parts]) if name in available]
