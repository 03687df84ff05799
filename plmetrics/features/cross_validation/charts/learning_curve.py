"""The learning curve: a metric by the number of rows trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.features.cross_validation.charts.fold_curves import fold_curve

if TYPE_CHECKING:
    from plmetrics.report.charts.figure import Figure
    from plmetrics.report.charts.selection import Selection


def draw(selection: Selection) -> Figure:
    """The mean of folds at each size, on rows trained on and on others."""
    hint = "name its column when you evaluate: cross_validation={'train_size': ...}"
    return fold_curve(selection, "learning_curve", "Learning curve", "Rows trained on", hint)
