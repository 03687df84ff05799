"""Table with its roles, and their sections of a suite: data, columns and models."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from plmetrics.core.errors import Problem
from plmetrics.core.names import is_address, printable
from plmetrics.features.advice.column_facts import ColumnFacts, short_text
from plmetrics.features.advice.column_roles import choose_positive, choose_unit
from plmetrics.features.advice.label_columns import shared_prefix
from plmetrics.features.advice.table_roles import AmbiguousRoles, Roles

if TYPE_CHECKING:
    from plmetrics.features.advice.column_roles import Facts


_FEWEST_DATES = 10
_REPEATS = 0.9
_SPECIAL = frozenset(["true", "false", "null", "yes", "no", "on", "off", "y", "n"])
_PLAIN = re.compile(r"(?:\.{0,2}/)*[A-Za-z_][A-Za-z0-9_]*(?:[./=-][A-Za-z0-9_*]+)*")
REASON_COLUMN = 34
"""Where reasons begin."""


@dataclass(frozen=True, slots=True)
class TableDescription:
    """A table and its content: `facts` of the chosen columns from all rows."""

    path: str
    name: str
    roles: Roles
    facts: Facts
    names: Sequence[str] = ()

    @property
    def label(self) -> ColumnFacts:
        """The label's column."""
        return self.facts[self.roles.label]

    @property
    def task(self) -> str:
        """Task for the label.

        Raises:
            AmbiguousRoles: none that is there.
        """
        if self.roles.task is not None:
            return self.roles.task
        if self.label.has_two_values:
            return "binary"
        if self.label.numeric and self.label.low is not None:
            return "regression"
        message = f"column '{self.label.name}' holds more than two labels, which are no numbers"
        hint = "a label has two values, or is a number; choose another with --label, or say --task multiclass"
        raise AmbiguousRoles(Problem(message, hint=hint))

    @property
    def positive(self) -> Any:
        """Positive label; None for an obvious one."""
        if self.task != "binary" or self.roles.where is not None:
            return None
        return choose_positive(self.label, self.roles.positive)

    @property
    def models(self) -> Mapping[str, Mapping[str, str]]:
        """The columns of each model's prediction by part."""
        models: dict[str, Mapping[str, str]] = {}
        for column in self.roles.scores:
            models[model_name(column, models)] = {"score": column}
        return self.roles.models or models

    @property
    def probabilities(self) -> bool:
        """Whether all predictions are numbers in [0, 1]."""
        columns = [self.facts[name] for name in self.roles.scores]
        return all(column.numeric and column.low >= 0 and column.high <= 1 for column in columns)

    @property
    def unit(self) -> str | None:
        """Column of the resampling units: a repeated key, else the date of forecasts."""
        unit = choose_unit(self.roles.units, self.facts)
        if unit is not None or self.task not in {"regression", "quantile"}:
            return unit
        rows = self.label.rows / (len(self.roles.long.levels) if self.roles.long else 1)
        dates = [self.facts[name] for name in self.roles.dates]
        fit = [day for day in dates if _FEWEST_DATES <= day.distinct < _REPEATS * rows and not day.nulls]
        return max(fit, key=lambda day: day.distinct).name if fit else None


def task_lines(table: TableDescription) -> Iterator[str]:
    """The name of a suite and its task."""
    yield line(f"name: {yaml_scalar(table.name)}")
    values = "two values" if table.task == "binary" else "numbers"
    yield line(f"task: {table.task}", table.roles.reasons.get("task", f"the label holds {values}"))


def data_lines(table: TableDescription) -> Iterator[str]:
    """The section `data`."""
    roles = table.roles
    yield "data:"
    is_fixed = is_address(table.path) or table.path.startswith("/")
    yield line(f"path: {yaml_scalar(table.path)}", "" if is_fixed else "relative to this file", 2)
    if roles.where is not None:
        yield line(f"where: {yaml_scalar(roles.where)}", "the labels of two classes", 2)
    if roles.long is not None:
        yield line("long:", "a row per quantile becomes a row per forecast", 2)
        yield line(f"by: {yaml_list(roles.long.by)}", "what tells forecasts apart", 4)
        yield line(f"level: {yaml_scalar(roles.long.level)}", "", 4)
        yield line(f"value: {yaml_scalar(roles.long.value)}", "", 4)
    outcomes = (
        ()
        if roles.arms is None
        else (roles.arms.column, *roles.arms.outcomes, *roles.arms.covariates.values())
    )
    names = dict.fromkeys((roles.label, *roles.labels.values(), *roles.scores, roles.weight, *outcomes))
    needed = [table.facts[name] for name in names if name is not None]
    bad = [
        f"{column.nulls + column.bad:,} in {column.name}" for column in needed if column.nulls + column.bad
    ]
    if bad:
        yield line("missing: drop", f"there are null or bad values: {', '.join(bad)}", 2)


def column_lines(table: TableDescription) -> Iterator[str]:
    """The section `columns`, and the positive label."""
    roles, facts = table.roles, table.facts
    yield "columns:" if roles.arms is None or table.unit is not None else "# columns:"
    if roles.arms is None:
        yield _label_line(table)
    if roles.weight is not None:
        yield line(f"weight: {yaml_scalar(roles.weight)}", f"by its name; {facts[roles.weight].span}", 2)
    if table.task != "ranking":
        yield _unit_line(table)
    if roles.query is not None:
        yield line(f"query: {yaml_scalar(roles.query)}", "what is ranked together", 2)
    if roles.treatment is not None and roles.arms is None:
        yield line(f"treatment: {yaml_scalar(roles.treatment)}", "treated or not", 2)
    if roles.folds and table.task in {"binary", "regression", "multiclass"}:
        text = f"fold: {yaml_scalar(roles.folds[0])}"
        yield line(f"# {text}", "a value in each fold, if rows were predicted without theirs", 2)
    positive, label = table.positive, table.label
    if positive is not None:
        other = short_text(label.low if positive == label.high else label.high)
        yield line(
            f"positive: {yaml_scalar(positive)}", f"the other label is {other}: turn it round if need be"
        )


def _label_line(table: TableDescription) -> str:
    roles, reason = table.roles, table.roles.reasons.get("label", "as you said")
    if not roles.labels:
        return line(f"label: {yaml_scalar(table.label.name)}", f"{reason}; {table.label.span}", 2)
    prefix = shared_prefix(roles.labels, table.names)
    if prefix is not None:
        classes = ", ".join(roles.labels)
        return line(f"label: {yaml_scalar(prefix)}", f"what the columns of {classes} begin with", 2)
    pairs = ", ".join(f"{yaml_scalar(name)}: {yaml_scalar(column)}" for name, column in roles.labels.items())
    return line(f"label: {{{pairs}}}", reason, 2)


def _unit_line(table: TableDescription) -> str:
    unit = table.unit
    if unit is None:
        return line("# unit: customer_id", "if rows of one customer, day or store go together", 2)
    others = ", ".join(name for name in table.roles.units if name != unit)
    reason = f"{table.facts[unit].distinct:,} or so: rows of one are resampled together"
    return line(f"unit: {yaml_scalar(unit)}", f"{reason}; or {others}" if others else reason, 2)


def model_lines(table: TableDescription) -> Iterator[str]:
    """Section `models`, or that of an experiment, without any."""
    roles = table.roles
    if roles.arms is not None:
        yield from _experiment_lines(table)
        return
    yield line("models:", roles.reasons.get("scores", "as you said"))
    for name, parts in table.models.items():
        if roles.long is not None:
            prefix = f"{roles.long.value}_"
            levels = roles.long.levels
            words = f"{len(levels)} columns, from {levels[0]:g} to {levels[-1]:g}"
            yield line(f"{yaml_scalar(name)}: {{quantiles: {yaml_scalar(prefix)}}}", words, 2)
        elif [*parts] == ["score"]:
            yield line(
                f"{yaml_scalar(name)}: {yaml_scalar(parts['score'])}", table.facts[parts["score"]].span, 2
            )
        else:
            yield f"  {yaml_scalar(model_name(name))}: {_parts(parts)}"
    if table.task == "binary" and not roles.models and not table.probabilities:
        yield "  # scores are no probabilities: {margin: COLUMN} and the section calibrate make them so"


def _parts(parts: Mapping[str, str]) -> str:
    """Model with a class as its prediction, or with a column for each class or level."""
    if "prediction" in parts:
        return f"{{prediction: {yaml_scalar(parts['prediction'])}}}"
    kind = "proba" if next(iter(parts)).startswith("proba|") else "quantiles"
    entries = []
    for part, column in parts.items():
        which = part.partition("|")[2]
        entries.append(f"{yaml_scalar(which) if kind == 'proba' else which}: {yaml_scalar(column)}")
    return f"{{{kind}: {{{', '.join(entries)}}}}}"


def _experiment_lines(table: TableDescription) -> Iterator[str]:
    arms = table.roles.arms
    if arms is None:
        return
    yield "experiment:"
    yield line(f"arm: {yaml_scalar(arms.column)}", f"{table.facts[arms.column].distinct} arms", 2)
    yield line(f"control: {yaml_scalar(arms.control)}", "the others are compared with it", 2)
    yield line(f"outcomes: {yaml_list(arms.outcomes)}", "by their names, or all numbers", 2)
    if arms.covariates:
        pairs = ", ".join(
            f"{yaml_scalar(name)}: {yaml_scalar(before)}" for name, before in arms.covariates.items()
        )
        yield line(f"covariates: {{{pairs}}}", "known before: means are adjusted by them (CUPED)", 2)
    yield line(f"# mde: {{{yaml_scalar(arms.outcomes[0])}: 0.01}}", "the effect worth finding: for power", 2)
    yield line("# sequential: true", "if results are read before the planned end", 2)
    yield line("# gates:", "a run fails, with exit code 3, where one does not hold", 2)
    yield "  #   - {measure: sample_ratio, at_least: 0.001}"
    yield f"  #   - {{outcome: {yaml_scalar(arms.outcomes[0])}, at_least: 0}}"


def days_between(column: ColumnFacts) -> int | None:
    """The days from the first to the last date of a column."""
    try:
        first, last = (date.fromisoformat(str(text)[:10]) for text in (column.low, column.high))
    except ValueError:
        return None
    return (last - first).days


def yaml_scalar(value: Any) -> str:
    """A value as YAML reads it back, also inside [ ] and { }.

    >>> yaml_scalar("region"), yaml_scalar("yes"), yaml_scalar("a, b"), yaml_scalar(1.0)
    ('region', '"yes"', '"a, b"', '1.0')
    """
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _SPECIAL:
        return value
    return printable(json.dumps(value, ensure_ascii=False))


def yaml_list(values: Any) -> str:
    """A list in one line."""
    return f"[{', '.join(map(yaml_scalar, values))}]"


def line(text: str, reason: str = "", indent: int = 0, width: int = REASON_COLUMN) -> str:
    """A line with its reason as a comment."""
    start = " " * indent + text
    return f"{start:<{width}}  # {printable(reason)}" if reason else start


def model_name(column: str, others: Collection[str] = ()) -> str:
    """Name of a model or slice set: that of its column, without invalid characters, and unlike others."""
    name = re.sub(r"[\x00-\x1f/\\|]+", "_", column).strip() or "model"
    while name in others:
        name += "_"
    return name
