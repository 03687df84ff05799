"""The uplift curve: effect among the highest scores times their share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.report.charts.effects.gain import gain

if TYPE_CHECKING:
    from plmetrics.report.charts.figure import Figure
    from plmetrics.report.charts.selection import Selection


def draw(selection: Selection) -> Figure:
    """A line a model over that of a random order, with the area beside its name."""
    return gain(selection, "uplift", "auuc", "Uplift curve", "Gain: share times effect (higher is better)")
