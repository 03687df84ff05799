"""A metric over the intervals of a suite: values with their intervals, limits and bands of gates, failures and gaps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from plmetrics.core.errors import ConfigError, DataError, Problem
from plmetrics.features.nights.change_points.history_levels import change_lines, changes_of, with_levels
from plmetrics.features.nights.charts.history_marks import HEIGHT, WIDTH, axes, draw_panel
from plmetrics.features.nights.history_selection import ALL, metric_names, select
from plmetrics.features.nights.interval_history import CURRENT, DAMAGED, MISSING, History, read_history
from plmetrics.report.charts.comparisons.gate_limits import Limit, limits_of
from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.grammar import chart_title
from plmetrics.report.charts.marks import MOST_SERIES, add_title
from plmetrics.report.charts.panels import grid, layout_of
from plmetrics.report.charts.selection import NothingToDraw, Selection
from plmetrics.report.charts.texts import in_line, short, wrap_words
from plmetrics.report.leaderboard import MERITS
from plmetrics.report.numbers import number, plural
from plmetrics.runs.reading import read_record

LAST = 60
_MOST_PANELS = 12
_MOST_METRICS = 4
_MOST_MOVES = 2
_KEYS = ("metric", "class", "slice_set", "slice")
_RINGED = "ringed: a gate failed"


@dataclass(frozen=True, slots=True)
class _Subject:
    """Subject of a panel: a metric of a class in a slice, a series a model."""

    metric: str
    of_class: str | None
    slice_set: str
    slice: str
    rows: pl.DataFrame

    def first_models(self) -> pl.DataFrame:
        """The rows of as many models as are drawn, model by model."""
        models = self.rows["model"].unique(maintain_order=True).to_list()[:MOST_SERIES]
        return pl.concat([self.rows.filter(model=model) for model in models])

    def name(self, *, by_slice: bool) -> str:
        """The name of the panel."""
        part = "" if self.of_class is None else f" [{self.of_class}]"
        return in_line(short(self.slice if by_slice else f"{self.metric}{part}", 40))


def draw(selection: Selection) -> Figure:
    """History up to the interval of a result, from the folder of the result."""
    summary = selection.summary
    if summary.folder is None or not summary.record.get("interval"):
        raise NothingToDraw(Problem("the result is of no interval in a folder of runs"))
    slices = selection.slices or (None if selection.slice_set is None else [selection.slice_set])
    models = [selection.models] if isinstance(selection.models, str) else selection.models
    until = summary.record["interval"]["key"]
    try:
        history = read_history(summary.folder.parent, last=LAST, until=until)
    except DataError as error:
        raise NothingToDraw(error.problems) from error
    return figure_of(history, selection.metric, models, slices, LAST)


def figure_of(
    history: History,
    metric: str | None = None,
    models: Sequence[str] | None = None,
    slices: Sequence[str] | None = None,
    last: int | None = None,
) -> Figure:
    """The chart of a history: the metrics with gates on all rows, or one metric, a panel a slice.

    Without a metric those with gates on values, or else the first one; without slices all rows.

    Raises:
        ConfigError: there is no such metric, model or slice, or nothing to draw.
    """
    frame = history.frame.filter(pl.col("status").is_in([CURRENT, MISSING, DAMAGED]))
    chosen = select(frame, None if metric is None else [metric], models, slices or [ALL])
    chosen = with_levels(chosen, history.calendar)
    starts = frame["start"].drop_nulls().unique().sort()
    shown = starts if last is None else starts.tail(last)
    values = chosen.filter(pl.col("model").is_not_null(), pl.col("value").is_not_null())
    if values.filter(pl.col("start") >= shown[0])["start"].n_unique() < 2:
        raise NothingToDraw(Problem("a history needs two intervals with values"))
    subjects, left_out = _subjects(history, values, by_slice=bool(slices), metric=metric)
    crowded = [subject for subject in subjects if subject.rows["model"].n_unique() > MOST_SERIES]
    notes = [left_out] if left_out else []
    notes += [f"the first {MOST_SERIES} models"] if crowded else []
    drawn = [subject.first_models().filter(pl.col("start") >= shown[0]) for subject in subjects]
    title, chart, width = _panels(history, subjects, drawn, shown, by_slice=bool(slices))
    rows = pl.concat([part.select(history.frame.columns) for part in drawn])
    places = frame.filter(pl.col("start") >= shown[0]).unique("start", maintain_order=True)
    moves = [in_line(short(line, 90)) for line in change_lines(changes_of(pl.concat(drawn)))]
    subtitle = (_span(places), _marks(drawn), *moves[-_MOST_MOVES:], *notes)
    size = (width, HEIGHT) if len(subjects) == 1 else (width, None)
    whole = add_title(chart, title, subtitle, *size)
    return Figure(whole, rows, title, _finding(title, drawn, places, moves), tuple(notes))


def _subjects(
    history: History, values: pl.DataFrame, *, by_slice: bool, metric: str | None
) -> tuple[list[_Subject], str]:
    """Panels, and in words what has none; of slices those with the worst last values are drawn, the worst first."""
    names = metric_names(values)
    judged = set(history.gates["metric"])
    gated = [name for name in names if name in judged]
    asked = names if metric is not None else (gated or names[:1])
    parts = values.filter(
        pl.col("metric").is_in(asked[:1] if by_slice else asked[:_MOST_METRICS])
    ).partition_by(_KEYS, maintain_order=True)
    subjects = [
        _Subject(**part.select(_KEYS).rename({"class": "of_class"}).row(0, named=True), rows=part)
        for part in parts
    ]
    merit = MERITS.get(_direction(history, asked[0])) if by_slice else None
    if merit is not None:
        subjects.sort(key=lambda subject: _worst_last(subject.rows, merit))
    more = len(subjects) - _MOST_PANELS
    words = f"{plural(more, 'more slice' if by_slice else 'more panel')} not drawn" if more > 0 else ""
    return subjects[:_MOST_PANELS], f"{words}: last values are better there" if words and merit else words


def _worst_last(rows: pl.DataFrame, merit: Callable[[float], float]) -> float:
    """The merit of the last value of the worst model."""
    last = rows.sort("start").group_by("model", maintain_order=True).last()["value"]
    return min(map(merit, last.to_list()), default=0.0)


def _direction(history: History, metric: str) -> str:
    """Better side of a metric of the last run; higher where that cannot be read."""
    from plmetrics.suite.reader import metric_from_text

    run = history.frame.filter(pl.col("status") == CURRENT)["run_id"][-1]
    try:
        task = read_record(history.home / run).get("suite", {}).get("task", "binary")
        return metric_from_text(task, metric).direction
    except (ConfigError, DataError):
        return "higher"


def _panels(
    history: History,
    subjects: Sequence[_Subject],
    drawn: Sequence[pl.DataFrame],
    shown: pl.Series,
    *,
    by_slice: bool,
) -> tuple[str, Any, float]:
    """The title, the chart and its width."""
    zone = "UTC" if history.calendar is None else history.calendar.timezone
    columns, side = (1, WIDTH) if len(subjects) == 1 else layout_of(len(subjects))
    height = HEIGHT if len(subjects) == 1 else side * 0.7
    charts = []
    for place, (subject, part) in enumerate(zip(subjects, drawn, strict=True)):
        limits = _limits(history.gates, subject.metric, subject.slice_set)
        # Slices share the axis of the value, so that they can be compared.
        ranged = pl.concat(drawn) if by_slice else part
        x, y = axes(ranged, shown, zone, limits, small=side < WIDTH)
        size: Any = {"width": side, "height": height}
        chart = draw_panel(part, shown, zone, x, y, limits, legend=place == 0, **size)
        if len(subjects) > 1:
            heading = chart_title(
                wrap_words(subject.name(by_slice=by_slice), side, 12), frame="group", fontSize=12, offset=6
            )
            chart = chart.properties(title=heading)
        charts.append(chart)
    title = f"{in_line(short(subjects[0].metric, 60))} by interval"
    if len({subject.metric for subject in subjects}) > 1:
        title = "Metrics by interval"
    if len(charts) == 1:
        return title, charts[0], WIDTH
    together = grid(charts, columns, int(side))
    return title, together.chart, together.width


def _span(places: pl.DataFrame) -> str:
    """First and last interval, and the number of those without a result."""
    labels = places["interval"].fill_null(places["start"].dt.strftime("%Y-%m-%d %H:%M"))
    kinds = places["status"].to_list()
    absent = [f"{kinds.count(kind)} {kind}" for kind in (MISSING, DAMAGED) if kind in kinds]
    return ", ".join([plural(places.height, "interval"), f"{labels[0]} to {labels[-1]}", *absent])


def _marks(drawn: Sequence[pl.DataFrame]) -> str:
    """Legend of the marks."""
    rows = pl.concat(drawn)
    words = []
    if rows["lower"].is_not_null().any():
        words.append("bars: intervals of the values")
    if rows["band_lower", "band_upper"].null_count().sum_horizontal().item() < 2 * rows.height:
        words.append("grey: control band of a gate")
    if rows["level_before"].is_not_null().any():
        words.append("broad: levels")
    if (rows["gate_verdict"] == "fail").any():
        words.append(_RINGED)
    return "; ".join(words)


def _finding(title: str, drawn: Sequence[pl.DataFrame], places: pl.DataFrame, moves: Sequence[str]) -> str:
    words = []
    for part in (series for panel in drawn for series in panel.partition_by("model", maintain_order=True)):
        row = part.row(-1, named=True)
        name = ", ".join(text for text in (row["metric"], row["model"], row["slice"]) if text != "all")
        low, high = (part["value"].min(), part["value"].max())
        words.append(f"{name}: {number(row['value'])} last, {number(low)} to {number(high)}")  # type: ignore[arg-type]
    failed = pl.concat(drawn).filter(gate_verdict="fail")["interval"].drop_nulls().unique(maintain_order=True)
    failures = f" Gates failed in {', '.join(failed.to_list()[:6])}." if failed.len() else ""
    moved = "".join(f" {line}." for line in moves[-4:])
    return f"{title}, {_span(places)}. {'; '.join(words[:12])}.{moved}{failures}"


def _limits(gates: pl.DataFrame, metric: str, slice_set: str) -> list[Limit]:
    of_metric = (pl.col("metric") == metric) & (pl.col("slice_set") == slice_set)
    return limits_of(gates.filter(of_metric, pl.col("scale").is_null()))
