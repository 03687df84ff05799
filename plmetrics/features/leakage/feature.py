"""The feature `leakage`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plmetrics.core.errors import errors_at
from plmetrics.engine.step import Step
from plmetrics.features.leakage.leakage_section import Leakage
from plmetrics.features.protocol import Feature, Outputs
from plmetrics.report.html.feature_table import FeatureTable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import polars as pl
    from rich.text import Text

    from plmetrics.engine.inquiry import Question
    from plmetrics.engine.request import Request, TableView
    from plmetrics.features.protocol import Run
    from plmetrics.report.summary import Summary
    from plmetrics.suite.model import Suite
    from plmetrics.table.source import Source


class LeakageFeature(Feature):
    """Rows of the training table, of other folds or repeated, and attributes that tell the label."""

    key = "leakage"
    section = Leakage
    description = "Checks for rows and attributes that give the label away; none if not given."
    page = FeatureTable("Leakage", "leakage", "check columns rows share observed limit verdict example note")
    paths = ("train",)
    state_refusal = "leakage looks for rows that are alike, which a state does not hold"

    def table(self, suite: Suite, argument: Any, base: Path | None) -> Source | None:
        """The training table.

        Raises:
            DataError: as for the rows to evaluate; located at `leakage.train`.
        """
        from plmetrics.features.leakage.leakage_section import section_of
        from plmetrics.suite.sections.section import HANDED_OVER
        from plmetrics.table.opening import open_source

        train = section_of(suite).train
        if train is None:
            return None
        with errors_at(self.key, "train"):
            return open_source(argument["train"] if train == HANDED_OVER else train, base)

    def bind(self, suite: Suite, schema: pl.Schema, table: Source | None) -> None:
        """Check the columns of both tables."""
        from plmetrics.features.leakage.training_rows import check_leakage_columns

        check_leakage_columns(suite, schema, table)

    def look(self, request: Request, view: TableView, counts: object) -> Question[Any]:  # noqa: ARG002
        """When training ended, and how many values attributes have."""
        from plmetrics.features.leakage.leakage_counting import LeakageCounting

        return LeakageCounting.look(view, request.tables.get(self.key))

    def count(self, known: Any) -> Question[object]:
        """The checks of rows, and of attributes."""
        counting: Question[object] = known.count()
        return counting

    def steps(self, request: Request) -> Iterator[Step]:
        """What it is for: its looks and checks are those of the preparation, and of the sums."""
        from plmetrics.features.leakage.leakage_counting import leakage_text

        yield Step("leakage", does=leakage_text(request.view))

    def run(self, run: Run) -> Outputs:
        """Say what the checks found."""
        from plmetrics.features.leakage.leakage_table import leakage_gates, leakage_table, leakage_warnings

        found: Any = run.counted[self.key]
        table = leakage_table(run.request.suite, found)
        return Outputs({self.key: table}, leakage_gates(table), leakage_warnings(table))

    def report(self, summary: Summary, width: int) -> list[Text]:
        """What was found beyond its limit, and how many checks found nothing."""
        from plmetrics.features.leakage.leakage_report import leakage

        return leakage(summary, width)
