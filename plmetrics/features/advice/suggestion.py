"""Entry points of advice: a first suite for a table, and suitable metrics."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from plmetrics.catalogue import registry
from plmetrics.catalogue.advice.advice_rule import TableFacts
from plmetrics.catalogue.advice.goals import GOALS, Goal, goal_by_name, goals_of
from plmetrics.catalogue.advice.table_survey import Layout, survey
from plmetrics.core.errors import AbsentDataError, CallError, Problem
from plmetrics.core.names import did_you_mean, is_address
from plmetrics.core.redaction import mask_address
from plmetrics.core.rowsql import compile_row
from plmetrics.engine.faults import reading
from plmetrics.engine.memory.budget import machine_budget
from plmetrics.engine.memory.settings import memory_settings
from plmetrics.engine.streaming import sample
from plmetrics.features.advice.column_facts import ColumnFacts, column_facts
from plmetrics.features.advice.metric_choice import Advice, advise, gate_examples
from plmetrics.features.advice.suite_text import MetricsText, suite_text
from plmetrics.features.advice.table_description import TableDescription
from plmetrics.features.advice.table_roles import AmbiguousRoles, Roles, Wishes, list_advice
from plmetrics.features.advice.table_task import recognised_roles
from plmetrics.table.opening import open_source

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.suite import python_types
    from plmetrics.table.source import Source

    Costs = tuple[float | None, float | None]

_NO_PATH = "predictions.parquet"
_SIGNED = "${URL}"
"""The path of a table whose address is signed."""
_WIDEST = 44
_FIRST = (
    "# A first suite, guessed from the table: read each line before you rely on it.",
    "# plmetrics explain FILE shows what a run would do; plmetrics run FILE does it.",
)
_ADVISED = (
    "# A suite for this table: each metric with the reason why, and below them those to be careful with.",
    "# Read each line before you rely on it. plmetrics run FILE runs it as it is.",
)
_REGRESSION = ("mae", "rmse", "mean_error", "r2")
_BINARY = ("prevalence", "roc_auc", "average_precision", "ks")
_AT_THRESHOLD = ("precision", "recall", "f1", "mcc")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suite for a table.

    `text` is the suite as YAML, with reasons as comments. `advice` is a frame with a row per metric and rule: its
    `verdict` is `advise` or `advise_against`, `companions` are metrics beside which one that is advised against does
    no harm, `source` is the literature. `task` is that of the suite, and `note` what the table holds beyond it.
    """

    task: str
    text: str
    advice: pl.DataFrame
    note: str | None = None

    def __str__(self) -> str:
        return self.text


def starter(data: str, folder: Path, label: str | None = None, scores: Sequence[str] = ()) -> str:
    """A first suite for a table, as YAML text for a file in `folder`: guessed from names, types and values.

    Raises:
        ConfigError: the table leaves open what is the label, or a score.
        AbsentDataError: there are no rows.
        DataError: the data cannot be read.
    """
    wishes = Wishes(label=label, scores=tuple(scores))
    look = TableSample.of(data)
    table = look.table(folder, wishes)
    usual = table.task in {"binary", "regression"} and not table.roles.models
    chosen = _first_metrics(table) if usual else _plain_metrics(look, table)
    return suite_text(table, _FIRST, chosen)


def suggest(
    data: python_types.Table,
    label: str | None = None,
    scores: str | Sequence[str] = (),
    cost_fp: float | None = None,
    cost_fn: float | None = None,
    folder: str | Path | None = None,
    *,
    task: str | None = None,
    query: str | None = None,
    treatment: str | None = None,
    goal: str | Sequence[str] = (),
) -> Suggestion:
    """Suitable metrics of a table, and misleading ones, each with the reason.

    Looks at a sample of rows, and at the ends of the chosen columns in all rows.

    Args:
        data: a DataFrame, a LazyFrame, a pandas or pyarrow table, or a file, folder or glob of predictions.
        label: the column of the label, if it cannot be guessed.
        scores: the column or columns of scores, if they cannot be guessed.
        cost_fp: what a false positive costs (task binary); needs `cost_fn`.
        cost_fn: what a false negative costs, in the same unit.
        folder: where the suite will lie, for the path of its data; the working directory if not given.
        task: what is predicted, such as `binary` or `ranking`, if it cannot be guessed.
        query: the column of what is ranked together, if it cannot be guessed; makes the task a ranking.
        treatment: the column of the arm (tasks uplift and experiment), if it cannot be guessed.
        goal: what the evaluation is for, or several: `one_good_result`, `candidate_retrieval`,
            `calibrated_probabilities`, `relative_errors`, `asymmetric_costs`, or a domain: `medical`, `fraud`, `spam`,
            `search`, `credit`, `advertising`. Its metrics come first.

    Returns:
        The suggestion: `text` is a suite in YAML, `advice` a frame with a row per metric and rule.

    Raises:
        ConfigError: the table leaves open what is the label, or a score; the task does not fit; a goal does not belong
            to the task; or costs are not what they must be.
        AbsentDataError: there are no rows.
        DataError: the data cannot be read.

    >>> import polars as pl, plmetrics as plm
    >>> frame = pl.DataFrame({"y": [1] + [0] * 39, "p": [i / 100 for i in range(40)]})
    >>> advice = plm.suggest(frame, label="y", scores="p").advice
    >>> advice.filter(verdict="advise_against")["metric"].head(1).item()
    'accuracy'
    """
    costs = (cost_fp, cost_fn)
    _check(costs)
    goals = _goals((goal,) if isinstance(goal, str) else goal)
    named = (scores,) if isinstance(scores, str) else tuple(scores)
    if task is not None and task not in registry.tasks():
        raise CallError(Problem(f"unknown task '{task}'", hint=did_you_mean(task, registry.tasks())))
    wishes = Wishes(task=task, label=label, scores=named, query=query, treatment=treatment)
    look = TableSample.of(data)
    table = look.table(None if folder is None else Path(folder), wishes)
    roles, note = _available(table.roles)
    table = replace(table, roles=roles)
    if costs != (None, None) and table.task != "binary":
        msg = f"costs of errors belong to task 'binary', but this table is of task '{table.task}'"
        raise CallError(Problem(msg, hint="leave --cost-fp and --cost-fn out"))
    _check_goals(goals, table.task)
    facts = _survey(look, table, costs)
    advice = advise(facts, goals)
    words = [*([note] if note else []), *_goal_notes(goals, facts)]
    head = [
        *_ADVISED,
        *(f"# Goal {each.name}: {each.question}." for each in goals),
        *(f"# {word}" for word in words),
    ]
    text = suite_text(table, head, _advised_metrics(advice, table, goals))
    notes = " ".join((*words, *roles.notes))
    return Suggestion(table.task, text, advice.frame(), notes or None)


@dataclass(frozen=True, slots=True)
class TableSample:
    """An undescribed table: a sample of its rows, and facts of the columns in it."""

    data: object
    source: Source
    rows: pl.DataFrame
    sampled: Mapping[str, ColumnFacts]

    @classmethod
    def of(cls, data: object) -> TableSample:
        """Read a sample of rows.

        Raises:
            AbsentDataError: it has no rows.
            DataError: the data cannot be read.
        """
        source = open_source(data)
        with memory_settings(machine_budget()), reading(source):
            source.check_rows()
            rows = sample(source)
            if rows.is_empty():
                msg = "the table has no rows"
                raise AbsentDataError(msg)
            return cls(data, source, rows, column_facts(rows.lazy(), rows.columns, exact=True))

    def table(self, folder: Path | None, wishes: Wishes) -> TableDescription:
        """The table with guessed roles; all rows are read for the facts of their columns.

        Raises:
            AmbiguousRoles: the table leaves open what is the label, or a score.
        """
        with memory_settings(machine_budget()), reading(self.source):
            with list_advice(self.rows):
                roles = recognised_roles(self.rows, self.sampled, wishes)
            facts = column_facts(self.source.frame, roles.columns, exact=False)
        # An estimate may take two values for one, so it counts for no less than what the sample holds.
        least = {name: max(column.distinct, self.sampled[name].distinct) for name, column in facts.items()}
        facts = {name: replace(column, distinct=least[name]) for name, column in facts.items()}
        called = {
            column for model in roles.models.values() for column in model.values() if "prediction" in model
        }
        for name in roles.scores:
            if name not in called and (not facts[name].numeric or facts[name].low is None):
                msg = f"column '{name}' is of type {facts[name].dtype}, but scores are numbers"
                raise AmbiguousRoles(Problem(msg, hint="choose another column with --score"))
        return TableDescription(*_place(self.data, folder), roles, facts, self.rows.columns)


def _place(data: object, folder: Path | None) -> tuple[str, str]:
    """Path of data for a suite in a folder, which may not be known yet, and a name suitable for a folder."""
    if not isinstance(data, (str, Path)):
        return _NO_PATH, "evaluation"
    text = str(data)
    if is_address(text):
        shown = mask_address(text)
        path, text = (text if shown == text else _SIGNED), shown.partition("?")[0]
    else:
        given = Path(text).expanduser()
        fixed = folder is None and given.is_absolute()
        path = given.as_posix() if fixed else Path(os.path.relpath(given, folder or Path.cwd())).as_posix()
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(text.rstrip("/*")).stem)
    return path, name.strip("-.")[:80] or "evaluation"


def _first_metrics(table: TableDescription) -> MetricsText:
    def gates_of(names: Sequence[str]) -> tuple[tuple[str, str], ...]:
        return tuple(gate_examples(names, TableFacts(task=table.task)))[:1]

    if table.task == "regression":
        return MetricsText([(name, "") for name in _REGRESSION], gates=gates_of(_REGRESSION))
    ranks, gates = [(name, "") for name in _BINARY], gates_of(_BINARY)
    if not table.probabilities:
        title = "scores are not all in [0, 1]: nothing that needs probabilities"
        threshold = f"{'  # - precision(threshold=0)':<34}  # choose a threshold that fits the scores"
        return MetricsText(ranks, title=title, comments=[threshold], gates=gates)
    return MetricsText(
        [
            *ranks,
            ("accuracy", "at threshold 0.5: precision(threshold=0.3) for another"),
            *((name, "") for name in _AT_THRESHOLD),
            ("log_loss", "this and those below: all scores are in [0, 1]"),
            ("brier", ""),
            ("ece", ""),
        ],
        gates=gates,
    )


def _plain_metrics(look: TableSample, table: TableDescription) -> MetricsText:
    metrics = _advised_metrics(advise(_survey(look, table, (None, None))), table, ())
    return replace(metrics, chosen=[(text, "") for text, _ in metrics.chosen], comments=())


def _advised_metrics(advice: Advice, table: TableDescription, goals: Sequence[Goal]) -> MetricsText:
    """Metrics advised by rules, a reason behind each unless equal to the one before; then those to avoid."""
    if table.roles.arms is not None:
        return MetricsText([])
    chosen, before = [], None
    for text, reason in advice.chosen.items():
        chosen.append((text, "likewise" if reason == before else reason))
        before = reason
    cautions = [f"  # {caution}" for caution in advice.cautions()]
    comments = ["  # Be careful with:", *cautions] if cautions else []
    longest = max((len(text) + 4 for text in advice.chosen), default=0)
    curves = tuple(dict.fromkeys(curve for goal in goals for curve in goal.curves_of(table.task)))
    probable = table.probabilities and not any("prediction" in parts for parts in table.models.values())
    return MetricsText(
        chosen,
        min(longest, _WIDEST),
        comments=comments,
        gates=tuple(gate_examples([*advice.chosen], advice.facts, [*table.models])),
        curves=curves if probable else (),
    )


def _goals(names: Sequence[str]) -> tuple[Goal, ...]:
    out = []
    for name in names:
        goal = goal_by_name(name)
        if goal is None:
            known = [goal.name for goal in GOALS]
            raise CallError(Problem(f"unknown goal '{name}'", hint=did_you_mean(name, known)))
        out.append(goal)
    return tuple(dict.fromkeys(out))


def _check_goals(goals: Sequence[Goal], task: str) -> None:
    for goal in goals:
        if task not in goal.tasks:
            others = ", ".join(other.name for other in goals_of(task)) or "none"
            msg = f"goal '{goal.name}' belongs to task {' or '.join(goal.tasks)}, but this table is of task '{task}'"
            hint = f"goals of task '{task}': {others}; if the task is another one, say --task"
            raise CallError(Problem(msg, hint=hint))


def _goal_notes(goals: Sequence[Goal], facts: TableFacts) -> list[str]:
    """Facts of a table required by goals but absent."""
    notes = [
        f"Goal {goal.name} has no metric for this table: {goal.lacks}."
        for goal in goals
        if not goal.rules_of(facts)
    ]
    costly = any(goal.name == "asymmetric_costs" for goal in goals)
    if costly and facts.task == "binary" and facts.cost_fp is None:
        notes.append(
            "Say what errors cost with --cost-fp and --cost-fn: then the cost itself is among the metrics."
        )
    return notes


def _survey(look: TableSample, table: TableDescription, costs: Costs) -> TableFacts:
    """Facts of the sampled rows, and of all where these are known."""
    rows, total = look.rows, max(table.label.rows, look.rows.height)
    complete = total == rows.height
    if table.roles.where is not None:
        rows = rows.filter(compile_row(table.roles.where).expr)
        total = round(total * rows.height / max(look.rows.height, 1))
    return survey(rows, _layout(table, costs), total, complete=complete)


def _check(costs: Costs) -> None:
    present = [cost for cost in costs if cost is not None]
    if len(present) == 1:
        msg = "a cost of one error says nothing without that of the other"
        raise CallError(Problem(msg, hint="give both --cost-fp and --cost-fn"))
    if any(not isfinite(cost) or cost <= 0 for cost in present):
        msg = f"costs must be numbers above 0, not {present[0]} and {present[1]}"
        raise CallError(Problem(msg))


def _available(roles: Roles) -> tuple[Roles, str | None]:
    """Roles for an available task, and a note if the apparent task has no metrics."""
    if roles.task is None or roles.task in registry.tasks():
        return roles, None
    note = f"The table looks like one of task {roles.task} ({roles.reasons['task']}), which is not available here."
    task = "regression" if roles.task == "quantile" else None
    return replace(roles, task=task, models={}, long=None, query=None, treatment=None), note


def _layout(table: TableDescription, costs: Costs) -> Layout:
    roles = table.roles
    ends = {
        name: (column.low, column.high)
        for name, column in table.facts.items()
        if column.numeric and column.low is not None
    }
    return Layout(
        table.task,
        roles.label,
        table.models,
        table.positive,
        roles.weight,
        roles.query,
        roles.treatment if table.task == "uplift" else None,
        roles.classes,
        costs,
        ends,
        roles.labels,
    )
