"""Limits of gates on differences, and their failure zones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.report.charts.grammar import base
from plmetrics.report.charts.theme import LIGHT

if TYPE_CHECKING:
    from plmetrics.report.charts.grammar import Chart
    from plmetrics.report.summary import Summary

_LIMIT = re.compile(r"(>=|<=|>|<) (-?[\d.]+(?:e[-+]?\d+)?)")


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit, and whether a gate fails below or above it."""

    value: float
    fails_below: bool


def gate_limits(summary: Summary, differences: pl.DataFrame) -> list[Limit]:
    """The limits of gates on differences of a metric, those of its rows' models, baselines and slices."""
    first = differences.row(0, named=True)
    rows = summary.gates.filter(
        pl.col("metric") == first["metric"],
        pl.col("model").is_in(differences["model"].to_list()),
        pl.col("slice_set").is_in(differences["slice_set"].unique().to_list()),
        pl.col("rule").str.starts_with("difference to "),
    )
    limits = []
    for rule in rows["rule"].unique(maintain_order=True):
        for baseline in differences["baseline"].unique(maintain_order=True):
            prefix = f"difference to {baseline} "
            if rule.startswith(prefix):
                limits += [
                    Limit(float(number), fails_below=sign.startswith(">"))
                    for sign, number in _LIMIT.findall(rule.removeprefix(prefix))
                ]
    return list(dict.fromkeys(limits))


def zone(limit: Limit, domain: tuple[float, float], opacity: float = 0.13, **line_style: Any) -> list[Chart]:
    """The shaded zone where a gate fails, with a line at its limit."""
    ends = (domain[0], limit.value) if limit.fails_below else (limit.value, domain[1])
    area = base(pl.DataFrame({"x": [ends[0]], "hi": [ends[1]]}))
    line = base(pl.DataFrame({"x": [limit.value]}))
    return [
        area.mark("rect", color=LIGHT["series-2"], opacity=opacity).encode(x="x:Q", x2="hi:Q"),
        line.mark("rule", color=LIGHT["series-2"], strokeWidth=1.2, **line_style).encode(x="x:Q"),
    ]
