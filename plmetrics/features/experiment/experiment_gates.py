"""Gates on experiments: rows of the table `gates` from those of the table `experiment`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.results import GATES_SCHEMA, gate_table, in_schema
from plmetrics.features.experiment.experiment_section import ExperimentPlan
from plmetrics.gates.rules import Rule
from plmetrics.gates.verdicts import NO_MATCH
from plmetrics.table.slice_keys import value_text

if TYPE_CHECKING:
    from plmetrics.features.experiment.experiment_section import ExperimentGate
    from plmetrics.suite.model import Suite

_MISMATCH = "sample_ratio_mismatch"
_COLUMNS = {
    "difference": ("difference", "lower", "upper"),
    "lift": ("lift", "lift_lower", "lift_upper"),
    "mean": ("mean", None, None),
    "p_value": ("p_adjusted", None, None),
    "sample_ratio": ("p_value", None, None),
}
"""By measure the columns of its value and of the ends of its interval, if it has one."""


def experiment_gates(suite: Suite, table: pl.DataFrame) -> pl.DataFrame:
    """Judge the arms.

    Returns:
        A row per gate, outcome, arm and slice. Where the arms are not as large as planned, every gate but those on
        the sample ratio is inconclusive: their numbers cannot be trusted.
    """
    gates = ExperimentPlan.of(suite).gates
    wrong = not table.filter(status=_MISMATCH).is_empty()
    rows = [_gate_rows(gate, suite, table, wrong=wrong) for gate in gates]
    return pl.concat(rows) if rows else GATES_SCHEMA.to_frame()


def _gate_rows(gate: ExperimentGate, suite: Suite, table: pl.DataFrame, *, wrong: bool) -> pl.DataFrame:
    of_ratio = gate.measure == "sample_ratio"
    value, lower, upper = _COLUMNS[gate.measure]
    rule = Rule(
        gate.at_least,
        gate.at_most,
        by_interval=gate.using == "interval" and lower is not None,
        on_undefined=gate.on_undefined,
    )
    rows = table.filter((pl.col("test") == "sample_ratio") if of_ratio else _selection(gate, suite))
    if rows.is_empty():
        return _empty_gate(gate, rule.text)
    nothing = pl.lit(None, dtype=pl.Float64)
    observed = rows.with_columns(
        observed=value,
        lower=nothing if lower is None else lower,
        upper=nothing if upper is None else upper,
    )
    untrusted = wrong and not of_ratio
    judged = observed.with_columns(
        gate=_name(gate, rule.text),
        level=pl.lit(gate.level),
        metric=_metric(gate),
        model="outcome",
        rule=pl.lit(rule.text),
        verdict=pl.lit("inconclusive") if untrusted else rule.verdict(),
        status=pl.lit(_MISMATCH) if untrusted else "status",
    )
    return in_schema(judged, GATES_SCHEMA)


def _selection(gate: ExperimentGate, suite: Suite) -> pl.Expr:
    """The rows of the table that a gate judges."""
    named = (gate.slices,) if isinstance(gate.slices, str) else gate.slices
    sets = ["overall", *suite.slices] if "all" in named else list(named)
    chosen = (pl.col("test") != "sample_ratio") & pl.col("slice_set").is_in(sets)
    if gate.outcome is not None:
        chosen &= pl.col("outcome") == gate.outcome
    return chosen if gate.arm is None else chosen & (pl.col("arm") == value_text(gate.arm))


def _name(gate: ExperimentGate, rule: str) -> pl.Expr:
    """The gate's name, with the arm that it is about."""
    if gate.name is None:
        return pl.format("{} {}", _metric(gate), pl.lit(rule))
    if gate.measure == "sample_ratio" or gate.arm is not None:
        return pl.lit(gate.name)
    return pl.format("{} [{}]", pl.lit(gate.name), "arm")


def _metric(gate: ExperimentGate) -> pl.Expr:
    """Measure and arm that are judged; the outcome stands where other gates have the model."""
    if gate.measure == "sample_ratio":
        return pl.lit(gate.measure)
    return pl.format("{} in {}", pl.lit(gate.measure), "arm")


def _empty_gate(gate: ExperimentGate, rule: str) -> pl.DataFrame:
    """The row of a gate that finds nothing to judge, such as an arm without rows."""
    row = {
        "gate": gate.name or f"{gate.measure} {rule}",
        "level": gate.level,
        "metric": gate.measure,
        "model": gate.outcome,
        "slice_set": gate.slices if isinstance(gate.slices, str) else gate.slices[0],
        "slice": "all",
        "rule": rule,
        "verdict": "fail" if gate.on_undefined == "fail" else "inconclusive",
        "status": NO_MATCH,
        "note": "there is no such arm" if gate.arm is not None else "there is no such slice",
    }
    return gate_table([row])
