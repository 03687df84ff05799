"""Edges of bins for curves of labels and predictions, and ends of histograms of scores: constants of a run.

Edges are from a sample of its rows. In a table of few each number has a bin of its own, so that nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.catalogue.needs import Queries
from plmetrics.core.ops import Array
from plmetrics.engine.order.score_bins import UNIT_SPAN
from plmetrics.engine.run_plan import rows_of
from plmetrics.states.bin_sums import BY_QUERY, BinTable, Edges
from plmetrics.states.queries import query_column
from plmetrics.table.checks import scored_column, valid_column
from plmetrics.table.prediction_columns import score_column
from plmetrics.table.sampling import telling

if TYPE_CHECKING:
    from plmetrics.engine.inquiry import Question
    from plmetrics.engine.request import TableView
    from plmetrics.states.sums import Rows
    from plmetrics.suite.model import Suite
    from plmetrics.table.prediction_table import PredictionTable

FEW_ROWS = 5_000
"""Up to so many rows each number has a bin of its own."""

SAMPLE_ROWS = 400_000
HISTOGRAM_BINS = 50
_LEAST_WIDTH = 2.0**-40
"""Half the width of a histogram of one large number, as a share of it: floats tell the edges of its bins apart."""

_FINE, _IN_TAILS, _TAIL = 2_000, 300, 0.05
_BINS = {"score joint": 200, "label joint": 200, "error joint": 500, "score block": 100}
"""How many bins there are of sets that are counted together with others."""


def number_of(rows: Rows, name: str, suite: Suite) -> pl.Expr:
    """A number of each row, by its name."""
    if name == "difference":
        return _difference(rows, suite)
    return {"label": rows.label, "score": rows.score, "error": rows.error}[name]


def _difference(rows: Rows, suite: Suite) -> pl.Expr:
    """Difference of a query's metric to the baseline's; all curves of differences are of one metric."""
    text = next(curve.metric for curve in suite.bin_curves)
    needs = next(metric.needs for metric in suite.metrics if metric.text == text)
    assert isinstance(needs, Queries)
    assert suite.compare is not None
    assert suite.compare.baseline is not None
    value, other = (
        rows.column(query_column(model, needs.values[0].key))
        for model in (rows.model, suite.compare.baseline)
    )
    return value - other


def bin_edges(
    view: TableView, table: PredictionTable, tables: Iterable[BinTable], read: int
) -> Question[Edges]:
    """Edges of all sets of bins of some tables, by model, and the centres of their summands."""
    tables = list(tables)
    sets = dict.fromkeys(key for part in tables for key in part.keys if not key.endswith("class"))
    centres = dict.fromkeys(number for part in tables for number in part.numbers)
    names = dict.fromkeys([*(key.split()[0] for key in sets), *centres])
    if not names:
        return {}
    numbers = {
        f"{model}|{name}": _of_model(view, model, number_of(rows_of(model, table), name, view.suite))
        for model in table.models
        for name in names
    }
    step = max(1, read // SAMPLE_ROWS)
    chosen = view.arithmetic.sample(
        table.frame, step, telling(view.roles, table.frame.collect_schema().names())
    )
    sample = chosen.select(number.cast(pl.Float64).alias(name) for name, number in numbers.items())
    spans = table.frame.select(
        getattr(number.cast(pl.Float64), end)().alias(f"{end}|{name}")
        for name, number in numbers.items()
        for end in ("min", "max")
    )
    sampled, ends = yield [sample, spans]
    out: Edges = {}
    for model in table.models:
        values = {name: np.sort(sampled[f"{model}|{name}"].drop_nulls().to_numpy()) + 0.0 for name in names}
        for key in sets:
            number = key.split()[0]
            if key.endswith("histogram"):
                out[f"{model}|{key}"] = _histogram(ends, number, table.models)
            elif read <= FEW_ROWS:
                out[f"{model}|{number}"] = np.unique(values[number])
            else:
                by_label = key == "score by label"
                part = values["label" if by_label else number]
                highest = ends[f"max|{model}|{'label' if by_label else number}"].item()
                out[f"{model}|{key}"] = _edges(part, highest, "label joint" if by_label else key)
        if read <= FEW_ROWS and "difference" in names:
            out[f"{model}|{BY_QUERY}"] = np.zeros(0)
        for number in centres:
            out[f"{model}|{number} centre"] = np.array([_centre(values[number])])
    return out


def _of_model(view: TableView, model: str, number: pl.Expr) -> pl.Expr:
    """Number of the valid rows of a model."""
    number = pl.when(number.is_finite()).then(number)
    apart = view.roles.per_model and view.suite.task != "ranking"
    return pl.when(pl.col(valid_column(model))).then(number) if apart else number


def _centre(ascending: Array) -> float:
    return float(ascending[len(ascending) // 2]) if len(ascending) else 0.0


def _edges(ascending: Array, highest: float | None, key: str) -> Array:
    """The upper edges of bins: all different numbers, where these are few, else quantiles; and the highest of all rows.

    Those of errors and differences are closer in the tails, where one looks.
    """
    different = np.unique(np.append(ascending, [] if highest is None else [highest]))
    bins = _BINS.get(key, _FINE)
    if len(different) <= bins:
        return different
    shares = np.arange(1, bins) / bins
    if key in {"error", "difference"}:
        tail = np.geomspace(1 / len(ascending), _TAIL, _IN_TAILS)
        shares = np.sort(np.concatenate([tail, shares, 1 - tail]))
    places = np.clip(np.ceil(shares * len(ascending)).astype(np.int64) - 1, 0, len(ascending) - 1)
    return np.unique(np.append(ascending[places], different[-1]))


def _histogram(ends: pl.DataFrame, number: str, models: Iterable[str]) -> Array:
    """Bins of equal width, shared by all models and slices, from the lowest to the highest number."""
    lows, highs = ([ends[f"{end}|{model}|{number}"].item() for model in models] for end in ("min", "max"))
    low = min((value for value in lows if value is not None), default=0.0)
    high = max((value for value in highs if value is not None), default=0.0)
    return np.linspace(*_with_width(low, high), HISTOGRAM_BINS + 1)


def _with_width(low: float, high: float) -> tuple[float, float]:
    """A span; of a single number one of unit width around it, of a large number one wide enough for bins.

    >>> _with_width(3.0, 3.0), _with_width(3.0, 4.0), _with_width(2.0**50, 2.0**50)
    ((2.5, 3.5), (3.0, 4.0), (1125899906841600.0, 1125899906843648.0))
    """
    half = max(0.5, abs(low) * _LEAST_WIDTH)
    return (low - half, high + half) if low == high else (low, high)


def score_spans(models: Sequence[str], table: PredictionTable) -> Question[Mapping[str, tuple[float, float]]]:
    """Lowest and highest score of each model with rows, looked up; see `shared_spans`."""
    columns = table.scored.collect_schema().names()
    plan = table.scored.select(
        part.alias(f"{end}|{number}")
        for number, model in enumerate(models)
        for score in [_scores(model, columns)]
        for end, part in (("low", score.min()), ("high", score.max()))
    )
    (frame,) = yield [plan]
    ends = frame.row(0)
    spans = zip(models, ends[::2], ends[1::2], strict=True)
    return shared_spans({model: (low, high) for model, low, high in spans if low is not None})


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
    span = _with_width(low, high)
    return {model: UNIT_SPAN if _within(part) else span for model, part in ends.items()}


def _within(ends: tuple[float, float]) -> bool:
    return ends[0] >= UNIT_SPAN[0] and ends[1] <= UNIT_SPAN[1]
