"""The columns of a search for slices as small codes: numbers and times in bins, other values if they are frequent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np
import polars as pl

from plmetrics.core.errors import Collected, DataError, Problem
from plmetrics.core.hashing import SAMPLE_SALT, mix_expr
from plmetrics.core.ops import Array
from plmetrics.core.quantiles import quantile_edges
from plmetrics.core.slice_texts import NULL, quote
from plmetrics.engine.run_plan import RunPlan
from plmetrics.engine.streaming import collected_frames
from plmetrics.features.slice_search.search_section import FindSlices
from plmetrics.suite.model import Suite
from plmetrics.table.checks import SCORED, VALID, scored_column, valid_column
from plmetrics.table.common_types import is_opaque
from plmetrics.table.prediction_columns import UNIT, WEIGHT, require
from plmetrics.table.prediction_table import PredictionTable
from plmetrics.table.slice_keys import SliceKey, place_in, refuse_name_of_rest
from plmetrics.table.slices import plain_values

_DECIMALS = 300
SAMPLE_ROWS = 500_000
"""Above so many rows, bins come from every k-th unit."""


@dataclass(frozen=True, slots=True)
class SearchedColumn:
    """Column as codes from 0: `texts` are their values in results; null has the last, if there is any.

    `values` are the same as texts by themselves, None for null.
    """

    key: SliceKey
    texts: tuple[str, ...]
    values: tuple[str | None, ...]

    @property
    def label(self) -> str:
        """The raw column."""
        return self.key.label

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.texts)

    def code(self) -> pl.Expr:
        """The code of each row, from the key's canonical column."""
        return pl.col(self.key.column).fill_null(self.size - 1).cast(pl.UInt16)


@dataclass(frozen=True, slots=True)
class Encoding:
    """Encoding of a column: `values` are edges of bins, or the values with a code of their own.

    They are as JSON holds them, dates and times as whole numbers. With `other` there are more values than those, with
    `nulls` and `nans` there are such; one that is `open` has codes for all three, whether they occur or not.
    """

    kind: str
    values: tuple[Any, ...]
    other: bool = False
    nulls: bool = False
    nans: bool = False
    open: bool = False

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Encoding:
        """The encoding from its JSON."""
        return cls(**{**content, "values": tuple(content["values"])})

    @property
    def codes(self) -> tuple[int, ...]:
        """Number of codes: of values or bins, of other values, of NaN and of null."""
        bins = self.kind == "bins"
        values = len(self.values) + int(bins)
        other = not bins and (self.other or self.open)
        nans = bins and (self.nans or self.open)
        nulls = self.nulls or self.open or not values + other
        return values, int(other), int(nans), int(nulls)


def searched_table(plan: RunPlan, keys: Sequence[SliceKey]) -> PredictionTable:
    """Valid rows of the metric, with the keys of the searched columns: all rows if it needs no label.

    Rows are left out as for all models, so that the search sees those that the tables are made from; of a
    cross-validation those held out.
    """
    view = plan.view
    if view.held_out is not None:
        view = replace(view, raw=view.raw.filter(view.held_out))
    table = view.table(replace(view.roles, keys=tuple(keys)))
    if not table.roles.unlabelled or plan.request.suite.metrics[0].text not in plan.request.label_free:
        return table
    names = {valid_column(model): scored_column(model) for model in table.models} | {VALID: SCORED}
    present = table.scored.collect_schema()
    counted = [pl.col(by).alias(name) for name, by in names.items() if by in present]
    return replace(table, frame=table.scored.with_columns(counted))


def column_encodings(plan: RunPlan, spec: FindSlices) -> list[Encoding]:
    """Encodings of the columns of a search, found in the rows in one collection.

    Raises:
        DataError: a column is absent, or of a type that has no slices.
    """
    schema = plan.view.schema
    keys = _raw_keys(schema, spec)
    frame = searched_table(plan, keys).frame
    binned = [key for key in keys if key.kind == "quantiles"]
    others = [key for key in keys if key.kind == "top"]
    plans = {"nulls": frame.select(_missing(key, schema) for key in keys)}
    if binned:
        plans["binned"] = _sample(plan, frame, binned)
    for key in others:
        ranked = frame.group_by(key.column).len().filter(pl.col(key.column).is_not_null())
        ranked = ranked.sort(["len", key.column], descending=[True, False])
        plans[key.column] = ranked.head(spec.top + 1).select(key.column)
    frames = collected_frames(plans)
    nulls = frames["nulls"].row(0, named=True)
    out = []
    for key in keys:
        if key.kind == "top":
            encoding = _top(frames[key.column].to_series(), spec.top)
        else:
            encoding = _bins(key, frames["binned"], schema[key.label], spec.bins)
        out.append(replace(encoding, **nulls[key.column]))
    return _with_rare_values(frame, keys, out, schema) if _sampling_step(plan) > 1 else out


def _with_rare_values(
    frame: pl.LazyFrame, keys: Sequence[SliceKey], encodings: Sequence[Encoding], schema: pl.Schema
) -> list[Encoding]:
    """Encodings of a sample, with other values where rows outside it have some."""
    listed = {
        key.column: _coded_key(replace(key, expression=pl.col(key.column)), encoding, schema[key.label])
        for key, encoding in zip(keys, encodings, strict=True)
        if encoding.kind == "top" and not encoding.other
    }
    if not listed:
        return list(encodings)
    others = [(key.expression == len(key.edges)).any().alias(column) for column, key in listed.items()]
    found = collected_frames({"others": frame.select(others)})["others"].row(0, named=True)
    return [
        replace(encoding, other=encoding.other or bool(found.get(key.column)))
        for key, encoding in zip(keys, encodings, strict=True)
    ]


def searched_columns(
    schema: pl.Schema, spec: FindSlices, encodings: Sequence[Encoding]
) -> tuple[SearchedColumn, ...]:
    """The columns of a search as codes."""
    keys = _raw_keys(schema, spec)
    return tuple(
        _encode(_coded_key(key, encoding, schema[key.label]), encoding)
        for key, encoding in zip(keys, encodings, strict=True)
    )


def _missing(key: SliceKey, schema: pl.Schema) -> pl.Expr:
    value = pl.col(key.column)
    nans = value.is_nan().any() if schema[key.label].is_float() else pl.lit(value=False)
    return pl.struct(nulls=value.is_null().any(), nans=nans).alias(key.column)


def check_searched_columns(suite: Suite, schema: pl.Schema) -> None:
    """Check, on the schema alone, the columns of a search."""
    _raw_keys(schema, FindSlices.of(suite))


def _raw_keys(schema: pl.Schema, spec: FindSlices) -> list[SliceKey]:
    """The columns' values: those of numbers and times are cut into bins, others counted."""
    collected = Collected()
    keys = []
    for index, name in enumerate(spec.columns):
        with collected.step():
            keys.append(_raw_key(schema, name, ("find_slices", "columns", index)))
    collected.settle()
    return keys


def _raw_key(schema: pl.Schema, name: str, path: tuple[str | int, ...]) -> SliceKey:
    dtype = require(schema, name, "find_slices", path)
    if is_opaque(dtype):
        raise DataError(Problem(f"column '{name}' is of type {dtype}, which has no slices to search", path))
    value = pl.col(name)
    if isinstance(dtype, (pl.Categorical, pl.Enum)):
        value = value.cast(pl.String)
    elif dtype.is_decimal():
        value = value.cast(pl.Float64)
    if dtype.is_float():
        value = pl.when(value == 0).then(0.0).otherwise(value)
    ordered = dtype.is_numeric() or isinstance(dtype, (pl.Date, pl.Datetime))
    return SliceKey(f"@search|{name}", name, value, "quantiles" if ordered else "top")


def _sample(plan: RunPlan, frame: pl.LazyFrame, keys: Sequence[SliceKey]) -> pl.LazyFrame:
    """Values to find bins from: all, or those of every k-th unit where there are very many of both."""
    step = _sampling_step(plan)
    if step > 1:
        frame = frame.filter(mix_expr(pl.col(UNIT) ^ pl.lit(SAMPLE_SALT, dtype=pl.UInt64)) % step == 0)
    weight = pl.lit(1.0) if plan.table.weight is None else plan.table.weight
    return frame.select(*(key.column for key in keys), weight.alias(WEIGHT))


def _sampling_step(plan: RunPlan) -> int:
    """1 for all rows, else k for those of every k-th unit."""
    many_units = plan.blocks is not None and plan.blocks.modulus is not None
    return 1 + (plan.rows.read - 1) // SAMPLE_ROWS if many_units else 1


def _bins(key: SliceKey, rows: pl.DataFrame, dtype: pl.DataType, number: int) -> Encoding:
    """The bins of a column: its own values where these are not more than bins."""
    defined = rows.select(key.column, WEIGHT).drop_nulls().sort(key.column, WEIGHT)
    values = defined[key.column]
    different = values.unique(maintain_order=True)
    if len(different) <= number:
        return _top(different, number)
    defined = defined.drop_nans(key.column) if values.dtype.is_float() else defined
    numbers = defined[key.column].to_physical()
    edges = quantile_edges(numbers, defined[WEIGHT].to_numpy(), number)
    if not edges:
        above = numbers.filter(numbers > numbers[0])
        edges = tuple(above.head(1).filter(above.head(1).cast(pl.Float64).is_finite()))
    if not edges:
        return _top(different, len(different))
    if numbers.dtype.is_float():
        edges = _readable(np.array(edges), numbers[0])
    elif dtype.is_temporal():
        edges = tuple(dict.fromkeys(map(math.ceil, edges)))
    return Encoding("bins", edges)


def _readable(edges: Array, least: float) -> tuple[float, ...]:
    """Edges with no more decimals than tell them apart: rows within a thousandth of a bin may change sides."""
    narrowest = float(
        np.diff(edges, prepend=least if np.isfinite(least) else edges[0] - 1).min(initial=np.inf)
    )
    decimals = 3 - int(np.floor(np.log10(narrowest))) if 0 < narrowest < np.inf else 0
    return tuple((np.round(edges, decimals) if 0 < decimals < _DECIMALS else edges).tolist())


def _top(ranked: pl.Series, number: int) -> Encoding:
    """The first values have a code of their own, in order of value; any other is the next."""
    values = ranked.head(number).sort().to_physical().to_list()
    plain = (str(value) if isinstance(value, float) and not isfinite(value) else value for value in values)
    return Encoding("top", tuple(plain), other=len(ranked) > number)


def _coded_key(key: SliceKey, encoding: Encoding, dtype: pl.DataType) -> SliceKey:
    """Key with the code of a value as its expression, null for null."""
    if encoding.kind == "bins":
        edges = encoding.values
        if dtype.is_temporal():
            edges = tuple(pl.Series(edges, dtype=pl.Int64).cast(dtype).to_list())
        return key.in_bins(edges, dtype)
    values = _series(encoding.values, dtype)
    plain = plain_values(values, key.label)
    if encoding.other:
        refuse_name_of_rest(plain, key.label, ("find_slices", "columns"), "raise top")
    temporal = values.dtype.is_temporal()
    names = (values.to_physical() if temporal else values).cast(pl.String)
    text = (key.expression.to_physical() if temporal else key.expression).cast(pl.String)
    place = place_in(names, text).fill_null(len(values))
    index = pl.when(key.expression.is_not_null()).then(place)
    return replace(key, kind="top", edges=tuple(plain), expression=index)


def _series(values: Sequence[Any], dtype: pl.DataType) -> pl.Series:
    """Values of a column as it is searched, from those of an encoding."""
    if isinstance(dtype, (pl.Categorical, pl.Enum)):
        dtype = pl.String()
    elif dtype.is_decimal() or dtype.is_float():
        return pl.Series([float(value) for value in values]).cast(dtype if dtype.is_float() else pl.Float64)
    return pl.Series(values, dtype=pl.Series([], dtype=dtype).to_physical().dtype).cast(dtype)


def _encode(key: SliceKey, encoding: Encoding) -> SearchedColumn:
    *numbers, nulls = encoding.codes
    codes = [*range(sum(numbers)), *[None] * nulls]
    values = tuple(map(key.plain, codes))
    bins = key.kind == "bins"
    texts = [NULL if value is None else value if bins else quote(value, NULL) for value in values]
    return SearchedColumn(key, tuple(texts), values)
