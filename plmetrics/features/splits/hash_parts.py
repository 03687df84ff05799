"""Parts by the hash of a row's key: the rows of a stratum in the order of their hashes, cut into parts by size.

The hash is that of a row's key columns and a seed, never of its place in the table. Where to cut is found in two
streaming passes: counts by the leading bits of the hash, then the hashes of the few ranges that a cut falls into. The
column itself is then a comparison a row: no sort, and nothing to hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.errors import ConfigError, DataError, Problem
from plmetrics.core.hashing import FOLD_SALT, is_key, key_word, mix_expr, mix_int
from plmetrics.engine.streaming import collected_frame
from plmetrics.table.joins import left_join
from plmetrics.table.prediction_columns import require

HASH = "@@hash"
MOST_STRATA = 100_000

Counts = NDArray[np.int64]

_MIXED = "@@mixed"
_RANGE = "@@range"
_ROWS = "@@rows"
_WORD = 1 << 64
_RANGE_BITS = 52
_ROUNDING = 1e-9
_NULL_WORD = 0x2545F4914F6CDD1D


@dataclass(frozen=True, slots=True)
class KeyHash:
    """The 64-bit hash of a row's key under a seed, as a column that is added to rows.

    A null is a value like any other. The hash of whole numbers, dates and booleans is the same in every version;
    that of text is the same in every run with one version of Polars.

    >>> rows = pl.LazyFrame({"id": [1, 2, 3, 1]})
    >>> hashed = KeyHash.of_columns(["id"], rows.collect_schema(), seed=0).with_hash(rows)
    >>> (hashed.collect()[HASH] % 5).to_list()
    [0, 4, 0, 0]
    """

    words: tuple[pl.Expr, ...]
    seed: int

    @classmethod
    def of_columns(cls, columns: Sequence[str], schema: pl.Schema, seed: int, role: str = "key") -> KeyHash:
        """The hash of the columns of a key.

        Raises:
            DataError: a column is absent or of a type that cannot be a key.
        """
        words = []
        for column in columns:
            dtype = require(schema, column, role, (role,))
            if not is_key(dtype):
                must = f"a {role} must be a whole number, text, date or boolean"
                raise DataError(Problem(f"column '{column}' is of type {dtype}, but {must}", (role,)))
            null = pl.lit(_NULL_WORD, dtype=pl.UInt64)
            words.append(key_word(pl.col(column), dtype, FOLD_SALT).fill_null(null))
        return cls(tuple(words), seed)

    def with_hash(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """The rows with their hash, mixed column by column.

        A mix reads its word eight times: one expression of all mixes would grow tenfold with each column of the key.
        """
        state = pl.lit(mix_int(mix_int(self.seed + 1) ^ FOLD_SALT), dtype=pl.UInt64)
        for word in self.words:
            rows = rows.with_columns(mix_expr(word ^ pl.lit(FOLD_SALT, dtype=pl.UInt64)).alias(_MIXED))
            rows = rows.with_columns(mix_expr(pl.col(_MIXED) ^ state).alias(HASH))
            state = pl.col(HASH)
        return rows.drop(_MIXED)


def with_parts(
    rows: pl.LazyFrame,
    key: KeyHash,
    shares: Sequence[float],
    strata: Sequence[str] = (),
    name: str = "fold",
    *,
    exact: bool = True,
    nested: bool = False,
) -> pl.LazyFrame:
    """The rows with the number of each one's part, from 0.

    Rows with one hash stay together. Without `exact`, shares hold in expectation and nothing is read. With `nested` the
    first of the strata is an outer fold: each part has rows outside each of these.

    Raises:
        DataError: a part has no rows.
    """
    hashed = key.with_hash(rows)
    if not exact:
        edges = [int(share * _WORD) for share in list(accumulate(shares))[:-1]]
        return hashed.with_columns(_part([_word(edge) for edge in edges]).alias(name)).drop(HASH)
    keys = {f"@@stratum|{index}": pl.col(column) for index, column in enumerate(strata)}
    narrow = hashed.select(HASH, **keys or {"@@stratum|0": pl.lit(0, dtype=pl.Int8)})
    ranged = narrow.with_columns((pl.col(HASH) // (1 << _RANGE_BITS)).alias(_RANGE))
    table = _cuts(ranged, shares, nested=nested)
    cuts = [column for column in table.columns if column.startswith("@@cut|")]
    if not keys:
        places = table.select(cuts).row(0)
        return hashed.with_columns(_part([_word(edge) for edge in places]).alias(name)).drop(HASH)
    joined = left_join(hashed.with_columns(**keys), table.lazy(), list(keys))
    parted = joined.with_columns(_part([pl.col(cut) for cut in cuts]).alias(name))
    return parted.drop(HASH, *keys, *cuts)


def _word(edge: int | None) -> pl.Expr:
    return pl.lit(None if edge is None else min(edge, _WORD - 1), dtype=pl.UInt64)


def _part(cuts: Sequence[pl.Expr]) -> pl.Expr:
    """Number of cuts below a row's hash; a null cut lies above all."""
    passed = [(pl.col(HASH) >= cut).fill_null(value=False).cast(pl.Int32) for cut in cuts]
    return pl.sum_horizontal(pl.lit(0, dtype=pl.Int32), *passed)


def _cuts(narrow: pl.LazyFrame, shares: Sequence[float], *, nested: bool) -> pl.DataFrame:
    """A row a stratum: its key, and the first hash of every part but the first."""
    strata = [column for column in narrow.collect_schema() if column not in {HASH, _RANGE}]
    ranges = _row_counts(narrow, [*strata, _RANGE])
    first = ranges.select(pl.struct(strata).rle_id()).to_series().to_numpy()
    sizes = np.bincount(first, weights=ranges[_ROWS].to_numpy()).astype(np.int64)
    if len(sizes) > MOST_STRATA:
        msg = f"there are {len(sizes):,} strata, more than {MOST_STRATA:,}"
        raise ConfigError(Problem(msg, ("label",), "strata are classes or bins: bin a number first"))
    targets = np.cumsum(deal(sizes, shares), axis=1)[:, :-1]
    inside = targets < sizes[:, None]
    rank = (targets + (np.cumsum(sizes) - sizes)[:, None])[inside]
    holding, ranks = _locate_ranks(ranges, rank)
    needed = ranges[np.unique(holding)].drop(_ROWS)
    hashes = _row_counts(
        narrow.join(needed.lazy(), on=[*strata, _RANGE], how="semi", nulls_equal=True),
        [*strata, _RANGE, HASH],
    )
    starts = hashes.select(pl.struct(*strata, _RANGE).rle_id()).to_series().to_numpy()
    before = np.concatenate([[0], np.cumsum(np.bincount(starts, weights=hashes[_ROWS].to_numpy()))])
    place, within = _locate_ranks(
        hashes, before[np.unique(holding, return_inverse=True)[1]].astype(np.int64) + ranks
    )
    targets[inside] -= within
    keys = ranges.select(strata).unique(maintain_order=True)
    rows = np.diff(targets, axis=1, prepend=0, append=sizes[:, None])
    _refuse_empty_parts(rows.sum(axis=0))
    if nested:
        _refuse_empty_inner_folds(rows, keys.to_series().to_numpy())
    cut = np.zeros(targets.shape, dtype=np.uint64)
    cut[inside] = hashes[HASH].to_numpy()[place]
    return keys.with_columns(
        pl.when(pl.Series(inside[:, part])).then(pl.Series(cut[:, part])).alias(f"@@cut|{part}")
        for part in range(len(shares) - 1)
    )


def _refuse_empty_parts(rows: Counts) -> None:
    empty = np.flatnonzero(rows == 0)
    if len(empty):
        msg = f"{len(empty):,} of {len(rows):,} parts would have no rows: the table has {rows.sum():,}"
        hint = "ask for fewer folds or a larger share; rows of one key are not parted, and method grouped balances them"
        raise DataError(Problem(msg, ("folds",), hint))


def _refuse_empty_inner_folds(rows: Counts, outer: Counts) -> None:
    """Refuse inner folds without rows to train on, from rows `[stratum, inner fold]` and each stratum's outer fold."""
    for fold in np.unique(outer):
        empty = np.flatnonzero(rows[outer != fold].sum(axis=0) == 0)
        if len(empty):
            place = f"inner fold {empty[0]} would have no rows where outer fold {fold} is tested"
            msg = f"{place}: the table has {rows.sum():,}"
            raise DataError(Problem(msg, ("inner",), "ask for fewer folds"))


def _row_counts(rows: pl.LazyFrame, keys: Sequence[str]) -> pl.DataFrame:
    counted = rows.group_by(keys).agg(pl.len().cast(pl.Int64).alias(_ROWS))
    return collected_frame(counted.sort(keys, nulls_last=True))


def _locate_ranks(counted: pl.DataFrame, rank: Counts) -> tuple[Counts, Counts]:
    """Line in a table of counts of each rank's row, and the rank within the line."""
    ends = np.cumsum(counted[_ROWS].to_numpy())
    line = np.searchsorted(ends, rank, side="right")
    return line, rank - (ends[line] - counted[_ROWS].to_numpy()[line])


def deal(strata: Counts, shares: Sequence[float]) -> Counts:
    """Rows of each stratum (first axis) for each part (second axis).

    Each part gets the whole rows of its share in every stratum. What is left of the strata is dealt from one stratum
    on to the next, in an order that keeps each part near its share all along, so that with equal shares parts differ
    by one row at most, in every stratum and overall.

    >>> deal(np.array([7, 4]), [1 / 3] * 3)
    array([[3, 2, 2],
           [1, 2, 1]])
    >>> deal(np.array([10]), [0.25, 0.75])
    array([[3, 7]])
    """
    share = np.asarray(shares, dtype=np.float64)
    integral = np.floor(np.outer(strata, share) + _ROUNDING).astype(np.int64)
    remainder = strata - integral.sum(axis=1)
    parts = _order(int(remainder.sum()), _targets(int(strata.sum()), share) - integral.sum(axis=0), share)
    stratum = np.repeat(np.arange(len(strata)), remainder)
    extra = np.bincount(stratum * len(share) + parts, minlength=integral.size)
    return integral + extra.reshape(integral.shape)


def _targets(rows: int, share: NDArray[np.float64]) -> Counts:
    """Rows of each part overall: largest remainders, the first part first where they are equal."""
    exact = rows * share
    integral = np.floor(exact + _ROUNDING).astype(np.int64)
    order = np.argsort(-np.round(exact - integral, 9), kind="stable")
    integral[order[: rows - int(integral.sum())]] += 1
    return integral


def _order(total: int, targets: Counts, share: NDArray[np.float64]) -> Counts:
    """Part of each remaining row, in the order of strata."""
    part = np.repeat(np.arange(len(share)), targets)
    turn = np.arange(total) - np.repeat(np.cumsum(targets) - targets, targets)
    due = (turn + 0.5) / share[part]
    return part[np.argsort(due, kind="stable")]
