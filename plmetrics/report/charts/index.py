"""The charts by name: the module that draws each, and the table whose rows it needs."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.report.charts.rendering import require

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from plmetrics.report.charts.figure import Figure
    from plmetrics.report.charts.selection import Selection
    from plmetrics.report.summary import Summary


@dataclass(frozen=True, slots=True)
class Entry:
    """A chart: the module whose function `draw` makes it, and the table and curves it is drawn from.

    `where` is a condition in SQL of which the table must have rows.
    """

    module: str
    table: str = "curves"
    curves: tuple[str, ...] = ()
    where: str = ""

    def drawable(self, summary: Summary) -> bool:
        """Whether a result has rows that it shows."""
        rows = summary.tables.get(self.table)
        if rows is None or rows.is_empty():
            return False
        if self.where:
            return not rows.filter(pl.sql_expr(self.where)).is_empty()
        return not self.curves or bool(rows["curve"].is_in(list(self.curves)).any())


CHARTS: Mapping[str, Entry] = {
    "roc": Entry("ranking.roc", curves=("roc",)),
    "pr": Entry("ranking.pr", curves=("pr",)),
    "gain": Entry("ranking.gain", curves=("gain",)),
    "lift": Entry("ranking.lift", curves=("lift",)),
    "ks": Entry("ranking.ks", curves=("roc",)),
    "cost": Entry("ranking.cost", curves=("cost",)),
    "net_benefit": Entry("decisions.net_benefit", curves=("net_benefit",)),
    "reliability": Entry("calibration.reliability", curves=("reliability",)),
    "score_histogram": Entry("calibration.score_histogram", curves=("score_histogram",)),
    "thresholds": Entry("ranking.thresholds", curves=("pr",)),
    "forest": Entry("slices.forest", "metrics", where="slice_set != 'overall'"),
    "residuals": Entry("regression.residuals", curves=("residual_prediction",)),
    "residual_histogram": Entry("regression.residual_histogram", curves=("residual_histogram",)),
    "residual_qq": Entry("regression.residual_qq", curves=("residual_qq",)),
    "conditional": Entry(
        "regression.conditional",
        curves=("conditional_label", "conditional_prediction", "conditional_recall"),
    ),
    "uplift": Entry("effects.uplift", curves=("uplift",)),
    "qini": Entry("effects.qini", curves=("qini",)),
    "effect_calibration": Entry("effects.effect_calibration", curves=("effect_calibration",)),
    "heatmap": Entry("slices.heatmap", "metrics", where="slice_set != 'overall'"),
    "differences": Entry("comparisons.differences", "comparisons", where="contrast IN ('model', 'run')"),
    "slice_differences": Entry(
        "slices.slice_differences", "comparisons", where="contrast IN ('rest', 'slice')"
    ),
}


def drawable(summary: Summary) -> list[str]:
    """The names of the charts that a result has rows for."""
    return [name for name, entry in CHARTS.items() if entry.drawable(summary)]


def draw(name: str, selection: Selection, **options: object) -> Figure:
    """The chart of this name, with options of its own.

    Raises:
        ConfigError: the result has not what it shows.
        EnvironmentFault: the extra `report` is not installed.
    """
    require("altair", needed_for="a chart")
    module = import_module(f"plmetrics.report.charts.{CHARTS[name].module}")
    make: Callable[..., Figure] = module.draw
    return make(selection, **options)
