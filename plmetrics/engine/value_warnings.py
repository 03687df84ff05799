"""Warnings by the values of a run: models that are worse than chance or a constant, areas of unlike slices."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.names import number_text
from plmetrics.core.results import first_rows
from plmetrics.engine.run_warnings import CHANCE, LOSSES, PRECISION_AREAS, SKILLS
from plmetrics.suite.sections.basics import BASELINE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from plmetrics.suite.model import Suite

_UNLIKE = 3.0
_SIZEABLE = 100
_FEW = 30
"""Fewer rows are no evidence without an interval."""

Row = dict[str, Any]


def warnings_by_value(suite: Suite, metrics: pl.DataFrame, smallest: float | None = None) -> list[str]:
    """Warnings of what the values say, where noise does not explain it.

    Args:
        suite: what was asked.
        metrics: the table `metrics`.
        smallest: rows of the smallest class, if known: an area without an interval is noise of 1 / (2 sqrt(smallest)).
    """
    names = {metric.text: metric.name for metric in suite.metrics}
    relevant = pl.col("metric").is_in([t for t, n in names.items() if n in {*CHANCE, *SKILLS, *LOSSES}])
    overall = metrics.filter(
        relevant, pl.col("slice_set") == "overall", pl.col("status") == "ok", pl.col("class").is_null()
    )
    rows = first_rows(overall).rows(named=True)
    return [
        *_below_chance(rows, names, smallest),
        *_below_constant(rows, names),
        *_worse_than_baseline(rows, names),
        *_unlike_slices(metrics, names),
    ]


def _below_chance(rows: Sequence[Row], names: Mapping[str, str], smallest: float | None) -> Iterator[str]:
    noise = None if not smallest else 1.0 / sqrt(smallest)
    for row in rows:
        chance = CHANCE.get(names[row["metric"]])
        if chance is not None and _is_below(row, chance, noise):
            yield (
                f"model '{row['model']}': {row['metric']} {number_text(round(row['value'], 4))} is below "
                f"{number_text(chance)}: its scores rank the classes the wrong way round; check which class they are of"
            )


def _below_constant(rows: Sequence[Row], names: Mapping[str, str]) -> Iterator[str]:
    """One line a model, however many metrics say it."""
    worst: dict[str, Row] = {}
    for row in rows:
        if names[row["metric"]] in SKILLS and _is_below(row, 0.0, _noise(row)):
            worst.setdefault(row["model"], row)
    for model, row in worst.items():
        if model != BASELINE:
            yield (
                f"model '{model}': {row['metric']} {number_text(round(row['value'], 4))} is below 0: the same "
                "prediction for every row would be better; check units and columns"
            )


def _worse_than_baseline(rows: Sequence[Row], names: Mapping[str, str]) -> Iterator[str]:
    """One line a model for all losses that are larger than those of the built-in baseline."""
    constant = {row["metric"]: row["value"] for row in rows if row["model"] == BASELINE}
    worse: dict[str, list[str]] = {}
    for row in rows:
        known = constant.get(row["metric"])
        if known is None or row["model"] == BASELINE or names[row["metric"]] not in LOSSES:
            continue
        noise = _noise(row)
        limit = row["lower"] if row["lower"] is not None else noise and row["value"] * (1.0 - noise)
        if limit is not None and limit > known:
            text = f"{row['metric']} {number_text(round(row['value'], 4))} against {number_text(round(known, 4))}"
            worse.setdefault(row["model"], []).append(text)
    for model, texts in worse.items():
        yield f"model '{model}' is worse than the baseline, which gives every row the same: {', '.join(texts)}"


def _unlike_slices(metrics: pl.DataFrame, names: Mapping[str, str]) -> Iterator[str]:
    """Areas under precision and recall grow with the prevalence, so slices of other prevalences do not compare."""
    areas = [text for text, name in names.items() if name in PRECISION_AREAS]
    shares = [text for text, name in names.items() if name == "prevalence"]
    if not (areas and shares):
        return
    sliced = metrics.filter(
        pl.col("slice_set") != "overall", ~pl.col("slice_set").str.contains("|", literal=True)
    )
    listed = sliced.filter(pl.col("metric").is_in(areas))["slice_set"].unique()
    found = (
        sliced.filter(
            pl.col("metric").is_in(shares),
            pl.col("value") > 0,
            pl.col("n") >= _SIZEABLE,
            pl.col("slice_set").is_in(listed.implode()),
        )
        .group_by("slice_set", maintain_order=True)
        .agg(pl.col("value").min().alias("low"), pl.col("value").max().alias("high"))
        .filter(pl.col("high") >= _UNLIKE * pl.col("low"))
    )
    for name, low, high in found.iter_rows():
        yield (
            f"{areas[0]} of the slices of '{name}' does not compare: prevalence runs from {low:.2%} to {high:.2%}, and "
            "it grows with that; compare roc_auc, or each slice with its own prevalence"
        )


def _noise(row: Row) -> float | None:
    """How far a value may be off by chance, as a share of its size; None of too few rows."""
    return 2.0 / sqrt(row["n"]) if row["n"] >= _FEW else None


def _is_below(row: Row, limit: float, noise: float | None) -> bool:
    """Whether a value is below a limit by its interval, or without one by more than noise."""
    if row["upper"] is not None:
        return bool(row["upper"] < limit)
    return noise is not None and bool(row["value"] < limit - noise)
