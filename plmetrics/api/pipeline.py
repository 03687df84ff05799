"""Stages of a run, in order, over the layers below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import polars as pl

from plmetrics.api.context import RunContext, check_feature_counts, data_files, label_status_of
from plmetrics.api.gates import comparisons_with_tests, delong_tests, gates_table, rows_of_tests
from plmetrics.api.result import Result
from plmetrics.api.stopwatch import Progress, Stopwatch
from plmetrics.core.results import CURVES_SCHEMA, DECOMPOSITION_SCHEMA, TABLES, RecordedRows, RunRecord
from plmetrics.core.threads import within_processors
from plmetrics.engine.inquiry import gather
from plmetrics.engine.memory.budget import budget_of
from plmetrics.engine.memory.settings import Watch, memory_settings, shortage
from plmetrics.features.protocol import Outputs, Run
from plmetrics.features.registry import counting, feature_questions, features_of, rounding

if TYPE_CHECKING:
    from plmetrics.engine.aggregate.aggregation import Aggregates
    from plmetrics.engine.aggregate.paired_rows import PairedRows
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.inference.across_runs.retained_replicates import RunReplicates
    from plmetrics.inference.analysis import OrderedByPlace
    from plmetrics.inference.ordered.stage import ScoresOfModels
    from plmetrics.inference.subject import Analysis
    from plmetrics.suite.model import Suite
    from plmetrics.table.source import Source


def evaluate_suite(
    suite: Suite, source: Source, progress: Progress | None = None, context: RunContext | None = None
) -> Result:
    """Evaluate a checked suite on an open source.

    `progress` is called with the name of each stage as it begins; `context` has inputs
    beside the rows, such as earlier runs.

    Raises:
        ConfigError: the suite does not fit the table, or asks for more slices or memory than it allows.
        DataError: a column is absent or of the wrong type, a value is bad, or there are no rows.
    """
    budget, memory = budget_of(suite), Watch.begin()
    with memory_settings(budget), within_processors():
        result = _run_stages(suite, source, progress, context)
    caution = memory.excess(budget)
    result.record["warnings"] += [] if caution is None else [caution]
    return result


def _run_stages(
    suite: Suite, source: Source, progress: Progress | None, context: RunContext | None
) -> Result:
    """The stages, one after another."""
    from plmetrics.engine.binding.bind import bind
    from plmetrics.engine.faults import check_rows, reading
    from plmetrics.engine.prepare.preparation import prepare

    context = context or RunContext()
    watch = Stopwatch(progress)
    inputs = context.tables.values()
    with watch.stage("prepare"), reading(source, *inputs):
        part = suite if context.where is None else suite.of_part(context.where)
        request = bind(part, source, context.tables, label_status=label_status_of(part, context))
        context = replace(context, counts=check_feature_counts(request, context.counts))
        uneven = check_rows(suite.data.missing, request.source, *inputs)
        questions, is_part = feature_questions(request, context.counts), context.where is not None
        plan = prepare(request, features=questions, adds=True, is_part=is_part)
        if is_part:
            from plmetrics.engine.binding.reference_slices import absence_warnings

            absent = absence_warnings(request.suite, plan.slices)
            plan = replace(plan, warnings=(*plan.warnings, *absent))
        watch.caution(shortage(plan))
        written = {"models": suite.models, "data": suite.data} | (
            {"sections": suite.sections} if is_part else {}
        )
        suite = request.suite
    with watch.stage("aggregate"), reading(source, *inputs):
        aggregated, (counted, large_numbers), scores = _aggregate(plan)
    run = Run(source, plan, context.counts, counted)
    outputs = list(_feature_outputs("aggregate", run, watch, context))
    arithmetic = aggregated.arithmetic
    with watch.stage("order"), reading(source), arithmetic():
        analysis, ordered, curves = estimate(plan, aggregated, scores, watch=watch)
    run = replace(run, analysis=analysis, ordered=ordered)
    with arithmetic():
        outputs += _feature_outputs("order", run, watch, context)
    with watch.stage("intervals"), reading(source), arithmetic():
        rows = rows_of_tests(plan)
        tables, replicates, analysis = infer(analysis, ordered, context, _units(aggregated), rows)
    folds = next((output.tables["folds"] for output in outputs if "folds" in output.tables), None)
    with watch.stage("tests"), arithmetic():
        tables["comparisons"] = comparisons_with_tests(tables, analysis, rows, ordered, folds)
    outputs += _feature_outputs("tests", run, watch, context)
    record = _record(plan, aggregated, tables["metrics"], watch)
    record.update(masses_entry(analysis, analysis.suite))
    record["files"] = list(context.files) or data_files(source)
    if source.version is not None:
        record["table_version"] = source.version
    record["warnings"] += [*uneven, *large_numbers]
    record = with_additions(record, outputs, context)
    suite = suite.model_copy(update=written)
    result = result_of_tables(suite, tables | {"curves": curves}, replicates, outputs, record)
    if suite.compare is not None:
        from plmetrics.api.earlier_run import compare_warnings

        result.record["warnings"] += compare_warnings(result, context.earlier, context.runs)
    return result


def _aggregate(
    plan: RunPlan,
) -> tuple[Aggregates, tuple[Mapping[str, object], list[str]], ScoresOfModels | None]:
    """The sums, the counts of features by key with warnings, and scores where the same pass counts them on a grid."""
    from plmetrics.engine.aggregate.aggregation import aggregate, needs_rows

    counts, digested = gather(counting(plan), rounding(plan)), plan.request.suite.keeps_replicates
    on_grids = None
    if needs_rows(plan) and not plan.exact:
        from plmetrics.engine.order.grid_scores import passes_with_sums

        on_grids = passes_with_sums(plan, digested=digested)
    if on_grids is None:
        return *aggregate(plan, counts, digested=digested), None
    grid_counts, sums = on_grids
    aggregated, counted = aggregate(plan, counts, digested=digested, sums=sums)
    return aggregated, counted, grid_counts.models(aggregated)


def with_additions(record: RunRecord, outputs: Sequence[Outputs], context: RunContext) -> RunRecord:
    """The record with the entries of features and earlier runs."""
    record["warnings"] += [warning for output in outputs for warning in output.warnings]
    record = record if context.runs is None else context.runs.added_to(record)
    if context.interval is not None:
        record["interval"] = context.interval
    of_features = {key: entry for output in outputs for key, entry in output.record.items()}
    return cast("RunRecord", {**record, **of_features})


def result_of_tables(
    suite: Suite,
    tables: dict[str, pl.DataFrame],
    replicates: RunReplicates | None,
    outputs: Sequence[Outputs],
    record: RunRecord,
) -> Result:
    """The result of the tables of a run and of its features, with the verdict of all gates."""
    gates = pl.concat([tables["gates"], *(output.gates for output in outputs if output.gates is not None)])
    added = {name: table for output in outputs for name, table in output.tables.items()}
    return Result(
        **(tables | {name: table for name, table in added.items() if name in TABLES} | {"gates": gates}),
        others={name: table for name, table in added.items() if name not in TABLES},
        verdict=_verdict(gates),
        suite=suite,
        replicates=replicates,
        record=record,
        folder=None,
        drift_state=next((output.state for output in outputs if output.state is not None), None),
    )


def masses_entry(analysis: Analysis, suite: Suite) -> RunRecord:
    """Denominators of means for later decompositions by a suite; nothing where it has none."""
    if suite.compare is None or not suite.compare.decompose:
        return {}
    from plmetrics.inference.across_runs.slice_masses import decomposition_masses

    masses = decomposition_masses(analysis, suite)
    return {"masses": masses} if masses else {}


def _feature_outputs(after: str, run: Run, watch: Stopwatch, context: RunContext) -> Iterator[Outputs]:
    """Additions of the features after a stage."""
    from plmetrics.engine.faults import reading

    for feature in features_of(run.plan.request.suite):
        if feature.after == after:
            name = feature.stage or feature.key
            with watch.stage(name), reading(run.source, *context.tables.values()):
                yield feature.run(run)


def _units(aggregated: Aggregates) -> pl.DataFrame | None:
    """The units by block; None where their digests are unknown."""
    if aggregated.digests is None:
        return None
    from plmetrics.inference.across_runs.retained_replicates import units_table

    return units_table(aggregated.block_keys, aggregated.units, aggregated.digests)


def _verdict(gates: pl.DataFrame) -> str:
    if gates.is_empty():
        return "none"
    from plmetrics.gates.verdicts import verdict

    return verdict(gates)


def estimate(
    plan: RunPlan,
    aggregated: Aggregates,
    counted: ScoresOfModels | None = None,
    watch: Stopwatch | None = None,
) -> tuple[Analysis, OrderedByPlace, pl.DataFrame]:
    """Subject of the estimation, the ordered metrics, and the curves.

    `counted` are the models' scores from a state, or from the pass of the sums; without them rows are read. `watch`
    is told of each model.
    """
    from plmetrics.engine.aggregate.aggregation import needs_rows, sliced_complements, sliced_sums
    from plmetrics.inference.analysis import resampling
    from plmetrics.inference.chunks import Population
    from plmetrics.inference.subject import Analysis, SetStates

    request = plan.request
    suite = request.suite
    states = zip(
        plan.slices,
        sliced_sums(plan, aggregated.sums),
        sliced_complements(plan, aggregated.sums),
        strict=True,
    )
    sets = [SetStates(*of_set) for of_set in states]
    weights = resampling(suite, aggregated.units)
    if weights is not None and suite.uncertainty is not None and suite.uncertainty.thresholds == "resampled":
        from plmetrics.inference.moving_thresholds import with_threshold_replicates

        sets = with_threshold_replicates(sets, plan, aggregated.block_keys, weights)
    independent = suite.columns.unit is None and not suite.has_weights
    units = aggregated.units
    population = Population(
        plan.populations(),
        independent,
        None if units is None or units.max(initial=1) < 2 else len(units),
        plan.thresholds,
        every=plan.every_populations(),
        scored=plan.scored_populations(),
        label_free=request.label_free,
        label_status=request.label_status,
        score_free=plan.score_free() if request.pairs else frozenset(),
    )
    contrasts = any(feature.compares(suite) for feature in features_of(suite))
    analysis = Analysis(suite, sets, population, request.pairs, weights, aggregated.units, contrasts)
    sum_curves = _sum_curves(analysis)
    bin_curves = _bin_curves(analysis, plan, aggregated)
    if not needs_rows(plan):
        return analysis, {}, pl.concat([bin_curves, sum_curves])
    ordered, curves = _ordered_values(analysis, plan, aggregated, counted, watch)
    return analysis, ordered, pl.concat([bin_curves, curves, sum_curves])


def _sum_curves(analysis: Analysis) -> pl.DataFrame:
    suite = analysis.suite
    if len(suite.row_curves) + len(suite.bin_curves) == len(suite.curves):
        return CURVES_SCHEMA.to_frame()
    if analysis.suite.task == "binary":
        from plmetrics.inference.curves.forecasts import confusion_curve

        return confusion_curve(analysis)
    from plmetrics.inference.curves.forecasts import forecast_curves

    return forecast_curves(analysis)


def _bin_curves(analysis: Analysis, plan: RunPlan, aggregated: Aggregates) -> pl.DataFrame:
    if aggregated.bins is None:
        return CURVES_SCHEMA.to_frame()
    from plmetrics.engine.aggregate.bin_values import set_places
    from plmetrics.inference.curves.row_bins import row_bin_curves

    places, classes = set_places(plan), plan.request.classes
    return row_bin_curves(analysis, aggregated.bins, places, classes, aggregated.block_keys)


def _ordered_values(
    analysis: Analysis,
    plan: RunPlan,
    aggregated: Aggregates,
    counted: ScoresOfModels | None,
    watch: Stopwatch | None,
) -> tuple[OrderedByPlace, pl.DataFrame]:
    from plmetrics.engine.order.by_ranges import models_to_order
    from plmetrics.engine.order.in_memory import models_by_row
    from plmetrics.inference.ordered.stage import ordered_stage, rank_stage

    request = plan.request
    models: ScoresOfModels = models_to_order(plan, aggregated) if counted is None else counted
    if watch is not None:
        models = watch.each_model(models, len(analysis.models), plan.rows.read)
    classes, spans = request.classes, plan.score_spans
    ordered, curves = ordered_stage(analysis, models, exact=plan.exact, classes=classes, spans=spans)
    if request.ranks:
        ordered |= rank_stage(analysis, list(models_by_row(plan, aggregated)))
    return ordered, curves


def infer(
    analysis: Analysis,
    ordered: OrderedByPlace,
    context: RunContext,
    units: pl.DataFrame | None = None,
    rows: PairedRows | None = None,
) -> tuple[dict[str, pl.DataFrame], RunReplicates | None, Analysis]:
    """The tables of the estimates, comparisons not yet corrected; the replicates to retain; and their subject.

    Replicates are retained where `units` has the digests of units by block. `rows` are those that tests rank.
    """
    from plmetrics.inference.analysis import tables
    from plmetrics.inference.subject import base_analysis

    analysis = base_analysis(analysis)
    suite = analysis.suite
    keeper = None
    if units is not None:
        from plmetrics.inference.across_runs.retained_replicates import Keeper

        keeper = Keeper(analysis)
    metrics, comparisons = tables(analysis, ordered, keeper)
    comparisons = delong_tests(comparisons, analysis, rows)
    replicates = None if keeper is None else keeper.replicates(units)
    listed = pl.col("metric").is_in([metric.text for metric in suite.metrics])
    decomposition = DECOMPOSITION_SCHEMA.to_frame()
    if suite.compare is not None:
        from plmetrics.api.earlier_run import across_runs

        requested = metrics.filter(listed)
        comparisons, decomposition = across_runs(
            analysis, comparisons, requested, replicates, context.earlier
        )
    run_tables = {
        "metrics": metrics.filter(listed),
        "comparisons": comparisons.filter(listed),
        "gates": gates_table(analysis, metrics, comparisons, context.history, context.bands),
        "decomposition": decomposition,
    }
    return run_tables, replicates, analysis


def recorded_rows(plan: RunPlan, aggregated: Aggregates) -> RecordedRows:
    """The account of rows in the record of a run."""
    from plmetrics.engine.aggregate.aggregation import unlabelled_rows

    rows: RecordedRows = {
        "read": plan.rows.read,
        "zero_weight": plan.rows.zero_weight,
        "used": aggregated.used,
        "dropped": dict(plan.rows.dropped),
    }
    unlabelled = unlabelled_rows(plan, aggregated)
    if unlabelled is not None:
        rows["unlabelled"] = unlabelled
    if plan.request.suite.calibrate:
        rows["fitted"] = plan.rows.fitted
    if plan.rows.pairs is not None:
        rows["pairs_read"] = plan.rows.pairs
    return rows


def _record(plan: RunPlan, aggregated: Aggregates, metrics: pl.DataFrame, watch: Stopwatch) -> RunRecord:
    from plmetrics.diagnostics.run_warnings import run_warnings

    return {
        "constants": plan.constants(int(aggregated.units.sum())),
        "rows": recorded_rows(plan, aggregated),
        "timings": dict(watch.seconds),
        "warnings": [*plan.warnings, *run_warnings(plan, aggregated, metrics)],
    }
