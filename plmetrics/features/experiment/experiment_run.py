"""The experiment of a run: its canonical rows as a table of arms, the readout of it, and the verdicts of its gates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from plmetrics.core.errors import ConfigError, Problem, errors_at
from plmetrics.core.names import did_you_mean
from plmetrics.core.results import GATES_SCHEMA, in_schema
from plmetrics.diagnostics.treatment_balance import SIZEABLE, unlike_shares
from plmetrics.engine.memory.budget import separates_scans
from plmetrics.features.experiment.arm_balance import SAMPLE_RATIO_MISMATCH, readout_warnings
from plmetrics.features.experiment.arm_sums import experiment_sums
from plmetrics.features.experiment.design import Experiment
from plmetrics.features.experiment.experiment_section import TASK, ExperimentGate, ExperimentPlan, Sequential
from plmetrics.features.experiment.readout import by_outcome, planned_shares
from plmetrics.features.experiment.readout_table import Plan, readout_table
from plmetrics.features.protocol import Outputs, Run
from plmetrics.gates.rules import Rule
from plmetrics.gates.verdicts import unmatched_gate
from plmetrics.suite.model import Suite
from plmetrics.suite.sections.basics import SliceSet
from plmetrics.suite.sections.section import names_of
from plmetrics.table.prediction_columns import UNIT, plain_column, score_column
from plmetrics.table.slice_keys import value_text
from plmetrics.table.slices import Slices
from plmetrics.table.source import Source

_COLUMNS = {
    "difference": ("difference", "lower", "upper"),
    "lift": ("lift", "lift_lower", "lift_upper"),
    "mean": ("mean", None, None),
    "p_value": ("p_adjusted", None, None),
    "sample_ratio": ("p_value", None, None),
}
"""By measure the columns of its value and of the ends of its interval, if it has one."""


def experiment_outputs(run: Run) -> Outputs:
    """The table `experiment`, the verdicts of its gates, and a warning where arms are not as large as planned."""
    suite = run.request.suite
    section = ExperimentPlan.of(suite)
    with errors_at(TASK):
        separate = separates_scans(run.request.view)
        sums = experiment_sums(_rows(run), _experiment(run, section), separate=separate)
    with errors_at(TASK, "shares"):
        shares = planned_shares(section.shares, sums)
    with errors_at(TASK, "sequential"):
        table = readout_table(sums, replace(_plan(suite), shares=shares))
    warnings = [f"experiment: {text}" for text in readout_warnings(table, sums)]
    warnings += [] if section.strata else _unlike_arms(table)
    return Outputs({TASK: table}, experiment_gates(suite, table), warnings)


def check_slices(slices: Sequence[Slices]) -> None:
    """Refuse overlapping slices.

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
    """Evaluated rows, under the section's names for columns, with final slice keys."""
    suite = run.request.suite
    frame = run.plan.table.frame
    keys = [key.column for key in run.plan.table.roles.keys]
    unit = [] if suite.columns.unit is None else [UNIT]
    further = {name: pl.col(plain_column(name)) for name in ExperimentPlan.of(suite).further_columns}
    scores = {model.score: pl.col(score_column(name)) for name, model in suite.models.items() if model.score}
    frame = frame.select(*unit, *keys, **(further | scores))
    return replace(run.source, frame=frame, schema=frame.collect_schema(), reader=None, files=())


def _experiment(run: Run, section: ExperimentPlan) -> Experiment:
    suite = run.request.suite
    sets = tuple(part for part in run.plan.slices if part.slice_set.keys and not part.slice_set.is_derived)
    return Experiment(
        section.arm_outcomes,
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
        looks=section.sequential if isinstance(section.sequential, Sequential) else None,
        min_rows=suite.min_rows,
    )


def _unlike_arms(table: pl.DataFrame) -> Iterator[str]:
    """Warning for each arm and slice set with unequal shares of it.

    The first outcome of the table `experiment` is looked at.
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


def experiment_gates(suite: Suite, table: pl.DataFrame) -> pl.DataFrame:
    """Judge the arms.

    Returns:
        A row per gate, outcome, arm and slice. Where the arms are not as large as planned, every gate but those on
        the sample ratio is inconclusive: their numbers cannot be trusted.
    """
    gates = ExperimentPlan.of(suite).gates
    wrong = not table.filter(status=SAMPLE_RATIO_MISMATCH).is_empty()
    rows = [_gate_rows(gate, suite.slices, table, wrong=wrong) for gate in gates]
    return pl.concat(rows) if rows else GATES_SCHEMA.to_frame()


def _gate_rows(
    gate: ExperimentGate, slices: Mapping[str, SliceSet], table: pl.DataFrame, *, wrong: bool
) -> pl.DataFrame:
    of_ratio = gate.measure == "sample_ratio"
    value, lower, upper = _COLUMNS[gate.measure]
    rule = Rule(
        gate.at_least,
        gate.at_most,
        by_interval=gate.using == "interval" and lower is not None,
        on_undefined=gate.on_undefined,
    )
    rows = table.filter((pl.col("test") == "sample_ratio") if of_ratio else _selection(gate, slices))
    if rows.is_empty():
        name = gate.name or f"{gate.measure} {rule.text}"
        facts = {"gate": name, "metric": gate.measure, "model": gate.outcome, "rule": rule.text}
        arms = [str(arm) for arm in table["arm"].drop_nulls().unique(maintain_order=True)]
        lacks_arm = gate.arm is not None and value_text(gate.arm) not in arms
        note = "there is no such slice"
        if lacks_arm:
            note = f"there is no such arm; {did_you_mean(str(gate.arm), arms, limit=len(arms))}"
        return unmatched_gate(gate, **facts, note=note)
    nothing = pl.lit(None, dtype=pl.Float64)
    observed = rows.with_columns(
        observed=value, lower=nothing if lower is None else lower, upper=nothing if upper is None else upper
    )
    untrusted = wrong and not of_ratio
    judged = observed.with_columns(
        gate=_name(gate, rule.text),
        level=pl.lit(gate.level),
        metric=_metric(gate),
        model="outcome",
        rule=pl.lit(rule.text),
        **rule.limits(),
        verdict=pl.lit("inconclusive") if untrusted else rule.verdict(),
        status=pl.lit(SAMPLE_RATIO_MISMATCH) if untrusted else _gate_status(gate.measure),
    )
    return in_schema(judged, GATES_SCHEMA)


def _gate_status(measure: str) -> pl.Expr:
    """Status of the judged measure: a lift may be undefined for a defined difference."""
    if measure != "lift":
        return pl.col("status")
    reason = pl.when(pl.col("mean_control") < 0).then(pl.lit("nonpositive_values"))
    no_lift = (pl.col("status") == "ok") & pl.col("observed").is_null()
    return pl.when(no_lift).then(reason.otherwise(pl.lit("zero_denominator"))).otherwise("status")


def _selection(gate: ExperimentGate, slices: Mapping[str, SliceSet]) -> pl.Expr:
    named = names_of(gate.slices)
    sets = ["overall", *slices] if "all" in named else list(named)
    chosen = (pl.col("test") != "sample_ratio") & pl.col("slice_set").is_in(sets)
    if gate.outcome is not None:
        chosen &= pl.col("outcome") == gate.outcome
    return chosen if gate.arm is None else chosen & (pl.col("arm") == value_text(gate.arm))


def _name(gate: ExperimentGate, rule: str) -> pl.Expr:
    if gate.name is None:
        return pl.format("{} {}", _metric(gate), pl.lit(rule))
    if gate.measure == "sample_ratio" or gate.arm is not None:
        return pl.lit(gate.name)
    return pl.format("{} [{}]", pl.lit(gate.name), "arm")


def _metric(gate: ExperimentGate) -> pl.Expr:
    """Measure and arm of the gate; the outcome is in the place of other gates' model."""
    if gate.measure == "sample_ratio":
        return pl.lit(gate.measure)
    return pl.format("{} in {}", pl.lit(gate.measure), "arm")
