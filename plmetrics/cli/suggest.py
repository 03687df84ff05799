"""`plmetrics suggest`: the metrics that suit a table, and those that mislead on it."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from plmetrics.cli.options import Debug  # noqa: TC001 (typer reads the annotations)
from plmetrics.cli.terminal.console import write_result
from plmetrics.cli.terminal.guard import guard
from plmetrics.cli.terminal.progress import Progress

if TYPE_CHECKING:
    from plmetrics.features.advice.suggestion import Suggestion


class Format(StrEnum):
    """How the advice is printed."""

    yaml = "yaml"
    json = "json"


def suggest(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A file, folder or glob of predictions.")],
    label: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column of the label, if it cannot be guessed.")
    ] = None,
    score: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column of scores; may be given several times."),
    ] = None,
    cost_fp: Annotated[float | None, typer.Option(metavar="COST", help="Cost of a false positive.")] = None,
    cost_fn: Annotated[float | None, typer.Option(metavar="COST", help="Cost of a false negative.")] = None,
    form: Annotated[
        Format, typer.Option("--format", help="yaml: a suite with reasons; json: the advice as data.")
    ] = Format.yaml,
    debug: Debug = False,
) -> None:
    """Suggest metrics for a table, with reasons.

    Prints a suite that runs as it is: each metric with the reason why, and which ones mislead on this table. Label,
    scores and slices are guessed as by init; paths are as seen from here.
    """
    with guard(debug=debug, json=form == "json"):
        from plmetrics.features.advice import suggestion

        with Progress(sys.stderr) as progress:
            progress("look at the table")
            proposal = suggestion.suggest(data, label, tuple(score or ()), cost_fp, cost_fn)
        write_result(proposal.text if form is Format.yaml else _json(proposal))


def _json(proposal: Suggestion) -> str:
    import json

    content = {
        "task": proposal.task,
        "note": proposal.note,
        "advice": proposal.advice.to_dicts(),
        "suite": proposal.text,
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
