"""Request of a split: the table, the deciding columns, and the checks of both."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import polars as pl
import polars.selectors as cs

from plmetrics.core.errors import AbsentDataError, ConfigError, Problem
from plmetrics.core.names import did_you_mean
from plmetrics.engine.faults import reading
from plmetrics.engine.streaming import collected_frame
from plmetrics.features.splits.group_folds import with_group_folds
from plmetrics.features.splits.hash_parts import KeyHash, with_parts
from plmetrics.table.opening import open_source
from plmetrics.table.prediction_columns import column_names, require
from plmetrics.table.source import ROW_KEY, Source, check_column_names

Frame: TypeAlias = Any
"""A DataFrame for a table in memory, else a LazyFrame: whoever calls knows which."""
Columns: TypeAlias = str | Sequence[str]

TRAIN, TEST = "train", "test"
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class SplitRequest:
    """Table of a split, and its deciding columns and numbers."""

    source: Source
    key: tuple[str, ...]
    label: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    seed: int = 0
    exact: bool = True
    mixed: bool = False

    @property
    def rows(self) -> pl.LazyFrame:
        """The rows, with their number's key where no other is named."""
        return self.source.frame if self.key or self.group else self.source.with_row_key()

    def key_hash(self, shift: int = 0) -> KeyHash:
        """Hash for the assignment."""
        named = self.group or self.key
        schema = self.source.schema if named else pl.Schema({ROW_KEY: pl.UInt64})
        role = "group" if self.group else "key"
        return KeyHash.of_columns(named or (ROW_KEY,), schema, self.seed + shift, role)

    def deal(
        self, rows: pl.LazyFrame, folds: int, name: str, shift: int = 0, within: str | None = None
    ) -> pl.LazyFrame:
        """The rows with a column of folds; those of an inner split are dealt within each outer fold."""
        key = self.key_hash(shift)
        if self.group:
            return with_group_folds(rows, key, self.group, folds, self.label, name, within, mixed=self.mixed)
        strata = self.label if within is None else (within, *self.label)
        return with_parts(
            rows, key, [1 / folds] * folds, strata, name, exact=self.exact, nested=within is not None
        )

    def in_folds(self, folds: int, name: str) -> Frame:
        """The table with one new column, the rows dealt to folds."""
        with reading(self.source):
            return self.finish(self.deal(self.rows, number_of(folds, "folds"), name), name)

    def finish(self, rows: pl.LazyFrame, *names: str) -> Frame:
        """The table with the new columns: a DataFrame where the table was in memory, else the plan."""
        table = rows.select(cs.by_name(*self.source.schema, *names))
        in_memory = self.source.kind == "frame" and self.source.rows is not None
        return collected_frame(table) if in_memory else table


def split_request(
    data: object,
    added: tuple[str, ...],
    key: Columns = (),
    label: Columns = (),
    group: Columns = (),
    seed: int = 0,
    *,
    exact: bool = True,
    mixed: bool = False,
    required: tuple[str, ...] = (),
) -> SplitRequest:
    """The request, its columns checked; `required` are the roles that must have one.

    Raises:
        AbsentDataError: there are no rows, which nobody looks at without `exact`.
        ConfigError: the seed is no number, a new column is in the data already, or a role names no columns.
        DataError: a column is absent, or a row of a csv file is broken.
    """
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ConfigError(Problem(f"seed must be a whole number, not {seed!r}", ("seed",)))
    named = {"key": key, "label": label, "group": group}
    roles = {role: column_names(value, role, required=role in required) for role, value in named.items()}
    source = data if isinstance(data, Source) else open_source(data)
    for name in added:
        if not isinstance(name, str):
            raise ConfigError(Problem(f"name must be the name of a new column, not {name!r}", ("name",)))
        if name in source.schema:
            raise ConfigError(
                Problem(f"column '{name}' is in the data already", ("name",), "name the new one otherwise")
            )
    check_column_names(added, ("name",))
    for role, columns in roles.items():
        for column in columns:
            require(source.schema, column, role, (role,))
    source.check_rows()
    if exact:
        check_not_empty(source)
    return SplitRequest(source, **roles, seed=seed, exact=exact, mixed=mixed)


def check_not_empty(source: Source) -> None:
    """Refuse a table without rows.

    Raises:
        AbsentDataError: it has none.
    """
    with reading(source):
        rows = collected_frame(source.frame.head(1)).height if source.rows is None else source.rows
    if not rows:
        raise AbsentDataError.without_rows(None)


def whole_numbers(number: int) -> pl.Expr:
    """List of the whole numbers from 0 up to a number, the same in each row."""
    return pl.lit(pl.Series([list(range(number))], dtype=pl.List(pl.Int32))).first()


def number_of(value: int, role: str, least: int = 2) -> int:
    """A number of folds or the like, checked."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(
            Problem(f"{role} must be a whole number of {least} or more, not {value!r}", (role,))
        )
    return value


def shares_of(share: float | Mapping[str, float]) -> dict[str, float]:
    """The share of each part; they add up to 1."""
    number = isinstance(share, (int, float))
    shares = (
        dict(share) if isinstance(share, Mapping) else {TEST: share, TRAIN: 1 - share if number else share}
    )
    sound = all(isinstance(part, (int, float)) and 0 < part < 1 for part in shares.values())
    if not sound or not math.isclose(sum(shares.values()), 1, abs_tol=_TOLERANCE):
        msg = f"shares must lie between 0 and 1 and add up to 1, not {share!r}"
        raise ConfigError(Problem(msg, ("share",)))
    return shares


def unknown(name: str, names: Sequence[str], role: str) -> Problem:
    """Problem of an unknown word, with the nearest known one."""
    return Problem(f"unknown {role} {name!r}", (role,), did_you_mean(name, names))
