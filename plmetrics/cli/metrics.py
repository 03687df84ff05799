"""`plmetrics metrics`: the list of metrics, and the card of one."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from plmetrics.cli.options import Debug, ReportFormat, metric_names
from plmetrics.cli.terminal.console import wants_color, width, write_result
from plmetrics.cli.terminal.guard import UsageError, guard
from plmetrics.core.errors import Problem
from plmetrics.core.names import did_you_mean

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric


def metrics(
    name: Annotated[
        str | None,
        Argument(metavar="NAME", help="Show the card of this metric.", autocompletion=metric_names),
    ] = None,
    task: Annotated[str | None, Option(help="Only metrics of this task.")] = None,
    search: Annotated[
        str | None,
        Option(
            metavar="WORD", help="Only metrics with this word in their names, here or elsewhere, or texts."
        ),
    ] = None,
    goal: Annotated[
        list[str] | None,
        Option(
            metavar="GOAL", help="Only metrics of this goal; may be given several times; `list` shows all."
        ),
    ] = None,
    form: Annotated[
        ReportFormat, Option("--format", help="text, json, csv, or markdown: the table of the documentation.")
    ] = "text",
    debug: Debug = False,
) -> None:
    """List the metrics, or show the card of one."""
    with guard(debug=debug, json=form == "json"):
        from plmetrics.catalogue import registry

        if goal and "list" in goal:
            from plmetrics.report.catalogue import goals_json, goals_text

            write_result(goals_json() if form == "json" else goals_text())
            return
        if task is not None and task not in registry.tasks():
            raise UsageError.unknown(task, registry.tasks(), "task")
        chosen = registry.classes(task)
        if goal:
            chosen = _of_goals(goal, chosen)
        if search is not None:
            chosen = _about(search, chosen)
        if name is not None:
            chosen = _classes_by_name(re.split("[(@]", name)[0].strip(), chosen)
        write_result(_output(chosen, form, card=name is not None))


def _classes_by_name(name: str, classes: Sequence[type[Metric]]) -> tuple[type[Metric], ...]:
    """The metrics of a name, of ours or of another library."""
    from plmetrics.catalogue import registry

    chosen = tuple(metric for metric in classes if name in (metric.name, *metric.aliases, *metric.presets))
    if chosen:
        return chosen
    meanings: set[tuple[str, str]] = set()
    tasks = tuple(dict.fromkeys(metric.task for metric in classes))
    for task in tasks:
        with suppress(registry.UnknownMetricError):
            meanings.add((task, registry.meaning(task, name)[0]))
    if not meanings:
        raise UsageError(Problem(f"unknown metric '{name}'", hint=_hint(name, tasks, classes)))
    return tuple(metric for metric in classes if (metric.task, metric.name) in meanings)


def _hint(name: str, tasks: Iterable[str], classes: Sequence[type[Metric]]) -> str | None:
    """Meaning of another library's metric name, else the nearest name."""
    from plmetrics.catalogue.synonyms.table import synonym

    entries = [synonym(task, name) for task in tasks]
    first = next((meaning.hint for meaning in entries if meaning is not None), None)
    names = [candidate for metric in classes for candidate in (metric.name, *metric.aliases, *metric.presets)]
    return first or did_you_mean(name, names)


def _about(word: str, classes: Sequence[type[Metric]]) -> tuple[type[Metric], ...]:
    """Metrics with a word in their names, synonyms or descriptions."""
    from plmetrics.report.catalogue import names_elsewhere

    def texts(metric: type[Metric]) -> Iterable[str]:
        words = (metric.name, *metric.aliases, *metric.presets, metric.use_when, str(metric.__doc__))
        return (*words, *(synonym.name for synonym in names_elsewhere(metric)))

    plain = _plain(word)
    chosen = tuple(metric for metric in classes if any(plain in _plain(text) for text in texts(metric)))
    if not chosen:
        tasks = dict.fromkeys(metric.task for metric in classes)
        hint = _hint(plain.strip().replace(" ", "_"), tasks, classes) or "plmetrics metrics lists all"
        raise UsageError(Problem(f"no metric has '{word}' in its names or texts", hint=hint))
    return chosen


def _plain(text: str) -> str:
    """Words in small letters with a blank before each, whatever stands between them: the beginning of one is found."""
    return re.sub(r"[\W_]+", " ", f" {text.lower()}")


def _of_goals(names: Sequence[str], classes: Sequence[type[Metric]]) -> tuple[type[Metric], ...]:
    """Metrics advised for goals."""
    from plmetrics.catalogue.advice.goals import GOALS, goal_by_name

    advised: set[tuple[str, str]] = set()
    for name in names:
        goal = goal_by_name(name)
        if goal is None:
            raise UsageError.unknown(name, [goal.name for goal in GOALS], "goal")
        advised |= {(rule.task, text.partition("(")[0]) for rule in goal.rules for text in rule.metrics}
    chosen = tuple(
        metric
        for metric in classes
        if any((metric.task, text) in advised for text in (metric.name, *metric.aliases, *metric.presets))
    )
    if not chosen:
        problem = f"no metric of this task belongs to {' or '.join(names)}"
        raise UsageError(Problem(problem, hint="--goal list shows the tasks of each"))
    return chosen


def _output(chosen: Sequence[type[Metric]], form: ReportFormat, *, card: bool) -> str:
    from plmetrics.report.catalogue import csv_text, markdown_text

    match form:
        case "json":
            return _json(chosen)
        case "csv":
            return csv_text(chosen)
        case "markdown":
            return markdown_text(chosen)
    return _text(chosen, card=card)


def _text(chosen: Sequence[type[Metric]], *, card: bool) -> str:
    from plmetrics.report.catalogue import card_text, list_text

    color = wants_color(sys.stdout)
    if not card:
        return list_text(chosen, width(), color=color)
    return "\n".join(card_text(metric, width(), color=color) for metric in chosen)


def _json(chosen: Sequence[type[Metric]]) -> str:
    from plmetrics.report.catalogue import describe
    from plmetrics.report.export import indented_json

    return indented_json([describe(metric) for metric in chosen])
