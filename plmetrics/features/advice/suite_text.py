"""A suite for a table as YAML text, with the reason of each guess beside it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from plmetrics.core.errors import Problem
from plmetrics.core.names import RESERVED_SLICE_SETS, is_address
from plmetrics.features.advice.column_facts import short_text
from plmetrics.features.advice.column_roles import AmbiguousRoles, choose_positive, choose_unit, has_slices

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from plmetrics.features.advice.column_facts import ColumnFacts
    from plmetrics.features.advice.column_roles import Facts, Roles

_MOST_SETS = 5
_AGES = (25, 40, 65)
_SPECIAL = frozenset(["true", "false", "null", "yes", "no", "on", "off", "y", "n"])
_PLAIN = re.compile(r"(?:\.{0,2}/)*[A-Za-z_][A-Za-z0-9_]*(?:[./=-][A-Za-z0-9_*]+)*")
_COLUMN = 34
_GATES = {"binary": ("roc_auc", 0.7), "regression": ("r2", 0.5)}
_UNCERTAINTY = [
    "uncertainty:                        # bootstrap intervals",
    "  replicates: 1000",
    "  seed: 7",
]


@dataclass(frozen=True, slots=True)
class Table:
    """Where a table is, and what it holds: `facts` of the chosen columns from all rows."""

    path: str
    name: str
    roles: Roles
    facts: Facts

    @property
    def label(self) -> ColumnFacts:
        """The label's column."""
        return self.facts[self.roles.label]

    @property
    def task(self) -> str:
        """The task that fits the label.

        Raises:
            Undecided: none that is there.
        """
        if self.roles.task is not None:
            return self.roles.task
        if self.label.two_valued:
            return "binary"
        if self.label.numeric and self.label.low is not None:
            return "regression"
        message = f"column '{self.label.name}' holds more than two labels, which are no numbers"
        raise AmbiguousRoles(
            Problem(message, hint="a label has two values, or is a number; choose another with --label")
        )

    @property
    def positive(self) -> Any:
        """The label that counts as positive; None where that goes without saying."""
        return choose_positive(self.label) if self.task == "binary" else None

    @property
    def probabilities(self) -> bool:
        """Whether all scores lie in [0, 1]."""
        return all(self.facts[name].low >= 0 and self.facts[name].high <= 1 for name in self.roles.scores)


@dataclass(frozen=True, slots=True)
class Metrics:
    """The section `metrics`: texts with reasons, which stand from the column `width` on, then `comments`."""

    chosen: Sequence[tuple[str, str]]
    width: int = _COLUMN
    title: str = ""
    comments: Sequence[str] = ()

    def lines(self, task: str) -> Iterator[str]:
        """The section as lines."""
        yield _line("metrics:", self.title)
        for text, reason in self.chosen:
            if reason and len(text) + 4 > self.width:
                yield from (f"  # {reason}:", f"  - {text}")
            else:
                yield _line(f"- {text}", reason, 2, self.width)
        yield from self.comments
        yield f"  # plmetrics metrics --task {task} lists them all"


def suite_text(table: Table, head: Sequence[str], metrics: Metrics) -> str:
    """The suite, as the text of a YAML file that begins with comments."""
    sections = [
        [*map(one_line, head), *_task(table)],
        _data(table),
        _columns(table),
        _models(table),
        metrics.lines(table.task),
        _slices(table),
        _UNCERTAINTY,
        _compare(table),
        _gates(table, metrics),
        _curves(table),
    ]
    return "\n".join("\n".join(lines) + "\n" for section in sections if (lines := list(section)))


def yaml_scalar(value: Any) -> str:
    """A value as YAML reads it back, also inside [ ] and { }.

    >>> yaml_scalar("region"), yaml_scalar("yes"), yaml_scalar("a, b"), yaml_scalar(1.0)
    ('region', '"yes"', '"a, b"', '1.0')
    """
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _SPECIAL:
        return value
    return json.dumps(value, ensure_ascii=False)


def one_line(text: str) -> str:
    """A text for a comment: names of columns stand there, and may hold anything."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _line(text: str, reason: str = "", indent: int = 0, width: int = _COLUMN) -> str:
    start = " " * indent + text
    return f"{start:<{width}}  # {one_line(reason)}" if reason else start


def _task(table: Table) -> Iterator[str]:
    yield _line(f"name: {yaml_scalar(table.name)}")
    values = "two values" if table.task == "binary" else "numbers"
    reason = f"the label holds {values}" if table.roles.task is None else table.roles.reasons["task"]
    yield _line(f"task: {table.task}", reason)


def _data(table: Table) -> Iterator[str]:
    yield "data:"
    reason = "" if is_address(table.path) else "relative to this file"
    yield _line(f"path: {yaml_scalar(table.path)}", reason, 2)
    roles = table.roles
    needed = [table.facts[name] for name in (roles.label, *roles.scores, roles.weight) if name is not None]
    bad = [
        f"{column.nulls + column.bad:,} in {column.name}" for column in needed if column.nulls + column.bad
    ]
    if bad:
        yield _line("missing: drop", f"there are null or bad values: {', '.join(bad)}", 2)


def _columns(table: Table) -> Iterator[str]:
    roles, label = table.roles, table.label
    reason = roles.reasons.get("label", "as you said")
    yield "columns:"
    yield _line(f"label: {yaml_scalar(label.name)}", f"{reason}; {label.span}", 2)
    if roles.weight is not None:
        yield _line(
            f"weight: {yaml_scalar(roles.weight)}", f"by its name; {table.facts[roles.weight].span}", 2
        )
    if table.task != "ranking":
        yield _unit(table)
    if roles.query is not None:
        yield _line(f"query: {yaml_scalar(roles.query)}", "what is ranked together", 2)
    if roles.treatment is not None:
        yield _line(f"treatment: {yaml_scalar(roles.treatment)}", "treated or not", 2)
    positive = table.positive
    if positive is not None:
        other = short_text(label.low if positive == label.high else label.high)
        yield _line(
            f"positive: {yaml_scalar(positive)}", f"the other label is {other}: turn it round if need be"
        )


def _unit(table: Table) -> str:
    units = table.roles.units
    unit = choose_unit(units, table.facts)
    if unit is None:
        return _line("# unit: customer_id", "if rows of one customer, day or store go together", 2)
    others = ", ".join(name for name in units if name != unit)
    reason = f"{table.facts[unit].distinct:,} or so: rows of one are resampled together"
    return _line(f"unit: {yaml_scalar(unit)}", f"{reason}; or {others}" if others else reason, 2)


def _models(table: Table) -> Iterator[str]:
    yield _line("models:", table.roles.reasons.get("scores", "as you said"))
    if table.roles.parts:
        yield _parts(table)
        return
    for name in table.roles.scores:
        yield _line(f"{yaml_scalar(_name(name))}: {yaml_scalar(name)}", table.facts[name].span, 2)


def _parts(table: Table) -> str:
    """The one model whose prediction has a column for each class or level."""
    parts = [(part.partition("|")[2], yaml_scalar(column)) for part, column in table.roles.parts.items()]
    if table.task == "multiclass":
        kind, entries = "proba", [f"{yaml_scalar(which)}: {column}" for which, column in parts]
    else:
        kind, entries = "quantiles", [f"{which}: {column}" for which, column in parts]
    return f"  model: {{{kind}: {{{', '.join(entries)}}}}}"


def _slices(table: Table) -> Iterator[str]:
    roles, facts = table.roles, table.facts
    occupied = {*roles.parts.values(), roles.query, roles.treatment}
    fit = [name for name in roles.slices if has_slices(facts[name]) and name not in occupied]
    ages = {name: bins for name in roles.ages if (bins := _age_bins(facts[name]))}
    if not fit and not ages:
        return
    yield "slices:"
    names: set[str] = set()
    for name in fit[:_MOST_SETS]:
        yield _line(f"{_set_name(name, names)}: {yaml_scalar(name)}", f"{facts[name].distinct} values", 2)
    for name, bins in ages.items():
        text = f"{_set_name(name, names)}: {{column: {yaml_scalar(name)}, bins: {bins}}}"
        yield _line(text, facts[name].span, 2)
    if fit[_MOST_SETS:]:
        yield f"  # also possible: {one_line(', '.join(fit[_MOST_SETS:]))}"
    least = 100 if table.label.rows >= 2000 else 20
    yield _line(f"min_rows: {least}", "slices with fewer rows are listed without values")


def _age_bins(age: ColumnFacts) -> list[int]:
    return [edge for edge in _AGES if age.low is not None and age.low < edge <= age.high]


def _compare(table: Table) -> Iterator[str]:
    if len(table.roles.scores) > 1 and not table.roles.parts:
        yield "compare:"
        baseline = yaml_scalar(_name(table.roles.scores[0]))
        yield _line(f"baseline: {baseline}", "the first model; the others are compared with it", 2)


def _gates(table: Table, metrics: Metrics) -> Iterator[str]:
    """An example that may be uncommented: its metric must be among those of the suite."""
    name, least = _GATES.get(table.task, ("", 0.0))
    if name in (text for text, _ in metrics.chosen):
        yield _line("# gates:", "a run fails, with exit code 3, where one does not hold")
        yield f"#   - {{metric: {name}, at_least: {least}, using: interval}}"


def _curves(table: Table) -> Iterator[str]:
    if table.task == "binary":
        yield f"curves: [roc, pr{', reliability' if table.probabilities else ''}]"


def _name(column: str) -> str:
    """A model's name: its column, without what a name may not hold."""
    return re.sub(r"[\x00-\x1f/\\|]+", "_", column).strip() or "model"


def _set_name(column: str, names: set[str]) -> str:
    name = _name(column)
    while name in RESERVED_SLICE_SETS or name in names:
        name += "_"
    names.add(name)
    return yaml_scalar(name)
