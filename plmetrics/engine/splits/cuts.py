"""Parts by hash: the rows of a stratum in the order of their hashes, cut where each part has its rows.

Where to cut is found in two streaming passes: counts by the leading bits of the hash, then the hashes of the few
ranges that a cut falls into. The column itself is then a comparison a row: no sort, and nothing to hold.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.table.splits.dealing import deal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Places = NDArray[np.int64]

HASH = "@hash"

_RANGE = "@range"
_ROWS = "@rows"
_WORD = 1 << 64
_RANGE_BITS = 52
MOST_STRATA = 100_000


def with_parts(
    rows: pl.LazyFrame,
    hashed: pl.Expr,
    shares: Sequence[float],
    strata: Sequence[str] = (),
    name: str = "fold",
    *,
    exact: bool = True,
) -> pl.LazyFrame:
    """The rows with the number of each one's part, from 0.

    Rows with one hash stay together. Without `exact`, shares hold in expectation and nothing is read.

    Raises:
        ConfigError: there are more than 100,000 strata.
    """
    if not exact:
        edges = [int(share * _WORD) for share in list(accumulate(shares))[:-1]]
        return rows.with_columns(_part(hashed, [_word(edge) for edge in edges]).alias(name))
    keys = {f"@stratum|{index}": pl.col(column) for index, column in enumerate(strata)}
    narrow = rows.select(hashed.alias(HASH), **keys or {"@stratum|0": pl.lit(0, dtype=pl.Int8)})
    found = _cuts(narrow.with_columns((pl.col(HASH) // (1 << _RANGE_BITS)).alias(_RANGE)), shares)
    cuts = [column for column in found.columns if column.startswith("@cut|")]
    if not keys:
        places = found.select(cuts).row(0) if found.height else (None,) * len(cuts)
        return rows.with_columns(_part(hashed, [_word(edge) for edge in places]).alias(name))
    joined = rows.with_columns(**keys).join(
        found.lazy(), on=list(keys), how="left", nulls_equal=True, maintain_order="left"
    )
    return joined.with_columns(_part(hashed, [pl.col(cut) for cut in cuts]).alias(name)).drop(*keys, *cuts)


def _word(edge: int | None) -> pl.Expr:
    return pl.lit(None if edge is None else min(edge, _WORD - 1), dtype=pl.UInt64)


def _part(hashed: pl.Expr, cuts: Sequence[pl.Expr]) -> pl.Expr:
    """How many cuts a hash has passed; a cut that is null lies behind all."""
    passed = [(hashed >= cut).fill_null(value=False).cast(pl.Int32) for cut in cuts]
    return pl.sum_horizontal(pl.lit(0, dtype=pl.Int32), *passed)


def _cuts(narrow: pl.LazyFrame, shares: Sequence[float]) -> pl.DataFrame:
    """A row a stratum: its key, and the first hash of every part but the first."""
    strata = [column for column in narrow.collect_schema() if column not in {HASH, _RANGE}]
    ranges = _counted(narrow, [*strata, _RANGE])
    first = ranges.select(pl.struct(strata).rle_id()).to_series().to_numpy()
    sizes = np.bincount(first, weights=ranges[_ROWS].to_numpy()).astype(np.int64)
    if len(sizes) > MOST_STRATA:
        msg = f"there are {len(sizes):,} strata, more than {MOST_STRATA:,}"
        raise ConfigError(Problem(msg, ("label",), "strata are classes or bins: bin a number first"))
    wanted = np.cumsum(deal(sizes, shares), axis=1)[:, :-1]
    inside = wanted < sizes[:, None]
    rank = (wanted + (np.cumsum(sizes) - sizes)[:, None])[inside]
    holding, rest = _located(ranges, rank)
    needed = ranges[np.unique(holding)].drop(_ROWS)
    hashes = _counted(
        narrow.join(needed.lazy(), on=[*strata, _RANGE], how="semi", nulls_equal=True),
        [*strata, _RANGE, HASH],
    )
    starts = hashes.select(pl.struct(*strata, _RANGE).rle_id()).to_series().to_numpy()
    before = np.concatenate([[0], np.cumsum(np.bincount(starts, weights=hashes[_ROWS].to_numpy()))])
    place, _ = _located(hashes, before[np.unique(holding, return_inverse=True)[1]].astype(np.int64) + rest)
    cut = np.zeros(wanted.shape, dtype=np.uint64)
    cut[inside] = hashes[HASH].to_numpy()[place]
    keys = ranges.select(strata).unique(maintain_order=True)
    return keys.with_columns(
        pl.when(pl.Series(inside[:, part])).then(pl.Series(cut[:, part])).alias(f"@cut|{part}")
        for part in range(len(shares) - 1)
    )


def _counted(rows: pl.LazyFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Rows by key, ascending."""
    counted = rows.group_by(keys).agg(pl.len().cast(pl.Int64).alias(_ROWS))
    return counted.sort(keys, nulls_last=True).collect()


def _located(counted: pl.DataFrame, rank: Places) -> tuple[Places, Places]:
    """The line of a table of counts that holds the row of each rank, and the rank within that line."""
    ends = np.cumsum(counted[_ROWS].to_numpy())
    line = np.searchsorted(ends, rank, side="right")
    return line, rank - (ends[line] - counted[_ROWS].to_numpy()[line])
