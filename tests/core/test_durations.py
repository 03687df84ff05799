"""Lengths of time, and their sums with moments on a calendar."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plmetrics.core.durations import Duration, as_utc

PARIS = ZoneInfo("Europe/Paris")
ZONES = st.sampled_from(
    ["UTC", "Europe/Paris", "America/Sao_Paulo", "Africa/Cairo", "Asia/Kolkata", "America/Havana"]
)
MOMENTS = st.datetimes(datetime(2005, 1, 1), datetime(2035, 1, 1)).map(
    lambda moment: moment.replace(tzinfo=UTC)
)


@pytest.mark.parametrize("text", ["1h", "23h", "7d", "28d", "4w", "1mo", "12mo", "9999d"])
def test_texts_come_back(text: str) -> None:
    assert str(Duration.of(text)) == text


@pytest.mark.parametrize(
    "text", ["", "d", "0d", "07d", "-1d", "1.5d", "7", "7 d", "7D", "1m", "1y", "10000d", "\u0667d", 7, True]
)
def test_what_is_no_duration_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="a length of time such as 6h"):
        Duration.of(text)


@pytest.mark.parametrize(
    ("moment", "text", "expected"),
    [
        ("2026-03-28T12:00+01:00", "1d", "2026-03-29T12:00+02:00"),
        ("2026-03-28T12:00+01:00", "24h", "2026-03-29T13:00+02:00"),
        ("2026-10-25T00:00+02:00", "1d", "2026-10-26T00:00+01:00"),
        ("2026-01-31T00:00+01:00", "1mo", "2026-02-28T00:00+01:00"),
        ("2023-12-31T00:00+01:00", "2mo", "2024-02-29T00:00+01:00"),
        ("2026-04-24T01:00+03:00", "1d", "2026-04-25T00:00+03:00"),
        ("2026-03-22T02:30+01:00", "1w", "2026-03-29T03:30+02:00"),
    ],
)
def test_days_are_those_of_the_calendar_and_hours_have_60_minutes(
    moment: str, text: str, expected: str
) -> None:
    zone = ZoneInfo("Africa/Cairo") if "+03:00" in moment else PARIS
    later = Duration.of(text).after(datetime.fromisoformat(moment), zone)
    assert later == datetime.fromisoformat(expected)
    assert later.tzinfo is UTC


@given(MOMENTS, ZONES, st.integers(-500, 500))
def test_days_keep_the_time_of_the_clock(moment: datetime, name: str, days: int) -> None:
    zone = ZoneInfo(name)
    start = moment.astimezone(zone).replace(tzinfo=None)
    if (moment - timedelta(minutes=1)).astimezone(zone).date() < start.date():
        start = start.replace(hour=0)  # the first moment of a day, also where clocks leap over midnight
    local = start + timedelta(days=days)
    later = Duration(1, "d").after(moment, zone, days).astimezone(zone).replace(tzinfo=None)
    # A time that clocks leap over is an hour later; a whole hour is the most that these zones leap.
    assert later in (local, local + timedelta(hours=1))


@given(MOMENTS, ZONES, st.integers(1, 30))
def test_before_undoes_after_at_midday(moment: datetime, name: str, count: int) -> None:
    zone = ZoneInfo(name)
    midday = as_utc(moment.replace(hour=12, day=min(moment.day, 28), tzinfo=None), zone)
    for unit in ("h", "d", "w", "mo"):
        duration = Duration(count, unit)
        assert duration.before(duration.after(midday, zone), zone) == midday
