"""Reach of later intervals of a suite into the past, exempt from a short `keep`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plmetrics.core.durations import Duration
from plmetrics.features.nights.interval_section import IntervalSection, decomposes_scores, references
from plmetrics.features.nights.references import intervals_of

if TYPE_CHECKING:
    from datetime import datetime

    from plmetrics.features.nights.calendar import Calendar, Interval
    from plmetrics.features.nights.manifests import Manifest
    from plmetrics.suite.model import Suite


@dataclass(frozen=True, slots=True)
class LookBack:
    """Start of the states and run folders within reach."""

    states: datetime
    folders: datetime


def runs_by_id(suite: Suite) -> frozenset[str]:
    """Ids of the runs that references name themselves."""
    return frozenset(reference.run for reference in references(suite).values() if reference.run is not None)


def reach_of(suite: Suite, calendar: Calendar, manifests: Sequence[Manifest]) -> LookBack | None:
    """References of the last interval with a result, and of those within its reach.

    `manifests` are those in force, of any order.
    """
    named = [(calendar.by_name(manifest.interval), manifest) for manifest in manifests]
    intervals = [interval for interval, manifest in named if interval is not None and manifest.of(interval)]
    if not intervals:
        return None
    first = _first_again(suite, calendar, max(intervals))
    accepted = [
        interval
        for interval, manifest in named
        if interval is not None and interval.end <= first.start and manifest.is_accepted
    ]
    previous = max(accepted, default=first).start
    states = folders = first.start
    for (section, _), reference in references(suite).items():
        if reference.run is not None:
            continue
        if reference.previous:
            start = previous
        else:
            named_by_time = intervals_of(reference, calendar, first)
            start = min((other.start for other in named_by_time), default=first.start)
        if reference.adds or section == "drift" or decomposes_scores(suite):
            states = min(states, start)
        if not (reference.adds or section == "drift"):
            folders = min(folders, start)
    return LookBack(states, folders)


def _first_again(suite: Suite, calendar: Calendar, newest: Interval) -> Interval:
    """First interval evaluated again together with the last one."""
    section = IntervalSection.find(suite)
    if section is None or section.lookback is None:
        return newest
    return next(iter(calendar.before(newest, Duration.of(section.lookback))), newest)
