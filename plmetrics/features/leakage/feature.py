"""The feature `leakage`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from plmetrics.core.errors import errors_at
from plmetrics.engine.inquiry import Step
from plmetrics.features.leakage.leakage_section import Leakage
from plmetrics.features.protocol import CountedRows, Feature, FeatureTable, Outputs, Run
from plmetrics.suite.sections.section import HANDED_OVER

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from plmetrics.engine.inquiry import Question
    from plmetrics.engine.request import Request, TableView
    from plmetrics.features.stored.alignment import AlignedStates
    from plmetrics.states.state_format import Builder
    from plmetrics.suite.model import Suite
    from plmetrics.table.source import Source


class LeakageFeature(Feature):
    """Rows of the training table, of other folds or repeated, and attributes predictive of the label."""

    key = "leakage"
    counts_rows = True
    section = Leakage
    description = "Checks for rows and attributes that give the label away; none if not given."
    page = FeatureTable("Leakage", "leakage", "check columns rows share observed limit verdict example note")
    text = "plmetrics.features.leakage.leakage_report:leakage"
    paths = state_paths = ("train",)
    of_sums = True

    def refusal(self, suite: Suite) -> str | None:
        """Reason against a state: values of attributes are too many, and a frame is no file for another process."""
        spec = Leakage.of(suite)
        if spec.attributes:
            return "leakage's attributes are judged by each of their values, which a state does not hold"
        if spec.train == HANDED_OVER:
            return "leakage's train is a frame, which states of other rows could not be compared with"
        return None

    def table(self, suite: Suite, argument: Any, base: Path | None) -> Source | None:
        """The training table."""
        from plmetrics.table.opening import open_source

        train = Leakage.of(suite).train
        if train is None:
            return None
        with errors_at(self.key, "train"):
            return open_source(argument["train"] if train == HANDED_OVER else train, base)

    def bind(self, suite: Suite, schema: pl.Schema, table: Source | None) -> None:
        """Check the columns of both tables."""
        from plmetrics.features.leakage.training_rows import check_leakage_columns

        check_leakage_columns(suite, schema, table)

    def prepare(self, request: Request, view: TableView, counts: object) -> Question[Any]:  # noqa: ARG002
        """Question about the end of training, and the number of distinct values of attributes."""
        from plmetrics.features.leakage.leakage_counting import LeakageCounting

        return LeakageCounting.prepare(view, request.tables.get(self.key))

    def steps(self, request: Request) -> Iterator[Step]:
        """Purpose alone: its questions and checks are those of the preparation, and of the sums."""
        from plmetrics.features.leakage.leakage_counting import leakage_text

        yield Step("leakage", does=leakage_text(request.view))

    def run(self, run: Run) -> Outputs:
        """Report the findings of the checks."""
        from plmetrics.features.leakage.leakage_table import leakage_gates, leakage_table, leakage_warnings

        if run.state is None:
            findings: Any = run.counted[self.key]
        else:
            from plmetrics.features.leakage.leakage_counting import findings_of_state

            findings = findings_of_state(run.request.suite, run.state)
        table = leakage_table(run.request.suite, findings)
        return Outputs({self.key: table}, leakage_gates(table), leakage_warnings(table))

    def state_table(self, suite: Suite) -> Source | None:
        """The training table."""
        return self.table(suite, None, None)

    def capture(self, rows: CountedRows, builder: Builder) -> None:
        """Add the checks of the rows."""
        from plmetrics.features.leakage.leakage_counting import write

        write(builder, rows, self.state_table(rows.view.suite))

    def merge(self, layouts: Sequence[AlignedStates], builder: Builder) -> None:
        """Add the checks of states together."""
        from plmetrics.features.leakage.leakage_counting import merge

        merge(layouts, builder)
