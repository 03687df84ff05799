"""Gaps between groups: which rate they are of, which groups take part, and between which two the gap lies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from plmetrics.catalogue.metric import leaves
from plmetrics.report.charts.slices.slice_choice import with_slice_labels

if TYPE_CHECKING:
    from plmetrics.catalogue.fairness.base import GroupMetric
    from plmetrics.report.summary import Summary


@dataclass(frozen=True, slots=True)
class Gap:
    """A row of a fairness metric of a model, the values of its groups, and the two ends that it lies between.

    `judged` tells the groups that take part. Without the rate in the table there are no groups.
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
    return [_gap(summary, by_text[row["metric"]], row) for row in rows.rows(named=True)]


def _gap(summary: Summary, metric: GroupMetric, row: dict[str, Any]) -> Gap:
    rates = list(dict.fromkeys(leaf.text for leaf in leaves(metric)))
    if len(rates) != 1:
        return Gap(row, ", ".join(rates), summary.metrics.clear(), None, None, metric.is_ratio)
    mine = summary.metrics.filter(
        pl.col("model") == row["model"],
        pl.col("metric") == rates[0],
        pl.col("class").eq_missing(pl.lit(row["class"], dtype=pl.String)),
    )
    whole = mine.filter(slice_set="overall")
    groups = mine.filter(pl.col("slice_set") == row["slice_set"], pl.col("slice_values").list.len() > 0)
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
    """The two names and values that the gap lies between, the lower one first."""
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
    """Whether two rates give the gap: metrics that hold groups against others in a way of their own have no ends."""
    if value is None or (is_ratio and high == 0):
        return False
    return math.isclose(low / high if is_ratio else high - low, value, rel_tol=1e-6, abs_tol=1e-9)


def _anchor(metric: GroupMetric, groups: pl.DataFrame, whole: pl.DataFrame) -> tuple[str, float] | None:
    """What groups are held against: all rows, or one of them."""
    if metric.reads_overall:
        return None if whole.is_empty() else ("all rows", float(whole["value"][0]))
    place = metric.reference_among(groups["slice"].to_list())
    if place is None or place < 0 or groups["value"][place] is None:
        return None
    return groups["t"][place], float(groups["value"][place])
