"""Comparison of two runs: values beyond their noise, statuses, verdicts, and added or removed rows.

The rule. Rows are aligned and paired as in comparisons of a run with an earlier one: where both runs are of the same
units and kept their replicates, a difference has the interval of a paired comparison. Else runs are taken as
independent samples. Of those `compare.run` tests differences by their standard errors (t, one test of many); here each
row is judged by itself, with methods of any kind: where both values have intervals [a1, a2] around a and [b1, b2]
around b, the interval of their difference d = b - a is

    d - sqrt((b - b1)^2 + (a2 - a)^2)   to   d + sqrt((b2 - b)^2 + (a - a1)^2)

which for symmetric intervals is d -+ z sqrt(se_a^2 + se_b^2). A value *moved beyond its interval* if that interval
does not hold 0; it then has less than the chance of one interval (5 % at level 0.95) to be noise, each row by itself:
among many rows some do. Without intervals, a value changed if it differs by more than 1e-9 of its size, which sums of
floats in another order do not. Source: Newcombe 1998; Zou and Donner 2008 (recovery of variance estimates).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.core.results import first_word
from plmetrics.core.slice_texts import rename_slices
from plmetrics.inference.across_runs.sides import KEYS, ROUNDING, align, aligned_metrics, pairing_of
from plmetrics.runs.history.comparability import dependence, other_meanings, read_elsewhere, side_of
from plmetrics.runs.record import fingerprint, suite_of_run

if TYPE_CHECKING:
    from plmetrics.inference.comparisons.paired_bootstrap import Difference
    from plmetrics.runs.outcome import Outcome

_IDENTITY = "@identity"
_CHECK = ("metric", "model", "slice_set", "slice", "class")
_LIMITS = ("at_least", "at_most", "baseline", "scale")
_PAIRED = "both runs are of the same units: differences are paired"
_COSMETIC = frozenset({"name", "output", "memory", "data"})
_CHANGED = ("beyond_interval", "value", "status", "new", "gone")
_ORDER = ("status", "beyond_interval", "value", "gone", "new", "within_interval", "same")


@dataclass(frozen=True, slots=True)
class Diff:
    """Changes from one run to another.

    `metrics` has a row per value of either run: the keys, `before` and `after`, their `difference` with the interval
    `lower` to `upper`, `moved` (the difference in half widths of that interval; without intervals, relative to the
    larger value), the statuses and numbers of rows, and `change`: beyond_interval, value (it differs, and has no
    interval), status, new, gone, within_interval or same. The first five of these count as `changed`. Rows stand in
    the order of how far they moved. `gates` has a row per check of either run, whose `change` is new, gone, verdict,
    rule (its limits or level alone moved) or same; `before_rule` is the earlier rule where they moved. `notes` say
    what the runs do not share.
    """

    before: str
    after: str
    metrics: pl.DataFrame
    gates: pl.DataFrame
    verdicts: tuple[str, str]
    notes: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether anything changed: a value, a status, a verdict, or the set of rows."""
        return bool(self.metrics["changed"].any() or self.gates["changed"].any())

    @property
    def changes(self) -> tuple[int, int]:
        """Number of changed values, and of changed gate checks."""
        return int(self.metrics["changed"].sum()), int(self.gates["changed"].sum())

    def __repr__(self) -> str:
        values, checks = self.changes
        changes = f"{values} of {self.metrics.height} values and {checks} gates changed"
        return f"Diff({self.before} -> {self.after}: {changes})"


def compare_runs(before: Outcome, after: Outcome) -> Diff:
    """Compare two results, row by row."""
    now, earlier = side_of(after), side_of(before, after.metrics)
    both = aligned_metrics(now.metrics, earlier.metrics)
    pairing = pairing_of(both, now, earlier)
    paired = None if pairing.runs is None else pairing.runs.differences(now.level, after.suite.metrics)
    metrics = _metrics(both, paired)
    judged = bool(metrics["change"].is_in(["beyond_interval", "within_interval"]).any())
    shared = [_PAIRED] if pairing.shared.paired else []
    return Diff(
        before=earlier.name,
        after=now.name,
        metrics=metrics,
        gates=_gates(rename_slices(before.gates, after.gates), after.gates),
        verdicts=(before.verdict, after.verdict),
        notes=(*_notes(before, after), *shared, *dependence(before, after, pairing.shared, intervals=judged)),
    )


def _metrics(both: pl.DataFrame, paired: Difference | None) -> pl.DataFrame:
    """Rows of either run with their change, the largest first."""
    judged = _with_paired_intervals(both.with_columns(_difference()), paired)
    measured = judged.with_columns(_measures()).with_columns(_change().alias("change"))
    rank = pl.col("change").replace_strict(_ORDER, range(len(_ORDER)), return_dtype=pl.Int64)
    rows = measured.sort(
        rank, "moved", descending=[False, True], nulls_last=[True, False], maintain_order=True
    )
    return rows.select(
        *KEYS,
        pl.col("value|b").alias("before"),
        pl.col("value").alias("after"),
        "difference",
        pl.col("low").alias("lower"),
        pl.col("high").alias("upper"),
        "moved",
        "change",
        pl.col("change").is_in(_CHANGED).alias("changed"),
        pl.col("status|b").alias("before_status"),
        pl.col("status").alias("after_status"),
        pl.col("n|b").alias("before_n"),
        pl.col("n").alias("after_n"),
    )


def _gates(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Checks of either run, paired by the keys of their gates, by names where it is of several or absent.

    Of versions without columns of keys and limits the text of the rule is left.
    """
    older = before["key"].has_nulls() or after["key"].has_nulls()
    shared = pl.concat(table["key"] if older else _shared_keys(table) for table in (before, after))
    earlier, now = (_with_identity(table, shared) for table in (before, after))
    new, gone = pl.col("here|b").is_null(), pl.col("here").is_null()
    differs = pl.col("verdict|b").ne_missing(pl.col("verdict"))
    limits = pl.any_horizontal(pl.col(f"{name}|b").ne_missing(pl.col(name)) for name in _LIMITS)
    unknown = (
        pl.all_horizontal(pl.col(f"{name}{side}").is_null() for name in _LIMITS) for side in ("", "|b")
    )
    reworded = pl.col("rule|b").ne_missing(pl.col("rule"))
    moved = (limits & (reworded | ~pl.any_horizontal(unknown))) | pl.col("level|b").ne_missing(
        pl.col("level")
    )
    change = first_word({"new": new, "gone": gone, "verdict": differs, "rule": moved}, "same")
    level = pl.when(pl.col("level|b").ne_missing(pl.col("level"))).then(", level " + pl.col("level|b"))
    return align(now, earlier, (_IDENTITY, *_CHECK)).select(
        pl.coalesce("gate", "gate|b").alias("gate"),
        *_CHECK,
        pl.coalesce("level", "level|b").alias("level"),
        pl.coalesce("rule", "rule|b").alias("rule"),
        pl.when(moved & ~new & ~gone)
        .then(pl.col("rule|b") + level.otherwise(pl.lit("")))
        .alias("before_rule"),
        pl.col("verdict|b").alias("before"),
        pl.col("verdict").alias("after"),
        pl.col("observed|b").alias("before_observed"),
        pl.col("observed").alias("after_observed"),
        change.alias("change"),
        (differs | new | gone | moved).alias("changed"),
    )


def _shared_keys(gates: pl.DataFrame) -> pl.Series:
    """Keys that several gates of a run share, such as of two limits of a metric."""
    return gates.filter(pl.struct("key", *_CHECK).is_duplicated())["key"]


def _with_identity(gates: pl.DataFrame, shared: pl.Series) -> pl.DataFrame:
    by_name = pl.col("key").is_null() | pl.col("key").is_in(shared.implode())
    return gates.with_columns(pl.when(by_name).then("gate").otherwise("key").alias(_IDENTITY))


def _difference() -> list[pl.Expr]:
    """The difference and its interval as of independent samples."""

    def distance(end: str, value: str) -> pl.Expr:
        return (pl.col(end) - pl.col(value)).abs()

    difference = pl.col("value") - pl.col("value|b")
    down = (distance("lower", "value").pow(2) + distance("upper|b", "value|b").pow(2)).sqrt()
    up = (distance("upper", "value").pow(2) + distance("lower|b", "value|b").pow(2)).sqrt()
    return [
        difference.alias("difference"),
        (difference - down).alias("low"),
        (difference + up).alias("high"),
        pl.when(difference > 0).then(down).otherwise(up).alias("reach"),
    ]


def _with_paired_intervals(rows: pl.DataFrame, paired: Difference | None) -> pl.DataFrame:
    """The rows with the intervals of pairs in place of those of independent samples."""
    if paired is None:
        return rows
    down, up = paired.difference - paired.lower, paired.upper - paired.difference
    judged = pl.Series(np.isin(paired.interval_status.astype(str), ("ok", "degenerate")))
    ends = {"low": paired.lower, "high": paired.upper, "reach": np.where(paired.difference > 0, down, up)}
    return rows.with_columns(
        pl.when(judged).then(pl.Series(numbers).fill_nan(None)).otherwise(name).alias(name)
        for name, numbers in ends.items()
    )


def _measures() -> list[pl.Expr]:
    size = pl.max_horizontal(pl.col("value").abs(), pl.col("value|b").abs())
    step, reach = pl.col("difference").abs(), pl.col("reach")
    relative = pl.when(step > 0).then(step / size).otherwise(0.0)
    by_reach = pl.when(reach > 0).then(step / reach).when(step > ROUNDING * size).then(None).otherwise(0.0)
    return [
        (step > ROUNDING * size).alias("differs"),
        pl.when(reach.is_not_null()).then(by_reach).otherwise(relative).alias("moved"),
    ]


def _change() -> pl.Expr:
    status = pl.col("status|b").ne_missing(pl.col("status"))
    defined = pl.col("difference").is_not_null() & pl.col("differs")
    far = pl.col("difference").abs() > pl.col("reach")
    cases = {
        "new": pl.col("here|b").is_null(),
        "gone": pl.col("here").is_null(),
        "status": status,
        "value": defined & pl.col("reach").is_null(),
        "beyond_interval": defined & far,
        "within_interval": defined,
    }
    return first_word(cases, "same")


def _notes(before: Outcome, after: Outcome) -> list[str]:
    """Warnings on differences and unexpected agreements of the runs: words for the top of the report."""
    notes = list(dict.fromkeys(note for result in (before, after) for note in getattr(result, "notes", ())))
    prints = [_fingerprint(result) for result in (before, after)]
    if prints[0] != prints[1]:
        keys = _differing(suite_of_run(before), suite_of_run(after))
        notes.append("the suites differ" + (f": {', '.join(keys)}" if keys else ""))
    notes += other_meanings(before, after)
    elsewhere = read_elsewhere(suite_of_run(before), suite_of_run(after))
    notes += [f"model '{name}' reads other columns: its {words}" for name, words in elsewhere.items()]
    levels = [result.suite.uncertainty.level for result in (before, after) if result.suite.uncertainty]
    if len(set(levels)) > 1:
        notes.append(f"the intervals are of different levels: {levels[0]:g} and {levels[1]:g}")
    writers = [result.record.get("versions", {}).get("plmetrics") for result in (before, after)]
    if None not in writers and writers[0] != writers[1]:
        notes.append(f"the runs were made by different versions of plmetrics: {writers[0]} and {writers[1]}")
    return notes


def _fingerprint(result: Outcome) -> str:
    stored = result.record.get("fingerprint")
    return fingerprint(result.suite) if stored is None else str(stored)


def _differing(first: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    keys = [
        key
        for key in dict.fromkeys([*first, *other])
        if key not in _COSMETIC and first.get(key) != other.get(key)
    ]
    data = [{k: v for k, v in suite.get("data", {}).items() if k != "path"} for suite in (first, other)]
    return [*keys, *(["data"] if data[0] != data[1] else [])]
