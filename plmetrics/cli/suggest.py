"""`plmetrics suggest`: suitable metrics of a table, and misleading ones."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from plmetrics.cli.options import Debug, LabelColumn, ScoreColumns  # noqa: TC001 (typer reads them)
from plmetrics.cli.terminal.console import write_result
from plmetrics.cli.terminal.guard import UsageError, guard
from plmetrics.cli.terminal.progress import Progress
from plmetrics.core.errors import Problem

if TYPE_CHECKING:
    from plmetrics.features.advice.suggestion import Suggestion


def suggest(
    data: Annotated[
        str | None, Argument(metavar="DATA", help="A file, folder or glob of predictions.")
    ] = None,
    task: Annotated[
        str | None, Option(metavar="TASK", help="Task, if it cannot be guessed: ranking, ...")
    ] = None,
    label: LabelColumn = None,
    score: ScoreColumns = None,
    query: Annotated[
        str | None, Option(metavar="COLUMN", help="The column of what is ranked together (ranking).")
    ] = None,
    treatment: Annotated[
        str | None, Option(metavar="COLUMN", help="The column of the arm (uplift, experiment).")
    ] = None,
    goal: Annotated[
        list[str] | None,
        Option(metavar="GOAL", help="Goal of the evaluation; may be given several times; `list` shows all."),
    ] = None,
    cost_fp: Annotated[float | None, Option(metavar="COST", help="Cost of a false positive.")] = None,
    cost_fn: Annotated[float | None, Option(metavar="COST", help="Cost of a false negative.")] = None,
    ask: Annotated[bool, Option("--ask", help="Ask for what is not given; questions go to stderr.")] = False,
    form: Annotated[
        Literal["yaml", "json"],
        Option("--format", help="yaml: a suite with reasons; json: the advice as data."),
    ] = "yaml",
    debug: Debug = False,
) -> None:
    """Suggest metrics for a table, with reasons.

    Prints a suite that runs as it is: each metric with the reason why, and which ones mislead on this table. Task,
    label, scores and slices are guessed from names, types and values; paths are as seen from here.
    """
    with guard(debug=debug, json=form == "json"):
        if goal and "list" in goal:
            from plmetrics.report.catalogue import goals_json, goals_text

            write_result(goals_json() if form == "json" else goals_text())
            return
        if data is None:
            raise UsageError(Problem("DATA is missing", hint="name a file, folder or glob of predictions"))
        from plmetrics.features.advice import suggestion
        from plmetrics.features.advice.dialogue import Answers
        from plmetrics.features.advice.table_roles import Wishes

        wishes = Wishes(task=task, label=label, scores=tuple(score or ()), query=query, treatment=treatment)
        answers = Answers(wishes, tuple(goal or ()), cost_fp, cost_fn)
        if ask:
            from plmetrics.cli.terminal.prompts import TerminalPrompt
            from plmetrics.features.advice import dialogue

            answers = dialogue.ask(suggestion.TableSample.of(data), answers, TerminalPrompt())
        with Progress(sys.stderr) as progress:
            progress("look at the table")
            proposal = suggestion.suggest(data, **answers.arguments)
        write_result(proposal.text if form == "yaml" else _json(proposal))


def _json(proposal: Suggestion) -> str:
    from plmetrics.report.export import indented_json

    content = {
        "task": proposal.task,
        "note": proposal.note,
        "advice": proposal.advice.to_dicts(),
        "suite": proposal.text,
    }
    return indented_json(content)
