"""The tests of `compare.tests`: the rows they read, and the comparisons with their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.core.results import COMPARISONS_SCHEMA, FOLDS_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from plmetrics.engine.aggregate.paired_rows import PairedRows
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.inference.analysis import OrderedByPlace
    from plmetrics.inference.subject import Analysis


def comparisons_with_tests(
    tables: Mapping[str, pl.DataFrame],
    analysis: Analysis,
    rows: PairedRows | None,
    areas: OrderedByPlace,
    folds: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """The comparisons with the tests that the suite asks for, corrected.

    `tables` are metrics, and the comparisons of the bootstrap, not yet corrected; `areas` ordered values, among which
    are differences of areas whose scores were counted on a grid.
    """
    from plmetrics.inference.analysis import correct_comparisons

    comparisons, compare = tables["comparisons"], analysis.suite.compare
    if compare is not None and compare.tests:
        from plmetrics.inference.comparisons.tables import with_tests

        folds = FOLDS_SCHEMA.to_frame() if folds is None else folds
        comparisons = with_tests(comparisons, analysis, rows, tables["metrics"], folds, areas)
    return correct_comparisons(analysis, comparisons).select(list(COMPARISONS_SCHEMA))


def delong_tests(comparisons: pl.DataFrame, analysis: Analysis, rows: PairedRows | None) -> pl.DataFrame:
    """The comparisons, of areas whose intervals are DeLong's by his test."""
    if rows is None:
        return comparisons
    from plmetrics.inference.comparisons.tables import with_areas

    return with_areas(comparisons, analysis, rows)


def rows_of_tests(prepared: RunPlan) -> PairedRows | None:
    """The rows that tests rank, None where none does."""
    if prepared.request.suite.uncertainty is None and prepared.request.suite.compare is None:
        return None
    from plmetrics.engine.aggregate.paired_rows import paired_rows

    return paired_rows(prepared)
