"""The evaluation of an interval, after earlier ones whose files changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from plmetrics.api.nights.night import evaluate_night, section_of
from plmetrics.core.errors import CallError, DataError, Problem, call_errors
from plmetrics.features.nights.manifests import Manifests

if TYPE_CHECKING:
    from plmetrics.api.result import Result
    from plmetrics.api.suite_run import RunOptions
    from plmetrics.features.nights.calendar import Interval
    from plmetrics.features.nights.interval_section import IntervalSection
    from plmetrics.features.nights.manifests import Manifest
    from plmetrics.suite.yaml.load import LoadedSuite
    from plmetrics.table.storage.places import Place


def evaluate_interval(
    loaded: LoadedSuite,
    directory: Place,
    text: str | None,
    options: RunOptions | None = None,
    *,
    force: bool = False,
) -> Result:
    """Evaluate an interval of a suite, after earlier ones whose files changed, as far as the suite looks back.

    An interval whose result is there already, of the same files, suite and references, is not evaluated again. `force`
    evaluates it again all the same.

    Raises:
        ConfigError: the suite has no intervals, or the text names none.
        DataError: the data is not what the suite says.
        EnvironmentFault: something cannot be written.
    """
    section = section_of(loaded)
    if text is None:
        hint = "add --interval 2026-11-20, or --next for the first one without an accepted result"
        raise loaded.locate(CallError(Problem("which interval is to be evaluated?", ("interval",), hint)))
    with call_errors("interval"):
        interval = section.calendar.interval(text)
    words = list(_look_back(loaded, directory, section, interval, options))
    result = evaluate_night(loaded, directory, interval, options, force=force)
    return replace(result, record={**result.record, "warnings": [*result.warnings, *words]})


def _look_back(
    loaded: LoadedSuite,
    directory: Place,
    section: IntervalSection,
    interval: Interval,
    options: RunOptions | None,
) -> list[str]:
    """Evaluate earlier intervals again whose files changed; in words what became of them."""
    if section.lookback is None:
        return []
    from plmetrics.core.durations import Duration

    words, changed = [], False
    manifests = Manifests(directory / loaded.suite.name)
    for earlier in section.calendar.before(interval, Duration.of(section.lookback)):
        before = manifests.current(earlier.key)
        if before is None:
            continue
        try:
            evaluate_night(loaded, directory, earlier, options, for_data=not changed)
        except DataError as error:
            words.append(
                f"{earlier} could not be evaluated again, its result stays: {error.problems[0].message}"
            )
            continue
        after = manifests.current(earlier.key)
        if after is not None and after.run != before.run:
            # Those that were compared with it are evaluated again as well.
            changed = True
            rows = f"{before.rows:,} rows then, {after.rows:,} now"
            verdicts = f"{before.verdict} then, {after.verdict} now"
            words.append(
                f"{earlier} was evaluated again, since {_change(before, after)} ({rows}): {verdicts}"
            )
    return words


def _change(before: Manifest, after: Manifest) -> str:
    """Why an interval was evaluated again."""
    if (after.data, after.times) != (before.data, before.times):
        return "its files changed"
    return "labels are due" if before.awaits_labels > after.awaits_labels else "others changed"
