"""The section `labels` of a suite: labels that come later than the scores."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from plmetrics.suite.sections.section import Section

if TYPE_CHECKING:
    from datetime import datetime

LabelStatus = Literal["unlabelled", "immature"]
"""Why a slice has no labels: they are absent, or not due yet."""

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_SPAN = re.compile(r"([1-9][0-9]{0,5})([smhdw])")


def span_of(text: str) -> timedelta:
    """The length of time that a text such as `7d` stands for.

    >>> span_of("7d"), span_of("36h")
    (datetime.timedelta(days=7), datetime.timedelta(days=1, seconds=43200))

    Raises:
        ValueError: it is none of a fixed length.
    """
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        msg = "a length of time such as 36h, 7d or 4w"
        raise ValueError(msg)
    number, unit = match.groups()
    return timedelta(**{_UNITS[unit]: int(number)})


def _checked_span(text: str) -> str:
    span_of(text)
    return text


class Labels(Section):
    """Rows may have no label yet: a null label is no bad value."""

    switch: ClassVar[bool] = True
    example: ClassVar[str | None] = "write labels: true, or labels: {mature_after: 7d, coverage: 0.9}"

    mature_after: Annotated[str, AfterValidator(_checked_span)] | None = Field(
        default=None,
        description="How long after an interval its labels are due, such as 36h, 7d or 4w; until then a slice without "
        "labels is `immature`.",
    )
    coverage: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None,
        description="The share of rows with a label below which no gate judges a metric that needs labels.",
    )


def label_status(
    interval_end: datetime | None, mature_after: str | None, as_of: datetime | None
) -> LabelStatus:
    """Why rows of an interval have no labels, looked at from a moment.

    Labels are due once the interval ended `mature_after` ago. Without an interval, a moment or `mature_after` nobody
    knows when they are due.

    >>> from datetime import datetime
    >>> end, later = datetime.fromisoformat("2026-11-02T00:00+00:00"), datetime.fromisoformat("2026-11-08T00:00+00:00")
    >>> label_status(end, "7d", later), label_status(end, "6d", later)
    ('immature', 'unlabelled')
    """
    if interval_end is None or mature_after is None or as_of is None:
        return "unlabelled"
    return "unlabelled" if interval_end + span_of(mature_after) <= as_of else "immature"
