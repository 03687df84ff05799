"""The feature `cross_validation`."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

import polars as pl

from plmetrics.core.names import SuitePath
from plmetrics.features.cross_validation.cross_validation_section import CrossValidation, folds_of
from plmetrics.features.protocol import Feature, FeatureTable, Outputs, Run
from plmetrics.report.charts.entry import Entry
from plmetrics.suite.model import Suite
from plmetrics.table.checks import Requirement
from plmetrics.table.slice_keys import SliceKey
from plmetrics.table.slices import Slices, SliceSet
from plmetrics.table.source import Source


class CrossValidationFeature(Feature):
    """Estimates fold by fold, for a suite with a column of folds."""

    key = "cross_validation"
    section = CrossValidation
    description = "Estimates fold by fold; columns.fold alone asks for them with defaults."
    page = FeatureTable(
        "Cross-validation",
        "cross_validation",
        "model slice metric class kind configuration split x value verdict folds sd minimum maximum status note",
    )
    text = "plmetrics.features.cross_validation.cross_validation_report:cross_validation"
    after = "order"
    charts = MappingProxyType(
        {
            name: Entry(
                "plmetrics.features.cross_validation.fold_curves",
                "cross_validation",
                where=f"kind = '{curve}'",
                function=curve,
            )
            for name, curve in (("learning", "learning_curve"), ("validation", "validation_curve"))
        }
    )
    state_refusal = "folds belong to one run over all rows, and a state holds some"

    def path(self, suite: Suite) -> SuitePath:
        """The section, or the column of folds."""
        return (self.key,) if self.key in suite.sections else ("columns", "fold")

    def bind(self, suite: Suite, schema: pl.Schema, table: Source | None) -> None:  # noqa: ARG002
        """Check the columns of repeated predictions; those of folds are checked as slice sets."""
        from plmetrics.features.cross_validation.repeated_models import check_repeats

        check_repeats(suite, schema)

    def requirements(self, suite: Suite) -> tuple[Requirement, ...]:
        """Repeated predictions must be numbers."""
        from plmetrics.features.cross_validation.repeated_models import repeated_requirements

        return repeated_requirements(suite)

    def slice_sets(
        self, suite: Suite, sets: Sequence[SliceSet], schema: pl.Schema
    ) -> tuple[Sequence[SliceSet], Sequence[SliceKey]]:
        """Slice sets of the held-out rows, with those of its folds behind them."""
        from plmetrics.features.cross_validation.fold_slices import with_folds

        return with_folds(suite, sets, schema)

    def check_slices(self, suite: Suite, slices: Sequence[Slices]) -> list[str]:
        """Check of the folds in the data, and the names of splits."""
        from plmetrics.features.cross_validation.fold_slices import check_folds, fold_warnings

        check_folds(suite, slices, self.path(suite))
        return fold_warnings(suite, slices)

    def compares(self, suite: Suite) -> bool:
        """Training rows are held against others."""
        folds = folds_of(suite)
        return folds is not None and folds.split is not None

    def run(self, run: Run) -> Outputs:
        """Summarise the estimates of folds, and take the errors of repeated predictions apart."""
        from plmetrics.features.cross_validation.fold_tables import cross_validation_tables
        from plmetrics.features.cross_validation.repeated_models import repeated_sums

        assert run.analysis is not None
        repeated = repeated_sums(run.analysis)
        folds, summaries, warnings = cross_validation_tables(run.analysis, run.ordered, repeated)
        return Outputs({"folds": folds, self.key: summaries}, warnings=warnings)
