"""A first suite for a table that nobody has described yet: YAML text, with the reason of each guess beside it."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plmetrics.core.errors import Problem
from plmetrics.core.names import RESERVED_SLICE_SETS
from plmetrics.suite.guesses import Undecided, choose_positive, choose_unit, has_slices, short, span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from plmetrics.suite.guesses import Facts, Roles
    from plmetrics.suite.shapes import Shape

_MOST_SETS = 5
_AGES = (25, 40, 65)
_SPECIAL = frozenset(["true", "false", "null", "yes", "no", "on", "off", "y", "n"])
_PLAIN = re.compile(r"(?:\.{0,2}/)*[A-Za-z_][A-Za-z0-9_]*(?:[./=-][A-Za-z0-9_*]+)*")
_COLUMN = 34
_BINARY = ("prevalence", "roc_auc", "average_precision", "ks")
_AT_THRESHOLD = ("accuracy", "precision", "recall", "f1", "mcc")
_PROBABILITY = ("log_loss", "brier", "ece")
_GATES = {"binary": "roc_auc, at_least: 0.7", "regression": "r2, at_least: 0.5"}
_REGRESSION = ("mae", "rmse", "mean_error", "r2")
_HEAD = (
    "# A first suite, guessed from the table: read each line before you rely on it.",
    "# plmetrics explain FILE shows what a run would do; plmetrics run FILE does it.",
)
_UNCERTAINTY = [
    "uncertainty:                        # bootstrap intervals",
    "  replicates: 1000",
    "  seed: 7",
]


@dataclass(frozen=True, slots=True)
class Table:
    """Where the table is, and what it holds: `facts` of the chosen columns from all rows.

    `shape` is that of a task whose label and scores do not tell it. Without a path, its place stays open.
    """

    path: str
    name: str
    roles: Roles
    facts: Mapping[str, Facts]
    shape: Shape | None = None

    @property
    def label(self) -> Facts:
        """The label's column."""
        return self.facts[self.roles.label]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.label.rows

    @property
    def task(self) -> str:
        """The task that fits the label.

        Raises:
            Undecided: none that is there.
        """
        if self.shape is not None:
            return self.shape.task
        if self.label.two_valued:
            return "binary"
        if self.label.numeric and self.label.low is not None:
            return "regression"
        message = f"column '{self.label.name}' holds more than two labels, which are no numbers"
        raise Undecided(
            Problem(message, hint="a label has two values, or is a number; choose another with --label")
        )

    @property
    def probabilities(self) -> bool:
        """Whether all scores lie in [0, 1]."""
        return all(self.facts[name].low >= 0 and self.facts[name].high <= 1 for name in self.roles.scores)


def starter_text(table: Table, head: Sequence[str] = _HEAD, metrics: Sequence[str] | None = None) -> str:
    """The suite, as the text of a YAML file; `metrics` are the lines of that section, if they are chosen."""
    for name in table.roles.scores:
        held = table.facts[name]
        if not held.numeric or held.low is None:
            message = f"column '{name}' is of type {held.dtype}, but scores are numbers"
            raise Undecided(Problem(message, hint="choose another column with --score"))
    sections = [[*head, *_task(table)], _data(table), _columns(table), _models(table)]
    sections.append(_metrics(table) if metrics is None else list(metrics))
    sections += [_slices(table), _UNCERTAINTY, _compare(table), _gates(table, metrics), _curves(table)]
    return "\n".join("\n".join(section) + "\n" for section in sections if section)


def quoted(value: Any) -> str:
    """A value as YAML reads it back, also inside [ ] and { }.

    >>> quoted("region"), quoted("yes"), quoted("a, b"), quoted(1.0)
    ('region', '"yes"', '"a, b"', '1.0')
    """
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _SPECIAL:
        return value
    return json.dumps(value, ensure_ascii=False)


def plain_name(text: str, other: str) -> str:
    """A text as the name of a suite, which names a folder.

    >>> plain_name("scores/day=1.parquet", "evaluation")
    'scores-day-1.parquet'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:80] or other


def relative_path(data: str, folder: Path) -> str:
    """A path, folder or glob, seen from the folder of a suite."""
    place = Path.cwd() / Path(data).expanduser()
    return Path(os.path.relpath(place, folder)).as_posix()


def _line(text: str, reason: str = "", indent: int = 0) -> str:
    start = " " * indent + text
    return f"{start:<{_COLUMN}}  # {one_line(reason)}" if reason else start


def one_line(text: str) -> str:
    """A text for a comment: names of columns stand there, and may hold anything."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _task(table: Table) -> list[str]:
    values = "two values" if table.task == "binary" else "numbers"
    reason = f"the label holds {values}" if table.shape is None else table.shape.reason
    return [_line(f"name: {quoted(table.name)}"), _line(f"task: {table.task}", reason)]


def _data(table: Table) -> list[str]:
    lines = ["data:", _line(f"path: {quoted(table.path)}", "relative to this file", 2)]
    dirty = [table.facts[name] for name in _needed(table)]
    bad = [f"{held.nulls + held.bad:,} in {held.name}" for held in dirty if held.nulls + held.bad]
    if bad:
        lines.append(_line("missing: drop", f"there are null or bad values: {', '.join(bad)}", 2))
    return lines


def _needed(table: Table) -> list[str]:
    roles = table.roles
    return [roles.label, *roles.scores, *([roles.weight] if roles.weight else [])]


def _columns(table: Table) -> list[str]:
    roles, label = table.roles, table.label
    reason = roles.reasons.get("label", "as you said")
    lines = ["columns:", _line(f"label: {quoted(label.name)}", f"{reason}; {span(label)}", 2)]
    if roles.weight is not None:
        weight = table.facts[roles.weight]
        lines.append(_line(f"weight: {quoted(weight.name)}", f"by its name; {span(weight)}", 2))
    unit = choose_unit(roles.units, table.facts)
    if table.task == "ranking":
        unit = None
    if unit is not None:
        others = [name for name in roles.units if name != unit]
        also = f"; or {', '.join(others)}" if others else ""
        reason = f"{table.facts[unit].distinct:,} or so: rows of one are resampled together{also}"
        lines.append(_line(f"unit: {quoted(unit)}", reason, 2))
    elif table.task != "ranking":
        lines.append(_line("# unit: customer_id", "if rows of one customer, day or store go together", 2))
    if table.shape is not None and table.shape.query is not None:
        lines.append(_line(f"query: {quoted(table.shape.query)}", "what is ranked together", 2))
    if table.shape is not None and table.shape.treatment is not None:
        lines.append(_line(f"treatment: {quoted(table.shape.treatment)}", "treated or not", 2))
    positive = choose_positive(label) if table.task == "binary" else None
    if positive is not None:
        other = label.low if positive == label.high else label.high
        lines.append(
            _line(
                f"positive: {quoted(positive)}",
                f"the other label is {short(other)}: turn it round if need be",
            )
        )
    return lines


def _models(table: Table) -> list[str]:
    reason = table.roles.reasons.get("scores", "as you said")
    lines = [_line("models:", reason)]
    if table.shape is not None and table.shape.parts:
        return [*lines, _parts(table.shape)]
    for name in table.roles.scores:
        named = quoted(_label(name))
        lines.append(_line(f"{named}: {quoted(name)}", span(table.facts[name]), 2))
    return lines


def _parts(shape: Shape) -> str:
    """The one model whose prediction has a column for each class or level."""
    kind = {"multiclass": "proba", "quantile": "quantiles"}[shape.task]
    parts = [(part.partition("|")[2], column) for part, column in shape.parts.items()]
    written = ", ".join(
        f"{quoted(which) if kind == 'proba' else which}: {quoted(column)}" for which, column in parts
    )
    return f"  model: {{{kind}: {{{written}}}}}"


def _metrics(table: Table) -> list[str]:
    if table.task == "regression":
        lines = ["metrics:", *(f"  - {name}" for name in _REGRESSION)]
        return [*lines, "  # plmetrics metrics --task regression lists them all"]
    if table.probabilities:
        lines = ["metrics:", *(f"  - {name}" for name in _BINARY)]
        lines += [_line(f"- {_AT_THRESHOLD[0]}", "at threshold 0.5: precision(threshold=0.3) for another", 2)]
        lines += [f"  - {name}" for name in _AT_THRESHOLD[1:]]
        lines += [_line(f"- {_PROBABILITY[0]}", "this and those below: all scores are in [0, 1]", 2)]
        lines += [f"  - {name}" for name in _PROBABILITY[1:]]
    else:
        lines = [_line("metrics:", "scores are not all in [0, 1]: nothing that needs probabilities")]
        lines += [f"  - {name}" for name in _BINARY]
        lines.append(_line("# - precision(threshold=0)", "choose a threshold that fits the scores", 2))
    return [*lines, "  # plmetrics metrics --task binary lists them all"]


def _slices(table: Table) -> list[str]:
    taken = table.shape.taken if table.shape is not None else frozenset()
    fit = [n for n in table.roles.slices if has_slices(table.facts[n]) and n not in taken]
    ages = {name: _age_bins(table.facts[name]) for name in table.roles.ages}
    lines = []
    used: set[str] = set()
    for name in fit[:_MOST_SETS]:
        reason = f"{table.facts[name].distinct} values"
        lines.append(_line(f"{quoted(_set_name(name, used))}: {quoted(name)}", reason, 2))
    for name, bins in ages.items():
        if bins:
            text = f"{quoted(_set_name(name, used))}: {{column: {quoted(name)}, bins: {bins}}}"
            lines.append(_line(text, span(table.facts[name]), 2))
    if not lines:
        return []
    rest = f"  # also possible: {one_line(', '.join(fit[_MOST_SETS:]))}"
    least = 100 if table.rows >= 2000 else 20
    reason = "slices with fewer rows are listed without values"
    return ["slices:", *lines, *([rest] if fit[_MOST_SETS:] else []), _line(f"min_rows: {least}", reason)]


def _age_bins(held: Facts) -> list[int]:
    return [edge for edge in _AGES if held.low is not None and held.low < edge <= held.high]


def _compare(table: Table) -> list[str]:
    if len(table.roles.scores) < 2 or (table.shape is not None and table.shape.parts):
        return []
    baseline = quoted(_label(table.roles.scores[0]))
    return ["compare:", _line(f"baseline: {baseline}", "the first model; the others are compared with it", 2)]


def _gates(table: Table, metrics: Sequence[str] | None) -> list[str]:
    """An example that may be uncommented: its metric must be among those of the suite."""
    rule = _GATES.get(table.task)
    named = "" if rule is None else rule.partition(",")[0]
    if rule is None or (
        metrics is not None and not any(line.split()[:2] == ["-", named] for line in metrics)
    ):
        return []
    return [
        _line("# gates:", "a run fails, with exit code 3, where one does not hold"),
        f"#   - {{metric: {rule}, using: interval}}",
    ]


def _curves(table: Table) -> list[str]:
    if table.task != "binary":
        return []
    return ["curves: [roc, pr, reliability]" if table.probabilities else "curves: [roc, pr]"]


def _label(name: str) -> str:
    """A model's name: its column, without what a name may not hold."""
    return re.sub(r"[\x00-\x1f/\\|]+", "_", name).strip() or "model"


def _set_name(name: str, used: set[str]) -> str:
    base = _label(name)
    while base in RESERVED_SLICE_SETS or base in used:
        base += "_"
    used.add(base)
    return base
