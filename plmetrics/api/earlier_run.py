"""Earlier run as the reference of this one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from plmetrics.core.errors import errors_at
from plmetrics.core.results import DECOMPOSITION_SCHEMA

if TYPE_CHECKING:
    from pathlib import Path

    from plmetrics.api.result import Result
    from plmetrics.inference.across_runs.decomposition import Change
    from plmetrics.inference.across_runs.retained_replicates import RunReplicates
    from plmetrics.inference.across_runs.sides import Side
    from plmetrics.inference.subject import Analysis
    from plmetrics.runs.history.earlier_runs import EarlierRuns
    from plmetrics.runs.reading import StoredResult
    from plmetrics.suite.model import Suite
    from plmetrics.suite.sections.references import IntervalReference


def reference_run(
    suite: Suite, runs: EarlierRuns, compare: object = None, base: Path | None = None
) -> Result | StoredResult | None:
    """Run named by `compare.run`; None without one, and before the first run of the suite itself.

    `compare` is the mapping with the result itself, where that was handed over; `runs` notes which run it took.

    Raises:
        DataError: it is no run that has ended with results; located at `compare.run`.
    """
    if suite.compare is None or suite.compare.run is None:
        return None
    from plmetrics.runs.files import place_of
    from plmetrics.runs.history.previous_runs import results_of
    from plmetrics.suite.sections.basics import RESULT
    from plmetrics.suite.sections.references import IntervalReference

    if isinstance(suite.compare.run, IntervalReference):
        with errors_at("compare", "run"):
            return _of_intervals(suite.compare.run, suite.compare.reference, runs)
    if suite.compare.run == RESULT:
        assert isinstance(compare, Mapping)
        return cast("Result | StoredResult", compare["run"])
    with errors_at("compare", "run"):
        path = place_of(suite.compare.run, base)
        return runs.reference("compare.run", path, suite.compare.reference, results_of)


def _of_intervals(
    reference: IntervalReference, choice: str, runs: EarlierRuns
) -> Result | StoredResult | None:
    """Result of earlier intervals: that of one, or of the states of several."""
    from plmetrics.runs.history.previous_runs import results_of

    if not reference.adds:
        return next(iter(runs.of_intervals("compare.run", reference, choice, results_of)), None)

    return cast("Result | None", runs.sum_of_intervals("compare.run", reference, choice))


def across_runs(
    analysis: Analysis,
    comparisons: pl.DataFrame,
    metrics: pl.DataFrame,
    replicates: RunReplicates | None,
    earlier: Result | StoredResult | None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The comparisons with those of the earlier run, and the table `decomposition`: of models, and of the runs.

    `comparisons` are those of models and slices, `replicates` those of this run.
    """
    compare = analysis.suite.compare
    if compare is None or (earlier is None and not compare.decompose):
        return comparisons, DECOMPOSITION_SCHEMA.to_frame()
    sides = None if earlier is None else _sides(analysis, metrics, replicates, earlier)
    if sides is not None and earlier is not None:
        from plmetrics.inference.across_runs.comparisons import run_comparisons

        compared = run_comparisons(*sides, compare.scales, analysis.suite.metrics)
        noted = _with_other_columns(compared, analysis.suite, earlier)
        comparisons = pl.concat([comparisons, noted], how="diagonal")
    return comparisons, _decomposition(
        analysis, sides
    ) if compare.decompose else DECOMPOSITION_SCHEMA.to_frame()


def _with_other_columns(
    comparisons: pl.DataFrame, suite: Suite, earlier: Result | StoredResult
) -> pl.DataFrame:
    """Comparisons, with a note for each model with other columns in the earlier run."""
    from plmetrics.runs.history.comparability import read_elsewhere
    from plmetrics.runs.record import suite_content, suite_of_run

    elsewhere = read_elsewhere(suite_of_run(earlier), suite_content(suite))
    elsewhere = {name: f"the model's {words}" for name, words in elsewhere.items()}
    words = pl.col("model").replace_strict(elsewhere, default=None, return_dtype=pl.String)
    return comparisons.with_columns(
        pl.concat_str("note", words, separator="; ", ignore_nulls=True).alias("note")
    )


def _decomposition(analysis: Analysis, sides: tuple[Side, Side] | None) -> pl.DataFrame:
    from plmetrics.inference.across_runs.decomposition import decompose
    from plmetrics.inference.across_runs.model_decomposition import ModelChanges

    changes: list[Change] = [ModelChanges(analysis)]
    if sides is not None:
        from plmetrics.inference.across_runs.run_decomposition import RunChanges

        changes.append(RunChanges(analysis.suite, *sides, analysis.level))
    return decompose(changes)


def _sides(
    analysis: Analysis,
    metrics: pl.DataFrame,
    replicates: RunReplicates | None,
    earlier: Result | StoredResult,
) -> tuple[Side, Side]:
    from plmetrics.inference.across_runs.sides import Side
    from plmetrics.inference.across_runs.slice_masses import decomposition_masses
    from plmetrics.runs.history.comparability import side_of

    blocks = () if analysis.units is None else analysis.units
    units, masses = int(np.sum(blocks)), decomposition_masses(analysis, analysis.suite)
    now = Side("", metrics, analysis.suite.uncertainty, units, len(blocks), replicates, masses)
    return now, side_of(earlier, metrics)


def compare_warnings(
    result: Result, earlier: Result | StoredResult | None, runs: EarlierRuns | None
) -> list[str]:
    """Warnings on metrics without a decomposition, on coarse p values, and on differences of the runs, as in a diff."""
    from plmetrics.diagnostics.value_warnings import coarse_p_values

    compare, words = result.suite.compare, coarse_p_values(result.suite, result.comparisons)
    if result.decomposition.height:
        from plmetrics.inference.across_runs.decomposition import omissions

        words += omissions(result.suite)
    if earlier is not None:
        from plmetrics.runs.history.comparability import differences, run_name

        words += [f"compared with {run_name(earlier)}: {note}" for note in differences(earlier, result)]
    elif compare is not None and compare.run is not None:
        passed = "" if runs is None else runs.none_yet("compare.run")
        words.append(f"there is no earlier run of this suite to compare with yet{passed}")
    return words
