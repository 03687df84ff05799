"""Fairness: the groups of each attribute as a forest, with the gap as a bracket between two of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from plmetrics.catalogue.metric import leaves
from plmetrics.core.errors import Problem
from plmetrics.report.charts.comparisons.gate_limits import Limit, zone
from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.panels import column_of_panels
from plmetrics.report.charts.selection import NothingToDraw, Selection
from plmetrics.report.charts.slices.estimate_texts import estimate_texts
from plmetrics.report.charts.slices.panels import Texts, columns_of
from plmetrics.report.charts.slices.rows import (
    WIDTH,
    Scale,
    add_heading,
    forest_domain,
    header,
    look_where,
    panel,
    stack_rows,
    with_marks,
)
from plmetrics.report.charts.slices.slice_choice import with_slice_labels
from plmetrics.report.charts.texts import short
from plmetrics.report.charts.words import first_facts, level_words
from plmetrics.report.numbers import count, omission, plural

if TYPE_CHECKING:
    from plmetrics.catalogue.fairness.base import GroupMetric
    from plmetrics.report.charts.grammar import Chart
    from plmetrics.report.summary import Summary

MOST_PANELS, MOST_GROUPS = 8, 12
FOUR_FIFTHS = 0.8


def draw(selection: Selection) -> Figure:
    """Panel per fairness metric and model: its groups, those without a verdict in grey, and the gap beneath."""
    table = selection.of_models(selection.summary.metrics)
    table = table if selection.metric is None else selection.metric_rows(table)
    gaps = gaps_of(selection.summary, table)
    if selection.slice_set is not None:
        gaps = [gap for gap in gaps if gap.row["slice_set"] == selection.slice_set]
    if not gaps:
        hint = "name one when you evaluate: 'disparity(recall, by=region)', and recall beside it"
        raise NothingToDraw(Problem("the result has no gap between groups", hint=hint))
    drawable = [gap for gap in gaps if not gap.groups.is_empty()]
    absent = _absent_rates([gap for gap in gaps if gap.groups.is_empty()])
    if not drawable:
        raise NothingToDraw(Problem(absent, hint="name what they need as metrics of the suite"))
    shown = drawable[:MOST_PANELS]
    several = len({gap.row["model"] for gap in gaps}) > 1
    panels = [_panel(selection, gap, several=several, titled=place == 0) for place, gap in enumerate(shown)]
    notes = (*omission(len(drawable) - len(shown), "gap", "metrics"), *([absent] if absent else []))
    title = "Gaps between groups" + ("" if several else f": {short(gaps[0].row['model'], 60)}")
    subtitle = (
        "dark bar: from the one to the other group of the gap; hollow grey: too small to be judged, or undefined",
        "orange: below four fifths of the largest" if any(gap.is_ratio for gap in shown) else "",
        *notes,
    )
    chart = column_of_panels(panels)
    columns = selection.summary.metrics.columns
    frames = [pl.DataFrame([gap.row], schema=selection.summary.metrics.schema) for gap in shown]
    drawn = pl.concat(
        [part for gap, row in zip(shown, frames, strict=True) for part in (row, gap.groups.select(columns))]
    )
    facts = [
        f"{short(gap.row['metric'], 60)} of {short(gap.row['model'])}: {_gap_text(gap)}" for gap in shown
    ]
    description = f"{title}. {first_facts(facts)}."
    return Figure(add_heading(chart, title, subtitle), drawn, title, description, notes)


def _absent_rates(gaps: Sequence[Gap]) -> str:
    """Gaps that cannot be drawn, with what they lack, in words; empty without any."""
    reasons = {
        gap.row["metric"]: f"needs {short(gap.rate, 40)} in slices" if gap.rate else "of several rates"
        for gap in gaps
    }
    facts = [f"{short(metric, 60)} ({reason})" for metric, reason in reasons.items()]
    return f"not drawn: {first_facts(facts)}" if facts else ""


def _panel(selection: Selection, gap: Gap, *, several: bool, titled: bool) -> Chart:
    name = short(gap.row["metric"], 60) + (f", {short(gap.row['model'], 30)}" if several else "")
    groups = _groups(gap)
    if gap.groups.height > groups.height:
        name += f" ({groups.height} of {plural(gap.groups.height, 'group')})"
    bracket = pl.DataFrame(
        {
            "t": ["ratio" if gap.is_ratio else "gap"],
            "look": ["overall" if gap.low is not None else "undefined"],
            "lo": [None if gap.low is None else gap.low[1]],
            "hi": [None if gap.high is None else gap.high[1]],
            "c1": [_gap_text(gap)],
        },
        schema_overrides={"lo": pl.Float64, "hi": pl.Float64},
    )
    rows = stack_rows(header(name), groups, bracket)
    limit = _four_fifths(gap)
    domain = forest_domain(rows, [limit])
    level = level_words(selection)
    texts = [
        Texts("c0", "n" if titled else "", 52),
        Texts("c1", f"value [{level} interval]" if titled else "", 300, "left"),
    ]
    columns, end = columns_of(texts, WIDTH)
    under: list[Chart] = []
    if limit is not None and limit > domain[0]:
        under = zone(Limit(limit, fails_below=True), domain, opacity=0.1, strokeDash=[4, 4])
    return panel(rows, Scale(domain, short(gap.rate, 40)), columns, under=under, end=end)


def _groups(gap: Gap) -> pl.DataFrame:
    """Groups at the ends of the gap and the largest others, by value."""
    ends = [end[0] for end in (gap.low, gap.high) if end is not None]
    order = gap.groups.sort(pl.col("t").is_in(ends).not_(), pl.col("n"), descending=[False, True])
    rows = order.head(MOST_GROUPS).sort("value", descending=True, nulls_last=True)
    look = look_where("value", pl.col("judged"), "plain", "small")
    limit = _four_fifths(gap)
    if limit is not None:
        look = pl.when(pl.col("judged") & (pl.col("value") < limit)).then(pl.lit("worse")).otherwise(look)
    texts = estimate_texts(rows.rows(named=True))
    judged = [
        text if ok or text.startswith("undefined") else f"{text}, not judged"
        for text, ok in zip(texts, rows["judged"], strict=True)
    ]
    sizes = [count(n or 0) for n in rows["n"]]
    drawn = with_marks(rows, "value", look, {"c0": sizes, "c1": judged})
    return drawn.select("t", "x", "lo", "hi", "look", "c0", "c1")


def _gap_text(gap: Gap) -> str:
    text = estimate_texts([gap.row])[0]
    if gap.low is None or gap.high is None:
        return text
    return f"{text}: {short(gap.low[0], 20)} to {short(gap.high[0], 20)}"


def _four_fifths(gap: Gap) -> float | None:
    return FOUR_FIFTHS * gap.high[1] if gap.is_ratio and gap.high is not None else None


@dataclass(frozen=True, slots=True)
class Gap:
    """Row of a fairness metric of a model, the values of its groups, and the two ends of the gap.

    `judged` tells the groups that take part. Without the rate in the table there are no groups; a gap of several rates
    has neither.
    """

    row: dict[str, Any]
    rate: str
    groups: pl.DataFrame
    low: tuple[str, float] | None
    high: tuple[str, float] | None
    is_ratio: bool


def gaps_of(summary: Summary, table: pl.DataFrame) -> list[Gap]:
    """The gaps of a table of metrics, in its order."""
    gaps = [cast("GroupMetric", metric) for metric in summary.definitions if metric.compares_groups]
    by_text = {metric.text: metric for metric in gaps}
    rows = table.filter(
        pl.col("metric").is_in(list(by_text)), pl.col("slice") == "all", pl.col("slice_set") != "overall"
    )
    return [_gap(summary.metrics, by_text[row["metric"]], row) for row in rows.rows(named=True)]


def _gap(metrics: pl.DataFrame, metric: GroupMetric, row: dict[str, Any]) -> Gap:
    rates = list(dict.fromkeys(leaf.text for leaf in leaves(metric)))
    if len(rates) != 1:
        return Gap(row, "", metrics.clear(), None, None, metric.is_ratio)
    rates_of_model = metrics.filter(
        pl.col("model") == row["model"],
        pl.col("metric") == rates[0],
        pl.col("class").eq_missing(pl.lit(row["class"], dtype=pl.String)),
    )
    whole = rates_of_model.filter(slice_set="overall")
    groups = rates_of_model.filter(
        pl.col("slice_set") == row["slice_set"], pl.col("slice_values").list.len() > 0
    )
    weight = float(whole["weight"][0]) if whole.height else float(groups["weight"].sum())
    share = pl.col("weight") >= metric.share * weight * (1 - 1e-12)
    groups = with_slice_labels(groups).with_columns(
        judged=pl.col("value").is_not_null() & share.fill_null(value=False)
    )
    low, high = _ends(metric, groups, whole)
    if (
        low is not None
        and high is not None
        and not _explains(low[1], high[1], row["value"], is_ratio=metric.is_ratio)
    ):
        low, high = None, None
    return Gap(row, rates[0], groups, low, high, metric.is_ratio)


def _ends(
    metric: GroupMetric, groups: pl.DataFrame, whole: pl.DataFrame
) -> tuple[tuple[str, float] | None, tuple[str, float] | None]:
    """Names and values of the two ends of the gap, the lower one first."""
    judged = groups.filter("judged").sort("value")
    if judged.is_empty():
        return None, None
    first, last = judged.row(0, named=True), judged.row(-1, named=True)
    if metric.against is None and not metric.reads_overall:
        return (first["t"], first["value"]), (last["t"], last["value"])
    anchor = _anchor(metric, groups, whole)
    if anchor is None:
        return None, None
    farthest = max((first, last), key=lambda row: abs(row["value"] - anchor[1]))
    ends = sorted([anchor, (farthest["t"], farthest["value"])], key=lambda end: end[1])
    return ends[0], ends[1]


def _explains(low: float, high: float, value: float | None, *, is_ratio: bool) -> bool:
    """Whether the gap is a difference or ratio of two rates: other comparisons of groups have no ends."""
    if value is None or (is_ratio and high == 0):
        return False
    return math.isclose(low / high if is_ratio else high - low, value, rel_tol=1e-6, abs_tol=1e-9)


def _anchor(metric: GroupMetric, groups: pl.DataFrame, whole: pl.DataFrame) -> tuple[str, float] | None:
    """Reference of the groups: all rows, or one of them."""
    if metric.reads_overall:
        return None if whole.is_empty() else ("all rows", float(whole["value"][0]))
    place = metric.reference_among(groups["slice"].to_list())
    if place is None or place < 0 or groups["value"][place] is None:
        return None
    return groups["t"][place], float(groups["value"][place])
