"""The hash that deals rows to folds: of a row's key columns and a seed, never of its place in the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.core.hashing import FOLD_SALT, mix_expr, mix_int
from plmetrics.table.roles import require
from plmetrics.table.units import is_key, key_word

if TYPE_CHECKING:
    from collections.abc import Sequence

_NULL_WORD = 0x2545F4914F6CDD1D


def fold_hash(columns: Sequence[str], schema: pl.Schema, seed: int) -> pl.Expr:
    """The 64-bit hash of a row's key under a seed.

    A null is a value like any other. The hash of whole numbers, dates and booleans is the same in every version;
    that of text is the same in every run with one version of Polars.

    Raises:
        DataError: a column is absent or of a type that cannot be a key.

    >>> fold = fold_hash(["id"], pl.Schema({"id": pl.Int64}), seed=0) % 5
    >>> pl.DataFrame({"id": [1, 2, 3, 1]}).select(fold.alias("fold"))["fold"].to_list()
    [0, 4, 0, 0]
    """
    state = pl.lit(mix_int(mix_int(seed + 1) ^ FOLD_SALT), dtype=pl.UInt64)
    for column in columns:
        dtype = require(schema, column, "key", ("key",))
        if not is_key(dtype):
            msg = f"column '{column}' is of type {dtype}, but a key must be a whole number, text, date or boolean"
            raise DataError(Problem(msg, ("key",)))
        word = key_word(pl.col(column), dtype, FOLD_SALT).fill_null(pl.lit(_NULL_WORD, dtype=pl.UInt64))
        state = mix_expr(mix_expr(word ^ pl.lit(FOLD_SALT, dtype=pl.UInt64)) ^ state)
    return state
