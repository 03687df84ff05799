"""Splits in time: training on the past, tests on the next period."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from plmetrics.core.errors import ConfigError, DataError, Problem
from plmetrics.engine.faults import reading
from plmetrics.engine.streaming import collected_frame
from plmetrics.features.splits.split_request import (
    TEST,
    TRAIN,
    Frame,
    number_of,
    split_request,
    unknown,
    whole_numbers,
)
from plmetrics.table.checks import UNORDERED, UNORDERED_HINT, is_unordered, one_form_problem, time_forms
from plmetrics.table.prediction_columns import require

if TYPE_CHECKING:
    from plmetrics.suite.python_types import Table

    Counts = NDArray[np.int64]

Span: TypeAlias = int | float | str | timedelta

_DURATION = re.compile(r"(\d+(ns|us|ms|s|m|h|d|w|mo|q|y))+")


def time_ordered(
    data: Table,
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
    """Train on the past and test on the next rows; rows of one time are never on both sides.

    A span is a duration (`"7d"`, `"1mo"`, a timedelta) or a number of different times; in a column of numbers it is a
    difference. A text column must hold ISO dates or times, which are ordered as texts.

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
        DataError: the column of time is absent, has nulls, or has texts whose order is not that of time.

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
    request = split_request(data, added)
    spans = {"train": train, "test": test, "gap": gap, "purge": purge, "sliding": window == "sliding"}
    with reading(request.source):
        rows, schema = request.source.frame, request.source.schema
        parts = time_parts(rows, schema, time, number, until, spans)
        if not long:
            return request.finish(rows.with_columns(map(pl.Expr.alias, parts, columns)), *columns)
        folds = whole_numbers(number).alias("fold")
        rows = rows.select(cs.by_name(*schema), pl.concat_list(parts).alias(name), folds)
        return request.finish(rows.explode(name, "fold").filter(pl.col(name).is_not_null()), *added)


def times_of(rows: pl.LazyFrame, schema: pl.Schema, time: str) -> Times:
    """The different times of a table and their rows.

    Raises:
        DataError: the column is absent, of a type without order, or has nulls, NaN or texts that are no ISO dates.
    """
    dtype = require(schema, time, "time", ("time",))
    number = dtype.is_numeric() and not dtype.is_decimal()
    if not (number or isinstance(dtype, (pl.Date, pl.Datetime, pl.String))):
        msg = f"column '{time}' is of type {dtype}, but splits in time need dates, times, numbers or ISO text"
        raise DataError(Problem(msg, ("time",)))
    value = pl.col(time).fill_nan(None) if dtype.is_float() else pl.col(time)
    counts = rows.group_by(value.alias(time)).agg(pl.len().cast(pl.Int64).alias("@@rows"))
    counted = collected_frame(counts.sort(time))
    absent = int(counted.filter(pl.col(time).is_null())["@@rows"].sum())
    if absent:
        raise DataError(Problem(f"column '{time}' (time): {absent:,} rows have no time", ("time",)))
    _refuse_unordered_texts(counted.lazy(), time, dtype, "time")
    return Times(counted[time], counted["@@rows"].to_numpy())


def _refuse_unordered_texts(rows: pl.LazyFrame, name: str, dtype: pl.DataType, role: str) -> None:
    """Refuse texts other than ISO dates: only these are ordered like their times."""
    if dtype != pl.String:
        return
    odd = collected_frame(rows.select(name).filter(is_unordered(pl.col(name), dtype)).head(1))
    if odd.height:
        msg = f"column '{name}' ({role}): {odd.item()!r} is {UNORDERED}"
        raise DataError(Problem(msg, (role,), UNORDERED_HINT))


def time_parts(
    rows: pl.LazyFrame, schema: pl.Schema, time: str, splits: int, until: str | None, spans: Mapping[str, Any]
) -> list[pl.Expr]:
    """Role of each row in every split: `train`, `test` or null.

    `until` is a column of the time at which a row's label is known: rows that are trained on have one before the
    test window begins.
    """
    times = times_of(rows, schema, time)
    if until is not None and require(schema, until, "purge", ("purge",)) != schema[time]:
        msg = f"columns '{until}' ({schema[until]}) and '{time}' ({schema[time]}) must be of one type"
        raise DataError(Problem(msg, ("purge",)))
    if until is not None:
        _refuse_unordered_texts(rows, until, schema[until], "purge")
    if schema[time] == pl.String:
        columns = [time] if until is None else [time, until]
        forms = collected_frame(time_forms(rows, *columns))
        subject = (
            f"column '{time}' (time)" if until is None else f"columns '{time}' (time) and '{until}' (purge)"
        )
        problem = one_form_problem(forms, subject, ("time",))
        if problem is not None:
            raise DataError(problem)
    end = None if until is None else pl.col(until)
    parts = [_part(times, window, pl.col(time), end) for window in windows(times, splits, **spans)]
    if until is not None:
        _refuse_unknown_labels(rows, parts, until)
    return parts


def _refuse_unknown_labels(rows: pl.LazyFrame, parts: Sequence[pl.Expr], until: str) -> None:
    """Refuse a split none of whose labels are known before its test window."""
    trained = collected_frame(
        rows.select((part == TRAIN).any().alias(f"{number}") for number, part in enumerate(parts, 1))
    )
    for number, there in trained.row(0, named=True).items():
        if not there:
            msg = f"split {number} has no rows to train on: no '{until}' lies before its test window"
            hint = "ask for fewer splits, or a smaller test window"
            raise ConfigError(Problem(msg, ("splits",), hint))


def _part(times: Times, window: TimeWindow, time: pl.Expr, until: pl.Expr | None) -> pl.Expr:
    trained = _between(times, time, window.first, window.last)
    if until is not None:
        trained = trained & (until < _at(times, window.start)).fill_null(value=False)
    tested = _between(times, time, window.start, window.end)
    return pl.when(trained).then(pl.lit(TRAIN)).when(tested).then(pl.lit(TEST))


def _between(times: Times, time: pl.Expr, first: int, last: int) -> pl.Expr:
    """Whether a time is one of those from a position up to another."""
    after = time >= _at(times, first)
    return after if last >= len(times.values) else after & (time < _at(times, last))


def _at(times: Times, place: int) -> pl.Expr:
    """Time at a position, as its stored number: Python has no nanoseconds."""
    stored = times.values.to_physical()
    return pl.lit(stored[place], dtype=stored.dtype).cast(times.values.dtype)


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """Split: positions of the training times, from `first` up to `last`, and of the test times, likewise."""

    first: int
    last: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Times:
    """Distinct times of a table, ascending, and the number of rows of each.

    A span is a number of times, a duration (`"7d"` or a timedelta), or in a column of numbers a difference.
    """

    values: pl.Series
    rows: Counts

    def back(self, place: int, span: Span | None, role: str) -> int:
        """First position within a span before the time at a position, or at it."""
        if span is None:
            return place
        dtype = self.values.dtype
        numeric = dtype.is_numeric()
        if isinstance(span, bool) or (isinstance(span, (int, float)) and not span >= 0):
            raise _negative(repr(span), role)
        if isinstance(span, int) and not numeric:
            return max(place - span, 0)
        if isinstance(span, (int, float)) == numeric and dtype != pl.String:
            return self.position(place, span, role, "left")
        kind = "numbers: write a number" if numeric else f"{dtype}: write a number of times"
        also = "" if numeric or dtype == pl.String else ", or a duration such as '7d'"
        raise ConfigError(Problem(f"{role} is {span!r}, but the time column holds {kind}{also}", (role,)))

    def position(self, place: int, span: Span, role: str, side: Literal["left", "right"]) -> int:
        """The position of a span before the time at a position."""
        return int(self.values.search_sorted(_before(self.values, place, span, role), side=side).item())


def windows(
    times: Times,
    splits: int,
    *,
    sliding: bool = False,
    train: Span | None = None,
    test: Span | None = None,
    gap: Span | None = None,
    purge: Span | None = None,
) -> list[TimeWindow]:
    """The splits, ascending in time; rows of one time are never on both sides.

    Raises:
        ConfigError: there are too few times, or a split has none to train on.

    >>> times = Times(pl.Series(range(10)), np.ones(10, dtype=int))
    >>> windows(times, 2, gap=1)
    [TimeWindow(first=0, last=2, start=3, end=6), TimeWindow(first=0, last=5, start=6, end=10)]
    """
    starts = _equal_starts(times, splits) if test is None else _fixed_starts(times, splits, test)
    ends = [*starts[1:], len(times.values)]
    result = []
    for number, (start, end) in enumerate(zip(starts, ends, strict=True), 1):
        last = min(times.back(start, gap, "gap"), times.back(start, purge, "purge"))
        result.append(TimeWindow(_first(times, last, starts[0], train) if sliding else 0, last, start, end))
        if last <= result[-1].first:
            msg = f"split {number} has no times left to train on"
            raise ConfigError(
                Problem(msg, ("splits",), "ask for fewer splits, or a smaller test, gap or purge")
            )
    return result


def _first(times: Times, last: int, initial: int, train: Span | None) -> int:
    """The first position of the train window of a sliding split."""
    if train is None:
        return max(last - initial, 0)
    return times.back(last, train, "train")


def _equal_starts(times: Times, splits: int) -> list[int]:
    """Test windows of about equal numbers of rows; as many rows come before the first."""
    number = len(times.values)
    if number <= splits:
        msg = f"{number:,} different times do not make {splits} splits"
        raise ConfigError(Problem(msg, ("splits",), "ask for fewer splits"))
    ends = np.cumsum(times.rows)
    targets = ends[-1] * np.arange(1, splits + 1) // (splits + 1)
    places = np.searchsorted(ends, targets, side="left") + 1
    order = np.arange(splits)
    rising = np.maximum.accumulate(np.maximum(places, 1) - order) + order
    return [int(place) for place in np.minimum(rising, number - splits + order)]


def _fixed_starts(times: Times, splits: int, test: Span) -> list[int]:
    """Test windows of one length, the last one ending with the last time."""
    place, starts = len(times.values), []
    for _ in range(splits):
        if place > 0:
            place = _window_start(times, place, test)
        starts.append(place)
    if place <= 0 or len(set(starts)) < splits:
        msg = f"{splits} test windows of {test} leave no times before them, or one of them has none"
        raise ConfigError(Problem(msg, ("test",), "ask for fewer splits, or another test window"))
    return starts[::-1]


def _window_start(times: Times, end: int, test: Span) -> int:
    """Start of the window before a position, open on the left."""
    if isinstance(test, int) and not times.values.dtype.is_numeric():
        return times.back(end - 1, max(test, 1) - 1, "test")
    times.back(end - 1, test, "test")
    return times.position(end - 1, test, "test", "right")


def _before(values: pl.Series, place: int, span: Span, role: str) -> pl.Series:
    """A time less a span."""
    if isinstance(span, (int, float)):
        return pl.Series([values[place] - span])
    moment, dtype = values.slice(place, 1), values.dtype
    if isinstance(span, timedelta):
        if span < timedelta(0):
            raise _negative(str(span), role)
        return (moment - span).cast(dtype)
    if not _DURATION.fullmatch(span):
        msg = f"{role} is {span!r}, which is no duration"
        raise ConfigError(Problem(msg, (role,), "write a number and a unit: 12h, 7d, 2w, 1mo"))
    return moment.dt.offset_by(f"-{span}")


def _negative(span: str, role: str) -> ConfigError:
    return ConfigError(Problem(f"{role} must be a span of 0 or more, not {span}", (role,)))
