"""The feature `drift`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from plmetrics.engine.inquiry import Step
from plmetrics.features.drift.drift_section import Drift
from plmetrics.features.protocol import CountedRows, Feature, FeatureTable, Outputs, Run
from plmetrics.report.charts.entry import Entry

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from plmetrics.core.errors import Problem
    from plmetrics.engine.inquiry import Question
    from plmetrics.engine.request import Request, TableView
    from plmetrics.features.stored.alignment import AlignedStates, StateReference
    from plmetrics.runs.history.earlier_runs import EarlierRuns
    from plmetrics.states.state_format import Builder, State
    from plmetrics.suite.model import Suite
    from plmetrics.table.source import Source
    from plmetrics.table.storage.places import Place


class DriftFeature(Feature):
    """Scores, labels and attributes against those of a reference: a table, rows of the same one, states or a run."""

    key = "drift"
    counts_rows = True
    section = Drift
    description = "How scores, labels and attributes moved from a reference window; none if not given."
    page = FeatureTable(
        "Drift", "drift", "subject model column slice measure value reference current p_adjusted status"
    )
    text = "plmetrics.features.drift.drift_report:drift"
    paths = ("reference", "state", "run")
    state_paths = ("state", "run")
    charts = MappingProxyType(
        {
            "drift": Entry("plmetrics.features.drift.charts.measures", "drift"),
            "drift_histograms": Entry("plmetrics.features.drift.charts.windows_by_bin", "drift_histograms"),
        }
    )
    state_rounding = "drift adds values within bins as they come"

    def table(self, suite: Suite, argument: Any, base: Path | None) -> Source | None:
        """The table of the reference."""
        from plmetrics.features.drift.references import reference_table

        return reference_table(suite, argument, base)

    def counts(self, suite: Suite, argument: Any, base: Path | None, runs: EarlierRuns) -> Any:
        """The counts of the reference, where it is a state or a run."""
        from plmetrics.features.drift.references import reference_counts

        return reference_counts(suite, argument, base, runs)

    def state_digests(self, suite: Suite, base: Path | None) -> tuple[str, ...]:
        """Hashes of the states of the reference."""
        from plmetrics.features.drift.references import reference_states

        return tuple(state.content for state in reference_states(suite, base))

    def merge_gap(self, suite: Suite) -> Problem | None:
        """Reason against a comparison of merged states with the reference."""
        from plmetrics.features.drift.references import merge_gap

        return merge_gap(suite)

    def merged_counts(self, suite: Suite, runs: EarlierRuns) -> Any:
        """Counts of the reference, or the reason for their absence."""
        from plmetrics.features.drift.references import counts_for_merge

        return counts_for_merge(suite, runs)

    def columns(self, suite: Suite) -> tuple[str, ...]:
        """Compared columns other than scores and labels, and that of units."""
        unit = suite.columns.unit
        return (*Drift.of(suite).columns, *([] if unit is None else [unit]))

    def number_columns(self, suite: Suite) -> tuple[str, ...]:
        """Compared columns: numbers are ordered and put in bins."""
        return Drift.of(suite).columns

    def bind(self, suite: Suite, schema: pl.Schema, table: Source | None) -> None:
        """Check the columns of both windows."""
        from plmetrics.features.drift.windows import check_drift_columns

        check_drift_columns(suite, schema, table)

    def check_request(self, request: Request) -> None:
        """Check the roles and slices of both windows."""
        from plmetrics.features.drift.windows import check_drift_windows

        check_drift_windows(request)

    def check_counts(self, request: Request, counts: Any) -> object:
        """Check the counts of the reference for all compared columns."""
        from plmetrics.features.drift.references import check_counts

        return check_counts(request.view, counts)

    def rows(self, suite: Suite) -> str | None:
        """The condition on the rows of the reference, where these are of the same table."""
        spec = Drift.of(suite)
        return spec.where if spec.reference is None and not spec.is_counted else None

    def prepare(self, request: Request, view: TableView, counts: object) -> Question[Any]:
        """Question about both windows: slices, and number of distinct values of each column."""
        from plmetrics.features.drift.comparison import prepare_drift

        return prepare_drift(request, view, counts)

    def steps(self, request: Request) -> Iterator[Step]:
        """Purpose alone: its questions and counts are those of the preparation, and of the sums."""
        from plmetrics.features.drift.windows import compared_columns

        yield Step("drift", does=compared_columns(request.suite))

    def run(self, run: Run) -> Outputs:
        """Compare both windows."""
        from plmetrics.features.drift.comparison import drift_outputs

        return drift_outputs(run)

    def capture(self, rows: CountedRows, builder: Builder) -> Mapping[str, Any]:
        """Add the counts of the rows, independent of the reference."""
        from plmetrics.features.drift.stored_counts import write
        from plmetrics.features.drift.window_counts import count_window

        return write(builder, count_window(rows.view))

    def check_states(self, first: StateReference, other: StateReference) -> None:
        """Check the counts of two states for equal meaning."""
        from plmetrics.features.drift.stored_counts import check_states

        check_states(first, other)

    def merge(self, layouts: Sequence[AlignedStates], builder: Builder) -> Mapping[str, Any] | None:
        """Add the counts of states together."""
        from plmetrics.features.drift.stored_counts import sum_of_states, write

        summary = sum_of_states(layouts)
        return None if summary is None else write(builder, summary)

    def files(self, state: State) -> Mapping[str, bytes]:
        """State file for comparisons in later runs."""
        from plmetrics.features.stored.state_files import DRIFT_STATE, state_bytes

        return {DRIFT_STATE: state_bytes(state.head, state.table)[0]}

    def stored_state(self, folder: Place) -> State | None:
        """State of the run, for later ones."""
        from plmetrics.features.stored.state_files import DRIFT_STATE, read_state

        file = folder / DRIFT_STATE
        return read_state(file) if file.is_file() else None
