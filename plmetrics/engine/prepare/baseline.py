"""Built-in baseline: a model with one constant prediction for every row, computed from the evaluated rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.core.ops import Array
from plmetrics.core.quantiles import averaged_inverse
from plmetrics.table.checks import VALID
from plmetrics.table.prediction_columns import LABEL, levels_of, quantile_part

if TYPE_CHECKING:
    from plmetrics.engine.inquiry import Question
    from plmetrics.engine.request import TableView


def baseline_values(view: TableView) -> Question[dict[str, float]]:
    """Constants of the baseline by part, equal for every row.

    Binary: the share of positives. Multiclass: the share of each class, or the most frequent one. Regression: the
    mean of the label. Quantiles: those of the label (averaged inverse of its distribution), its mean and standard
    deviation, or its median for each member. Ranking and uplift: 0. All weighted by row; slices share them.
    """
    parts = _parts(view)
    if view.suite.task in {"ranking", "uplift"}:
        return dict.fromkeys(parts, 0.0)
    labels, masses = yield from _distribution(view)
    return _values(parts, view.suite.task, labels, masses) if len(labels) else dict.fromkeys(parts, 0.0)


def _parts(view: TableView) -> tuple[str, ...]:
    """A baseline has the parts of the first model, or a score."""
    if view.suite.task in {"multiclass", "quantile"}:
        return next(iter(view.roles.models.values())).parts
    return ("score",)


def _distribution(view: TableView) -> Question[tuple[Array, Array]]:
    """The different labels of sound rows, ascending, and the weight of each."""
    table = view.table()
    frame = table.frame.filter(pl.col(VALID)) if view.roles.missing == "error" else table.frame
    rows = pl.len().cast(pl.Int64).alias("rows")
    weights = {} if table.weight is None else {"mass": table.weight}
    addition = yield from view.arithmetic.addition(frame, weights)
    mass = addition.sums(weights) or [rows.cast(pl.Float64).alias("mass")]
    (counted,) = yield [frame.group_by(LABEL).agg(rows, *mass).sort(LABEL)]
    totals = addition.totals(counted)
    return totals[LABEL].to_numpy(), totals["mass"].to_numpy()


def _values(parts: tuple[str, ...], task: str, labels: Array, masses: Array) -> dict[str, float]:
    shares = masses / masses.sum()
    mean = float((shares * labels).sum())
    if task == "multiclass":
        by_class = dict(zip(labels.astype(int).tolist(), shares.tolist(), strict=True))
        if parts == ("prediction",):
            return {"prediction": float(labels[np.argmax(masses)])}
        return {part: by_class.get(place, 0.0) for place, part in enumerate(parts)}
    constants = {"score": mean, "prediction": mean, "mean": mean}
    constants["sd"] = float(np.sqrt((shares * (labels - mean) ** 2).sum()))
    levels = (0.5, *levels_of(parts))
    median, *quantiles = averaged_inverse(labels, masses, np.array(levels)).tolist()
    constants |= zip(map(quantile_part, levels[1:]), quantiles, strict=True)
    return {part: constants.get(part, median) for part in parts}
