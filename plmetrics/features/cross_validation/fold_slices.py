"""Folds as slices: additional slice sets of a cross-validation, and the rows of its metrics.

Every set that is asked for, `overall` among them, is crossed with the columns that say how rows were trained and left
out: `folds|SET` has a slice for each fold, `pooled|SET` has their rows together. They ride in the run's cubes like any
other set, so that every metric has values in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from plmetrics.core.errors import Collected, ConfigError, DataError, Problem
from plmetrics.core.names import SuitePath
from plmetrics.engine.binding.slice_keys import slice_keys
from plmetrics.engine.prepare.slices import MOST_DERIVED
from plmetrics.features.cross_validation.cross_validation_section import CrossValidation, folds_of
from plmetrics.suite.model import Suite
from plmetrics.suite.sections.basics import Columns
from plmetrics.suite.sections.basics import SliceSet as SliceSpec
from plmetrics.table.checks import not_numbers
from plmetrics.table.common_types import is_opaque
from plmetrics.table.prediction_columns import require
from plmetrics.table.slice_keys import SliceKey
from plmetrics.table.slices import Slices, SliceSet

FOLDS, POOLED = "folds", "pooled"
SPLITS = TRAIN, VALID, TEST = "train", "valid", "test"

_OF_FOLD = ("repeat", "fold", "inner")
_OF_ALL_ROWS = ("configuration", "x", "repeat")
"""Axes along which every row is predicted again."""
_DEPENDENT = "take them for independent: name what they are about as columns.unit"
_MAKER = "cross_validation"
_PATH = (_MAKER,)


@dataclass(frozen=True, slots=True)
class FoldKeys:
    """Key of each axis, in order; masks of held-out rows, and of rows outside inner folds. None for all."""

    axes: Mapping[str, SliceKey]
    held_out: SliceKey | None
    outer: SliceKey | None


def fold_keys(suite: Suite, schema: pl.Schema) -> FoldKeys | None:
    """The keys of a suite's cross-validation; None without one.

    Raises:
        DataError: columns are absent or of a type that has no slices; all are named.
    """
    spec = folds_of(suite)
    if spec is None:
        return None
    collected = Collected()
    axes: dict[str, SliceKey] = {}
    for axis, column in spec.axes(suite.columns.fold).items():
        with collected.step():
            axes[axis] = _axis(axis, column, _path(axis, spec), schema)
    collected.settle()
    outer = None if "inner" not in axes else _predicate("outer", axes["inner"].expression.is_null())
    return FoldKeys(axes, _held_out(axes), outer)


def _path(axis: str, spec: CrossValidation) -> SuitePath:
    if axis == "fold":
        return ("columns", "fold")
    return (*_PATH, ("train_size" if spec.train_size else "parameter") if axis == "x" else axis)


def _axis(axis: str, column: str, path: SuitePath, schema: pl.Schema) -> SliceKey:
    """Key of an axis; NaN, as in whole numbers stored as floats because some are absent, is no fold."""
    name = str(path[-1])
    dtype = require(schema, column, name, path)
    if is_opaque(dtype):
        raise DataError(Problem(f"column '{column}' ({name}) is of type {dtype}, which has no slices", path))
    if axis == "x" and not dtype.is_numeric():
        hint = "name it as configuration, if its values are no numbers"
        raise DataError(not_numbers(column, name, dtype, path, hint))
    key = slice_keys(name, SliceSpec(columns=(column,)), schema)[0][0]
    if not dtype.is_float() or axis == "configuration":
        return key
    return replace(key, column=f"@axis|{column}", expression=key.expression.fill_nan(None))


def _held_out(axes: Mapping[str, SliceKey]) -> SliceKey | None:
    """Held-out rows outside inner folds: the rows of metrics."""
    conditions = []
    if "split" in axes:
        conditions.append((axes["split"].expression.cast(pl.String) != TRAIN).fill_null(value=True))
    if "inner" in axes:
        conditions.append(axes["inner"].expression.is_null())
    return _predicate("held_out", pl.all_horizontal(conditions)) if conditions else None


def _predicate(name: str, holds: pl.Expr) -> SliceKey:
    return SliceKey(f"@rows|{name}", name, holds, "predicate")


def with_folds(
    suite: Suite, sets: Sequence[SliceSet], schema: pl.Schema
) -> tuple[tuple[SliceSet, ...], tuple[SliceKey, ...]]:
    """Sets of a run, of the held-out rows, with those of its folds behind them; and their further keys."""
    keys = fold_keys(suite, schema)
    spec = folds_of(suite)
    if keys is None or spec is None:
        return tuple(sets), ()
    parts = [replace(part, within=keys.held_out, maker=_MAKER) for part in sets]
    names = ("overall", *spec.slices)
    derived: list[SliceSet] = []
    for part in sets:
        if part.name in names and keys.axes:
            _check(part, spec, keys)
            derived += _fold_sets(part, keys)
    named = [*keys.axes.values(), keys.held_out, keys.outer]
    return (*parts, *derived), tuple(key for key in named if key is not None)


def _check(part: SliceSet, spec: CrossValidation, keys: FoldKeys) -> None:
    if part.name not in spec.slices:
        return
    path = (*_PATH, "slices", spec.slices.index(part.name))
    if part.is_tagged:
        msg = f"slice set '{part.name}' is of tags, and a row may have many: folds are not crossed with it"
        raise ConfigError(Problem(msg, path, "leave it out of cross_validation.slices"))
    axes = {key.label for key in keys.axes.values()}
    for key in part.keys:
        if key.kind == "column" and not key.every and key.label in axes:
            msg = f"slice set '{part.name}' is by column '{key.label}', which tells folds apart already"
            raise ConfigError(Problem(msg, path, "leave it out of cross_validation.slices"))


def _fold_sets(part: SliceSet, fold_key: FoldKeys) -> list[SliceSet]:
    """The folds of a set, and where there is more than folds to tell rows by, their rows together."""
    pooled = tuple(key for axis, key in fold_key.axes.items() if axis not in _OF_FOLD)
    out = []
    if "fold" in fold_key.axes:
        keys = (*part.keys, *fold_key.axes.values())
        out.append(SliceSet(f"{FOLDS}|{part.name}", keys, resampled=False, maker=_MAKER))
    if pooled:
        out.append(
            SliceSet(f"{POOLED}|{part.name}", (*part.keys, *pooled), within=fold_key.outer, maker=_MAKER)
        )
    return out


def check_folds(suite: Suite, slices: Sequence[Slices], path: SuitePath) -> None:
    """Check of the folds in the data; `path` is that of their key in the suite.

    Raises:
        ConfigError: there are more folds than can be told apart.
        DataError: the column of splits holds something else.
    """
    spec = folds_of(suite)
    axes = {} if spec is None else spec.axes(suite.columns.fold)
    for part in slices:
        if not part.slice_set.is_derived or part.slice_set.crossing is not None:
            continue
        if len(part) > MOST_DERIVED:
            msg = f"there are more than {MOST_DERIVED:,} folds, counting each configuration and slice"
            hint = "leave columns.fold out, or cross_validation.slices"
            raise ConfigError(Problem(msg, path, hint))
        _check_splits(part, axes)


def fold_warnings(suite: Suite, slices: Sequence[Slices]) -> list[str]:
    """Words of caution where no row has a fold, and where intervals take rows of one observation for independent."""
    return [*_no_folds(suite.columns, slices), *_dependent(suite, slices)]


def _no_folds(columns: Columns, slices: Sequence[Slices]) -> list[str]:
    for part in slices:
        fold_columns = [key.column for key in part.slice_set.keys if key.label == columns.fold]
        if part.slice_set.name == f"{FOLDS}|overall" and part.values[fold_columns[-1]].is_null().all():
            return [f"column '{columns.fold}' (fold) is null in every row: there are no folds"]
    return []


def _dependent(suite: Suite, slices: Sequence[Slices]) -> list[str]:
    """Warning of intervals whose rows are there once for each repeat, configuration or size, or in several folds.

    Inner folds are no such rows: intervals are of the others.
    """
    spec = CrossValidation.find(suite)
    if spec is None or suite.uncertainty is None or suite.columns.unit is not None:
        return []
    axes = spec.axes(suite.columns.fold)
    several = next((axis for axis in axes if axis in _OF_ALL_ROWS), None)
    if several is not None:
        name = "train_size" if several == "x" and spec.train_size else several.replace("x", "parameter")
        return [f"rows occur more than once (cross_validation.{name}), and intervals {_DEPENDENT}"]
    splits = _splits_of_folds(axes, slices)
    if {VALID, TEST} <= splits:
        return [f"rows occur more than once (cross_validation.split), and intervals {_DEPENDENT}"]
    if TRAIN in splits:
        return [
            "rows of train are in several folds (cross_validation.split), and intervals of generalisation gaps "
            f"{_DEPENDENT}"
        ]
    return []


def _splits_of_folds(axes: Mapping[str, str], slices: Sequence[Slices]) -> set[str]:
    """The splits with rows in more than one fold."""
    part = next((part for part in slices if part.slice_set.name == f"{FOLDS}|overall"), None)
    if part is None or "split" not in axes:
        return set()
    split, fold = (
        next(key.column for key in part.slice_set.keys if key.label == axes[axis])
        for axis in ("split", "fold")
    )
    folds = part.values.group_by(pl.col(split).cast(pl.String)).agg(pl.col(fold).n_unique())
    return set(folds.filter(pl.col(fold) > 1)[split])


def _check_splits(part: Slices, axes: Mapping[str, str]) -> None:
    if "split" not in axes:
        return
    key = next(key for key in part.slice_set.keys if key.label == axes["split"])
    values = {key.text(value) for value in part.values[key.column].unique().to_list()}
    other = sorted(values - set(SPLITS))
    if other:
        msg = f"column '{key.label}' (split) holds '{other[0]}', and must say train, valid or test"
        raise DataError(
            Problem(msg, (*_PATH, "split"), "rename the values, or leave such rows out (data.where)")
        )
