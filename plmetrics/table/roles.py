"""From raw columns to the canonical prediction table: roles cast once, up front, with the checks beside them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import Collected, DataError, Problem
from plmetrics.core.names import did_you_mean, is_pattern
from plmetrics.table.checks import (
    VALID,
    Check,
    Requirement,
    all_of,
    labelled_rows,
    not_numbers,
    valid_column,
)
from plmetrics.table.classes import class_number, positive_class, require_classes
from plmetrics.table.files import name_list
from plmetrics.table.predicted import (
    PredictionColumns,
    leading,
    normalise_probabilities,
    part_checks,
    part_column,
    part_path,
    part_role,
    score_column,
    sound_parts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from plmetrics.core.names import SuitePath
    from plmetrics.table.slice_keys import SliceKey

    Transform: TypeAlias = Callable[[pl.Expr, Mapping[str, pl.Expr]], Mapping[str, pl.Expr]]

LABEL = "@label"
WEIGHT = "@weight"
UNIT = "@unit"
TREATMENT = "@treatment"
PLAIN = "@column|"

_SHOWN_CLASSES = 10
_AS_NUMBERS = "store it as numbers; in a csv file one value such as n/a makes the whole column text"


def plain_column(name: str) -> str:
    """Where the canonical table has a column that plays no role."""
    return f"{PLAIN}{name}"


@dataclass(frozen=True, slots=True)
class RoleColumns:
    """Which raw columns play which role, free of any suite: what a prediction table is made of.

    `probability` are the models whose scores must lie in [0, 1]. `classes` are those of a multiclass label, in order;
    empty where they are not known yet. `unit` is the hash expression, given when intervals are asked for. `columns`
    are others that row expressions read, `made` those that are made from raw ones first, and `requirements` what must
    hold for some of them. `transform` makes further parts of each model's prediction from the label and its parts.
    `null_scores`: a model may have no score in a row, as a ranking that did not retrieve it. `unlabelled`: a row may
    have no label yet, and a null is no bad value. `label_columns` are those of a label of several classes, by class.
    """

    label: str
    models: Mapping[str, PredictionColumns]
    task: str
    positive: str | float | bool | None = None
    weight: str | None = None
    unit: pl.Expr | None = None
    unit_name: str | None = None
    probability: frozenset[str] = frozenset()
    hard: frozenset[str] = frozenset()
    missing: str = "error"
    keys: Sequence[SliceKey] = field(default_factory=tuple)
    columns: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    treatment: str | None = None
    requirements: tuple[Requirement, ...] = ()
    made: Mapping[str, pl.Expr] = field(default_factory=dict)
    transform: Transform | None = None
    null_scores: bool = False
    unlabelled: bool = False
    label_columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def binary(self) -> bool:
        """Whether labels are 0 and 1."""
        return self.task == "binary"


@dataclass(frozen=True, slots=True)
class PredictionTable:
    """The canonical table: one lazy frame, the checks of its values, and what its columns mean.

    `every` are the rows of the frame and those that are left out for a label or score, told apart by `@valid`, or by
    a column per model where rows are left out per model. `scored` are the rows of the frame and those that only lack a
    label, where rows may: `@scored` is true of these as well, or a column per model.
    """

    frame: pl.LazyFrame
    every: pl.LazyFrame
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
    `@valid` says whether the row passed all checks, for the aggregation to count those that did not.

    Raises:
        DataError: columns are absent or of a type that their role cannot take.
    """
    columns = _casts(schema, roles)
    checks = _checks(roles)
    frame = raw.select(**columns)
    if roles.weight is not None:
        frame = frame.filter((pl.col(WEIGHT) != 0) | pl.col(WEIGHT).is_null())
    weight = pl.col(WEIGHT) if roles.weight is not None else None
    everyone = _shared_conditions(roles)
    scores = {model: _sound_score(roles, model) for model in roles.models}
    sound = all_of([*everyone, *scores.values()]).alias(VALID)
    if roles.unlabelled:
        counted = frame if roles.missing == "error" else frame.filter(all_of(_sound_keys(roles)))
        labelled = pl.col(LABEL).is_not_null()
        frames = labelled_rows(frame, counted, roles.missing, labelled, everyone, scores)
        return PredictionTable(*frames, roles, checks, weight)
    if roles.missing == "error":
        checked = frame.with_columns(sound)
        return PredictionTable(checked, checked, checked, roles, checks, weight)
    counted = frame.filter(all_of(_sound_keys(roles)))
    if roles.missing == "drop":
        complete = frame.filter(sound)
        return PredictionTable(complete, counted.with_columns(sound), complete, roles, checks, weight)
    validity = {valid_column(model): all_of([*everyone, score]) for model, score in scores.items()}
    apart = {valid_column(model): all_of([score]) for model, score in scores.items()}
    complete = frame.filter(all_of(everyone)).with_columns(**apart)
    return PredictionTable(complete, counted.with_columns(**validity), complete, roles, checks, weight)


def unchecked_table(
    raw: pl.LazyFrame, schema: pl.Schema, roles: RoleColumns, keep: Sequence[str] = ()
) -> pl.LazyFrame:
    """The canonical columns before any row is left out, with a Boolean column per check: for the second look."""
    checks = _checks(roles)
    return raw.select(*dict.fromkeys(keep), **_casts(schema, roles)).with_columns(
        check.bad.fill_null(value=False).alias(check.column_name) for check in checks
    )


def sound_rows(roles: RoleColumns) -> pl.Expr:
    """Whether a row has a label, passes the checks that all models share, and where they share rows those of each."""
    if roles.missing != "drop_per_model":
        return pl.col(VALID)
    labelled = [pl.col(LABEL).is_not_null()] if roles.unlabelled else []
    return all_of([*_shared_conditions(roles), *labelled])


def _shared_conditions(roles: RoleColumns) -> list[pl.Expr]:
    """What holds for a sound row of any model: the complement of the checks, in as few comparisons as it takes."""
    label = pl.col(LABEL)
    if roles.binary:
        named = label.is_finite() if roles.unlabelled else label.is_not_null()
        sound = [named if roles.positive is not None else (label == 0) | (label == 1)]
    elif roles.task in {"multiclass", "multilabel"}:
        sound = [label >= 0]
    else:
        sound = [label.is_finite()]
    if roles.unlabelled:
        sound = [label.is_null() | sound[0]]
    if roles.treatment is not None:
        sound.append((pl.col(TREATMENT) == 0) | (pl.col(TREATMENT) == 1))
    sound += [
        ~need.bad(pl.col(plain_column(need.column))).fill_null(value=False) for need in roles.requirements
    ]
    return [*sound, *_sound_keys(roles)]


def _sound_keys(roles: RoleColumns) -> list[pl.Expr]:
    """What holds for a row that can be counted at all: a sound weight and unit."""
    sound = [pl.lit(value=True)]
    if roles.weight is not None:
        sound.append(pl.col(WEIGHT).is_finite() & (pl.col(WEIGHT) >= 0))
    if roles.unit is not None and roles.unit_name is not None:
        sound.append(pl.col(UNIT).is_not_null())
    return sound


def _sound_score(roles: RoleColumns, model: str) -> pl.Expr:
    predicted = roles.models[model]
    if not predicted.single:
        total = not roles.label_columns
        return sound_parts(model, predicted, probability=model in roles.probability, total=total)
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
        columns |= _label(schema, roles)
    with collected.step():
        if roles.weight is not None:
            columns[WEIGHT] = _number(schema, roles.weight, "weight", ("columns", "weight"))
    with collected.step():
        if roles.treatment is not None:
            columns[TREATMENT] = _number(schema, roles.treatment, "treatment", ("columns", "treatment"))
    for model, predicted in roles.models.items():
        with collected.step():
            columns |= _prediction_columns(schema, roles, model, predicted, columns.get(LABEL))
    collected.settle()
    if roles.unit is not None:
        columns[UNIT] = roles.unit
    for key in roles.keys:
        columns[key.column] = key.expression
    for name in (*roles.columns, *(need.column for need in roles.requirements)):
        columns[plain_column(name)] = pl.col(name)
    for name, expression in roles.made.items():
        columns[plain_column(name)] = expression
    return columns


def _prediction_columns(
    schema: pl.Schema, roles: RoleColumns, model: str, predicted: PredictionColumns, label: pl.Expr | None
) -> dict[str, pl.Expr]:
    """The canonical columns of a model."""
    collected = Collected()
    parts: dict[str, pl.Expr] = {}
    for part in predicted.columns:
        with collected.step():
            parts[part] = _part(schema, roles, model, part)
    collected.settle()
    if predicted.single:
        return {score_column(model): next(iter(parts.values()))}
    if predicted.normalise:
        parts = normalise_probabilities(parts)
    first = leading(parts)
    if roles.transform is not None and label is not None:
        parts |= roles.transform(label, parts)
    columns = {part_column(model, part): value for part, value in parts.items()}
    return columns | {score_column(model): first}


def _part(schema: pl.Schema, roles: RoleColumns, model: str, part: str) -> pl.Expr:
    predicted = roles.models[model]
    name, role, path = predicted.columns[part], part_role(model, part), part_path(model, part)
    if part in predicted.made:
        return predicted.made[part].cast(pl.Float64)
    if model in roles.hard or (roles.task == "multiclass" and part == "prediction"):
        return _class(schema, roles, name, role, path)
    if roles.label_columns:
        from plmetrics.table.label_sets import membership

        return membership(name, require(schema, name, role, path), role, path, part.split("|", 1)[1])
    return _number(schema, name, role, path)


def require(schema: pl.Schema, name: str, role: str, path: tuple[str | int, ...]) -> pl.DataType:
    """The type of a column.

    Raises:
        DataError: it is absent; the message names the nearest one.
    """
    if name not in schema:
        raise DataError(
            Problem(f"column '{name}' ({role}) is not in the data", path, did_you_mean(name, schema))
        )
    if is_pattern(name):
        msg = f"column '{name}' ({role}): Polars takes such a name for a pattern of names"
        raise DataError(Problem(msg, path, "rename the column"))
    return schema[name]


def _number(schema: pl.Schema, name: str, role: str, path: tuple[str | int, ...]) -> pl.Expr:
    dtype = require(schema, name, role, path)
    if not (dtype.is_numeric() or dtype in {pl.Boolean, pl.Null}):
        raise DataError(not_numbers(name, role, dtype, path, _AS_NUMBERS if dtype == pl.String else None))
    return pl.col(name).cast(pl.Float64)


def _label(schema: pl.Schema, roles: RoleColumns) -> dict[str, pl.Expr]:
    """The label; of several classes a row also whether it has each."""
    if roles.label_columns:
        from plmetrics.table.label_sets import label_and_truths

        return label_and_truths(LABEL, roles.label_columns, schema)
    if roles.task in {"binary", "multiclass"}:
        return {LABEL: _class(schema, roles, roles.label, "label", ("columns", "label"))}
    return {LABEL: _number(schema, roles.label, "label", ("columns", "label"))}


def _class(
    schema: pl.Schema, roles: RoleColumns, name: str, role: str, path: tuple[str | int, ...]
) -> pl.Expr:
    dtype = require(schema, name, role, path)
    if roles.task == "multiclass":
        require_classes(dtype, name, role, path)
        return class_number(pl.col(name), dtype, roles.classes)
    return positive_class(name, dtype, role, path, positive=roles.positive, unlabelled=roles.unlabelled)


def _label_checks(roles: RoleColumns) -> list[Check]:
    label = pl.col(LABEL)
    if roles.label_columns:
        from plmetrics.table.label_sets import truth_checks

        return [*truth_checks(roles.label_columns, label)]
    label_path = ("columns", "label")
    null = "null or NaN" if isinstance(roles.positive, (int, float)) else "null"
    checks = [Check("label", roles.label, null, label.is_null(), label_path)]
    if roles.unlabelled:
        numeric = roles.binary and isinstance(roles.positive, (int, float))
        checks = [Check("label", roles.label, "NaN", label.is_nan(), label_path)] if numeric else []
    if roles.binary and roles.positive is None:
        outside = (label != 0) & (label != 1)
        checks.append(Check("label", roles.label, "neither 0 nor 1", outside, label_path))
    elif roles.task == "multiclass":
        checks.append(_no_class(roles, "label", roles.label, label, label_path))
    elif not roles.binary:
        checks.append(Check("label", roles.label, "NaN or infinite", ~label.is_finite(), label_path))
    return checks


def _checks(roles: RoleColumns) -> tuple[Check, ...]:
    checks = _label_checks(roles)
    if roles.weight is not None:
        weight, path = pl.col(WEIGHT), ("columns", "weight")
        checks += [
            Check("weight", roles.weight, "null", weight.is_null(), path),
            Check("weight", roles.weight, "NaN or infinite", ~weight.is_finite(), path),
            Check("weight", roles.weight, "negative", weight < 0, path),
        ]
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
        if predicted.made and roles.missing != "drop_per_model":
            continue  # What they are made from is checked already: one bad value is one problem.
        if predicted.single:
            checks += _score_checks(roles, model, predicted)
        else:
            total = not roles.label_columns
            checks += part_checks(model, predicted, probability=model in roles.probability, total=total)
    return tuple(checks)


def _no_class(
    roles: RoleColumns, role: str, name: str, value: pl.Expr, path: SuitePath, model: str | None = None
) -> Check:
    classes = name_list([repr(name) for name in roles.classes], _SHOWN_CLASSES)
    return Check(role, name, f"none of the classes ({classes})", value < 0, path, model)


def _score_checks(roles: RoleColumns, model: str, predicted: PredictionColumns) -> list[Check]:
    ((part, name),) = predicted.columns.items()
    score, path, role = pl.col(score_column(model)), part_path(model, part), part_role(model, part)
    if roles.task == "multiclass":
        return [
            Check(role, name, "null", score.is_null(), path, model),
            _no_class(roles, role, name, score, path, model),
        ]
    checks = [] if roles.null_scores else [Check(role, name, "null", score.is_null(), path, model)]
    checks.append(Check(role, name, "NaN or infinite", ~score.is_finite(), path, model))
    if model in roles.hard:
        checks.append(Check(role, name, "neither 0 nor 1", (score != 0) & (score != 1), path, model))
    elif model in roles.probability:
        outside = score.is_finite() & ((score < 0) | (score > 1))
        text = "outside [0, 1], and a probability metric reads it"
        checks.append(Check(role, name, text, outside, path, model))
    return checks
