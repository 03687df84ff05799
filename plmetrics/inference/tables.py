"""The tidy tables `metrics` and `comparisons` from estimates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.catalogue.composite_metrics import is_across_slices
from plmetrics.core.ops import Array, Codes
from plmetrics.core.results import (
    COMPARISONS_SCHEMA,
    FARTHER,
    LABELLED,
    MEAN_RANK,
    METRICS_SCHEMA,
    NEARER,
    SLICE_VALUES,
    TableSchema,
)

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.chunks import EstimateColumns
    from plmetrics.inference.comparisons.paired_bootstrap import Difference
    from plmetrics.inference.estimate import Intervals, ReplicateKind
    from plmetrics.table.slices import Slices

Batch = dict[str, Any]

WHOLE = -1
"""The number, among a set's slices, of what is put together from all of them."""

INDEPENDENT_TEST = "independent_t"
"""Name of the test of two runs of different units."""

TESTS: Mapping[ReplicateKind, str] = MappingProxyType(
    {"bootstrap": "paired_bootstrap", "jackknife": "paired_jackknife", "influence": "paired_delta"}
)
"""Names of the test of a comparison, by the replicates of its two sides."""

DELONG = "delong"
"""And where areas are compared whose intervals are DeLong's."""

_RELATIVE = ("ratio", "relative_change")
"""Scales beside the difference."""

COMPARED_SCHEMA: pl.Schema = TableSchema(
    [*COMPARISONS_SCHEMA.items(), ("blocks", pl.Int64), ("nearer", pl.Float64), ("nearer_p", pl.Float64)]
)
"""The table `comparisons` in the making.

`blocks` are for the gates; `nearer` is by how much the model is nearer to 0 than its baseline, and `nearer_p` the p
value of that, of metrics that are best at 0.
"""

FEW_UNITS = 30
"""With fewer independent units than this a row's note says so."""


class ResultRows:
    """Result rows collected as arrays, one batch per metric, model and chunk of slices; a frame at the end.

    Batches may come from several threads, in any order.
    """

    def __init__(self, slices: Sequence[Slices], schema: pl.Schema) -> None:
        self._slices = slices
        self._schema = schema
        self._added: list[tuple[Any, Batch]] = []

    def add(
        self,
        place: tuple[int, int, int, int],
        keep: Any,
        columns: Mapping[str, Any],
        first: int,
        turn: int = 0,
    ) -> None:
        """Add one batch: `place` is (model, slice set, metric, class), `keep` the mask of the chunk's listed slices.

        Of several rows for the same estimate, `turn` says which comes first.
        """
        index = np.flatnonzero(keep)
        self._add(_place(place, index + first, turn), index, columns)

    def add_at(self, place: tuple[Any, int, int, int], numbers: Any, columns: Mapping[str, Any]) -> None:
        """Add a row for each of some slices, by their numbers; of one place they stay in the order they came in.

        The model of a place may be one for each row.
        """
        self._add(_place(place, numbers), np.arange(len(numbers)), columns)

    def _add(self, places: Any, index: Codes, columns: Mapping[str, Any]) -> None:
        if len(index):
            self._added.append((places, {name: _pick(values, index) for name, values in columns.items()}))

    def frame(self) -> pl.DataFrame:
        """All rows in result order with all columns of the schema."""
        if not self._added:
            return self._schema.to_frame()
        places = np.concatenate([place for place, _ in self._added])
        order = np.lexsort(self._result_places(places).T[::-1])
        sets, numbers = places[order, 1], places[order, 2]
        data = {name: self._column(name, order) for name in self._schema if name in self._added[0][1]}
        data |= self._slice_columns(sets, numbers)
        return pl.concat([self._schema.to_frame(), pl.DataFrame(data)], how="diagonal")

    def _result_places(self, places: Any) -> Any:
        """Places, with overlapping slices in the order of their set."""
        if not any(part.slice_set.is_tagged for part in self._slices):
            return places
        from plmetrics.table.tags import result_places

        begins, of_parts = result_places(self._slices)
        ranks = np.concatenate([rank for part in of_parts for rank in ([WHOLE], part)])
        sorted_by = places.copy()
        sorted_by[:, 1] = begins[places[:, 1]]
        sorted_by[:, 2] = ranks[self._starts[places[:, 1]] + places[:, 2] - WHOLE]
        return sorted_by

    @property
    def _starts(self) -> Any:
        """Index of each set's overall entry, ahead of those of its slices."""
        return np.concatenate(([0], np.cumsum([1 + len(part) for part in self._slices])))

    def _column(self, name: str, order: Any) -> pl.Series:
        values = np.concatenate([batch[name] for _, batch in self._added])[order]
        dtype = self._schema[name]
        if dtype == pl.Float64:
            return pl.Series(name, values.astype(np.float64), nan_to_null=True)
        if dtype == pl.Int64:
            return pl.Series(name, np.rint(values).astype(np.int64))
        return pl.Series(name, values.tolist(), dtype=dtype)

    def _slice_columns(self, sets: Any, numbers: Any) -> dict[str, pl.Series]:
        """Names and values of the slices, gathered from one list of all."""
        names = [part.slice_set.name for part in self._slices]
        texts = [text for part in self._slices for text in ("all", *part.texts())]
        overall = pl.Series([[]], dtype=SLICE_VALUES)
        pairs = pl.concat([each for part in self._slices for each in (overall, part.pair_lists())])
        place = self._starts[sets] + numbers - WHOLE
        return {
            "slice_set": pl.Series(names, dtype=pl.String).gather(sets),
            "slice": pl.Series(texts, dtype=pl.String).gather(place),
            "slice_values": pairs.gather(place),
        }


def _place(place: tuple[Any, int, int, int], slices: Any, turn: int = 0) -> Any:
    """Sort keys of rows: model, slice set, slice, metric, class, method."""
    model, slice_set, metric, number = place
    rows = np.empty((len(slices), 6), dtype=np.int64)
    rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3], rows[:, 4] = model, slice_set, slices, metric, number
    rows[:, 5] = turn
    return rows


def _pick(values: Any, index: Any) -> Any:
    if values is None:
        return np.full(len(index), np.nan)
    if isinstance(values, str):
        return np.full(len(index), values or None, dtype=object)
    if isinstance(values, (int, float)):
        return np.full(len(index), values)
    return np.asarray(values)[index]


def metric_columns(
    model: str, metric: Metric, estimates: EstimateColumns, interval: Intervals | None, *, hard: bool
) -> dict[str, Any]:
    """Columns of `metrics` for one batch. `hard` predictions have an unknown threshold."""
    columns: dict[str, Any] = {
        "model": model,
        "metric": metric.text,
        "value": estimates.estimate.value,
        "n": estimates.n,
        "weight": np.where(np.isfinite(estimates.weight), estimates.weight, np.nan),
        "status": estimates.estimate.status,
        "note": estimates.note,
        LABELLED: estimates.labelled,
        "bound": estimates.bound,
        "threshold": _threshold(metric, estimates.threshold, hard=hard),
        "interval_status": "not_requested",
    }
    if interval is not None:
        blocks = estimates.estimate.blocks
        names = ("lower", "upper", "std_error", "method", "undefined_replicates")
        columns |= {name: getattr(interval, name) for name in names}
        columns |= {"interval_status": interval.status, "blocks": blocks}
        columns["note"] = _with_few_units(estimates.note, blocks, interval)
    return columns


def _threshold(metric: Metric, threshold: Array | None, *, hard: bool) -> Any:
    """Threshold of the value: the metric's own, that of the metric in slices behind it, or a searched one."""
    in_slices = metric.parts() if is_across_slices(metric) else ()
    fixed = next(iter(in_slices), metric).fixed_threshold
    return None if hard else fixed if threshold is None else threshold


def _with_few_units(notes: Any, blocks: Any, interval: Intervals) -> Any:
    """The notes, with a word of caution where an interval rests on few independent units."""
    uncertain = (interval.status == "ok") & (blocks < FEW_UNITS) & (notes == None)  # noqa: E711 (element by element)
    return np.where(uncertain, f"the interval rests on fewer than {FEW_UNITS} independent units", notes)


def comparison_columns(difference: Difference, n: Any, *, intervals: bool, test: str) -> dict[str, Any]:
    """The numbers of `comparisons` for one batch."""
    columns: dict[str, Any] = {
        "difference": difference.difference,
        "n": n,
        "status": difference.status,
        "interval_status": "not_requested",
    }
    if intervals:
        names = ("lower", "upper", "std_error", "method", "p_value", "statistic", "interval_status", "blocks")
        columns |= {name: getattr(difference, name) for name in names} | {"test": test}
    return columns


def correct(comparisons: pl.DataFrame, correction: str, family: str) -> pl.DataFrame:
    """Table with adjusted p values, `family` and `family_size`: of a metric and slice set, or of the whole suite.

    A family of a metric has one kind of contrast, one scale and one test, that of a suite one scale. A ratio is a
    second look at the hypothesis of the difference, and does not count as one more. Nemenyi's p values of mean ranks
    hold for all pairs at once: they are a family of their own that needs no correction. Null p values stay null and do
    not count.
    """
    from plmetrics.inference.comparisons.correction import adjust_families

    if comparisons.is_empty():
        return comparisons
    ranked = pl.col("scale") == MEAN_RANK
    label = _family() if family == "metric" else pl.when(ranked).then(_family()).otherwise(_family_of_suite())
    table = adjust_families(comparisons, label, correction)
    uncorrected = pl.when(ranked).then("p_value").otherwise("p_adjusted").alias("p_adjusted")
    return table.with_columns(uncorrected).select(list(COMPARISONS_SCHEMA))


def within_ranges(comparisons: pl.DataFrame, metrics: Iterable[Metric]) -> pl.DataFrame:
    """The comparisons with ends of differences that two values of a metric's range can have."""
    most = {metric.text: metric.range[1] - metric.range[0] for metric in metrics}
    reach = pl.col("metric").replace_strict(most, default=float("inf"), return_dtype=pl.Float64)
    reach = pl.when(pl.col("scale") == "difference").then(reach).otherwise(float("inf"))
    return comparisons.with_columns(pl.col("lower", "upper").clip(-reach, reach))


def with_nearness(comparisons: pl.DataFrame, nearness: pl.DataFrame, level: float) -> pl.DataFrame:
    """The comparisons with a word in the note where the model is surely nearer to 0 than its baseline, or farther.

    That is another question than whether the two differ: biases of -1 and 1 do, and are as near. `nearness` has
    `nearer` and `nearer_p` of each row; these are adjusted by the same factor as its p value.
    """
    p = pl.col("p_value")
    factor = pl.when(p > 0).then(pl.col("p_adjusted") / p).when(p == 0).then(pl.col("family_size"))
    sure = nearness["nearer_p"] * comparisons.select(factor).to_series() < 1 - level
    word = pl.when(sure & (nearness["nearer"] > 0)).then(pl.lit(NEARER)).when(sure).then(pl.lit(FARTHER))
    noted = pl.concat_str("note", word, separator="; ", ignore_nulls=True)
    return comparisons.with_columns(note=pl.when(word.is_null()).then("note").otherwise(noted))


def _family() -> pl.Expr:
    """Label of a metric's family: the usual scale leaves no trace in it."""
    usual = {"contrast": ["model"], "scale": ["difference"], "test": list(TESTS.values())}
    parts = [pl.when(~pl.col(name).is_in(words)).then(pl.col(name)) for name, words in usual.items()]
    return pl.concat_str([pl.col("metric"), pl.col("slice_set"), *parts], separator=" / ", ignore_nulls=True)


def _family_of_suite() -> pl.Expr:
    """Label of the family of all tests: relative scales, which test the same hypotheses again, have one each."""
    again = pl.col("scale").is_in(_RELATIVE)
    return pl.when(again).then(pl.format("suite / {}", "scale")).otherwise(pl.lit("suite"))


def metrics_rows(slices: Sequence[Slices], *, unlabelled: bool) -> ResultRows:
    """An empty collection of `metrics` rows; `unlabelled` says whether rows may have no label."""
    schema = TableSchema({**METRICS_SCHEMA, LABELLED: pl.Float64()}) if unlabelled else METRICS_SCHEMA
    return ResultRows(slices, schema)
