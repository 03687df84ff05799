"""Intervals of a suite: many, the next one without an accepted result, or one after changed ones."""

from __future__ import annotations

import base64
import json
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from plmetrics.api.nights.night import IntervalEvaluation, evaluate_night, section_of, with_warnings
from plmetrics.api.suite_run import RunOptions, open_suite
from plmetrics.core.durations import Duration
from plmetrics.core.errors import (
    AbsentDataError,
    CallError,
    ConfigError,
    DataError,
    EnvironmentFault,
    Problem,
    call_errors,
)
from plmetrics.features.nights.interval_section import IntervalSection, references
from plmetrics.features.nights.manifests import Manifest, Manifests
from plmetrics.runs.failure import OK, failure_of
from plmetrics.runs.outcome import ExitPolicy

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.api.result import Result
    from plmetrics.features.nights.calendar import Interval
    from plmetrics.suite.model import Suite
    from plmetrics.suite.yaml.load import LoadedSuite
    from plmetrics.table.storage.places import Place

_PRECEDENCE = (1, 143, 130, 129, 6, 2, 4, 5, 3, 0, 99)
"""Exit codes, the gravest first; what was skipped does not count beside what was done."""


@dataclass(frozen=True, slots=True)
class IntervalOutcome:
    """The outcome of one interval: a verdict, or an error.

    `message` says what was wrong, or why the exit code is not that of the verdict. `existing` says whether its result
    was there already, `accepted` whether a person accepted that: it is no failure.
    """

    interval: str
    verdict: str
    exit_code: int
    run: str | None = None
    message: str = ""
    existing: bool = False
    accepted: bool = False


def backfill(
    path: str | Path,
    start: str,
    end: str,
    *,
    output: str | Path | None = None,
    set: Mapping[str, object] | None = None,  # noqa: A002
    only_missing: bool = False,
    force: bool = False,
    jobs: int = 1,
    exits: ExitPolicy | None = None,
    on_each: Callable[[IntervalOutcome], None] | None = None,
) -> list[IntervalOutcome]:
    """Evaluate the intervals from one moment to before another; an error in one leaves the others as they are.

    Results that are there already, of the same files, suite and references, stay as they are.

    Args:
        path: the suite.
        start: the start of the first interval, such as 2026-11-01.
        end: where the last one ends, such as 2026-12-01.
        output: folder that replaces `output.directory` and may lie anywhere.
        set: suite keys to replace, dotted.
        only_missing: whether intervals with any result stay as they are, but for those whose labels were still to come
            and are due now, or did not come in time and whose files changed since.
        force: whether intervals are evaluated again whatever is there.
        jobs: how many processes evaluate side by side. Intervals that are compared with earlier ones go one by one.
        exits: which exit codes intervals have, where more than failed gates is to fail them.
        on_each: called with what became of each interval.

    Returns:
        What became of each interval, in their order.

    Raises:
        ConfigError: the suite is wrong, or has no intervals; or the end is not after the start.
        EnvironmentFault: the folder cannot be written.
    """
    loaded, directory = open_suite(Path(path), set or {}, output)
    calendar = section_of(loaded).calendar
    with call_errors("from"):
        first = calendar.moment(start)
    with call_errors("to"):
        last = calendar.moment(end)
    if last <= first:
        msg = f"{end} is not after {start}: there is no interval between them"
        hint = "it is where the last interval ends: the night of 2026-11-20 is from 2026-11-20 to 2026-11-21"
        raise CallError(Problem(msg, ("to",), hint))
    intervals = list(calendar.between(first, last))
    if only_missing:
        manifests = Manifests(directory / loaded.suite.name)
        intervals = [interval for interval in intervals if _is_missing(manifests, interval)]
    job = _Job(
        Path(path),
        None if output is None else os.fspath(output),
        dict(set or {}),
        force,
        only_missing,
        exits or ExitPolicy(),
        (loaded, directory),
    )
    outcomes: dict[str, IntervalOutcome] = {}
    independent = _are_independent(loaded.suite)
    for outcome in _side_by_side(job, intervals, jobs) if independent else map(job, intervals):
        outcomes[outcome.interval] = outcome
        if on_each is not None:
            on_each(outcome)
    return [outcomes[interval.key] for interval in intervals]


def exit_code_of(outcomes: Iterable[IntervalOutcome]) -> int:
    """The exit code of many intervals: the gravest of theirs.

    >>> exit_code_of([IntervalOutcome("2026-11-20", "fail", 3), IntervalOutcome("2026-11-21", "error", 4)])
    4
    """
    codes = {outcome.exit_code for outcome in outcomes}
    return next((code for code in _PRECEDENCE if code in codes), max(codes, default=0))


def evaluate_next(
    loaded: LoadedSuite,
    directory: Place,
    options: RunOptions | None = None,
    now: datetime | None = None,
    *,
    force: bool = False,
) -> Result:
    """Evaluate the first interval without an accepted result.

    It is the one after the last of those that have one without a gap; before there is any, the first one that the
    folders of the data name. An interval must have ended by `now`. `force` evaluates it also where its result is there,
    and was not accepted.

    Raises:
        ConfigError: the suite has no intervals, or nothing says which is the first.
        DataError: the interval has not ended yet, or its data is not what the suite says.
    """
    section = section_of(loaded)
    manifests = Manifests(directory / loaded.suite.name)
    interval = _first(loaded, manifests)
    while (manifest := manifests.current(interval.key)) is not None and manifest.is_accepted:
        interval = section.calendar.next(interval)
    if interval.end > (now or datetime.now(UTC)):
        msg = f"the next interval, {interval}, ends at {section.calendar.text_of(interval.end)}"
        raise AbsentDataError(Problem(msg, ("interval",), "run again then"))
    return evaluate_interval(loaded, directory, interval.key, options, force=force)


@dataclass(frozen=True, slots=True)
class _Job:
    """The evaluation of an interval in any process; `opened` is the suite and its directory, where it is opened."""

    path: Path
    output: str | None
    set: dict[str, object]
    force: bool
    only_missing: bool
    exits: ExitPolicy
    opened: tuple[LoadedSuite, Place] | None = None
    band_values: dict[tuple[str, str], pl.DataFrame] = field(default_factory=dict)

    def __call__(self, interval: Interval) -> IntervalOutcome:
        try:
            loaded, directory = self.opened or open_suite(self.path, self.set, self.output)
            manifests = Manifests(directory / loaded.suite.name)
            before = manifests.current(interval.key)
            options = RunOptions(exits=self.exits)
            evaluation = IntervalEvaluation(
                loaded,
                directory,
                interval,
                options,
                force=self.force,
                for_data=self.only_missing,
                band_values=self.band_values,
            )
            result = evaluate_night(evaluation)
        except Exception as error:  # also a fault of ours leaves other intervals as they are
            failure = self.exits.of_failure(failure_of(error))
            return IntervalOutcome(interval.key, "error", failure.exit_code, message=failure.message)
        assert result.folder is not None
        run, code = result.folder.name, self.exits.of_result(result.verdict, result.gates)
        existing = before is not None and before.run == run
        after = manifests.current(interval.key)
        if after is not None and after.run == run and after.accepted is not None:
            return IntervalOutcome(interval.key, result.verdict, OK, run, existing=existing, accepted=True)
        reason = self.exits.reason(result.gates) or ""
        return IntervalOutcome(interval.key, result.verdict, code, run, reason, existing=existing)


def _side_by_side(job: _Job, intervals: list[Interval], jobs: int) -> Iterator[IntervalOutcome]:
    """Independent intervals in parallel: the first one by itself, since it makes the constants of all states."""
    if jobs <= 1 or len(intervals) <= 1:
        yield from map(job, intervals)
        return
    from plmetrics.runners.choice import runner_of
    from plmetrics.runners.protocol import Crash, RunnerTask

    yield job(intervals[0])
    elsewhere = replace(job, opened=None)
    tasks = [RunnerTask(interval.key, _text((elsewhere, interval))) for interval in intervals[1:]]
    with runner_of(f"processes:{jobs}") as runner:
        for item in runner.map(f"{__name__}:evaluate_text", tasks):
            if isinstance(item, Crash):
                words = f"its process died {item.attempts} times ({item.reason})"
                yield IntervalOutcome(item.name, "error", EnvironmentFault.exit_code, message=words)
            else:
                yield IntervalOutcome(**json.loads(item.text))


def evaluate_text(text: str) -> str:
    """Outcome of one interval, as the task of a runner: the text is that of the evaluation and the interval."""
    job, interval = pickle.loads(base64.b64decode(text))
    return json.dumps(asdict(job(interval)))


def _text(value: object) -> str:
    return base64.b64encode(pickle.dumps(value)).decode()


def _are_independent(suite: Suite) -> bool:
    """Whether no interval needs the results of earlier ones."""
    looks_back = any(gate.consecutive > 1 or gate.within is not None for gate in suite.gates)
    return not (references(suite) or looks_back)


def _is_missing(manifests: Manifests, interval: Interval) -> bool:
    manifest = manifests.current(interval.key)
    if manifest is None or not manifest.of(interval):
        return True
    return manifest.awaits_labels or manifest.lacks_labels


def _first(loaded: LoadedSuite, manifests: Manifests) -> Interval:
    """First interval of a suite: that of its first manifest, or of its first folder."""
    section = section_of(loaded)
    intervals = (section.calendar.by_name(key) for key in manifests.interval_keys())
    first = next((interval for interval in intervals if interval is not None), None)
    if first is None:
        from plmetrics.features.nights.row_condition import first_partition

        first = first_partition(loaded.suite.data, section, loaded.folder)
    return first


def evaluate_interval(
    loaded: LoadedSuite,
    directory: Place,
    text: str | None,
    options: RunOptions | None = None,
    *,
    force: bool = False,
) -> Result:
    """Evaluate an interval of a suite, after earlier ones with changed files within the suite's reach.

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
    result = evaluate_night(IntervalEvaluation(loaded, directory, interval, options, force=force))
    return with_warnings(result, words)


def _look_back(
    loaded: LoadedSuite,
    directory: Place,
    section: IntervalSection,
    interval: Interval,
    options: RunOptions | None,
) -> list[str]:
    """Evaluate earlier intervals with changed files again; returns notes on them."""
    if section.lookback is None:
        return []
    words, superseded = [], set[str]()
    manifests = Manifests(directory / loaded.suite.name)
    for earlier in section.calendar.before(interval, Duration.of(section.lookback)):
        before = manifests.current(earlier.key)
        if before is None:
            continue
        try:
            evaluation = IntervalEvaluation(
                loaded, directory, earlier, options, for_data=True, superseded=superseded
            )
            evaluate_night(evaluation)
        except (DataError, ConfigError) as error:  # a problem of the suite itself is told of this interval
            words.append(
                f"{earlier} could not be evaluated again, its result stays: {error.problems[0].message}"
            )
            continue
        after = manifests.current(earlier.key)
        if after is not None and after.run != before.run:
            superseded.add(before.run)  # Those that were compared with it are evaluated again as well.
            rows = f"{before.rows:,} rows then, {after.rows:,} now"
            verdicts = f"{before.verdict} then, {after.verdict} now"
            words.append(
                f"{earlier} was evaluated again, since {_change(before, after)} ({rows}): {verdicts}"
            )
    return words


def _change(before: Manifest, after: Manifest) -> str:
    """Reason for a repeated evaluation of an interval."""
    if (after.data, after.times) != (before.data, before.times):
        return "its files changed"
    return "labels are due" if before.awaits_labels > after.awaits_labels else "others changed"
