"""An earlier run that this one is compared with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.errors import PlmetricsError
from plmetrics.core.results import DECOMPOSITION_SCHEMA
from plmetrics.core.slice_texts import renamed

if TYPE_CHECKING:
    from plmetrics.api.outcome import Result
    from plmetrics.api.references import EarlierRuns
    from plmetrics.inference.analysis import Analysis
    from plmetrics.inference.kept import Kept
    from plmetrics.inference.run_comparisons import Side
    from plmetrics.runs.reading import StoredResult
    from plmetrics.suite.model import Suite

_PATH = ("compare", "run")


@dataclass(frozen=True, slots=True)
class Earlier:
    """The results of an earlier run, and its id."""

    result: Result | StoredResult
    name: str


def earlier_run(
    suite: Suite, runs: EarlierRuns, compare: Any = None, base: Path | None = None
) -> Earlier | None:
    """The run that `compare.run` names; None without one, and before the first run of the suite itself.

    Args:
        suite: its section compare says which.
        runs: chooses among the runs of a folder, and notes which it took.
        compare: the mapping with the result itself, where that was handed over.
        base: the folder that a relative path starts from.

    Raises:
        DataError: it is no run that has ended with results; located at `compare.run`.
    """
    from plmetrics.runs.diff import run_name
    from plmetrics.runs.earlier import results_of
    from plmetrics.suite.compare import RESULT

    if suite.compare is None or suite.compare.run is None:
        return None
    if suite.compare.run == RESULT:
        result = compare["run"]
        return Earlier(result, run_name(result))
    path = Path(suite.compare.run) if base is None else base / suite.compare.run
    try:
        stored = runs.reference("compare.run", path, suite.compare.reference, results_of)
    except PlmetricsError as error:
        raise type(error)([replace(problem, path=_PATH) for problem in error.problems]) from error
    return None if stored is None else Earlier(stored, run_name(stored))


def with_earlier(
    comparisons: pl.DataFrame,
    suite: Suite,
    metrics: pl.DataFrame,
    kept: Kept | None,
    earlier: Earlier | None,
) -> pl.DataFrame:
    """The comparisons, and those with the earlier run: of the table `metrics`, and of the replicates."""
    if earlier is None or suite.compare is None:
        return comparisons
    from plmetrics.inference.run_comparisons import run_comparisons

    level = 0.95 if suite.uncertainty is None else suite.uncertainty.level
    found = run_comparisons(
        *_sides(suite, metrics, kept, earlier), suite.compare.scales, level, suite.metrics
    )
    return pl.concat([comparisons, _said_of_models(found, suite, earlier)], how="diagonal")


def _said_of_models(found: pl.DataFrame, suite: Suite, earlier: Earlier) -> pl.DataFrame:
    """The comparisons with a word on the rows of models that were read from other columns then."""
    from plmetrics.runs.fingerprint import as_said, said_by
    from plmetrics.runs.meanings import read_elsewhere

    elsewhere = read_elsewhere(said_by(earlier.result), as_said(suite))
    elsewhere = {name: f"the model's {words}" for name, words in elsewhere.items()}
    words = pl.col("model").replace_strict(elsewhere, default=None, return_dtype=pl.String)
    return found.with_columns(pl.concat_str("note", words, separator="; ", ignore_nulls=True).alias("note"))


def decomposed(
    analysis: Analysis, metrics: pl.DataFrame, kept: Kept | None, earlier: Earlier | None
) -> pl.DataFrame:
    """The table `decomposition`: of models, and of the runs."""
    compare = analysis.suite.compare
    if compare is None or not compare.decompose:
        return DECOMPOSITION_SCHEMA.to_frame()
    from plmetrics.inference.decomposition import decompositions
    from plmetrics.inference.run_decomposition import run_decompositions

    found = [decompositions(analysis)]
    if earlier is not None:
        now, before = _sides(analysis.suite, metrics, kept, earlier)
        if analysis.units is not None:
            now = replace(now, units=int(analysis.units.sum()), groups=len(analysis.units))
        found.append(run_decompositions(analysis.suite, now, before, analysis.level))
    return pl.concat(found)


def _sides(suite: Suite, metrics: pl.DataFrame, kept: Kept | None, earlier: Earlier) -> tuple[Side, Side]:
    """This run and the earlier one."""
    from plmetrics.inference.run_comparisons import Side

    before = earlier.result
    blocked = before.record.get("constants", {}).get("blocks") or {}
    units = blocked.get("units") or 0
    there = Side(
        earlier.name,
        renamed(before.metrics, metrics),
        before.suite.uncertainty,
        units,
        blocked.get("modulus") or units,
        None if before.kept is None else before.kept.renamed(metrics),
    )
    return Side("", metrics, suite.uncertainty, kept=kept), there


def noted(result: Result, earlier: Earlier | None, runs: EarlierRuns | None = None) -> Result:
    """The result with warnings: metrics that are not decomposed, and what the runs do not share, as in a diff."""
    from plmetrics.inference.decomposition import left_out
    from plmetrics.runs.diff import not_alike

    words = left_out(result.suite) if result.decomposition.height else []
    if earlier is None and result.suite.compare is not None and result.suite.compare.run is not None:
        passed = "" if runs is None else runs.none_yet("compare.run")
        words.append(f"there is no earlier run of this suite to compare with yet{passed}")
    if earlier is not None:
        words += [f"compared with {earlier.name}: {note}" for note in not_alike(earlier.result, result)]
    return replace(result, record={**result.record, "warnings": [*result.record["warnings"], *words]})
