"""Earlier intervals as references of an interval, and its successors in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from plmetrics.core.durations import Duration
from plmetrics.core.errors import DataError, EnvironmentFault, PlmetricsError, Problem
from plmetrics.features.nights.interval_section import references
from plmetrics.features.nights.manifests import Manifest, Manifests
from plmetrics.gates.bands import interval_values
from plmetrics.runs.history.comparability import misleading
from plmetrics.runs.history.earlier_runs import EarlierRuns
from plmetrics.runs.record import fingerprint, suite_content
from plmetrics.suite.sections.references import Band, IntervalReference

if TYPE_CHECKING:
    from datetime import datetime

    import polars as pl

    from plmetrics.core.results import RecordedInterval
    from plmetrics.features.nights.calendar import Calendar, Interval
    from plmetrics.features.stored.alignment import StateReference
    from plmetrics.runs.outcome import Outcome
    from plmetrics.runs.reading import StoredResult, StoredRun
    from plmetrics.suite.model import Suite

T = TypeVar("T")

_WEEK = Duration(1, "w")
_ANY, _ACCEPTED = "any", "accepted"
_OVERLAP = "it overlaps this interval"


@dataclass(slots=True, kw_only=True)
class EarlierIntervals(EarlierRuns):
    """Earlier intervals, looked up by their names: the time of their evaluation has no meaning.

    `suite` is what is asked of each, `merge` makes the result of states of a span of time. `band_values` are those of
    runs for control bands, by the suite's fingerprint and the run: each is read once for all bands, and for all
    intervals that share them.
    """

    calendar: Calendar
    interval: Interval
    suite: Suite
    merge: Callable[[Sequence[StateReference], RecordedInterval, Suite], Outcome]
    band_values: dict[tuple[str, str], pl.DataFrame] = field(default_factory=dict)
    manifests: Manifests = field(init=False)
    _taken: dict[str, list[Manifest]] = field(init=False, default_factory=dict)
    _keys: list[str] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        assert self.home is not None
        self.manifests = Manifests(self.home)

    def of_intervals(
        self, key: str, reference: IntervalReference, choice: str, reader: Callable[[StoredRun], T]
    ) -> list[T]:
        """Earlier intervals of a reference; see `EarlierRuns.of_intervals`."""
        rejections: list[dict[str, str]] = []
        candidates = self._candidates(reference, rejections)
        most = None if reference.adds else 1
        choice = _ANY if reference.run else choice

        def read(manifest: Manifest) -> T:
            return reader(self._stored_run(manifest.run))

        values = self._read(key, candidates, choice, read, rejections, most)
        if reference.run is not None and not values and (reason := rejections[-1]["reason"]) != _OVERLAP:
            # The name of one run is as a path: nobody waits for it as for the first night.
            hint = "plmetrics history --all --format csv tells the runs in its column run_id"
            raise DataError(Problem(f"the run {reference.run} cannot be the reference: {reason}", hint=hint))
        return values

    def values_before(self, band: Band, skip: int) -> list[tuple[int, pl.DataFrame]]:
        """The values in the accepted intervals of a band; see `EarlierRuns.values_before`."""
        rejections: list[dict[str, str]] = []
        last = {manifest.run for manifest in islice(self._latest_first(), skip)}
        if band.window is None:
            candidates = self._latest_first()
        else:
            candidates = self._candidates(IntervalReference(window=band.window), rejections)
        older = (manifest for manifest in candidates if manifest.run not in last)
        key = f"gates.within ({band.span})" if skip == 0 else f"gates.within ({band.span}, {skip} left out)"
        return self._read(key, older, _ACCEPTED, self._band_reader(), rejections, band.last)

    def _band_reader(self) -> Callable[[Manifest], tuple[int, pl.DataFrame]]:
        """Reader of the weekday of an interval, counted from that of this one, and of its values for bands."""
        values_of_run, identity = values_reader(self.suite), fingerprint(self.suite)

        def weekday_of(moment: datetime) -> int:
            return moment.astimezone(self.calendar.zone).weekday()

        weekday = weekday_of(self.interval.start)

        def read(manifest: Manifest) -> tuple[int, pl.DataFrame]:
            key = identity, manifest.run
            if key not in self.band_values:
                self.band_values[key] = values_of_run(self._stored_run(manifest.run))
            days = weekday_of(manifest.moments[0]) - weekday
            return days % 7, self.band_values[key]

        return read

    def candidates(self) -> list[object]:
        """Candidate results for references and gates, as far as manifests and sizes of files tell."""
        named = list(references(self.suite).values())
        bands = [gate.within for gate in self.suite.gates if gate.within is not None]
        named += [IntervalReference(window=band.window) for band in bands if band.window is not None]
        groups = [self._candidates(reference, []) for reference in named if not reference.previous]
        in_a_row = max((gate.consecutive for gate in self.suite.gates), default=1)
        most = in_a_row - 1 + max((band.last or 0 for band in bands), default=0)
        groups.append(self._last(most or any(reference.previous for reference in named)))
        return [
            (each.interval, each.start, each.end, each.run, each.is_accepted, self.manifests.sizes_fit(each))
            for group in groups
            for each in group
        ]

    @property
    def candidates_suffice(self) -> bool:
        """Whether nothing but the `candidates` was looked at, and all of it could be read."""
        return not self.warnings and self.record.keys() <= self._taken.keys()

    def _read(
        self,
        key: str,
        candidates: Iterable[Manifest],
        choice: str,
        reader: Callable[[Manifest], T],
        rejections: list[dict[str, str]],
        most: int | None,
    ) -> list[T]:
        """Contents of the first suitable candidates, at most so many."""
        values: list[T] = []
        taken: list[Manifest] = []
        unusable: list[dict[str, str]] = []
        for candidate in candidates:
            entry = {"run": candidate.run, "interval": candidate.interval}
            if (reason := self._rejection(candidate, choice)) is not None:
                rejections.append({**entry, "reason": reason})
                continue
            try:
                self._check_files(candidate)
                values.append(reader(candidate))
            except EnvironmentFault:
                raise  # What a store did not say may be there.
            except PlmetricsError as error:
                unusable.append({**entry, "reason": error.problems[0].message})
                rejections.append(unusable[-1])
                continue
            taken.append(candidate)
            if len(taken) == most:
                break
        self.warn(_words(unusable))
        self._note(key, taken, rejections)
        return values

    def pass_over(self, key: str, reasons: Mapping[str, str]) -> None:
        """Note the reason against selected runs; see `EarlierRuns.pass_over`."""
        entry = self.record[key]
        of_runs = {manifest.run: manifest.interval for manifest in self._taken[key]}
        taken = [manifest for manifest in self._taken[key] if manifest.run not in reasons]
        unusable = [
            {"run": run, "interval": of_runs[run], "reason": reason} for run, reason in reasons.items()
        ]
        self.warn(_words(unusable))
        self._note(key, taken, [*entry["passed_over"], *unusable])

    def sum_of_intervals(self, key: str, reference: IntervalReference, choice: str) -> Outcome | None:
        """The result of the states of earlier intervals: those of other suites or constants are passed over."""
        from plmetrics.features.nights.states import alike_states

        states = self.of_intervals(key, reference, choice, alike_states(self.suite))
        if not states:
            return None
        names = self.record[key]["intervals"]
        first, last = self.calendar.by_name(names[0]), self.calendar.by_name(names[-1])
        assert first is not None
        assert last is not None
        span: RecordedInterval = {
            "key": _span_name(first.key, last.key),
            "start": first.start.isoformat(),
            "end": last.end.isoformat(),
            "timezone": self.calendar.timezone,
        }
        return self.merge(states, span, self.suite)

    def compared_runs(self) -> list[StoredRun]:
        """Runs of `compare.run`, the last one first."""
        return [self._stored_run(run) for run in self.record.get("compare.run", {}).get("runs", ())]

    def lack_files_alone(self, before: Mapping[str, Any]) -> bool:
        """Whether references changed only because files of results still in force were removed."""
        if list(before.get("history", ())) != self.history:
            return False
        for key, entry in before.get("references", {}).items():
            runs, taken = set(entry.get("runs", ())), set(self.record.get(key, {}).get("runs", ()))
            current = (self.manifests.current(name) for name in entry.get("intervals", ()))
            counting = {manifest.run for manifest in current if manifest is not None and manifest.is_accepted}
            if not taken <= runs or not runs - taken <= counting:
                return False
        return True

    def results_before(self, most: int) -> list[StoredResult]:
        """Results of the intervals before this one, the latest first, irrespective of verdicts."""
        from plmetrics.runs.history.previous_runs import results_of

        results: list[StoredResult] = []
        for manifest in self._latest_first():
            if len(results) == most:
                break
            if self._rejection(manifest, _ANY) is not None:
                continue
            try:
                self._check_files(manifest)
                results.append(results_of(self._stored_run(manifest.run)))
            except DataError as error:
                self.warn(_words([{"interval": manifest.interval, "reason": error.problems[0].message}]))
        return results

    def _candidates(
        self, reference: IntervalReference, rejections: list[dict[str, str]]
    ) -> Iterator[Manifest]:
        """Manifests of the intervals of a reference, the last one first."""
        if reference.run is not None:
            named_run = next(self._of_run(reference.run), None)
            if named_run is None:
                rejections.append({"run": reference.run, "reason": "no interval has such a run"})
            else:
                yield named_run
        elif reference.previous:
            yield from self._latest_first()
        else:
            named = intervals_of(reference, self.calendar, self.interval)
            current = self.manifests.current_of([interval.key for interval in named])
            there = {manifest.interval for manifest in current}
            missing = sorted(interval.key for interval in named if interval.key not in there)
            if missing:
                name = _span_name(missing[0], missing[-1])
                have = "has" if len(missing) == 1 else "have"
                count = f"{len(missing)} of {len(named)} intervals {have} no result"
                rejections.append({"run": name, "reason": "it has no result" if len(named) == 1 else count})
            yield from current

    def _latest_first(self) -> Iterator[Manifest]:
        """The manifests of all intervals before this one, the last one first."""
        for key in self._keys_latest_first():
            if key < self.interval.key and self.calendar.by_name(key) is not None:
                manifest = self.manifests.current(key)
                if manifest is not None:
                    yield manifest

    def _keys_latest_first(self) -> Iterator[str]:
        """The names of all intervals, the last one first; they are listed once: there may be ten thousand."""
        if self._keys is None:
            self._keys = self.manifests.interval_keys()
        return reversed(self._keys)

    def _last(self, most: int) -> Iterator[Manifest]:
        """Manifests of the last intervals, as far back as so many suitable ones."""
        manifests = self._latest_first()
        while most > 0 and (manifest := next(manifests, None)) is not None:
            most -= self._rejection(manifest, _ACCEPTED) is None
            yield manifest

    def _of_run(self, run_id: str) -> Iterator[Manifest]:
        """Manifest of a run, also of a superseded one."""
        for key in self._keys_latest_first():
            for manifest in self.manifests.latest_first(key):
                if manifest.run == run_id:
                    yield manifest
                    return

    def _rejection(self, manifest: Manifest, choice: str) -> str | None:
        """Reason against a result as a reference; None without one."""
        interval = self.calendar.by_name(manifest.interval)
        if interval is None or not manifest.of(interval):
            return f"it is an interval of the time zone {manifest.timezone}"
        if interval.end > self.interval.start and interval.start < self.interval.end:
            return _OVERLAP
        if choice != _ANY and not manifest.is_accepted:
            return "its gates failed"
        return None

    def _check_files(self, manifest: Manifest) -> None:
        """Check the files of a result for changes.

        Raises:
            DataError: they are not.
        """
        reason = self.manifests.damage(manifest)
        if reason is not None:
            raise DataError(reason)

    def _stored_run(self, run: str) -> StoredRun:
        from plmetrics.runs.reading import StoredRun, read_record

        assert self.home is not None
        return StoredRun(self.home / run, read_record(self.home / run))

    def _note(self, key: str, taken: list[Manifest], rejections: list[dict[str, str]]) -> None:
        """Record the selected and the rejected runs."""
        self._taken[key] = taken
        self.record[key] = {
            "run": taken[0].run if taken else None,
            "runs": [manifest.run for manifest in taken],
            "intervals": sorted(manifest.interval for manifest in taken),
            "passed_over": rejections,
        }


def runs_behind(record: Mapping[str, Any]) -> set[str]:
    """The runs that a result was compared with, and those whose gates its own counted on, by its record."""
    entries = record.get("references", {}).values()
    return {*record.get("history", ()), *(run for entry in entries for run in entry.get("runs", ()))}


def intervals_of(reference: IntervalReference, calendar: Calendar, interval: Interval) -> list[Interval]:
    """Intervals of a reference by time, the last one first, without overlaps with `interval`."""
    if reference.window is not None:
        return calendar.before(interval, Duration.of(reference.window))[::-1]
    if reference.same_weekday is not None:
        weeks = range(1, reference.same_weekday + 1)
        earlier = (calendar.shift(interval, _WEEK, -week) for week in weeks)
        # Weeks before lie in one month several times, which is added once.
        return [other for other in dict.fromkeys(earlier) if other.end <= interval.start]
    assert reference.ago is not None
    then = calendar.shift(interval, Duration.of(reference.ago), -1)
    return [then] if then.end <= interval.start else []


def _span_name(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"


def _words(unusable: Sequence[Mapping[str, str]]) -> list[str]:
    """Rejected results, one text for each reason."""
    reasons: dict[str, list[str]] = {}
    for entry in unusable:
        reasons.setdefault(entry["reason"], []).append(entry["interval"])
    return [
        f"the result of {keys[0]} is passed over: {reason}"
        if len(keys) == 1
        else f"the results of {len(keys)} intervals, {_span_name(min(keys), max(keys))}, are passed over: {reason}"
        for reason, keys in reasons.items()
    ]


def values_reader(suite: Suite) -> Callable[[StoredRun], pl.DataFrame]:
    """Reader of the values of a run for the control bands of a suite.

    Raises:
        DataError: the table cannot be read, or its values mean something else; so does what is returned.
    """
    content = suite_content(suite)
    metrics = tuple(dict.fromkeys(gate.subject.text for gate in suite.gates if gate.within is not None))

    def read(run: StoredRun) -> pl.DataFrame:
        differences = misleading(run.record.get("suite", {}), content, suite.metrics)
        if differences:
            raise DataError(Problem(f"its values mean something else: {differences[0]}"))
        return interval_values(run.table("metrics"), metrics)

    return read
