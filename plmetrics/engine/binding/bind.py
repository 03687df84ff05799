"""A suite bound to a source: columns, expressions and types resolved and checked on zero rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.catalogue.metric import Facts, Metric, leaves
from plmetrics.core.errors import AbsentDataError, Collected
from plmetrics.core.hashing import unit_hash
from plmetrics.core.rowsql import compile_row
from plmetrics.engine.binding.models import (
    calibrated_probabilities,
    classes_of,
    predicted_models,
    with_levels,
)
from plmetrics.engine.inquiry import Inquiry
from plmetrics.engine.memory.budget import refuse_rows
from plmetrics.engine.request import OVERALL, Request, TableView, unit_column
from plmetrics.features.registry import features_of
from plmetrics.suite.sections.basics import BY_FOLD, Columns, Data
from plmetrics.table.checks import Requirement, each_once, require_numbers
from plmetrics.table.prediction_columns import PredictionColumns, RoleColumns, require
from plmetrics.table.prediction_table import prediction_table
from plmetrics.table.slices import SliceSet
from plmetrics.table.source import ROW_KEY, Source

if TYPE_CHECKING:
    from plmetrics.suite.model import Suite
    from plmetrics.suite.sections.labels import LabelStatus
    from plmetrics.table.prediction_columns import Transform
    from plmetrics.table.slice_keys import SliceKey


def bind(
    suite: Suite,
    source: Source,
    tables: Mapping[str, Source] | None = None,
    classes: tuple[str, ...] | None = None,
    label_status: LabelStatus = "unlabelled",
) -> Request:
    """Resolve columns, predicates and types against the source, on zero rows.

    Only a long table, and a label whose classes nobody names, are read; `classes` are those of another run, empty to
    leave them open. `tables` are those of features, by key, `label_status` the status of slices without labels.

    Raises:
        DataError: there are no rows, or columns are absent or of a type their role cannot take; all are named.
        ConfigError: an expression does not fit the columns' types.
    """
    if source.rows == 0:
        raise AbsentDataError.without_rows(suite.data.where if source.kind == "query" else None)
    apart = suite.task in {"quantile", "regression"} and not suite.reads_other_rows
    if suite.expressions:
        from plmetrics.engine.binding.row_expressions import derivable_columns, derived_columns

        source = derived_columns(suite.expressions, source)
        tables = {key: derivable_columns(suite.expressions, table) for key, table in (tables or {}).items()}
    if suite.labels is not None:
        source = source.with_absent(suite.columns.label)
    inquiry = Inquiry()
    conflicts: AbstractContextManager[None] = nullcontext()
    if suite.data.long is not None:
        from plmetrics.engine.binding.long_form import explain_conflicts, wide_table

        source = inquiry.answer(wide_table(source, suite.data.long, suite.data.where, every=not apart))
        conflicts = explain_conflicts(source)
    with conflicts:
        view, read = _view(suite, source, tables or {}, classes, inquiry)
        free: frozenset[str] = frozenset()
        if suite.labels is not None:
            from plmetrics.engine.binding.labels import label_free

            free = label_free(view)
        request = Request(view, read, tables or {}, tuple(inquiry.steps), free, label_status)
        for feature in features_of(suite):
            feature.check_request(request)
    return request


def _view(
    suite: Suite,
    source: Source,
    tables: Mapping[str, Source],
    classes: tuple[str, ...] | None,
    inquiry: Inquiry,
) -> tuple[TableView, pl.LazyFrame]:
    """The rows to evaluate, and these with the further rows of features."""
    collected = Collected()
    by_row = suite.uncertainty is not None and unit_column(suite) is None
    raw = read = source.with_row_key() if by_row else source.frame
    where, unit = None, pl.col(ROW_KEY) if by_row else None
    with collected.step():
        where = _row_condition(suite.data, source.schema)
        read = _rows_read(suite, source, where, by_row=by_row)
        raw = read if where is None else read.filter(where)
    with collected.step():
        _check_sections(suite, source.schema, tables)
    with collected.step():
        unit = unit if by_row else _unit(suite, source.schema)
    sets = _slice_sets(suite, source.schema, collected)
    named = {key.column: key for part in sets for key in part.keys}
    for feature in features_of(suite):
        with collected.step():
            set_list, further = feature.slice_sets(suite, sets, source.schema)
            sets = list(set_list)
            named |= {key.column: key for key in further if key.column not in named}
    models: dict[str, PredictionColumns] = {}
    with collected.step():
        models = predicted_models(suite, source.schema)
    facts = Facts(classes_of(suite, models), unlabelled=suite.labels is not None)
    suite = with_levels(suite.with_facts(facts), models)
    roles = _roles(suite, models, tuple(named.values()), unit)
    if suite.task == "ranking" and source.not_retrieved != "refused":
        roles = replace(roles, null_scores=True)
    with collected.step():
        _check_metrics(suite, source.schema)
    with collected.step():
        _check_slices(suite, source.schema, sets)
    with collected.step():
        if suite.exact is False:
            refuse_rows(suite.metrics, "allow exact")
    with collected.step():
        roles = _checked_roles(suite, raw, source.schema, roles)
    collected.settle()
    if suite.task == "multiclass" and not roles.classes and classes != ():
        from plmetrics.engine.binding.labels import classes_in

        classes = classes or inquiry.answer(classes_in(raw, roles))
        suite, roles = suite.with_facts(replace(facts, classes=classes)), replace(roles, classes=classes)
    evaluated = {name: model for name, model in suite.models.items() if model.margin is None}
    suite = suite.model_copy(update={"models": {**evaluated, **suite.further_models}})
    return TableView(suite, source, raw, where, roles, tuple(sets)), read


def _slice_sets(suite: Suite, schema: pl.Schema, collected: Collected) -> list[SliceSet]:
    """`overall`, the suite's slice sets, and crosses of groups with levels; equal keys are one set."""
    keys: dict[str, SliceKey] = {}
    sets = [OVERALL]
    for name, spec in suite.slices.items():
        from plmetrics.engine.binding.slice_keys import slice_keys

        with collected.step():
            for members in slice_keys(name, spec, schema):
                set_keys = [keys.setdefault(key.column, key) for key in members]
                sets.append(SliceSet(name, tuple(set_keys), spec.exclude))
    if suite.crossings:
        from plmetrics.engine.binding.slice_keys import crossed_sets

        with collected.step():
            sets += crossed_sets(suite, sets)
    return sets


def _checked_roles(suite: Suite, raw: pl.LazyFrame, schema: pl.Schema, roles: RoleColumns) -> RoleColumns:
    """The roles with the columns of a label of several, after a check of all columns."""
    if suite.task == "multilabel":
        from plmetrics.engine.binding.labels import label_columns

        roles = replace(roles, label_columns=label_columns(suite, schema, roles.classes))
    prediction_table(raw, schema, roles)
    return roles


def _check_slices(suite: Suite, schema: pl.Schema, sets: Sequence[SliceSet]) -> None:
    """Check the slices and columns of decompositions and rankings."""
    if suite.compare is not None:
        from plmetrics.engine.binding.reference_slices import check_decomposition

        check_decomposition(suite, sets)
    if suite.task == "ranking":
        from plmetrics.engine.binding.task_columns import check_ranking

        check_ranking(suite.columns, schema, suite.value_metrics("overall", *suite.slices))


def _place(metrics: Sequence[Metric], metric: Metric) -> tuple[str | int, ...]:
    """Suite path of the metric with a need of another."""
    numbers = (n for n, member in enumerate(metrics) if metric.text in {leaf.text for leaf in leaves(member)})
    number = next(numbers, None)
    return ("metrics",) if number is None else ("metrics", number)


def _unit(suite: Suite, schema: pl.Schema) -> pl.Expr | None:
    """Expression of the unit; without intervals the plain column, to tell whether there is one."""
    name = unit_column(suite)
    if name is None:
        return None
    if suite.columns.unit is None:
        from plmetrics.engine.binding.task_columns import names_queries

        if not names_queries(schema.get(name, pl.Null())):
            return None
    hashed = unit_hash(pl.col(name), require(schema, name, "unit", ("columns", "unit")))
    return pl.col(name) if suite.uncertainty is None else hashed


def _roles(
    suite: Suite, models: dict[str, PredictionColumns], keys: tuple[SliceKey, ...], unit: pl.Expr | None
) -> RoleColumns:
    needed = suite.value_metrics("overall", *suite.slices)
    probability = any(metric.reads_probability for metric in needed) or any(
        curve.curve in {"reliability", "net_benefit"} for curve in suite.curves
    )
    hard = frozenset(
        name
        for name, model in suite.models.items()
        if suite.task == "binary" and model.prediction is not None
    )
    needs = _requirements(suite, needed)
    by_fold = () if all(spec.fit_on != BY_FOLD for spec in suite.calibrate) else (_fold(suite.columns),)
    columns = (
        *(name for metric in needed for name in metric.columns()),
        *(need.column for need in needs),
        *_times(suite),
        *(need.column for need in by_fold),
    )
    return RoleColumns(
        label=suite.columns.label,
        models=models,
        task=suite.task,
        positive=suite.positive,
        weight=suite.columns.weight,
        unit=unit,
        unit_name=suite.columns.unit,
        probability=(
            calibrated_probabilities(suite) | (frozenset(suite.models) - hard if probability else set())
        )
        - {name for name, model in suite.models.items() if model.margin is not None},
        hard=hard,
        missing=suite.data.missing,
        keys=keys,
        columns=tuple(dict.fromkeys(columns)),
        classes=classes_of(suite, models),
        treatment=suite.columns.treatment if suite.task == "uplift" else None,
        requirements=each_once(
            [*needs, *(need for metric in needed for need in metric.requirements()), *by_fold]
        ),
        derivations={
            name: expr for metric in needed for name, expr in metric.derivations(suite.columns.label).items()
        },
        transform=_transform(suite),
        unlabelled=suite.labels is not None,
    )


def _requirements(suite: Suite, metrics: Sequence[Metric]) -> tuple[Requirement, ...]:
    """Requirements of the task and features on values."""
    needs: tuple[Requirement, ...] = ()
    if suite.task == "ranking":
        from plmetrics.engine.binding.task_columns import role_requirements

        needs = role_requirements(suite, metrics)
    if suite.task == "uplift":
        from plmetrics.engine.binding.task_columns import outcome_requirements

        needs = outcome_requirements(suite.columns, metrics)
    return (*needs, *(need for feature in features_of(suite) for need in feature.requirements(suite)))


def _fold(columns: Columns) -> Requirement:
    """Column of cross-fitting folds of calibrators, without nulls."""
    fold = columns.fold
    assert fold is not None
    return Requirement(fold, "null", lambda value: value.is_null(), "fold", ("columns", "fold"))


def _transform(suite: Suite) -> Transform | None:
    """Columns of a row for curves of forecasts, beside its prediction."""
    if not suite.calibration_shares("overall"):
        return None
    from plmetrics.catalogue.forecast.calibration_shares import transform_parts

    return transform_parts


def _times(suite: Suite) -> tuple[str, ...]:
    """Time columns of tests."""
    tests = () if suite.compare is None else suite.compare.tests
    return tuple(dict.fromkeys(test.time for test in tests if test.time is not None))


def _row_condition(data: Data, schema: pl.Schema) -> pl.Expr | None:
    """Condition on the rows, a column in the wide form of a long table."""
    if data.where is None:
        return None
    if data.long is None:
        from plmetrics.engine.binding.row_expressions import predicate

        return predicate(data.where, schema, ("data", "where"))
    from plmetrics.engine.binding.long_form import WHERE

    return pl.col(WHERE)


def _rows_read(suite: Suite, source: Source, where: pl.Expr | None, *, by_row: bool) -> pl.LazyFrame:
    """Evaluated rows, and rows of the table for counts of features.

    With features they are a common sub-plan by themselves: Polars finds others, but of two that lie one in another only
    the larger. Without, filters on fewer rows may reach the files.
    """
    features = features_of(suite)
    if where is not None and suite.data.where is not None:
        texts = [feature.rows(suite) for feature in features]
        conditions = [compile_row(text) for text in texts if text is not None]
        where = reduce(or_, (row.expr for row in conditions), where)
        columns = {name for row in (compile_row(suite.data.where), *conditions) for name in row.columns}
        source = source.in_folders(where, columns)
    frame = source.with_row_key() if by_row else source.frame
    frame = frame if where is None else frame.filter(where)
    return frame.cache() if features else frame


def _check_fit_on(suite: Suite, schema: pl.Schema) -> None:
    """Check of the conditions on calibrators' rows, on zero rows of the source."""
    if not suite.calibrate:
        return
    from plmetrics.engine.binding.row_expressions import predicate

    collected = Collected()
    for place, calibrate in enumerate(suite.calibrate):
        path = ("calibrate", place) if len(suite.calibrate) > 1 else ("calibrate",)
        with collected.step():
            if calibrate.fit_on != BY_FOLD:
                predicate(calibrate.fit_on, schema, (*path, "fit_on"), "fit_on")
    collected.settle()


def _check_metrics(suite: Suite, schema: pl.Schema) -> None:
    """Check of metrics' columns besides the roles, on zero rows."""
    collected = Collected()
    for metric in suite.value_metrics("overall", *suite.slices):
        with collected.step():
            if metric.row_expressions():
                from plmetrics.engine.binding.row_expressions import check_expressions

                check_expressions(metric, schema)
            elif metric.chosen_threshold is not None and metric.chosen_threshold.select_on is not None:
                from plmetrics.engine.binding.row_expressions import predicate

                predicate(metric.chosen_threshold.select_on, schema, ("metrics",), "select_on")
            else:
                for name in metric.columns():
                    require(schema, name, f"read by {metric.text}", _place(suite.metrics, metric))
                require_numbers(metric.requirements(), schema)
    collected.settle()


def _check_sections(suite: Suite, schema: pl.Schema, tables: Mapping[str, Source]) -> None:
    """Check of the columns of optional sections, on zero rows; all mistakes are named."""
    collected = Collected()
    with collected.step():
        _extra_columns(suite, schema)
    with collected.step():
        _check_fit_on(suite, schema)
    for feature in features_of(suite):
        with collected.step():
            feature.bind(suite, schema, tables.get(feature.key))
    with collected.step():
        if suite.compare is not None and suite.compare.tests:
            from plmetrics.engine.binding.task_columns import check_times

            check_times(suite.compare, schema)
    collected.settle()


def _extra_columns(suite: Suite, schema: pl.Schema) -> None:
    """Check of role columns without a use; those of several labels have their own check."""
    collected = Collected()
    labels = {"label", "label_columns"} if suite.task == "multilabel" else set()
    columns: dict[str, Any] = suite.columns.model_dump(exclude=labels)
    for role, name in columns.items():
        with collected.step():
            if name is not None:
                is_arm = suite.task == "experiment" and role == "label"
                place = ("arm", ("experiment", "arm")) if is_arm else (role, ("columns", role))
                require(schema, name, *place)
    collected.settle()
