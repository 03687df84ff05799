"""Columns of folds: training and test rows by a hash of a key alone.

Every function takes a table (a DataFrame, a LazyFrame, a pandas or pyarrow table, or paths) and gives it back with
columns added: a DataFrame for a table in memory, else a LazyFrame that streams. Small tables of counts are read at
once to find where to cut, the rows themselves only when the result is.

With `key`, a row's fold depends on its key, the seed and which keys there are: not on the order of rows, on files or
on machines; rows with one key stay together. Without it, the key is the number of the row (in its file).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl
import polars.selectors as cs

from plmetrics.engine.faults import reading
from plmetrics.features.splits.group_folds import with_group_numbers
from plmetrics.features.splits.hash_parts import with_parts
from plmetrics.features.splits.split_request import (
    Columns,
    Frame,
    number_of,
    shares_of,
    split_request,
    whole_numbers,
)
from plmetrics.features.splits.time_splits import time_ordered

if TYPE_CHECKING:
    from plmetrics.suite.python_types import Table

__all__ = [
    "grouped",
    "holdout",
    "k_fold",
    "leave_one_group_out",
    "nested",
    "repeated",
    "stratified",
    "stratified_grouped",
    "time_ordered",
]

_INNER_SEED = 0x5A0F


def k_fold(
    data: Table, folds: int = 5, *, key: Columns = (), seed: int = 0, exact: bool = True, name: str = "fold"
) -> Frame:
    """Deal rows to folds at random, in equal numbers.

    Rows are ordered by the hash of their key; each fold is a stretch of that order, and folds differ by at most one
    row (rows that share a key are not parted, and count as one place).

    Args:
        data: a DataFrame, a LazyFrame, a pandas or pyarrow table, or paths of files.
        folds: how many.
        key: the column or columns that name a row; its number, if not given.
        seed: another seed, other folds.
        exact: False deals by the hash alone: nothing is read, new rows never move old ones, and sizes are equal in
            expectation.
        name: the new column: whole numbers from 0.

    Returns:
        The table with the new column.

    Raises:
        ConfigError: folds are not 2 or more, or the column is there already.
        DataError: the key is absent or of a type that cannot be one.

    >>> import polars as pl, plmetrics as plm
    >>> frame = pl.DataFrame({"id": [11, 12, 13, 14, 15]})
    >>> plm.splits.k_fold(frame, 2, key="id")["fold"].value_counts().sort("fold")["count"].to_list()
    [3, 2]
    """
    return split_request(data, (name,), key=key, seed=seed, exact=exact).in_folds(folds, name)


def stratified(
    data: Table,
    folds: int = 5,
    *,
    label: Columns,
    key: Columns = (),
    seed: int = 0,
    exact: bool = True,
    name: str = "fold",
) -> Frame:
    """Deal the rows of each class to folds in equal numbers.

    Inside each class folds differ by at most one row, and overall as well: what is left of one class is dealt on from
    where the one before it ended. A null label is a class of its own.

    Args:
        data: a DataFrame, a LazyFrame, a pandas or pyarrow table, or paths of files.
        folds: how many.
        label: the column or columns whose values are the strata; bin a number first.
        key: the column or columns that name a row; its number, if not given.
        seed: another seed, other folds.
        exact: False deals by the hash alone, so that all sizes are equal in expectation.
        name: the new column: whole numbers from 0.

    Returns:
        The table with the new column.

    Raises:
        ConfigError: folds are not 2 or more, the column is there already, or there are more than 100,000 strata.
        DataError: a column is absent, or the key is of a type that cannot be one.

    >>> import polars as pl, plmetrics as plm
    >>> frame = pl.DataFrame({"id": range(6), "y": [0, 0, 0, 0, 1, 1]})
    >>> folds = plm.splits.stratified(frame, 2, label="y", key="id")
    >>> folds.group_by("fold").agg(pl.len(), pl.col("y").sum()).sort("fold").rows()
    [(0, 3, 1), (1, 3, 1)]
    """
    request = split_request(data, (name,), label=label, key=key, seed=seed, exact=exact, required=("label",))
    return request.in_folds(folds, name)


def grouped(
    data: Table, folds: int = 5, *, group: Columns, seed: int = 0, mixed: bool = False, name: str = "fold"
) -> Frame:
    """Deal whole groups to folds, of about equal numbers of rows.

    The largest group goes first, each to the fold with the fewest rows so far; groups of one size go by their hash.

    Args:
        data: a DataFrame, a LazyFrame, a pandas or pyarrow table, or paths of files.
        folds: how many.
        group: the column or columns of what stays together, such as a customer.
        seed: another seed, another order among groups of one size.
        mixed: True lets the seed decide among groups of about one size (up to a factor of two), as repeated does, so
            that another seed gives other folds even where no two groups are of one size.
        name: the new column: whole numbers from 0.

    Returns:
        The table with the new column.

    Raises:
        ConfigError: folds are not 2 or more, or the column is there already.
        DataError: a group is null, or there are fewer groups than folds.

    >>> import polars as pl, plmetrics as plm
    >>> frame = pl.DataFrame({"customer": [7, 7, 7, 8, 8, 9]})
    >>> plm.splits.grouped(frame, 2, group="customer")["fold"].to_list()
    [0, 0, 0, 1, 1, 1]
    """
    request = split_request(data, (name,), group=group, seed=seed, mixed=mixed, required=("group",))
    return request.in_folds(folds, name)


def stratified_grouped(
    data: Table,
    folds: int = 5,
    *,
    label: Columns,
    group: Columns,
    seed: int = 0,
    mixed: bool = False,
    name: str = "fold",
) -> Frame:
    """Assign whole groups to folds of similar sizes and class shares.

    Groups with the same counts are dealt evenly; the others, the largest first, go each to the fold where the squared
    shares of classes and rows grow least; up to 200 groups are then moved and exchanged while that helps.

    Args:
        data: a DataFrame, a LazyFrame, a pandas or pyarrow table, or paths of files.
        folds: how many.
        label: the column or columns of classes.
        group: the column or columns of what stays together.
        seed: another seed, another order among equal groups.
        mixed: True lets the seed decide among groups of about one size, as for `grouped`.
        name: the new column: whole numbers from 0.

    Returns:
        The table with the new column.

    Raises:
        ConfigError: folds are not 2 or more, or the column is there already.
        DataError: a group is null, or there are fewer groups than folds.

    >>> import polars as pl, plmetrics as plm
    >>> frame = pl.DataFrame({"customer": [1, 1, 2, 2, 3, 4], "y": [1, 0, 1, 0, 0, 0]})
    >>> folds = plm.splits.stratified_grouped(frame, 2, label="y", group="customer")
    >>> folds.group_by("fold").agg(pl.len(), pl.col("y").sum()).sort("fold").rows()
    [(0, 3, 1), (1, 3, 1)]
    """
    request = split_request(
        data, (name,), label=label, group=group, seed=seed, mixed=mixed, required=("label", "group")
    )
    return request.in_folds(folds, name)


def leave_one_group_out(data: Table, *, group: Columns, name: str = "fold") -> Frame:
    """Make each group a fold, numbered in the order of the groups' values.

    Args:
        data: a DataFrame, a LazyFrame, a pandas or pyarrow table, or paths of files.
        group: the column or columns of groups; the key of a row makes it leave-one-out.
        name: the new column: whole numbers from 0.

    Returns:
        The table with the new column.

    Raises:
        ConfigError: the column is there already.
        DataError: a group is null, or there is only one.

    >>> import polars as pl, plmetrics as plm
    >>> frame = pl.DataFrame({"site": ["b", "a", "b", "c"]})
    >>> plm.splits.leave_one_group_out(frame, group="site")["fold"].to_list()
    [1, 0, 1, 2]
    """
    request = split_request(data, (name,), group=group, required=("group",))
    request.key_hash()
    with reading(request.source):
        return request.finish(with_group_numbers(request.rows, request.group, name), name)


def repeated(
    data: Table,
    folds: int = 5,
    repeats: int = 10,
    *,
    label: Columns = (),
    group: Columns = (),
    key: Columns = (),
    seed: int = 0,
    long: bool = True,
    name: str = "fold",
    repeat: str = "repeat",
) -> Frame:
    """Assign rows to folds several times over; repetition r is that of the seed `seed` + r, groups `mixed`.

    Args:
        data: a DataFrame, a LazyFrame, a pandas or pyarrow table, or paths of files.
        folds: how many in each repetition.
        repeats: how many repetitions.
        label: the column or columns of strata, if any.
        group: the column or columns of what stays together, if any.
        key: the column or columns that name a row; its number, if not given.
        seed: that of the first repetition.
        long: True repeats each row, with columns `fold` and `repeat` (from 0), as cross_validation reads them; False
            adds a column a repetition: `fold_0`, `fold_1`, ...
        name: the column of folds.
        repeat: the column of repetitions.

    Returns:
        The table with the new columns.

    Raises:
        ConfigError: folds are not 2 or more, or a column is there already.
        DataError: a column is absent, a group is null, or there are fewer groups than folds.

    >>> import polars as pl, plmetrics as plm
    >>> plm.splits.repeated(pl.DataFrame({"id": range(4)}), 2, 3, key="id").height
    12
    """
    number = number_of(repeats, "repeats", least=1)
    columns = [f"{name}_{turn}" for turn in range(number)]
    added = (name, repeat) if long else tuple(columns)
    request = split_request(data, added, label=label, group=group, key=key, seed=seed, mixed=True)
    with reading(request.source):
        rows = request.rows
        for turn, column in enumerate(columns):
            internal = f"@@{column}" if long else column
            rows = request.deal(rows, number_of(folds, "folds"), internal, shift=turn)
        if long:
            values = pl.concat_list(f"@@{column}" for column in columns)
            rows = rows.select(
                cs.by_name(*request.source.schema), values.alias(name), whole_numbers(number).alias(repeat)
            )
            rows = rows.explode(name, repeat)
        return request.finish(rows, *added)


def nested(
    data: Table,
    outer: int = 5,
    inner: int = 5,
    *,
    label: Columns = (),
    group: Columns = (),
    key: Columns = (),
    seed: int = 0,
    long: bool = True,
    name: str = "fold",
    inner_name: str = "inner_fold",
) -> Frame:
    """Deal rows to outer folds, and inside each to inner folds.

    What is not in an outer fold is trained on there; its inner folds choose a configuration. Inner folds are dealt
    within each outer fold, so a row's inner fold is the same whichever outer fold is tested.

    Args:
        data: a DataFrame, a LazyFrame, a pandas or pyarrow table, or paths of files.
        outer: how many outer folds.
        inner: how many inner folds.
        label: the column or columns of strata, if any.
        group: the column or columns of what stays together, if any.
        key: the column or columns that name a row; its number, if not given.
        seed: another seed, other folds.
        long: True repeats each row for every outer fold, as cross_validation reads it: the column of inner folds is
            null where the row is tested by the outer fold. False: one row a row, with its own two folds.
        name: the column of outer folds.
        inner_name: the column of inner folds.

    Returns:
        The table with the new columns.

    Raises:
        ConfigError: there are not 2 or more folds, or a column is there already.
        DataError: a column is absent, a group is null, or there are fewer groups than folds.

    >>> import polars as pl, plmetrics as plm
    >>> folds = plm.splits.nested(pl.DataFrame({"id": range(12)}), 3, 2, key="id")
    >>> folds.height, folds["inner_fold"].null_count()
    (36, 12)
    """
    request = split_request(data, (name, inner_name), label=label, group=group, key=key, seed=seed)
    folds, within = number_of(outer, "outer"), number_of(inner, "inner")
    with reading(request.source):
        rows = request.deal(request.rows, folds, name)
        rows = replace(request, seed=request.seed ^ _INNER_SEED).deal(rows, within, inner_name, within=name)
        if long:
            rows = rows.with_columns(whole_numbers(folds).alias("@@outer")).explode("@@outer")
            trained = pl.when(pl.col(name) != pl.col("@@outer")).then(pl.col(inner_name))
            rows = rows.with_columns(trained.alias(inner_name), pl.col("@@outer").alias(name))
        return request.finish(rows, name, inner_name)


def holdout(
    data: Table,
    share: float | Mapping[str, float] = 0.2,
    *,
    label: Columns = (),
    key: Columns = (),
    seed: int = 0,
    exact: bool = True,
    name: str = "split",
) -> Frame:
    """Set rows apart for a test, by share.

    Args:
        data: a DataFrame, a LazyFrame, a pandas or pyarrow table, or paths of files.
        share: the share of `test`, the rest is `train`; or a mapping of parts to shares that add up to 1.
        label: the column or columns of strata, if any: each keeps the shares, to a row.
        key: the column or columns that name a row; rows of one key stay together, so the column of a customer keeps
            customers on one side, but for those with rows in several strata of `label`. Its number, if not given.
        seed: another seed, other parts.
        exact: False deals by the hash alone: shares hold in expectation, and new rows never move old ones.
        name: the new column.

    Returns:
        The table with the new column.

    Raises:
        ConfigError: shares are not above 0 or do not add up to 1, or the column is there already.
        DataError: a column is absent, or the key is of a type that cannot be one.

    >>> import polars as pl, plmetrics as plm
    >>> frame = pl.DataFrame({"id": range(10)})
    >>> plm.splits.holdout(frame, 0.3, key="id")["split"].value_counts().sort("split").rows()
    [('test', 3), ('train', 7)]
    """
    shares = shares_of(share)
    request = split_request(data, (name,), label=label, key=key, seed=seed, exact=exact)
    with reading(request.source):
        strata = () if not exact else request.label
        rows = with_parts(request.rows, request.key_hash(), [*shares.values()], strata, name, exact=exact)
        named = pl.lit(list(shares)[-1])
        for place, part in reversed([*enumerate(shares)][:-1]):
            named = pl.when(pl.col(name) == place).then(pl.lit(part)).otherwise(named)
        return request.finish(rows.with_columns(named.alias(name)), name)
