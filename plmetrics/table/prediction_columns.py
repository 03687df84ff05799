"""Roles of columns, their canonical names, and the parts of a model's prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal, TypeAlias

import polars as pl

from plmetrics.core.errors import ConfigError, DataError, Problem
from plmetrics.core.names import SuitePath, did_you_mean, is_pattern, name_list, number_text
from plmetrics.core.ops import case_value, row_sum
from plmetrics.table.checks import Check, Derivation, Requirement

if TYPE_CHECKING:
    from plmetrics.table.slice_keys import SliceKey

    Transform: TypeAlias = Callable[[pl.Expr, Mapping[str, pl.Expr]], Mapping[str, pl.Expr]]

SUM_TOLERANCE = 1e-6
"""How far the probabilities of a row's classes may be from 1 in total."""

SAME_LEVEL = 1e-9
"""How far a declared level may be from the one that a metric asks for."""

BELOW_ZERO = "below 0, and normalise divides by the sum of a row"
"""Fault of logits, or logarithms, in place of probabilities that are to be normalised."""

OUTSIDE = "outside [0, 1], and a metric or curve of probabilities reads it"
"""Fault of other numbers in place of probabilities."""

_PLAIN = "make its values of one: astype(float), astype(str), or dt.tz_convert('UTC') of times with an offset"

LABEL = "@@label"
EVALUATED_LABEL = "@@evaluated label"
"""The label where a row is evaluated, for derivations of evaluated rows; else null."""
WEIGHT = "@@weight"
UNIT = "@@unit"
TREATMENT = "@@treatment"
PLAIN = "@@column|"


@dataclass(frozen=True, slots=True)
class PredictionColumns:
    """Columns of one model: a raw column or an expression for each part of its prediction.

    Parts are `score`, `prediction`, `proba|CLASS`, `quantile|LEVEL`, `mean`, `sd` and `member|NUMBER`. `derivations`
    are expressions over raw columns for parts without a column; `columns` then names their inputs.
    `label` and `weight` are the raw columns of the model's own, None for those of the table; `weight` is False where
    its rows count once.
    `thresholds` are those of parts: the class of the largest probability / threshold is called.
    `lists`: its parts are membership in one column of lists of called classes.
    `steps` are columns that derivations read beside the raw ones, made one mapping after another.
    """

    columns: Mapping[str, str]
    derivations: Mapping[str, pl.Expr] = field(default_factory=dict)
    normalise: bool = False
    label: str | None = None
    weight: str | Literal[False] | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict)
    lists: bool = False
    steps: tuple[Mapping[str, pl.Expr], ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of its parts, in order."""
        return tuple(self.columns)

    @property
    def single(self) -> bool:
        """Whether it is one score or prediction."""
        return self.parts in {("score",), ("prediction",)}

    def of_kind(self, kind: str) -> dict[str, str]:
        """Parts of a kind, such as `quantile`, by their text after the bar."""
        return {part.split("|", 1)[1]: part for part in self.columns if part.startswith(f"{kind}|")}


def score_column(model: str) -> str:
    """Canonical column of a model's score: the ordering number of its rows, or the predicted class."""
    return f"@@score|{model}"


def label_column(model: str) -> str:
    """Canonical column of a label for one model alone."""
    return f"@@label|{model}"


def weight_column(model: str) -> str:
    """Canonical column of weights for one model alone."""
    return f"@@weight|{model}"


def part_column(model: str, part: str) -> str:
    """Canonical column of a part of a model's prediction; that of a single part is the score."""
    return score_column(model) if part in {"score", "prediction"} else f"@@part|{model}|{part}"


def truth_column(name: str) -> str:
    """Canonical indicator column of a class, for multilabel rows."""
    return f"@@truth|{name}"


def quantile_part(level: float) -> str:
    """Prediction part of a quantile."""
    return f"quantile|{number_text(float(level))}"


def levels_of(parts: Sequence[str]) -> tuple[float, ...]:
    """The levels of a model's quantiles, ascending."""
    return tuple(sorted(float(part.split("|", 1)[1]) for part in parts if part.startswith("quantile|")))


def part_path(model: str, part: str, task: str = "") -> SuitePath:
    """Path of a part's column in the suite; the scores of an experiment are its outcomes."""
    if task == "experiment":
        return ("experiment",)
    kind, _, which = part.partition("|")
    if kind == "proba":
        return ("models", model, "proba", which)
    return ("models", model)


def part_role(model: str, part: str, task: str = "") -> str:
    """Name of a part in messages."""
    if task == "experiment":
        return f"outcome '{model}'"
    kind, _, which = part.partition("|")
    words = {
        "score": "score",
        "prediction": "prediction",
        "mean": "mean",
        "sd": "standard deviation",
        "proba": f"probability of class '{which}'",
        "quantile": f"quantile {which}",
        "member": f"member {which}",
    }
    return f"{words[kind]} of model '{model}'"


def leading(parts: Mapping[str, pl.Expr], thresholds: Mapping[str, float]) -> pl.Expr:
    """Ordering number of the rows of a model of several parts.

    The class of the largest probability, over its threshold where classes have some, the middle quantile, or the mean.
    """
    first = next(iter(parts))
    if first.startswith("proba|"):
        return _largest([value / thresholds[part] if thresholds else value for part, value in parts.items()])
    if first.startswith("quantile|"):
        middle = min(levels_of(list(parts)), key=lambda level: (abs(level - 0.5), level))
        return parts[quantile_part(middle)]
    if first.startswith("member|"):
        return pl.mean_horizontal(*parts.values(), ignore_nulls=False)
    return parts["mean"]


def _largest(parts: Sequence[pl.Expr]) -> pl.Expr:
    """The number of the largest, the first one where several are; in a struct, where all compare with one field."""
    names, largest = [str(number) for number in range(len(parts))], pl.field("largest")
    each = [part.alias(name) for name, part in zip(names, parts, strict=True)]
    chosen = case_value([(pl.field(name) == largest, pl.lit(float(name))) for name in names])
    row = pl.struct(pl.max_horizontal(*parts).alias("largest"), *each)
    return row.struct.with_fields(chosen.alias("chosen")).struct["chosen"]


@dataclass(slots=True)
class ColumnSteps:
    """Columns that are made one step after another: what several read is computed, and planned, once."""

    prefix: str
    steps: tuple[Mapping[str, pl.Expr], ...] = ()

    def add(self, values: Iterable[pl.Expr]) -> list[pl.Expr]:
        """Columns of one more step."""
        name = f"@@step|{self.prefix}|{len(self.steps)}"
        step = {f"{name}|{number}": value for number, value in enumerate(values)}
        self.steps += (step,)
        return [pl.col(name) for name in step]


def normalise_probabilities(parts: Iterable[pl.Expr], steps: ColumnSteps) -> list[pl.Expr]:
    """Probabilities divided by their total; unchanged in rows with a negative one, for the checks.

    Logarithms of probabilities, divided by their sum, would be positive numbers in the opposite order. Beside one that
    is null or not finite the others are 0: they are not at fault.
    """
    values = steps.add(part.cast(pl.Float64) for part in parts)
    total = pl.sum_horizontal(*values, ignore_nulls=False)
    signed, total = steps.add([pl.any_horizontal(value < 0 for value in values), total])
    return [
        pl.when(~signed & total.is_finite())
        .then(value / total)
        .when(signed)
        .then(value)
        .otherwise(value * 0.0)
        for value in values
    ]


def with_part_columns(raw: pl.LazyFrame, models: Mapping[str, PredictionColumns]) -> pl.LazyFrame:
    """Raw rows with the canonical columns of derived and normalised parts, and the columns that these read."""
    parts = [_steps_of_parts(*each) for each in models.items() if each[1].normalise or each[1].derivations]
    for steps in zip_longest(*parts, fillvalue={}):
        raw = raw.with_columns(**{name: value for step in steps for name, value in step.items()})
    return raw


def _steps_of_parts(model: str, predicted: PredictionColumns) -> tuple[Mapping[str, pl.Expr], ...]:
    steps, values = predicted.steps, list(predicted.derivations.values())
    if predicted.normalise:
        own = ColumnSteps(model)
        values = normalise_probabilities(map(pl.col, predicted.columns.values()), own)
        steps = own.steps
    columns = (part_column(model, part) for part in predicted.parts)
    return (*steps, {name: value.cast(pl.Float64) for name, value in zip(columns, values, strict=True)})


def score_checks(
    model: str, predicted: PredictionColumns, task: str, *, hard: bool, probability: bool, nullable: bool
) -> list[Check]:
    """Checks of a model's single number."""
    ((part, name),) = predicted.columns.items()
    score, path, role = (
        pl.col(score_column(model)),
        part_path(model, part, task),
        part_role(model, part, task),
    )
    checks = [] if nullable else [Check(role, name, "null", score.is_null(), path, model)]
    checks.append(Check(role, name, "NaN or infinite", ~score.is_finite(), path, model))
    if hard:
        checks.append(Check(role, name, "neither 0 nor 1", (score != 0) & (score != 1), path, model))
    elif probability:
        outside = score.is_finite() & ((score < 0) | (score > 1))
        checks.append(Check(role, name, OUTSIDE, outside, path, model))
    return checks


def part_checks(
    model: str, predicted: PredictionColumns, *, probability: bool, total: bool
) -> Iterator[Check]:
    """Checks of the values of a model of several parts; `total`: probabilities must sum to 1."""
    proba: list[pl.Expr] = []
    for part, name in predicted.columns.items():
        value, path, role = pl.col(part_column(model, part)), part_path(model, part), part_role(model, part)
        yield Check(role, name, "null", value.is_null(), path, model)
        text = "NaN or infinite" + (", or in a row whose sum is 0" if predicted.normalise else "")
        yield Check(role, name, text, ~value.is_finite(), path, model)
        if part == "sd":
            yield Check(role, name, "negative", value < 0, path, model)
        if predicted.normalise:
            yield Check(role, name, BELOW_ZERO, value < 0, path, model)
        if part.startswith("proba|") and probability:
            outside = value.is_finite() & ((value < 0) & (not predicted.normalise) | (value > 1))
            yield Check(role, name, OUTSIDE, outside, path, model)
            proba.append(value)
    if proba and total and not predicted.normalise:
        name, sum_of_row = next(iter(predicted.columns.values())), row_sum(proba)
        off = sum_of_row.is_finite() & ((sum_of_row - 1).abs() > SUM_TOLERANCE)
        text = "in rows whose probabilities do not sum to 1 (write normalise: true to divide by the sum)"
        role = f"probabilities of model '{model}'"
        yield Check(role, name, text, off, ("models", model), model, shown=sum_of_row)


def sound_parts(model: str, predicted: PredictionColumns, *, probability: bool, total: bool) -> pl.Expr:
    """Whether all parts of a row are sound: the complement of the checks."""
    sound: list[pl.Expr] = []
    proba: list[pl.Expr] = []
    for part in predicted.columns:
        value = pl.col(part_column(model, part))
        if part.startswith("proba|") and probability:
            proba.append(value)
            sound.append(value.is_between(0, 1))
        elif part == "sd" or predicted.normalise:
            sound.append(value.is_finite() & (value >= 0))
        else:
            sound.append(value.is_finite())
    if proba and total:
        sound.append((row_sum(proba) - 1).abs() <= SUM_TOLERANCE)
    return pl.all_horizontal(sound)


def plain_column(name: str) -> str:
    """Name in the canonical table of a column without a role."""
    return f"{PLAIN}{name}"


@dataclass(frozen=True, slots=True)
class RoleColumns:
    """Raw columns by role, free of any suite: the inputs of a prediction table.

    `probability` are the models whose scores must lie in [0, 1]. `classes` are those of a multiclass label, in order;
    empty where they are not known yet. `unit` is the hash expression, given when intervals are asked for. `columns`
    are others that row expressions read, `derivations` those to compute from raw ones first, and `requirements` what
    must hold for some of them. `transform` makes further parts of each model's prediction from the label and its parts.
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
    derivations: Mapping[str, Derivation] = field(default_factory=dict)
    transform: Transform | None = None
    null_scores: bool = False
    unlabelled: bool = False
    label_columns: Mapping[str, str] = field(default_factory=dict)

    def derivation_expressions(self, *, evaluated: bool) -> dict[str, pl.Expr]:
        """The expressions of derivations by canonical column, of raw or of evaluated rows."""
        return {
            plain_column(name): derivation.expression
            for name, derivation in self.derivations.items()
            if derivation.evaluated == evaluated
        }

    def without_values(self) -> RoleColumns:
        """Roles without the columns that values of metrics alone are computed from."""
        checked = {name: part for name, part in self.derivations.items() if not part.evaluated}
        return replace(self, columns=(), derivations=checked)

    def with_derivations(self, frame: pl.LazyFrame, sound: pl.Expr) -> pl.LazyFrame:
        """Canonical rows with the derivations of those that are evaluated, which are `sound`."""
        derived = self.derivation_expressions(evaluated=True)
        if not derived:
            return frame
        label = pl.when(sound).then(pl.col(LABEL)).alias(EVALUATED_LABEL)
        return frame.with_columns(label).with_columns(**derived).drop(EVALUATED_LABEL)

    @property
    def binary(self) -> bool:
        """Whether labels are 0 and 1."""
        return self.task == "binary"

    @property
    def per_model(self) -> bool:
        """Whether valid rows, labels or weights differ from model to model."""
        separate = any(model.label or model.weight is not None for model in self.models.values())
        return separate or self.missing == "drop_per_model"

    def label_of(self, model: str) -> str:
        """Canonical column of a model's label."""
        has_label = model in self.models and self.models[model].label is not None
        return label_column(model) if has_label else LABEL

    def weight_of(self, model: str) -> str | None:
        """The canonical column of the weights of a model's rows; None where they count once."""
        weight = self.models[model].weight if model in self.models else None
        if weight is None:
            return None if self.weight is None else WEIGHT
        return weight_column(model) if weight else None


def column_names(value: object, role: str, *, required: bool = False) -> tuple[str, ...]:
    """Columns of an argument in Python: a name, or several.

    Raises:
        ConfigError: it is neither, or names none where one is required.
    """
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else (value,)
    if not all(isinstance(name, str) for name in names) or (required and not names):
        msg = f"{role} must be a column, or a list of columns, not {value!r}"
        raise ConfigError(Problem(msg, (role,)))
    return names


def require(schema: pl.Schema, name: str, role: str, path: tuple[str | int, ...]) -> pl.DataType:
    """The type of a column.

    Raises:
        DataError: it is absent, and the message names the nearest one, or some; or Polars has no type for its values.
    """
    if name not in schema:
        hint = did_you_mean(name, schema) or f"known: {name_list(schema.names(), 20)}"
        raise DataError(Problem(f"column '{name}' ({role}) is not in the data", path, hint))
    if is_pattern(name):
        msg = f"column '{name}' ({role}): Polars takes such a name for a pattern of names"
        raise DataError(Problem(msg, path, "rename the column"))
    if isinstance(schema[name], pl.BaseExtension):
        msg = f"column '{name}' ({role}) is of type {schema[name]}, of another library"
        raise DataError(Problem(msg, path, "store it as text, numbers or dates"))
    if schema[name] == pl.Object:
        msg = f"column '{name}' ({role}) holds Python objects: of mixed types, or of one that Polars lacks"
        raise DataError(Problem(msg, path, _PLAIN))
    return schema[name]
