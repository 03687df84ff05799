"""Comparability of two runs: whether values mean the same, and whether they are independent samples or pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.core.slice_texts import rename_slices
from plmetrics.inference.across_runs.retained_replicates import sharing
from plmetrics.inference.across_runs.sides import Side
from plmetrics.runs.history.data import data_of
from plmetrics.runs.history.meanings import misleading
from plmetrics.runs.record import suite_of_run

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.inference.across_runs.retained_replicates import Sharing
    from plmetrics.runs.outcome import Outcome

_NOT_INDEPENDENT = (
    "their values are not independent, and smaller differences than the intervals say may be real"
)


def run_name(result: Outcome) -> str:
    """The id of a run, or the name of an evaluation that was not written."""
    return str(result.record.get("run_id", result.suite.name))


def side_of(result: Outcome, now: pl.DataFrame | None = None) -> Side:
    """A run as a side of a comparison; with slices called as in the table `metrics` of the later run, if given."""
    blocks = result.record.get("constants", {}).get("blocks") or {}
    units = blocks.get("units") or 0
    metrics, replicates = result.metrics, result.kept
    if now is not None:
        metrics, replicates = (
            rename_slices(metrics, now),
            None if replicates is None else replicates.renamed(now),
        )
    uncertainty = result.suite.uncertainty
    groups, masses = blocks.get("modulus") or units, result.record.get("masses", ())
    return Side(run_name(result), metrics, uncertainty, units, groups, replicates, masses)


def differences(before: Outcome, after: Outcome) -> list[str]:
    """Differences of two runs in the meaning of values, or in the independence of samples: in words."""
    intervals = None not in (before.suite.uncertainty, after.suite.uncertainty)
    return [*other_meanings(before, after), *dependence(before, after, intervals=intervals)]


def other_meanings(before: Outcome, after: Outcome) -> list[str]:
    """Differences of two runs in the meaning of values, as at most one sentence."""
    meanings = misleading(suite_of_run(before), suite_of_run(after), after.suite.metrics)
    return [f"{'; '.join(meanings)}: values of one name mean different things"] if meanings else []


def dependence(
    before: Outcome, after: Outcome, shared: Sharing | None = None, *, intervals: bool
) -> list[str]:
    """Reasons why runs are no independent samples that are judged as such, as at most one sentence.

    `shared` is what they share of their units, if that was looked up already; `intervals` whether intervals of
    differences are judged at all.
    """
    replicates = before.kept, after.kept
    shared = sharing(replicates[1], replicates[0]) if shared is None else shared
    files = data_of(before.record).shared_files(data_of(after.record))
    if shared.paired or not intervals or not (files or shared.words):
        return []
    what = shared.words or f"both runs read {files}"
    hint = "; with uncertainty.keep: true in both they are paired" if None in replicates else ""
    return [f"{what}: {_NOT_INDEPENDENT}{hint}"]
