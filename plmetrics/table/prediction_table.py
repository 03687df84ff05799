"""The canonical prediction table from raw columns: roles cast once, up front, with the checks beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from plmetrics.core.errors import Collected, DataError
from plmetrics.core.names import SuitePath
from plmetrics.table.checks import (
    VALID,
    Check,
    all_of,
    is_text,
    labelled_rows,
    not_numbers,
    number_hint,
    valid_column,
    weight_checks,
)
from plmetrics.table.classes import (
    class_checks,
    class_number,
    is_nameless,
    label_and_truths,
    membership,
    no_class,
    positive_class,
    require_classes,
    require_lists,
    truth_checks,
)
from plmetrics.table.prediction_columns import (
    LABEL,
    TREATMENT,
    UNIT,
    WEIGHT,
    PredictionColumns,
    RoleColumns,
    label_column,
    leading,
    part_checks,
    part_column,
    part_path,
    part_role,
    plain_column,
    require,
    score_checks,
    score_column,
    sound_parts,
    weight_column,
    with_part_columns,
)


@dataclass(frozen=True, slots=True)
class PredictionTable:
    """The canonical table: one lazy frame, the checks of its values, and the roles of its columns.

    `all_rows` are the rows of the frame and those that are left out for a label or score; `@@valid` is false of these,
    or a column per model where rows are left out per model. `scored` are the rows of the frame and those that only lack
    a label, where rows may: `@@scored` is true of these as well, or a column per model.
    """

    frame: pl.LazyFrame
    all_rows: pl.LazyFrame
    scored: pl.LazyFrame
    roles: RoleColumns
    checks: tuple[Check, ...]
    weight: pl.Expr | None

    @property
    def models(self) -> tuple[str, ...]:
        """Model names in suite order."""
        return tuple(self.roles.models)


def prediction_table(raw: pl.LazyFrame, schema: pl.Schema, roles: RoleColumns) -> PredictionTable:
    """The canonical columns of a raw table, as a plan.

    Rows of weight 0 are absent from it. With missing "drop" rows that fail a check are filtered out; with
    "drop_per_model" a Boolean column per model says whether the row counts for it; with "error" the column
    `@@valid` says whether the row passed all checks, for the aggregation to count those that did not.

    Raises:
        DataError: columns are absent or of a type that their role cannot take.
    """
    columns = _casts(schema, roles)
    checks = _checks(roles)
    masks = _weight_masks(roles)
    frame = with_part_columns(present_rows(raw, roles), roles.models).select(**columns)
    weight = pl.col(WEIGHT) if roles.weight is not None else None
    everyone = _shared_conditions(roles)
    scores = {model: _sound_score(roles, model) for model in roles.models}
    sound = all_of([*everyone, *scores.values()]).alias(VALID)
    frame = roles.with_derivations(frame, all_of(everyone) if roles.missing == "drop_per_model" else sound)
    if roles.unlabelled:
        counted = frame if roles.missing == "error" else frame.filter(all_of(_sound_keys(roles)))
        labelled = pl.col(LABEL).is_not_null()
        frames = labelled_rows(frame, counted, roles.missing, labelled, everyone, scores)
        return PredictionTable(*frames, roles, checks, weight)
    if roles.missing == "error":
        checked = frame.with_columns(sound, **masks)
        return PredictionTable(checked, checked, checked, roles, checks, weight)
    counted = frame.filter(all_of(_sound_keys(roles)))
    if roles.missing == "drop":
        complete = frame.filter(sound).with_columns(**masks)
        every = counted.with_columns(sound, **{name: all_of([sound, mask]) for name, mask in masks.items()})
        return PredictionTable(complete, every, complete, roles, checks, weight)
    conditions_of = {
        m: [score, masks.get(valid_column(m), pl.lit(value=True))] for m, score in scores.items()
    }
    validity = {
        valid_column(model): all_of([*everyone, *conditions]) for model, conditions in conditions_of.items()
    }
    apart = {valid_column(model): all_of(conditions) for model, conditions in conditions_of.items()}
    complete = frame.filter(all_of(everyone)).with_columns(**apart).filter(pl.any_horizontal(*apart))
    return PredictionTable(complete, counted.with_columns(**validity), complete, roles, checks, weight)


def unchecked_table(
    raw: pl.LazyFrame, schema: pl.Schema, roles: RoleColumns, keep: Sequence[str] = ()
) -> pl.LazyFrame:
    """The canonical columns before any row is left out, with a Boolean column per check: for the second look."""
    checks = _checks(roles)
    columns = _casts(schema, roles)
    every = with_part_columns(present_rows(raw, roles) if roles.derivations else raw, roles.models)
    return every.select(*dict.fromkeys(keep), **columns).with_columns(
        check.bad.fill_null(value=False).alias(check.column_name) for check in checks
    )


def present_rows(raw: pl.LazyFrame, roles: RoleColumns) -> pl.LazyFrame:
    """The raw rows without those that have weight 0 for every model."""
    own = [roles.weight if one.weight is None else one.weight for one in roles.models.values()]
    names = list(dict.fromkeys(own or [roles.weight]))
    if not all(names):
        return raw
    weights = [pl.col(name).cast(pl.Float64) for name in names if name]
    return raw.filter(pl.any_horizontal((weight != 0).fill_null(value=True) for weight in weights))


def sound_rows(roles: RoleColumns) -> pl.Expr:
    """Whether a row has a label, passes the shared checks, and those of each model if models share rows."""
    if roles.missing != "drop_per_model":
        return pl.col(VALID)
    labelled = [pl.col(LABEL).is_not_null()] if roles.unlabelled else []
    return all_of([*_shared_conditions(roles), *labelled])


def _shared_conditions(roles: RoleColumns) -> list[pl.Expr]:
    """Condition of a sound row of any model: the complement of the checks, in as few comparisons as it takes."""
    shared = any(model.label is None for model in roles.models.values())
    sound = [_sound_label(roles, pl.col(LABEL))] if shared else []
    if roles.treatment is not None:
        sound.append((pl.col(TREATMENT) == 0) | (pl.col(TREATMENT) == 1))
    sound += [
        ~need.bad(pl.col(plain_column(need.column))).fill_null(value=False) for need in roles.requirements
    ]
    return [*sound, *_sound_keys(roles)]


def _sound_label(roles: RoleColumns, label: pl.Expr) -> pl.Expr:
    """Whether a label is one."""
    if roles.binary:
        named = label.is_finite() if roles.unlabelled else label.is_not_null()
        sound = named if roles.positive is not None else (label == 0) | (label == 1)
    elif roles.task in {"multiclass", "multilabel"}:
        sound = label >= 0
    else:
        sound = label.is_finite()
    return label.is_null() | sound if roles.unlabelled else sound


def _weight_masks(roles: RoleColumns) -> dict[str, pl.Expr]:
    """Masks of rows with a positive weight, by their validity columns; none if all models share them."""
    if not roles.per_model or all(model.label is model.weight is None for model in roles.models.values()):
        return {}
    weights = {model: roles.weight_of(model) for model in roles.models}
    return {
        valid_column(model): pl.lit(value=True) if weight is None else pl.col(weight) > 0
        for model, weight in weights.items()
    }


def _sound_keys(roles: RoleColumns) -> list[pl.Expr]:
    """Condition of a countable row: a valid weight and unit."""
    sound = [pl.lit(value=True)]
    if roles.weight is not None:
        sound.append(pl.col(WEIGHT).is_finite() & (pl.col(WEIGHT) >= 0))
    if roles.unit is not None and roles.unit_name is not None:
        sound.append(pl.col(UNIT).is_not_null())
    return sound


def _sound_score(roles: RoleColumns, model: str) -> pl.Expr:
    """Whether the values of a row for one model alone are valid: its prediction, and a label or weight of its own."""
    predicted, sound = roles.models[model], _sound_prediction(roles, model)
    if predicted.label:
        sound &= _sound_label(roles, pl.col(label_column(model)))
    if predicted.weight:
        weight = pl.col(weight_column(model))
        sound &= weight.is_finite() & (weight >= 0)
    absent = _absent(roles, model)
    return sound if absent is None else sound | absent


def _absent(roles: RoleColumns, model: str) -> pl.Expr | None:
    """Whether a row has weight 0 for a model and may count for others; None where models share their weights."""
    weight = roles.weight_of(model)
    apart = any(other.weight is not None for other in roles.models.values())
    return (pl.col(weight) == 0).fill_null(value=False) if apart and weight is not None else None


def _sound_prediction(roles: RoleColumns, model: str) -> pl.Expr:
    predicted = roles.models[model]
    if not predicted.single:
        total = not roles.label_columns
        sound = sound_parts(model, predicted, probability=model in roles.probability, total=total)
        return sound & (pl.col(score_column(model)) >= 0) if predicted.lists else sound
    score = pl.col(score_column(model))
    if roles.task == "multiclass":
        return score >= 0
    if model in roles.hard:
        return (score == 0) | (score == 1)
    sound = score.is_between(0, 1) if model in roles.probability else score.is_finite()
    return sound | score.is_null() if roles.null_scores else sound


def _casts(schema: pl.Schema, roles: RoleColumns) -> dict[str, pl.Expr]:
    columns: dict[str, pl.Expr] = {}
    collected = Collected()
    with collected.step():
        columns |= {LABEL: pl.lit(0.0)} if roles.task == "experiment" else _label(schema, roles)
    with collected.step():
        if roles.weight is not None:
            columns[WEIGHT] = _number(schema, roles.weight, "weight", ("columns", "weight"))
    for model, predicted in roles.models.items():
        with collected.step():
            columns |= _columns_of_model(schema, roles, model, predicted)
    with collected.step():
        if roles.treatment is not None:
            columns[TREATMENT] = _number(schema, roles.treatment, "treatment", ("columns", "treatment"))
    for model, predicted in roles.models.items():
        with collected.step():
            columns |= _prediction_columns(
                schema, roles, model, predicted, columns.get(roles.label_of(model))
            )
    collected.settle()
    if roles.unit is not None:
        columns[UNIT] = roles.unit
    for key in roles.keys:
        columns[key.column] = key.expression
    for name in (*roles.columns, *(need.column for need in roles.requirements)):
        columns[plain_column(name)] = pl.col(name)
    return columns | roles.derivation_expressions(evaluated=False)


def _columns_of_model(
    schema: pl.Schema, roles: RoleColumns, model: str, predicted: PredictionColumns
) -> dict[str, pl.Expr]:
    """The label and weight of one model alone."""
    columns: dict[str, pl.Expr] = {}
    if predicted.label:
        labels = replace(roles, label=predicted.label)
        columns[label_column(model)] = _label(schema, labels, ("models", model, "label"))[LABEL]
    if predicted.weight:
        path: SuitePath = ("models", model, "weight")
        columns[weight_column(model)] = _number(schema, predicted.weight, "weight", path)
    return columns


def _prediction_columns(
    schema: pl.Schema, roles: RoleColumns, model: str, predicted: PredictionColumns, label: pl.Expr | None
) -> dict[str, pl.Expr]:
    collected = Collected()
    parts: dict[str, pl.Expr] = {}
    name = next(iter(predicted.columns.values()))
    if predicted.lists:
        role, path = part_role(model, "prediction"), part_path(model, "prediction")
        require_lists(require(schema, name, role, path), name, role, path)
    for part in predicted.columns:
        with collected.step():
            parts[part] = _part(schema, roles, model, part)
    collected.settle()
    if predicted.single:
        return {score_column(model): next(iter(parts.values()))}
    if predicted.normalise:
        parts = {part: pl.col(part_column(model, part)) for part in parts}
    first = leading(parts, predicted.thresholds)
    if predicted.lists:
        first = pl.when(is_nameless(name, parts.values())).then(-1.0).otherwise(first)
    if roles.transform is not None and label is not None:
        parts |= roles.transform(label, parts)
    columns = {part_column(model, part): value for part, value in parts.items()}
    return columns | {score_column(model): first}


def _part(schema: pl.Schema, roles: RoleColumns, model: str, part: str) -> pl.Expr:
    predicted = roles.models[model]
    name, task = predicted.columns[part], roles.task
    role, path = part_role(model, part, task), part_path(model, part, task)
    if part in predicted.derivations:
        return pl.col(part_column(model, part))
    if model in roles.hard or (roles.task == "multiclass" and part == "prediction"):
        return _class(schema, roles, name, role, path)
    if roles.label_columns:
        return membership(name, require(schema, name, role, path), role, path, part.split("|", 1)[1])
    return _number(schema, name, role, path)


def _number(schema: pl.Schema, name: str, role: str, path: tuple[str | int, ...]) -> pl.Expr:
    dtype = require(schema, name, role, path)
    if not (dtype.is_numeric() or dtype in {pl.Boolean, pl.Null}):
        raise DataError(
            not_numbers(name, role, dtype, path, number_hint(name, role) if is_text(dtype) else None)
        )
    return pl.col(name).cast(pl.Float64)


def _label(
    schema: pl.Schema, roles: RoleColumns, path: SuitePath = ("columns", "label")
) -> dict[str, pl.Expr]:
    """Label as an expression; with several classes a row, also the indicator of each class."""
    if roles.label_columns:
        return label_and_truths(LABEL, roles.label_columns, schema)
    if roles.task in {"binary", "multiclass"}:
        return {LABEL: _class(schema, roles, roles.label, "label", path)}
    return {LABEL: _number(schema, roles.label, "label", path)}


def _class(
    schema: pl.Schema, roles: RoleColumns, name: str, role: str, path: tuple[str | int, ...]
) -> pl.Expr:
    dtype = require(schema, name, role, path)
    if roles.task == "multiclass":
        require_classes(dtype, name, role, path)
        return class_number(pl.col(name), dtype, roles.classes)
    return positive_class(name, dtype, role, path, positive=roles.positive, unlabelled=roles.unlabelled)


def _label_checks(roles: RoleColumns, model: str | None = None) -> list[Check]:
    """Checks of the label, or of one model's label."""
    name = (roles.label if model is None else roles.models[model].label) or roles.label
    label = pl.col(LABEL if model is None else label_column(model))
    path: SuitePath = ("columns", "label") if model is None else ("models", model, "label")
    role = "label" if model is None else f"label of model '{model}'"
    if roles.label_columns:
        return [*truth_checks(roles.label_columns, label)]
    null = "null or NaN" if isinstance(roles.positive, (int, float)) else "null"
    checks = [Check(role, name, null, label.is_null(), path, model)]
    if roles.unlabelled:
        numeric = roles.binary and isinstance(roles.positive, (int, float))
        checks = [Check(role, name, "NaN", label.is_nan(), path, model)] if numeric else []
    if roles.binary and roles.positive is None:
        checks.append(Check(role, name, "neither 0 nor 1", (label != 0) & (label != 1), path, model))
    elif roles.task == "multiclass":
        checks.append(no_class(roles, role, name, label, path, model))
    elif not roles.binary:
        checks.append(Check(role, name, "NaN or infinite", ~label.is_finite(), path, model))
    return checks


def _checks(roles: RoleColumns) -> tuple[Check, ...]:
    checks = _label_checks(roles) if any(model.label is None for model in roles.models.values()) else []
    if roles.weight is not None:
        checks += weight_checks(roles.weight, pl.col(WEIGHT), ("columns", "weight"))
    if roles.treatment is not None:
        arm, path = pl.col(TREATMENT), ("columns", "treatment")
        checks += [
            Check("treatment", roles.treatment, "null", arm.is_null(), path),
            Check("treatment", roles.treatment, "neither 0 nor 1", (arm != 0) & (arm != 1), path),
        ]
    for need in roles.requirements:
        bad = need.bad(pl.col(plain_column(need.column)))
        checks.append(Check(need.role, need.column, need.problem, bad, need.path))
    if roles.unit_name is not None and roles.unit is not None:
        checks.append(Check("unit", roles.unit_name, "null", pl.col(UNIT).is_null(), ("columns", "unit")))
    for model, predicted in roles.models.items():
        absent, own = _absent(roles, model), _model_checks(roles, model, predicted)
        checks += own if absent is None else [replace(check, bad=check.bad & ~absent) for check in own]
    return tuple(checks)


def _model_checks(roles: RoleColumns, model: str, predicted: PredictionColumns) -> list[Check]:
    checks = _label_checks(roles, model) if predicted.label else []
    if predicted.weight:
        weight, place = pl.col(weight_column(model)), ("models", model, "weight")
        checks += weight_checks(predicted.weight, weight, place, model)
    if predicted.derivations and roles.missing != "drop_per_model":
        return checks  # What they are made from is checked already: one bad value is one problem.
    if predicted.lists or (predicted.single and roles.task == "multiclass"):
        return checks + class_checks(roles, model, predicted)
    if predicted.single:
        kinds = {"hard": model in roles.hard, "probability": model in roles.probability}
        return [*checks, *score_checks(model, predicted, roles.task, nullable=roles.null_scores, **kinds)]
    total = not roles.label_columns
    return [*checks, *part_checks(model, predicted, probability=model in roles.probability, total=total)]
