"""Gates on drift: rows of the table `gates` from those of the table `drift`. A suite has none but those it names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.names import number_text
from plmetrics.core.results import GATES_SCHEMA, gate_table, in_schema
from plmetrics.features.drift.drift_section import Drift
from plmetrics.gates.rules import Rule
from plmetrics.gates.verdicts import NO_MATCH

if TYPE_CHECKING:
    from plmetrics.features.drift.drift_section import DriftGate
    from plmetrics.suite.model import Suite


def drift_gates(suite: Suite, table: pl.DataFrame) -> pl.DataFrame:
    """Judge what was measured.

    Returns:
        A row per gate, column and slice. A value that is undefined, or a p value that there is not, is inconclusive,
        failed or skipped as the gate says; a gate that finds nothing to judge is inconclusive.
    """
    spec = Drift.of(suite)
    if not spec.gates:
        return GATES_SCHEMA.to_frame()
    return pl.concat([_gate_rows(gate, spec, suite, table) for gate in spec.gates])


def _gate_rows(gate: DriftGate, spec: Drift, suite: Suite, table: pl.DataFrame) -> pl.DataFrame:
    measure = spec.judged(gate)
    rows = table.filter(
        pl.col("measure") == measure.text, pl.col("slice_set").is_in(_sets(gate, spec, suite))
    )
    for key in ("subject", "column", "model"):
        value = getattr(gate, key)
        if value is not None:
            rows = rows.filter(pl.col(key) == value)
    by_p = gate.p_at_least is not None
    rule = Rule(gate.p_at_least if by_p else gate.at_least, gate.at_most, on_undefined=gate.on_undefined)
    text = f"p >= {number_text(gate.p_at_least)}" if gate.p_at_least is not None else rule.text
    if rows.is_empty():
        return _empty_gate(gate, measure.text, text)
    no_p = pl.when(pl.col("status") == "ok").then(pl.lit("no_p_value")).otherwise(pl.col("status"))
    observed = rows.with_columns(
        observed="p_adjusted" if by_p else "value",
        lower=pl.lit(None, dtype=pl.Float64),
        upper=pl.lit(None, dtype=pl.Float64),
    ).with_columns(status=pl.when(pl.col("observed").is_null() & by_p).then(no_p).otherwise("status"))
    judged = observed.with_columns(
        gate=_gate_name(gate, measure.text, text),
        level=pl.lit(gate.level),
        metric="measure",
        rule=pl.lit(text),
        verdict=rule.verdict(),
    )
    return in_schema(judged, GATES_SCHEMA)


def _sets(gate: DriftGate, spec: Drift, suite: Suite) -> list[str]:
    named = (gate.slices,) if isinstance(gate.slices, str) else gate.slices
    return ["overall", *spec.sets(tuple(suite.slices))] if "all" in named else list(named)


def _gate_name(gate: DriftGate, measure: str, rule: str) -> pl.Expr:
    """The gate's name, with the column where it is about several."""
    if gate.name is None:
        return pl.format("drift: {} of {} {}", pl.lit(measure), "column", pl.lit(rule))
    return pl.lit(gate.name) if gate.column is not None else pl.format("{} [{}]", pl.lit(gate.name), "column")


def _empty_gate(gate: DriftGate, measure: str, rule: str) -> pl.DataFrame:
    """The row of a gate that finds nothing to judge, such as a distance of means in a column of texts."""
    row = {
        "gate": gate.name or f"drift: {measure} of {gate.column or 'every column'} {rule}",
        "level": gate.level,
        "metric": measure,
        "model": gate.model,
        "slice_set": gate.slices if isinstance(gate.slices, str) else gate.slices[0],
        "slice": "all",
        "rule": rule,
        "verdict": "fail" if gate.on_undefined == "fail" else "inconclusive",
        "status": NO_MATCH,
        "note": "no column was measured so",
    }
    return gate_table([row])
