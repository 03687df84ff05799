"""SVG images for a page: with a name for screen readers, and colours of the page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from plmetrics.report.charts.theme import LIGHT

_TAG = re.compile(r"<[a-zA-Z][^>]*>")
_PAINT = re.compile(r'\b(fill|stroke)="(#[0-9a-fA-F]{6})"')
_PLACES = re.compile(r'\s(?:d|transform)="[^"]*"')
_DECIMALS = re.compile(r"(\.\d\d)\d+")
_SPOKEN = re.compile(r'\s(?:role|class|aria-[a-z]+)="[^"]*"')
_PREFIX = "pm"
_NAMES = {color: name for name, color in LIGHT.items()}


def add_description(svg: str, title: str, description: str) -> str:
    """Image with a title and a description, and without the roles of its unnamed marks."""
    svg = _in_tags(svg, lambda tag: _SPOKEN.sub("", tag))
    end = svg.index(">", svg.index("<svg"))
    label = f"<title>{escape(title, quote=False)}</title><desc>{escape(description, quote=False)}</desc>"
    return f'{svg[:end]} role="img">{label}{svg[end + 1 :]}'


def with_variables(svg: str) -> str:
    """The image with colours of the theme as CSS variables, each with the light one where a page has none.

    Places are cut to hundredths of a pixel, since a page holds many.
    """

    def variable(match: re.Match[str]) -> str:
        name = _NAMES.get(match[2].lower())
        return match[0] if name is None else f'{match[1]}="var(--{_PREFIX}-{name},{match[2]})"'

    return _in_tags(svg, lambda tag: _PLACES.sub(_short, _PAINT.sub(variable, tag)))


def _short(match: re.Match[str]) -> str:
    return _DECIMALS.sub(r"\1", match[0])


def variables(colors: Iterable[tuple[str, str]]) -> str:
    """Declarations of the CSS variables of a theme."""
    return "".join(f"--{_PREFIX}-{name}:{color};" for name, color in colors)


def _in_tags(svg: str, change: object) -> str:
    """Change tags and nothing between them, where texts of users stand."""
    return _TAG.sub(lambda match: change(match[0]), svg)  # type: ignore[operator]
