"""The experiment of a run: its canonical rows as a table of arms, and the readout of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import ConfigError, Problem, errors_at
from plmetrics.engine.memory.budget import reads_apart
from plmetrics.engine.treatment_balance import SIZEABLE, unlike_shares
from plmetrics.features.experiment.arm_sums import experiment_sums
from plmetrics.features.experiment.design import Experiment
from plmetrics.features.experiment.experiment_gates import experiment_gates
from plmetrics.features.experiment.experiment_section import TASK, ExperimentPlan, Sequential
from plmetrics.features.experiment.readout import by_outcome, planned_shares
from plmetrics.features.experiment.readout_table import Plan, Spending, readout_table, unlike_covariates
from plmetrics.features.protocol import Outputs
from plmetrics.table.prediction_columns import UNIT, plain_column, score_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from plmetrics.features.protocol import Run
    from plmetrics.suite.model import Suite
    from plmetrics.table.slices import Slices
    from plmetrics.table.source import Source


def experiment_outputs(run: Run) -> Outputs:
    """The table `experiment`, the verdicts of its gates, and a warning where arms are not as large as planned."""
    suite = run.request.suite
    section = ExperimentPlan.of(suite)
    with errors_at(TASK):
        apart = reads_apart(run.request.view)
        sums = experiment_sums(_rows(run), _experiment(run, section), apart=apart)
    with errors_at(TASK, "shares"):
        shares = planned_shares(section.shares, sums)
    with errors_at(TASK, "sequential"):
        table = readout_table(sums, replace(_plan(suite), shares=shares))
    wrong = table.filter(status="sample_ratio_mismatch")["note"]
    warnings = [f"experiment: sample ratio mismatch: {note}" for note in wrong]
    warnings += [f"experiment: {text}" for text in unlike_covariates(sums)]
    warnings += [] if section.strata else _unlike_arms(table)
    return Outputs({TASK: table}, experiment_gates(suite, table), warnings)


def check_slices(slices: Sequence[Slices]) -> None:
    """Refuse slices that a row may be in several of.

    Raises:
        ConfigError: a slice set is by tags.
    """
    for part in slices:
        if part.slice_set.is_tagged:
            name = part.slice_set.name
            msg = f"slice set '{name}' is by tags, and a unit of an experiment is in one slice of a set"
            hint = "use columns, bins, quantiles, a top, periods (every), an expression or conditions"
            raise ConfigError(Problem(msg, ("slices", name), hint))


def _rows(run: Run) -> Source:
    """The rows that are evaluated, under the names that the section has for columns, with settled slice keys."""
    suite = run.request.suite
    frame = run.prepared.table.frame
    keys = [key.column for key in run.prepared.table.roles.keys]
    unit = [] if suite.columns.unit is None else [UNIT]
    further = {name: pl.col(plain_column(name)) for name in ExperimentPlan.of(suite).further_columns}
    scores = {model.score: pl.col(score_column(name)) for name, model in suite.models.items() if model.score}
    frame = frame.select(*unit, *keys, **(further | scores))
    return replace(run.source, frame=frame, schema=frame.collect_schema(), reader=None, files=())


def _experiment(run: Run, section: ExperimentPlan) -> Experiment:
    suite = run.request.suite
    sets = tuple(
        part for part in run.prepared.slices if part.slice_set.keys and not part.slice_set.is_derived
    )
    return Experiment(
        section.compared,
        section.arm,
        section.control,
        {},
        UNIT if suite.columns.unit is not None else None,
        "error" if suite.data.missing == "error" else "drop",
        section.ranks,
        suite.reproducible,
        section.strata,
        sets,
        section.shifts,
    )


def _plan(suite: Suite) -> Plan:
    section = ExperimentPlan.of(suite)
    return Plan(
        section.level,
        section.power,
        section.correction,
        by_outcome(section.mde, section.names, "mde"),
        by_outcome(section.mixture, section.names, "sequential"),
        stratified=bool(section.strata),
        clustered=suite.columns.unit is not None,
        sequential=section.sequential is not False,
        spending=_spending(section),
    )


def _spending(section: ExperimentPlan) -> Spending | None:
    """The looks of a plan that spends its error."""
    sequential = section.sequential
    if not isinstance(sequential, Sequential) or sequential.spending is None:
        return None
    assert sequential.planned is not None
    return Spending(sequential.spending, sequential.planned, sequential.looks)


def _unlike_arms(table: pl.DataFrame) -> Iterator[str]:
    """A warning for each arm and slice set whose slices have other shares of it.

    Args:
        table: the table `experiment`; its first outcome is looked at.
    """
    sliced = table.filter(
        pl.col("outcome") == pl.col("outcome").first(),
        pl.col("slice_set") != "overall",
        pl.col("units") + pl.col("units_control") > 0,
    ).select(
        "slice_set",
        "arm",
        "control",
        total=pl.col("units") + pl.col("units_control"),
        share=pl.col("units") / (pl.col("units") + pl.col("units_control")),
    )
    for (slice_set, arm, control), part in sliced.group_by(
        "slice_set", "arm", "control", maintain_order=True
    ):
        share, total = part["share"].to_numpy(), part["total"].to_numpy()
        ends = unlike_shares(share, share * (1.0 - share) / total, total >= SIZEABLE)
        if ends is not None:
            low, high = ends
            yield (
                f"experiment: slices of '{slice_set}' tell who was in arm {arm}: from {low:.1%} to {high:.1%} of those "
                f"in it and in {control}; the overall difference holds what tells slices apart: read it by slice, or "
                "write strata"
            )
