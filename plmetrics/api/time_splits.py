"""Splits in time: train on the past, test on what comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import polars as pl
import polars.selectors as cs

from plmetrics.api.split_request import asked_for, number_of, unknown
from plmetrics.core.errors import ConfigError, Problem
from plmetrics.engine.faults import reading
from plmetrics.engine.splits.times import time_parts

if TYPE_CHECKING:
    from plmetrics.api.split_request import Frame
    from plmetrics.table.splits.windows import Span


def time_ordered(
    data: Any,
    splits: int = 5,
    *,
    time: str,
    window: Literal["expanding", "sliding"] = "expanding",
    train: Span | None = None,
    test: Span | None = None,
    gap: Span | None = None,
    purge: Span | None = None,
    until: str | None = None,
    long: bool = False,
    name: str = "split",
) -> Frame:
    """Train on the past and test on what comes next; rows of one time are never on both sides.

    A span is a duration (`"7d"`, `"1mo"`, a timedelta) or a number of different times; in a column of numbers it is a
    difference. A text column is ordered as text, as ISO dates are.

    Args:
        data: a DataFrame, a LazyFrame, a pandas or pyarrow table, or paths of files.
        splits: how many.
        time: the column of time.
        window: expanding trains on all that came before, sliding on as much as the first split or as `train` says.
        train: the span of a sliding window's train part.
        test: the span of a test window, the last one ending with the table; by default test windows and the time
            before the first of them have about equal numbers of rows.
        gap: the span before a test window that is neither trained on nor tested on.
        purge: the span that a row's label looks ahead: rows whose labels reach into the test window are not trained
            on.
        until: a column that says when a row's label is known, in place of a span to purge; null: not trained on.
        long: False adds a column a split, `split_1` and on: train, test or null; True repeats each row for the splits
            that use it, with columns `fold` (from 0) and `split`.
        name: what the columns are called.

    Returns:
        The table with the new columns.

    Raises:
        ConfigError: a span does not fit the column, or a split has no times to train on.
        DataError: the column of time is absent or has nulls.

    >>> import polars as pl, plmetrics as plm
    >>> frame = pl.DataFrame({"day": [1, 2, 3, 4, 5, 6]})
    >>> plm.splits.time_ordered(frame, 2, time="day", gap=1)["split_2"].to_list()
    ['train', 'train', 'train', None, 'test', 'test']
    """
    if window not in {"expanding", "sliding"}:
        raise ConfigError(unknown(window, ("expanding", "sliding"), "window"))
    if train is not None and window == "expanding":
        raise ConfigError(Problem("train needs window='sliding': an expanding one trains on all", ("train",)))
    number = number_of(splits, "splits", least=1)
    columns = [f"{name}_{place}" for place in range(1, number + 1)]
    added = ("fold", name) if long else tuple(columns)
    asked = asked_for(data, added)
    spans = {"train": train, "test": test, "gap": gap, "purge": purge, "sliding": window == "sliding"}
    with reading(asked.source):
        rows, schema = asked.source.frame, asked.source.schema
        parts = time_parts(rows, schema, time, number, until, spans)
        if not long:
            return asked.finished(rows.with_columns(map(pl.Expr.alias, parts, columns)), *columns)
        each = pl.lit(pl.Series([list(range(number))], dtype=pl.List(pl.Int32))).first()
        rows = rows.select(cs.by_name(*schema), pl.concat_list(parts).alias(name), each.alias("fold"))
        return asked.finished(rows.explode(name, "fold").filter(pl.col(name).is_not_null()), *added)
