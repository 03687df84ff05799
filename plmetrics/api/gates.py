"""Inputs of gates and tests beside the result tables: rows of tests, sizes of slices, and earlier runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from plmetrics.core.results import FOLDS_SCHEMA, GATES_SCHEMA, LABELLED, first_rows

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.engine.aggregate.paired_rows import PairedRows
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.gates.bands import BandKey
    from plmetrics.gates.sufficiency import Coverage
    from plmetrics.inference.analysis import OrderedByPlace
    from plmetrics.inference.subject import Analysis
    from plmetrics.runs.history.earlier_runs import EarlierRuns
    from plmetrics.suite.sections.gates import Gate


def gate_history(gates: Sequence[Gate], runs: EarlierRuns) -> pl.DataFrame | None:
    """The gates of the runs before this one, as far back as a gate asks; None where none asks.

    Of runs over the same data the last one counts, and none over the data of this run. `runs` takes note of those that
    count.

    Returns:
        What `gates.bands.history_of` makes of them.
    """
    most = max((gate.consecutive for gate in gates), default=1) - 1
    if most == 0 or runs.home is None:
        return None
    from plmetrics.gates.bands import history_of

    results = runs.results_before(most)
    runs.history = [str(result.record["run_id"]) for result in results]
    return history_of([result.gates for result in results])


def band_values(gates: Sequence[Gate], runs: EarlierRuns) -> dict[BandKey, pl.DataFrame]:
    """Values of earlier intervals for control bands, see `gates.bands`.

    `runs` takes note of those that count.
    """
    judged = dict.fromkeys((gate.within, gate.consecutive) for gate in gates if gate.within is not None)
    if not judged:
        return {}
    from plmetrics.gates.bands import values_of

    return {
        (band, consecutive): values_of(runs.values_before(band, consecutive - 1))
        for band, consecutive in judged
    }


def gates_table(
    analysis: Analysis,
    metrics: pl.DataFrame,
    comparisons: pl.DataFrame,
    history: pl.DataFrame | None,
    bands: Mapping[BandKey, pl.DataFrame],
) -> pl.DataFrame:
    """Table `gates` of a run. `metrics` and `comparisons` have further columns for gates."""
    if not analysis.suite.gates:
        return GATES_SCHEMA.to_frame()
    from plmetrics.gates.sufficiency import slice_positives, with_kish_sizes
    from plmetrics.gates.verdicts import Evidence, evaluate_gates

    suite = analysis.suite
    counted = any(gate.min_positives is not None for gate in suite.gates)
    positives = slice_positives(analysis) if counted else None
    sized = with_kish_sizes(analysis, first_rows(metrics))
    coverage = _coverage(analysis, metrics)
    return evaluate_gates(suite, Evidence(sized, comparisons, positives, history, coverage, bands))


def _coverage(analysis: Analysis, metrics: pl.DataFrame) -> Coverage | None:
    labels = analysis.suite.labels
    if labels is None or labels.coverage is None:
        return None
    from plmetrics.gates.sufficiency import Coverage

    shares = metrics.select("model", "slice_set", "slice", LABELLED).drop_nulls(LABELLED)
    shares = shares.unique(["model", "slice_set", "slice"], keep="first", maintain_order=True)
    return Coverage(labels.coverage, shares, analysis.population.label_free)


def comparisons_with_tests(
    tables: Mapping[str, pl.DataFrame],
    analysis: Analysis,
    rows: PairedRows | None,
    areas: OrderedByPlace,
    folds: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Comparisons with the tests of the suite, corrected.

    `tables` are metrics, and the comparisons of the bootstrap, not yet corrected; `areas` ordered values, among which
    are differences of areas whose scores were counted on a grid.
    """
    from plmetrics.inference.analysis import correct_comparisons

    comparisons, compare = tables["comparisons"], analysis.suite.compare
    if compare is not None and compare.tests:
        from plmetrics.inference.comparisons.tables import with_tests

        folds = FOLDS_SCHEMA.to_frame() if folds is None else folds
        comparisons = with_tests(comparisons, analysis, rows, tables["metrics"], folds, areas)
    return correct_comparisons(analysis, comparisons)


def delong_tests(comparisons: pl.DataFrame, analysis: Analysis, rows: PairedRows | None) -> pl.DataFrame:
    """Comparisons with DeLong's test for areas with DeLong's intervals."""
    if rows is None:
        return comparisons
    from plmetrics.inference.comparisons.tables import with_areas

    return with_areas(comparisons, analysis, rows)


def rows_of_tests(plan: RunPlan) -> PairedRows | None:
    """Rows of rank tests, None without one."""
    if plan.request.suite.uncertainty is None and plan.request.suite.compare is None:
        return None
    from plmetrics.engine.aggregate.paired_rows import paired_rows

    return paired_rows(plan)
