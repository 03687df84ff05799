"""Folds of whole groups: one small table of rows per group, and a look-up of each row's group in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.engine.splits.cuts import HASH
from plmetrics.table.splits.balance import by_class, by_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

_ROWS = "@rows"
_WITHIN = "@within"


def with_group_folds(
    rows: pl.LazyFrame,
    hashed: pl.Expr,
    group: Sequence[str],
    folds: int,
    label: Sequence[str] = (),
    name: str = "fold",
    within: str | None = None,
    *,
    mixed: bool = False,
) -> pl.LazyFrame:
    """The rows with the number of the fold of each one's group; `hashed` is the hash of the group.

    Folds are alike in size, and in the classes of `label` if given. `within` is a column of outer folds that is one
    value in each group: then inner folds are dealt inside each.
    `mixed` lets the seed decide between groups of about one size, not of one size only.

    Raises:
        DataError: a group is null, or there are fewer groups than folds.
    """
    outer = pl.lit(0, dtype=pl.Int32) if within is None else pl.col(within)
    classes = [f"@class|{index}" for index in range(len(label))]
    keys = map(pl.Expr.alias, map(pl.col, label), classes)
    plan = rows.group_by(*group, *keys).agg(
        pl.len().cast(pl.Int64).alias(_ROWS), outer.first().alias(_WITHIN)
    )
    counted = plan.with_columns(hashed.alias(HASH)).sort(_WITHIN, HASH, *group).collect()
    _refuse_null_groups(counted, group)
    members = counted.select(*group, _WITHIN).unique(maintain_order=True)
    counts = _matrix(counted, group, classes)
    fold = np.zeros(members.height, dtype=np.int64)
    whole = members[_WITHIN].to_numpy()
    for part in np.unique(whole):
        chosen = np.flatnonzero(whole == part)
        if len(chosen) < folds:
            raise DataError(_too_few(len(chosen), group, folds, inner=within is not None))
        if label or mixed:
            fold[chosen] = by_class(counts[chosen], folds, mixed=mixed)
        else:
            fold[chosen] = by_size(counts[chosen, 0], folds)
    return _looked_up(rows, members.drop(_WITHIN), group, fold, name)


def with_each_group(rows: pl.LazyFrame, group: Sequence[str], name: str) -> pl.LazyFrame:
    """The rows with the number of each one's group, in the order of the groups' values.

    Raises:
        DataError: a group is null, or there is only one.
    """
    plan = rows.group_by(*group).agg(pl.len().cast(pl.Int64).alias(_ROWS))
    members = plan.sort(*group).collect()
    _refuse_null_groups(members, group)
    if members.height < 2:
        raise DataError(_too_few(members.height, group, 2, inner=False))
    return _looked_up(rows, members.drop(_ROWS), group, np.arange(members.height), name)


def _refuse_null_groups(counted: pl.DataFrame, group: Sequence[str]) -> None:
    """See that no row is without a group."""
    absent = pl.any_horizontal(pl.col(column).is_null() for column in group)
    rows = int(counted.filter(absent)[_ROWS].sum())
    if rows:
        msg = f"column '{', '.join(group)}' (group): {rows:,} rows have no group (null)"
        raise DataError(Problem(msg, ("group",), "fill them, or leave these rows out"))


def _too_few(groups: int, group: Sequence[str], folds: int, *, inner: bool) -> Problem:
    where = "an outer fold" if inner else "the table"
    msg = f"{where} has {groups:,} of the groups '{', '.join(group)}', too few for {folds} folds"
    return Problem(msg, ("group",), "ask for fewer folds")


def _matrix(counted: pl.DataFrame, group: Sequence[str], label: Sequence[str]) -> Counts:
    """Rows by group, in the order of the table, and class."""
    line = counted.select(pl.struct(group).rle_id()).to_series().to_numpy().astype(np.int64)
    rows = counted[_ROWS].to_numpy()
    if not label:
        return rows[:, None]
    classes = counted.select(label).unique().sort(label).with_row_index("@code")
    code = (
        counted.select(label)
        .join(classes, on=label, how="left", nulls_equal=True, maintain_order="left")["@code"]
        .to_numpy()
        .astype(np.int64)
    )
    shape = (int(line[-1]) + 1 if len(line) else 0, classes.height)
    flat = np.bincount(line * shape[1] + code, weights=rows, minlength=shape[0] * shape[1])
    return flat.astype(np.int64).reshape(shape)


def _looked_up(
    rows: pl.LazyFrame, members: pl.DataFrame, group: Sequence[str], fold: Counts, name: str
) -> pl.LazyFrame:
    table = members.with_columns(pl.Series(name, fold, dtype=pl.Int32))
    return rows.join(table.lazy(), on=list(group), how="left", maintain_order="left")
