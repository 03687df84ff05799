"""Rows for ordered metrics: a plan of their scores, classes, values, weights, cells and blocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.table.checks import scored_column, valid_column
from plmetrics.table.prediction_columns import LABEL, TREATMENT, WEIGHT, RoleColumns, score_column

if TYPE_CHECKING:
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.states.sums import RowValue

_OF_MODELS = (
    "@@score|",
    "@@valid|",
    "@@scored|",
    "@value|",
    "@class|",
    "@labelled",
    "@@label|",
    "@@weight|",
    "@positive|",
)
HAS_LABEL = "@labelled"
BLOCK = "@block"
POSITIVE = "@positive"
TREATED = "@treated"


def rows_plan(
    plan: RunPlan,
    models: Sequence[str] | None = None,
    further: Sequence[str | pl.Expr] = (),
    *,
    unlabelled: bool = False,
) -> pl.LazyFrame:
    """Scores, class, values, weight, cell and block of every row, the input of one sort per model.

    Columns of the prediction table may be brought `further`; with `unlabelled` there are rows without a label, too, and
    a column that tells them apart.
    """
    request, roles = plan.request, plan.view.roles
    frame = plan.table.scored if unlabelled else plan.table.frame
    models = request.models if models is None else models
    columns: list[pl.Expr] = []
    if request.orders_scores:
        columns += [_unsigned_zero(score_column(model)) for model in models]
        if plan.view.roles.treatment is None:
            columns += positives(roles, models)
        else:
            columns += [pl.col(LABEL), (pl.col(TREATMENT) == 1).alias(TREATED)]
    if request.ranks:
        labels_read = dict.fromkeys(roles.label_of(model) for model in models)
        columns += [*map(pl.col, labels_read), *(pl.col(score_column(model)) for model in models)]
    for value in request.values:
        columns += [value.build(plan.row_of(m)).alias(value_column(m, value)) for m in models]
        if value.positive is not None:
            columns += [value.positive(plan.row_of(m)).alias(class_column(m, value)) for m in models]
    weights = dict.fromkeys(roles.weight_of(model) for model in models)
    columns += [pl.col(name) for name in weights if name is not None]
    if request.suite.per_model:
        columns += [pl.col(valid_column(model)) for model in models]
        columns += [pl.col(scored_column(model)) for model in models if unlabelled]
    if unlabelled:
        columns.append(pl.col(LABEL).is_not_null().alias(HAS_LABEL))
    for index, cube in enumerate(plan.cubes):
        if cube.codes:
            dtype = pl.UInt32 if cube.cells < 1 << 32 else pl.Int64
            columns.append(cube.cell().cast(dtype).alias(cell_column(index)))
    if plan.blocks is not None:
        columns.append(plan.blocks.of_unit.alias(BLOCK))
    return frame.select(*columns, *further)


def _unsigned_zero(name: str) -> pl.Expr:
    """-0.0 as 0.0: equal scores must have equal bits before they are sorted."""
    return pl.when(pl.col(name) == 0).then(0.0).otherwise(pl.col(name)).alias(name)


def positive_column(roles: RoleColumns, model: str) -> str:
    """Indicator column of the positive class of a model's label."""
    return POSITIVE if roles.label_of(model) == LABEL else f"{POSITIVE}|{model}"


def positives(roles: RoleColumns, models: Iterable[str]) -> list[pl.Expr]:
    """Indicator columns of the positive class of each model's label, without duplicates."""
    labels = {positive_column(roles, model): roles.label_of(model) for model in models}
    return [(pl.col(label) == 1).alias(name) for name, label in labels.items()]


def value_column(model: str, value: RowValue) -> str:
    """The column of a number of each row of a model."""
    return f"@value|{model}|{value.key}"


def class_column(model: str, value: RowValue) -> str:
    """Indicator column of the positive class of a value."""
    return f"@class|{model}|{value.key}"


def cell_column(index: int) -> str:
    """The column of a cube's cell."""
    return f"@cell|{index}"


class ModelRows:
    """Rows of a scan, model by model: a column of thousands is found by name, and the common ones once for all."""

    def __init__(self, plan: RunPlan, rows: pl.DataFrame) -> None:
        self._plan, self._rows, self._names = plan, rows, frozenset(rows.columns)
        apart = (*_OF_MODELS, LABEL, WEIGHT, POSITIVE)
        self._common = [name for name in rows.columns if not name.startswith(apart)]

    def of(self, model: str, *names: str, unlabelled: bool = False) -> pl.DataFrame:
        """The rows of one model, in any order, with columns of its own, such as the one they are to be ordered by.

        With `unlabelled` rows without a label are among them, where they were brought.
        """
        roles = self._plan.view.roles
        shared = {
            LABEL: roles.label_of(model),
            WEIGHT: roles.weight_of(model),
            POSITIVE: positive_column(roles, model),
        }
        columns = {name: name for name in (*names, *self._common)}
        columns |= {name: column for name, column in shared.items() if column in self._names}
        rows = pl.DataFrame([self._rows.get_column(column).alias(name) for name, column in columns.items()])
        if self._plan.request.suite.per_model:
            mask = scored_column(model) if unlabelled else valid_column(model)
            return rows.filter(self._rows.get_column(mask))
        if HAS_LABEL in self._names and not unlabelled:
            return rows.filter(self._rows.get_column(HAS_LABEL))
        return rows
