"""Warnings by the values of a run: models worse than chance or a constant, areas of unlike slices, coarse p values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.catalogue.advice.advice_rule import names_text
from plmetrics.catalogue.composite_metrics import is_derived
from plmetrics.catalogue.metric import composition
from plmetrics.core.names import name_list, number_text
from plmetrics.core.results import first_rows
from plmetrics.suite.sections.basics import BASELINE
from plmetrics.table.prediction_columns import levels_of

if TYPE_CHECKING:
    from plmetrics.core.ops import Array
    from plmetrics.suite.model import Suite

_OF_NUMBERS = ("regression", "quantile")
_UNLIKE = 3.0
_SIZEABLE = 100
_FEW = 30
"""Fewer rows are no evidence without an interval."""
_FITTED = 4.0
_ALIKE = 0.99
"""So large a part of another model's rows are no others to speak of."""
_CALLS = 10
"""So many rows are not all called wrongly by a model that knows nothing of a few classes."""

Row = dict[str, Any]


def warnings_by_value(
    suite: Suite,
    metrics: pl.DataFrame,
    smallest: float | None,
    pairs: Sequence[tuple[str, str]] = (),
    parts: Mapping[str, Sequence[str]] | None = None,
) -> list[str]:
    """Warnings on values beyond noise, and on pairs of models that are compared by values of other rows or quantiles.

    With the rows of the smallest class, an area without an interval is noise of 1 / (2 sqrt(smallest)). `parts` are
    those of each model's prediction.
    """
    overall = metrics.filter(
        pl.col("slice_set") == "overall", pl.col("status") == "ok", pl.col("class").is_null()
    )
    rows = first_rows(overall).rows(named=True)
    return [
        *_below_chance(suite, rows, smallest),
        *_worse_than_baseline(suite, rows),
        *_unlike_slices(suite, metrics),
        *_unlike_rows(suite, rows, [*pairs, *_ratios(suite)]),
        *_unlike_levels(suite, parts or {}, [*pairs, *_ratios(suite)]),
    ]


def _ratios(suite: Suite) -> Iterator[tuple[str, str]]:
    """Pairs of models in ratios of their values."""
    parts = (part for metric in suite.metrics for part in composition(metric) if is_derived(part))
    others = {part.other_model for part in parts} - {None}
    return ((model, other) for other in sorted(filter(None, others)) for model in suite.models)


def _unlike_rows(suite: Suite, rows: Sequence[Row], pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Warning of the pair of compared models whose rows differ most."""
    sizes = {(row["model"], row["metric"]): row["n"] for row in rows}
    metrics = dict.fromkeys(row["metric"] for row in rows)
    apart: dict[tuple[str, str], tuple[int, int]] = {}
    for model, other in pairs:
        shared = (metric for metric in metrics if {(model, metric), (other, metric)} <= sizes.keys())
        counts = ((sizes[model, metric], sizes[other, metric]) for metric in shared)
        unlike = (each for each in counts if min(each) < _ALIKE * max(each))
        if (first := next(unlike, None)) is not None:
            apart[model, other] = first
    if not apart:
        return
    (model, other), (n, of_other) = min(apart.items(), key=lambda item: min(item[1]) / max(item[1]))
    more = f", one of {len(apart)} such pairs" if len(apart) > 1 else ""
    what = "queries" if suite.task == "ranking" else "rows"
    way = "; missing: drop keeps those that all models have" if suite.data.missing == "drop_per_model" else ""
    yield (
        f"models '{model}' and '{other}' are compared on different {what}, {n:,} and {of_other:,}{more}: "
        f"a difference may be that of the {what}{way}"
    )


def _unlike_levels(
    suite: Suite, parts: Mapping[str, Sequence[str]], pairs: Sequence[tuple[str, str]]
) -> Iterator[str]:
    """Warning of the first pair of compared models whose quantiles are at different levels, by means over these."""
    if suite.task != "quantile":
        return
    from plmetrics.catalogue.forecast.rows import levels_metric

    for model, other in (pair for pair in pairs if parts.keys() >= {*pair}):
        compared = (levels_metric(metric, parts[model], parts[other]) for metric in suite.metrics)
        if names := tuple(dict.fromkeys(filter(None, compared))):
            counts = [len(levels_of(tuple(parts[name]))) or "all" for name in (model, other)]
            yield (
                f"models '{model}' and '{other}' are compared by {names_text(names)} over different quantiles, "
                f"{counts[0]} and {counts[1]}: a difference may be that of the levels; give both the same ones, or "
                "compare quantile_loss or interval_score"
            )
            return


def without_hits(
    populations: Mapping[str, str], classes: Sequence[str], sums: Mapping[str, Array]
) -> Iterator[str]:
    """Warnings of models that call no row by the class of its label, where the hits of each class are counted."""
    for model, prefix in populations.items():
        rows = sums[f"{prefix}n"].sum() if f"{prefix}n" in sums else 0
        hits = [counts.any() for name, counts in sums.items() if name.startswith(f"{model}|hit|")]
        if hits and not any(hits) and rows >= _CALLS:
            yield (
                f"model '{model}' calls no row by the class that it has: do labels and calls have the same names? "
                f"the classes of both are {name_list(classes)}"
            )


def coarse_p_values(suite: Suite, comparisons: pl.DataFrame) -> list[str]:
    """Warning on the largest family of percentile p values, where slices make it too large for the replicates."""
    compare, uncertainty = suite.compare, suite.uncertainty
    if compare is None or uncertainty is None or compare.p_value != "percentile":
        return []
    from plmetrics.suite.sections.compare import is_too_coarse

    families = comparisons.filter(test="paired_bootstrap").drop_nulls("family_size")
    largest = families.sort("family_size", descending=True, maintain_order=True).head(1)
    return [
        f"percentile p values of {uncertainty.replicates} replicates are too coarse for the {size:,} of the family "
        f"'{family}': raise replicates, or leave p_value out"
        for family, size in largest.select("family", "family_size").rows()
        if is_too_coarse(compare, uncertainty.replicates, size)
    ]


def _below_chance(suite: Suite, rows: Sequence[Row], smallest: float | None) -> Iterator[str]:
    """One line a model, however many metrics say it."""
    chances = {metric.text: metric.chance for metric in suite.metrics if "(" not in metric.text}
    worst: dict[str, tuple[Row, float]] = {}
    for row in rows:
        chance = chances.get(row["metric"])
        if chance is not None and row["model"] != BASELINE and _is_below(row, chance, smallest):
            worst.setdefault(row["model"], (row, chance))
    causes = "columns and units" if suite.task in _OF_NUMBERS else "columns, and which class scores are of"
    for model, (row, chance) in worst.items():
        yield (
            f"model '{model}': {row['metric']} {number_text(round(row['value'], 4))} is below {number_text(chance)}, "
            f"what predictions that know nothing have; check {causes}"
        )


def _is_below(row: Row, chance: float, smallest: float | None) -> bool:
    """Whether a value is below chance by its interval, or without one by more than noise.

    A constant fitted to other rows loses some z^2 / n of skill to that of these rows.
    """
    if row["upper"] is not None:
        return bool(row["upper"] < chance and row["value"] < chance - _FITTED / row["n"])
    noise = _noise(row)
    of_class = 1.0 / sqrt(smallest) if smallest else 0.0
    return noise is not None and bool(row["value"] < chance - max(noise, of_class))


def _noise(row: Row) -> float | None:
    """Relative size of the chance deviation of a value; None for too few rows."""
    return 2.0 / sqrt(row["n"]) if row["n"] >= _FEW else None


def _worse_than_baseline(suite: Suite, rows: Sequence[Row]) -> Iterator[str]:
    """Warning per model for all losses larger than those of the built-in baseline."""
    losses = {
        metric.text
        for metric in suite.metrics
        if metric.direction == "lower" and (metric.proper == "strictly" or suite.task in _OF_NUMBERS)
    }
    constant = {row["metric"]: row["value"] for row in rows if row["model"] == BASELINE}
    worse: dict[str, list[str]] = {}
    for row in rows:
        baseline, noise = constant.get(row["metric"]), _noise(row)
        if baseline is None or row["model"] == BASELINE or row["metric"] not in losses:
            continue
        limit = row["lower"] if row["lower"] is not None else noise and row["value"] * (1.0 - noise)
        if limit is not None and limit > baseline:
            text = f"{row['metric']} {number_text(round(row['value'], 4))} against {number_text(round(baseline, 4))}"
            worse.setdefault(row["model"], []).append(text)
    for model, texts in worse.items():
        yield f"model '{model}' is worse than the baseline, which gives every row the same: {name_list(texts)}"


def _unlike_slices(suite: Suite, metrics: pl.DataFrame) -> Iterator[str]:
    """Areas under precision and recall grow with the prevalence, so slices of other prevalences do not compare."""
    areas = [metric.text for metric in suite.metrics if metric.rises_with_prevalence]
    if not areas:
        return
    sliced = metrics.filter(
        pl.col("slice_set") != "overall", ~pl.col("slice_set").str.contains("|", literal=True)
    )
    listed = sliced.filter(pl.col("metric").is_in(areas))["slice_set"].unique()
    unlike = (
        sliced.filter(
            pl.col("metric") == "prevalence",
            pl.col("value") > 0,
            pl.col("n") >= _SIZEABLE,
            pl.col("slice_set").is_in(listed.implode()),
        )
        .group_by("slice_set", "model", maintain_order=True)
        .agg(pl.col("value").min().alias("low"), pl.col("value").max().alias("high"))
        .filter(pl.col("high") >= _UNLIKE * pl.col("low"))
        .unique("slice_set", keep="first", maintain_order=True)
    )
    for name, low, high in unlike.select("slice_set", "low", "high").iter_rows():
        yield (
            f"{areas[0]} of the slices of '{name}' does not compare: prevalence runs from {low:.2%} to {high:.2%}, and "
            "it grows with that; compare roc_auc, or each slice with its own prevalence"
        )
