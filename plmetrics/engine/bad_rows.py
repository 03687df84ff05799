"""The second look at rows, where the first found something wrong: counts and examples for the message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.core.names import name_list, nearest
from plmetrics.engine.prepare.text_forms import plain_form, told_apart
from plmetrics.table.checks import Check, data_error, findings
from plmetrics.table.prediction_table import present_rows, unchecked_table
from plmetrics.table.source import ROW_KEY, ROW_NUMBER

if TYPE_CHECKING:
    from plmetrics.engine.request import TableView
    from plmetrics.engine.run_plan import RunPlan


def bad_values(view: TableView, checks: Sequence[Check], rows: int) -> DataError:
    """Findings of the checks of so many rows."""
    return data_error(findings(checks, _second_look(view, checks)), rows=rows, place=view.source.place)


def models_without_rows(plan: RunPlan) -> list[str]:
    """Warnings of models all of whose rows were dropped, with the values that they were dropped for."""
    rows, texts = plan.rows, []
    for model, dropped in rows.dropped.items():
        if 0 < dropped == rows.read - rows.zero_weight:
            checks = [check for check in plan.table.checks if check.model in {None, model}]
            problems = bad_values(plan.view, checks, rows.read).problems
            reasons = "; ".join(p.message for p in problems) or "each has weight 0"
            texts.append(f"model '{model}' has no rows left: {reasons}")
    return texts


def no_rows_left(rows: int) -> Problem:
    """Problem of a table without a valid row."""
    msg = f"no rows are left of {rows:,}: each has weight 0 or a value for which it is dropped"
    return Problem(msg, ("data", "missing"))


def _second_look(view: TableView, checks: Sequence[Check]) -> dict[str, object]:
    """Number of failing rows by check, the first of them and its value."""
    named = dict.fromkeys(check.column for check in checks)
    rows = present_rows(_rows_by_number(view), view.roles)
    raw = rows.with_columns(pl.col(name).alias(f"@@raw|{name}") for name in named)
    keep = [ROW_NUMBER, *(f"@@raw|{name}" for name in named)]
    frame = unchecked_table(raw, view.schema, view.roles, keep=keep)
    summary: list[pl.Expr] = []
    for index, check in enumerate(checks):
        bad = pl.col(check.column_name)
        summary += [
            bad.sum().cast(pl.Int64).alias(f"{index}|count"),
            pl.col(ROW_NUMBER).filter(bad).first().cast(pl.Int64).alias(f"{index}|row"),
            (pl.col(f"@@raw|{check.column}") if check.shown is None else check.shown)
            .filter(bad)
            .first()
            .alias(f"{index}|value"),
        ]
    return frame.select(summary).collect().row(0, named=True)


def _rows_by_number(view: TableView) -> pl.LazyFrame:
    """The raw rows in file order with their numbers, for a look at some of them."""
    frame = view.source.frame.with_row_index(ROW_NUMBER).with_columns(
        pl.lit(0, dtype=pl.UInt64).alias(ROW_KEY)
    )
    return frame if view.where is None else frame.filter(view.where)


_SHOWN = 5
_MOST_LABELS = 1000


def refuse_absent_positive(view: TableView, sums: Mapping[str, Any]) -> None:
    """Refuse a `positive` without a row: it is misspelt, or the labels are others.

    Where all labels are one other value, and not nearly the same, there may just be no positive row.

    Raises:
        DataError: no label is.
    """
    positive, column = view.suite.positive, view.suite.columns.label
    counts = [name for name in sums if name == "positives" or name.endswith("|positives")]
    if positive is None or not counts or any(sums[name].sum() for name in counts):
        return
    labels = label_values(view)
    near = (
        None if not isinstance(positive, str) else _similar_label(positive, [str(label) for label in labels])
    )
    if positive in labels or (near is None and len(labels) < 2):
        return
    values = labels_text(labels)
    meant, *others = told_apart([str(positive), *(() if near is None else (near,))])
    meant = meant if isinstance(positive, str) else repr(positive)
    msg = f"no value of column '{column}' is {meant}, which is to count as positive; it holds {values}"
    hint = f"did you mean {others[0]}?" if others else "name one of its values"
    raise DataError(Problem(msg, ("positive",), hint))


def label_values(view: TableView) -> list[object]:
    """The different labels, in order, as many as may be classes."""
    label = pl.col(view.suite.columns.label)
    labels = view.raw.select(label.drop_nulls().unique().sort()).head(_MOST_LABELS).collect()
    return labels.to_series().to_list()


def labels_text(labels: Sequence[object]) -> str:
    """Some labels for a message."""
    return name_list([repr(label) for label in labels], _SHOWN)


def _similar_label(positive: str, labels: Sequence[str]) -> str | None:
    """Nearest label: equal up to what people overlook, or else similar."""
    folded = {plain_form(label): label for label in labels}
    meant = plain_form(positive)
    return folded.get(meant if meant in folded else nearest(meant, folded) or "")
