"""Questions about a table for a suite, each with the guess as its default."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from plmetrics.catalogue import registry
from plmetrics.catalogue.advice.goals import goals_of
from plmetrics.core.names import name_list
from plmetrics.features.advice.table_description import TableDescription
from plmetrics.features.advice.table_roles import AmbiguousRoles, Roles, Wishes
from plmetrics.features.advice.table_task import recognised_roles

if TYPE_CHECKING:
    from plmetrics.features.advice.column_facts import ColumnFacts
    from plmetrics.features.advice.suggestion import TableSample

_MOST_COLUMNS = 30
_TASKS = {
    "binary": "yes or no, with a score or probability",
    "multiclass": "one of several classes",
    "multilabel": "several classes a row",
    "regression": "a number",
    "quantile": "a range of numbers: quantiles, or a distribution",
    "ranking": "an order of documents by query",
    "uplift": "the effect of a treatment, row by row",
    "experiment": "arms that are compared, without a model",
}


class Prompt(Protocol):
    """Prompt for answers: one of the choices, a list of them, or a number; the default is taken on Enter."""

    def say(self, text: str) -> None:
        """Show a text."""

    def choose(self, question: str, choices: Mapping[str, str], default: str | None) -> str | None:
        """One of the choices; None if there is neither answer nor default."""

    def choose_several(
        self, question: str, choices: Mapping[str, str], default: Sequence[str]
    ) -> tuple[str, ...]:
        """Some of the choices."""

    def number(self, question: str) -> float | None:
        """A number above 0, or None."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Choices by options or answers."""

    wishes: Wishes
    goals: tuple[str, ...] = ()
    cost_fp: float | None = None
    cost_fn: float | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `suggest`."""
        costs = {"cost_fp": self.cost_fp, "cost_fn": self.cost_fn}
        return {**asdict(self.wishes), "goal": self.goals, **costs}


def ask(sample: TableSample, answers: Answers, prompt: Prompt) -> Answers:
    """Ask for the task, its columns and the goal of the evaluation, as far as they are unknown."""
    columns = name_list(list(sample.sampled), _MOST_COLUMNS)
    prompt.say(f"{sample.rows.height:,} rows were looked at; columns: {columns}")
    wishes, goals = answers.wishes, answers.goals
    if wishes.task is None:
        guess = _guess(sample, wishes, prompt)
        default = None if guess is None else _task(sample, guess)
        choices = {name: _TASKS.get(name, "") for name in registry.tasks()}
        wishes = replace(wishes, task=prompt.choose("What is predicted?", choices, default))
    wishes = _plainer(sample, answers.wishes, _ask_columns(sample, wishes, prompt))
    task = wishes.task or _task(sample, recognised_roles(sample.rows, sample.sampled, wishes))
    fitting = {goal.name: goal.question for goal in goals_of(task)}
    if fitting and not goals:
        goals = prompt.choose_several("What is it for? Enter for the usual metrics.", fitting, ())
    answers = replace(answers, wishes=wishes, goals=goals)
    if task == "binary" and "asymmetric_costs" in goals and answers.cost_fp is None:
        costs = (prompt.number("What does a false positive cost?"), prompt.number("And a false negative?"))
        if None not in costs:
            return replace(answers, cost_fp=costs[0], cost_fn=costs[1])
    return answers


def _plainer(sample: TableSample, first: Wishes, last: Wishes) -> Wishes:
    """Wishes without those equal to the guesses, for reasons in the suite."""
    try:
        guess, roles = (recognised_roles(sample.rows, sample.sampled, wishes) for wishes in (first, last))
        same = _task(sample, guess) == _task(sample, roles) and replace(
            guess, reasons=roles.reasons
        ) == replace(roles, task=guess.task)
    except AmbiguousRoles:
        return last
    return first if same else last


def _ask_columns(sample: TableSample, wishes: Wishes, prompt: Prompt) -> Wishes:
    """Questions for the columns of a task, each with a guess from earlier answers."""
    task = wishes.task
    if task == "ranking" and wishes.query is None:
        query = _column(sample, wishes, prompt, "query", "Which column tells queries apart?", _is_key)
        wishes = replace(wishes, query=query)
    if task in {"uplift", "experiment"} and wishes.treatment is None:
        treatment = _column(sample, wishes, prompt, "treatment", "Which column is the arm?", _is_key)
        wishes = replace(wishes, treatment=treatment)
    if task not in {"multilabel", "experiment"} and wishes.label is None:
        label = _column(sample, wishes, prompt, "label", "Which column is the label?", _is_any)
        wishes = replace(wishes, label=label)
    roles = _guess(sample, wishes, prompt)
    plain = roles is None or not (roles.models or roles.arms or roles.long)
    if plain and not wishes.scores:
        choices = _columns(sample, lambda column: column.numeric and column.name not in wishes.columns)
        default = () if roles is None else roles.scores
        if not choices:
            return wishes
        scores = prompt.choose_several("Which columns are scores, one of each model?", choices, default)
        wishes = replace(wishes, scores=scores)
    return wishes


def _column(
    sample: TableSample,
    wishes: Wishes,
    prompt: Prompt,
    role: str,
    question: str,
    fits: Callable[[ColumnFacts], bool],
) -> str | None:
    roles = _guess(sample, wishes, prompt)
    default = None if roles is None else getattr(roles, role)
    choices = _columns(sample, lambda column: fits(column) and column.name not in wishes.columns)
    return prompt.choose(question, choices, default)


def _guess(sample: TableSample, wishes: Wishes, prompt: Prompt) -> Roles | None:
    """Guessed roles; without a guess the open question is shown."""
    try:
        return recognised_roles(sample.rows, sample.sampled, wishes)
    except AmbiguousRoles as error:
        if wishes.task is None:
            prompt.say(error.problems[0].message)
        return None


def _task(sample: TableSample, roles: Roles) -> str:
    return TableDescription("", "", roles, sample.sampled).task


def _columns(sample: TableSample, fits: Callable[[ColumnFacts], bool]) -> dict[str, str]:
    return {name: column.words for name, column in sample.sampled.items() if fits(column)}


def _is_any(column: ColumnFacts) -> bool:
    return column.distinct > 1


def _is_key(column: ColumnFacts) -> bool:
    return column.distinct > 1 and not column.dtype.is_float()
