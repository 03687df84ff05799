"""Previously known rows: in the training table, in another fold, twice, or no later than the end of training.

Every check is a plan that streams: a semi join by the keys, or a grouping by them. Rows of weight 0 are absent, and
weights do not matter otherwise: a row that leaks is a row. Of a cross-validation the held-out rows count, as for its
metrics, and folds and duplicates are looked for within each repeat, configuration and size.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import xor
from typing import Any

import polars as pl

from plmetrics.core.errors import Collected, DataError, Problem
from plmetrics.engine.inquiry import Question
from plmetrics.engine.request import TableView
from plmetrics.features.leakage.column_pairs import (
    check_plain,
    check_time,
    column_pairs,
    comparison_type,
    key_values,
    moment_text,
    time_values,
)
from plmetrics.features.leakage.leakage_section import Leakage
from plmetrics.features.registry import features_of
from plmetrics.suite.model import Suite
from plmetrics.table.checks import exclusion
from plmetrics.table.common_types import as_type, common_type
from plmetrics.table.prediction_columns import require
from plmetrics.table.prediction_table import unchecked_table
from plmetrics.table.source import Source

_KEY, _LISTED = "@key|", "@listed|"
_INNER = re.compile(r"^@(key|listed)\|")
_FOLD = "@fold"
_TIME, _MOMENT = "@time", "@moment"
_WITHIN = "@within|"
_LACKING = "@lacking"
_PATH = ("leakage",)
_OF_ONE = ("fold", "split", "inner")
EXAMPLE = "|example"
REPEATED = {"folds": pl.col("low") != pl.col("high"), "duplicates": pl.col("n") > 1}
"""By check which keys are in several places: in two folds, or in two rows."""


@dataclass(frozen=True, slots=True)
class LeakageFinding:
    """Finding of a check: rows out of `of`, or the strength of an attribute by `measure`.

    Both are None where nothing can be said: no row has a key or a time, or too few rows have another label.
    """

    check: str
    columns: tuple[str, ...]
    rows: int | None = None
    of: int = 0
    strength: float | None = None
    measure: str = ""
    example: str | None = None
    note: str | None = None


def check_leakage_columns(suite: Suite, schema: pl.Schema, train: Source | None) -> None:
    """Check the columns of the section `leakage` against both tables, on zero rows.

    Raises:
        DataError: columns are absent, or of types that do not compare; all are named.
    """
    spec = Leakage.of(suite)
    collected = Collected()
    for name, train_name, path in column_pairs(spec):
        with collected.step():
            comparison_type(name, train_name, schema, train, path)
    if spec.time is not None:
        with collected.step():
            check_time(spec.time, require(schema, spec.time, "leakage's time", (*_PATH, "time")))
    for key in ("duplicates", "attributes"):
        named = getattr(spec, key)
        for place, name in enumerate(named if isinstance(named, tuple) else ()):
            with collected.step():
                check_plain(
                    name, require(schema, name, f"leakage's {key}", (*_PATH, key)), (*_PATH, key, place)
                )
                if key == "attributes" and name == suite.columns.label:
                    raise DataError(Problem(f"column '{name}' is the label itself", (*_PATH, key, place)))
    collected.settle()


def evaluated_columns(view: TableView, columns: Sequence[str]) -> pl.LazyFrame:
    """Raw columns of the rows that some model is evaluated on, beside the canonical ones but for keys of slices."""
    roles = replace(view.roles, keys=())
    raw = view.raw if view.held_out is None else view.raw.filter(view.held_out)
    frame, checks = unchecked_table(raw, view.schema, roles, columns), view.table(roles).checks
    absent = [exclusion(checks, roles.missing, model, roles.weight_of(model)) for model in roles.models]
    return frame.filter(~pl.all_horizontal(absent))


@dataclass(frozen=True, slots=True)
class LeakagePlans:
    """The checks of rows as plans not yet run. `rows` has keys, fold and time in the types they are compared in.

    `last` is the moment when training ended, and its text; `within` are the columns of what is repeated in a
    cross-validation.
    """

    spec: Leakage
    fold: str | None
    rows: pl.LazyFrame
    train: pl.LazyFrame | None
    last: tuple[pl.Expr, str] | None
    within: tuple[str, ...]

    @classmethod
    def of(cls, view: TableView, train: Source | None) -> Question[LeakagePlans]:
        """The plans of rows beside a training table; looks up when training ended."""
        spec, schema = Leakage.of(view.suite), view.schema
        fold = view.suite.columns.fold if spec.keys else None
        keys: dict[str, pl.Expr] = {}
        if fold is not None:
            dtype = schema[fold]
            keys[_FOLD] = pl.col(fold).cast(common_type(dtype, dtype) or dtype)
        there: dict[str, pl.Expr] = {}
        for name, other, path in column_pairs(spec):
            common = comparison_type(name, other, schema, train, path)
            types = schema[name], schema[name] if train is None else train.schema[other]
            if path[1] == "time":
                keys[_TIME], there[_TIME] = (
                    as_type(pl.col(n), t) for n, t in zip((name, other), types, strict=True)
                )
                keys[_MOMENT], there[_MOMENT] = time_values((name, other), types, common)
            else:
                alias = f"{_KEY}{name}"
                keys[alias], there[alias] = key_values((name, other), types, common)
        if spec.keys and train is not None:
            names = spec.train_keys or spec.keys
            lacking = (as_type(pl.col(name), train.schema[name]).is_null() for name in names)
            there[_LACKING] = pl.any_horizontal(*lacking)
        within = _scopes(view)
        keys |= within
        listed = spec.duplicates if isinstance(spec.duplicates, tuple) else ()
        keys |= {_listed_column(name): pl.col(name) for name in listed}
        raw = [name for name, _, _ in column_pairs(spec)] + list(listed) + ([fold] if fold else [])
        raw += [name for scope in within.values() for name in scope.meta.root_names()]
        rows = evaluated_columns(view, list(dict.fromkeys(raw))).select(**keys)
        training = None if train is None else train.frame.cache().select(**there)
        time = spec.time and (spec.train_time or spec.time)
        last = None if training is None or time is None else (yield from _last(training, time))
        return cls(spec, fold, rows, training, last, tuple(within))

    @property
    def keys(self) -> list[str]:
        """The key columns in the type they are compared in."""
        return [f"{_KEY}{name}" for name in self.spec.keys or ()]

    def plans(self) -> dict[str, pl.LazyFrame]:
        """Plans to be collected once, by name."""
        nulls: list[pl.Expr] = []
        if self.keys:
            nulls.append(pl.any_horizontal(pl.col(self.keys).is_null()).sum().cast(pl.Int64).alias("keys"))
        if self.last is not None:
            time, late = pl.col(_TIME), pl.col(_MOMENT) <= self.last[0]
            nulls += [
                time.is_null().sum().cast(pl.Int64).alias("time"),
                late.sum().cast(pl.Int64).alias("early"),
                time.min().alias("first"),
            ]
        plans = {"counts": self.rows.select(pl.len().cast(pl.Int64).alias("rows"), *nulls)}
        if self.keys and self.train is not None:
            plans["train"] = self.train.select(rows=pl.len(), nulls=pl.col(_LACKING).sum())
        return plans

    def keyed_plans(self, number: int, passes: int) -> dict[str, pl.LazyFrame]:
        """Look-ups by key in one of some passes, by name: of the keys with a hash of the pass."""
        plans = self.lookups(number, passes)
        for check, (groups, by) in self.groups(number, passes).items():
            plans |= _sample_plans(check, groups.filter(REPEATED[check]), by)
        return plans

    def lookups(self, number: int, passes: int) -> dict[str, pl.LazyFrame]:
        """Rows with keys in the training table."""
        if not self.keys or self.train is None:
            return {}
        rows = self.train.filter(*_of_pass(self.keys, number, passes))
        matches = self._rows_with_keys(number, passes).join(rows, on=self.keys, how="semi")
        return _sample_plans("keys", matches, self.keys, pl.len().cast(pl.Int64))

    def groups(self, number: int, passes: int) -> dict[str, tuple[pl.LazyFrame, list[str]]]:
        """Rows by key, by check, with the columns of the keys; see `REPEATED`."""
        out: dict[str, tuple[pl.LazyFrame, list[str]]] = {}
        rows = pl.len().cast(pl.Int64).alias("n")
        if self.fold is not None:
            ends = (pl.col(_FOLD).min().alias("low"), pl.col(_FOLD).max().alias("high"))
            keyed = self._rows_with_keys(number, passes)
            out["folds"] = keyed.group_by([*self.keys, *self.within]).agg(rows, *ends), self.keys
        if isinstance(self.spec.duplicates, tuple):
            by = list(dict.fromkeys(map(_listed_column, self.spec.duplicates)))
            listed = self.rows.filter(*_of_pass(by, number, passes))
            out["duplicates"] = listed.group_by([*by, *self.within]).agg(rows), by
        elif self.spec.duplicates:
            keyed = self._rows_with_keys(number, passes)
            out["duplicates"] = keyed.group_by([*self.keys, *self.within]).agg(rows), self.keys
        return out

    def _rows_with_keys(self, number: int, passes: int) -> pl.LazyFrame:
        present = pl.all_horizontal(pl.col(self.keys).is_not_null())
        return self.rows.filter(present, *_of_pass(self.keys, number, passes))

    def findings(self, frames: dict[str, pl.DataFrame]) -> list[LeakageFinding]:
        """Findings of the collected plans, in the order of the checks."""
        counts = frames["counts"].row(0, named=True)
        out = []
        for check in ("keys", "folds", "duplicates"):
            if check not in frames:
                continue
            columns, nulls, note = self.spec.keys or (), counts.get("keys", 0), None
            if check == "duplicates" and isinstance(self.spec.duplicates, tuple):
                columns, nulls = self.spec.duplicates, 0
            elif nulls:
                note = _omission_warning(nulls, "a null key")
            rows = None if nulls == counts["rows"] else int(frames[check].item() or 0)
            if check == "keys":
                lacking, none = _lacking(frames["train"])
                rows, note = None if none else rows, "; ".join(filter(None, [note, lacking])) or None
            example = _example(frames[f"{check}{EXAMPLE}"])
            out.append(LeakageFinding(check, columns, rows, counts["rows"], example=example, note=note))
        if self.last is not None and self.spec.time is not None:
            out.append(self._late(counts, self.spec.time, self.last[1], frames["counts"]["first"]))
        return out

    def _late(self, counts: dict[str, Any], name: str, last: str, first: pl.Series) -> LeakageFinding:
        note = f"training ends at {last}"
        if counts["time"]:
            note += f"; {_omission_warning(counts['time'], 'no time')}"
        rows = None if counts["time"] == counts["rows"] else counts["early"]
        example = f"{name}={moment_text(first)}" if rows else None
        return LeakageFinding("time", (name,), rows, counts["rows"], example=example, note=note)


def _sample_plans(
    check: str, frame: pl.LazyFrame, by: list[str], rows: pl.Expr | None = None
) -> dict[str, pl.LazyFrame]:
    """Number of rows, and the first of them by value, independent of their order."""
    counted = pl.col("n").sum() if rows is None else rows
    return {
        check: frame.select(counted.alias("rows")),
        f"{check}{EXAMPLE}": frame.select(by).sort(by).head(1),
    }


def _of_pass(by: Sequence[str], number: int, passes: int) -> list[pl.Expr]:
    """The condition on rows of a pass: none where there is only one."""
    if passes == 1:
        return []
    words = [pl.col(name).hash(place) for place, name in enumerate(by)]
    return [reduce(xor, words) % passes == number]


def _listed_column(name: str) -> str:
    """A listed column in plans and states: under its own name, but where that is one of theirs."""
    return f"{_LISTED}{name}" if name.startswith("@") or name in {"n", "low", "high"} else name


def join_passes(name: str, earlier: pl.DataFrame, later: pl.DataFrame) -> pl.DataFrame:
    """Union of the findings of two passes: the number of rows, or the first of them by value."""
    both = pl.concat([earlier, later])
    return both.sort(both.columns).head(1) if name.endswith(EXAMPLE) else both.sum()


def _scopes(view: TableView) -> dict[str, pl.Expr]:
    """Keys of the repetitions of a cross-validation: a row may be a test row once in each."""
    if "cross_validation" not in {feature.key for feature in features_of(view.suite)}:
        return {}
    from plmetrics.features.cross_validation.fold_slices import fold_keys

    folds = fold_keys(view.suite, view.schema)
    axes = {} if folds is None else folds.axes
    return {f"{_WITHIN}{axis}": key.expression for axis, key in axes.items() if axis not in _OF_ONE}


def _last(training: pl.LazyFrame, name: str) -> Question[tuple[pl.Expr, str]]:
    """The last moment of the training table, and its text."""
    (last,) = yield [training.select(pl.col(_MOMENT, _TIME).max())]
    if last[_MOMENT].item() is None:
        msg = f"column '{name}' of the training table holds no time, or the table has no rows"
        raise DataError(Problem(msg, (*_PATH, "train")))
    return pl.lit(last[_MOMENT].item(), dtype=last.schema[_MOMENT]), moment_text(last[_TIME])


def _lacking(train: pl.DataFrame) -> tuple[str | None, bool]:
    """Shortage of keys in the training table, in words, and whether it has none at all."""
    rows, nulls = train.row(0)
    if rows == 0:
        return "the training table has no rows", True
    if nulls == 0:
        return None, False
    return f"{nulls:,} of {rows:,} rows of the training table have a null key", nulls == rows


def _omission_warning(rows: int, why: str) -> str:
    if rows == 1:
        return f"1 row has {why} and is not compared"
    return f"{rows:,} rows have {why} and are not compared"


def _example(frame: pl.DataFrame) -> str | None:
    if frame.is_empty():
        return None
    return ", ".join(f"{_INNER.sub('', key.name)}={moment_text(key)}" for key in frame)
