"""A look at a table, and the suite that the rules of advice make of it."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plmetrics.catalogue import registry
from plmetrics.core.errors import ConfigError, DataError, Problem
from plmetrics.engine.faults import reading
from plmetrics.engine.look import facts_of_all, facts_of_sample, sample
from plmetrics.engine.survey import Layout, survey, with_ends
from plmetrics.suite.advice import advise
from plmetrics.suite.guesses import choose_positive
from plmetrics.suite.shapes import recognise
from plmetrics.suite.starter import Table, plain_name, relative_path
from plmetrics.suite.suggestion import suggestion
from plmetrics.table.source import open_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.suite.shapes import Shape
    from plmetrics.suite.suggestion import Suggestion

Costs = tuple[float | None, float | None]
_NO_PATH = "predictions.parquet"


def suggest(
    data: Any, folder: Path, label: str | None, scores: Sequence[str], costs: Costs = (None, None)
) -> Suggestion:
    """The suite that suits a table, for a file in `folder`.

    Raises:
        ConfigError: the table leaves open what is the label, or a score; costs are not what they must be.
        DataError: the data cannot be read, or has no rows.
    """
    _check(costs)
    source = open_source(data)
    with reading(source):
        source.check_rows()
        rows = sample(source)
        if rows.is_empty():
            msg = "the table has no rows"
            raise DataError(msg)
        sampled = facts_of_sample(rows)
        found, roles = recognise(rows, sampled, label, scores)
        facts = facts_of_all(source, roles.columns, sampled)
    shape, note = _available(found)
    path, name = _place(data, folder)
    table = Table(path, name, roles, facts, shape)
    layout = _layout(table, costs)
    if costs != (None, None) and table.task != "binary":
        msg = f"costs of errors belong to task 'binary', but this table is of task '{table.task}'"
        raise ConfigError(Problem(msg, hint="leave --cost-fp and --cost-fn out"))
    total = max(table.rows, rows.height)
    known = survey(rows, layout, total, whole=total == rows.height)
    ends = {
        name: (held.low, held.high) for name, held in facts.items() if held.numeric and held.low is not None
    }
    return suggestion(table, advise(with_ends(known, ends, layout)), note)


def _check(costs: Costs) -> None:
    given = [cost for cost in costs if cost is not None]
    if len(given) == 1:
        msg = "a cost of one error says nothing without that of the other"
        raise ConfigError(Problem(msg, hint="give both --cost-fp and --cost-fn"))
    if any(not isfinite(cost) or cost <= 0 for cost in given):
        msg = f"costs must be numbers above 0, not {given[0]} and {given[1]}"
        raise ConfigError(Problem(msg))


def _available(shape: Shape | None) -> tuple[Shape | None, str | None]:
    """The shape, if its task has metrics; else none, and a note that says so."""
    if shape is None or shape.task in registry.tasks():
        return shape, None
    note = f"The table looks like one of task {shape.task} ({shape.reason}), which is not available here."
    return (None, note) if not shape.parts else (replace(shape, task="regression", parts={}), note)


def _place(data: Any, folder: Path) -> tuple[str, str]:
    if not isinstance(data, (str, Path)):
        return _NO_PATH, "evaluation"
    text = str(data)
    return relative_path(text, folder), plain_name(Path(text.rstrip("/*")).stem, "evaluation")


def _layout(table: Table, costs: Costs) -> Layout:
    shape, roles = table.shape, table.roles
    parted = shape is not None and bool(shape.parts)
    models = {"model": dict(shape.parts)} if shape is not None and parted else {}
    return Layout(
        table.task,
        table.label.name,
        models or {name: {"score": name} for name in roles.scores},
        choose_positive(table.label) if table.task == "binary" else None,
        roles.weight,
        None if shape is None else shape.query,
        None if shape is None else shape.treatment,
        () if shape is None else shape.classes,
        costs,
    )
