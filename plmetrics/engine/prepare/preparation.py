"""Second stage of a run: questions about the rows, with the run's constants as answers.

Slice values, the number of units and rows, centres of labels: what waits for no answer is asked in one scan. What
nothing asks for is not looked up, and modules of questions that few suites ask are imported where they are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.errors import AbsentDataError
from plmetrics.core.hashing import OWN_BLOCK_LIMIT
from plmetrics.core.ops import Array
from plmetrics.engine.inquiry import Inquiry, Question, Step, constant_question, frames_by_name, gather
from plmetrics.engine.memory.budget import separates_scans, sorts_in_memory
from plmetrics.engine.prepare.constants import (
    Calibration,
    Constants,
    ThresholdChoice,
    constant_thresholds,
    suite_thresholds,
)
from plmetrics.engine.prepare.slices import every_key, key_codes, list_slices, resolve_keys, slice_plans
from plmetrics.engine.run_plan import Accounting, Blocks, RunPlan, SliceSums, rows_of, units_of_rows
from plmetrics.engine.streaming import SAMPLE_ROWS
from plmetrics.suite.sections.basics import BASELINE
from plmetrics.table.checks import exclusion
from plmetrics.table.prediction_columns import UNIT, WEIGHT, PredictionColumns
from plmetrics.table.prediction_table import PredictionTable, unchecked_table
from plmetrics.table.slices import plan_cubes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from plmetrics.core.results import Json
    from plmetrics.engine.prepare.slice_sums import KeyValues
    from plmetrics.engine.request import Request, TableView

    FeatureQuestions = Callable[[TableView], Question[Mapping[str, object]]]

MAX_CELLS = 1_000_000


def prepare(
    request: Request,
    constants: Constants | None = None,
    features: FeatureQuestions | None = None,
    *,
    adds: bool = False,
    is_part: bool = False,
) -> RunPlan:
    """Look up the constants of a run in its rows, or take them from another run with the same classes.

    `features` are questions of features about the rows, as a function of the view of the rows in the data. With `adds`
    the sums of the run are added at once, where slice values follow from them. With `is_part` other rows are added
    later: slices that are referred to may all be among those.

    Raises:
        AbsentDataError: there are no rows.
        ConfigError: there are more slices than `max_slices`.
    """
    inquiry = Inquiry(request.steps, separate=separates_scans(request.view))
    start = _start(request, constants, features, inquiry)
    table = start.view.table()
    rows, looked_up, near = inquiry.answer(
        gather(
            _accounting(request, start.view, table),
            _look_up(request, start, constants, adds=adds),
            _forms_of_texts(request.view),
        )
    )
    view = looked_up.view
    table, slices = looked_up.table, list_slices(view, looked_up.values)
    if request.suite.slices and not is_part:
        from plmetrics.engine.binding.reference_slices import check_references

        check_references(request.suite, slices.slices)
    blocks = _blocks(request, table, rows, looked_up.units, inquiry)
    count = 1 if blocks is None else (blocks.modulus or OWN_BLOCK_LIMIT)
    # Where rows may come in any order, how many values a unit has must not show in sums.
    crossed = 0 if request.arithmetic.any_order else MAX_CELLS
    cubes = plan_cubes(slices.slices, key_codes(view.roles, slices), count, crossed)
    exact = sorts_in_memory(request, rows.read, len(cubes))
    chosen = inquiry.answer(_thresholds(request, view, constants))
    plan = RunPlan(
        request,
        view,
        table,
        slices.slices,
        tuple(cubes),
        replace(rows, fitted=start.calibration.fitted_rows, pairs=start.pairs),
        blocks,
        looked_up.centres,
        chosen.values,
        exact,
        (*near, *start.warnings, *start.calibration.warnings, *chosen.warnings, *slices.warnings),
        model_origins(start.calibration.constants, looked_up.baseline),
        grids=None if constants is None else constants.grids,
        countings=looked_up.countings,
        score_spans=looked_up.spans,
        bin_edges=inquiry.answer(_bin_edges(view, table, rows, blocks, constants)),
        slice_sums=looked_up.sums if len(cubes) == 1 else None,
    )
    if request.arithmetic.any_order:
        from plmetrics.engine.prepare.exponents import with_exponents

        plan = inquiry.answer(with_exponents(plan, constants))
    return replace(plan, steps=tuple(inquiry.steps))


@dataclass(frozen=True, slots=True)
class _Start:
    """The rows with calibrated models, and the questions to ask together with others.

    In a ranking the rows are queries by now, made of so many `pairs`, and `known` are the constants of features.
    """

    view: TableView
    calibration: Calibration
    baseline: Question[Mapping[str, float]]
    features: FeatureQuestions | None
    known: Mapping[str, object] = field(default_factory=dict)
    pairs: int | None = None
    warnings: tuple[str, ...] = ()


def _start(
    request: Request, constants: Constants | None, features: FeatureQuestions | None, inquiry: Inquiry
) -> _Start:
    view = request.view
    if constants is not None:
        from plmetrics.engine.prepare.constants import pinned_keys

        view = view.with_keys(pinned_keys(view.roles.keys, constants.keys, view.schema))
    calibration = inquiry.answer(_calibration(view, constants))
    view, baseline = calibration.view, _baseline(calibration.view, constants)
    if request.suite.task != "ranking":
        return _Start(view, calibration, baseline, features)
    from plmetrics.engine.ranking.queries import by_query

    values = inquiry.answer(baseline)
    asked = gather(by_query(request, with_baseline(view, values)), _feature_countings(features, view))
    (view, pairs, words), known = inquiry.answer(asked, stage="rank")
    return _Start(view, calibration, constant_question(values), None, known, pairs, words)


def _calibration(view: TableView, constants: Constants | None) -> Question[Calibration]:
    if not view.suite.calibrate:
        return constant_question(Calibration(view, {}))
    from plmetrics.engine.prepare.calibrators import with_calibrators

    return with_calibrators(view, None if constants is None else constants.calibrators)


def _baseline(view: TableView, constants: Constants | None) -> Question[Mapping[str, float]]:
    """Constants of the baseline by part; empty without one."""
    if constants is not None or not view.suite.baseline:
        return constant_question({} if constants is None else constants.baseline)
    from plmetrics.engine.prepare.baseline import baseline_values

    return baseline_values(view)


def with_baseline(view: TableView, values: Mapping[str, float]) -> TableView:
    """The view with the baseline at the end of its models, where one is asked for; queries have it already."""
    if not values or BASELINE in view.roles.models:
        return view
    expressions = {part: pl.lit(value) for part, value in values.items()}
    return view.with_model(BASELINE, PredictionColumns(dict.fromkeys(values, view.roles.label), expressions))


def with_stored_models(view: TableView, constants: Constants) -> TableView:
    """View with the models of another run: calibrated ones, and the baseline."""
    if constants.calibrators:
        from plmetrics.engine.prepare.calibrators import with_stored_calibrators

        view = with_stored_calibrators(view, constants.calibrators).view
    return with_baseline(view, constants.baseline)


def _thresholds(request: Request, view: TableView, constants: Constants | None) -> Question[ThresholdChoice]:
    known = constant_thresholds(request, constants)
    if known is not None:
        return constant_question(ThresholdChoice(known, ()))
    from plmetrics.engine.prepare.thresholds import choose_thresholds

    return choose_thresholds(request, view, suite_thresholds(request.suite.models))


@dataclass(frozen=True, slots=True)
class _LookUps:
    """View with all models and settled keys, its table and baseline, and what is known of the rows.

    Units are those of all models: a baseline has rows where no other model has any.
    """

    view: TableView
    table: PredictionTable
    baseline: Mapping[str, float]
    centres: Mapping[str, Mapping[str, float]]
    values: Mapping[str, pl.DataFrame]
    spans: Mapping[str, tuple[float, float]]
    countings: Mapping[str, object]
    units: NDArray[np.uint64] | None
    sums: SliceSums | None


def _look_up(
    request: Request, start: _Start, constants: Constants | None, *, adds: bool
) -> Question[_LookUps]:
    """Look up the baseline and the final slice keys; then centres, slices, and the constants of features."""
    baseline, keys = yield from gather(start.baseline, resolve_keys(start.view))
    view = with_baseline(start.view, baseline).with_keys(keys)
    table = view.table()
    plans = slice_plans(view, table.scored, every_key(view, table))
    centring = _centres(request, table, constants)
    others = gather(
        _spans(request, table, constants),
        _feature_countings(start.features, view),
        _different_units(request, view),
    )
    values_of_keys: Question[KeyValues] = _values_alone(plans)
    thresholds = constant_thresholds(request, constants)
    alone = start.features is None and not start.known
    if plans and alone and thresholds is not None and request.adds_at_once:
        from plmetrics.engine.prepare.slice_sums import has_few_slices, slice_sums

        centres, has_few = yield from gather(centring, has_few_slices(request, view, table))
        centring = constant_question(centres)
        if has_few:
            values_of_keys = slice_sums(request, view, table, centres, thresholds, plans, adds=adds)
    centres, (values, sums), (spans, known, units) = yield from gather(centring, values_of_keys, others)
    return _LookUps(view, table, baseline, centres, values, spans, {**start.known, **known}, units, sums)


def _values_alone(plans: Mapping[str, pl.LazyFrame]) -> Question[KeyValues]:
    return (yield from frames_by_name(plans)), None


def _feature_countings(features: FeatureQuestions | None, view: TableView) -> Question[Mapping[str, object]]:
    """Answers to the questions of features about the rows, by key."""
    return constant_question({}) if features is None else features(view)


def _spans(
    request: Request, table: PredictionTable, constants: Constants | None
) -> Question[Mapping[str, tuple[float, float]]]:
    """The ends of histograms of scores; of classes these are those of probabilities."""
    if constants is not None:
        return constant_question(constants.score_spans)
    drawn = any(curve.curve == "score_histogram" for curve in request.suite.curves)
    if not drawn or request.suite.task != "binary":
        return constant_question({})
    from plmetrics.engine.prepare.bin_edges import score_spans

    return score_spans(request.models, table)


def _bin_edges(
    view: TableView,
    table: PredictionTable,
    rows: Accounting,
    blocks: Blocks | None,
    constants: Constants | None,
) -> Question[Mapping[str, Array]]:
    """Edges of the bins for curves of labels and predictions."""
    curves = [curve.curve for curve in view.suite.bin_curves]
    if constants is not None or not curves:
        return constant_question({} if constants is None else constants.bin_edges)
    from plmetrics.engine.prepare.bin_edges import bin_edges
    from plmetrics.states.bin_sums import tables_of

    return bin_edges(view, table, tables_of(curves, blocks=blocks is not None), rows.read)


def _centres(
    request: Request, table: PredictionTable, constants: Constants | None
) -> Question[Mapping[str, Mapping[str, float]]]:
    """Centres of moments, by model and key: means of the first rows, or of all in any order."""
    if constants is not None:
        return constants.centres
    values = {value.key: value for metric in request.sums for value in metric.centres()}
    centres: dict[str, dict[str, float]] = {model: {} for model in request.models}
    if values:
        numbers = {
            f"{model}|{key}": value.build(rows_of(model, table))
            for model in table.models
            for key, value in values.items()
        }
        arithmetic = request.arithmetic
        # A mean of k of n rows is at most sqrt(n / k) standard deviations off; `recentre` sees to more than 100.
        rows = table.frame if arithmetic.any_order else table.frame.head(SAMPLE_ROWS)
        for name, mean in (yield from arithmetic.means(rows, numbers)).items():
            model, key = name.split("|", 1)
            centres[model][key] = mean
    return centres


def _different_units(request: Request, view: TableView) -> Question[NDArray[np.uint64] | None]:
    """The hashes of the units, each once; None where rows are units, or units are counted by batch."""
    if request.suite.uncertainty is None or request.unit_rows:
        return None
    from plmetrics.engine.prepare.units import different_units

    return (
        yield from different_units(
            view, lambda unit: _units_of_rows(request, view.table(replace(view.roles, unit=unit)))
        )
    )


def _forms_of_texts(view: TableView) -> Question[list[str]]:
    """See that rows that are ordered by texts are in the order of time; warnings of labels near the positive one."""
    if any(need.needs_order for need in view.roles.requirements):
        from plmetrics.engine.prepare.text_forms import check_time_forms

        yield from check_time_forms(view)
    if not isinstance(view.suite.positive, str):
        return []
    from plmetrics.engine.prepare.text_forms import near_positive_labels

    return (yield from near_positive_labels(view))


def _units_of_rows(request: Request, table: PredictionTable) -> pl.LazyFrame:
    return (table.all_rows if request.counts_every_row else table.frame).select(pl.col(UNIT))


def model_origins(calibrators: Mapping[str, Json], baseline: Mapping[str, float]) -> dict[str, Json]:
    """Origins of the models added by the run."""
    further = {"calibrators": calibrators, "baseline": baseline}
    return {name: dict(values) for name, values in further.items() if values}


def _accounting(request: Request, view: TableView, table: PredictionTable) -> Question[Accounting]:
    """Numbers of rows read and left out for each model; counted unless the files have them."""
    suite = request.suite
    per_model = any(model.has_own_rows for model in suite.models.values())
    complete = suite.columns.weight is None and suite.data.missing == "error" and not per_model
    counts: dict[str, Any] = {"read": view.source.rows}
    if not complete or view.where is not None or view.source.rows is None:
        every = [view.raw.select(pl.len().cast(pl.Int64).alias("read"))] if view.roles.derivations else []
        counted, *whole = yield [_row_count(request, view, table, complete=complete), *every]
        counts = counted.row(0, named=True)
        if whole:  # scales are of the rows with a weight: the others were not counted
            read = whole[0]["read"].item()
            counts |= {"read": read, "zero_weight": read - counts["read"]}
    if not counts["read"]:
        raise AbsentDataError.without_rows(suite.data.where if view.source.rows != 0 else None)
    dropped = {model: counts.get(f"dropped|{model}", 0) for model in request.models}
    return Accounting(counts["read"], counts.get("zero_weight", 0), dropped)


def _row_count(request: Request, view: TableView, table: PredictionTable, *, complete: bool) -> pl.LazyFrame:
    """Count of rows; if none is excluded, from the plan of the other constants."""
    if complete:
        return table.scored.select(pl.len().cast(pl.Int64).alias("read"))
    frame = unchecked_table(view.raw, view.schema, view.roles)
    roles, per_model = view.roles, any(model.has_own_rows for model in request.suite.models.values())
    shared = roles.weight is not None and not per_model
    present = (pl.col(WEIGHT) != 0).fill_null(value=True) if shared else pl.lit(value=True)
    counts = [pl.len().alias("read")]
    if shared:
        counts.append((~present).sum().alias("zero_weight"))
    for model in request.models if per_model or request.suite.data.missing != "error" else ():
        weight = roles.weight_of(model) if per_model else None
        dropped = present & exclusion(table.checks, request.suite.data.missing, model, weight)
        counts.append(dropped.sum().alias(f"dropped|{model}"))
    return frame.select(part.cast(pl.Int64) for part in counts)


def _blocks(
    request: Request,
    table: PredictionTable,
    rows: Accounting,
    units: NDArray[np.uint64] | None,
    inquiry: Inquiry,
) -> Blocks | None:
    uncertainty = request.suite.uncertainty
    if uncertainty is None:
        return None
    if request.unit_rows:
        return Blocks(None if units_of_rows(request, rows) <= OWN_BLOCK_LIMIT else uncertainty.blocks)
    from plmetrics.engine.prepare.units import counted_units, unit_blocks

    if units is not None:
        return unit_blocks(units, uncertainty.blocks)
    every = _units_of_rows(request, table)
    inquiry.steps.append(Step("prepare", (every,)))
    return counted_units(request.suite, every, uncertainty.blocks)
