"""A chart with the rows it shows: to look at, to save and to go on with."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.report.charts.rendering import RENDERER
from plmetrics.report.charts.svg import add_description
from plmetrics.report.charts.theme import DARK, LIGHT, Theme, configuration
from plmetrics.runs.files import environment_faults, path_argument, write_atomic

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.report.charts.grammar import AltairChart, Chart

_FORMS = (".svg", ".png", ".html", ".json")
_PAINTED = frozenset({"color", "fill", "stroke", "ink", "value", "background", "range"})


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart of a result.

    `chart` is an Altair chart without configuration, so that it can be layered, joined and styled further; its fields
    have short names, since names of users can mean something to the chart language. `frame` are the rows it shows, in
    the columns of the result's tables. `description` says in words what there is to see, for readers aloud. In a
    notebook a figure shows as an image, without a network.

    >>> import polars as pl, plmetrics as plm
    >>> frame = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.2, 0.4, 0.4]})
    >>> result = plm.evaluate(frame, label="y", models="p", metrics=["roc_auc"], curves=["roc"])
    >>> figure = result.plot.roc()
    >>> figure.frame.height
    4
    """

    drawing: Chart
    frame: pl.DataFrame
    title: str
    description: str
    notes: tuple[str, ...] = field(default=())

    @property
    def chart(self) -> AltairChart:
        """The chart as one of Altair."""
        return self.drawing.to_altair()

    def specification(self, theme: Theme = "light", background: str | None = None) -> dict[str, Any]:
        """The chart as Vega-Lite in this theme; nothing of a theme of the reader's own gets into it."""
        frames: dict[str, pl.DataFrame] = {}
        chart = self.drawing.specification(frames)
        chart |= {"config": configuration(), "background": background or LIGHT["paper"]}
        chart["datasets"] = {name: frame.to_dicts() for name, frame in frames.items()}
        # Values that are no JSON would drop marks without a word.
        json.dumps(chart, allow_nan=False)
        if theme == "light":
            return chart
        colors = {light: DARK[role] for role, light in LIGHT.items()}
        repainted: dict[str, Any] = _map_colors(chart, colors, painted=False)
        return repainted

    def svg(self, theme: Theme = "light") -> str:
        """The chart as SVG, with title and description for readers aloud.

        Raises:
            EnvironmentFault: the extra `report` is not installed, or the renderer refused the chart.
        """
        image = RENDERER.render(self.specification(theme), "svg").decode()
        return add_description(image, self.title, self.description)

    def png(self, scale: float = 2.0, theme: Theme = "light") -> bytes:
        """The chart as PNG, `scale` pixels a point.

        Raises:
            EnvironmentFault: the extra `report` is not installed, or the renderer refused the chart.
        """
        return RENDERER.render(self.specification(theme), "png", scale)

    def save(self, path: str | Path, theme: Theme = "light") -> None:
        """Write an .svg, .png, .html or .json (Vega-Lite) file.

        Raises:
            ConfigError: the path ends otherwise, or is none.
            EnvironmentFault: the extra `report` is absent, or the chart or the file was refused.
        """
        path = Path(path_argument(path, "path"))
        match path.suffix.lower():
            case ".svg":
                content = self.svg(theme).encode()
            case ".png":
                content = self.png(theme=theme)
            case ".html":
                content = f"<!doctype html><meta charset=utf-8>{self._image(theme)}\n".encode()
            case ".json":
                content = json.dumps(self.specification(theme), allow_nan=False).encode()
            case _:
                raise ConfigError(Problem(f"'{path.name}' ends with none of {', '.join(_FORMS)}"))
        with environment_faults(f"{path} cannot be written"):
            write_atomic(path, content)

    def _image(self, theme: Theme = "light") -> str:
        from xml.sax.saxutils import quoteattr

        content = base64.b64encode(self.svg(theme).encode()).decode()
        return f'<img src="data:image/svg+xml;base64,{content}" alt={quoteattr(self.description)}>'

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self._image(), "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"{self.title}\n{self.description}\n{self.frame}"


def _map_colors(part: Any, colors: Mapping[str, str], *, painted: bool) -> Any:
    if isinstance(part, dict):
        return {
            key: _map_colors(item, colors, painted=key in _PAINTED or key.endswith("Color"))
            for key, item in part.items()
        }
    if isinstance(part, list):
        return [_map_colors(item, colors, painted=painted) for item in part]
    return colors.get(part, part) if painted and isinstance(part, str) else part
