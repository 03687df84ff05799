"""From estimates to the tidy tables `metrics` and `comparisons`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.core.results import COMPARISONS_SCHEMA, METRICS_SCHEMA
from plmetrics.inference.correction import adjust

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.comparisons.paired import Difference
    from plmetrics.inference.estimates import Found
    from plmetrics.inference.intervals.ladder import Interval
    from plmetrics.table.slices import Slices

ORDER = ["@model", "@set", "@slice", "@metric"]


class Rows:
    """Result rows collected as arrays, one batch per metric, model and chunk of slices."""

    def __init__(self, slices: Sequence[Slices], schema: pl.Schema) -> None:
        self._texts = [(part.slice_set.name, part.texts(), part.pairs()) for part in slices]
        self._schema = schema
        self._frames: list[pl.DataFrame] = []

    def add(self, place: tuple[int, int, int], keep: Any, columns: Mapping[str, Any], first: int) -> None:
        """Add one batch: `place` is (model, slice set, metric), `keep` the slices of the chunk that are listed."""
        index = np.flatnonzero(keep)
        if len(index) == 0:
            return
        model, slice_set, metric = place
        name, texts, pairs = self._texts[slice_set]
        data: dict[str, Any] = {
            "@model": np.full(len(index), model),
            "@set": np.full(len(index), slice_set),
            "@slice": index + first,
            "@metric": np.full(len(index), metric),
        }
        data["slice_set"] = [name] * len(index)
        data["slice"] = [texts[i + first] for i in index]
        data["slice_values"] = pl.Series(
            [pairs[i + first] for i in index], dtype=self._schema["slice_values"]
        )
        for column, values in columns.items():
            data[column] = _series(values, index, self._schema[column])
        self._frames.append(pl.DataFrame(data))

    def frame(self) -> pl.DataFrame:
        """All rows in result order with all columns of the schema."""
        if not self._frames:
            return self._schema.to_frame()
        table = pl.concat(self._frames, how="vertical").sort(ORDER, maintain_order=True)
        missing = [
            pl.lit(None, dtype=dtype).alias(name) for name, dtype in self._schema.items() if name not in table.columns
        ]
        return table.with_columns(missing).select(list(self._schema))


def _series(values: Any, index: Any, dtype: pl.DataType) -> pl.Series:
    if values is None or isinstance(values, (str, int, float)):
        return pl.Series([values] * len(index), dtype=dtype)
    picked = np.asarray(values)[index]
    if dtype == pl.Float64:
        return pl.Series(picked.astype(np.float64)).fill_nan(None)
    if dtype == pl.Int64:
        return pl.Series(np.rint(picked).astype(np.int64))
    return pl.Series(picked.tolist(), dtype=dtype)


def metric_columns(model: str, metric: Metric, found: Found, interval: Interval | None) -> dict[str, Any]:
    """The columns of `metrics` for one batch."""
    columns: dict[str, Any] = {
        "model": model,
        "metric": metric.text,
        "value": found.estimate.value,
        "n": found.n,
        "weight": found.weight,
        "status": found.estimate.status,
        "note": found.note,
        "bound": found.bound,
        "threshold": getattr(metric, "threshold", None),
        "interval_status": "not_requested",
    }
    if interval is not None:
        columns |= {
            "lower": interval.lower,
            "upper": interval.upper,
            "std_error": interval.std_error,
            "method": interval.method,
            "interval_status": interval.status,
            "blocks": found.estimate.blocks,
            "undefined_replicates": interval.undefined_replicates,
        }
    return columns


def comparison_columns(
    model: str, baseline: str, metric: Metric, difference: Difference, n: Any, *, intervals: bool
) -> dict[str, Any]:
    """The columns of `comparisons` for one batch."""
    columns: dict[str, Any] = {
        "contrast": "model",
        "scale": "difference",
        "model": model,
        "baseline": baseline,
        "metric": metric.text,
        "difference": difference.difference,
        "n": n,
        "status": difference.status,
        "interval_status": "not_requested",
    }
    if intervals:
        columns |= {
            "lower": difference.lower,
            "upper": difference.upper,
            "std_error": difference.std_error,
            "method": difference.method,
            "p_value": difference.p_value,
            "interval_status": difference.interval_status,
            "test": "paired_bootstrap",
        }
    return columns


def correct(comparisons: pl.DataFrame, correction: str, family: str) -> pl.DataFrame:
    """Adjust p values within families: all defined ones of a metric and slice set, or of the whole suite."""
    if comparisons.is_empty():
        return comparisons
    if family == "metric":
        label = pl.concat_str([pl.col("metric"), pl.lit(" / "), pl.col("slice_set")])
    else:
        label = pl.lit("suite")
    table = comparisons.with_columns(label.alias("family")).with_row_index("@row")
    adjusted: list[pl.DataFrame] = []
    for part in table.partition_by("family", maintain_order=True):
        p_values = part["p_value"].to_numpy()
        defined = int(np.isfinite(p_values).sum())
        values = pl.Series("p_adjusted", adjust(p_values, correction)).fill_nan(None)
        size = pl.lit(defined, dtype=pl.Int64).alias("family_size")
        adjusted.append(part.with_columns(values, size))
    return pl.concat(adjusted).sort("@row").select(list(COMPARISONS_SCHEMA))


def metrics_rows(slices: Sequence[Slices]) -> Rows:
    """An empty collection of `metrics` rows."""
    return Rows(slices, METRICS_SCHEMA)


def comparison_rows(slices: Sequence[Slices]) -> Rows:
    """An empty collection of `comparisons` rows."""
    return Rows(slices, COMPARISONS_SCHEMA)
