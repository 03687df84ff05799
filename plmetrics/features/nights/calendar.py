"""Half-open intervals of a calendar: names, order, and earlier intervals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import cached_property, lru_cache
from zoneinfo import ZoneInfo

from plmetrics.core.durations import Duration, as_utc
from plmetrics.core.errors import ConfigError, Problem

_WEEK = re.compile(r"(\d{4})-W(\d\d)", re.ASCII)
_MONTH = re.compile(r"(\d{4})-(\d\d)", re.ASCII)
_HOUR = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d)Z", re.ASCII)
_YEARS = range(1900, 2900)
"""The years whose intervals are spoken of: spans may lead out of them."""
_EXAMPLES = {"h": "2026-11-20T05:00", "d": "2026-11-20", "w": "2026-W47 or its Monday", "mo": "2026-11"}


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """Moments from `start` to before `end`, in UTC; `key` is its name, the sort key of intervals of a calendar."""

    start: datetime
    end: datetime
    key: str

    def __str__(self) -> str:
        return self.key


@dataclass(frozen=True)
class Calendar:
    """Intervals one after another, each `every` long in a time zone.

    Names are those of ISO 8601: `2026-11-20`, `2026-W47`, `2026-11`, and hours in UTC, `2026-11-20T05Z`. So names of
    one calendar sort as their intervals do, and no two calendars share one, but for those of two zones.

    >>> calendar = Calendar(Duration.of("1d"), "Europe/Paris")
    >>> short = calendar.interval("2026-03-29")
    >>> short.key, (short.end - short.start).total_seconds() / 3600
    ('2026-03-29', 23.0)
    """

    every: Duration
    timezone: str = "UTC"

    @cached_property
    def zone(self) -> ZoneInfo:
        """The time zone."""
        return ZoneInfo(self.timezone)

    def interval(self, text: str) -> Interval:
        """Interval from a text: its name, its start, or its start and end with a slash.

        Raises:
            ConfigError: it is no moment, or no interval of this calendar begins or ends there.
        """
        first, slash, last = text.strip().partition("/")
        interval = self.starting(self.instant(first))
        if slash and self.instant(last) != interval.end:
            hint = f"several are evaluated by plmetrics backfill SUITE --from {first} --to {last}"
            msg = f"{text} is not one interval of {self.every}: {first} ends at {self.text_of(interval.end)}"
            raise ConfigError(Problem(msg, hint=hint))
        return interval

    def moment(self, text: str) -> datetime:
        """Start of an interval from a text."""
        return self.starting(self.instant(text)).start

    def instant(self, text: str) -> datetime:
        """Moment from a text, at the start of an interval or not."""
        try:
            moment = self._parse(text.strip().partition(".")[0] if self.every.unit == "h" else text.strip())
        except (ValueError, OverflowError) as error:
            raise self._no_start(text) from error
        if moment.year not in _YEARS:
            raise self._no_start(text)
        return moment

    def starting(self, start: datetime) -> Interval:
        """Interval with a moment as its start.

        Raises:
            ConfigError: none does.
        """
        interval = self.containing(start)
        if interval.start != start:
            msg = f"no interval of {self.every} begins at {self.text_of(start)}"
            raise ConfigError(Problem(msg, hint=f"this one begins at {self.text_of(interval.start)}"))
        return interval

    @lru_cache(maxsize=1 << 14)  # noqa: B019  Calendars are few, and a year of intervals is walked for each of its days.
    def containing(self, moment: datetime) -> Interval:
        """Interval around a moment."""
        start = self._floor(moment)
        return Interval(start, self.every.after(start, self.zone), self._key(start))

    def shift(self, interval: Interval, by: Duration, times: int) -> Interval:
        """Interval so many times later, or earlier if `times` is negative.

        Intervals of hours begin at hours of UTC: of two that share hours of the clock, it is the one that shares more.
        """
        start = interval.start
        if self.every.unit == "h":
            start += (interval.end - start) / 2
        return self.containing(by.after(start, self.zone, times))

    def next(self, interval: Interval) -> Interval:
        """The next interval."""
        return self.containing(interval.end)

    def between(self, start: datetime, end: datetime) -> Iterator[Interval]:
        """Intervals with a start from one moment to before another."""
        interval = self.containing(start)
        while interval.start < end:
            yield interval
            interval = self.next(interval)

    def before(self, interval: Interval, span: Duration) -> list[Interval]:
        """Intervals within a span before one, the first one first.

        Intervals of hours do not move with the clock: days of them begin with the one that `shift` finds, so that they
        have all parts of a day where clocks are put forward, too.
        """
        if self.every.unit == "h" and span.unit != "h":
            earliest = self.shift(interval, span, -1).start
        else:
            earliest = span.before(interval.start, self.zone)
        inside = (other for other in self.between(earliest, interval.start) if other.start >= earliest)
        return [other for other in inside if other.end <= interval.start]

    def by_name(self, key: str) -> Interval | None:
        """The interval of a name; None where it is not of this calendar."""
        try:
            interval = self.containing(self.instant(key))
        except (ConfigError, ValueError, OverflowError):
            return None
        return interval if interval.key == key else None

    def text_of(self, moment: datetime) -> str:
        """A moment as people of the zone write it."""
        local = moment.astimezone(self.zone)
        return local.date().isoformat() if local.time() == time() else local.isoformat(timespec="minutes")

    def _floor(self, moment: datetime) -> datetime:
        if self.every.unit == "h":
            exact = moment.astimezone(UTC)
            return exact.replace(
                hour=exact.hour - exact.hour % self.every.count, minute=0, second=0, microsecond=0
            )
        day = moment.astimezone(self.zone).date()
        if self.every.unit == "mo":
            day = day.replace(day=1)
        elif self.every.unit == "w":
            day = date.fromordinal(day.toordinal() - day.weekday())
        return as_utc(datetime.combine(day, time()), self.zone)

    def _key(self, start: datetime) -> str:
        if self.every.unit == "h":
            every = "" if self.every.count == 1 else f".{self.every}"
            return f"{start.isoformat()[:13]}Z{every}"
        local = start.astimezone(self.zone)
        if self.every.unit == "w":
            year, week, _ = local.isocalendar()
            return f"{year:04}-W{week:02}"
        return local.isoformat()[: 7 if self.every.unit == "mo" else 10]

    def _no_start(self, text: str) -> ConfigError:
        msg = f"'{text[:40]}' is not the start of an interval of {self.every}"
        return ConfigError(Problem(msg, hint=f"write it as {_EXAMPLES[self.every.unit]}"))

    def _parse(self, text: str) -> datetime:
        unit = self.every.unit
        if match := _HOUR.fullmatch(text):
            return datetime.combine(date.fromisoformat(match[1]), time(int(match[2]), tzinfo=UTC))
        if unit == "w" and (match := _WEEK.fullmatch(text)):
            monday = date.fromisocalendar(int(match[1]), int(match[2]), 1)
            return as_utc(datetime.combine(monday, time()), self.zone)
        if unit == "mo" and (match := _MONTH.fullmatch(text)):
            return as_utc(datetime(int(match[1]), int(match[2]), 1), self.zone)
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo is not None else as_utc(moment, self.zone)
