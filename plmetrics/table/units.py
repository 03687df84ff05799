"""Units: what is resampled together. Each row gets the 64-bit hash of its unit; blocks are groups of hashes."""

from __future__ import annotations

import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.core.hashing import BLOCK_SALT, mix_expr

_WIDE = (pl.Int128, pl.UInt128)
OWN_BLOCK_LIMIT = 4000
"""Up to so many units, each is its own block."""


def unit_hash(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """The hash of a unit key, null where the key is null.

    Raises:
        DataError: the column is of a type that no unit has.
    """
    if not is_key(dtype):
        msg = f"a unit must be a whole number, text, date or boolean, not {dtype}"
        raise DataError(Problem(msg, path=("columns", "unit")))
    return mix_expr(key_word(column, dtype, BLOCK_SALT) ^ pl.lit(BLOCK_SALT, dtype=pl.UInt64))


def is_key(dtype: pl.DataType) -> bool:
    """Whether values of a type can name something: whole numbers, texts, dates, times and booleans can."""
    return not (dtype.is_nested() or dtype in {pl.Binary, pl.Object} or dtype.is_float())


def key_word(column: pl.Expr, dtype: pl.DataType, salt: int) -> pl.Expr:
    """A key as a 64-bit word, null where the key is null.

    Integers of up to 64 bits, booleans and dates are their value, so that what is hashed from it is the same in every
    version; other keys are Polars' hash of their text.
    """
    if (dtype.is_integer() and dtype not in _WIDE) or dtype == pl.Boolean or dtype.is_temporal():
        physical = column.to_physical() if dtype.is_temporal() else column
        return physical if dtype == pl.UInt64 else physical.cast(pl.Int64).reinterpret(signed=False)
    text = column.cast(pl.String)
    return pl.when(text.is_not_null()).then(text.hash(salt))


def row_digest(unit: pl.Expr, label: pl.Expr) -> pl.Expr:
    """A word of a row that is a unit, to be added up modulo 2^64: of its hash and of its label.

    A row's hash is that of its place, where another table may have another row: labels tell them apart. Those of a
    block of many rows are 0 and 1 alike in 1 of 4096 tables, and there is more than one block.

    >>> label = pl.Series([0.0, 1.0])
    >>> pl.select(row_digest(pl.lit(7, dtype=pl.UInt64), pl.lit(label))).to_series().to_list()
    [7, 4607182418800017415]
    """
    return unit ^ label.cast(pl.Float64).reinterpret(dtype=pl.UInt64)


def block_key(unit: pl.Expr, blocks: int | None) -> pl.Expr:
    """The group key of a row's block: its hash modulo the number of blocks, or the hash where each unit is one."""
    return unit if blocks is None else unit % blocks
