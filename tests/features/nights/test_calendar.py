"""Intervals of calendars: they cover all time once, and their names come back and sort as they do."""

from datetime import UTC, date, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plmetrics.core.durations import Duration
from plmetrics.core.errors import ConfigError
from plmetrics.features.nights.calendar import Calendar, Interval

LENGTHS = ["1h", "2h", "3h", "4h", "6h", "8h", "12h", "1d", "1w", "1mo"]
ZONES = [
    "UTC",
    "Europe/Paris",
    "America/Sao_Paulo",  # until 2019 its clocks leapt over midnight
    "Africa/Cairo",  # they do so again since 2023
    "Asia/Kolkata",  # half an hour away from UTC's hours
    "America/Havana",  # its midnight comes twice
    "Australia/Lord_Howe",  # by half an hour
]
MOMENTS = st.datetimes(datetime(2005, 1, 1), datetime(2035, 1, 1)).map(
    lambda moment: moment.replace(tzinfo=UTC)
)


def calendar(every: str, zone: str = "UTC") -> Calendar:
    return Calendar(Duration.of(every), zone)


def hours(interval: Interval) -> float:
    return (interval.end - interval.start).total_seconds() / 3600


def first_moment(day: date, zone: ZoneInfo) -> datetime:
    """The first minute that bears a date in a zone, found by walking through the minutes of UTC."""
    moment = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(hours=16)
    while moment.astimezone(zone).date() < day:
        moment += timedelta(minutes=30)
    return moment


@given(MOMENTS, st.sampled_from(LENGTHS), st.sampled_from(ZONES))
def test_an_interval_contains_its_moment_and_its_name_gives_it_back(
    moment: datetime, every: str, zone: str
) -> None:
    days = calendar(every, zone)
    interval = days.containing(moment)
    assert interval.start <= moment < interval.end
    assert days.interval(interval.key) == days.by_name(interval.key) == interval
    assert days.interval(interval.start.isoformat()) == interval
    assert days.interval(f"{interval.start.isoformat()}/{interval.end.isoformat()}") == interval
    assert days.next(interval).start == interval.end


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("every", LENGTHS)
def test_names_sort_as_intervals_do_and_no_moment_lies_between(every: str, zone: str) -> None:
    for year in (2016, 2026):
        start = datetime(year, 1, 1, tzinfo=UTC)
        intervals = list(calendar(every, zone).between(start, start.replace(year=year + 1)))
        assert all(one.end == other.start for one, other in pairwise(intervals))
        names = [interval.key for interval in intervals]
        assert names == sorted(set(names))


@pytest.mark.exhaustive
@pytest.mark.parametrize("zone", ZONES)
def test_days_begin_with_the_first_moment_of_their_date(zone: str) -> None:
    days = calendar("1d", zone)
    for year in (2016, 2018, 2026):
        for number in range(365):
            day = date(year, 1, 1) + timedelta(days=number)
            assert days.interval(day.isoformat()).start == first_moment(day, ZoneInfo(zone)), day


def test_days_of_23_and_25_hours() -> None:
    paris = calendar("1d", "Europe/Paris")
    assert {hours(paris.interval(f"2026-{day}")) for day in ("03-28", "03-30", "10-24", "10-26")} == {24}
    assert hours(paris.interval("2026-03-29")) == 23
    assert hours(paris.interval("2026-10-25")) == 25
    assert hours(calendar("1d", "America/Sao_Paulo").interval("2018-11-04")) == 23
    assert hours(calendar("1d", "America/Sao_Paulo").interval("2018-02-17")) == 25
    assert hours(calendar("1d", "Africa/Cairo").interval("2026-04-24")) == 23
    assert hours(calendar("1w", "Europe/Paris").interval("2026-W13")) == 7 * 24 - 1
    assert hours(calendar("1mo", "Europe/Paris").interval("2026-10")) == 31 * 24 + 1


def test_the_hour_that_comes_twice_is_two_intervals() -> None:
    paris = calendar("1h", "Europe/Paris")
    fold = [paris.interval(f"2026-10-25T02:00+0{offset}:00") for offset in (2, 1)]
    assert [interval.key for interval in fold] == ["2026-10-25T00Z", "2026-10-25T01Z"]
    assert paris.interval("2026-10-25T02:00") == fold[0]


@pytest.mark.parametrize("every", LENGTHS)
def test_names_of_other_calendars_are_none_of_this(every: str) -> None:
    moment = datetime(2026, 11, 20, 5, tzinfo=UTC)
    keys = {other: calendar(other).containing(moment).key for other in LENGTHS}
    assert len(set(keys.values())) == len(LENGTHS)
    assert [other for other, key in keys.items() if calendar(every).by_name(key) is not None] == [every]
    assert calendar(every).by_name("latest") is None


@pytest.mark.parametrize(
    ("every", "text", "words"),
    [
        ("1d", "yesterday", "'yesterday' is not the start of an interval of 1d"),
        ("1d", "2026-02-30", "'2026-02-30' is not the start"),
        ("1d", "2026-11-20T05:00", "no interval of 1d begins at 2026-11-20T05:00+00:00"),
        ("1d", "2026-11-20/2026-11-22", "is not one interval of 1d: 2026-11-20 ends at 2026-11-21"),
        ("1w", "2026-11-20", "no interval of 1w begins at 2026-11-20"),
        ("1w", "2026-W54", "is not the start"),
        ("1mo", "2026-13", "is not the start"),
        ("1mo", "2026-11-20", "no interval of 1mo begins at 2026-11-20"),
        ("6h", "2026-11-20T05:00", "no interval of 6h begins at"),
        ("1d", "", "'' is not the start"),
        ("1d", "9999-12-31", "is not the start"),
        ("1d", "0001-01-01T00:00+14:00", "is not the start"),
        ("1mo", "9999-12", "is not the start"),
    ],
)
def test_what_names_no_interval_is_a_mistake_in_words(every: str, text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        calendar(every).interval(text)
    assert words in caught.value.problems[0].message
    assert caught.value.problems[0].hint


@given(
    MOMENTS,
    st.sampled_from(LENGTHS),
    st.sampled_from(ZONES),
    st.sampled_from(["7d", "28d", "2w", "1mo", "48h"]),
)
def test_a_window_is_all_intervals_that_lie_within_it(
    moment: datetime, every: str, zone: str, span: str
) -> None:
    days = calendar(every, zone)
    interval = days.containing(moment)
    window = days.before(interval, Duration.of(span))
    earliest = Duration.of(span).before(interval.start, days.zone)
    if every.endswith("h") and not span.endswith("h"):
        earliest = days.shift(interval, Duration.of(span), -1).start
    walked, other = [], days.containing(earliest - timedelta(days=40))
    while other.start < interval.end:
        if earliest <= other.start and other.end <= interval.start:
            walked.append(other)
        other = days.next(other)
    assert window == walked


@pytest.mark.exhaustive
@pytest.mark.parametrize("every", [3, 4, 6, 8, 12])
@pytest.mark.parametrize("zone", ["Europe/Paris", "America/New_York"])
@pytest.mark.parametrize("month", [3, 10])
@pytest.mark.parametrize(("days", "step"), [(1, 1), (7, 7), (28, 25)])
def test_days_of_some_hours_have_all_parts_of_a_day_where_clocks_are_changed(
    every: int, zone: str, month: int, days: int, step: int
) -> None:
    """Of long windows every so many, at each hour of the day in turn."""
    hourly = calendar(f"{every}h", zone)
    span = (datetime(2026, month, 1, tzinfo=UTC), datetime(2026, month + 2, 1, tzinfo=UTC))
    for interval in islice(hourly.between(*span), 0, None, step):
        window = hourly.before(interval, Duration(days, "d"))
        assert len(window) == days * 24 // every
        assert window[-1].end - window[0].start == timedelta(days=days)


@given(MOMENTS, st.sampled_from(ZONES), st.integers(1, 60))
def test_days_of_weeks_before_are_of_the_same_weekday(moment: datetime, zone: str, weeks: int) -> None:
    days = calendar("1d", zone)
    interval = days.containing(moment)
    earlier = days.shift(interval, Duration(1, "w"), -weeks)
    assert date.fromisoformat(earlier.key) == date.fromisoformat(interval.key) - timedelta(weeks=weeks)


@given(MOMENTS, st.sampled_from(["2h", "3h", "6h", "12h"]), st.sampled_from(ZONES), st.integers(1, 52))
def test_some_hours_of_weeks_before_are_those_that_share_most_of_their_clock(
    moment: datetime, every: str, zone: str, weeks: int
) -> None:
    hourly = calendar(every, zone)
    interval = hourly.containing(moment)
    earlier = hourly.shift(interval, Duration(1, "w"), -weeks)
    clocks, jumps = [], [timedelta()]
    for one in (interval, earlier):
        ends = [moment.astimezone(ZoneInfo(zone)) for moment in (one.start, one.end)]
        middle = (one.start + (one.end - one.start) / 2).astimezone(ZoneInfo(zone))
        offsets = [moment.utcoffset() or timedelta() for moment in (*ends, middle)]
        clocks.append(middle.replace(tzinfo=None))
        jumps.append(max(offsets) - min(offsets))
    distance = clocks[0] - clocks[1] - timedelta(weeks=weeks)
    # A clock that jumps within one of them moves its middle by as much.
    assert abs(distance) <= timedelta(hours=hourly.every.count) / 2 + max(jumps)
