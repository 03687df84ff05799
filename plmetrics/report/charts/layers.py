"""Charts of frames, and charts in one panel, in a form that is built and copied fast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl
from altair.utils.schemapi import SchemaBase

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self


def base(frame: pl.DataFrame) -> alt.Chart:
    """A chart of a frame whose columns have short names; what is not finite is null, a gap."""
    finite = frame.with_columns(
        pl.when(pl.selectors.float().is_finite()).then(pl.selectors.float()).otherwise(None)
    )
    return _Marks(finite)


class _Sharing(SchemaBase):
    """A chart whose copies share its parts.

    Altair copies a chart with each layer and panel that it becomes a part of, and sets attributes of the copy. It would
    also put all layers together again in each.
    """

    def copy(
        self,
        deep: bool | Iterable[Any] = True,  # noqa: FBT001, FBT002
        ignore: list[str] | None = None,
    ) -> Self:
        """A copy with the same parts, but for those that are asked for by name to be changed in place."""
        if not isinstance(deep, bool):
            return super().copy(deep=deep, ignore=ignore)
        chart = object.__new__(type(self))
        object.__setattr__(chart, "_args", self._args)
        object.__setattr__(chart, "_kwds", dict(self._kwds))
        return chart


class _Layers(_Sharing, alt.LayerChart):
    """Charts in one panel."""


class _Marks(_Sharing, alt.Chart):
    """A chart that is built fast.

    Short forms of channels become channels here, since Altair searches its whole schema for each.
    """

    def encode(self, *args: Any, **channels: Any) -> _Marks:
        """Give the marks their channels, as Altair does."""
        marks: _Marks = super().encode(
            *args, **{name: _channel(name, short) for name, short in channels.items()}
        )
        return marks


def _channel(name: str, short: Any) -> Any:
    """The channel of a field, a value or a place that is given in short form."""
    kind = name[0].upper() + name[1:]
    if isinstance(short, str):
        return getattr(alt, kind)(short)
    if isinstance(short, dict) and "value" in short:
        return getattr(alt, f"{kind}Value")(short["value"])
    if isinstance(short, dict) and "datum" in short:
        return getattr(alt, f"{kind}Datum")(short["datum"])
    return short


class _Channels(alt.FacetedEncoding):
    """Channels that charts share: Altair copies a chart with each layer and panel that it becomes a part of."""

    _class_is_valid_at_instantiation = False

    def __deepcopy__(self, _: object) -> _Channels:
        return self


def layer_charts(*layers: alt.Chart | alt.LayerChart) -> alt.LayerChart:
    """Charts in one panel, the first at the back."""
    return _Layers(layer=[part for chart in layers for part in _parts(chart)])


def _parts(chart: alt.Chart | alt.LayerChart) -> list[Any]:
    """The marks of a chart, with mark and channels in a form that is copied fast."""
    if isinstance(chart, alt.LayerChart):
        # Layers of the same rows leave these to their panel.
        return [_with_rows(part, chart.data) for part in chart.layer]
    if isinstance(chart.encoding, _Channels) or not isinstance(chart.encoding, alt.FacetedEncoding):
        return [chart]
    plain = chart.copy(deep=False)
    plain.encoding = _Channels(**chart.encoding.to_dict(validate=False))
    plain.mark = chart.mark.to_dict(validate=False) if isinstance(chart.mark, alt.MarkDef) else chart.mark
    return [plain]


def _with_rows(part: Any, rows: Any) -> Any:
    if rows is alt.Undefined or part.data is not alt.Undefined:
        return part
    whole = part.copy(deep=False)
    whole.data = rows
    return whole
