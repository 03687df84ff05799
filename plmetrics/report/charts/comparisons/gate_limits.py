"""Limits of gates on differences, and their failure zones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.names import number_text
from plmetrics.report.charts.grammar import Chart, base
from plmetrics.report.charts.texts import short
from plmetrics.report.charts.theme import LIGHT

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit, and whether a gate fails below or above it."""

    value: float
    fails_below: bool

    @property
    def text(self) -> str:
        """The limit as a rule."""
        return f"{'>=' if self.fails_below else '<='} {number_text(self.value)}"


def limits_of(gates: pl.DataFrame) -> list[Limit]:
    """The limits of rows of the table `gates`, each once."""
    ends = gates.select("at_least", "at_most").unique(maintain_order=True).rows()
    limits = [
        Limit(limit, fails_below=fails_below)
        for row in ends
        for limit, fails_below in zip(row, (True, False), strict=True)
        if limit is not None
    ]
    return list(dict.fromkeys(limits))


_MOST_NAMES = 3
_COMPARED = ("metric", "class", "model", "baseline", "slice_set")


def gate_limits(summary: Summary, differences: pl.DataFrame) -> list[Limit]:
    """The limits of gates on differences, those of its rows' metric, class, models, baselines and slices."""
    gates = summary.gates.filter(pl.col("scale") == "difference")
    return limits_of(gates.join(differences, on=_COMPARED, how="semi", nulls_equal=True))


def shade_words(summary: Summary, differences: pl.DataFrame) -> str:
    """Legend of the zones of gates, with the models that are judged if others stand beside them; empty without any."""
    gates = summary.gates.filter(pl.col("scale") == "difference")
    limited = differences.join(gates, on=_COMPARED, how="semi", nulls_equal=True)
    if limited.is_empty():
        return ""
    beside = differences.join(limited, on=("metric", "class"), how="semi", nulls_equal=True)
    judged = limited.select("model", "baseline").unique(maintain_order=True).rows()
    if beside.height == limited.height:
        return "shaded: fails a gate"
    models = [name for pair in judged for name in pair]
    names = ", ".join(
        f"{short(model, 14, models)} to {short(baseline, 12, models)}"
        for model, baseline in judged[:_MOST_NAMES]
    )
    more = f" and {len(judged) - _MOST_NAMES} more" if len(judged) > _MOST_NAMES else ""
    return f"shaded: fails a gate, which judges {names}{more} alone"


def zone(limit: Limit, domain: tuple[float, float], opacity: float = 0.13, **line_style: Any) -> list[Chart]:
    """The shaded zone where a gate fails, with a line at its limit."""
    ends = (domain[0], limit.value) if limit.fails_below else (limit.value, domain[1])
    area = base(pl.DataFrame({"x": [ends[0]], "hi": [ends[1]]}))
    line = base(pl.DataFrame({"x": [limit.value]}))
    return [
        area.mark("rect", color=LIGHT["series-2"], opacity=opacity).encode(x="x:Q", x2="hi:Q"),
        line.mark("rule", color=LIGHT["series-2"], strokeWidth=1.2, **line_style).encode(x="x:Q"),
    ]
