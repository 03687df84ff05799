"""The history of a suite: the values of its intervals, or of its runs where it has no intervals, as one frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from plmetrics.core.durations import Duration
from plmetrics.core.errors import Problem
from plmetrics.core.results import (
    GATE_OUTCOMES,
    GATES_SCHEMA,
    METRICS_SCHEMA,
    first_rows,
    in_schema,
    table_schema,
)
from plmetrics.core.threads import parallel_map
from plmetrics.features.nights.calendar import Calendar, Interval
from plmetrics.features.nights.change_points.levels import FEWEST_PERIODS
from plmetrics.features.nights.history_selection import FOLDERS, interval_length
from plmetrics.features.nights.manifests import Manifest, Manifests
from plmetrics.gates.rules import BAND_ENDS
from plmetrics.report.numbers import plural
from plmetrics.runs.folder import moment_of, table_file
from plmetrics.runs.history.previous_runs import complete_runs
from plmetrics.runs.reading import AbsentRun, RunFault, StoredRun, read_table

if TYPE_CHECKING:
    from datetime import datetime

    from plmetrics.table.storage.places import Place

CURRENT, SUPERSEDED, MISSING, DAMAGED = "current", "superseded", "missing", "damaged"

MOMENT = pl.Datetime("us", "UTC")
HISTORY_SCHEMA = pl.Schema(
    table_schema(
        "interval start end model slice metric value lower upper n verdict gate_verdict status value_status slice_set "
        "class accepted band_lower band_upper std_error bound level level_before run_id"
    )
    | {"start": MOMENT, "end": MOMENT, "accepted": pl.Boolean()}
    | dict.fromkeys(("band_lower", "band_upper", "level", "level_before"), pl.Float64())
)
"""The columns of a history; levels are null until `change_points` has looked for them."""

_VALUES = (
    *("model", "slice", "metric", "value", "lower", "upper", "n"),
    *("slice_set", "class", "std_error", "bound"),
)
_HOURS = 24 * FEWEST_PERIODS
"""The hours that are read at least."""

_FACTS = ("interval", "start", "end", "verdict", "accepted", "run_id")
_NEEDED = frozenset({"model", "slice_set", "slice", "metric", "value", "n", "status", "verdict", "level"})
_PART = "part"
_Tables: TypeAlias = tuple[pl.DataFrame, pl.DataFrame]


@dataclass(frozen=True, slots=True)
class History:
    """The values of a suite's intervals.

    `warnings` say what could not be read, `gates` are those of the last result, and `calendar` is that of its
    intervals, None where there are none.
    """

    home: Place
    frame: pl.DataFrame
    gates: pl.DataFrame
    warnings: tuple[str, ...] = ()
    calendar: Calendar | None = None


@dataclass(frozen=True, slots=True)
class _Part:
    """One run to be read: where it comes from, its name in messages, its folder, and the facts of its rows."""

    origin: Any
    name: str
    folder: Place
    status: str
    facts: dict[str, Any]

    @property
    def is_removed(self) -> bool:
        """Whether its folder is gone, as those of superseded runs may be."""
        return not self.folder.exists()


def read_history(
    home: Place, *, last: int | None = None, superseded: bool = False, until: str | None = None
) -> History:
    """The values of a suite's intervals in their order; without intervals those of its complete runs, by time.

    `last` counts those without a result in; of hours four days are read at least, by which the pattern of the day is
    known. `superseded` reads also results that others have replaced.

    Raises:
        AbsentRun: there is no result.
    """
    manifests = Manifests(home)
    keys = [key for key in manifests.interval_keys() if interval_length(key) is not None]
    if all(map(manifests.is_empty, keys)):
        return _of_runs(home, last)
    words: list[str] = []
    calendar, keys = _one_calendar(manifests, keys, words)
    keys = [key for key in keys if until is None or key <= until]
    if not keys:
        raise AbsentRun(Problem(f"{home}: no interval up to {until} has a result"))
    if last is not None and calendar.every.unit == "h":
        last = max(last, _HOURS // calendar.every.count)
    intervals = _intervals(calendar, keys, last)
    there = set(keys)
    parts = _parts(manifests, [each.key for each in intervals if each.key in there], superseded)
    frame, gates = _frame_of(parts, lambda part: _listed_tables(manifests, part.origin), words)
    listed = {part.facts["interval"] for part in parts}
    gaps = [each for each in intervals if each.key not in listed]
    lost = {gap.key for gap in gaps if gap.key in there and not manifests.is_empty(gap.key)}
    words += [f"{key} has no manifest that can be read" for key in sorted(lost)]
    together = pl.concat([_gap_rows(gaps, lost), frame])
    return History(home, together.sort("start", maintain_order=True), gates, tuple(words), calendar)


def _one_calendar(manifests: Manifests, keys: list[str], words: list[str]) -> tuple[Calendar, list[str]]:
    """Calendar of the last interval, and the names of its intervals: a suite may have changed them."""
    groups: dict[str, list[str]] = {}
    for key in keys:
        groups.setdefault(interval_length(key) or "", []).append(key)
    lasts = {every: _last_manifest(manifests, names) for every, names in groups.items()}
    readable = {every: manifest for every, manifest in lasts.items() if manifest is not None}
    if not readable:
        raise RunFault(
            Problem(f"{manifests.home}: no manifest of its {plural(len(keys), 'interval')} can be read")
        )
    every = max(readable, key=lambda name: readable[name].moments[1])
    others = Counter({name: len(names) for name, names in groups.items() if name != every})
    words += [
        f"{plural(count, 'interval')} of {name} {'is' if count == 1 else 'are'} not shown: the last ones are of {every}"
        for name, count in others.items()
    ]
    return Calendar(Duration.of(every), readable[every].timezone), groups[every]


def _last_manifest(manifests: Manifests, keys: Sequence[str]) -> Manifest | None:
    read = (manifests.current(key) for key in reversed(keys))
    return next((manifest for manifest in read if manifest is not None), None)


def _intervals(calendar: Calendar, keys: Sequence[str], last: int | None) -> list[Interval]:
    """The intervals from the first to the last of these names, or the last ones."""
    there = keys if last is None else keys[-last:]
    intervals = [interval for key in there if (interval := calendar.by_name(key)) is not None]
    if not intervals:
        return []
    every = list(calendar.between(intervals[0].start, intervals[-1].end))
    return every if last is None else every[-last:]


def _parts(manifests: Manifests, keys: Sequence[str], superseded: bool) -> list[_Part]:  # noqa: FBT001
    """Runs of the selected intervals, of each the current one first."""
    if not superseded:
        return [_part_of_interval(manifests.home, each, CURRENT) for each in manifests.current_of(keys)]
    parts = []
    for key in keys:
        runs: dict[str, Manifest] = {}
        for manifest in manifests.latest_first(key):
            runs.setdefault(manifest.run, manifest)
        statuses = [CURRENT, *[SUPERSEDED] * len(runs)]
        parts += [
            _part_of_interval(manifests.home, manifest, status)
            for manifest, status in zip(runs.values(), statuses, strict=False)
        ]
    return parts


def _frame_of(
    parts: Sequence[_Part], read: Callable[[_Part], _Tables], words: list[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows of runs in the columns of a history, and the gates of the last valid one.

    A run that cannot be read has a row without values.
    """

    def attempt(part: _Part) -> _Tables | str:
        try:
            return read(part)
        except RunFault as fault:
            return fault.problems[0].message

    results = parallel_map(attempt, parts)
    tables = [(number, result) for number, result in enumerate(results) if not isinstance(result, str)]
    faults = {number: result for number, result in enumerate(results) if isinstance(result, str)}
    removed = {number for number in faults if parts[number].status == SUPERSEDED and parts[number].is_removed}
    words += [f"{parts[number].name}: {fault}" for number, fault in faults.items() if number not in removed]
    statuses = [
        DAMAGED if number in faults and number not in removed else part.status
        for number, part in enumerate(parts)
    ]
    numbers = pl.Series(_PART, range(len(parts)), dtype=pl.Int64)
    facts = pl.DataFrame(
        [part.facts for part in parts], schema={name: HISTORY_SCHEMA[name] for name in _FACTS}
    )
    facts = facts.with_columns(numbers, pl.Series("status", statuses, dtype=pl.String))
    rows = facts.join(_estimates(tables), on=_PART, how="left", maintain_order="left_right")
    judged = [gates for number, (_, gates) in tables if parts[number].status == CURRENT]
    return in_schema(rows, HISTORY_SCHEMA), judged[-1] if judged else GATES_SCHEMA.to_frame()


def _estimates(tables: Sequence[tuple[int, _Tables]]) -> pl.DataFrame:
    """An estimate a row, with the worst outcome of the gates on it, by the number of its part."""
    metrics = _together([(number, metrics) for number, (metrics, _) in tables], METRICS_SCHEMA)
    gates = _together([(number, gates) for number, (_, gates) in tables], GATES_SCHEMA)
    rank = pl.col("verdict").replace_strict(
        GATE_OUTCOMES, range(len(GATE_OUTCOMES)), default=len(GATE_OUTCOMES)
    )
    warns = (pl.col("verdict") == "fail") & (pl.col("level") == "warn")
    outcomes = gates.with_columns(verdict=pl.when(warns).then(pl.lit("warn")).otherwise("verdict"))
    estimates = first_rows(metrics, _PART).select(_PART, *_VALUES, value_status="status")
    worst = outcomes.sort(rank, maintain_order=True).with_columns(gate_verdict="verdict")
    banded = gates.filter(pl.any_horizontal(pl.col(BAND_ENDS).is_not_null()))
    return _with_gates(_with_gates(estimates, worst, ("gate_verdict",)), banded, BAND_ENDS)


def _with_gates(estimates: pl.DataFrame, gates: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Estimates with columns of the first gate on each.

    Gates of versions without keys do not tell their class: they count for all classes of a metric.
    """
    place = (_PART, "model", "slice_set", "slice", "metric")
    joined = estimates
    for part, keys in (("keyed", (*place, "class")), ("older", place)):
        of_part = gates.filter(pl.col("key").is_null() == (part == "older"))
        first = of_part.unique(keys, keep="first", maintain_order=True)
        renamed = first.select(*keys, pl.col(columns).name.suffix(part))
        joined = joined.join(renamed, on=keys, how="left", nulls_equal=True, maintain_order="left")
    known = (pl.coalesce(f"{name}keyed", f"{name}older").alias(name) for name in columns)
    return joined.select(*estimates.columns, *known)


def _together(tables: Sequence[tuple[int, pl.DataFrame]], schema: pl.Schema) -> pl.DataFrame:
    """Tables of one kind below each other, with the number of the part of each row."""
    sizes = [table.height for _, table in tables]
    frame = pl.concat([schema.to_frame(), *(table for _, table in tables)], how="diagonal_relaxed")
    numbers = np.repeat(np.array([number for number, _ in tables], dtype=np.int64), sizes)
    return frame.with_columns(pl.Series(_PART, numbers))


def _listed_tables(manifests: Manifests, manifest: Manifest) -> _Tables:
    """Values of a run and its gates, by the hashes in its manifest."""
    metrics = _listed_table(manifests, manifest, "metrics", METRICS_SCHEMA)
    if f"{manifest.run}/{table_file('gates')}" not in manifest.files:
        return metrics, GATES_SCHEMA.to_frame()  # Tables without rows are not written.
    return metrics, _listed_table(manifests, manifest, "gates", GATES_SCHEMA)


def _listed_table(manifests: Manifests, manifest: Manifest, name: str, schema: pl.Schema) -> pl.DataFrame:
    place = f"{manifest.run}/{table_file(name)}"
    facts = manifest.files.get(place)
    if facts is None:
        raise RunFault(Problem(f"{place} is not in the manifest"))
    table = read_table(manifests.home / place, facts["sha256"], "the manifest")
    return _conform_table(table, place, schema)


def _conform_table(table: pl.DataFrame, place: str, schema: pl.Schema) -> pl.DataFrame:
    """A table in the columns of this version.

    Raises:
        RunFault: it lacks what a history cannot do without.
    """
    missing = [name for name in schema if name in _NEEDED and name not in table.columns]
    if missing:
        raise RunFault(Problem(f"{place} has no column '{missing[0]}'"))
    if table.schema == schema:
        return table
    there = [name for name in schema if name in table.columns]
    return table.select(pl.col(name).cast(schema[name], strict=False) for name in there)


def _gap_rows(gaps: Sequence[Interval], lost: set[str]) -> pl.DataFrame:
    """Row for each interval without a result, or with unreadable manifests."""
    rows = {
        "interval": [gap.key for gap in gaps],
        "start": [gap.start for gap in gaps],
        "end": [gap.end for gap in gaps],
        "status": [DAMAGED if gap.key in lost else MISSING for gap in gaps],
    }
    absent = pl.DataFrame(rows, schema={name: HISTORY_SCHEMA[name] for name in rows})
    return in_schema(absent, HISTORY_SCHEMA)


def _part_of_interval(home: Place, manifest: Manifest, status: str) -> _Part:
    facts = {
        "interval": manifest.interval,
        "start": moment_of(manifest.start),
        "end": moment_of(manifest.end),
        "verdict": manifest.verdict,
        "accepted": manifest.is_accepted,
        "run_id": manifest.run,
    }
    return _Part(manifest, f"the result of {manifest.interval}", home / manifest.run, status, facts)


def _of_runs(home: Place, last: int | None) -> History:
    """The values of complete runs by time: they have no interval, and began and ended when their records say."""
    words: list[str] = []
    runs = list(islice(complete_runs(home, words), last))[::-1]
    if not runs:
        raise AbsentRun(Problem(f"{home}: no run in it has ended with results", hint=FOLDERS))
    parts = [_part_of_run(run) for run in runs]
    frame, gates = _frame_of(parts, lambda part: _stored_tables(part.origin), words)
    return History(home, frame, gates, tuple(words))


def _stored_tables(run: StoredRun) -> _Tables:
    metrics = _conform_table(run.table("metrics"), table_file("metrics"), METRICS_SCHEMA)
    if "gates" not in run.record.get("tables", {}):
        return metrics, GATES_SCHEMA.to_frame()
    return metrics, _conform_table(run.table("gates"), table_file("gates"), GATES_SCHEMA)


def _part_of_run(run: StoredRun) -> _Part:
    verdict = str(run.record.get("verdict", "none"))
    facts = {
        "interval": None,
        "start": _moment(run.record.get("started")),
        "end": _moment(run.record.get("finished")),
        "verdict": verdict,
        "accepted": verdict != "fail",
        "run_id": run.run_id,
    }
    return _Part(run, run.run_id, run.folder, CURRENT, facts)


def _moment(text: object) -> datetime | None:
    with suppress(ValueError):
        return moment_of(str(text))
    return None
