"""Columns of texts that rows are ordered by: their times must be written in one form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.core.errors import DataError
from plmetrics.engine.inquiry import Question, frames_by_name
from plmetrics.table.checks import is_text, one_form_problem, time_forms

if TYPE_CHECKING:
    from plmetrics.engine.request import TableView


def check_time_forms(view: TableView) -> Question[None]:
    """See that the texts of each column that rows are ordered by are of one form.

    Raises:
        DataError: some are not; each form is counted, with an example.
    """
    ordered = {
        need.column: need
        for need in view.roles.requirements
        if need.needs_order and is_text(view.schema[need.column])
    }
    forms = yield from frames_by_name({name: time_forms(view.raw, name) for name in ordered})
    problems = [
        one_form_problem(forms[name], f"column '{name}' ({need.role})", need.path)
        for name, need in ordered.items()
    ]
    if any(problems):
        raise DataError([problem for problem in problems if problem is not None])
