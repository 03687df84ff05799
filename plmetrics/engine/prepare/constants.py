"""Results of the preparation's steps, added models and thresholds; and constants of another run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.names import number_text
from plmetrics.core.ops import Array
from plmetrics.states.sums import DEFAULT_THRESHOLD, class_threshold
from plmetrics.table.slice_keys import SliceKey, top_index
from plmetrics.table.slices import plain_values

if TYPE_CHECKING:
    from plmetrics.core.results import Json
    from plmetrics.engine.request import Request, TableView
    from plmetrics.states.scores.grid.run_grids import Grids
    from plmetrics.suite.sections.basics import ModelColumns


@dataclass(frozen=True, slots=True)
class Calibration:
    """Rows with calibrated models, the fits by model, warnings, and the number of rows of the fits."""

    view: TableView
    constants: Mapping[str, Json]
    warnings: tuple[str, ...] = ()
    fitted_rows: int = 0


@dataclass(frozen=True, slots=True)
class ThresholdChoice:
    """Thresholds by model and text of the rule, NaN where none meets the rule; and warnings."""

    values: Mapping[str, Mapping[str, float]]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Constants:
    """Constants of another run, in place of new ones from the data.

    `keys` are by canonical column the edges of quantile bins, and the values of a top; `grids` where scores are
    counted, and `features` what each feature has looked up, by key. `calibrators` are by model what was fitted, and
    `baseline` by part what the built-in baseline gives.
    """

    centres: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    thresholds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    classes: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Sequence[Json]]] = field(default_factory=dict)
    grids: Grids | None = None
    exponents: Mapping[str, int] = field(default_factory=dict)
    score_spans: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    features: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    bin_edges: Mapping[str, Array] = field(default_factory=dict)
    calibrators: Mapping[str, Json] = field(default_factory=dict)
    baseline: Mapping[str, float] = field(default_factory=dict)


def constant_thresholds(
    request: Request, constants: Constants | None
) -> Mapping[str, Mapping[str, float]] | None:
    """The thresholds of each model where none is found in the rows."""
    if constants is not None:
        return constants.thresholds
    chosen = request.chooses_thresholds
    return None if chosen else suite_thresholds(request.suite.models)


def suite_thresholds(models: Mapping[str, ModelColumns]) -> dict[str, dict[str, float]]:
    """Thresholds of each model in the suite."""
    return {name: _thresholds_of(model) for name, model in models.items()}


def _thresholds_of(model: ModelColumns) -> dict[str, float]:
    """A model's own thresholds, by the text of the default one, and the class."""
    if isinstance(model.threshold, dict):
        return {class_threshold(DEFAULT_THRESHOLD, name): value for name, value in model.threshold.items()}
    return {} if model.threshold is None else {number_text(DEFAULT_THRESHOLD): model.threshold}


def pinned_keys(
    keys: Iterable[SliceKey], constants: Mapping[str, Mapping[str, Sequence[Json]]], schema: pl.Schema
) -> dict[str, SliceKey]:
    """Keys with the edges of quantile bins and the top values of another run, by canonical column."""
    return {key.column: _key(key, constants[key.column], schema) for key in keys if key.column in constants}


def _key(key: SliceKey, content: Mapping[str, Sequence[Json]], schema: pl.Schema) -> SliceKey:
    dtype = schema[key.label]
    if content["kind"] == "bins":
        return key.in_bins(tuple(content["edges"]), dtype)
    if isinstance(dtype, (pl.Categorical, pl.Enum)):
        dtype = pl.String()
    values, excluded = (_series(content[name], dtype) for name in ("edges", "excluded"))
    return top_key(key, values, excluded)


def _series(physical: Sequence[Json], dtype: pl.DataType) -> pl.Series:
    """Values cast from their stored type."""
    physical_series = pl.Series(physical, dtype=pl.Series([], dtype=dtype).to_physical().dtype)
    return physical_series.cast(dtype)


def top_key(key: SliceKey, values: pl.Series, excluded: pl.Series) -> SliceKey:
    """A key with its top values, and those that are excluded, in place of the number of the former."""
    edges = tuple(plain_values(values, key.label))
    number = top_index(key.expression, values, excluded)
    return replace(key, expression=number, edges=edges, excluded=excluded, values=values)
