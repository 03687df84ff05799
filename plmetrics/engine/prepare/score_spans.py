"""The ends of histograms of scores: those of probabilities, or the lowest and the highest score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.engine.order.score_bins import UNIT_SPAN
from plmetrics.table.checks import scored_column, valid_column
from plmetrics.table.prediction_columns import score_column

if TYPE_CHECKING:
    from plmetrics.engine.inquiry import Question
    from plmetrics.table.prediction_table import PredictionTable

    Spans = Mapping[str, tuple[float, float]]


def score_spans(models: Sequence[str], table: PredictionTable) -> Question[Spans]:
    """Lowest and highest score of each model with rows, looked up; see `shared_spans`."""
    columns = table.scored.collect_schema().names()
    plan = table.scored.select(
        part.alias(f"{end}|{number}")
        for number, model in enumerate(models)
        for score in [_scores(model, columns)]
        for end, part in (("low", score.min()), ("high", score.max()))
    )
    (frame,) = yield [plan]
    ends = {
        model: (frame[f"low|{number}"].item(), frame[f"high|{number}"].item())
        for number, model in enumerate(models)
    }
    return shared_spans({model: (low, high) for model, (low, high) in ends.items() if low is not None})


def _scores(model: str, columns: list[str]) -> pl.Expr:
    """Scores of the valid rows of a model."""
    score = pl.col(score_column(model))
    of_model = next((name for name in (scored_column(model), valid_column(model)) if name in columns), None)
    return score if of_model is None else pl.when(pl.col(of_model)).then(score)


def shared_spans(ends: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Span of each model: 0 to 1 for scores within it, else the common one of all other models.

    >>> shared_spans({"p": (0.1, 0.6), "logit": (-4.0, 2.0), "points": (1.0, 5.0), "constant": (3.0, 3.0)})
    {'p': (0.0, 1.0), 'logit': (-4.0, 5.0), 'points': (-4.0, 5.0), 'constant': (-4.0, 5.0)}
    """
    others = [part for part in ends.values() if not _within(part)]
    if not others:
        return dict.fromkeys(ends, UNIT_SPAN)
    low, high = (float(end) for end in (np.min(others), np.max(others)))
    if low == high:
        low, high = low - 0.5, high + 0.5
    return {model: UNIT_SPAN if _within(part) else (low, high) for model, part in ends.items()}


def _within(ends: tuple[float, float]) -> bool:
    return ends[0] >= UNIT_SPAN[0] and ends[1] <= UNIT_SPAN[1]
