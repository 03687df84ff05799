"""The share of positives in the rows of a curve, from the tables of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.report.charts.series import KEYS, Series

if TYPE_CHECKING:
    from plmetrics.report.charts.selection import Selection


def prevalence_of(selection: Selection, series: Series) -> dict[str, float]:
    """Share of positives by label of the series, where the result has it.

    The last point of the precision-recall curve, where all rows are called, has it as precision; so has the metric
    `prevalence`, and the curve `reliability` as the mean of its bins.
    """
    sources = (_from_metrics(selection), _from_pr(selection), _from_bins(selection))
    shares = pl.concat(sources).unique([*KEYS], keep="first", maintain_order=True)
    return dict(series.rows(shares).select("s", "prevalence").iter_rows())


def _from_metrics(selection: Selection) -> pl.DataFrame:
    rows = selection.rows(selection.summary.metrics).filter(
        pl.col("metric") == "prevalence", pl.col("value").is_not_null()
    )
    return rows.select(*KEYS, prevalence="value")


def _from_pr(selection: Selection) -> pl.DataFrame:
    points = _points(selection, "pr")
    return points.group_by(KEYS, maintain_order=True).agg(prevalence=pl.col("y").last())


def _from_bins(selection: Selection) -> pl.DataFrame:
    points = _points(selection, "reliability").filter(pl.col("n").is_not_null())
    mean = (pl.col("y") * pl.col("n")).sum() / pl.col("n").sum()
    return points.group_by(KEYS, maintain_order=True).agg(prevalence=mean)


def _points(selection: Selection, curve: str) -> pl.DataFrame:
    points = selection.summary.curves.filter(pl.col("curve") == curve, pl.col("y").is_not_null())
    points = points.filter(slice_set=selection.slice_set or "overall")
    return points.filter(pl.col("x").is_not_null())
