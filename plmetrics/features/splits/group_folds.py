"""Folds of whole groups: one small table of rows per group, and a look-up of each row's group in it.

Folds are alike in size, and in classes where these count. Groups come as an array of rows per group (and class), in
the order of their hashes: that order decides between equals.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.errors import DataError, Problem
from plmetrics.engine.streaming import collected_frame
from plmetrics.features.splits.hash_parts import HASH, KeyHash
from plmetrics.table.joins import left_join

Counts = NDArray[np.int64]
Shares = NDArray[np.float64]

_LARGEST = 20_000
"""How many groups that no other equals are placed one by one; smaller ones are dealt in rounds."""
_FEW = 200
_CHANGES = 200
_LEAST_GAIN = 1e-12
_ROWS = "@@rows"
_WITHIN = "@@within"


def with_group_folds(
    rows: pl.LazyFrame,
    key: KeyHash,
    group: Sequence[str],
    folds: int,
    label: Sequence[str] = (),
    name: str = "fold",
    within: str | None = None,
    *,
    mixed: bool = False,
) -> pl.LazyFrame:
    """The rows with the number of the fold of each one's group; `key` is the hash of the group.

    Folds are alike in size, and in the classes of `label` if given. `within` is a column of outer folds that is one
    value in each group: then inner folds are dealt inside each.
    `mixed` lets the seed decide between groups of about one size, not of one size only.

    Raises:
        DataError: a group is null, or there are fewer groups than folds.
    """
    outer = pl.lit(0, dtype=pl.Int32) if within is None else pl.col(within)
    classes = [f"@@class|{index}" for index in range(len(label))]
    keys = map(pl.Expr.alias, map(pl.col, label), classes)
    plan = rows.group_by(*group, *keys).agg(
        pl.len().cast(pl.Int64).alias(_ROWS), outer.first().alias(_WITHIN)
    )
    counted = collected_frame(key.with_hash(plan).sort(_WITHIN, HASH, *group))
    _refuse_null_groups(counted, group)
    members = counted.select(*group, _WITHIN).unique(maintain_order=True)
    counts = _matrix(counted, group, classes)
    fold = np.zeros(members.height, dtype=np.int64)
    sizes = members[_WITHIN].to_numpy()
    for part in np.unique(sizes):
        chosen = np.flatnonzero(sizes == part)
        if len(chosen) < folds:
            raise DataError(_group_shortage(len(chosen), group, folds, inner=within is not None))
        if label or mixed:
            fold[chosen] = by_class(counts[chosen], folds, mixed=mixed)
        else:
            fold[chosen] = by_size(counts[chosen, 0], folds)
    return _join(rows, members.drop(_WITHIN), group, fold, name)


def with_group_numbers(rows: pl.LazyFrame, group: Sequence[str], name: str) -> pl.LazyFrame:
    """The rows with the number of each one's group, in the order of the groups' values.

    Raises:
        DataError: a group is null, or there is only one.
    """
    plan = rows.group_by(*group).agg(pl.len().cast(pl.Int64).alias(_ROWS))
    members = collected_frame(plan.sort(*group))
    _refuse_null_groups(members, group)
    if members.height < 2:
        raise DataError(_group_shortage(members.height, group, 2, inner=False))
    return _join(rows, members.drop(_ROWS), group, np.arange(members.height), name)


def _refuse_null_groups(counted: pl.DataFrame, group: Sequence[str]) -> None:
    absent = pl.any_horizontal(pl.col(column).is_null() for column in group)
    rows = int(counted.filter(absent)[_ROWS].sum())
    if rows:
        msg = f"column '{', '.join(group)}' (group): {rows:,} rows have no group (null)"
        raise DataError(Problem(msg, ("group",), "fill them, or leave these rows out"))


def _group_shortage(groups: int, group: Sequence[str], folds: int, *, inner: bool) -> Problem:
    where = "an outer fold" if inner else "the table"
    msg = f"{where} has {groups:,} of the groups '{', '.join(group)}', too few for {folds} folds"
    return Problem(msg, ("group",), "ask for fewer folds")


def _matrix(counted: pl.DataFrame, group: Sequence[str], label: Sequence[str]) -> Counts:
    """Rows by group, in the order of the table, and class."""
    line = counted.select(pl.struct(group).rle_id()).to_series().to_numpy().astype(np.int64)
    rows = counted[_ROWS].to_numpy()
    if not label:
        return rows[:, None]
    classes = counted.select(label).unique().sort(label).with_row_index("@@code")
    code = left_join(counted.select(label), classes, label)["@@code"].to_numpy().astype(np.int64)
    shape = (int(line[-1]) + 1 if len(line) else 0, classes.height)
    flat = np.bincount(line * shape[1] + code, weights=rows, minlength=shape[0] * shape[1])
    return flat.astype(np.int64).reshape(shape)


def _join(
    rows: pl.LazyFrame, members: pl.DataFrame, group: Sequence[str], fold: Counts, name: str
) -> pl.LazyFrame:
    table = members.with_columns(pl.Series(name, fold, dtype=pl.Int32))
    return rows.join(table.lazy(), on=list(group), how="left", maintain_order="left")


def by_size(sizes: Counts, folds: int) -> Counts:
    """The fold of each group: the largest group first, each to the fold with the fewest rows so far.

    Groups of one size are placed together: the folds' running sizes are k arithmetic sequences, of which the smallest
    elements are taken. There are fewer than sqrt(2 x rows) different sizes, however many groups there are.

    Source: Graham (1969), Bounds on multiprocessing timing anomalies, SIAM J. Applied Mathematics 17(2).

    >>> by_size(np.array([1, 5, 3, 3, 2]), 2)
    array([1, 0, 1, 1, 0])
    """
    fold = np.zeros(len(sizes), dtype=np.int64)
    totals = np.zeros(folds, dtype=np.int64)
    order = np.argsort(-sizes, kind="stable")
    starts = np.flatnonzero(np.diff(sizes[order], prepend=-1))
    for members in np.split(order, starts[1:]):
        if len(members):
            size = int(sizes[members[0]])
            positions = _smallest(totals, size, len(members))
            fold[members] = positions
            totals += size * np.bincount(positions, minlength=folds)
    return fold


def _smallest(totals: Counts, size: int, number: int) -> Counts:
    """Folds of some groups of one size, each placed in turn into the fold with the fewest rows."""
    folds = len(totals)
    spread = int(totals.max() - totals.min()) // max(size, 1)
    steps = min(number, number // folds + spread + 2)
    after = totals[:, None] + size * np.arange(steps)
    return np.argsort(after, axis=None, kind="stable")[:number] // steps


def by_class(counts: Counts, folds: int, *, mixed: bool = False) -> Counts:
    """The fold of each group, from rows per group and class: folds alike in every class and in size.

    Groups with the same counts are dealt evenly first. The rest, the largest first, go each to the fold where the sum
    over classes and rows of squared shares grows least; beyond the 20,000 largest they are dealt in rounds of
    neighbours by size and classes. Up to 200 groups are then moved and exchanged while the sum falls.
    With `mixed`, groups within a factor of two count as equally large, so that another order of groups gives other
    folds even where no two are alike.

    >>> by_class(np.array([[4, 0], [0, 2], [0, 2], [4, 0], [0, 1]]), 2)
    array([0, 0, 1, 1, 0])
    """
    fold = np.full(len(counts), -1, dtype=np.int64)
    _, kind = np.unique(counts, axis=0, return_inverse=True)
    _deal_equal(kind.reshape(-1), fold, folds)
    weighted = _class_shares(counts)
    unassigned = np.flatnonzero(fold < 0)
    size = (weighted[unassigned] ** 2).sum(axis=1)
    size = np.floor(np.log2(np.maximum(size, _LEAST_GAIN)) / 2) if mixed else size
    unassigned = unassigned[np.argsort(-size, kind="stable")]
    _deal_rounds(unassigned[_LARGEST:], counts, fold, folds)
    totals = np.zeros((folds, weighted.shape[1]))
    np.add.at(totals, fold[fold >= 0], weighted[fold >= 0])
    for group in unassigned[:_LARGEST]:
        chosen = int(np.argmin(np.round(totals @ weighted[group], 12)))
        fold[group] = chosen
        totals[chosen] += weighted[group]
    return _improve(fold, weighted, totals)


def _class_shares(counts: Counts) -> Shares:
    """Shares of each class, and of all rows, in each group."""
    every = np.column_stack([counts, counts.sum(axis=1)]).astype(np.float64)
    shares: Shares = every / np.maximum(every.sum(axis=0), 1.0)
    return shares


def _deal_equal(kind: Counts, fold: Counts, folds: int) -> None:
    """Deal groups of one kind to all folds alike; fewer than `folds` of each kind stay without a fold."""
    order = np.argsort(kind, kind="stable")
    sizes = np.bincount(kind)
    place = np.arange(len(kind)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    even = place < np.repeat(sizes // folds * folds, sizes)
    fold[order[even]] = place[even] % folds


def _deal_rounds(groups: Counts, counts: Counts, fold: Counts, folds: int) -> None:
    """Deal groups in rounds of one for each fold, to and fro, neighbours alike in size and classes."""
    if not len(groups):
        return
    sizes = counts[groups]
    order = groups[np.lexsort((*sizes.T[::-1], sizes.sum(axis=1)))]
    turn = np.arange(len(order))
    forth, place = (turn // folds) % 2 == 0, turn % folds
    fold[order] = np.where(forth, place, folds - 1 - place)


def _improve(fold: Counts, weighted: Shares, totals: Shares) -> Counts:
    """Move or exchange groups as long as the sum of squared shares falls; only for few groups."""
    for _ in range(_CHANGES if len(fold) <= _FEW else 0):
        gain, group, chosen = _best_move(fold, weighted, totals)
        swapped, first, second = _best_exchange(fold, weighted, totals)
        if max(gain, swapped) <= _LEAST_GAIN:
            break
        changes = [(group, chosen)]
        if swapped > gain:
            changes = [(first, int(fold[second])), (second, int(fold[first]))]
        for member, goal in changes:
            totals[fold[member]] -= weighted[member]
            totals[goal] += weighted[member]
            fold[member] = goal
    return fold


def _best_move(fold: Counts, weighted: Shares, totals: Shares) -> tuple[float, int, int]:
    """The gain of the best move, its group and its goal."""
    groups = np.arange(len(fold))
    along = weighted @ totals.T
    gain = along[groups, fold][:, None] - along - (weighted**2).sum(axis=1)[:, None]
    gain[groups, fold] = -np.inf
    group, chosen = divmod(int(np.argmax(gain)), len(totals))
    return float(gain[group, chosen]), group, chosen


def _best_exchange(fold: Counts, weighted: Shares, totals: Shares) -> tuple[float, int, int]:
    """The gain of the best exchange, and the two groups."""
    more = weighted[:, None, :] - weighted[None, :, :]
    apart = totals[fold][:, None, :] - totals[fold][None, :, :]
    gain = (more * apart).sum(axis=2) - (more**2).sum(axis=2)
    gain[fold[:, None] == fold] = -np.inf
    first, second = divmod(int(np.argmax(gain)), len(fold))
    return float(gain[first, second]), first, second
