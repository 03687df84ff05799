"""The comparison of a run's rows with the reference of its suite, and the gates on it: a suite has those it names."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from plmetrics.core.errors import ConfigError, DataError
from plmetrics.core.names import number_text
from plmetrics.core.results import GATES_SCHEMA, in_schema
from plmetrics.engine.inquiry import Question
from plmetrics.engine.request import Request, TableView
from plmetrics.features.drift.against_counts import drift_against, on_slices_of
from plmetrics.features.drift.column_counts import DriftCounts
from plmetrics.features.drift.counts import WindowsCounting
from plmetrics.features.drift.drift_section import Drift, DriftGate
from plmetrics.features.drift.drift_table import drift_tables
from plmetrics.features.drift.references import ReferenceCounts
from plmetrics.features.drift.stored_counts import (
    check_reference,
    counts_of,
    descriptions_of,
    reference_of,
    run_state,
)
from plmetrics.features.drift.window_counts import WindowCounting, WindowCounts
from plmetrics.features.protocol import Outputs, Run
from plmetrics.features.stored.merging import by_layout
from plmetrics.features.stored.state_files import damage_errors
from plmetrics.features.stored.stored_state import file_places
from plmetrics.gates.rules import Rule
from plmetrics.gates.verdicts import unmatched_gate
from plmetrics.suite.model import Suite
from plmetrics.suite.sections.basics import SliceSet
from plmetrics.suite.sections.section import names_of

UNMEASURED = "drift is not measured here, and its gates are inconclusive"
FIRST = "there is no earlier run of this suite yet that drift can be measured from"


def prepare_drift(
    request: Request, view: TableView, reference: object
) -> Question[WindowsCounting] | Question[WindowCounting]:
    """Constants of both windows, or of the rows alone where the reference are counts.

    `view` is of the rows as they are in the data. `explain` hands over no counts of the reference.
    """
    if not Drift.of(request.suite).is_counted:
        return WindowsCounting.prepare(request, view)
    if isinstance(reference, ReferenceCounts) and reference.states:
        view = _on_its_slices(request, view, reference)
    return WindowCounting.prepare(view)


def _on_its_slices(request: Request, view: TableView, reference: ReferenceCounts) -> TableView:
    return on_slices_of(view, request.view, descriptions_of(reference.states, reference.path)[0])


def drift_outputs(run: Run) -> Outputs:
    """The tables `drift` and `drift_histograms`, the gates on the first, and counts of the rows for later runs.

    These are there where the reference are counts, too.

    Raises:
        DataError: a window has no rows, or the reference has bad values or lacks what is compared.
    """
    suite, reference, state = run.request.suite, run.counts.get("drift"), None
    warnings: tuple[str, ...] = ()
    counts = run.counted["drift"] if run.state is None else counts_of(run.state)
    if isinstance(counts, WindowCounts):
        assert isinstance(reference, ReferenceCounts)
        state = run_state(run.request.view, counts, run.state)
        fault = reference.fault
        try:
            counts = _against(run, reference, counts)
        except (ConfigError, DataError) as error:
            if not reference.optional:
                raise
            counts, fault = None, error.problems[0].message
        if counts is None:
            warnings = (f"{UNMEASURED}: {fault}" if fault else f"{FIRST}{reference.passed_over}",)
    assert counts is None or isinstance(counts, DriftCounts)
    table, histograms = drift_tables(suite, counts)
    tables = {"drift": table, "drift_histograms": histograms}
    return Outputs(tables, drift_gates(suite, table), warnings, state=state)


def _against(run: Run, reference: ReferenceCounts, current: WindowCounts) -> DriftCounts | None:
    """Both windows, counted alike; None where there is no reference yet."""
    if not reference.states:
        return None
    view = _on_its_slices(run.request, run.view, reference)
    check_reference(reference.states, current.description, reference.path)
    with damage_errors(file_places(reference.states)):
        before = reference_of(by_layout(reference.states), current.description)
    return drift_against(view, before, current, reference.path)


def drift_gates(suite: Suite, table: pl.DataFrame) -> pl.DataFrame:
    """Verdicts of drift gates on the measured values.

    Returns:
        A row per gate, column and slice. A value that is undefined, or a p value that there is not, is inconclusive,
        failed or skipped as the gate says; a gate that finds nothing to judge is inconclusive.
    """
    spec = Drift.of(suite)
    if not spec.gates:
        return GATES_SCHEMA.to_frame()
    return pl.concat([_gate_rows(gate, spec, suite.slices, table) for gate in spec.gates])


def _gate_rows(
    gate: DriftGate, spec: Drift, slices: Mapping[str, SliceSet], table: pl.DataFrame
) -> pl.DataFrame:
    measure = spec.gate_measure(gate)
    rows = table.filter(
        pl.col("measure") == measure.text, pl.col("slice_set").is_in(_sets(gate, spec, slices))
    )
    for key in ("subject", "column", "model"):
        value = getattr(gate, key)
        if value is not None:
            rows = rows.filter(pl.col(key) == value)
    by_p = gate.p_at_least is not None
    rule = Rule(gate.p_at_least if by_p else gate.at_least, gate.at_most, on_undefined=gate.on_undefined)
    text = f"p >= {number_text(gate.p_at_least)}" if gate.p_at_least is not None else rule.text
    if rows.is_empty():
        name = gate.name or f"drift: {measure.text} of {gate.column or 'every column'} {text}"
        facts = {"gate": name, "metric": measure.text, "model": gate.model, "rule": text}
        return unmatched_gate(gate, **facts, note="no column was measured so")
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
        verdict=rule.verdict(None if by_p else pl.col("bound")),
        scale=pl.lit("p_value" if by_p else None),
        **rule.limits(),
    )
    return in_schema(judged, GATES_SCHEMA)


def _sets(gate: DriftGate, spec: Drift, slices: Mapping[str, SliceSet]) -> list[str]:
    named = names_of(gate.slices)
    return ["overall", *spec.sets(tuple(slices))] if "all" in named else list(named)


def _gate_name(gate: DriftGate, measure: str, rule: str) -> pl.Expr:
    """The gate's name, with the column where it is about several."""
    if gate.name is None:
        return pl.format("drift: {} of {} {}", pl.lit(measure), "column", pl.lit(rule))
    return pl.lit(gate.name) if gate.column is not None else pl.format("{} [{}]", pl.lit(gate.name), "column")
