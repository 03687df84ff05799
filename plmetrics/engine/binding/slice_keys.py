"""Keys of the slice sets of a suite, as expressions on the raw columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.errors import ConfigError, DataError, Problem
from plmetrics.core.names import sql_name
from plmetrics.engine.binding.row_expressions import predicate
from plmetrics.table.classes import holds_lists
from plmetrics.table.common_types import is_opaque, is_text
from plmetrics.table.prediction_columns import require
from plmetrics.table.slice_keys import PREDICATE, SliceKey, bin_index, period_start, tag_text
from plmetrics.table.slices import SliceSet

if TYPE_CHECKING:
    from plmetrics.suite.model import Suite
    from plmetrics.suite.sections.basics import SliceSet as SliceSpec


def slice_keys(name: str, spec: SliceSpec, schema: pl.Schema) -> list[list[SliceKey]]:
    """Keys of a slice set; overlapping predicates are a set each, all of one name."""
    if spec.rollup is not None:
        keys = [_column_key(name, column, spec, schema) for column in spec.rollup]
        return [keys[:level] for level in range(1, len(keys) + 1)]
    if spec.where is None:
        return [[_column_key(name, column, spec, schema) for column in spec.columns]]
    if isinstance(spec.where, str):
        return [[_predicate_key(name, spec.where, name, schema, ("slices", name, "where"))]]
    return [
        [_predicate_key(label, text, f"{name}|{label}", schema, ("slices", name, "where", label))]
        for label, text in spec.where.items()
    ]


def crossed_sets(suite: Suite, sets: Sequence[SliceSet]) -> list[SliceSet]:
    """Sets of groups crossed with the levels of within-level comparisons; none of sets with a problem of their own.

    Raises:
        ConfigError: one of them is of tags, of which a row may have many.
    """
    by_name = {part.name: part for part in sets}
    crossed = []
    for name, metrics in suite.crossings.items():
        index = next(n for n, metric in enumerate(suite.metrics) if metric.text == metrics[0].text)
        _, *crossing = name.split("|")
        if not by_name.keys() >= set(crossing):
            continue
        for part in crossing:
            if by_name[part].is_tagged:
                msg = f"slice set '{part}' is of tags, and a row may have many: it cannot be crossed"
                raise ConfigError(Problem(msg, ("metrics", index, "slices")))
        crossed.append(SliceSet(name, tuple(key for part in crossing for key in by_name[part].keys)))
    return crossed


def _predicate_key(
    label: str, text: str, column: str, schema: pl.Schema, path: tuple[str | int, ...]
) -> SliceKey:
    holds = predicate(text, schema, path).fill_null(value=False)
    return SliceKey(f"{PREDICATE}{column}", label, holds, "predicate")


def _column_key(name: str, column: str, spec: SliceSpec, schema: pl.Schema) -> SliceKey:
    path = ("slices", name)
    dtype = require(schema, column, f"slice set '{name}'", path)
    value = pl.col(column)
    if spec.bins is not None:
        return _binned_key(name, column, value, dtype, tuple(spec.bins))
    if spec.quantiles is not None:
        if not dtype.is_numeric():
            msg = f"slice set '{name}': column '{column}' is of type {dtype}, and quantiles need numbers"
            raise DataError(Problem(msg, path, _of_text(column, dtype, "numbers")))
        label = f"@quantiles|{column}|{spec.quantiles}"
        return SliceKey(label, column, value, "quantiles", number=spec.quantiles)
    if spec.every is not None:
        return _period_key(name, column, dtype, spec.every)
    if holds_lists(dtype) and len(spec.columns) == 1 and spec.top is None:
        return _tags_key(name, column, dtype)
    if is_opaque(dtype):
        msg = f"slice set '{name}': column '{column}' is of type {dtype}, which has no slices"
        hint = "a list of tags stands alone, without other columns or top" if holds_lists(dtype) else None
        raise DataError(Problem(msg, path, hint))
    if dtype.is_float():
        value = pl.when(value == 0).then(0.0).otherwise(value)
    if isinstance(dtype, (pl.Categorical, pl.Enum)):
        value = value.cast(pl.String)
    if spec.top is not None:
        identity = f"@top|{column.replace('|', '||')}|{spec.top}"
        identity += f"|{name}" if spec.exclude else ""
        return SliceKey(identity, column, value, "top", number=spec.top)
    return SliceKey(f"@slice|{column}", column, value, "column")


def _tags_key(name: str, column: str, dtype: pl.List | pl.Array) -> SliceKey:
    inner = pl.Series([], dtype=dtype.inner).dtype
    if not is_text(inner) and not inner.is_integer() and inner != pl.Null:
        msg = f"slice set '{name}': column '{column}' is of type {dtype}, and tags must be texts or whole numbers"
        raise DataError(Problem(msg, ("slices", name)))
    return SliceKey(f"@tags|{column}", column, tag_text(pl.col(column)), "tags")


def _period_key(name: str, column: str, dtype: pl.DataType, every: str) -> SliceKey:
    try:
        start = period_start(pl.col(column), dtype, every)
    except ValueError as error:
        msg = f"slice set '{name}': column '{column}' is of type {dtype}, and every: {every} needs {error}"
        hint = _of_text(column, dtype, str(error))
        raise DataError(Problem(msg, ("slices", name, "every"), hint)) from None
    return SliceKey(f"@every|{column}|{every}", column, start, "column", every=every)


def _of_text(column: str, dtype: pl.DataType, needed: str) -> str | None:
    """How numbers or times are made of texts."""
    target = {"numbers": "DOUBLE", "times": "TIMESTAMP"}.get(needed)
    if dtype != pl.String or target is None:
        return None
    return f"derive a column of {needed}: TRY_CAST({sql_name(column)} AS {target})"


def _binned_key(
    name: str, column: str, value: pl.Expr, dtype: pl.DataType, edges: tuple[Any, ...]
) -> SliceKey:
    try:
        index = bin_index(value, dtype, edges)
    except ValueError as error:
        msg = f"slice set '{name}': column '{column}' is of type {dtype}, but its bins are {error}"
        raise DataError(Problem(msg, ("slices", name), _of_text(column, dtype, str(error)))) from None
    return SliceKey(f"@bins|{column}|{edges}", column, index, "bins", edges)
