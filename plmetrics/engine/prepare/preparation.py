"""The second stage of a run: questions to the rows, whose answers are the run's constants.

Slice values, the number of units and rows, centres of labels: what waits for no answer is asked in one scan. What
nothing asks for is not looked up, and modules of questions that few suites ask are imported where they are asked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.errors import AbsentDataError, Problem
from plmetrics.engine.inquiry import Inquiry, constant_question, frames_by_name, together
from plmetrics.engine.memory.budget import sorts_in_memory
from plmetrics.engine.prepare.constants import BaselinePart, Calibration, Constants, ThresholdChoice
from plmetrics.engine.prepare.slices import found_slices, key_codes, settle_keys, slice_plans
from plmetrics.engine.prepared import Accounting, Blocks, Prepared, rows_of, units_of_rows
from plmetrics.engine.step import Step
from plmetrics.suite.sections.basics import BASELINE
from plmetrics.table.roles import (
    UNIT,
    WEIGHT,
    prediction_table,
    unchecked_table,
)
from plmetrics.table.slices import plan_cubes
from plmetrics.table.units import OWN_BLOCK_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from plmetrics.core.results import Json
    from plmetrics.engine.inquiry import Question
    from plmetrics.engine.request import Request
    from plmetrics.table.roles import PredictionTable

    Looks = Callable[[Request], Question[Mapping[str, object]]]

MAX_CELLS = 1_000_000


def prepare(request: Request, constants: Constants | None = None, looks: Looks | None = None) -> Prepared:
    """Find the constants of a run, or take them from another, whose slices and classes the request has then.

    Args:
        request: the suite as it was bound.
        constants: those of another run.
        looks: what features must know of the rows, given what is evaluated with rows as they are in the data.

    Raises:
        AbsentDataError: there are no rows.
        ConfigError: there are more slices than `max_slices`.
    """
    bound, inquiry = request, Inquiry(request.steps)
    known: Mapping[str, object] = {}
    calibrated = inquiry.answer(_calibration(request))
    request, models = calibrated.request, _baseline_part(calibrated.request)
    if request.suite.task == "ranking":
        from plmetrics.engine.ranking.queries import by_query

        bound_models = inquiry.answer(models)
        ranked = together(by_query(bound_models.request), _feature_looks(looks, bound))
        request, known = inquiry.answer(ranked, stage="rank")
        models, looks = constant_question(replace(bound_models, request=request)), None
    table = prediction_table(request.raw, request.schema, request.roles)
    rows, looked_up, units = inquiry.answer(
        together(
            _accounting(request, table),
            _look_up(request, models, looks, centres=constants is None),
            _different_units(request, table),
        )
    )
    request = looked_up.request
    table = prediction_table(request.raw, request.schema, request.roles)
    rows = replace(rows, fitted=calibrated.left_out)
    slices = found_slices(request, looked_up.values)
    if request.suite.slices:
        from plmetrics.engine.binding.reference_slices import check_references

        check_references(request.suite, slices.slices)
    blocks = _blocks(request, table, rows, units, inquiry)
    count = 1 if blocks is None else (blocks.modulus or OWN_BLOCK_LIMIT)
    cubes = plan_cubes(slices.slices, key_codes(request, slices), count, MAX_CELLS)
    exact = sorts_in_memory(request, rows.read, len(cubes))
    if constants is None:
        centres = _by_model(request, looked_up.means)
        chosen = inquiry.answer(_thresholds(request))
    else:
        centres = {model: dict(constants.centres[model]) for model in request.models}
        chosen = ThresholdChoice(constants.thresholds, ())
    prepared = Prepared(
        request,
        table,
        slices.slices,
        tuple(cubes),
        rows,
        blocks,
        centres,
        chosen.values,
        exact,
        (*calibrated.warnings, *chosen.warnings, *slices.warnings),
        _model_origins(calibrated.constants, looked_up.baseline),
        grids=None if constants is None else constants.grids,
        looks={**known, **looked_up.looks},
        score_spans=looked_up.spans if constants is None else constants.score_spans,
    )
    if request.arithmetic.any_order:
        from plmetrics.engine.prepare.exponents import with_exponents

        prepared = inquiry.answer(with_exponents(prepared, constants))
    return replace(prepared, steps=tuple(inquiry.steps))


def _calibration(request: Request) -> Question[Calibration]:
    """The request with classes and calibrated models."""
    if request.suite.task == "multiclass" and not request.roles.classes:
        from plmetrics.engine.prepare.classes import with_classes

        request = yield from with_classes(request)
    if not request.suite.calibrate:
        return Calibration(request, {})
    from plmetrics.engine.prepare.calibrators import with_calibrators

    return (yield from with_calibrators(request))


def _baseline_part(request: Request) -> Question[BaselinePart]:
    if not request.suite.baseline:
        return constant_question(BaselinePart(request, {}))
    from plmetrics.engine.prepare.baseline import with_baseline

    return with_baseline(request)


def _thresholds(request: Request) -> Question[ThresholdChoice]:
    if all(metric.chosen_threshold is None for metric in request.leaves):
        return constant_question(ThresholdChoice({model: {} for model in request.models}, ()))
    from plmetrics.engine.prepare.thresholds import choose_thresholds

    return choose_thresholds(request)


@dataclass(frozen=True, slots=True)
class _LookUps:
    """A request with models and settled keys; the baseline, means, slices, ends of histograms, looks of features."""

    request: Request
    baseline: Mapping[str, float]
    means: Mapping[str, float]
    values: Mapping[str, pl.DataFrame]
    spans: Mapping[str, tuple[float, float]]
    looks: Mapping[str, object]


def _look_up(
    request: Request, models: Question[BaselinePart], looks: Looks | None, *, centres: bool
) -> Question[_LookUps]:
    """Add the baseline and settle slice keys; then find means, if asked for, slices, and what features ask."""
    based, keyed = yield from together(models, settle_keys(request))
    request = based.request.with_keys({key.column: key for key in keyed.roles.keys})
    table = prediction_table(request.raw, request.schema, request.roles)
    plans = slice_plans(request, table.scored, every_key(request, table))
    unknown = together(_means(request, table, needed=centres), _spans(request, table, needed=centres))
    (means, spans), values, known = yield from together(
        unknown, frames_by_name(plans), _feature_looks(looks, request)
    )
    return _LookUps(request, based.constants, means, values, spans, known)


def _feature_looks(looks: Looks | None, request: Request) -> Question[Mapping[str, object]]:
    """What features know of the rows, by key."""
    return constant_question({}) if looks is None else looks(request)


def _spans(
    request: Request, table: PredictionTable, *, needed: bool
) -> Question[Mapping[str, tuple[float, float]]]:
    """The ends of histograms of scores; of classes these are those of probabilities."""
    suite = request.suite
    drawn = any(curve.curve == "score_histogram" for curve in suite.curves)
    if not drawn or suite.task != "binary" or not needed:
        return constant_question({})
    from plmetrics.engine.prepare.score_spans import score_spans

    return score_spans(request, table)


def _means(request: Request, table: PredictionTable, *, needed: bool) -> Question[dict[str, float]]:
    """The means that moments are about, by `model|key`."""
    values = {value.key: value for metric in request.sums for value in metric.centres()}
    if not values or not needed:
        return {}
    numbers = {
        f"{model}|{key}": value.build(rows_of(model, table))
        for model in table.models
        for key, value in values.items()
    }
    return (yield from request.arithmetic.means(table.frame, numbers))


def _different_units(request: Request, table: PredictionTable) -> Question[pl.Series | None]:
    """The units, each once; None where rows are units, or units are counted by batch."""
    if request.suite.uncertainty is None or request.unit_rows or _by_batch(request):
        return None
    (units,) = yield [_units_of_rows(request, table).unique()]
    return units[UNIT].drop_nulls()


def _by_batch(request: Request) -> bool:
    from plmetrics.engine.prepare.units import counts_by_batch

    return counts_by_batch(request)


def _units_of_rows(request: Request, table: PredictionTable) -> pl.LazyFrame:
    return (table.every if request.counts_every_row else table.frame).select(pl.col(UNIT))


def every_key(request: Request, table: PredictionTable) -> pl.LazyFrame:
    """The keys of all rows of a weight, also of those that are left out."""
    if request.suite.data.missing == "error" or request.suite.task == "ranking":
        return table.scored
    columns = {key.column: key.expression for key in request.roles.keys}
    if request.roles.weight is None:
        return request.raw.select(**columns)
    weight = pl.col(request.roles.weight).cast(pl.Float64)
    return request.raw.filter((weight != 0).fill_null(value=True)).select(**columns)


def _model_origins(calibrators: Mapping[str, Json], baseline: Mapping[str, float]) -> dict[str, Json]:
    """What models that the run adds were made from."""
    further = {"calibrators": calibrators, "baseline": baseline}
    return {name: dict(values) for name, values in further.items() if values}


def _by_model(request: Request, values: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Constants by model and key, of those that are named `model|key`."""
    centres: dict[str, dict[str, float]] = {model: {} for model in request.models}
    for name, value in values.items():
        model, key = name.split("|", 1)
        centres[model][key] = value
    return centres


def _accounting(request: Request, table: PredictionTable) -> Question[Accounting]:
    """How many rows are read and left out, for each model and the baseline; counted unless the files say it.

    Raises:
        AbsentDataError: there are no rows.
    """
    suite = request.suite
    complete = suite.columns.weight is None and suite.data.missing == "error"
    counts: dict[str, Any] = {"read": request.source.rows}
    if not complete or request.where is not None or request.source.rows is None:
        (counted,) = yield [_row_count(request, table, complete=complete)]
        counts = counted.row(0, named=True)
    if not counts["read"]:
        where = suite.data.where if request.source.rows != 0 else None
        message = "the table has no rows" if where is None else f"no row satisfies where: {where}"
        raise AbsentDataError(Problem(message, ("data", "where" if suite.data.where else "path")))
    dropped = {model: counts.get(f"dropped|{model}", 0) for model in _all_models(request)}
    return Accounting(counts["read"], counts.get("zero_weight", 0), dropped)


def _all_models(request: Request) -> tuple[str, ...]:
    """The models with the baseline, where it is asked for."""
    added = (BASELINE,) if request.suite.baseline else ()
    return tuple(dict.fromkeys((*request.models, *added)))


def _row_count(request: Request, table: PredictionTable, *, complete: bool) -> pl.LazyFrame:
    """The count of rows; where none is left out, from the plan that the other constants come from."""
    if complete:
        return table.scored.select(pl.len().cast(pl.Int64).alias("read"))
    frame = unchecked_table(request.raw, request.schema, request.roles)
    checks = prediction_table(request.raw, request.schema, request.roles).checks
    present = (pl.col(WEIGHT) != 0).fill_null(value=True) if request.roles.weight else pl.lit(value=True)
    counts = [pl.len().alias("read")]
    if request.roles.weight:
        counts.append((~present).sum().alias("zero_weight"))
    if request.suite.data.missing != "error":
        apart = request.suite.data.missing == "drop_per_model"
        for model in _all_models(request):
            bad = [pl.col(c.column_name) for c in checks if not apart or c.model in {None, model}]
            counts.append((present & pl.any_horizontal(bad)).sum().alias(f"dropped|{model}"))
    return frame.select(part.cast(pl.Int64) for part in counts)


def _blocks(
    request: Request, table: PredictionTable, rows: Accounting, units: pl.Series | None, inquiry: Inquiry
) -> Blocks | None:
    uncertainty = request.suite.uncertainty
    if uncertainty is None:
        return None
    if request.unit_rows:
        return Blocks(None if units_of_rows(request, rows) <= OWN_BLOCK_LIMIT else uncertainty.blocks)
    from plmetrics.engine.prepare.units import counted_units, unit_blocks

    if units is not None:
        return unit_blocks(units.to_numpy(), uncertainty.blocks)
    every = _units_of_rows(request, table)
    inquiry.steps.append(Step("prepare", (every,)))
    return counted_units(request, every, uncertainty.blocks)
