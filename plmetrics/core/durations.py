"""Lengths of time as suites write them, such as `28d`, and sums of them with moments on a calendar."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

Unit = Literal["h", "d", "w", "mo"]

_TEXT = re.compile(r"([1-9]\d{0,3})(h|d|w|mo)", re.ASCII)
_MONTHS = 12

FORM = "a length of time such as 6h, 7d, 4w or 1mo"
"""Form of the text of a duration."""


@dataclass(frozen=True, slots=True)
class Duration:
    """So many hours, days, weeks or months.

    Days, weeks and months are those of the calendar: a day is 23 hours long when clocks are put forward. Hours are
    always of 60 minutes.

    >>> str(Duration.of("28d"))
    '28d'
    """

    count: int
    unit: Unit

    @classmethod
    def of(cls, text: object) -> Duration:
        """A duration from its text.

        Raises:
            ValueError: it is none.
        """
        match = _TEXT.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise ValueError(FORM)
        unit: Unit = match[2]  # type: ignore[assignment]
        return cls(int(match[1]), unit)

    def __str__(self) -> str:
        return f"{self.count}{self.unit}"

    def after(self, moment: datetime, zone: ZoneInfo, times: int = 1) -> datetime:
        """The moment so much later, or earlier where `times` is negative, in UTC.

        The first moment of a day is its midnight, also where clocks leap over that and the day begins at one o'clock.
        `times` is the number of durations; the calendar of the zone counts days, weeks and months.
        """
        count = self.count * times
        if self.unit == "h":
            return moment.astimezone(UTC) + timedelta(hours=count)
        local = _time_of_clocks(moment, zone)
        if self.unit == "mo":
            return as_utc(_months_later(local, count), zone)
        return as_utc(local + timedelta(days=count * (7 if self.unit == "w" else 1)), zone)

    def before(self, moment: datetime, zone: ZoneInfo) -> datetime:
        """The moment so much earlier, in UTC; see `after`."""
        return self.after(moment, zone, -1)


def as_utc(local: datetime, zone: ZoneInfo) -> datetime:
    """UTC moment of a zone's local time: the first of two, or one after the gap if clocks skip it."""
    return local.replace(tzinfo=zone).astimezone(UTC)


def _time_of_clocks(moment: datetime, zone: ZoneInfo) -> datetime:
    """Time on the clocks of a zone, but midnight for the first moment of a day."""
    local = moment.astimezone(zone).replace(tzinfo=None)
    midnight = datetime.combine(local, time())
    return midnight if as_utc(midnight, zone) == moment else local


def _months_later(local: datetime, months: int) -> datetime:
    """A day of another month: the same number, or the last day of a shorter month."""
    total = local.year * _MONTHS + local.month - 1 + months
    first = local.replace(year=total // _MONTHS, month=total % _MONTHS + 1, day=1)
    following = (first + timedelta(days=32)).replace(day=1)
    return first.replace(day=min(local.day, (following - timedelta(days=1)).day))
