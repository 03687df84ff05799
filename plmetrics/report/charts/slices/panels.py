"""Panels of a forest side by side: one with all its columns of text, or several of fewer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from plmetrics.report.charts.comparisons.gate_limits import Limit, zone
from plmetrics.report.charts.grammar import Chart, hconcat
from plmetrics.report.charts.slices.rows import (
    GUTTER,
    STEP,
    WIDTH,
    Scale,
    TextColumn,
    forest_domain,
    header,
    panel,
    sides,
    stack_rows,
)
from plmetrics.report.charts.texts import short

_WIDTHS = {1: WIDTH, 2: 240, 3: 200, 4: 165, 5: 150}
_SPACING = 20
_INSET = 12


@dataclass(frozen=True, slots=True)
class SlicePanel:
    """The rows of a panel, its heading, and the reference of the rows."""

    rows: pl.DataFrame
    heading: str = ""
    reference: float | None = None
    band: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Texts:
    """A column of texts and its room in pixels; `common` ones are the same in all panels."""

    field: str
    title: str
    room: float
    align: str = "right"
    common: bool = False


def headings(models: Sequence[str]) -> list[str]:
    """Heading of each model's panel; none above a single one."""
    return [short(model, 24, models) if len(models) > 1 else "" for model in models]


def size_texts(parts: Sequence[pl.DataFrame]) -> Texts:
    """The column of the sizes of slices, which panels have in common where these are the same."""
    return Texts("c0", "n", 52, common=len({tuple(part["c0"]) for part in parts}) == 1)


def side_by_side(
    panels: Sequence[SlicePanel],
    axis: str,
    texts: Sequence[Texts],
    *,
    include: Sequence[float | None] = (),
    short_axis: str = "",
    reasons: str | None = None,
    one_unit: bool = True,
) -> Chart:
    """Panels with one range, unless their units differ; from three on they have no texts but the common ones.

    Common ones stand at the right of the last. `reasons` is the field of the texts that then stand in place of points.
    """
    whole = pl.concat([part.rows for part in panels], how="diagonal")
    width = _WIDTHS[len(panels)]
    many = len(panels) > 2
    parts = []
    alone = len(panels) == 1
    for index, part in enumerate(panels):
        last = index == len(panels) - 1
        asked = [text for text in texts if (last if text.common else not many)]
        columns, end = columns_of(asked, width)
        domain = forest_domain(whole if one_unit else part.rows, include)
        parts.append(
            panel(
                part.rows,
                Scale(domain, short_axis if many and short_axis else axis, part.reference, part.band),
                columns,
                width=width,
                gutter=0 if index else GUTTER,
                heading=part.heading,
                end=end if last else end + _SPACING,
                reasons=reasons if many else None,
                alone=alone,
            )
        )
    return parts[0] if len(parts) == 1 else hconcat(*parts, spacing=_SPACING)


def headed_panel(
    title: str,
    rows: pl.DataFrame,
    texts: Sequence[Texts],
    *,
    titled: bool,
    limits: Sequence[Limit] = (),
    direction: str = "none",
) -> Chart:
    """One of several panels below each other: header, rows around 0, limits of gates, and the better side in words."""
    rows = stack_rows(header(title), rows)
    domain = forest_domain(rows, [0.0, *(limit.value for limit in limits)])
    columns, end = columns_of(texts, WIDTH, titled=titled)
    under = [mark for limit in limits for mark in zone(limit, domain)]
    words = sides(direction, STEP * rows.height)
    over = [] if words is None else [words]
    return panel(rows, Scale(domain, "", 0.0), columns, under=under, over=over, end=end)


def columns_of(
    texts: Sequence[Texts], width: float, *, titled: bool = True
) -> tuple[list[TextColumn], float]:
    """The columns with their places, and where the last one ends; only the first panel of several has titles."""
    columns, end = [], width
    for text in texts:
        start, end = end + _INSET, end + _INSET + text.room
        columns.append(
            TextColumn(
                text.field,
                text.title if titled else "",
                end if text.align == "right" else start,
                text.align,
                text.common,
            )
        )
    return columns, end
