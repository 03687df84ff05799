"""Limits of gates on values, and the bands that gates compare a value with: the mean of earlier ones and its spread."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.durations import Duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from plmetrics.features.nights.calendar import Calendar

_LIMIT = re.compile(r"(>=|<=) (-?[\d.]+(?:e[-+]?\d+)?)")
_FEWEST = 3
_POLARS_UNITS = {"h": "h", "d": "d", "w": "w", "mo": "mo"}


@dataclass(frozen=True, slots=True)
class ControlBand:
    """A gate on how far a value may lie from the mean of earlier ones, in their standard deviations."""

    metric: str
    deviations: float
    window: Duration

    def intervals(self, calendar: Calendar, key: str) -> int:
        """How many intervals the window holds before one."""
        interval = calendar.named(key)
        return 0 if interval is None else len(calendar.before(interval, self.window))

    def around(self, series: pl.DataFrame) -> pl.DataFrame:
        """The values of a series with the ends of the band, `low` and `high`; null after fewer than three values.

        An interval does not count among those that it is compared with, nor do results that were not accepted.
        """
        counted = pl.when(pl.col("accepted")).then("value")
        window = f"{self.window.count}{_POLARS_UNITS[self.window.unit]}"
        options: Any = {"window_size": window, "closed": "left", "min_samples": _FEWEST}
        ordered = series.sort("start").with_columns(counted=counted)
        mean = pl.col("counted").rolling_mean_by("start", **options)
        spread = pl.col("counted").rolling_std_by("start", **options) * self.deviations
        return ordered.with_columns(low=mean - spread, high=mean + spread).drop("counted")


def control_bands(gates: Iterable[Mapping[str, Any]]) -> list[ControlBand]:
    """The bands that gates of a suite name, as run.json writes them."""
    bands = []
    for gate in gates:
        within = gate.get("within")
        if not isinstance(within, dict) or not {"sd", "window"} <= within.keys():
            continue
        try:
            window = Duration.of(str(within["window"]))
            bands.append(ControlBand(str(gate.get("metric")), float(within["sd"]), window))
        except (TypeError, ValueError):
            continue
    return bands


def limits_of(gates: pl.DataFrame, metric: str, slice_set: str) -> list[tuple[str, float]]:
    """The limits that gates set to values of a metric, each with its rule."""
    rules = gates.filter(pl.col("metric") == metric, pl.col("slice_set") == slice_set)["rule"]
    matches = (_LIMIT.match(rule) for rule in rules.drop_nulls().unique(maintain_order=True))
    return [(match[0], float(match[2])) for match in matches if match]
