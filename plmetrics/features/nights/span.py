"""The states of all intervals from one moment to another, such as those of a month."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

from plmetrics.core.durations import Duration
from plmetrics.core.errors import AbsentDataError, ConfigError, Problem
from plmetrics.features.nights.calendar import Calendar, Interval
from plmetrics.features.nights.manifests import Manifest, Manifests
from plmetrics.features.nights.states import STATE, absence_of_state
from plmetrics.runs.files import place_of

if TYPE_CHECKING:
    from datetime import datetime

    from plmetrics.states.state_format import State
    from plmetrics.table.storage.places import Place

_NAMED = 5


def states_of_intervals(
    places: Sequence[State | str | PathLike[str]], interval: str, *, allow_missing: bool
) -> tuple[tuple[Place, ...], list[str]]:
    """States of the intervals of a span in the one folder given, and in words the omitted ones.

    Raises:
        AbsentDataError: intervals are missing that must not be.
        ConfigError: it is no such folder, or no span of time.
    """
    (place,) = places if len(places) == 1 else (None,)
    if not isinstance(place, (str, PathLike)):
        msg = "intervals are merged of one folder, that of a suite's runs"
        raise ConfigError(Problem(msg, hint='plm.merge("runs/nightly", interval="2026-03")'))
    files, missing = states_of_span(place_of(place), interval, allow_missing=allow_missing)
    return tuple(files), [f"{words}; it is left out" for words in missing]


def states_of_span(home: Place, text: str, *, allow_missing: bool = False) -> tuple[list[Place], list[str]]:
    """States of the results in force, and the missing ones.

    `text` is a span, 2026-03-01/2026-04-01, half-open, or the name of a month, a week or a day.

    Returns:
        The files, in the order of their intervals, and in words what is missing.

    Raises:
        AbsentDataError: intervals are missing that must not be, or all of them.
        ConfigError: the folder has no intervals, or the text names no span of time.
    """
    manifests = Manifests(home)
    current = manifests.current_of(manifests.interval_keys())
    if not current:
        msg = f"{home} has no results of intervals"
        raise ConfigError(Problem(msg, hint="name the folder of a suite's runs, as runs/nightly"))
    zone = max(current, key=lambda manifest: manifest.start).timezone
    calendar = Calendar(Duration.of("1d"), zone)
    start, end = _span(calendar, text)
    usable, missing, last = [], [], start
    for manifest in sorted(current, key=lambda manifest: manifest.moments[0]):
        first, after = manifest.moments
        if first < start or after > end:
            continue
        if first < last:
            msg = f"{manifest.interval} overlaps the interval before it"
            raise ConfigError(
                Problem(msg, hint="the suite had intervals of another length or time zone then")
            )
        if first > last:
            missing.append(f"{_words(calendar, last, first)}: no result")
        last = after
        reason = _lack(manifests, manifest)
        if reason is None:
            usable.append(home / manifest.run / STATE)
        else:
            missing.append(f"{manifest.interval}: {reason}")
    if last < end:
        missing.append(f"{_words(calendar, last, end)}: no result")
    if missing and (not allow_missing or not usable):
        raise _absence(text, missing)
    return usable, missing


def _span(calendar: Calendar, text: str) -> tuple[datetime, datetime]:
    """The first moment of a span, and the first after it."""
    first, slash, last = text.partition("/")
    if slash:
        named = [_interval(calendar, each) for each in (first, last)]
        start, end = (
            calendar.instant(each) if interval is None else interval.start
            for each, interval in zip((first, last), named, strict=True)
        )
    else:
        interval = _interval(calendar, text)
        if interval is None:
            msg = f"'{text[:40]}' is no span of time"
            raise ConfigError(Problem(msg, hint="write 2026-03-01/2026-04-01, or a month: 2026-03"))
        start, end = interval.start, interval.end
    if end <= start:
        raise ConfigError(Problem(f"'{text[:60]}' ends before it begins", hint="write 2026-03-01/2026-04-01"))
    return start, end


def _interval(calendar: Calendar, text: str) -> Interval | None:
    """The month, week or day of a name; None for other texts."""
    named = (Calendar(Duration.of(every), calendar.timezone).by_name(text) for every in ("1mo", "1w", "1d"))
    return next((interval for interval in named if interval is not None), None)


def _lack(manifests: Manifests, manifest: Manifest) -> str | None:
    """Reason against adding the state of an interval; None without one."""
    if f"{manifest.run}/{STATE}" not in manifest.files:
        return absence_of_state(manifests.home / manifest.run)
    return manifests.damage(manifest)


def _absence(text: str, missing: Sequence[str]) -> AbsentDataError:
    more = f"; and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    msg = f"not all of {text} is there: {'; '.join(missing[:_NAMED])}{more}"
    hint = (
        "evaluate these intervals: plmetrics backfill, with --force those without a state; or leave them out: "
        "--allow-missing"
    )
    return AbsentDataError(Problem(msg, hint=hint))


def _words(calendar: Calendar, start: datetime, end: datetime) -> str:
    following = calendar.next(calendar.containing(start)).start
    shown = calendar.text_of(start)
    return shown if following >= end else f"{shown}/{calendar.text_of(end)}"
