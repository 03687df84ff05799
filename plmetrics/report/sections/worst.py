"""Slices with the largest shortfall of the first metric with an overall value.

Totals are passed over: a slice has fewer than all rows have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from rich.text import Text

from plmetrics.core.names import printable
from plmetrics.core.special import ndtri
from plmetrics.report.layout import Column, align, heading, remarks, table_or_stack
from plmetrics.report.leaderboard import primary_metric
from plmetrics.report.numbers import Row, number, row_estimate, with_thousands

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

MOST = 10
_CLEAR = 2.0
_UNLIKE = 1.5
"""With a prevalence so many times that of another slice, an area moves by more than most models differ."""


def worst(summary: Summary, width: int) -> list[Text]:
    """Up to ten slices, by slice set, each with the model of the largest shortfall there."""
    metric = primary_metric(summary)
    if metric is None:
        return []
    rows = worst_slices(summary.metrics, metric, summary.directions[metric], level=summary.level)
    if not rows:
        return []
    remark = "worse than the model's overall value"
    if any(row["errors"] is not None for row in rows):
        remark += " by one standard error, SE, or more"
    return [
        *heading(f"Worst slices by {printable(metric)}", remark, width),
        *_lines(summary, rows, width),
        *remarks(filter(None, [caution(summary, metric)]), width),
    ]


def caution(summary: Summary, metric: str) -> str:
    """Reason against comparisons of slices by a metric dependent on their rows or share of positives; else nothing.

    Slices compare where the table `metrics` says that their shares are alike.
    """
    if metric in summary.norms:
        return f"noise alone makes {metric} larger in slices of fewer rows: other sizes do not compare by it"
    if metric not in summary.rising:
        return ""
    shares = summary.metrics.filter(
        pl.col("metric") == "prevalence", pl.col("slice_set") != "overall", pl.col("value").is_not_null()
    )["value"].to_list()
    if shares and max(shares) < _UNLIKE * min(shares):
        return ""
    return f"{metric} rises with the prevalence: slices of another one do not compare by it"


def slice_error(whole: pl.Expr, level: float | None) -> pl.Expr:
    """Standard error of a slice's value, null without one; where its interval holds `whole`, no less than that says.

    Few units have an interval much wider than their standard error: 1 hit of 4 tells little of a recall of 0.7.
    """
    value, error = pl.col("value"), pl.col("std_error")
    reach = pl.when(value < whole).then(pl.col("upper") - value).otherwise(value - pl.col("lower"))
    holds = (pl.col("lower") <= whole) & (pl.col("upper") >= whole)
    of_interval = pl.when(holds).then(reach / float(ndtri((1 + (level or 0.95)) / 2)))
    return pl.when(error > 0).then(pl.max_horizontal(error, of_interval))


def worst_slices(
    metrics: pl.DataFrame, metric: str, direction: str, most: int = MOST, *, level: float | None = None
) -> list[Row]:
    """Rows of `metrics` with `shortfall` and `errors`, the shortfall in standard errors (null without them).

    A shortfall below one standard error is left out; `level` is that of the intervals. Every slice stands once, with
    its worst model, also where it is in several sets; every slice set has a place before any has a second.
    """
    sign = 1 if direction == "higher" else -1
    rows = metrics.filter(
        pl.col("metric") == metric, pl.col("value").is_not_null(), pl.col("class").is_null()
    )
    overall = rows.filter(pl.col("slice_set") == "overall").select("model", whole="value")
    shortfall = (pl.col("whole") - pl.col("value")) * sign
    errors = shortfall / slice_error(pl.col("whole"), level)
    order = ["errors", "shortfall"]
    sets = {name: i for i, name in enumerate(metrics["slice_set"].unique(maintain_order=True))}
    ranked = (
        rows.filter(pl.col("slice_set") != "overall")
        .join(overall, on="model", how="inner", maintain_order="left")
        .with_columns(shortfall=shortfall, errors=errors)
        .filter(pl.col("shortfall") > 0, pl.col("errors").is_null() | (pl.col("errors") >= 1))
        .sort(order, descending=True, nulls_last=True, maintain_order=True)
        .unique(["slice_set", "slice"], keep="first", maintain_order=True)
        .unique(["slice", "n", "value"], keep="first", maintain_order=True)
        .with_columns(place=pl.int_range(pl.len()).over("slice_set"))
    )
    first = ranked.filter(pl.col("place") == 0).head(most)
    rest = ranked.filter(pl.col("place") > 0).head(most - first.height)
    worst = pl.concat([first, rest]).sort(order, descending=True, nulls_last=True, maintain_order=True)
    return sorted(worst.rows(named=True), key=lambda row: sets[row["slice_set"]])


def _lines(summary: Summary, rows: list[Row], width: int) -> list[Text]:
    cells = []
    for row, value in zip(rows, align([row_estimate(row) for row in rows]), strict=True):
        model = Text(printable(row["model"]))
        size = Text(summary.size_text(row["n"]))
        cells.append([Text(printable(row["slice"])), model, value, _distance(row), size])
    titles = map(Column, ("slice", "model", "value", "to overall"))
    return table_or_stack([*titles, Column("", align="right", optional=True)], cells, width)


def distance_to_overall(row: Row) -> tuple[str, str]:
    """The signed distance of a slice, and the standard errors.

    It has as many decimals as the value, or digits of its own where that is short for it is exact.
    """
    distance = row["value"] - row["whole"]
    shown = row_estimate(row)
    _, point, decimals = shown.value.partition(".")
    exact = "," not in shown.interval and float(shown.value.replace(",", "")) == row["value"]
    plain = point and decimals.isdigit() and not exact
    text = f"{distance:+.{len(decimals)}f}" if plain else ""
    text = with_thousands(text) if text and float(text) else number(distance, signed=True)
    return text, "" if row["errors"] is None else f" ({row['errors']:.1f} SE)"


def _distance(row: Row) -> Text:
    text, errors = distance_to_overall(row)
    return Text.assemble(text, (errors, "" if (row["errors"] or 0.0) >= _CLEAR else "dim"))
