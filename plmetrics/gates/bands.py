"""Gates over earlier runs: control bands of their values, and consecutive failures.

Values of earlier intervals say in what range the next one is to be expected; what earlier runs saw is judged by today's
rule. With x_1..x_n the earlier values, m their mean and s their standard deviation, the next value of the same normal
distribution differs from m by a t variable of n - 1 degrees of freedom, times s sqrt(1 + 1/n). The variance s^2 has the
sampling noise of the earlier values in it; where the value that is judged is noisier than they are on average, as that
of a short day, the difference of the squared standard errors is added. A value v in [0, 1] has another error than m by
being another value: its square is taken times m (1 - m) / (v (1 - v)), which is what a share would have at m, and not
what widens the band where v is far from it. By weekday, m and n are those of the same weekday, and s^2 is pooled over
all, with a degree of freedom less for each weekday.

Source: Hahn and Meeker (1991), Statistical Intervals, section 4.7 (prediction interval for one future observation).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from plmetrics.core.ops import Array
from plmetrics.core.results import GATES_SCHEMA, first_rows, in_schema
from plmetrics.core.slice_texts import rename_slices
from plmetrics.core.special import stdtr
from plmetrics.gates.rules import BAND_ENDS, verdict_by
from plmetrics.gates.sufficiency import INSUFFICIENT

if TYPE_CHECKING:
    from plmetrics.suite.sections.gates import Gate
    from plmetrics.suite.sections.references import Band

BandKey: TypeAlias = "tuple[Band, int]"
"""A band, and how many runs in a row its gate counts: the band is made of intervals before these."""

TOO_FEW = "too_few_intervals"
_PLACE = ("model", "slice_set", "slice", "class")
_WEEKDAY = "weekday"
_SCHEMA = {
    **dict.fromkeys((*_PLACE, "metric"), pl.String),
    "value": pl.Float64,
    "std_error": pl.Float64,
    _WEEKDAY: pl.Int64,
}
_LEAST_OF_A_WEEKDAY = 2

AGE = "age"
_ROW = ("@gate", *_PLACE)
_UNDECIDED = "@undecided"


def interval_values(table: pl.DataFrame, metrics: Sequence[str]) -> pl.DataFrame:
    """The values of some metrics, by their texts, in the table `metrics` of an earlier interval."""
    rows = first_rows(table.filter(pl.col("metric").is_in(metrics)))
    columns = [pl.col(name).cast(kind) for name, kind in _SCHEMA.items() if name != _WEEKDAY]
    return rows.select(columns).filter(pl.col("value").is_finite())


def values_of(intervals: Sequence[tuple[int, pl.DataFrame]]) -> pl.DataFrame:
    """The values of earlier intervals, the last interval first.

    Each comes with the weekday of its interval, counted from that of the interval that is judged.
    """
    values = [rows for _, rows in intervals]
    weekdays = np.repeat([day for day, _ in intervals], [rows.height for rows in values]).astype(np.int64)
    rows = pl.concat([pl.DataFrame(schema=_SCHEMA).drop(_WEEKDAY), *values])
    return rows.with_columns(pl.Series(_WEEKDAY, weekdays))


def with_bands(rows: pl.DataFrame, gate: Gate, band: Band, values: pl.DataFrame | None) -> pl.DataFrame:
    """Rows of a gate with the ends of their control bands (`BAND_ENDS`) and a note on each.

    `band` is the rule in words, with the ends; `band_status` says why there is no band, `band_note` how often a value
    of the same distribution is outside. All three are null where the value is undefined. `values` are those of earlier
    intervals, see `values_of`; None where there are none.
    """
    earlier = pl.DataFrame(schema=_SCHEMA) if values is None else values.filter(metric=gate.subject.text)
    spreads = _spreads(rename_slices(earlier, rows), by_weekday=band.season is not None)
    spread = rows.join(spreads, on=_PLACE, how="left", nulls_equal=True, maintain_order="left")
    spread = spread.with_columns(pl.col("@all", "@in_season").fill_null(0))
    insufficient = pl.col("@all") < band.min_intervals
    if band.season is not None:
        insufficient |= (pl.col("@in_season") < _LEAST_OF_A_WEEKDAY) | (pl.col("@freedom") < 1)
    noise = (_squared_error(gate) - pl.col("@noise")).fill_nan(None).clip(0).fill_null(0)
    half = band.sd * (pl.col("@variance") * (1 + 1 / pl.col("@in_season")) + noise).sqrt()
    defined = pl.when(pl.col("observed").is_not_null() & ~insufficient)
    spread = spread.with_columns(
        defined.then(pl.col("@mean") - half).alias(BAND_ENDS[0]),
        defined.then(pl.col("@mean") + half).alias(BAND_ENDS[1]),
        pl.Series("@outside", _share_outside(spread["@freedom"], band)),
    )
    spread = _open_better_side(spread, gate, band)
    return spread.with_columns(**_words(band, spread, insufficient)).select(
        *rows.columns, *BAND_ENDS, "band", "band_status", "band_note"
    )


def _spreads(earlier: pl.DataFrame, *, by_weekday: bool) -> pl.DataFrame:
    """Mean, pooled variance, number of values and number of values of the weekday, by place."""
    in_season = pl.col(_WEEKDAY) == 0 if by_weekday else pl.lit(value=True)
    season = [*_PLACE, _WEEKDAY] if by_weekday else [*_PLACE]
    residuals = earlier.with_columns(
        (pl.col("value") - pl.col("value").mean().over(season)).alias("@residual")
    )
    seasons = pl.col(_WEEKDAY).n_unique().cast(pl.Int64) if by_weekday else pl.lit(1, pl.Int64)
    freedom = pl.len().cast(pl.Int64) - seasons
    return residuals.group_by(_PLACE, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("@all"),
        pl.col("value").filter(in_season).len().cast(pl.Int64).alias("@in_season"),
        pl.col("value").filter(in_season).mean().alias("@mean"),
        freedom.alias("@freedom"),
        (pl.col("@residual").pow(2).sum() / freedom).alias("@variance"),
        pl.col("std_error").pow(2).mean().alias("@noise"),
    )


def _squared_error(gate: Gate) -> pl.Expr:
    """The squared standard error that the value would have, were it the mean of the earlier ones."""
    own = pl.col("std_error").cast(pl.Float64) ** 2
    if gate.subject.range != (0.0, 1.0):
        return own
    here, there = (value * (1 - value) for value in (pl.col("observed"), pl.col("@mean")))
    return pl.when((here > 0) & (there > 0)).then(own * there / here).otherwise(own)


def _share_outside(freedom: pl.Series, band: Band) -> Array:
    """Probability of a new value of the same normal distribution outside the band."""
    degrees = freedom.cast(pl.Float64).fill_null(np.nan).to_numpy()
    tail = np.asarray(stdtr(np.where(degrees >= 1, degrees, np.nan), -band.sd), dtype=np.float64)
    return tail if band.side == "worse" else 2 * tail


def _words(band: Band, spread: pl.DataFrame, insufficient: pl.Expr) -> dict[str, pl.Expr]:
    """The band with its ends, the status where it is absent, and the note."""
    season = "" if band.season is None else f" by {band.season}"
    texts = pl.lit(
        pl.Series([_ends_text(*ends) for ends in spread.select(BAND_ENDS).iter_rows()], dtype=pl.String)
    )
    ends = pl.format(f"within {band.sd:g} sd of {{}} intervals{season}: {{}}", "@all", texts)
    percent = pl.Series([f"{100 * share:.2g}%" for share in spread["@outside"]], dtype=pl.String)
    outside = pl.format("{} of normal values like the earlier ones are outside", pl.lit(percent))
    absent = pl.format(f"earlier intervals with a value: {{}}, at least {band.min_intervals} needed", "@all")
    if band.season is not None:
        enough = pl.col("@all") >= band.min_intervals
        of_weekday = pl.format(f"{{}} of this weekday, at least {_LEAST_OF_A_WEEKDAY} needed", "@in_season")
        absent = (
            pl.when(enough)
            .then(pl.format("of {} earlier intervals {}", "@all", of_weekday))
            .otherwise(absent)
        )
    defined, exists = pl.col("observed").is_not_null(), pl.col(BAND_ENDS[0]).is_not_null()
    return {
        "band": pl.when(exists).then(ends),
        "band_status": pl.when(defined & insufficient).then(pl.lit(TOO_FEW)),
        "band_note": pl.when(exists).then(outside).when(defined & insufficient).then(absent),
    }


def _ends_text(lower: float | None, upper: float | None) -> str | None:
    """The ends of a band as text.

    >>> _ends_text(0.8312345, 0.87), _ends_text(-np.inf, 0.16)
    ('[0.83123, 0.87]', '<= 0.16')
    """
    if lower is None or upper is None:
        return None
    if np.isinf(lower):
        return f"<= {upper:.5g}"
    return f">= {lower:.5g}" if np.isinf(upper) else f"[{lower:.5g}, {upper:.5g}]"


def _open_better_side(rows: pl.DataFrame, gate: Gate, band: Band) -> pl.DataFrame:
    """Rows with one-sided bands, open on the metric's better side, for gates on the worse side alone."""
    if band.side == "both":
        return rows
    lower, upper = BAND_ENDS
    lower_is_worse = gate.subject.direction == "higher"
    end, infinite = (upper, np.inf) if lower_is_worse else (lower, -np.inf)
    return rows.with_columns(pl.when(pl.col(end).is_not_null()).then(pl.lit(infinite)).alias(end))


def history_of(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The tables `gates` of earlier runs, the last run first, as one table with `age`: 1 for the last run."""
    empty = GATES_SCHEMA.to_frame().with_columns(pl.lit(None, pl.Int64).alias(AGE))
    aged = [
        in_schema(table, GATES_SCHEMA).with_columns(pl.lit(number, dtype=pl.Int64).alias(AGE))
        for number, table in enumerate(tables, start=1)
    ]
    return pl.concat([empty, *aged])


def with_streak(rows: pl.DataFrame, rule: Sequence[str], history: pl.DataFrame | None) -> pl.DataFrame:
    """Rows of gates with `streak`, the number of consecutive failures up to the last run, and `@undecided`.

    A run in which the slice is absent, was too small, or could not be decided ends the row of failures: `@undecided`
    says that it did. Runs without results are no runs. `rule` are the columns of the rules of this run: limits that
    have changed since do not matter. `history` is None where there are no earlier runs to look at.
    """
    if history is None:
        return rows.with_columns(streak=pl.lit(0, dtype=pl.Int64), **{_UNDECIDED: pl.lit(value=False)})
    earlier = _earlier_rows(rename_slices(history, rows), rows, rule)
    small = pl.col("status").is_in(INSUFFICIENT) & pl.col("observed").is_not_null()
    verdict = verdict_by({name: pl.col(name) for name in rule}, pl.col("bound"))
    earlier = earlier.select(*_ROW, AGE, verdict=pl.when(small).then(pl.lit("skipped")).otherwise(verdict))
    failed = earlier.filter(verdict="fail").unique([*_ROW, AGE]).sort(AGE)
    unbroken = failed.filter(pl.col(AGE) == pl.col(AGE).cum_count().over(_ROW))
    streaks = unbroken.group_by(_ROW).agg(streak=pl.len().cast(pl.Int64))
    counted = rows.join(streaks, on=_ROW, how="left", nulls_equal=True, maintain_order="left")
    counted = counted.with_columns(pl.col("streak").fill_null(0))
    judged = history.join(rows.select("@gate", "key").unique(), on="key").select("@gate", AGE).unique()
    return counted.with_columns(_interruptions(counted, earlier, judged))


def _interruptions(rows: pl.DataFrame, earlier: pl.DataFrame, judged: pl.DataFrame) -> pl.Series:
    """Whether the run before the failures of each row is among those that judged its gate, but did not decide it."""
    judged = judged.with_columns(judged=True)
    passed = earlier.filter(verdict="pass").select(*_ROW, AGE).unique().with_columns(passed=True)
    before = rows.select(*_ROW, (pl.col("streak") + 1).alias(AGE))
    before = before.join(judged, on=["@gate", AGE], how="left", maintain_order="left")
    before = before.join(passed, on=[*_ROW, AGE], how="left", nulls_equal=True, maintain_order="left")
    undecided = (pl.col("judged") & pl.col("passed").is_null()).fill_null(value=False)
    return before.select(undecided.alias(_UNDECIDED)).to_series()


def _earlier_rows(history: pl.DataFrame, rows: pl.DataFrame, rule: Sequence[str]) -> pl.DataFrame:
    """Rows of earlier runs with the gate of this run that judges the same, and its rule.

    Gates are joined by their keys. Rows of versions without keys have the name of their gate instead.
    """
    by_rule = rows.select(*_ROW, "key", "metric", pl.col("gate").alias("@name_now"), *rule).unique(_ROW)
    keyed = history.filter(pl.col("key").is_not_null())
    keyed = keyed.join(by_rule.drop("metric"), on=["key", *_PLACE], how="inner", nulls_equal=True)
    older = history.filter(pl.col("key").is_null()).drop("class", "key")
    named = by_rule.with_columns(gate="@name_now").drop("key")
    older = older.join(named, on=["gate", "metric", *_PLACE[:-1]], how="inner", nulls_equal=True)
    together = pl.concat([keyed.drop("key"), older], how="diagonal")
    # Gates of one metric with several limits may differ in sizes and intervals: rows of the same name come first.
    same = pl.col("gate") == pl.col("@name_now")
    return together.filter(same | ~same.any().over(*_ROW, AGE))


def in_a_row(verdict: pl.Expr, *, has_history: bool) -> tuple[pl.Expr, pl.Expr]:
    """The verdict once earlier runs are counted, and a note on them, null where the rule does not fail.

    A failure that is not yet one too many is inconclusive. The column `@consecutive` says how many are too many.
    """
    least = pl.col("@consecutive")
    failed, runs = verdict == "fail", pl.col("streak") + 1
    number = pl.min_horizontal(runs, least)
    interrupted = pl.when(pl.col(_UNDECIDED) & (runs < least)).then(
        pl.lit(" (the run before did not decide it)")
    )
    ending = interrupted.otherwise(pl.lit("" if has_history else " (there is no history)"))
    note = pl.format("failed {} of {} runs in a row{}", number, least, ending)
    counted = pl.when(failed & (runs < least)).then(pl.lit("inconclusive")).otherwise(verdict)
    return counted, pl.when(failed & (least > 1)).then(note)
