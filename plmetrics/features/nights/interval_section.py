"""The sections `interval` and `keep` of a suite."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, BeforeValidator, Field

from plmetrics.core.durations import Duration
from plmetrics.core.names import SuitePath, did_you_mean
from plmetrics.features.nights.calendar import Calendar, Interval
from plmetrics.suite.sections.references import DurationText, IntervalReference, interval_references
from plmetrics.suite.sections.section import Column, Section

if TYPE_CHECKING:
    from plmetrics.suite.model import Suite
    from plmetrics.suite.problems import Findings

_PATH = ("interval",)
_HOURS = 24
_SAMPLE = [
    datetime(year, month, day, hour)
    for year in (2001, 2009, 2010, 2026)
    for month in (1, 2, 9, 10, 12)
    for day in (1, 2, 9, 10, 28)
    for hour in (0, 9, 10, 23)
]
"""Moments in their order, by which it is seen whether what is written of them sorts."""


def _interval_length(value: object) -> str:
    duration = Duration.of(value)
    if duration.unit == "h" and (duration.count >= _HOURS or _HOURS % duration.count):
        msg = "hours that a day divides into: 1h, 2h, 3h, 4h, 6h, 8h or 12h; a day is 1d"
        raise ValueError(msg)
    if duration.unit != "h" and duration.count > 1:
        msg = "1h to 12h, 1d, 1w or 1mo"
        raise ValueError(msg)
    return str(duration)


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (LookupError, OSError, ValueError) as error:
        hint = did_you_mean(name, sorted(available_timezones()))
        msg = f"the name of a time zone such as UTC or Europe/Paris{f' ({hint})' if hint else ''}"
        raise ValueError(msg) from error
    return name


def _format(text: str) -> str:
    sample = datetime(2026, 11, 20, 17)
    if "%" not in text or sample.strftime(text) == text:
        msg = "the form of a date, such as %Y%m%d"
        raise ValueError(msg)
    texts = [moment.strftime(text) for moment in _SAMPLE]
    values = list(map(int, texts)) if all(value.isdigit() for value in texts) else texts
    if values != sorted(values):
        msg = "a form that sorts as time does, years before months before days"
        raise ValueError(msg)
    return text


class IntervalSection(Section):
    """Rows of a growing table for one run: those of one interval of time."""

    cosmetic: ClassVar[Any] = True
    example: ClassVar[str | None] = "write interval: {partition: day, every: 1d}, or {column: scored_at}"

    partition: Column | None = Field(
        default=None, description="Column in folder names, as in day=2026-11-20, that says when rows are of."
    )
    column: Column | None = Field(
        default=None, description="Column of dates or times that says when a row is of."
    )
    every: Annotated[str, BeforeValidator(_interval_length)] = Field(
        default="1d", description="Length of an interval: 1h, 6h, 1d, 1w or 1mo."
    )
    timezone: Annotated[str, AfterValidator(_zone)] = Field(
        default="UTC",
        description="Time zone whose midnight begins a day, and that times without a zone are of.",
    )
    format: Annotated[str, AfterValidator(_format)] | None = Field(
        default=None, description="Form of the partition's values, as %Y%m%d; ISO dates if not given."
    )
    lookback: DurationText | None = Field(
        default=None,
        description="How far back earlier intervals are looked at again, and evaluated where files changed.",
    )

    @cached_property
    def calendar(self) -> Calendar:
        """The intervals."""
        return Calendar(Duration.of(self.every), self.timezone)

    def check(self, fields: Mapping[str, Any], problems: Findings) -> None:
        """Note incompatible settings."""
        if (self.partition is None) == (self.column is None):
            msg = "interval needs one of partition and column, which say when rows are of"
            problems.add(
                msg, _PATH, "write {partition: day} for folders day=2026-11-20, or {column: scored_at}"
            )
        if self.format is not None and self.partition is None:
            problems.add("format is that of a partition's values", (*_PATH, "format"), "leave it out")
        elif self.format is not None and self._same_texts():
            msg = f"values of the form {self.format} do not tell intervals of {self.every} apart"
            problems.add(msg, (*_PATH, "format"), "name longer intervals: every: 1mo for the form %Y%m")
        self._check_windows(fields, problems)

    def _check_windows(self, fields: Mapping[str, Any], problems: Findings) -> None:
        """Note reference windows too short to contain an interval."""
        named: dict[SuitePath, Any] = dict(interval_references(fields).items())
        gates = enumerate(fields.get("gates") or ())
        named |= {("gates", place, "within"): getattr(gate, "within", None) for place, gate in gates}
        for path, reference in named.items():
            window = getattr(reference, "window", None)
            if window is not None and not self.calendar.before(self._sample, Duration.of(window)):
                hint = f"write {self.every}, or a longer one"
                problems.add(
                    f"no interval of {self.every} lies in a window of {window}", (*path, "window"), hint
                )

    @property
    def _sample(self) -> Interval:
        """An interval after a long month."""
        return self.calendar.containing(datetime(2026, 1, 15, tzinfo=UTC))

    def _same_texts(self) -> bool:
        """Whether two intervals have one value of the partition."""
        first, last = _SAMPLE[0].replace(tzinfo=UTC), _SAMPLE[-1].replace(year=2002, tzinfo=UTC)
        days = Calendar(Duration.of(self.every)).between(first, last)
        texts = [interval.start.strftime(self.format or "") for interval in days]
        return len(set(texts)) < len(texts)


class Keep(Section):
    """Retention of results and states of intervals, until `plmetrics gc` removes them."""

    cosmetic: ClassVar[Any] = True
    example: ClassVar[str | None] = "write keep: {states: 400d, runs: 90d}"

    states: DurationText | None = Field(
        default=None,
        description="How long states are there, which windows add up; they are written if this is given.",
    )
    runs: DurationText | None = Field(
        default=None,
        description="How long run folders are whole; after that they have their values and verdicts alone.",
    )

    def check(self, fields: Mapping[str, Any], problems: Findings) -> None:
        """Note a suite without intervals."""
        if "interval" not in (fields.get("sections") or {}) and not problems.concern("interval"):
            problems.add("keep is about intervals, and there are none", ("keep",), "add interval: {...}")


def references(suite: Suite) -> dict[tuple[str, str], IntervalReference]:
    """References of an interval, by their keys in the suite."""
    return interval_references({"compare": suite.compare, "sections": suite.sections})


def adds_states(suite: Suite) -> bool:
    """Whether states of the intervals are written, for references of several intervals, and score counts."""
    compared = references(suite).get(("compare", "run"))
    retains = (Keep.find(suite) or Keep()).states is not None
    return retains or (compared is not None and (compared.adds or decomposes_scores(suite)))


def decomposes_scores(suite: Suite) -> bool:
    """Whether changes of metrics of the order of scores are decomposed, from counts in the states of both sides."""
    from plmetrics.inference.across_runs.decomposition import ordered_subjects

    return ("compare", "run") in references(suite) and any(ordered_subjects(suite))
