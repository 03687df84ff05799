"""Marks read back from the SVG of a chart: where they stand, on the scale of the axes that are printed beside them."""

import re
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.rendering import RENDERER

pytest.importorskip("altair", reason="charts need the extra report")
pytest.importorskip("vl_convert", reason="charts need the extra report")

_PLACE = re.compile(r"translate\(([-\d.e]+),\s*([-\d.e]+)\)")

_HALF, _LOWER = 0.5, 3.0


@dataclass(frozen=True)
class Mark:
    """A mark: its kind, such as `symbol`, `rule`, `rect` or `axis-label`, place, further end, text and attributes."""

    kind: str
    x: float
    y: float
    x2: float
    y2: float
    text: str
    attributes: dict[str, str]


def marks_of(figure: Figure) -> list[Mark]:
    """All marks of a figure, as it is rendered before names and roles are cleaned."""
    root = ElementTree.fromstring(RENDERER.render(figure.specification(), "svg"))
    found: list[Mark] = []
    _walk(root, 0.0, 0.0, "", found)
    return found


def _walk(element: Any, x: float, y: float, kind: str, found: list[Mark]) -> None:
    place = _PLACE.match(element.get("transform", ""))
    if place is not None:
        x, y = x + float(place[1]), y + float(place[2])
    classes = element.get("class", "")
    if "role-axis-" in classes or "role-title" in classes or "role-legend-" in classes:
        kind = classes.rpartition("role-")[2]
    elif "role-mark" in classes:
        kind = classes.partition(" ")[0].removeprefix("mark-")
    tag = element.tag.rpartition("}")[2]
    if kind and tag in {"path", "line", "text"} and element.get("class") not in {"background", "foreground"}:
        x2, y2 = x + float(element.get("x2", 0)), y + float(element.get("y2", 0))
        text = "".join(element.itertext())
        found.append(Mark(kind, x, y, x2, y2, text, dict(element.attrib)))
    for child in element:
        _walk(child, x, y, kind, found)


def axis_scale(marks: list[Mark], vertical: bool = False, number: int = 0) -> tuple[float, float]:
    """Intercept and slope from pixels to values of the axis with this number, from its labels."""
    labels = [mark for mark in marks if mark.kind == "axis-label"]
    groups: dict[tuple[str, float], list[Mark]] = {}
    for mark in labels:
        upright = mark.attributes.get("text-anchor") == "end"
        groups.setdefault(("y", mark.x) if upright else ("x", mark.y), []).append(mark)
    axes = [group for (kind, _), group in groups.items() if kind == ("y" if vertical else "x")]
    parts = [part for group in axes for part in _runs(group)]
    chosen = parts[number]
    # Axes are drawn half a pixel off, so that their lines are crisp; upright labels stand lower by their height.
    places = [mark.y - _HALF - _LOWER for mark in chosen] if vertical else [mark.x - _HALF for mark in chosen]
    values = [_value(mark.text) for mark in chosen]
    slope, intercept = np.polyfit(places, values, 1)
    return float(intercept), float(slope)


def _runs(labels: list[Mark]) -> list[list[Mark]]:
    """The labels of panels in a row or column: a new one starts where the values fall."""
    out: list[list[Mark]] = []
    for mark in labels:
        rising = bool(out) and _value(mark.text) > _value(out[-1][-1].text)
        if rising:
            out[-1].append(mark)
        else:
            out.append([mark])
    return out


def _value(text: str) -> float:
    text = text.replace("\N{MINUS SIGN}", "-").replace(",", "")
    return float(text[:-1]) / 100 if text.endswith("%") else float(text)


def texts_of(marks: list[Mark], kind: str = "text") -> list[str]:
    """The texts of marks of a kind, in the order they are drawn."""
    return [mark.text for mark in marks if mark.kind == kind]


def points_of(marks: list[Mark]) -> list[Mark]:
    """The points of the data, without those of legends."""
    return [mark for mark in marks if mark.kind == "symbol" and mark.attributes.get("opacity") == "1"]


def lines_of(marks: list[Mark], color: str) -> list[Mark]:
    """The lines of a color."""
    return [mark for mark in marks if mark.kind == "line" and mark.attributes.get("stroke") == color]
