"""Warnings of a suite that has not run, by a sample of its rows."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import PlmetricsError
from plmetrics.core.rowsql import compile_row
from plmetrics.engine.warnings.run_warnings import misleading_metrics, models_of_the_label
from plmetrics.engine.warnings.table_survey import SAMPLE_ROWS, Layout, sample, survey

if TYPE_CHECKING:
    from plmetrics.catalogue.table_facts import TableFacts
    from plmetrics.engine.request import Request


def sample_warnings(request: Request) -> list[str]:
    """Scores that are labels, and metrics that mislead by a sample of the rows.

    There are none where the rows cannot be read: what is wrong with them is for the run to say.
    """
    warnings = models_of_the_label(request)
    with suppress(pl.exceptions.PolarsError, PlmetricsError, OSError):
        facts = _facts(request)
        return warnings if facts is None else [*warnings, *misleading_metrics(request.suite, facts)]
    return warnings


def _facts(request: Request) -> TableFacts | None:
    """Facts of a sample of a suite's rows, None where these come from more than one scan."""
    suite, roles, total = request.suite, request.roles, request.source.rows
    if suite.data.long is not None or suite.data.trec is not None:
        return None
    layout = Layout(
        suite.task,
        suite.columns.label,
        {name: dict(model.columns) for name, model in roles.models.items() if not model.made},
        suite.positive,
        suite.columns.weight,
        suite.columns.query,
        suite.columns.treatment,
        roles.classes,
    )
    where = None if suite.data.where is None else compile_row(suite.data.where)
    rows = sample(request.source, [*layout.columns, *(() if where is None else where.columns)])
    whole = rows.height < SAMPLE_ROWS
    if where is not None:
        rows, total = rows.filter(where.expr), None
    return survey(rows, layout, total, whole=whole)
