"""The tests of `compare.tests`: the rows they read, and the comparisons with their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.core.results import FOLDS_SCHEMA

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.engine.aggregate.paired_rows import PairedRows
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.inference.analysis import OrderedByPlace
    from plmetrics.inference.subject import Analysis


def with_requested_tests(
    comparisons: pl.DataFrame,
    analysis: Analysis,
    rows: PairedRows | None,
    metrics: pl.DataFrame,
    folds: pl.DataFrame | None,
    areas: OrderedByPlace,
) -> pl.DataFrame:
    """The comparisons with the tests that the suite asks for.

    Args:
        comparisons: those of the bootstrap, not yet corrected.
        analysis: the run's sums.
        rows: those that tests rank, None where there are none.
        metrics: the result table.
        folds: the values of folds, if there are any.
        areas: ordered values, among which are differences of areas whose scores were counted on a grid.
    """
    compare = analysis.suite.compare
    if compare is None or not compare.tests:
        return comparisons
    from plmetrics.inference.comparisons.tables import with_tests

    return with_tests(
        comparisons, analysis, rows, metrics, FOLDS_SCHEMA.to_frame() if folds is None else folds, areas
    )


def delong_tests(comparisons: pl.DataFrame, analysis: Analysis, rows: PairedRows | None) -> pl.DataFrame:
    """The comparisons, of areas whose intervals are DeLong's by his test."""
    if rows is None:
        return comparisons
    from plmetrics.inference.comparisons.tables import with_areas

    return with_areas(comparisons, analysis, rows)


def rows_of_tests(prepared: RunPlan) -> PairedRows | None:
    """The rows that tests rank, None where none does.

    Raises:
        DataError: the times of a test are null.
    """
    if prepared.request.suite.uncertainty is None and prepared.request.suite.compare is None:
        return None
    from plmetrics.engine.aggregate.paired_rows import paired_rows

    return paired_rows(prepared)
