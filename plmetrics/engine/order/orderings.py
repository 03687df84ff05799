"""Orderings of a model's rows: by its score, or another number of each row, as a grid counts them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
import polars as pl

from plmetrics.core.ops import Flags
from plmetrics.engine.aggregate.row_plan import (
    HAS_LABEL,
    POSITIVE,
    TREATED,
    class_column,
    positive_column,
    positives,
    value_column,
)
from plmetrics.states.scores.coarse import RANK_BINS
from plmetrics.table.checks import scored_column, valid_column
from plmetrics.table.prediction_columns import LABEL, TREATMENT, RoleColumns, score_column

if TYPE_CHECKING:
    from plmetrics.engine.request import Request
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.states.sums import RowValue


F = TypeVar("F", pl.DataFrame, pl.LazyFrame)

RANKS, _RANKS_OF_LABELS = "ranks of predictions", "ranks of labels"
"""The keys of the two sides of rank correlations."""

AREAS = "areas beside "
"""Prefix of a second model's name in the key of scores that are counted together with its scores."""


@dataclass(frozen=True, slots=True)
class Ordering:
    """A number of each row of a model, ascending: the score without a `value`.

    With `label_free` rows without a label have it, too; with `arms` rows are of two arms, not of two classes, and have
    outcomes. With `side` two numbers of a row are counted together, and it is of one of these: labels and predictions,
    or the scores of the model (`score`) and of another one (`rival`), whose name is `opponent`. `label`, `positive` and
    `weight` are columns of its rows.
    """

    model: str
    value: RowValue | None = None
    label_free: bool = False
    arms: bool = False
    side: Literal["label", "prediction", "score", "rival"] | None = None
    label: str = LABEL
    positive: str = POSITIVE
    weight: str | None = None
    opponent: str = ""

    @property
    def key(self) -> str | None:
        """The key of the value, None for the score."""
        if self.of_areas:
            return f"{AREAS}{self.opponent}" if self.side == "score" else f"rival of {self.opponent}"
        if self.side is not None:
            return RANKS if self.side == "prediction" else _RANKS_OF_LABELS
        return None if self.value is None else self.value.key

    @property
    def name(self) -> str:
        """Name in states: the model, with the key of a value."""
        return self.model if self.key is None else f"{self.model}|{self.key}"

    @property
    def width(self) -> int:
        """Number of values of a row."""
        return 1 if self.value is None else self.value.width

    def flat(self, rows: F) -> F:
        """Rows with one number each: those with several are as many, with a class for each."""
        return rows if self.width == 1 else rows.explode(*self.columns[:2])

    @property
    def across(self) -> str | None:
        """Name of the counterpart in joint counts: a prediction's labels, or the other model's scores."""
        if self.side == "score":
            return Ordering(self.opponent, side="rival", opponent=self.model).name
        return f"{self.model}|{_RANKS_OF_LABELS}" if self.side == "prediction" else None

    @property
    def of_areas(self) -> bool:
        """Whether it serves the covariance of two models' areas."""
        return self.side in {"score", "rival"}

    @property
    def of_ranks(self) -> bool:
        """Whether it serves rank correlations."""
        return self.side in {"label", "prediction"}

    @property
    def equal_bins(self) -> int | None:
        """Number of coarse bins of equal weight; None for bins of an order of scores."""
        return RANK_BINS if self.of_ranks else None

    @property
    def column(self) -> str:
        """The column of the number."""
        if self.side == "label":
            return self.label
        return score_column(self.model) if self.value is None else value_column(self.model, self.value)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a row's number, class or arm, outcome and weight."""
        weights = () if self.weight is None else (self.weight,)
        if self.arms:
            return (self.column, TREATED, LABEL, *weights)
        if self.value is None:
            return (self.column, self.positive, *weights)
        classes = () if self.value.positive is None else (class_column(self.model, self.value),)
        return (self.column, *classes, *weights)

    @property
    def one_class(self) -> bool:
        """Whether all rows are of one class."""
        return self.of_ranks or (self.value is not None and self.value.positive is None)

    def expressions(self, plan: RunPlan) -> Iterator[pl.Expr]:
        """The columns of the number and of its class, on the canonical table."""
        if self.value is None:
            yield pl.col(self.column)
            return
        rows = plan.row_of(self.model)
        yield self.value.build(rows).alias(self.column)
        if self.value.positive is not None:
            yield self.value.positive(rows).alias(class_column(self.model, self.value))

    def positives(self, frame: pl.DataFrame) -> Flags:
        """Mask of the rows of the positive class, or of the treated ones."""
        if self.one_class:
            return np.ones(frame.height, dtype=np.bool_)
        column = TREATED if self.arms else self.positive
        if self.value is not None:
            column = class_column(self.model, self.value)
        return frame[column].fill_null(value=False).to_numpy()

    def members(self, frame: pl.DataFrame) -> Flags | None:
        """Mask of the rows with a number; None where all have one."""
        masks: list[pl.Series] = []
        valid = scored_column(self.model) if self.label_free else valid_column(self.model)
        if valid in frame.columns:
            masks.append(frame[valid])
        if HAS_LABEL in frame.columns and not self.label_free:
            masks.append(frame[HAS_LABEL])
        if self.value is not None and frame[self.column].null_count():
            masks.append(frame[self.column].is_not_null())
        return reduce(and_, masks).to_numpy() if masks else None


def orderings(request: Request, roles: RoleColumns | None = None) -> tuple[Ordering, ...]:
    """Orderings of the rows of each model, model after model, scores first.

    `roles` are those of a run, as `run_orderings` gives them; before there is one, those of the request.
    """
    roles, label_free = roles or request.view.roles, request.label_free_values
    out: list[Ordering] = []
    for model in request.models:
        label, weight = roles.label_of(model), roles.weight_of(model)
        of_model = Ordering(model, label=label, positive=positive_column(roles, model), weight=weight)
        out += [replace(of_model, arms=roles.treatment is not None)] if request.orders_scores else []
        out += [
            replace(of_model, value=value, label_free=value.key in label_free) for value in request.values
        ]
        sides: tuple[Literal["label", "prediction"], ...] = ("label", "prediction") if request.ranks else ()
        out += [replace(of_model, side=side) for side in sides]
    for model, baseline in request.area_pairs:
        out.append(Ordering(baseline, side="rival", opponent=model))
        out.append(Ordering(model, side="score", opponent=baseline))
    return tuple(out)


def run_orderings(plan: RunPlan) -> tuple[Ordering, ...]:
    """Orderings of a run, with the labels and weights of calibrated models."""
    return orderings(plan.request, plan.view.roles)


def sample_columns(plan: RunPlan, rows: pl.LazyFrame) -> pl.LazyFrame:
    """Numbers and classes of some rows of the canonical table."""
    every = run_orderings(plan)
    columns = [column for ordering in every for column in ordering.expressions(plan)]
    columns = list({column.meta.output_name(): column for column in columns}.values())
    if plan.view.roles.treatment is not None:
        columns.append((pl.col(TREATMENT) == 1).alias(TREATED))
    return rows.select(*columns, *positives(plan.view.roles, plan.request.models))
