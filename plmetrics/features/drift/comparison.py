"""The comparison of a run's rows with the reference of its suite, as outputs of the feature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.features.drift.against_counts import drift_against, on_slices_of
from plmetrics.features.drift.counts import drift_counts
from plmetrics.features.drift.drift_gates import drift_gates
from plmetrics.features.drift.drift_table import drift_table
from plmetrics.features.drift.histograms.histogram_table import drift_histograms
from plmetrics.features.drift.references import ReferenceCounts
from plmetrics.features.drift.stored_counts import check_reference, descriptions_of, reference_of, run_state
from plmetrics.features.drift.window_counts import window_summary
from plmetrics.features.protocol import Outputs
from plmetrics.features.stored.merging import by_layout
from plmetrics.features.stored.state_files import damage_errors
from plmetrics.features.stored.stored_state import file_places

if TYPE_CHECKING:
    from plmetrics.features.drift.counts import DriftCounts
    from plmetrics.features.drift.window_counts import Summary
    from plmetrics.features.protocol import Run

FIRST = "there is no earlier run of this suite yet that drift can be measured from"


def drift_outputs(run: Run) -> Outputs:
    """The tables `drift` and `drift_histograms`, the gates on the first, and counts of the rows for later runs.

    These are there where the reference are counts, too.

    Raises:
        DataError: a window has no rows, or the reference has bad values or lacks what is compared.
    """
    suite, reference, state = run.request.suite, run.counts.get("drift"), None
    warnings: tuple[str, ...] = ()
    if not isinstance(reference, ReferenceCounts):
        counts: DriftCounts | None = drift_counts(run.request, frozenset(run.bound.suite.models))
    else:
        counts, current = _against(run, reference)
        state = run_state(run.bound, current)
        warnings = () if counts is not None else (f"{FIRST}{reference.passed_over}",)
    table = drift_table(suite, counts)
    tables = {"drift": table, "drift_histograms": drift_histograms(counts)}
    return Outputs(tables, drift_gates(suite, table), warnings, state=state)


def _against(run: Run, reference: ReferenceCounts) -> tuple[DriftCounts | None, Summary]:
    """Both windows, counted alike, None where there is no reference yet; and the counts of the rows alone."""
    request, models = run.request, frozenset(run.bound.suite.models)
    if not reference.states:
        return None, window_summary(request, models)
    request = on_slices_of(request, run.bound, descriptions_of(reference.states, reference.path)[0])
    current = window_summary(request, models)
    check_reference(reference.states, current.description, reference.path)
    with damage_errors(file_places(reference.states)):
        before = reference_of(by_layout(reference.states), current.description)
    return drift_against(request, models, before, current, reference.path), current
