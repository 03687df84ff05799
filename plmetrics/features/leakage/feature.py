"""The feature `leakage`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plmetrics.core.errors import errors_at
from plmetrics.features.leakage.leakage_section import Leakage
from plmetrics.features.protocol import Feature, Outputs
from plmetrics.report.html.feature_table import FeatureTable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import polars as pl
    from rich.text import Text

    from plmetrics.engine.request import Request
    from plmetrics.engine.step import Step
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

    def steps(self, request: Request) -> Iterator[Step]:
        """The checks of rows, and of attributes where some are looked at."""
        from plmetrics.features.leakage.training_rows import leakage_steps

        return leakage_steps(request)

    def run(self, run: Run) -> Outputs:
        """Make the checks."""
        from plmetrics.features.leakage.leakage_table import leakage_gates, leakage_table, leakage_warnings
        from plmetrics.features.leakage.training_rows import find_leakage

        table = leakage_table(run.request.suite, find_leakage(run.request))
        return Outputs({self.key: table}, leakage_gates(table), leakage_warnings(table))

    def report(self, summary: Summary, width: int) -> list[Text]:
        """What was found beyond its limit, and how many checks found nothing."""
        from plmetrics.features.leakage.leakage_report import leakage

        return leakage(summary, width)
