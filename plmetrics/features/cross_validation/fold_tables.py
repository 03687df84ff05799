"""The tables `folds` and `cross_validation` of a run.

`folds` has a row for every model, slice, metric and fold, inner folds, configurations, splits and training sizes told
apart. Of `cross_validation`, `kind` says what `value` is:

* `folds`: the mean of the folds' values, each counted once; `pooled` is the metric of all their rows together.
* `repeats`: the mean of the repeats' means; `folds` counts repeats.
* `nested`: the mean over outer folds of what their inner folds chose; `model` is null where models are chosen among.
* `selection_optimism`: by how much inner folds say more of what they chose than outer folds.
* `learning_curve`, `validation_curve`: as `folds`, for each training size or parameter `x` and split, with the interval
  of the corrected resampled t.
* `generalisation_gap`: the metric of training rows less that of the others, all folds together, with its interval;
  `mean` and `sd` are of the gaps of folds.
* `diagnosis`: what a rule judged, with the `verdict` in words and the rule in `note`.
* `bias_squared`, `variance`, `noise`, `expected_loss`: the squared error of repeated trainings, and its parts.

`sd`, `minimum` and `maximum` are over folds, `undefined_folds` those among `folds` without a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.results import CROSS_VALIDATION_SCHEMA, FOLDS_SCHEMA
from plmetrics.features.cross_validation.cross_validation_section import CrossValidation, deciding, folds_of
from plmetrics.features.cross_validation.fold_slices import FOLDS, POOLED
from plmetrics.features.cross_validation.fold_summaries import (
    along_curve,
    by_fold,
    by_repeat,
    choices,
    nested_rows,
    of_totals,
    selection_optimism,
    with_intervals,
    words,
)
from plmetrics.features.cross_validation.fold_values import (
    IDENTITY,
    FoldSet,
    KeyNames,
    derived_sets,
    values_of,
)
from plmetrics.features.cross_validation.generalisation_gaps import diagnosis, gaps, pooled_gaps
from plmetrics.features.cross_validation.repeated_models import RepeatedSums, bias_and_variance

if TYPE_CHECKING:
    from plmetrics.features.cross_validation.fold_values import Ordered
    from plmetrics.inference.subject import Analysis

MOST_LISTED = 200
"""The most folds that are listed one by one."""

KINDS = (
    "folds",
    "repeats",
    "nested",
    "selection_optimism",
    "learning_curve",
    "validation_curve",
    "generalisation_gap",
    "diagnosis",
)


def cross_validation_tables(
    analysis: Analysis, ordered: Ordered, repeated: Sequence[RepeatedSums] = ()
) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
    """The tables `folds` and `cross_validation`, without rows where nothing asks for them, and warnings.

    More than 200 folds are not listed one by one: the summaries count them, and their note says so.
    """
    spec = folds_of(analysis.suite)
    parts = bias_and_variance(repeated, analysis.suite.task)
    if spec is None or not spec.axes(analysis.suite.columns.fold):
        return FOLDS_SCHEMA.to_frame(), parts, []
    folds = Folds.of(analysis, ordered, spec)
    names = KeyNames.of(analysis)
    frames = [frame.with_columns(pl.lit(kind).alias("kind")) for kind, frame in folds.summaries()]
    table = _in_order([frame for frame in frames if not frame.is_empty()])
    if table is not None:
        named = names.restore(folds.with_notes(table), CROSS_VALIDATION_SCHEMA)
        complete = named.with_columns(pl.col("interval_status").fill_null("not_requested"))
        parts = pl.concat([complete, parts])
    listed = folds.fold_rows()
    table_of_folds = FOLDS_SCHEMA.to_frame() if listed is None else names.restore(listed, FOLDS_SCHEMA)
    return table_of_folds, parts, folds.warnings()


def _in_order(parts: Sequence[pl.DataFrame]) -> pl.DataFrame | None:
    """All rows in the order of results, with choices among models last."""
    if not parts:
        return None
    table = pl.concat(parts, how="diagonal_relaxed")
    order = pl.col("kind").replace_strict(KINDS, range(len(KINDS)), return_dtype=pl.Int64)
    return table.with_columns(order.alias("@kind")).sort(
        [*IDENTITY, "@kind"], nulls_last=True, maintain_order=True
    )


@dataclass(frozen=True, slots=True)
class Folds:
    """The values of a run's folds, and of their rows together. `values` is None where there are no folds."""

    analysis: Analysis
    ordered: Ordered
    spec: CrossValidation
    values: pl.DataFrame | None
    pooled: pl.DataFrame
    together: tuple[FoldSet, ...]

    @classmethod
    def of(cls, analysis: Analysis, ordered: Ordered, spec: CrossValidation) -> Folds:
        """Find them in the states."""
        axes = spec.axes(analysis.suite.columns.fold)
        further = [axis for axis in axes if axis not in {"repeat", "fold", "inner"}]
        folds = list(derived_sets(analysis, FOLDS, list(axes)))
        together = tuple(derived_sets(analysis, POOLED, further)) if further else ()
        sets = together or tuple(
            FoldSet(each.source, analysis.sets[each.source], each.source, {}) for each in folds
        )
        values = [values_of(analysis, ordered, each) for each in folds]
        pooled = pl.concat(values_of(analysis, ordered, each) for each in sets)
        return cls(analysis, ordered, spec, pl.concat(values) if values else None, pooled, together)

    @property
    def number(self) -> int:
        """Number of folds, over all repeats."""
        if self.values is None:
            return 0
        return self.values.select("repeat", "fold").filter(pl.col("fold").is_not_null()).n_unique()

    @property
    def _has_curve(self) -> bool:
        """Whether rows have a training size or a parameter."""
        return self.spec.train_size is not None or self.spec.parameter is not None

    def fold_rows(self) -> pl.DataFrame | None:
        """The values of folds, in the order of results; None where there are too many."""
        if self.values is None or self.number > MOST_LISTED:
            return None
        rows = self.values.filter(pl.col("fold").is_not_null())
        return rows.sort(["@model", "@set", "@slice", "@metric", "@class", "@cell"])

    def with_notes(self, table: pl.DataFrame) -> pl.DataFrame:
        """Summaries, with a note on unlisted folds and folds without rows."""
        words = []
        if self.number > MOST_LISTED:
            words.append(f"{self.number:,} folds are not listed one by one")
        if lost := self._rows_without_fold():
            words.append(lost)
        if not words:
            return table
        both = pl.concat_str(["note", pl.lit("; ".join(words))], separator="; ", ignore_nulls=True)
        folded = pl.col("kind").is_in(["folds", "repeats", "nested"])
        return table.with_columns(pl.when(folded).then(both).otherwise("note").alias("note"))

    def warnings(self) -> list[str]:
        """Words of caution on rows without a fold beside others."""
        lost = self._rows_without_fold() if self.number else ""
        column = self.analysis.suite.columns.fold
        return [f"column '{column}' (fold): {lost}: counted overall, but in no fold"] if lost else []

    def _rows_without_fold(self) -> str:
        """Number of rows without a fold, in words; empty without any."""
        if self.values is None:
            return ""
        first = self.values.filter(pl.col("@set") == 0).filter(
            pl.col("@metric") == pl.col("@metric").min(), pl.col("@class") == pl.col("@class").min()
        )
        counted = first.filter(pl.col("fold").is_null()).group_by("@model").agg(pl.col("n").sum())
        lost = int(counted["n"].max() or 0)  # type: ignore[arg-type]
        return "" if not lost else "1 row has no fold" if lost == 1 else f"{lost:,} rows have no fold"

    def summaries(self) -> Iterator[tuple[str, pl.DataFrame]]:
        """The rows of each kind."""
        curve = "learning_curve" if self.spec.train_size is not None else "validation_curve"
        with_x = self._has_curve
        folded = self.values is not None
        if self.values is not None and not with_x:
            yield "folds", by_fold(self.values, self.pooled)
        if self.values is not None and not with_x and self.spec.repeat is not None:
            yield "repeats", by_repeat(self.values, self.pooled)
        if self.values is not None and self.spec.inner is not None:
            yield from self._outer_values(self.values)
        if with_x:
            values = self.pooled if self.values is None else self.values
            yield curve, self._along(along_curve(values, self.pooled, folded=folded))
        if self.spec.split is not None:
            gaps_of_sets = [pooled_gaps(self.analysis, self.ordered, each) for each in self.together]
            yield "generalisation_gap", gaps(gaps_of_sets, self._without_totals())
            yield "diagnosis", self._diagnosis()

    def _along(self, means: pl.DataFrame) -> pl.DataFrame:
        """The means along a curve, with intervals where the suite asks for some."""
        if self.values is None or self.analysis.suite.uncertainty is None:
            return means
        sizes = self.spec.train_size is not None
        metrics = self.analysis.suite.metrics_and_subjects
        return with_intervals(means, self.values, self.analysis.level, metrics, sizes=sizes)

    def _without_totals(self) -> pl.DataFrame | None:
        """Values of folds comparable between parts of different sizes."""
        if self.values is None:
            return None
        return self.values.filter(~of_totals(self.analysis.suite.metrics_and_subjects))

    def _outer_values(self, values: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
        metric = deciding(self.analysis.suite.metrics, self.spec)
        assert metric is not None
        number = [member.text for member in self.analysis.suite.metrics_and_subjects].index(metric.text)
        by_model = self.spec.configuration is None
        chosen = choices(values, number, metric.direction, by_model=by_model)
        reasons = words(chosen, list(self.analysis.models), metric.text, by_model=by_model)
        yield "nested", nested_rows(values, chosen, reasons, by_model=by_model)
        yield "selection_optimism", selection_optimism(values, chosen, number, by_model=by_model)

    def _diagnosis(self) -> pl.DataFrame:
        metric = deciding(self.analysis.suite.metrics, self.spec)
        if metric is None or metric.direction not in {"higher", "lower"} or metric.additive:
            return pl.DataFrame()
        number = [member.text for member in self.analysis.suite.metrics_and_subjects].index(metric.text)
        source = self.pooled if self.values is None else by_fold(self.values, self.pooled)
        of_curve = pl.col("x").is_not_null() if self._has_curve else pl.lit(value=True)
        member = source.filter(pl.col("@metric") == number, of_curve)
        sizes = self.spec.train_size is not None
        return diagnosis(member, self.spec.diagnosis, metric.direction, sizes=sizes)
