"""Section `labels` of a suite: labels later than the scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal
from zoneinfo import ZoneInfo

import polars as pl
from pydantic import Field

from plmetrics.core.durations import Duration
from plmetrics.states.sums import Total
from plmetrics.suite.sections.references import DurationText  # noqa: TC001 (pydantic reads it)
from plmetrics.suite.sections.section import Section
from plmetrics.table.checks import SCORED, scored_column
from plmetrics.table.prediction_columns import LABEL, part_column, score_column

if TYPE_CHECKING:
    from datetime import datetime

    from plmetrics.table.prediction_table import PredictionTable

LabelStatus = Literal["unlabelled", "immature"]
"""Why a slice has no labels: they are absent, or not due yet."""


class Labels(Section):
    """Rows may have no label yet: a null label is no bad value."""

    switch: ClassVar[bool] = True
    example: ClassVar[str | None] = "write labels: true, or labels: {mature_after: 7d, coverage: 0.9}"

    mature_after: DurationText | None = Field(
        default=None,
        description="How long after an interval its labels are due, such as 36h, 7d or 4w; until then a slice without "
        "labels is `immature`.",
    )
    coverage: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None,
        description="The share of rows with a label below which no gate judges a metric that needs labels.",
    )

    def totals(self, table: PredictionTable, *, every: bool) -> Sequence[Total]:  # noqa: ARG002
        """Rows with and without a label, and their scores, for comparisons; none for queries."""
        return () if table.roles.task == "ranking" else tuple(_score_totals(table))


SIDES = ("labelled", "unlabelled")


def side_column(model: str, side: str, name: str) -> str:
    """The column of a sum over the rows of a model with or without a label: `n`, `weight`, `score` or `squares`."""
    return f"@labelling|{model}|{side}|{name}"


def _score_totals(table: PredictionTable) -> Iterator[Total]:
    """Of every model and both sides the rows, their weight, and where there are numbers to compare their moments."""
    weight = pl.lit(1.0) if table.weight is None else table.weight
    apart, error = table.roles.missing == "drop_per_model", table.roles.missing == "error"
    for model in table.models:
        counts = pl.lit(value=True) if error else pl.col(scored_column(model) if apart else SCORED)
        for side in SIDES:
            label = pl.col(LABEL)
            here = counts & (label.is_not_null() if side == "labelled" else label.is_null())
            yield Total.count(side_column(model, side, "n"), here)
            yield Total.masses(side_column(model, side, "weight"), weight, here)
            score = _score_of(table, model)
            if score is None:
                continue
            for name, value in (("score", score), ("squares", score**2)):
                of_row = pl.when(here).then(value * weight).otherwise(0.0)
                yield Total(side_column(model, side, name), of_row.sum(), of_row)


def _score_of(table: PredictionTable, model: str) -> pl.Expr | None:
    """Prediction of a row as one number: of classes the largest probability, None where there is none."""
    parts = table.roles.models[model].parts
    if table.roles.task != "multiclass":
        return pl.col(score_column(model))
    shares = [pl.col(part_column(model, part)) for part in parts if part.startswith("proba|")]
    return pl.max_horizontal(shares) if shares else None


def label_status(
    interval_end: datetime | None, mature_after: str | None, as_of: datetime | None
) -> LabelStatus:
    """Reason for the absence of labels in an interval, as of a moment.

    Labels are due once the interval ended `mature_after` ago. Without an interval, a moment or `mature_after` nobody
    knows when they are due.

    >>> from datetime import datetime
    >>> end, later = datetime.fromisoformat("2026-11-02T00:00+00:00"), datetime.fromisoformat("2026-11-08T00:00+00:00")
    >>> label_status(end, "7d", later), label_status(end, "6d", later)
    ('immature', 'unlabelled')
    """
    if interval_end is None or mature_after is None or as_of is None:
        return "unlabelled"
    due = Duration.of(mature_after).after(interval_end, ZoneInfo("UTC"))
    return "unlabelled" if due <= as_of else "immature"
