"""What changed between two runs: values beyond their noise, statuses, verdicts, and rows that came or went.

The rule. Where both runs are of the same units and kept their replicates, a difference has the interval of a paired
comparison (`inference.paired_runs`). Else runs are taken as independent samples: where both values have intervals
[a1, a2] around a and [b1, b2] around b, the interval of their difference d = b - a is

    d - sqrt((b - b1)^2 + (a2 - a)^2)   to   d + sqrt((b2 - b)^2 + (a - a1)^2)

which for symmetric intervals is d -+ z sqrt(se_a^2 + se_b^2). A value *moved beyond its interval* if that interval
does not hold 0; it then has less than the chance of one interval (5 % at level 0.95) to be noise, each row by itself:
among many rows some do. Without intervals, a value changed if it differs by more than 1e-9 of its size, which sums of
floats in another order do not. Source: Newcombe 1998; Zou and Donner 2008 (recovery of variance estimates).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.core.results import first_rows
from plmetrics.core.slice_texts import renamed
from plmetrics.inference.kept import sharing
from plmetrics.inference.paired_runs import PairedRuns
from plmetrics.runs.data import data_of
from plmetrics.runs.fingerprint import fingerprint, said_by
from plmetrics.runs.meanings import misleading, read_elsewhere

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from plmetrics.runs.outcome import Outcome

SAME = 1e-9
"""Relative difference up to which two values are the same."""

METRIC_KEYS = ("model", "slice_set", "slice", "metric", "class")
GATE_KEYS = ("gate", "metric", "model", "slice_set", "slice")
_OCCURRENCE, _OCCURRENCES = "@occurrence", "@occurrences"
_NOT_INDEPENDENT = (
    "their values are not independent, and smaller differences than the intervals say may be real"
)
_COSMETIC = frozenset({"name", "output", "memory", "data"})
_CHANGED = ("beyond_interval", "value", "status", "new", "gone")
_ORDER = ("status", "beyond_interval", "value", "gone", "new", "within_interval", "same")


@dataclass(frozen=True, slots=True)
class Diff:
    """What changed from one run to another.

    `metrics` has a row per value of either run: the keys, `before` and `after`, their `difference` with the interval
    `lower` to `upper`, `moved` (the difference in half widths of that interval; without intervals, relative to the
    larger value), the statuses and numbers of rows, and `change`: beyond_interval, value (it differs, and has no
    interval), status, new, gone, within_interval or same. The first five of these count as `changed`. Rows stand in
    the order of how far they moved. `gates` has a row per check of either run. `notes` say what the runs do not share.
    """

    before: str
    after: str
    metrics: pl.DataFrame
    gates: pl.DataFrame
    verdicts: tuple[str, str]
    notes: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether anything changed: a value, a status, a verdict, or which rows there are."""
        return bool(self.metrics["changed"].any() or self.gates["changed"].any())

    def __repr__(self) -> str:
        rows, checks = (int(frame["changed"].sum()) for frame in (self.metrics, self.gates))
        return f"Diff({self.before} -> {self.after}: {rows} of {self.metrics.height} values and {checks} gates changed)"


def compare_runs(before: Outcome, after: Outcome) -> Diff:
    """Compare two results, row by row."""
    pairing = _Pairing(before, after)
    old = renamed(before.metrics, after.metrics)
    metrics = _metrics(first_rows(old), first_rows(after.metrics), pairing)
    return Diff(
        before=run_name(before),
        after=run_name(after),
        metrics=metrics,
        gates=_gates(renamed(before.gates, after.gates), after.gates),
        verdicts=(before.verdict, after.verdict),
        notes=(
            *_notes(before, after),
            *pairing.notes(
                judged=metrics["change"].is_in(["beyond_interval", "within_interval"]).any(), said=True
            ),
        ),
    )


def not_alike(before: Outcome, after: Outcome) -> list[str]:
    """What makes values of two runs mean different things, or samples of them no independent ones: in words."""
    intervals = None not in (before.suite.uncertainty, after.suite.uncertainty)
    return [*_other_meanings(before, after), *_Pairing(before, after).notes(judged=intervals)]


def run_name(result: Outcome) -> str:
    """The id of a run, or the name of an evaluation that was not written."""
    return str(result.record.get("run_id", result.suite.name))


class _Pairing:
    """What two runs have in common, and the intervals of their differences where that makes them pairs."""

    def __init__(self, before: Outcome, after: Outcome) -> None:
        self._runs = before, after
        self._kept = None if before.kept is None else before.kept.renamed(after.metrics), after.kept
        self._shared = sharing(self._kept[1], self._kept[0])

    def intervals(self, joined: pl.DataFrame) -> pl.DataFrame:
        """The rows with the intervals of those that are paired in place of those of independent samples."""
        before, after = self._kept
        uncertainty = self._runs[1].suite.uncertainty
        if not self._shared.paired or before is None or after is None or uncertainty is None:
            return joined
        runs = PairedRuns(joined, (("|b", after), ("", before)))
        made = runs.differences(uncertainty.level)
        ends = {"low": made.lower, "high": made.upper}
        reach = np.fmax(made.upper - made.difference, made.difference - made.lower)
        paired = pl.Series(runs.paired & np.isin(made.interval_status.astype(str), ("ok", "degenerate")))
        return joined.with_columns(
            pl.when(paired).then(pl.Series(numbers).fill_nan(None)).otherwise(name).alias(name)
            for name, numbers in (ends | {"reach": reach}).items()
        )

    def notes(self, *, judged: bool | None, said: bool = False) -> list[str]:
        """A word where runs are judged as independent that are not; `said`: also where they are paired."""
        if self._shared.paired:
            return ["both runs are of the same units: differences are paired"] if said else []
        old, new = (data_of(result.record) for result in self._runs)
        which = old.shared_files(new)
        if not judged or not (which or self._shared.words):
            return []
        what = self._shared.words or f"both runs read {which}"
        hint = "; with uncertainty.keep: true in both they are paired" if None in self._kept else ""
        return [f"{what}: {_NOT_INDEPENDENT}{hint}"]


def _metrics(before: pl.DataFrame, after: pl.DataFrame, pairing: _Pairing) -> pl.DataFrame:
    held = ("value", "lower", "upper", "n", "status")
    old, new = (_keyed(frame, METRIC_KEYS, held) for frame in (before, after))
    joined = _joined(old, new, METRIC_KEYS).with_columns(_difference())
    joined = pairing.intervals(joined)
    measured = joined.with_columns(_measures()).with_columns(_change().alias("change"))
    rank = pl.col("change").replace_strict(_ORDER, range(len(_ORDER)), return_dtype=pl.Int64)
    rows = measured.sort(
        rank, "moved", descending=[False, True], nulls_last=[True, False], maintain_order=True
    )
    return rows.select(
        *METRIC_KEYS,
        pl.col("value").alias("before"),
        pl.col("value|b").alias("after"),
        "difference",
        pl.col("low").alias("lower"),
        pl.col("high").alias("upper"),
        "moved",
        "change",
        pl.col("change").is_in(_CHANGED).alias("changed"),
        pl.col("status").alias("before_status"),
        pl.col("status|b").alias("after_status"),
        pl.col("n").alias("before_n"),
        pl.col("n|b").alias("after_n"),
    )


def _gates(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    old, new = (_keyed(frame, GATE_KEYS, ("level", "verdict", "observed")) for frame in (before, after))
    joined = _joined(old, new, GATE_KEYS)
    present, other = pl.col("here").fill_null(value=False), pl.col("here|b").fill_null(value=False)
    differs = pl.col("verdict").ne_missing(pl.col("verdict|b"))
    change = pl.when(~present).then(pl.lit("new")).when(~other).then(pl.lit("gone"))
    return joined.select(
        *GATE_KEYS,
        pl.coalesce("level|b", "level").alias("level"),
        pl.col("verdict").alias("before"),
        pl.col("verdict|b").alias("after"),
        pl.col("observed").alias("before_observed"),
        pl.col("observed|b").alias("after_observed"),
        change.when(differs).then(pl.lit("verdict")).otherwise(pl.lit("same")).alias("change"),
        (differs | ~present | ~other).alias("changed"),
    )


def _keyed(frame: pl.DataFrame, keys: Sequence[str], held: Sequence[str]) -> pl.DataFrame:
    """Keys, and what is compared; rows of equal keys (in older runs texts of slices may agree) are numbered."""
    number, of = pl.int_range(pl.len()).over(keys), pl.len().over(keys)
    return frame.select(*keys, *held, pl.lit(value=True).alias("here")).with_columns(
        number.alias(_OCCURRENCE), of.alias(_OCCURRENCES)
    )


def _joined(old: pl.DataFrame, new: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Rows of either run: those of the new one in its order, then those that are gone."""
    on = [*keys, _OCCURRENCE, _OCCURRENCES]
    own = [name for name in old.columns if name not in on]
    renamed = new.rename({name: f"{name}|b" for name in own})
    both = renamed.join(old, on=on, how="left", nulls_equal=True, maintain_order="left")
    gone = old.join(renamed, on=on, how="anti", nulls_equal=True, maintain_order="left")
    return pl.concat([both, gone], how="diagonal")


def _difference() -> list[pl.Expr]:
    """The difference and its interval."""

    def distance(end: str, value: str) -> pl.Expr:
        return (pl.col(end) - pl.col(value)).abs()

    difference = pl.col("value|b") - pl.col("value")
    down = (distance("lower|b", "value|b").pow(2) + distance("upper", "value").pow(2)).sqrt()
    up = (distance("upper|b", "value|b").pow(2) + distance("lower", "value").pow(2)).sqrt()
    return [
        difference.alias("difference"),
        (difference - down).alias("low"),
        (difference + up).alias("high"),
        pl.when(difference > 0).then(down).otherwise(up).alias("reach"),
    ]


def _measures() -> list[pl.Expr]:
    size = pl.max_horizontal(pl.col("value").abs(), pl.col("value|b").abs())
    step, reach = pl.col("difference").abs(), pl.col("reach")
    relative = pl.when(step > 0).then(step / size).otherwise(0.0)
    by_reach = pl.when(reach > 0).then(step / reach).when(step > SAME * size).then(None).otherwise(0.0)
    return [
        (step > SAME * size).alias("differs"),
        pl.when(reach.is_not_null()).then(by_reach).otherwise(relative).alias("moved"),
    ]


def _change() -> pl.Expr:
    present, other = pl.col("here").is_not_null(), pl.col("here|b").is_not_null()
    status = pl.col("status").ne_missing(pl.col("status|b"))
    known = pl.col("difference").is_not_null() & pl.col("differs")
    far = pl.col("difference").abs() > pl.col("reach")
    return (
        pl.when(~present)
        .then(pl.lit("new"))
        .when(~other)
        .then(pl.lit("gone"))
        .when(status)
        .then(pl.lit("status"))
        .when(known & pl.col("reach").is_null())
        .then(pl.lit("value"))
        .when(known & far)
        .then(pl.lit("beyond_interval"))
        .when(known)
        .then(pl.lit("within_interval"))
        .otherwise(pl.lit("same"))
    )


def _notes(before: Outcome, after: Outcome) -> list[str]:
    """What the runs do not share, or share and should not: words for the top of the report."""
    notes = [note for result in (before, after) for note in getattr(result, "notes", ())]
    prints = [_fingerprint(result) for result in (before, after)]
    if prints[0] != prints[1]:
        keys = _differing(said_by(before), said_by(after))
        notes.append("the suites differ" + (f": {', '.join(keys)}" if keys else ""))
    notes += _other_meanings(before, after)
    elsewhere = read_elsewhere(said_by(before), said_by(after))
    notes += [f"model '{name}' reads other columns: its {words}" for name, words in elsewhere.items()]
    levels = [result.suite.uncertainty.level for result in (before, after) if result.suite.uncertainty]
    if len(set(levels)) > 1:
        notes.append(f"the intervals are of different levels: {levels[0]:g} and {levels[1]:g}")
    made = [result.record.get("versions", {}).get("plmetrics") for result in (before, after)]
    if None not in made and made[0] != made[1]:
        notes.append(f"the runs were made by different versions of plmetrics: {made[0]} and {made[1]}")
    return notes


def _other_meanings(before: Outcome, after: Outcome) -> list[str]:
    found = misleading(said_by(before), said_by(after), after.suite.metrics)
    return [f"{'; '.join(found)}: values of one name mean different things"] if found else []


def _fingerprint(result: Outcome) -> str:
    stored = result.record.get("fingerprint")
    return fingerprint(result.suite) if stored is None else str(stored)


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    keys = [
        key
        for key in dict.fromkeys([*one, *other])
        if key not in _COSMETIC and one.get(key) != other.get(key)
    ]
    data = [{k: v for k, v in said.get("data", {}).items() if k != "path"} for said in (one, other)]
    return [*keys, *(["data"] if data[0] != data[1] else [])]
