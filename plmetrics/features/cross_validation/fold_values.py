"""Values of all metrics in all folds as one frame, the input of all summaries of folds.

Frames hold numbers in place of names (`IDENTITY`), so that rows sort into the order of results;
`KeyNames` puts the names back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.core.results import SLICE_VALUES, in_schema
from plmetrics.features.cross_validation.cross_validation_section import AXES
from plmetrics.inference.chunks import EstimateColumns, chunks
from plmetrics.inference.estimates import Estimates
from plmetrics.table.joins import inner_join, left_join

if TYPE_CHECKING:
    from plmetrics.inference.analysis import OrderedByPlace
    from plmetrics.inference.subject import Analysis, SetStates
    from plmetrics.table.slice_keys import SliceKey

    Ordered = OrderedByPlace

IDENTITY = ["@model", "@set", "@slice", "@metric", "@class"]
"""Whose value it is: numbers of the model, the slice set, the slice in it, the metric and its class."""

GROUP = [*IDENTITY, "configuration", "split", "x"]
"""Keys of values that are summarised over folds together."""

_CELL = "@cell"
_VALUES = {"value": pl.Float64, "n": pl.Int64, "weight": pl.Float64, "status": pl.String, "note": pl.String}


@dataclass(frozen=True, slots=True)
class KeyNames:
    """Names behind the numbers of `IDENTITY`."""

    frames: Mapping[str, pl.DataFrame]

    @classmethod
    def of(cls, analysis: Analysis) -> KeyNames:
        """The names of a run."""
        metrics = analysis.suite.metrics_and_subjects
        classes = [
            {"@metric": number, "@class": place, "class": name or None}
            for number, metric in enumerate(metrics)
            for place, (name, _) in enumerate(metric.per_class())
        ]
        slices = [
            {"@set": number, "@slice": place, "slice_set": part.slice_set.name, "slice": text}
            for number, part in enumerate(states.slices for states in analysis.sets)
            if not part.slice_set.is_derived
            for place, text in enumerate(part.texts())
        ]
        pairs = [
            pair
            for states in analysis.sets
            if not states.slices.slice_set.is_derived
            for pair in states.slices.pairs()
        ]
        numbers = {"@set": pl.Int64, "@slice": pl.Int64, "@metric": pl.Int64, "@class": pl.Int64}
        named = pl.DataFrame(slices, schema_overrides=numbers)
        frames = {
            "@model": _number_table("@model", "model", list(analysis.models)),
            "@metric": _number_table("@metric", "metric", [metric.text for metric in metrics]),
            "@class": pl.DataFrame(classes, schema_overrides=numbers | {"class": pl.String}),
            "@slice": named.with_columns(pl.Series("slice_values", pairs, dtype=SLICE_VALUES)),
        }
        return cls(frames)

    def restore(self, frame: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
        """The frame with names, and with all columns of a result table, its rows in their order."""
        for names in self.frames.values():
            on = [name for name in names.columns if name in IDENTITY]
            frame = frame.join(names, on=on, how="left", maintain_order="left")
        return in_schema(frame, schema)


def _number_table(number: str, name: str, texts: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame(
        {number: np.arange(len(texts)), name: list(texts)}, schema={number: pl.Int64, name: pl.String}
    )


@dataclass(frozen=True, slots=True)
class FoldSet:
    """A set of folds, or of their rows together: its number and states, the set it comes from, and its axes."""

    number: int
    states: SetStates
    source: int
    axes: Mapping[str, SliceKey]

    def cells(self, analysis: Analysis) -> pl.DataFrame:
        """Slice and axes of every cell of the set, without those of excluded slices."""
        values = self.states.slices.values.with_row_index(_CELL).with_columns(pl.col(_CELL).cast(pl.Int64))
        source = analysis.sets[self.source].slices
        key_columns = [key.column for key in source.slice_set.keys]
        numbers = source.values.select(key_columns).with_row_index("@slice") if key_columns else None
        if numbers is None:
            cells = values.with_columns(pl.lit(0, dtype=pl.Int64).alias("@slice"))
        else:
            cells = inner_join(values, numbers, key_columns)
        for axis, key in self.axes.items():
            cells = _with_axis(cells, axis, key)
        absent = [axis for axis in AXES if axis not in self.axes]
        return cells.select(
            _CELL,
            pl.lit(self.source, dtype=pl.Int64).alias("@set"),
            pl.col("@slice").cast(pl.Int64),
            *self.axes,
            *(pl.lit(None, dtype=pl.Float64 if axis == "x" else pl.String).alias(axis) for axis in absent),
        )


def _with_axis(cells: pl.DataFrame, axis: str, key: SliceKey) -> pl.DataFrame:
    if axis == "x":
        return cells.with_columns(pl.col(key.column).cast(pl.Float64).alias(axis))
    values = cells[key.column].unique()
    texts = [key.plain(value) for value in values.to_list()]
    named = pl.DataFrame({key.column: values, axis: pl.Series(texts, dtype=pl.String)})
    return left_join(cells, named, key.column)


def derived_sets(analysis: Analysis, kind: str, axes: Sequence[str]) -> Iterator[FoldSet]:
    """Sets `KIND|SET` of a run, with the keys of their axes at the end."""
    sets = [states.slices.slice_set for states in analysis.sets]
    for number, states in enumerate(analysis.sets):
        slice_set = states.slices.slice_set
        prefix, _, name = slice_set.name.rpartition("|")
        if prefix != kind:
            continue
        first = len(slice_set.keys) - len(axes)
        columns = [key.column for key in slice_set.keys[:first]]
        source = next(
            place
            for place, part in enumerate(sets)
            if part.name == name and [key.column for key in part.keys] == columns
        )
        yield FoldSet(number, states, source, dict(zip(axes, slice_set.keys[first:], strict=True)))


def without_replicates(analysis: Analysis) -> Analysis:
    """Analysis of values alone: folds of few rows are folds, and nothing is resampled."""
    suite = analysis.suite.model_copy(update={"min_rows": 0})
    return replace(analysis, suite=suite, weights=None, units=None)


def values_of(analysis: Analysis, ordered: Ordered, derived: FoldSet) -> pl.DataFrame:
    """Row for every model, metric, class and cell with rows of some model: `GROUP`, the other axes, and the value."""
    plain = without_replicates(analysis)
    numbers = analysis.metric_numbers
    name = analysis.sets[derived.source].slices.slice_set.name
    parts: list[dict[str, Any]] = []
    sums = derived.states.sums
    unblocked = replace(sums, block=np.zeros_like(sums.block), blocks=1)
    for chunk in chunks(unblocked, None):
        estimates = Estimates(plain, derived.number, chunk, ordered)
        for metric in analysis.suite.metrics_in(name):
            for place, (_, member) in enumerate(metric.per_class()):
                by_model = estimates.of(member).values()
                occupied = np.flatnonzero(np.max([each.n for each in by_model], axis=0) > 0)
                for model, each in enumerate(by_model):
                    unlabelled = each.estimate.status == plain.population.label_status
                    columns = replace(each, n=np.where(unlabelled, 0.0, each.n))
                    parts.append(_part((model, numbers[metric.text], place), occupied, chunk.first, columns))
    return _frame(parts).join(derived.cells(analysis), on=_CELL, how="inner", maintain_order="left")


def _part(place: tuple[int, int, int], index: Any, first: int, estimates: EstimateColumns) -> dict[str, Any]:
    size = len(index)
    model, metric, number = (np.full(size, each, dtype=np.int64) for each in place)
    estimate = estimates.estimate
    return {
        "@model": model,
        "@metric": metric,
        "@class": number,
        _CELL: index + first,
        "value": estimate.value[index],
        "n": np.rint(estimates.n[index]).astype(np.int64),
        "weight": estimates.weight[index],
        "status": estimate.status[index],
        "note": estimates.note[index],
    }


def _frame(parts: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    schema = dict.fromkeys(("@model", "@metric", "@class", _CELL), pl.Int64) | _VALUES
    columns = []
    for name, dtype in schema.items():
        joined = np.concatenate([part[name] for part in parts]) if parts else np.zeros(0)
        values = joined.tolist() if dtype == pl.String else joined
        columns.append(pl.Series(name, values, dtype=dtype))
    return pl.DataFrame(columns).with_columns(pl.col("value").fill_nan(None))
