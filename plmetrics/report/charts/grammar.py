"""Charts in the grammar of Vega-Lite, as plain values, the base of those of Altair, with its slow import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import polars as pl

if TYPE_CHECKING:
    import altair as alt

    AltairChart: TypeAlias = (
        alt.Chart | alt.LayerChart | alt.HConcatChart | alt.VConcatChart | alt.ConcatChart
    )
    Options: TypeAlias = dict[str, Any]

_TYPES = {"Q": "quantitative", "N": "nominal", "T": "temporal"}
_SECOND_ENDS = frozenset({"x2", "y2"})
"""Channels that have the type of another one."""


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """Marks of the rows of a frame, or charts in one panel (`layer`) or beside each other."""

    frame: pl.DataFrame | None = None
    kind: Literal["", "layer", "concat", "hconcat", "vconcat"] = ""
    parts: tuple[Chart, ...] = ()
    content: Mapping[str, Any] = field(default_factory=dict)

    def mark(self, kind: str, **style: Any) -> Chart:
        """The rows as marks of a kind, all in one style."""
        return self._with(mark={"type": kind} | options(**style))

    def encode(self, **channels: Any) -> Chart:
        """The marks with channels, and those they have: fields in short form or as `channel`, or constants."""
        new = {name: _in_full(name, short) for name, short in channels.items()}
        return self._with(encoding=options(**self.content.get("encoding", {}) | new))

    def properties(self, **values: Any) -> Chart:
        """The chart with a title or a size."""
        return self._with(**values)

    def resolve_scale(self, **channels: str) -> Chart:
        """Panels with scales `shared` or `independent`."""
        return self._with(resolve={"scale": options(**channels)})

    def _with(self, **values: Any) -> Chart:
        return replace(self, content={**self.content, **values})

    def specification(self, frames: dict[str, pl.DataFrame]) -> Options:
        """Chart without rows: it names its frames, to be added to those of others."""
        if not self.kind:
            return {"data": {"name": self._name(frames)}, **_plain(self.content)}
        parts = [part.specification(frames) for part in self.parts]
        return {self.kind: parts, **_plain(options(**self.content))}

    def _name(self, frames: dict[str, pl.DataFrame]) -> str:
        there = next((name for name, frame in frames.items() if frame is self.frame), None)
        name = there or f"data-{len(frames)}"
        assert self.frame is not None
        frames[name] = self.frame
        return name

    def to_altair(self) -> AltairChart:
        """The chart as one of Altair, with its frames."""
        import altair as alt

        content = _plain(self.content)
        match self.kind:
            case "":
                assert self.frame is not None
                encoding = alt.FacetedEncoding(**content.pop("encoding", {}))
                return alt.Chart(self.frame, encoding=encoding, **content)
            case "layer":
                return alt.LayerChart(layer=self._altair_parts(), **content)
            case "hconcat":
                return alt.HConcatChart(hconcat=self._altair_parts(), **content)
            case "vconcat":
                return alt.VConcatChart(vconcat=self._altair_parts(), **content)
            case "concat":
                return alt.ConcatChart(concat=self._altair_parts(), **content)

    def _altair_parts(self) -> list[Any]:
        return [part.to_altair() for part in self.parts]


def base(frame: pl.DataFrame) -> Chart:
    """Chart of a frame with short column names; infinite values and NaN are null, a gap."""
    floats = pl.selectors.float()
    return Chart(frame.with_columns(pl.when(floats.is_finite()).then(floats).otherwise(None)))


def layer_charts(*layers: Chart) -> Chart:
    """Charts in one panel, the first at the back."""
    marks = [part for chart in layers for part in (chart.parts if chart.kind == "layer" else (chart,))]
    return Chart(kind="layer", parts=tuple(marks))


def concat(*charts: Chart, columns: int, spacing: float) -> Chart:
    """Charts in rows of so many."""
    return Chart(kind="concat", parts=charts, content={"columns": columns, "spacing": spacing})


def hconcat(*charts: Chart, spacing: float) -> Chart:
    """Charts beside each other."""
    return Chart(kind="hconcat", parts=charts, content={"spacing": spacing})


def vconcat(*charts: Chart, spacing: float) -> Chart:
    """Charts below each other."""
    return Chart(kind="vconcat", parts=charts, content={"spacing": spacing})


def options(**values: Any) -> Options:
    """Keywords of a scale, an axis, a legend or a style, in the order of their names."""
    return dict(sorted(values.items()))


def channel(shorthand: str, **values: Any) -> Options:
    """Channel of a field, with its type in the short form `x:Q`."""
    name, kind = shorthand.split(":")
    return options(field=name, type=_TYPES[kind], **values)


def constant(number: Any) -> Options:
    """A channel of a constant in pixels or colours."""
    return {"value": number}


def datum(number: Any) -> Options:
    """A channel of a constant on the scale of the data."""
    return {"datum": number}


def expression(text: str) -> Options:
    """Style by an expression of the row."""
    return {"expr": text}


def chart_title(text: str | list[str], **values: Any) -> Options:
    """A title of a chart, with its style."""
    return {"text": text} | options(**values)


def _in_full(name: str, short: Any) -> Any:
    if not isinstance(short, str):
        return short
    full = channel(short)
    if name in _SECOND_ENDS:
        del full["type"]
    return full


def _plain(part: Any) -> Any:
    """A copy of values as JSON has them."""
    if isinstance(part, Mapping):
        return {key: _plain(item) for key, item in part.items()}
    if isinstance(part, (list, tuple)):
        return [_plain(item) for item in part]
    return part.item() if isinstance(part, np.generic) else part
