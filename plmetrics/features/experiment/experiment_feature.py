"""The feature `experiment`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.engine.inquiry import Step
from plmetrics.features.experiment.experiment_section import ExperimentPlan, experiment_defaults
from plmetrics.features.experiment.outcomes import check_columns
from plmetrics.features.protocol import Feature, FeatureTable, Outputs, Run
from plmetrics.report.charts.entry import Entry
from plmetrics.table.checks import Requirement, is_no_number

if TYPE_CHECKING:
    from rich.text import Text

    from plmetrics.engine.request import Request
    from plmetrics.report.summary import Summary
    from plmetrics.suite.model import Suite
    from plmetrics.table.slices import Slices
    from plmetrics.table.source import Source


class ExperimentFeature(Feature):
    """Each arm of an experiment against the control, for every outcome and slice."""

    key = "experiment"
    section = ExperimentPlan
    description = "Arms, outcomes and plan of an experiment (task experiment)."
    state_refusal = "an experiment ranks values, and counts units by arm, which a state does not hold"
    page = FeatureTable(
        "Experiment",
        "experiment",
        "outcome slice arm units units_control mean mean_control difference p_value p_adjusted lift "
        "required_n minimum_effect status note",
    )
    charts = MappingProxyType(
        {
            "experiment": Entry(
                "plmetrics.features.experiment.readout_chart", "experiment", where="test != 'sample_ratio'"
            )
        }
    )

    def fill(self, raw: Mapping[str, Any]) -> Mapping[str, Any]:
        """Each outcome is a model, and the arm takes the place of the label."""
        return experiment_defaults(raw)

    def requirements(self, suite: Suite) -> Sequence[Requirement]:
        """Every row must be in an arm, and have a number of each ratio and covariate unless it may lack an outcome."""
        plan = ExperimentPlan.of(suite)
        by_outcome = suite.data.missing == "drop_per_model"
        needs = [Requirement(plan.arm, "null", lambda value: value.is_null(), "arm", (self.key, "arm"))]
        for name in plan.further_columns[1:]:
            lacks = _never if by_outcome or name in plan.strata else is_no_number
            needs.append(Requirement(name, "null, NaN or infinite", lacks, "experiment", (self.key,)))
        return needs

    def bind(self, suite: Suite, schema: pl.Schema, table: Source | None) -> None:  # noqa: ARG002
        """Check the columns of ratios, quantiles, covariates and strata: existence, and a numeric type."""
        plan = ExperimentPlan.of(suite)
        check_columns(plan.arm_outcomes, plan.strata, schema, known=plan.outcomes)

    def check_slices(self, suite: Suite, slices: Sequence[Slices]) -> Sequence[str]:  # noqa: ARG002
        """Refuse slices by tags: a unit of an experiment is in one slice of a set."""
        from plmetrics.features.experiment.experiment_run import check_slices

        check_slices(slices)
        return ()

    def steps(self, request: Request) -> Iterator[Step]:
        """The passes over the rows: arms, then sums by arm and slice."""
        yield Step(self.key, does=f"{len(ExperimentPlan.of(request.suite).names)} outcomes by arm and slice")

    def run(self, run: Run) -> Outputs:
        """Compare the arms."""
        from plmetrics.features.experiment.experiment_run import experiment_outputs

        return experiment_outputs(run)

    def page_rows(self, summary: Summary) -> pl.DataFrame | None:
        """The table in the order of reading: sample ratio, which is of no outcome, all rows, and slices."""
        rows = super().page_rows(summary)
        if rows is None:
            return None
        order = [pl.col("test") != "sample_ratio", pl.col("slice_set") != "overall"]
        name = pl.col("test").str.replace_all("_", " ", literal=True)
        return rows.sort(order, maintain_order=True).with_columns(outcome=pl.coalesce("outcome", name))

    def report(self, summary: Summary, width: int) -> list[Text]:
        """A table per outcome: each arm against the control."""
        from plmetrics.features.experiment.readout_report import readout_lines

        return readout_lines(summary.tables[self.key], width, summary.levels[self.key])


def _never(value: pl.Expr) -> pl.Expr:
    return value.is_null() & pl.lit(value=False)
