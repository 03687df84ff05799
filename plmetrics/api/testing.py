"""The tests of `compare.tests`: the rows they read, and the comparisons with their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.engine.prepare import Prepared
    from plmetrics.inference.analysis import Analysis


def tested(
    comparisons: pl.DataFrame,
    analysis: Analysis,
    prepared: Prepared,
    metrics: pl.DataFrame,
    folds: pl.DataFrame,
) -> pl.DataFrame:
    """The comparisons with the tests that the suite asks for.

    Args:
        comparisons: those of the bootstrap, not yet corrected.
        analysis: the run's sums.
        prepared: where the rows are.
        metrics: the result table.
        folds: the values of folds.

    Raises:
        DataError: the times of a test are null.
    """
    compare = analysis.suite.compare
    if compare is None or not compare.tests:
        return comparisons
    from plmetrics.engine.paired import paired_rows
    from plmetrics.inference.tested import with_tests

    return with_tests(comparisons, analysis, paired_rows(prepared), metrics, folds)
