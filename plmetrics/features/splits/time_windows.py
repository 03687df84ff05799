"""Windows of splits in time: which of the different times are trained on and tested on, as positions among them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from plmetrics.core.errors import ConfigError, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

Span: TypeAlias = int | float | str | timedelta

_DURATION = re.compile(r"(\d+(ns|us|ms|s|m|h|d|w|mo|q|y))+")


@dataclass(frozen=True, slots=True)
class Window:
    """A split: positions of the times that are trained on, from `first` up to `last`, and tested on, likewise."""

    first: int
    last: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Times:
    """The different times of a table, ascending, and how many rows have each.

    A span is a number of times, a duration (`"7d"` or a timedelta), or in a column of numbers a difference.
    """

    values: pl.Series
    rows: Counts

    def back(self, place: int, span: Span | None, role: str) -> int:
        """The first position that lies within a span before the time at a position, or at it."""
        if span is None:
            return place
        dtype = self.values.dtype
        numeric = dtype.is_numeric()
        if isinstance(span, bool) or (isinstance(span, (int, float)) and span < 0):
            raise _negative(repr(span), role)
        if isinstance(span, int) and not numeric:
            return max(place - span, 0)
        if isinstance(span, (int, float)) == numeric and dtype != pl.String:
            edge = _before(self.values[place], dtype, span, role)
            return int(self.values.search_sorted(edge, side="left"))
        kind = "numbers: write a number" if numeric else f"{dtype}: write a number of times"
        also = "" if numeric or dtype == pl.String else ", or a duration such as '7d'"
        raise ConfigError(Problem(f"{role} is {span!r}, but the time column holds {kind}{also}", (role,)))


def windows(
    times: Times,
    splits: int,
    *,
    sliding: bool = False,
    train: Span | None = None,
    test: Span | None = None,
    gap: Span | None = None,
    purge: Span | None = None,
) -> list[Window]:
    """The splits, ascending in time; rows of one time are never on both sides.

    Raises:
        ConfigError: there are too few times, or a split has none to train on.

    >>> times = Times(pl.Series(range(10)), np.ones(10, dtype=int))
    >>> windows(times, 2, gap=1)
    [Window(first=0, last=2, start=3, end=6), Window(first=0, last=5, start=6, end=10)]
    """
    starts = _equal_starts(times, splits) if test is None else _fixed_starts(times, splits, test)
    ends = [*starts[1:], len(times.values)]
    found = []
    for number, (start, end) in enumerate(zip(starts, ends, strict=True), 1):
        last = min(times.back(start, gap, "gap"), times.back(start, purge, "purge"))
        found.append(Window(_first(times, last, starts[0], train) if sliding else 0, last, start, end))
        if last <= found[-1].first:
            msg = f"split {number} has no times left to train on"
            raise ConfigError(
                Problem(msg, ("splits",), "ask for fewer splits, or a smaller test, gap or purge")
            )
    return found


def _first(times: Times, last: int, initial: int, train: Span | None) -> int:
    """Where the train window of a sliding split begins."""
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
    wanted = ends[-1] * np.arange(1, splits + 1) // (splits + 1)
    places = np.searchsorted(ends, wanted, side="left") + 1
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
    """Where the window begins that ends with the time before a position: it is open on the left."""
    if isinstance(test, int) and not times.values.dtype.is_numeric():
        return times.back(end - 1, max(test, 1) - 1, "test")
    times.back(end - 1, test, "test")
    edge = _before(times.values[end - 1], times.values.dtype, test, "test")
    return int(times.values.search_sorted(edge, side="right"))


def _before(value: Any, dtype: pl.DataType, span: Span, role: str) -> Any:
    """A time less a span."""
    if isinstance(span, (int, float)):
        return value - span
    if isinstance(span, timedelta):
        if span < timedelta(0):
            raise _negative(str(span), role)
        return pl.select((pl.lit(value, dtype=dtype) - pl.lit(span)).cast(dtype)).item()
    if not _DURATION.fullmatch(span):
        msg = f"{role} is {span!r}, which is no duration"
        raise ConfigError(Problem(msg, (role,), "write a number and a unit: 12h, 7d, 2w, 1mo"))
    return pl.select(pl.lit(value, dtype=dtype).dt.offset_by(f"-{span}")).item()


def _negative(span: str, role: str) -> ConfigError:
    return ConfigError(Problem(f"{role} must be a span of 0 or more, not {span}", (role,)))
