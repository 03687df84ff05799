"""The project's own 64-bit hash: two multiply-xorshift rounds, the same in Polars and in NumPy.

A unit is what is resampled together: each row gets the hash of its unit, and blocks are groups of hashes.
Blocks, folds and search halves use different salts, so that none of them is a function of another.
`HASH_VERSION` stands in run.json and in states: a change of the constants is a change of every interval. Version 1
hashed times by their number in the unit of their column: version 2 does so for microseconds alone (`same_words`).
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.errors import DataError, Problem

HASH_VERSION = 2

BLOCK_SALT = 0x9E3779B97F4A7C15
_STRIDE = BLOCK_SALT
DRAW_SALT = 0xD1B54A32D192ED03
SAMPLE_SALT = 0x8CB92BA72F3D8DD7
FOLD_SALT = 0xE35A1F97B4C6D80B
SEARCH_SALT = 0xC2B2AE3D27D4EB4F
ORDER_SALT = 0xA24BAED4963EE407

_WIDE = (pl.Int128, pl.UInt128)
OWN_BLOCK_LIMIT = 4000
"""Up to so many units, each is its own block."""

_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB
_WORD = 1 << 64


def mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64-bit words in NumPy: a bijection with seemingly independent output bits.

    >>> mix(np.array([1], dtype=np.uint64))
    array([6238072747940578789], dtype=uint64)
    """
    x = (x ^ (x >> np.uint64(30))) * np.uint64(_FIRST)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(_SECOND)
    return x ^ (x >> np.uint64(31))


def strides(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Words of numbers from 1 on, to be scrambled: neighbours lie far from each other.

    >>> len(np.unique(mix(strides(np.arange(1, 1000, dtype=np.uint64)))))
    999
    """
    return numbers * np.uint64(_STRIDE)


def mix_expr(x: pl.Expr) -> pl.Expr:
    """Scramble 64-bit words in Polars; `x` must be UInt64.

    >>> pl.select(mix_expr(pl.lit(1, dtype=pl.UInt64))).item()
    6238072747940578789
    """
    x = (x ^ (x // (1 << 30))) * pl.lit(_FIRST, dtype=pl.UInt64)
    x = (x ^ (x // (1 << 27))) * pl.lit(_SECOND, dtype=pl.UInt64)
    return x ^ (x // (1 << 31))


def mix_int(x: int) -> int:
    """Scramble one Python integer, taken modulo 2^64.

    >>> mix_int(1)
    6238072747940578789
    """
    x %= _WORD
    x = ((x ^ (x >> 30)) * _FIRST) % _WORD
    x = ((x ^ (x >> 27)) * _SECOND) % _WORD
    return x ^ (x >> 31)


def unit_hash(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """The hash of a unit key, null where the key is null.

    Raises:
        DataError: the column is of a type that no unit has.
    """
    if not is_key(dtype):
        msg = f"a unit must be a whole number, text, date or boolean, not {dtype}"
        hint = (
            "derive CAST(... AS BIGINT) of it, for ids that a gap made floats" if dtype.is_float() else None
        )
        raise DataError(Problem(msg, ("columns", "unit"), hint))
    return mix_expr(key_word(column, dtype, BLOCK_SALT) ^ pl.lit(BLOCK_SALT, dtype=pl.UInt64))


def is_key(dtype: pl.DataType) -> bool:
    """Whether values of a type can name something: whole numbers, texts, dates, times and booleans can."""
    return not (dtype.is_nested() or dtype in {pl.Binary, pl.Object} or dtype.is_float())


def key_word(column: pl.Expr, dtype: pl.DataType, salt: int) -> pl.Expr:
    """A key as a 64-bit word, null where the key is null.

    Integers of up to 64 bits, in a column of any width, booleans and dates are their value, and instants and durations
    their microseconds in a column of any unit, so that what is hashed from it is the same in every version and whatever
    other keys are there; other keys are Polars' hash of their text.
    """
    if isinstance(dtype, (pl.Datetime, pl.Duration)):
        return _time_word(column.to_physical(), dtype.time_unit)
    if (dtype.is_integer() and dtype not in _WIDE) or dtype == pl.Boolean or dtype.is_temporal():
        physical = column.to_physical() if dtype.is_temporal() else column
        return physical if dtype == pl.UInt64 else physical.cast(pl.Int64).reinterpret(signed=False)
    text = column.cast(pl.String)
    word = pl.when(text.is_not_null()).then(text.hash(salt))
    if dtype not in _WIDE:
        return word
    signed, unsigned = (column.cast(narrow, strict=False) for narrow in (pl.Int64, pl.UInt64))
    return pl.coalesce(signed.reinterpret(signed=False), unsigned, word)


def _time_word(number: pl.Expr, unit: str) -> pl.Expr:
    """Word of a time stored as a number of units: its microseconds, and the scrambled nanoseconds beyond them."""
    if unit == "ns":
        left = mix_expr((number % 1000).cast(pl.UInt64))
        return (number // 1000).reinterpret(signed=False) ^ left
    return (number * (1000 if unit == "ms" else 1)).reinterpret(signed=False)


def same_words(dtype: pl.DataType, versions: Collection[int]) -> bool:
    """Whether these versions of the hash agree on keys of a type."""
    in_other_unit = isinstance(dtype, (pl.Datetime, pl.Duration)) and dtype.time_unit != "us"
    return len(set(versions)) == 1 or (set(versions) == {1, 2} and not in_other_unit)


def row_digest(unit: pl.Expr, label: pl.Expr) -> pl.Expr:
    """Word of a row as a unit, to be added up modulo 2^64: of its hash and of its label.

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


def block_numbers(keys: NDArray[np.uint64], blocks: NDArray[np.uint64]) -> NDArray[np.int32]:
    """The number of each row's block among the group keys of all `blocks`, ascending.

    >>> block_numbers(np.array([7, 2], dtype=np.uint64), np.array([2, 5, 7], dtype=np.uint64)).tolist()
    [2, 0]
    """
    if len(blocks) and int(blocks[-1]) < 1 << 20:
        table = np.zeros(int(blocks[-1]) + 1, dtype=np.int32)
        table[blocks.view(np.int64)] = np.arange(len(blocks), dtype=np.int32)
        return table.take(keys.view(np.int64))
    return np.searchsorted(blocks, keys).astype(np.int32)
