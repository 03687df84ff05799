"""Curves in one panel, or a panel for each slice, class or model where there are too many for one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.report.charts.grammar import channel, chart_title, concat, layer_charts, options, vconcat
from plmetrics.report.charts.marks import MOST_SERIES, PANEL, UNIT, UNIT_TICKS, background, canvas_of
from plmetrics.report.charts.placement import Canvas
from plmetrics.report.charts.series import KEYS, Keys, Series
from plmetrics.report.charts.texts import in_line, short, wrap_words

if TYPE_CHECKING:
    from plmetrics.report.charts.grammar import Chart

_GAP = 26
_MOST_COLUMNS = 3


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel: its content, its axes and its size in pixels."""

    series: Series
    x: dict[str, Any]
    y: dict[str, Any]
    width: float = PANEL
    height: float = PANEL

    @property
    def small(self) -> bool:
        """Whether it is one of many."""
        return self.width < PANEL

    def canvas(self, frame: pl.DataFrame | None = None) -> Canvas:
        """Places of its lines, or those of another frame."""
        lines = self.series.frame if frame is None else frame
        canvas = canvas_of(lines, self.x, self.y, self.width, self.height)
        return canvas or Canvas(self.width, self.height, UNIT, UNIT)


@dataclass(frozen=True, slots=True)
class PanelGrid:
    """A chart and the width of all its panels."""

    chart: Chart
    width: float


def panels(
    series: Series,
    x: dict[str, Any] | Callable[[Series], dict[str, Any]],
    y: dict[str, Any],
    draw: Callable[[Panel], Chart],
    *,
    alone: bool = False,
    shared: bool = False,
    height: float = PANEL,
    interpolate: str = "linear",
) -> PanelGrid:
    """The series in one panel if there are at most five, drawn by `draw`.

    Curves of several models in several slices or classes get a panel a slice or class. More than five of one kind get a
    panel each, over all others in grey. With `alone` every series gets a panel of its own, with `shared` they have one
    legend. `x` may be a function of a panel's series: scores of different models need not be on one scale.
    """
    axis_of = x if callable(x) else lambda _: x
    if len(series.keys) <= 1 or not (alone or _is_crowded(series.keys)):
        panel = Panel(series, axis_of(series), y, PANEL, height)
        return PanelGrid(draw(panel).properties(width=PANEL, height=height), PANEL)
    groups = _groups(series, alone=alone)
    crowded = not alone and all(len(numbers) == 1 for _, numbers in groups)
    behind = background(series.frame, interpolate) if crowded else None
    columns, side = layout_of(len(groups))
    parts = []
    for number, (name, numbers) in enumerate(groups):
        part = _part(series, numbers)
        left, last = number % columns == 0, number + columns >= len(groups)
        panel = Panel(
            part, _small(axis_of(part), titled=last), _small(y, titled=left), side, side * height / PANEL
        )
        chart = draw(panel)
        if behind is not None:
            chart = layer_charts(behind.encode(x=channel(**panel.x), y=channel(**panel.y)), chart)
        parts.append(_with_heading(chart, panel, name, part.values if crowded or alone else ()))
    return grid(parts, columns, side, shared=shared)


def rows_of_panels(charts: Sequence[Chart], alone: float, small: float, spacing: float = _GAP) -> PanelGrid:
    """Panels of models in rows of three; `alone` is the width of a single one, `small` that of one of several."""
    if len(charts) == 1:
        return PanelGrid(charts[0], alone)
    chart = concat(*charts, columns=_MOST_COLUMNS, spacing=spacing)
    return PanelGrid(chart, small * min(len(charts), _MOST_COLUMNS))


def column_of_panels(charts: Sequence[Chart], spacing: float = 12) -> Chart:
    """Panels below each other."""
    return charts[0] if len(charts) == 1 else vconcat(*charts, spacing=spacing)


def model_panel(chart: Chart, name: str, small: tuple[float, float], alone: tuple[float, float]) -> Chart:
    """The panel of a model in its size: as one of several, with its name above it, or as the only one."""
    width, height = small if name else alone
    panel = chart.properties(width=width, height=height)
    return panel.properties(title=chart_title(name, fontSize=12, offset=8, anchor="start")) if name else panel


def layout_of(number: int) -> tuple[int, int]:
    """The columns of so many panels, and the width of each in pixels."""
    if number <= 2:
        return number, 300
    if number == 4:
        return 2, 300
    return (3, 230) if number <= 9 else (4, 180)


def grid(parts: Sequence[Chart], columns: int, side: float, *, shared: bool = False) -> PanelGrid:
    """Panels in rows of so many, with a legend each or a common one."""
    scales: dict[str, Any] = dict.fromkeys(
        ("color", "strokeDash", "shape"), "shared" if shared else "independent"
    )
    chart = concat(*parts, columns=columns, spacing=_GAP).resolve_scale(**scales)
    across = min(columns, len(parts))
    return PanelGrid(chart, across * side + (across - 1) * (_GAP + 30))


def _is_crowded(keys: Sequence[Keys]) -> bool:
    vary = [len({key[part] for key in keys}) > 1 for part in range(3)]
    return len(keys) > MOST_SERIES or sum(vary) > 1


def _groups(series: Series, *, alone: bool) -> list[tuple[str, list[int]]]:
    """The panels by name, with the numbers of their series."""
    vary = [part for part in range(3) if len({key[part] for key in series.keys}) > 1]
    by = vary if alone or len(vary) == 1 else [part for part in vary if KEYS[part] != "model"]
    groups: dict[tuple[str | None, ...], list[int]] = {}
    for number, key in enumerate(series.keys):
        groups.setdefault(tuple(key[part] for part in by), []).append(number)
    crowded = any(len(numbers) > MOST_SERIES for numbers in groups.values())
    if alone or len(vary) == 1 or crowded:
        return [(name, [number]) for number, name in enumerate(series.names)]
    names = [str(part) for group in groups for part in group]
    return [
        (", ".join(in_line(short(str(part), among=names)) for part in group if part), numbers)
        for group, numbers in groups.items()
    ]


def _part(series: Series, numbers: list[int]) -> Series:
    """The series of a panel: one without a label, several by model."""
    if len(numbers) == 1:
        part = series.part(numbers, lambda _: "")
        return replace(part, frame=part.frame.with_columns(s=pl.lit("")), labels=("",))
    vary = [part for part in range(3) if len({series.keys[number][part] for number in numbers}) > 1]
    names = [str(series.keys[number][part]) for number in numbers for part in vary]

    def naming(key: Keys) -> str:
        return ", ".join(in_line(short(str(key[part]), 20, names)) for part in vary if key[part])

    return series.part(numbers, naming)


def _with_heading(chart: Chart, panel: Panel, name: str, values: Sequence[str]) -> Chart:
    """A panel with its size, its name and the value of its metric above it."""
    title = chart_title(
        wrap_words(name, panel.width, 12),
        subtitle=[value for value in values if value],
        frame="group",
        fontSize=12,
        subtitleFontSize=10.5,
        offset=6,
        subtitlePadding=2,
    )
    return chart.properties(title=title, width=panel.width, height=panel.height)


def _small(channel: dict[str, Any], *, titled: bool) -> dict[str, Any]:
    """An axis of a small panel: fewer ticks, and a title at the edge of the grid alone."""
    axis = dict(channel["axis"])
    if axis.get("values") == list(UNIT_TICKS):
        axis["values"] = [0, 0.5, 1]
    return {**channel, "axis": options(**axis), "title": channel["title"] if titled else None}
