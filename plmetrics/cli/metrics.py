"""`plmetrics metrics`: which metrics there are, and what is known of one."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from plmetrics.cli.options import Debug  # noqa: TC001 (typer reads the annotations)
from plmetrics.cli.terminal.completion import metric_names
from plmetrics.cli.terminal.console import wants_color, width, write_result
from plmetrics.cli.terminal.guard import UsageError, guard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.catalogue.metric import Metric


class Format(StrEnum):
    """How the catalogue is printed."""

    text = "text"
    json = "json"
    csv = "csv"
    markdown = "markdown"


def metrics(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Show the card of this metric.", autocompletion=metric_names),
    ] = None,
    task: Annotated[str | None, typer.Option(help="Only metrics of this task.")] = None,
    form: Annotated[
        Format, typer.Option("--format", help="text, json, csv, or markdown: the table of the documentation.")
    ] = Format.text,
    debug: Debug = False,
) -> None:
    """List the metrics, or show all that is known of one."""
    with guard(debug=debug):
        from plmetrics.catalogue import registry

        if task is not None and task not in registry.tasks():
            raise UsageError.unknown(task, registry.tasks(), "task")
        if name is None:
            chosen = registry.classes(task)
        else:
            chosen = _classes_by_name(name.partition("(")[0].strip(), registry.classes(task))
        write_result(_output(chosen, form, card=name is not None))


def _classes_by_name(name: str, classes: Sequence[type[Metric]]) -> tuple[type[Metric], ...]:
    chosen = tuple(metric for metric in classes if name in (metric.name, *metric.aliases))
    if not chosen:
        names = [candidate for metric in classes for candidate in (metric.name, *metric.aliases)]
        raise UsageError.unknown(name, names, "metric")
    return chosen


def _output(chosen: Sequence[type[Metric]], form: Format, *, card: bool) -> str:
    from plmetrics.report.catalogue import csv_text, markdown_text

    match form:
        case Format.json:
            return _json(chosen)
        case Format.csv:
            return csv_text(chosen)
        case Format.markdown:
            return markdown_text(chosen)
    return _text(chosen, card=card)


def _text(chosen: Sequence[type[Metric]], *, card: bool) -> str:
    from plmetrics.report.catalogue import card_text, list_text

    color = wants_color(sys.stdout)
    if not card:
        return list_text(chosen, width(), color=color)
    return "\n".join(card_text(metric, width(), color=color) for metric in chosen)


def _json(chosen: Sequence[type[Metric]]) -> str:
    import json

    from plmetrics.report.catalogue import describe

    return (
        json.dumps([describe(metric) for metric in chosen], indent=2, ensure_ascii=False, allow_nan=False)
        + "\n"
    )
