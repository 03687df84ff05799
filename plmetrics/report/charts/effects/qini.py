"""The Qini curve: outcomes gained over controls, by share of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.report.charts.effects.gain import gain

if TYPE_CHECKING:
    from plmetrics.report.charts.figure import Figure
    from plmetrics.report.charts.selection import Selection


def draw(selection: Selection) -> Figure:
    """A line a model over that of a random order, with the coefficient beside its name."""
    return gain(selection, "qini", "qini", "Qini curve", "Outcome gained per treated row (higher is better)")
