import datetime
from typing import Any

import numpy as np
import polars as pl
import pytest

from plmetrics.core.errors import ConfigError, DataError
from plmetrics.features.splits.time_splits import Times, time_ordered, windows

DAYS = pl.date_range(datetime.date(2026, 1, 1), datetime.date(2026, 1, 30), eager=True)


def times(values: pl.Series, rows: Any = None) -> Times:
    return Times(values, np.ones(len(values), dtype=np.int64) if rows is None else np.array(rows))


def edges(values: pl.Series, splits: int, **asked: Any) -> list[tuple[int, int, int, int]]:
    return [(w.first, w.last, w.start, w.end) for w in windows(times(values), splits, **asked)]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, [(0, 10, 10, 20), (0, 20, 20, 30)]),
        ({"gap": 3}, [(0, 7, 10, 20), (0, 17, 20, 30)]),
        ({"gap": "3d"}, [(0, 7, 10, 20), (0, 17, 20, 30)]),
        ({"gap": datetime.timedelta(days=3), "purge": "5d"}, [(0, 5, 10, 20), (0, 15, 20, 30)]),
        ({"test": 4}, [(0, 22, 22, 26), (0, 26, 26, 30)]),
        ({"test": "4d"}, [(0, 22, 22, 26), (0, 26, 26, 30)]),
        ({"sliding": True}, [(0, 10, 10, 20), (10, 20, 20, 30)]),
        ({"sliding": True, "train": "6d", "gap": 2}, [(2, 8, 10, 20), (12, 18, 20, 30)]),
        ({"sliding": True, "train": 6}, [(4, 10, 10, 20), (14, 20, 20, 30)]),
    ],
)
def test_positions_of_windows(asked: dict[str, Any], found: list[tuple[int, int, int, int]]) -> None:
    assert edges(DAYS, 2, **asked) == found


def test_a_number_is_a_difference_among_numbers() -> None:
    values = pl.Series([0.0, 1.0, 2.0, 10.0, 11.0, 12.0, 20.0, 21.0, 22.0])
    assert edges(values, 2, gap=9.5, test=10) == [(0, 1, 3, 6), (0, 4, 6, 9)]


def test_test_windows_have_about_as_many_rows() -> None:
    held = times(pl.Series(range(6)), [50, 10, 10, 10, 10, 10])
    found = windows(held, 4)
    assert [window.start for window in found] == [1, 2, 3, 4]
    assert found[-1].end == 6


@pytest.mark.parametrize(
    ("values", "asked", "words"),
    [
        (DAYS, {"gap": 1.5}, "the time column holds Date"),
        (DAYS, {"gap": "3 days"}, "is no duration"),
        (DAYS, {"gap": -1}, "a span of 0 or more"),
        (DAYS, {"gap": datetime.timedelta(days=-1)}, "a span of 0 or more"),
        (DAYS, {"gap": 10}, "split 1 has no times left to train on"),
        (DAYS, {"test": "15d"}, "leave no times before them"),
        (DAYS.head(2), {}, "2 different times do not make 2 splits"),
        (pl.Series(range(9)), {"gap": "3d"}, "holds numbers: write a number"),
        (DAYS.cast(pl.String), {"purge": "3d"}, "holds String"),
    ],
)
def test_what_does_not_fit_is_said(values: pl.Series, asked: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        edges(values, 2, **asked)


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_nanoseconds_count(zone: str | None) -> None:
    """Times that lie within one microsecond, by the whole numbers that they are."""
    numbers = np.array([100, 200, 900, 1100, 1900, 2500, 3500])
    frame = pl.DataFrame({"at": pl.Series(numbers).cast(pl.Datetime("ns", zone)), "number": numbers})
    asks: list[dict[str, Any]] = [{}, {"gap": 300}, {"test": 1000}]
    for asked in asks:
        spans: dict[str, Any] = {role: f"{span}ns" for role, span in asked.items()}
        columns = ["split_1", "split_2"]
        by_time = time_ordered(frame, 2, time="at", **spans).select(columns)
        assert by_time.equals(time_ordered(frame, 2, time="number", **asked).select(columns)), asked
    assert time_ordered(frame, 2, time="at")["split_1"].to_list() == ["train"] * 2 + ["test"] * 2 + [None] * 3


@pytest.mark.parametrize(
    ("form", "ordered"),
    [
        *(
            ("%Y-%m-%d", True),
            ("%Y%m%d", True),
            ("%Y/%m/%d", True),
            ("%Y-%m-%dT%H:%M:%S", True),
            ("%Y%m%d%H%M%S", True),
            ("%Y-%m-%d %H:%M:%S+01:00", True),
            ("%G-W%V", True),
        ),
        *(
            ("%d%m%Y", False),
            ("%Y-%m-%d %I:%M %p", False),
            ("%d.%m.%Y", False),
            ("%m/%d/%Y", False),
            ("%Y-%-m-%-d", False),
            ("%b %d, %Y", False),
        ),
    ],
)
def test_texts_are_in_the_order_of_time_or_refused(form: str, ordered: bool) -> None:
    days = pl.date_range(datetime.date(2025, 9, 1), datetime.date(2026, 2, 28), eager=True)
    frame = pl.DataFrame({"day": days, "text": [day.strftime(form) for day in days]})
    if not ordered:
        with pytest.raises(DataError, match="is no ISO date, and such texts are not in the order of time"):
            time_ordered(frame, 3, time="text")
        with pytest.raises(DataError, match=r"column 'text' \(purge\)"):
            time_ordered(frame.with_columns(pl.col("day").cast(pl.String)), 3, time="day", until="text")
        return
    parts = time_ordered(frame, 3, time="text")
    for name in ("split_1", "split_2", "split_3"):
        train, test = (parts.filter(pl.col(name) == part)["day"] for part in ("train", "test"))
        assert train.max() < test.min()


def test_a_split_without_a_known_label_is_refused() -> None:
    frame = pl.DataFrame({"day": DAYS}).with_columns(until=pl.col("day").dt.offset_by("12d"))
    assert time_ordered(frame, 1, time="day", until="until")["split_1"].value_counts().height == 3
    with pytest.raises(
        ConfigError, match="split 1 has no rows to train on: no 'until' lies before its test window"
    ):
        time_ordered(frame, 2, time="day", until="until")
