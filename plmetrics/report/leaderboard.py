"""Leaderboards: the models by one metric, the best first, each with its difference to the best."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.names import did_you_mean
from plmetrics.core.results import ResultTables, first_rows
from plmetrics.report.sections.differences import leading_scale, on_all_rows, usual_tests
from plmetrics.report.sections.overall import metric_label

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

OVERALL, WHOLE = "overall", "all"
COLUMNS = [
    *("rank", "model", "slice", "metric", "value", "lower", "upper", "n"),
    *("difference", "difference_lower", "difference_upper", "reading", "status"),
]

BEST = "bold: read as better than every other model"
"""Legend of reports that set values of `clear_bests` in bold."""

MERITS: Mapping[str, Callable[[Any], Any]] = {
    "higher": operator.pos,
    "lower": operator.neg,
    "zero": lambda value: -abs(value),
}
"""By direction what is higher for a better value, of numbers and of expressions."""

_OPPOSITE = {"better": "worse", "worse": "better", "higher": "lower", "lower": "higher"}
_PLACE = ["slice_set", "slice"]


def leaderboard(
    tables: ResultTables,
    metric: str,
    direction: str,
    slice_set: str | None = None,
    slice: str | None = None,  # noqa: A002
) -> pl.DataFrame:
    """The models of one metric in the order of their values.

    Without a direction models have no rank, and stay in the suite's order. The board is of all rows if neither
    `slice_set` nor `slice` is given.

    Returns:
        A row per model and slice, slices in their order; models without a value come last, without a rank.
    """
    rows = _rows(first_rows(tables.metrics), metric, slice_set, slice)
    merit = MERITS[direction](pl.col("value")) if direction in MERITS else pl.lit(None, pl.Float64)
    places = rows.select(_PLACE).unique(maintain_order=True).with_row_index("@place")
    ordered = (
        rows.join(places, on=_PLACE, how="left", maintain_order="left")
        .with_columns(merit.alias("@merit"))
        .sort("@place", "@merit", descending=[False, True], nulls_last=True, maintain_order=True)
        .with_columns(
            rank=pl.col("@merit").rank("min", descending=True).over("@place").cast(pl.Int64),
            best=pl.col("model").filter(pl.col("@merit").is_not_null()).first().over("@place"),
        )
    )
    return _with_differences(ordered, tables.comparisons, metric).select(COLUMNS)


def primary_metric(summary: Summary) -> str | None:
    """First metric with a better side and an overall value, totals excepted."""
    judged = set(summary.metrics.filter(slice_set=OVERALL)["metric"]) - summary.totals
    ways = summary.directions.items()
    return next((text for text, way in ways if way in {"higher", "lower"} and text in judged), None)


def ranking_board(summary: Summary) -> tuple[list[str], pl.DataFrame]:
    """Labels of the metrics on all rows, the one that ranks models first, and the leaderboard of that one.

    It is the first one with a better side and an overall value, or else the first of all.
    """
    metrics = {metric_label(row): row["metric"] for row in summary.overall.iter_rows(named=True)}
    primary = primary_metric(summary)
    first = next((label for label, text in metrics.items() if text == primary), next(iter(metrics)))
    board = leaderboard(summary, metrics[first], summary.directions.get(metrics[first], "none"))
    return [first, *(label for label in metrics if label != first)], board


def ranked_models(summary: Summary) -> list[str]:
    """The models in the order of `ranking_board`; in that of the suite without a value on all rows."""
    ranked = summary.metrics if summary.overall.is_empty() else ranking_board(summary)[1]
    models: list[str] = ranked["model"].unique(maintain_order=True).to_list()
    return models


def clear_bests(tables: ResultTables) -> frozenset[tuple[str, str]]:
    """Labels of metrics with a model better than every other one by its readings, on all rows.

    A model is the clear best where each of the others was compared with it; values alone say nothing of noise.
    """
    others = tables.metrics["model"].n_unique() - 1
    if others < 1:
        return frozenset()
    compared = on_all_rows(leading_scale(usual_tests(tables.comparisons))).filter(
        pl.col("class").is_null(), contrast="model"
    )
    both = pl.concat([compared, _reverse(compared).select(compared.columns)])
    keys = ["metric", "class", *_PLACE, "model"]
    beaten = both.filter(reading="better").group_by(keys).agg(pl.col("baseline").n_unique())
    best = beaten.filter(pl.col("baseline") == others)
    return frozenset((metric_label(row), row["model"]) for row in best.iter_rows(named=True))


def _with_differences(ordered: pl.DataFrame, comparisons: pl.DataFrame, metric: str) -> pl.DataFrame:
    """The rows with the difference to the best model of their slice, and its interval and reading where it was made."""
    at_best = pl.col("model") == pl.col("best")
    values = ordered.with_columns(
        difference=pl.col("value") - pl.col("value").filter(at_best).first().over("@place")
    )
    of_metric = comparisons.filter(pl.col("class").is_null(), metric=metric, contrast="model")
    compared = usual_tests(of_metric).filter(scale="difference")
    both = pl.concat([_side(compared), _side(_reverse(compared))])
    joined = values.join(both, on=[*_PLACE, "model", "best"], how="left", maintain_order="left")
    return joined.with_columns(difference=pl.coalesce("compared", "difference"))


def _side(compared: pl.DataFrame) -> pl.DataFrame:
    return compared.select(
        *_PLACE,
        "model",
        pl.col("baseline").alias("best"),
        pl.col("difference").alias("compared"),
        pl.col("lower").alias("difference_lower"),
        pl.col("upper").alias("difference_upper"),
        "reading",
    )


def _reverse(compared: pl.DataFrame) -> pl.DataFrame:
    """Comparisons turned round: of the baseline with the model."""
    return compared.with_columns(
        model="baseline",
        baseline="model",
        difference=-pl.col("difference"),
        lower=-pl.col("upper"),
        upper=-pl.col("lower"),
        reading=pl.col("reading").replace(_OPPOSITE),
    )


def _rows(metrics: pl.DataFrame, metric: str, slice_set: str | None, text: str | None) -> pl.DataFrame:
    of_metric = metrics.filter(pl.col("metric") == metric)
    rows = of_metric.filter(pl.col("class").is_null())
    if rows.is_empty() and not of_metric.is_empty():
        msg = f"'{metric}' has a value for each class, and none for all of them"
        raise ConfigError(Problem(msg, ("metric",), "name a metric that averages over classes"))
    if slice_set is None and text is None:
        overall = rows.filter(slice="all", slice_set=OVERALL)
        return overall if not overall.is_empty() else rows.filter(slice=WHOLE)
    if slice_set is not None:
        _check(slice_set, rows["slice_set"].unique(maintain_order=True), "slice set", "slice_set")
        rows = rows.filter(pl.col("slice_set") == slice_set)
    if text is not None:
        _check(text, rows["slice"].unique(maintain_order=True), "slice", "slice")
        rows = rows.filter(pl.col("slice") == text)
    return rows


def _check(name: str, names: Iterable[str], kind: str, argument: str) -> None:
    names = list(names)
    if name not in names:
        raise ConfigError(Problem(f"there is no {kind} '{name}'", (argument,), did_you_mean(name, names)))


def canonical_text(task: str, name: str) -> str | None:
    """Canonical text of a metric by its name, an alias or one of other libraries; None where there is none."""
    from plmetrics.suite.reader import metric_from_text

    with suppress(ConfigError):
        return metric_from_text(task, name).text
    return None


def metric_of(name: str, directions: Mapping[str, str], canonical: str | None) -> str:
    """Metric of a result by its name.

    `canonical` is the canonical text of the name, None where it is no metric.

    Raises:
        ConfigError: the result has no such metric; the nearest one is named.
    """
    for text in (name, canonical):
        if text is not None and text in directions:
            return text
    msg = f"the result has no metric '{name}'"
    raise ConfigError(Problem(msg, ("metric",), did_you_mean(canonical or name, directions)))
