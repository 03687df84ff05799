"""The comparison of a run's rows with the reference of its suite, as outputs of the feature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.core.errors import PlmetricsError
from plmetrics.features.drift.against_counts import drift_against, on_slices_of
from plmetrics.features.drift.counts import DriftCounts, WindowsCounting
from plmetrics.features.drift.drift_gates import drift_gates
from plmetrics.features.drift.drift_section import Drift
from plmetrics.features.drift.drift_table import drift_tables
from plmetrics.features.drift.references import ReferenceCounts
from plmetrics.features.drift.stored_counts import (
    check_reference,
    counts_of,
    descriptions_of,
    reference_of,
    run_state,
)
from plmetrics.features.drift.window_counts import Summary, WindowCounting
from plmetrics.features.protocol import Outputs
from plmetrics.features.stored.merging import by_layout
from plmetrics.features.stored.state_files import damage_errors
from plmetrics.features.stored.stored_state import file_places

if TYPE_CHECKING:
    from plmetrics.engine.inquiry import Question
    from plmetrics.engine.request import Request, TableView
    from plmetrics.features.protocol import Run

UNMEASURED = "drift is not measured here, and its gates are inconclusive"
FIRST = "there is no earlier run of this suite yet that drift can be measured from"


def drift_look(
    request: Request, view: TableView, reference: object
) -> Question[WindowsCounting] | Question[WindowCounting]:
    """Constants of both windows, or of the rows alone where the reference are counts.

    `view` is of the rows as they are in the data. `explain` hands over no counts of the reference.

    Raises:
        DataError: a window has no rows, or the reference has bad values or lacks what is compared.
    """
    if not Drift.of(request.suite).is_counted:
        return WindowsCounting.look(request, view)
    if isinstance(reference, ReferenceCounts) and reference.states:
        view = _on_its_slices(request, view, reference)
    return WindowCounting.look(view)


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
    if isinstance(counts, Summary):
        assert isinstance(reference, ReferenceCounts)
        state = run_state(run.request.view, counts, run.state)
        fault = reference.fault
        try:
            counts = _against(run, reference, counts)
        except PlmetricsError as error:
            if not reference.optional:
                raise
            counts, fault = None, error.problems[0].message
        if counts is None:
            warnings = (f"{UNMEASURED}: {fault}" if fault else f"{FIRST}{reference.passed_over}",)
    assert counts is None or isinstance(counts, DriftCounts)
    table, histograms = drift_tables(suite, counts)
    tables = {"drift": table, "drift_histograms": histograms}
    return Outputs(tables, drift_gates(suite, table), warnings, state=state)


def _against(run: Run, reference: ReferenceCounts, current: Summary) -> DriftCounts | None:
    """Both windows, counted alike; None where there is no reference yet."""
    if not reference.states:
        return None
    view = _on_its_slices(run.request, run.view, reference)
    check_reference(reference.states, current.description, reference.path)
    with damage_errors(file_places(reference.states)):
        before = reference_of(by_layout(reference.states), current.description)
    return drift_against(view, before, current, reference.path)
