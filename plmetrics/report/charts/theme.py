"""Colours, type and spacing of charts and reports, for light and for dark surroundings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Theme = Literal["light", "dark"]

FONT = "'Liberation Sans', Arial, Helvetica, sans-serif"
"""Families that the renderer measures as browsers do."""

_COLORS = {
    "paper": ("#ffffff", "#15191e"),
    "ink": ("#1f2933", "#e6e9ed"),
    "mute": ("#616e7c", "#a7b1bc"),
    "faint": ("#9aa5b1", "#6b7580"),
    "grid": ("#e4e7eb", "#2b323a"),
    "reference": ("#7b8794", "#8b96a1"),
    "bad": ("#b04a00", "#ff8a3d"),
    "good": ("#00704f", "#5fd3ac"),
    "worse-1": ("#fbe6d8", "#3a2a20"),
    "worse-2": ("#f6c7a6", "#583620"),
    "worse-3": ("#efa873", "#7a441d"),
    "better-1": ("#dcebf6", "#1c2f3f"),
    "better-2": ("#b3d4ec", "#1d4361"),
    "better-3": ("#86bbdf", "#1c5785"),
    "series-1": ("#0072b2", "#4db2ff"),
    "series-2": ("#d55e00", "#ff8a3e"),
    "series-3": ("#009e73", "#eedd88"),
    "series-4": ("#cc79a7", "#ffaabb"),
    "series-5": ("#332288", "#aa4499"),
    "share-0": ("#f2f6f9", "#1b2229"),
    "share-1": ("#d6e6f2", "#1d3444"),
    "share-2": ("#a9cce3", "#1f4b68"),
    "share-3": ("#6ba7cf", "#20618b"),
    "share-4": ("#2673ac", "#4d9fd6"),
    "share-5": ("#0b5690", "#9fd0f5"),
    "neutral": ("#f6f7f8", "#22282f"),
}
"""Colours by role, on light and on dark paper. The series are told apart under every usual kind of colour blindness,
and by contrast 3.1:1 and more from the paper; texts have 4.5:1 and more."""

LIGHT: Mapping[str, str] = {role: light for role, (light, _) in _COLORS.items()}
DARK: Mapping[str, str] = {role: dark for role, (_, dark) in _COLORS.items()}

SERIES = tuple(LIGHT[f"series-{number}"] for number in range(1, 6))
"""Colours of models or slices in one panel, in order."""

DASHES: tuple[list[int], ...] = ([1, 0], [7, 3], [2, 3], [9, 3, 2, 3], [4, 2])
"""Dashes that tell series apart without colour."""

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")


def configuration() -> dict[str, Any]:
    """The Vega-Lite configuration of every chart, in light colours, to register as a theme of one's own.

    >>> configuration()["title"]["fontSize"]
    14
    """
    text = {"font": FONT, "color": LIGHT["ink"]}
    axis = {
        "labelFont": FONT,
        "titleFont": FONT,
        "labelFontSize": 11,
        "titleFontSize": 11.5,
        "titleFontWeight": "normal",
        "labelColor": LIGHT["mute"],
        "titleColor": LIGHT["ink"],
        "gridColor": LIGHT["grid"],
        "domain": False,
        "ticks": False,
        "labelFlush": False,
        "labelPadding": 6,
        "titlePadding": 10,
    }
    title = {
        "anchor": "start",
        "font": FONT,
        "fontSize": 14,
        "fontWeight": "bold",
        "color": LIGHT["ink"],
        "subtitleFont": FONT,
        "subtitleFontSize": 11.5,
        "subtitleColor": LIGHT["mute"],
        "subtitleLineHeight": 15,
        "subtitlePadding": 5,
        "offset": 12,
    }
    return {
        "aria": False,
        "font": FONT,
        "padding": 6,
        "view": {"stroke": None},
        "axis": axis,
        # A label with a limit is measured twice as often, and numbers are short.
        "axisQuantitative": {"labelSeparation": 4, "labelLimit": 0},
        "title": title,
        "header": {
            "labelFont": FONT,
            "labelFontSize": 12,
            "labelColor": LIGHT["ink"],
            "labelFontWeight": "bold",
        },
        "text": {**text, "fontSize": 11},
        "line": {"strokeWidth": 2, "strokeCap": "round", "strokeJoin": "round"},
        "rule": {"strokeWidth": 1.6},
        "point": {"size": 56, "filled": True, "opacity": 1},
        "area": {"opacity": 0.2},
    }
