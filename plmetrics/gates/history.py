"""Gates that fail only after some runs in a row: what earlier runs saw, judged by today's rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.results import GATES_SCHEMA
from plmetrics.core.slice_texts import rename_slices
from plmetrics.gates.rules import verdict_by
from plmetrics.gates.sufficiency import INSUFFICIENT

if TYPE_CHECKING:
    from collections.abc import Sequence

_KEY = ("gate", "model", "slice_set", "slice")
AGE = "age"


def history_of(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The tables `gates` of earlier runs, the last run first, as one table with `age`: 1 for the last run."""
    empty = GATES_SCHEMA.to_frame().with_columns(pl.lit(None, pl.Int64).alias(AGE))
    aged = [
        table.with_columns(pl.lit(number, dtype=pl.Int64).alias(AGE))
        for number, table in enumerate(tables, start=1)
    ]
    return pl.concat([empty, *aged])


def with_streak(rows: pl.DataFrame, rule: Sequence[str], history: pl.DataFrame | None) -> pl.DataFrame:
    """Rows of gates with `streak`: how many runs in a row, up to the last one, their rules call failures.

    A run in which the slice is absent, was too small, or could not be decided ends the row of failures. Runs without
    results are no runs.

    Args:
        rows: with gate, model, slice_set, slice, and the number of the gate, `@gate`.
        rule: the columns of the rules of this run: limits that have changed since do not matter.
        history: see `history_of`; None where there are no earlier runs to look at.
    """
    if history is None:
        return rows.with_columns(streak=pl.lit(0, dtype=pl.Int64))
    small = pl.col("status").is_in(INSUFFICIENT) & pl.col("observed").is_not_null()
    by_rule = rows.select("@gate", *_KEY, *rule).unique(["@gate", *_KEY])
    renamed = rename_slices(history, rows).join(by_rule, on=_KEY, how="inner", nulls_equal=True)
    failed = renamed.filter((verdict_by({name: pl.col(name) for name in rule}) == "fail") & ~small)
    key = ["@gate", *_KEY]
    failed = failed.unique([*key, AGE]).sort(AGE)
    unbroken = failed.filter(pl.col(AGE) == pl.col(AGE).cum_count().over(key))
    streaks = unbroken.group_by(key).agg(streak=pl.len().cast(pl.Int64))
    joined = rows.join(streaks, on=key, how="left", nulls_equal=True, maintain_order="left")
    return joined.with_columns(pl.col("streak").fill_null(0))


def in_a_row(verdict: pl.Expr, *, has_history: bool) -> tuple[pl.Expr, pl.Expr]:
    """The verdict once earlier runs are counted, and a note on them, null where the rule does not fail.

    A failure that is not yet one too many is inconclusive. The column `@consecutive` says how many are too many.
    """
    least = pl.col("@consecutive")
    failed, runs = verdict == "fail", pl.col("streak") + 1
    number = pl.min_horizontal(runs, least)
    ending = "" if has_history else " (there is no history)"
    note = pl.format("failed {} of {} runs in a row{}", number, least, pl.lit(ending))
    counted = pl.when(failed & (runs < least)).then(pl.lit("inconclusive")).otherwise(verdict)
    return counted, pl.when(failed & (least > 1)).then(note)
