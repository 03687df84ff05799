"""A suite for a table as YAML text, with the reason of each guess beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plmetrics.core.names import RESERVED_SLICE_SETS, printable
from plmetrics.features.advice.column_roles import has_slices
from plmetrics.features.advice.table_description import (
    REASON_COLUMN,
    column_lines,
    data_lines,
    days_between,
    line,
    model_lines,
    model_name,
    task_lines,
    yaml_list,
    yaml_scalar,
)

if TYPE_CHECKING:
    from plmetrics.features.advice.column_facts import ColumnFacts
    from plmetrics.features.advice.table_description import TableDescription

_MOST_SETS = 5
_AGES = (25, 40, 65)
_PERIODS = (("1d", 1, 21), ("1w", 7, 120), ("1mo", 30, 1100), ("1y", 365, 15000))
_CURVES = {"binary": ("roc", "pr"), "multiclass": ("confusion",), "uplift": ("qini",)}
_UNCERTAINTY = [
    "uncertainty:                        # bootstrap intervals",
    "  replicates: 1000",
    "  seed: 7",
]


@dataclass(frozen=True, slots=True)
class MetricsText:
    """Section `metrics`: texts with reasons, from the column `width` on, then `comments`.

    `gates` are examples for these metrics, with reasons, and `curves` those that go with them.
    """

    chosen: Sequence[tuple[str, str]]
    width: int = REASON_COLUMN
    title: str = ""
    comments: Sequence[str] = ()
    gates: Sequence[tuple[str, str]] = ()
    curves: Sequence[str] = ()

    def lines(self, task: str) -> Iterator[str]:
        """The section as lines."""
        if not self.chosen:
            return
        yield line("metrics:", self.title)
        for text, reason in self.chosen:
            if reason and len(text) + 4 > self.width:
                yield from (f"  # {reason}:", f"  - {text}")
            else:
                yield line(f"- {text}", reason, 2, self.width)
        yield from self.comments
        yield f"  # plmetrics metrics --task {task} lists them all"


def suite_text(table: TableDescription, head: Sequence[str], metrics: MetricsText) -> str:
    """Suite as the text of a YAML file, after comments."""
    notes = [f"# {note}" for note in table.roles.notes]
    sections = [
        [*map(printable, (*head, *notes)), *task_lines(table)],
        data_lines(table),
        column_lines(table),
        model_lines(table),
        metrics.lines(table.task),
        _slices(table),
        [] if table.roles.arms is not None else _UNCERTAINTY,
        _compare(table),
        _gates(metrics),
        _curves(table, metrics),
    ]
    return "\n".join("\n".join(lines) + "\n" for section in sections if (lines := list(section)))


def _slices(table: TableDescription) -> Iterator[str]:
    roles, facts = table.roles, table.facts
    occupied = {*roles.scores, *roles.labels.values(), roles.query, roles.treatment, table.unit}
    fit = [name for name in roles.slices if has_slices(facts[name]) and name not in occupied]
    ages = {name: bins for name in roles.ages if (bins := _age_bins(facts[name]))}
    periods = {name: every for name in roles.dates[:1] if (every := _period(facts[name]))}
    if table.task == "ranking":
        periods = {}
    if not fit and not ages and not periods:
        return
    yield "slices:"
    names: set[str] = set()
    for name in fit[:_MOST_SETS]:
        yield line(f"{_set_name(name, names)}: {yaml_scalar(name)}", f"{facts[name].distinct} values", 2)
    for name, bins in ages.items():
        text = f"{_set_name(name, names)}: {{column: {yaml_scalar(name)}, bins: {bins}}}"
        yield line(text, facts[name].span, 2)
    for name, every in periods.items():
        text = f"{_set_name(name, names)}: {{column: {yaml_scalar(name)}, every: {every}}}"
        yield line(text, facts[name].span, 2)
    if fit[_MOST_SETS:]:
        yield f"  # also possible: {printable(', '.join(fit[_MOST_SETS:]))}"
    least = 100 if table.label.rows >= 2000 else 20
    yield line(f"min_rows: {least}", "slices with fewer rows are listed without values")


def _age_bins(age: ColumnFacts) -> list[int]:
    return [edge for edge in _AGES if age.low is not None and age.low < edge <= age.high]


def _period(day: ColumnFacts) -> str | None:
    """Calendar period with a few dozen slices at most of a column of dates."""
    days = days_between(day) if day.dtype.is_temporal() else None
    if not days or day.nulls:
        return None
    return next((every for every, length, most in _PERIODS if length <= days <= most), None)


def _compare(table: TableDescription) -> Iterator[str]:
    if len(table.models) > 1 and table.roles.arms is None:
        yield "compare:"
        baseline = yaml_scalar(model_name(next(iter(table.models))))
        yield line(f"baseline: {baseline}", "the first model; the others are compared with it", 2)


def _gates(metrics: MetricsText) -> Iterator[str]:
    """Examples to uncomment."""
    if metrics.gates:
        yield line("# gates:", "a run fails, with exit code 3, where one does not hold")
        width = max(len(text) for text, _ in metrics.gates) + 6
        for text, reason in metrics.gates:
            yield line(f"#   - {text}", reason, 0, max(width, REASON_COLUMN))


def _curves(table: TableDescription, metrics: MetricsText) -> Iterator[str]:
    curves = list(_CURVES.get(table.task, ()))
    if table.task == "binary":
        if any("prediction" in parts for parts in table.models.values()):
            return
        curves += ["reliability"] if table.probabilities else []
    curves += [name for name in metrics.curves if name not in curves]
    if curves:
        yield f"curves: {yaml_list(curves)}"


def _set_name(column: str, names: set[str]) -> str:
    name = model_name(column, names | RESERVED_SLICE_SETS)
    names.add(name)
    return yaml_scalar(name)
