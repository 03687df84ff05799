"""The stages of a run, in order: they wire the layers below, nothing else."""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.api.beside import Beside, data_files
from plmetrics.api.drifting import check_counts, drifted, kept
from plmetrics.api.earlier import decomposed, noted, with_earlier
from plmetrics.api.gating import judged
from plmetrics.api.outcome import Result
from plmetrics.api.searching import search_warnings, searched_slices
from plmetrics.api.testing import areas_compared, rows_of_tests, tested
from plmetrics.core.results import COMPARISONS_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from plmetrics.engine.leakage import Finding
    from plmetrics.engine.paired import PairedRows
    from plmetrics.engine.passes import Aggregated
    from plmetrics.engine.prepare import Prepared
    from plmetrics.engine.repeated import RepeatedSums
    from plmetrics.inference.analysis import Analysis
    from plmetrics.suite.model import Suite
    from plmetrics.table.source import Source

    Progress = Callable[[str], None]


class Stopwatch:
    """Seconds of each stage, and a word to whoever watches when one begins."""

    def __init__(self, progress: Progress | None) -> None:
        self.seconds: dict[str, float] = {}
        self._progress = progress

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage."""
        if self._progress is not None:
            self._progress(name)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = round(time.perf_counter() - start, 4)


def evaluate_suite(
    suite: Suite, source: Source, progress: Progress | None = None, beside: Beside | None = None
) -> Result:
    """Evaluate a checked suite on an open source.

    Args:
        suite: what is asked.
        source: where the rows are.
        progress: called with the name of each stage as it begins.
        beside: what the run is held against beside its own rows.

    Raises:
        ConfigError: the suite does not fit the table, or asks for more slices or memory than it allows.
        DataError: a column is absent or of the wrong type, a value is bad, or there are no rows.
    """
    from plmetrics.engine.budget import budget_of
    from plmetrics.engine.frugal import Watch, memory_settings

    budget, memory = budget_of(suite), Watch.begin()
    with memory_settings(budget):
        result = _evaluated(suite, source, progress, beside)
    caution = memory.exceeded(budget)
    result.record["warnings"] += [] if caution is None else [caution]
    return result


def _evaluated(suite: Suite, source: Source, progress: Progress | None, beside: Beside | None) -> Result:
    """The stages, one after another."""
    from plmetrics.engine.faults import check_rows, reading
    from plmetrics.engine.leakage import leakage_found
    from plmetrics.engine.passes import aggregate
    from plmetrics.engine.prepare import prepare
    from plmetrics.engine.repeated import repeated_sums
    from plmetrics.engine.request import bind
    from plmetrics.gates.leakage import leakage_gates, leakage_table, leakage_warnings
    from plmetrics.gates.verdicts import verdict
    from plmetrics.inference.analysis import corrected
    from plmetrics.inference.kept import units_table, wants_kept

    beside = beside or Beside()
    watch = Stopwatch(progress)
    with watch.stage("prepare"), reading(source):
        bound = bind(suite, source, beside.train, beside.reference)
        check_counts(bound, suite.models, beside.counted)
        uneven = check_rows(suite.data.missing, bound.source, beside.train, beside.reference)
        prepared = prepare(bound)
        request, asked, suite = prepared.request, suite.models, prepared.request.suite
    of_rows = bound if request.pairs_read is not None else request
    found: list[Finding] = []
    if suite.leakage is not None:
        with watch.stage("leakage"), reading(source, beside.train):
            found = leakage_found(of_rows)
    with watch.stage("aggregate"), reading(source):
        aggregated = aggregate(prepared, digested=wants_kept(suite))
        repeated = repeated_sums(prepared)
    drift = drifted(of_rows, bound, asked, watch, beside.counted)
    alike = partial(aggregated.arithmetic, exact=suite.reproducible)
    with watch.stage("order"), reading(source), alike():
        analysis, ordered, curves = estimated(prepared, aggregated)
    with watch.stage("intervals"), reading(source), alike():
        rows = rows_of_tests(prepared)
        units = units_table(aggregated.block_keys, aggregated.units, aggregated.digests)
        made, analysis = inferred(analysis, ordered, repeated, beside, units, rows)
    with watch.stage("tests"), alike():
        made["comparisons"] = tested(made["comparisons"], analysis, rows, made["metrics"], made["folds"])
        made["comparisons"] = corrected(analysis, made["comparisons"]).select(list(COMPARISONS_SCHEMA))
    with watch.stage("search"), reading(source):
        slices_found, searched = searched_slices(suite.model_copy(update={"models": asked}), source)
    leakage = leakage_table(suite, found)
    gates = pl.concat([made["gates"], leakage_gates(leakage), drift.gates])
    record = _record(request, prepared, aggregated, watch) | searched
    record["files"] = list(beside.files) or data_files(source)
    record["warnings"] += [*uneven, *leakage_warnings(leakage), *drift.warnings, *search_warnings(record)]
    record = record if beside.runs is None else beside.runs.added_to(record)
    made |= {"gates": gates, "curves": curves, "leakage": leakage, "drift": drift.table}
    result = Result(
        **made,
        found_slices=slices_found,
        verdict=verdict(gates),
        suite=suite.model_copy(update={"models": asked}),
        record=record,
        drift_state=kept(bound, drift),
    )
    return noted(result, beside.earlier, beside.runs)


def estimated(
    prepared: Prepared, aggregated: Aggregated, counted: Iterator[Any] | None = None
) -> tuple[Analysis, Any, pl.DataFrame]:
    """What is to be estimated from which states, the ordered metrics, and the curves.

    `counted` are the models' scores where a state holds them; else they are read.
    """
    from plmetrics.engine.ranges import models_to_order
    from plmetrics.engine.rows import models_by_row, sliced_rests, sliced_sums
    from plmetrics.inference.analysis import Analysis, SetStates, resampling
    from plmetrics.inference.estimates import Population
    from plmetrics.inference.ordering import ordered_stage, rank_stage, row_curves

    request = prepared.request
    suite = request.suite
    states = zip(
        prepared.slices,
        sliced_sums(prepared, aggregated),
        sliced_rests(prepared, aggregated),
        strict=True,
    )
    sets = [SetStates(*of_set) for of_set in states]
    independent = suite.columns.unit is None and suite.columns.weight is None
    population = Population(
        prepared.populations(), independent, prepared.thresholds, every_row=request.counts_every_row
    )
    weights = resampling(suite, aggregated.units)
    analysis = Analysis(suite, sets, population, request.pairs, weights, aggregated.units)
    models = models_to_order(prepared, aggregated) if counted is None else counted
    ordered, curves = ordered_stage(analysis, models, exact=prepared.exact)
    if request.reads_pairs:
        rows = list(models_by_row(prepared, aggregated))
        ordered |= rank_stage(analysis, rows)
        if request.draws_rows:
            curves = row_curves(analysis, rows, request.roles.classes)
    return analysis, ordered, curves


def inferred(
    analysis: Analysis,
    ordered: Any,
    repeated: Sequence[RepeatedSums],
    beside: Beside,
    units: pl.DataFrame | None = None,
    rows: PairedRows | None = None,
) -> tuple[dict[str, Any], Analysis]:
    """The tables that follow from the estimates, comparisons not yet corrected; and what they are about.

    With `units`, the digests of these by block, replicates are kept beside the tables. `rows` are
    those that tests rank.
    """
    from plmetrics.inference.analysis import tables
    from plmetrics.inference.cross_validation.tables import cross_validated, without_folds
    from plmetrics.inference.kept import Keeper

    folds, cross_validation = cross_validated(analysis, ordered, repeated)
    analysis = without_folds(analysis)
    suite = analysis.suite
    keeper = None if units is None else Keeper(analysis)
    metrics, comparisons = tables(analysis, ordered, keeper)
    comparisons = areas_compared(comparisons, analysis, rows)
    kept = None if keeper is None else keeper.kept(units)
    listed = pl.col("metric").is_in([metric.text for metric in suite.metrics])
    comparisons = with_earlier(comparisons, suite, metrics.filter(listed), kept, beside.earlier)
    made: dict[str, Any] = {
        "kept": kept,
        "metrics": metrics.filter(listed),
        "comparisons": comparisons.filter(listed),
        "gates": judged(analysis, metrics, comparisons, beside.history),
        "folds": folds,
        "cross_validation": cross_validation,
        "decomposition": decomposed(analysis, metrics.filter(listed), kept, beside.earlier),
    }
    return made, analysis


def _record(request: Any, prepared: Any, aggregated: Any, watch: Stopwatch) -> dict[str, Any]:
    from plmetrics.engine.doubts import doubts

    return {
        "constants": prepared.constants(int(aggregated.units.sum())),
        "rows": {
            "read": prepared.rows.read,
            "zero_weight": prepared.rows.zero_weight,
            "used": aggregated.used,
            "dropped": dict(prepared.rows.dropped),
            **({"fitted": prepared.rows.fitted} if request.suite.calibrate else {}),
            **({} if request.pairs_read is None else {"pairs_read": request.pairs_read}),
        },
        "timings": dict(watch.seconds),
        "warnings": [*prepared.warnings, *doubts(prepared, aggregated)],
    }
