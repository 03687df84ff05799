"""Sufficiency of slices for gates: enough rows, positives and labels, and sizes of samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.catalogue.metric import Metric, leaves
from plmetrics.core.errors import DataError, Problem
from plmetrics.core.results import LABELLED
from plmetrics.inference.estimate import kish_sizes
from plmetrics.states.sums import POSITIVE_ROWS

if TYPE_CHECKING:
    from plmetrics.inference.subject import Analysis
    from plmetrics.suite.sections.gates import Gate

INSUFFICIENT = ("too_few_rows", "too_few_positives", "too_few_labels")
_PLACE = ("model", "slice_set", "slice")
_VERDICT = {"skip": "skipped", "warn": "fail", "fail": "fail"}

SIZE_COLUMNS = {
    "@min_rows": pl.Int64,
    "@min_positives": pl.Int64,
    "@covered": pl.Boolean,
    "@if_small": pl.String,
    "@if_unlabelled": pl.String,
    "@small_level": pl.String,
}
_SCHEMA = pl.Schema({"model": pl.String, "slice_set": pl.String, "slice": pl.String, "positives": pl.Float64})


@dataclass(frozen=True, slots=True)
class Coverage:
    """Smallest share of labelled rows for gates on metrics of the label.

    `shares` are by model, slice set and slice. Metrics of rows with or without a label are `label_free`, by text.
    """

    least: float
    shares: pl.DataFrame
    label_free: frozenset[str]

    def binds(self, metric: Metric) -> bool:
        """Whether the limit applies to a metric: to a composite one if it does to any of its parts."""
        return any(not leaf.every_row and leaf.text not in self.label_free for leaf in leaves(metric))

    def of(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Labelled share for each row of a gate: the smaller of two models."""
        return _of_places(rows, self.shares, LABELLED)


def _of_places(rows: pl.DataFrame, counts: pl.DataFrame, name: str) -> pl.DataFrame:
    """Rows with the counts of their places: the smaller count of two compared models."""
    counts_of_model = counts.select(*_PLACE, name)
    others = counts_of_model.rename({"model": "rival", name: "@other"})
    joined = rows.join(counts_of_model, on=_PLACE, how="left", maintain_order="left")
    joined = joined.join(others, on=["rival", *_PLACE[1:]], how="left", maintain_order="left")
    both = pl.when(pl.col(name).is_not_null()).then(pl.min_horizontal(name, "@other"))
    return joined.with_columns(both.alias(name)).drop("@other")


def size_columns(gate: Gate, coverage: Coverage | None) -> dict[str, int | str | bool | None]:
    """Columns of a gate for `with_sizes`, and the verdict and level of insufficient rows.

    To warn is to fail at level warn. Rows with too few labels are inconclusive unless the gate says otherwise: labels
    will come.
    """
    verdict = _VERDICT[gate.on_insufficient]
    says = "on_insufficient" in gate.model_fields_set
    return {
        "@min_rows": gate.min_rows,
        "@min_positives": gate.min_positives,
        "@covered": coverage is not None and coverage.binds(gate.subject),
        "@if_small": verdict,
        "@if_unlabelled": verdict if says else "inconclusive",
        "@small_level": "warn" if gate.on_insufficient == "warn" else gate.level,
    }


def with_sizes(
    rows: pl.DataFrame,
    positives: pl.DataFrame | None,
    coverage: Coverage | None = None,
    *,
    unit: str = "rows",
) -> pl.DataFrame:
    """Rows of gates with `insufficient`, the reason against a small slice, and `size`, its size in words.

    Both are null where the slice is large enough. Of two models that are compared, the one with fewer positives counts.
    `positives` are by model, slice_set and slice, None where they were not counted; `coverage` is None where each row
    must have a label. `unit` is the word for what `n` counts.
    """
    sizes = rows.with_columns(positives=pl.lit(None, pl.Float64))
    if positives is not None:
        empty = pl.when(pl.col("n") == 0).then(0.0)
        sizes = _of_places(rows, positives, "positives").with_columns(positives=empty.otherwise("positives"))
    minima = [
        (
            pl.col(name) < pl.col(least),
            reason,
            pl.format(f"{{}} {name_in_words}, at least {{}} needed", pl.col(name).cast(pl.Int64), least),
        )
        for name, least, reason, name_in_words in (
            ("n", "@min_rows", INSUFFICIENT[0], unit),
            ("positives", "@min_positives", INSUFFICIENT[1], "positives"),
        )
    ]
    if coverage is not None:
        sizes = coverage.of(sizes)
        share, least_share = pl.col(LABELLED), coverage.least
        text = f"{{}}% of the rows have labels, at least {100 * least_share:g}% needed"
        percent = (100 * share).round(1).cast(pl.String).str.strip_suffix(".0")
        binds = pl.col("@covered") & pl.col("matched") & (share < least_share)
        minima.append((binds, INSUFFICIENT[2], pl.format(text, percent)))
    reasons = [pl.when(condition).then(pl.lit(reason)) for condition, reason, _ in minima]
    words = [pl.when(condition).then(text) for condition, _, text in minima]
    return sizes.with_columns(insufficient=pl.coalesce(*reasons), size=pl.coalesce(*words)).drop(
        "positives", LABELLED, strict=False
    )


def verdict_of_insufficient() -> pl.Expr:
    """Verdict on rows of insufficient size."""
    unlabelled = pl.col("insufficient") == INSUFFICIENT[2]
    return pl.when(unlabelled).then(pl.col("@if_unlabelled")).otherwise(pl.col("@if_small"))


def slice_positives(analysis: Analysis) -> pl.DataFrame:
    """The number of positive rows (binary tasks), by model, slice set and slice.

    Beside its slices each set has one `all`, for what is made from all of them.

    Raises:
        DataError: weighted states of an earlier version, which have the weight of the positives only.
    """
    parts = []
    for model, prefix in analysis.population.models.items():
        column = f"{prefix}{POSITIVE_ROWS}"
        if column not in analysis.sets[0].sums.columns:
            msg = "min_positives counts rows, and weighted states of earlier versions have their weight only"
            raise DataError(Problem(msg, ("gates",), "write the states again, or use min_rows"))
        everything = analysis.sets[0].sums.total(column)[:1]
        for states in analysis.sets:
            name, texts = states.slices.slice_set.name, states.slices.texts()
            values = [*states.sums.total(column), *(everything if name != "overall" else ())]
            texts = [*texts, "all"] if name != "overall" else texts
            columns = [[model] * len(texts), [name] * len(texts), texts, values]
            parts.append(pl.DataFrame(columns, schema=_SCHEMA))
    return pl.concat(parts).unique(["model", "slice_set", "slice"], keep="first", maintain_order=True)


def with_kish_sizes(analysis: Analysis, metrics: pl.DataFrame) -> pl.DataFrame:
    """The table `metrics` with `kish_size`: (sum w)^2 / sum w^2 over weighted units, null where they count alike.

    Where each unit is a block, that is `blocks`; where blocks hold many, `kish_sizes` tells it, of one block more, as
    `blocks` is rounded down.
    """
    units = analysis.units
    if not analysis.suite.has_weights or units is None:
        return metrics.with_columns(kish_size=pl.lit(None, pl.Float64))
    size = metrics["blocks"].cast(pl.Float64)
    if units.max(initial=1) > 1:
        most = size.to_numpy() + 1.0
        size = pl.Series("blocks", kish_sizes(most, len(units), np.full(most.shape, np.inf)))
        size = size.set(~size.is_finite(), None)
    weighted = ~pl.col("model").is_in(analysis.suite.unweighted_models)
    return metrics.with_columns(kish_size=pl.when(weighted).then(size))
