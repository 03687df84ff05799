"""Features `interval` and `keep`: the interval in the record of a run."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from plmetrics.features.nights.interval_section import IntervalSection, Keep
from plmetrics.features.protocol import Feature, FeatureTable
from plmetrics.report.charts.entry import Entry

if TYPE_CHECKING:
    import polars as pl
    from rich.text import Text

    from plmetrics.report.summary import Summary


class IntervalFeature(Feature):
    """The rows of one interval of time at a time, each with a result of its own."""

    key = "interval"
    section = IntervalSection
    description = "Which rows are of which interval of time: a run evaluates one; all rows if not given."
    page = FeatureTable(
        "History", "history", "interval verdict result model metric class value n level_before"
    )
    charts = MappingProxyType(
        {"history": Entry("plmetrics.features.nights.charts.history_chart", entry="interval")}
    )

    def page_rows(self, summary: Summary) -> pl.DataFrame | None:
        """Values of the last intervals up to that of the result, from the runs beside it, the last one first."""
        if summary.folder is None or not summary.record.get(self.key):
            return None
        from plmetrics.features.nights.history_report import page_rows

        return page_rows(summary)

    def report(self, summary: Summary, width: int) -> list[Text]:
        """A sparkline for each model and metric with gates, of the last intervals."""
        if summary.folder is None or not summary.record.get(self.key):
            return []
        from plmetrics.features.nights.history_report import recent_lines

        return recent_lines(summary, width)


class KeepFeature(Feature):
    """Retention of the output of intervals."""

    key = "keep"
    section = Keep
    description = "How long results and states of intervals are there; for ever if not given."
