"""Curves as series: a line a model, slice or class, in one panel or in several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.names import number_duplicates
from plmetrics.inference.curves.thinning import thin
from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.marks import MOST_SERIES, add_title
from plmetrics.report.charts.texts import in_line, short
from plmetrics.report.leaderboard import ranked_models
from plmetrics.report.numbers import count, omission, row_estimate

if TYPE_CHECKING:
    from plmetrics.report.charts.grammar import Chart
    from plmetrics.report.charts.selection import Selection

MOST_POINTS = 200
MOST_PANELS = 12
FEW_SERIES = 5
"""More have small panels, in which half the points are enough."""

Keys = tuple[str, str, str | None]
"""Model, slice and class of a curve."""
KEYS = ("model", "slice", "class")


@dataclass(frozen=True, slots=True)
class Series:
    """Points in short columns with their series, ordered labels, common text, and omitted series.

    `keys` are model, slice and class of each series, `names` what tells them apart, and `values` their metric.
    """

    frame: pl.DataFrame
    labels: tuple[str, ...]
    common: str
    drawn: pl.DataFrame
    omissions: int
    keys: tuple[Keys, ...] = field(default=())
    names: tuple[str, ...] = field(default=())
    values: tuple[str, ...] = field(default=())
    most: int = MOST_POINTS

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on series left out of the chart."""
        if not self.omissions:
            return ()
        whole = count(self.omissions + len(self.labels))
        return (f"{len(self.labels)} of {whole} shown, {count(self.omissions)} more are in the table",)

    @property
    def exact(self) -> bool:
        """Whether all points of all curves are known, so that steps between them are those of the curve."""
        return all(part.height < self.most for part in self.frame.partition_by("s"))

    def part(self, numbers: Sequence[int], naming: Callable[[Keys], str]) -> Series:
        """Some of the series, by number, each with its distinguishing name and its metric."""
        names = _distinct([naming(self.keys[number]) for number in numbers])
        values = tuple(self.values[number] for number in numbers)
        labels = _labels(names, values)
        renamed = pl.DataFrame({"s": [self.labels[number] for number in numbers], "t": labels})
        frame = self.frame.join(renamed, on="s", maintain_order="left")
        return replace(
            self,
            frame=frame.with_columns(s="t").drop("t"),
            labels=labels,
            keys=tuple(self.keys[number] for number in numbers),
            names=names,
            values=values,
        )

    def rows(self, table: pl.DataFrame) -> pl.DataFrame:
        """Rows of a result table of models, slices and classes of these series, with the label `s`."""
        return table.join(
            _labels_of_keys(self.keys, self.labels), on=KEYS, nulls_equal=True, maintain_order="left"
        )

    def figure(
        self,
        chart: Chart,
        title: str,
        subtitle: Sequence[str],
        description: str,
        width: float,
        height: float | None = None,
    ) -> Figure:
        """A chart of these series with its title, subtitle and size."""
        titled = add_title(chart, title, subtitle, width, height)
        return Figure(titled, self.drawn, title, description, self.notes)


def panel_series(selection: Selection, points: pl.DataFrame, metric: str | None = None) -> Series:
    """Series of a chart of one panel, as many as there are colours: two of one colour could not be told apart."""
    return series_of(selection, points, metric, most=MOST_SERIES)


def series_of(
    selection: Selection,
    points: pl.DataFrame,
    metric: str | None = None,
    *,
    by_threshold: bool = False,
    most: int = MOST_PANELS,
) -> Series:
    """Points of the table `curves` as series; the label tells the metric of each, if it has a value there.

    What all series have in common stands in the title, and what tells them apart in their labels. Where there are too
    many, `most` of those of the largest slices are shown. `by_threshold` is for charts whose axis is the threshold.
    """
    keys: list[Keys] = points.select(KEYS).unique(maintain_order=True).rows()
    shown = _largest(selection, keys, most)
    values = tuple(estimate_of(selection, key, metric) for key in shown)
    names = _names(shown)
    labels = _labels(names, values)
    points = points.join(_labels_of_keys(shown, labels), on=KEYS, nulls_equal=True, maintain_order="left")
    most_points = MOST_POINTS if len(shown) <= FEW_SERIES else MOST_POINTS // 2
    drawn = pl.concat(
        [
            _thin_points(part, most_points, by_threshold=by_threshold)
            for part in points.partition_by("s", maintain_order=True)
        ]
    )
    frame = drawn.select(
        "x",
        "y",
        pl.col("lower").alias("lo"),
        pl.col("upper").alias("hi"),
        "s",
        pl.col("threshold").alias("h"),
        pl.col("n").alias("n"),
        k=pl.int_range(pl.len()),
    )
    return Series(
        frame,
        labels,
        _common(keys),
        drawn.drop("s"),
        len(keys) - len(shown),
        tuple(shown),
        names,
        values,
        most_points,
    )


def by_model(points: pl.DataFrame) -> tuple[dict[tuple[str, str], pl.DataFrame], tuple[str, ...]]:
    """The points of each model and slice, as many as have a panel each, and a note on the others."""
    keys = points.select("model", "slice").unique(maintain_order=True).rows()
    shown = {(model, text): points.filter(model=model, slice=text) for model, text in keys[:MOST_SERIES]}
    return shown, omission(len(keys) - len(shown), "model", "curves")


def model_names(keys: Iterable[tuple[str, str]]) -> list[str]:
    """Names of models, with their slices where these are not all rows."""
    models, texts = zip(*keys, strict=True) if (keys := list(keys)) else ((), ())
    return [
        short(model, among=models) + ("" if text == "all" else f", {short(text, among=texts)}")
        for model, text in keys
    ]


def every_point(series: Series, points: pl.DataFrame) -> pl.DataFrame:
    """The points of these series in short columns, before they were thinned."""
    return series.rows(points).select("x", "y", "s", pl.col("threshold").alias("h"))


def _labels_of_keys(keys: Sequence[Keys], labels: Sequence[str]) -> pl.DataFrame:
    rows = [(*key, label) for key, label in zip(keys, labels, strict=True)]
    return pl.DataFrame(rows, schema=dict.fromkeys([*KEYS, "s"], pl.String), orient="row")


def _largest(selection: Selection, keys: list[Keys], most: int) -> list[Keys]:
    """As many curves as there is room for, in their order: of the largest slices, and there of the best models."""
    if len(keys) <= most:
        return keys
    rows = selection.rows(selection.summary.metrics).group_by("model", "slice").agg(pl.col("n").max())
    sizes = {(model, text): n or 0 for model, text, n in rows.rows()}
    ranks = {model: rank for rank, model in enumerate(ranked_models(selection.summary))}
    largest = sorted(keys, key=lambda key: (-sizes.get(key[:2], 0), ranks.get(key[0], 0)))[:most]
    return [key for key in keys if key in set(largest)]


def _thin_points(points: pl.DataFrame, most: int, *, by_threshold: bool) -> pl.DataFrame:
    """As many points as an eye can tell apart."""
    if points.height <= most:
        return points
    x, y, threshold = (points[name].to_numpy() for name in ("x", "y", "threshold"))
    return points[thin(x, y, most, threshold=threshold if by_threshold else None)]


def _names(keys: Sequence[Keys]) -> tuple[str, ...]:
    """Distinguishing names of series, numbered where cut texts are the same."""
    vary = [len({key[part] for key in keys}) > 1 for part in range(3)]
    among = [[str(key[part]) for key in keys] for part in range(3)]
    return _distinct(
        [
            ", ".join(_name(key[part], among[part]) for part in range(3) if vary[part] and key[part])
            for key in keys
        ]
    )


def _labels(names: Sequence[str], values: Sequence[str]) -> tuple[str, ...]:
    """Distinct labels of series: their names, and their values where they have one."""
    return _distinct([f"{name}  {value}" for name, value in zip(names, values, strict=True)])


def _distinct(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(text.strip() for text in number_duplicates([text.strip() for text in texts]))


def _name(text: object, among: Iterable[str] = ()) -> str:
    return in_line(short(str(text), among=among))


def _common(keys: Sequence[Keys]) -> str:
    parts = [{key[part] for key in keys} for part in range(3)]
    common = [_name(next(iter(part))) for part in parts if len(part) == 1 and part not in ({None}, {"all"})]
    return ", ".join(common)


def estimate_of(selection: Selection, key: Keys, metric: str | None) -> str:
    """The value of a metric of a series, with its interval; empty where it was not asked for."""
    model, text, label = key
    rows = selection.summary.metrics.filter(
        pl.col("metric").is_in([metric or "", f"{metric}(average=none)"]),
        pl.col("model") == model,
        pl.col("slice") == text,
        pl.col("slice_set") == (selection.slice_set or "overall"),
        pl.col("class").eq_missing(pl.lit(label, dtype=pl.String)),
    )
    return "" if rows.is_empty() else str(row_estimate(rows.row(0, named=True)))
