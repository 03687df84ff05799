"""Gates that fail only after some runs in a row: what earlier runs saw, judged by today's rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.results import GATES_SCHEMA
from plmetrics.core.slice_texts import rename_slices
from plmetrics.gates.rules import BAND_ENDS
from plmetrics.gates.sufficiency import INSUFFICIENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.gates.rules import Rule

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


def with_streak(rows: pl.DataFrame, rule: Rule, history: pl.DataFrame | None) -> pl.DataFrame:
    """Rows of a gate with `streak`: how many runs in a row, up to the last one, its rule calls failures.

    A run in which the slice is absent, was too small, or could not be decided ends the row of failures. Runs without
    results are no runs.

    Args:
        rows: of one gate, with gate, model, slice_set and slice.
        rule: the rule of this run: limits that have changed since do not matter.
        history: see `history_of`; None where there are no earlier runs to look at.
    """
    if history is None:
        return rows.with_columns(streak=pl.lit(0, dtype=pl.Int64))
    small = pl.col("status").is_in(INSUFFICIENT) & pl.col("observed").is_not_null()
    renamed = rename_slices(history, rows)
    if rule.band is not None:
        renamed = renamed.join(rows.select(*_KEY, *BAND_ENDS), on=_KEY, how="left", nulls_equal=True)
    failed = renamed.filter((rule.verdict() == "fail") & ~small).unique([*_KEY, AGE]).sort(AGE)
    unbroken = failed.filter(pl.col(AGE) == pl.col(AGE).cum_count().over(_KEY))
    streaks = unbroken.group_by(_KEY).agg(streak=pl.len().cast(pl.Int64))
    joined = rows.join(streaks, on=_KEY, how="left", nulls_equal=True, maintain_order="left")
    return joined.with_columns(pl.col("streak").fill_null(0))


def in_a_row(rule: Rule, verdict: pl.Expr, *, has_history: bool) -> tuple[pl.Expr, pl.Expr]:
    """The verdict once earlier runs are counted, and a note on them, null where the rule does not fail.

    A failure that is not yet one too many is inconclusive.
    """
    failed, runs = verdict == "fail", pl.col("streak") + 1
    enough = runs >= rule.consecutive
    number = pl.min_horizontal(runs, pl.lit(rule.consecutive, dtype=pl.Int64))
    ending = "" if has_history else " (there is no history)"
    note = pl.format("failed {} of {} runs in a row{}", number, pl.lit(rule.consecutive), pl.lit(ending))
    counted = pl.when(failed & ~enough).then(pl.lit("inconclusive")).otherwise(verdict)
    return counted, pl.when(failed).then(note).otherwise(pl.lit(None, pl.String))
