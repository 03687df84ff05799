"""Calibrators fitted on some rows before anything is counted; each makes one more model of an expression."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.catalogue.calibrators import CALIBRATORS
from plmetrics.catalogue.calibrators.calibrator import Calibrator, NoFit
from plmetrics.catalogue.calibrators.score_curves import MAX_KNOTS, Isotonic, Platt, Temperature
from plmetrics.core.errors import ConfigError, DataError, Problem
from plmetrics.core.exact_sums import exact_products
from plmetrics.core.ops import Array, Flags
from plmetrics.core.rowsql import compile_row
from plmetrics.engine.bad_rows import bad_values
from plmetrics.engine.inquiry import Question, constant_question, gather
from plmetrics.engine.memory.budget import round_up, working_memory
from plmetrics.engine.prepare.constants import Calibration
from plmetrics.engine.run_plan import Accounting, NoRowsLeftError
from plmetrics.suite.sections.basics import BY_FOLD, Calibrate
from plmetrics.table.checks import VALID, valid_column
from plmetrics.table.prediction_columns import (
    ColumnSteps,
    PredictionColumns,
    normalise_probabilities,
    part_column,
    plain_column,
)

if TYPE_CHECKING:
    from plmetrics.catalogue.calibrators.several import ClassCalibrator
    from plmetrics.core.names import SuitePath
    from plmetrics.engine.request import TableView
    from plmetrics.table.prediction_columns import RoleColumns


FEW_ROWS = 1000
MAX_FOLDS = 100
_COPIES = 4
_CURVATURES = 3
"""Matrices of the coefficients' second derivatives: of some rows, of all, and its factors."""
_MOST_ROWS = 2**32 - 2
"""Polars counts rows in 32 bits, and one more is looked for."""
_DESCRIPTION = {"method", "model", "fit_on", "rows", "fold"}


@dataclass(frozen=True, slots=True)
class _Sample:
    """Valid rows of one model for the fit of a calibrator."""

    score: Array
    label: Array
    weight: Array | None

    def where(self, chosen: Flags) -> _Sample:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[chosen]
        return _Sample(self.score[chosen], self.label[chosen], weight)


@dataclass(frozen=True, slots=True)
class _CalibratedParts:
    """A calibrated prediction as expressions over raw columns and those of steps before, and its curves.

    `rows` are the fewest behind one of the curves.
    """

    expressions: Sequence[pl.Expr]
    steps: ColumnSteps
    rows: int
    curves: tuple[Calibrator | ClassCalibrator, ...]


def with_calibrators(view: TableView, stored: Mapping[str, Any] | None) -> Question[Calibration]:
    """View with a model for each calibrator, without the rows of a fit.

    Rows to fit on are those where `fit_on` holds, whatever `where` says, and their scores are sound. By fold they are
    the rows that are evaluated. No row is read to fit where the constants of calibrators are `stored`.

    Raises:
        DataError: there are no rows to fit on or to evaluate, a class or a best fit is missing, or values are bad.
        ConfigError: the rows to fit on do not fit into the memory budget.
    """
    narrowed, counted = _exclude_fit_rows(view)
    asked = constant_question(stored) if stored is not None else _fit_calibrators(narrowed)
    fitted_rows, constants = yield from gather(counted, asked)
    return replace(with_stored_calibrators(narrowed, constants), fitted_rows=fitted_rows)


def with_stored_calibrators(view: TableView, stored: Mapping[str, Any]) -> Calibration:
    """View with the models of stored calibrators, by the constants of each."""
    out, warnings = view, []
    for name, constants in stored.items():
        restored = _read_calibrator(view, constants, ColumnSteps(name))
        out = out.with_model(name, _prediction(view.roles.models[constants["model"]], restored))
        warnings += _doubts(constants, restored)
    return Calibration(out.without_margins(), stored, tuple(warnings))


def _fit_calibrators(view: TableView) -> Question[dict[str, dict[str, Any]]]:
    """The constants of all calibrators, by model; those of one condition share a look at the rows."""
    specs, fitted = view.suite.calibrate, {}
    fits = [
        (_path(specs, place), spec, source)
        for place, spec in enumerate(specs)
        for source in _sources(spec, view.roles)
    ]
    for path, spec, source in fits:
        _refuse_large_fit(view, spec, source, path)
    for condition in dict.fromkeys(spec.fit_on for spec in specs):
        of_condition = [fit for fit in fits if fit[1].fit_on == condition]
        rows = yield from _rows_to_fit(view, condition, {source: path for path, _, source in of_condition})
        with exact_products(enabled=view.arithmetic.any_order):
            for path, spec, source in of_condition:
                fitted[spec.model_name(source)] = _fit_calibrator(view, spec, source, rows, path)
    return fitted


def _refuse_large_fit(view: TableView, spec: Calibrate, source: str, path: SuitePath) -> None:
    """Raise an error where the coefficients of several classes are too many for the memory budget."""
    classes = len(view.roles.models[source].parts)
    if classes == 1:
        return
    from plmetrics.catalogue.calibrators.several import CLASS_CALIBRATORS

    coefficients = CLASS_CALIBRATORS[spec.method].coefficient_count(classes)
    size = _CURVATURES * 8 * coefficients**2
    if size > working_memory(view.suite):
        msg = f"{spec.method} of {classes:,} classes fits {coefficients:,} coefficients, which takes {round_up(size)}"
        raise ConfigError(Problem(msg, (*path, "method"), "use vector or temperature, or raise memory"))


def _path(specs: Sequence[Calibrate], place: int) -> SuitePath:
    return ("calibrate", place) if len(specs) > 1 else ("calibrate",)


def _sources(spec: Calibrate, roles: RoleColumns) -> tuple[str, ...]:
    """Calibrated models, of those with columns."""
    models = roles.models.items()
    return spec.models or tuple(name for name, model in models if model.parts != ("prediction",))


def _exclude_fit_rows(view: TableView) -> tuple[TableView, Question[int]]:
    """View without the rows of calibrators' fits, and the question about their number."""
    conditions = [spec.fit_on for spec in view.suite.calibrate if spec.fit_on != BY_FOLD]
    if not conditions:
        return view, constant_question(0)
    fitted = pl.any_horizontal([compile_row(text).expr.fill_null(value=False) for text in conditions])
    where = ~fitted if view.where is None else view.where & ~fitted
    return replace(view, raw=view.raw.filter(~fitted), where=where), _fitted_rows(view.raw, fitted)


def _fitted_rows(raw: pl.LazyFrame, fitted: pl.Expr) -> Question[int]:
    """Number of rows of calibrators' fits; others must remain."""
    (counts,) = yield [raw.select(pl.len().alias("all"), fitted.sum().alias("fitted"))]
    rows, fitted_rows = counts.row(0)
    if rows and rows == fitted_rows:
        msg = f"fit_on holds for all {rows:,} rows: none is left to evaluate"
        error = NoRowsLeftError(Problem(msg, ("calibrate", "fit_on"), "fit on some of them, or by fold"))
        error.rows = Accounting(0, 0, {}, fitted=int(fitted_rows))
        raise error
    return int(fitted_rows)


def _rows_to_fit(view: TableView, condition: str, models: Mapping[str, SuitePath]) -> Question[pl.DataFrame]:
    """Labels, weights, folds and scores of the rows to fit on, with the marks of sound ones."""
    fitting = _fitting(view, condition, tuple(models))
    table = fitting.table()
    roles = view.roles
    columns = [column for model in models for column in _prediction_columns(roles, model)]
    columns += [roles.label_of(model) for model in models]
    columns += [name for model in models if (name := roles.weight_of(model)) is not None]
    columns += [plain_column(str(view.suite.columns.fold))] if condition == BY_FOLD else []
    missing = fitting.roles.missing
    columns += [VALID] if missing == "error" else []
    columns += [valid_column(model) for model in models] if missing == "drop_per_model" else []
    columns = list(dict.fromkeys(columns))
    limit = min(max(working_memory(view.suite) // (len(columns) * 8 * _COPIES), 1), _MOST_ROWS)
    (rows,) = yield [table.frame.select(columns).head(limit + 1)]
    path = (*next(iter(models.values())), "fit_on")
    if rows.height > limit:
        msg = f"there are more than {limit:,} rows to fit calibrators on, too many for the memory budget"
        raise ConfigError(Problem(msg, path, "narrow fit_on, or raise memory"))
    if missing == "error" and not rows[VALID].all():
        raise bad_values(fitting, table.checks, rows.height)
    if rows.height == 0:
        hint = "fit_on is not narrowed by data.where: it speaks of all rows of the data"
        raise DataError(Problem("there are no rows to fit calibrators on", path, hint))
    return view.arithmetic.rows(rows)


def _prediction_columns(roles: RoleColumns, model: str) -> list[str]:
    """The canonical columns to calibrate: a score, or a probability for each class."""
    return [part_column(model, part) for part in roles.models[model].parts]


def _fitting(view: TableView, condition: str, models: Sequence[str]) -> TableView:
    """The rows to fit on, as they are read."""
    chosen = {name: view.roles.models[name] for name in models}
    roles = replace(view.roles, models=chosen, unit=None, unit_name=None, keys=())
    if condition == BY_FOLD:
        return replace(view, roles=roles)
    holds = compile_row(condition).expr
    roles = replace(roles.without_values(), requirements=())
    return replace(view, raw=view.source.frame.filter(holds), where=holds, roles=roles)


def _fit_calibrator(
    view: TableView, spec: Calibrate, source: str, rows: pl.DataFrame, path: SuitePath
) -> dict[str, Any]:
    """The constants of one calibrator, or of one for each fold."""
    if valid_column(source) in rows.columns:
        rows = rows.filter(pl.col(valid_column(source)))
    label, weight = view.roles.label_of(source), view.roles.weight_of(source)
    rows = rows if weight is None else rows.filter(pl.col(weight) != 0)
    score = rows.select(_prediction_columns(view.roles, source)).to_numpy()
    sample = _Sample(score, rows[label].to_numpy(), None if weight is None else rows[weight].to_numpy())
    margin = source not in view.suite.models
    description = {"method": spec.method, "model": source, "fit_on": spec.fit_on}
    if spec.fit_on != BY_FOLD:
        curve = _fit(spec, source, sample, path, margin=margin)
        return {**description, "rows": len(sample.label), **curve.constants()}
    fold, folds = str(view.suite.columns.fold), []
    for value, outside in _folds(rows[plain_column(fold)], fold):
        others = sample.where(outside)
        curve = _fit(spec, source, others, path, f", outside fold {value!r}", margin=margin)
        folds.append({"fold": value, "rows": len(others.label), **curve.constants()})
    return {**description, "folds": folds}


def _read_calibrator(view: TableView, constants: Mapping[str, Any], steps: ColumnSteps) -> _CalibratedParts:
    """The prediction by the constants of a calibrator."""
    source = constants["model"]
    raw, margin = _raw_parts(view.roles.models[source], steps), source not in view.suite.models
    read = partial(_read_curve, constants["method"], len(raw), margin=margin)
    if constants["fit_on"] != BY_FOLD:
        curve = read(constants)
        return _CalibratedParts(_apply(curve, raw, steps), steps, constants["rows"], (curve,))
    fold, curves = str(view.suite.columns.fold), []
    parts = [pl.lit(None, dtype=pl.Float64) for _ in raw]
    for content in constants["folds"]:
        curves.append(read(content))
        here, applied = (
            pl.col(fold) == pl.lit(content["fold"], dtype=view.schema[fold]),
            _apply(curves[-1], raw, steps),
        )
        parts = [pl.when(here).then(new).otherwise(old) for new, old in zip(applied, parts, strict=True)]
    rows = min(content["rows"] for content in constants["folds"])
    return _CalibratedParts(parts, steps, rows, tuple(curves))


def _raw_parts(predicted: PredictionColumns, steps: ColumnSteps) -> list[pl.Expr]:
    """Parts to calibrate, of raw columns; probabilities are divided by their sum where the model says so."""
    parts = [pl.col(name).cast(pl.Float64) for name in predicted.columns.values()]
    return normalise_probabilities(parts, steps) if predicted.normalise else parts


def _apply(curve: Calibrator | ClassCalibrator, raw: Sequence[pl.Expr], steps: ColumnSteps) -> list[pl.Expr]:
    return [curve.calibrate(raw[0])] if isinstance(curve, Calibrator) else curve.calibrate(raw, steps)


def _read_curve(
    method: str, parts: int, constants: Mapping[str, Any], *, margin: bool
) -> Calibrator | ClassCalibrator:
    """Curve from stored constants, without its input columns."""
    parameters = {key: value for key, value in constants.items() if key not in _DESCRIPTION}
    if parts > 1:
        from plmetrics.catalogue.calibrators.several import CLASS_CALIBRATORS

        return CLASS_CALIBRATORS[method].read(parameters)
    curve = CALIBRATORS[method].read(parameters)
    return replace(curve, margin=margin) if isinstance(curve, (Platt, Temperature)) else curve


def _folds(column: pl.Series, name: str) -> Iterator[tuple[Any, Flags]]:
    """Each fold, and the mask of the rows outside it."""
    values = column.unique().sort()
    if not 2 <= len(values) <= MAX_FOLDS:
        msg = f"column '{name}' (fold) has {len(values):,} values, and calibrating by fold takes 2 to {MAX_FOLDS}"
        raise DataError(Problem(msg, ("columns", "fold")))
    for value in values:
        yield value, (column != value).to_numpy()


def _fit(
    spec: Calibrate, source: str, sample: _Sample, path: SuitePath, place: str = "", *, margin: bool
) -> Calibrator | ClassCalibrator:
    where = f"cannot fit {spec.method} to the scores of model '{source}'{place}: "
    single = sample.score.shape[1] == 1
    for label, word in ((1.0, "positive"), (0.0, "negative")) if single else ():
        if not (sample.label == label).any():
            msg = f"{where}none of the {len(sample.label):,} rows is {word}"
            raise DataError(Problem(msg, (*path, "fit_on")))
    try:
        if not single:
            from plmetrics.catalogue.calibrators.several import CLASS_CALIBRATORS

            several = CLASS_CALIBRATORS[spec.method]
            return several.fit(sample.score, sample.label.astype(np.int64), sample.weight)
        score = sample.score[:, 0]
        if spec.method == Platt.name:
            return Platt.fit(score, sample.label, sample.weight, smoothing=spec.smoothing, margin=margin)
        if spec.method == Temperature.name:
            return Temperature.fit(score, sample.label, sample.weight, margin=margin)
        return CALIBRATORS[spec.method].fit(score, sample.label, sample.weight)
    except NoFit as error:
        reason, _, hint = str(error).partition(": ")
        raise DataError(Problem(f"{where}{reason}", (*path, "method"), hint or None)) from None


def _prediction(model: PredictionColumns, calibrated: _CalibratedParts) -> PredictionColumns:
    """Prediction derived from a model's scores."""
    expressions = dict(zip(model.columns, calibrated.expressions, strict=True))
    steps = calibrated.steps.steps
    return PredictionColumns(model.columns, expressions, label=model.label, weight=model.weight, steps=steps)


def _doubts(constants: Mapping[str, Any], calibrated: _CalibratedParts) -> list[str]:
    out, source = [], constants["model"]
    if constants["method"] == "isotonic" and calibrated.rows < FEW_ROWS:
        text = f"isotonic calibration of model '{source}' stands on {calibrated.rows:,} rows: under {FEW_ROWS:,} "
        out.append(f"{text}its steps follow noise, and platt is the safer choice")
    knots = max((curve.knot_count for curve in calibrated.curves if isinstance(curve, Isotonic)), default=0)
    if knots > MAX_KNOTS:
        text = (
            f"isotonic calibration of model '{source}' has {knots:,} knots, of which {MAX_KNOTS:,} are kept"
        )
        out.append(text)
    return out
