"""Charts by name: the module of each, and the table of its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from plmetrics.features.registry import features
from plmetrics.report.charts.entry import Entry
from plmetrics.report.charts.rendering import require

if TYPE_CHECKING:
    from plmetrics.report.charts.figure import Figure
    from plmetrics.report.charts.selection import Selection
    from plmetrics.report.summary import Summary

CHARTS: Mapping[str, Entry] = {
    "roc": Entry("ranking.curve_charts", curves=("roc",), function="roc"),
    "pr": Entry("ranking.pr", curves=("pr",)),
    "gain": Entry("ranking.curve_charts", curves=("gain",), function="gain"),
    "lift": Entry("ranking.curve_charts", curves=("lift",), function="lift"),
    "ks": Entry("ranking.threshold_charts", curves=("roc",), function="ks"),
    "cost": Entry("ranking.curve_charts", curves=("cost",), function="cost"),
    "confusion": Entry(
        "decisions.confusion", "metrics", curves=("confusion",), where="metric = 'tp' OR metric LIKE 'tp(%'"
    ),
    "net_benefit": Entry("decisions.net_benefit", curves=("net_benefit",)),
    "reliability": Entry("calibration.reliability", curves=("reliability",)),
    "score_histogram": Entry("calibration.score_histogram", curves=("score_histogram",)),
    "thresholds": Entry("ranking.threshold_charts", curves=("pr",), function="thresholds"),
    "forest": Entry("slices.forest", "metrics", where="slice_set != 'overall'"),
    "residuals": Entry("tasks.regression", curves=("residual_prediction",), function="residuals"),
    "residual_histogram": Entry(
        "tasks.regression", curves=("residual_histogram",), function="residual_histogram"
    ),
    "residual_qq": Entry("tasks.regression", curves=("residual_qq",), function="residual_qq"),
    "conditional": Entry(
        "tasks.regression",
        curves=("conditional_label", "conditional_prediction", "conditional_recall"),
        function="conditional",
    ),
    "uplift": Entry("tasks.effects", curves=("uplift",), function="uplift"),
    "qini": Entry("tasks.effects", curves=("qini",), function="qini"),
    "effect_calibration": Entry(
        "tasks.effects", curves=("effect_calibration",), function="effect_calibration"
    ),
    "heatmap": Entry("slices.heatmap", "metrics", where="slice_set != 'overall'"),
    "differences": Entry("comparisons.differences", "comparisons", where="contrast IN ('model', 'run')"),
    "fairness": Entry(
        "tasks.fairness",
        "metrics",
        where="slice = 'all' AND slice_set <> 'overall' AND metric LIKE '%by=%'",
        groups=True,
    ),
    "critical_difference": Entry(
        "comparisons.critical_difference", "comparisons", where="scale = 'mean_rank'"
    ),
    "query_differences": Entry("comparisons.query_differences", curves=("query_differences",)),
    "coverage": Entry("tasks.forecasts", curves=("coverage",), function="coverage"),
    "pit": Entry("tasks.forecasts", curves=("pit_histogram",), function="pit"),
    "slice_differences": Entry(
        "slices.slice_differences", "comparisons", where="contrast IN ('rest', 'slice')"
    ),
}


@cache
def charts() -> Mapping[str, Entry]:
    """All charts by name, those of features after the others."""
    return {**CHARTS, **{name: entry for feature in features() for name, entry in feature.charts.items()}}


def drawable(summary: Summary) -> list[str]:
    """Names of the charts with rows in a result."""
    return [name for name, entry in charts().items() if entry.drawable(summary)]


def draw(name: str, selection: Selection, **options: object) -> Figure:
    """The chart of this name, with options of its own.

    Raises:
        ConfigError: the result has not what it shows.
        EnvironmentFault: the extra `report` is not installed.
    """
    require("altair", needed_for="a chart")
    entry = charts()[name]
    make: Callable[..., Figure] = getattr(import_module(entry.path), entry.function)
    return make(selection, **options)
