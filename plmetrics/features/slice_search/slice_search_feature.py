"""The feature `find_slices`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from plmetrics.features.protocol import CountedRows, Feature, FeatureTable, Outputs, Run
from plmetrics.features.slice_search.search_section import FindSlices
from plmetrics.report.charts.entry import Entry

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.engine.inquiry import Step
    from plmetrics.engine.request import Request
    from plmetrics.features.stored.alignment import AlignedStates
    from plmetrics.report.summary import Summary
    from plmetrics.states.state_format import Builder
    from plmetrics.suite.model import Suite
    from plmetrics.table.source import Source

_NONE_TESTED = (
    "find_slices tested no slice: none has enough rows (min_rows) in the searched part, units in more than one block, "
    "and rows outside it"
)


class SliceSearchFeature(Feature):
    """Search for slices worse than the rest."""

    key = "find_slices"
    section = FindSlices
    description = "A search for slices that are worse than the rest; none if not given."
    page = FeatureTable(
        "Slices of the search",
        "found_slices",
        "slice model metric value rest difference p_adjusted n confirmed status",
    )
    text = "plmetrics.features.slice_search.search_report:found_slices"
    stage = "search"
    after = "tests"
    charts = MappingProxyType(
        {"found_slices": Entry("plmetrics.features.slice_search.search_chart", "found_slices")}
    )
    of_sums = shares_constants = divides_units = True

    def page_rows(self, summary: Summary) -> pl.DataFrame | None:
        """The slices found, confirmed ones first."""
        rows = super().page_rows(summary)
        return None if rows is None else rows.sort("confirmed", descending=True, maintain_order=True)

    def columns(self, suite: Suite) -> tuple[str, ...]:
        """Searched columns."""
        return FindSlices.of(suite).columns

    def bind(self, suite: Suite, schema: pl.Schema, table: Source | None) -> None:  # noqa: ARG002
        """Check the searched columns."""
        from plmetrics.features.slice_search.search_columns import check_searched_columns

        check_searched_columns(suite, schema)

    def steps(self, request: Request) -> Iterator[Step]:
        """The look at the columns, and the scans of the groupings; a long table is not looked at."""
        from plmetrics.features.slice_search.search_scan import search_steps

        return search_steps(request)

    def run(self, run: Run) -> Outputs:
        """Search, and confirm."""
        warnings: list[str] = []
        if run.state is None:
            from plmetrics.features.slice_search.slice_selection import searched_slices

            table, record = searched_slices(run.request.column_suite, run.source)
        else:
            from plmetrics.features.slice_search.stored_search import search_of_state

            table, record, warnings = search_of_state(run.request.column_suite, run.state)
        warnings += [] if record["tested"] else [_NONE_TESTED]
        return Outputs({"found_slices": table}, warnings=warnings, record={self.key: record})

    def constants(self, request: Request, source: Source) -> Mapping[str, Any]:
        """Encodings of columns, their groupings, and the constants of the metric."""
        from plmetrics.features.slice_search.stored_search import search_constants

        return search_constants(request.column_suite, source)

    def capture(self, rows: CountedRows, builder: Builder) -> None:
        """Add the sums of all groupings."""
        from plmetrics.features.slice_search.stored_search import write

        write(builder, rows)

    def merge(self, layouts: Sequence[AlignedStates], builder: Builder) -> None:
        """Add the sums of states together."""
        from plmetrics.features.slice_search.stored_search import merge

        merge(layouts, builder)
