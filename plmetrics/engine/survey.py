"""The figures of a table that advice on its metrics speaks of: from a sample of rows, or from what a run counted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.catalogue.known import Known
from plmetrics.core.rowsql import compile_row
from plmetrics.engine.look import SAMPLE_ROWS, sample
from plmetrics.table.predicted import levels_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from plmetrics.engine.request import Request

_TAIL_ROWS = 100
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns of a table say what: `models` holds the column of each part of each model's prediction."""

    task: str
    label: str
    models: Mapping[str, Mapping[str, str]]
    positive: Any = None
    weight: str | None = None
    query: str | None = None
    treatment: str | None = None
    classes: tuple[str, ...] = ()
    costs: tuple[float | None, float | None] = (None, None)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that it names."""
        roles = (self.label, self.weight, self.query, self.treatment)
        parts = [column for model in self.models.values() for column in model.values()]
        return (*(name for name in roles if name is not None), *parts)


@dataclass(frozen=True, slots=True)
class _Sampled:
    rows: pl.DataFrame
    layout: Layout
    total: int
    whole: bool

    def number(self, column: str) -> NDArray[np.float64]:
        """The finite values of a column, as numbers."""
        held: NDArray[np.float64] = self.rows[column].cast(pl.Float64, strict=False).drop_nulls().to_numpy()
        return np.asarray(held[np.isfinite(held)])


def survey(rows: pl.DataFrame, layout: Layout, total: int | None = None, *, whole: bool = True) -> Known:
    """What rows of a table say; `total` is how many it has, if that is known, and `whole` whether these are all."""
    found = _Sampled(rows, layout, max(total or 0, rows.height), whole)
    figures: dict[str, Any] = {"rows": found.total, "cost_fp": layout.costs[0], "cost_fn": layout.costs[1]}
    if rows.height:
        figures |= _of_labels(found) | _of_models(found)
    return Known(task=layout.task, **figures)


def survey_of_request(request: Request) -> Known | None:
    """What a sample of a suite's rows says, None where that would take a scan or the rows cannot be read."""
    suite = request.suite
    if suite.data.long is not None or suite.data.trec is not None:
        return None
    layout, total = layout_of(request), request.source.rows
    where = None if suite.data.where is None else compile_row(suite.data.where)
    rows = sample(request.source, [*layout.columns, *(() if where is None else where.columns)])
    whole = rows.height < SAMPLE_ROWS
    if where is not None:
        rows, total = rows.filter(where.expr), None
    return survey(rows, layout, total, whole=whole)


def layout_of(request: Request) -> Layout:
    """The columns of a suite."""
    suite, roles = request.suite, request.roles
    return Layout(
        suite.task,
        suite.columns.label,
        {name: dict(model.columns) for name, model in roles.models.items() if not model.made},
        suite.positive,
        suite.columns.weight,
        suite.columns.query,
        suite.columns.treatment,
        roles.classes,
    )


def classes_from_counts(counts: NDArray[np.float64], weights: NDArray[np.float64]) -> dict[str, Any]:
    """Figures of classes, from the rows and the weight of each."""
    mass = weights.sum()
    return {
        "classes": len(counts),
        "largest": float(weights.max() / mass) if mass else None,
        "smallest": int(counts.min()),
    }


def _of_labels(found: _Sampled) -> dict[str, Any]:
    layout = found.layout
    if layout.task in {"regression", "quantile"}:
        return _of_numbers(found.number(layout.label))
    if layout.task == "binary":
        return _of_classes(found, _positive(found.rows[layout.label], layout.positive))
    if layout.task == "multiclass":
        return _of_classes(found, found.rows[layout.label].cast(pl.String))
    if layout.task == "ranking":
        return _of_queries(found)
    treatment = layout.treatment
    return {} if treatment is None else {"treated": _mean(found.number(treatment))}


def _positive(label: pl.Series, positive: Any) -> pl.Series:
    """0 and 1 as texts: what the classes of a binary label are called here."""
    if positive is not None:
        wanted = pl.Series([positive]).cast(label.dtype, strict=False)
        held: pl.Series = label == wanted[0]
    else:
        held = label.cast(pl.Float64, strict=False) == 1
    return held.cast(pl.Int8).cast(pl.String)


def _of_classes(found: _Sampled, label: pl.Series) -> dict[str, Any]:
    layout = found.layout
    frame = pl.DataFrame({"label": label, "weight": pl.repeat(1.0, len(label), eager=True)})
    if layout.weight is not None:
        weight = found.rows[layout.weight].cast(pl.Float64, strict=False)
        frame = frame.with_columns(weight=weight.fill_nan(None).fill_null(0.0))
    counted = frame.drop_nulls().group_by("label").agg(pl.len().alias("rows"), pl.col("weight").sum())
    binary = layout.task == "binary"
    names = ("0", "1") if binary else layout.classes or tuple(sorted(counted["label"].to_list()))
    counted = pl.DataFrame({"label": list(names)}).join(counted, on="label", how="left").fill_null(0)
    if counted.is_empty() or not counted["weight"].sum():
        return {}
    by_name = {name: place for place, name in enumerate(counted["label"].to_list())}
    rows, weights = counted["rows"].to_numpy().astype(float), counted["weight"].to_numpy()
    figures = classes_from_counts(rows * found.total / found.rows.height, weights)
    if not found.whole and not figures["smallest"]:
        figures["smallest"] = None
    if binary:
        figures["prevalence"] = float(weights[by_name["1"]] / weights.sum())
    return figures


def _of_numbers(label: NDArray[np.float64]) -> dict[str, Any]:
    if not len(label):
        return {}
    sizes = np.abs(label)
    low, high = float(label.min()), float(label.max())
    figures: dict[str, Any] = {
        "label_low": low,
        "label_high": high,
        "zeros": float((label == 0).mean()),
        "commonest": float(np.unique(label, return_counts=True)[1].max() / len(label)),
        "spread": spread(float(label.mean()), float(label.std())),
    }
    if sizes.max() > 0:
        figures["nearness"] = float(sizes[sizes > 0].min() / sizes.mean())
        figures["decades"] = float(np.log10(sizes.max() / sizes[sizes > 0].min()))
    squares = np.sort((label - label.mean()) ** 2)
    if len(label) >= _TAIL_ROWS and squares.sum() > 0:
        figures["tail"] = float(squares[-(len(label) // _TAIL_ROWS) :].sum() / squares.sum())
    return figures


def spread(mean: float, deviation: float) -> float | None:
    """Standard deviation over absolute mean: 0 for a constant, None around 0."""
    if deviation <= _TOLERANCE * abs(mean):
        return 0.0
    return deviation / abs(mean) if mean else None


def _of_queries(found: _Sampled) -> dict[str, Any]:
    layout = found.layout
    if layout.query is None:
        return {}
    grade = pl.col(layout.label).cast(pl.Float64, strict=False)
    frame = found.rows.select(pl.col(layout.query).alias("query"), grade.alias("grade"))
    by_query = frame.group_by("query").agg(
        pl.len().alias("rows"), (pl.col("grade") >= 1).sum().alias("relevant")
    )
    return {
        "documents": float(by_query["rows"].to_numpy().mean()),
        "relevant": float(by_query["relevant"].to_numpy().mean()),
        "grades": frame["grade"].drop_nulls().n_unique(),
    }


def _of_models(found: _Sampled) -> dict[str, Any]:
    """Ends and values of the numbers that models give: of scores, predictions or probabilities."""
    parts = [
        (part, column)
        for model in found.layout.models.values()
        for part, column in model.items()
        if part == "score" or part.startswith("proba|") or found.layout.task == "regression"
    ]
    held = [values for _, column in parts if len(values := found.number(column))]
    figures: dict[str, Any] = _of_quantiles(found) if found.layout.task == "quantile" else {}
    if held:
        figures |= {
            "score_low": float(min(values.min() for values in held)),
            "score_high": float(max(values.max() for values in held)),
        }
    if held and found.layout.task in {"binary", "uplift"}:
        figures |= {
            "top_score": float(min(values.max() for values in held)),
            "bottom_score": float(max(values.min() for values in held)),
            "values": min(len(np.unique(values)) for values in held),
        }
    return figures


def _of_quantiles(found: _Sampled) -> dict[str, Any]:
    levels = [levels_of(list(model)) for model in found.layout.models.values()]
    if not all(levels):
        return {"levels": 0} if not any(levels) else {}
    shared = sorted(set(levels[0]).intersection(*levels[1:]))
    pairs = [
        high - low for low in shared for high in shared if low < high and abs(low + high - 1) < _TOLERANCE
    ]
    return {
        "levels": min(map(len, levels)),
        "median": int(0.5 in shared),
        "widest": round(max(pairs), 9) if pairs else None,
    }


def _mean(values: NDArray[np.float64]) -> float | None:
    return float(values.mean()) if len(values) else None


def with_ends(known: Known, ends: Mapping[str, tuple[float, float]], layout: Layout) -> Known:
    """The figures with the ends of columns over all rows, where a sample may have missed them."""
    single = {"score", "prediction"}
    scores = [
        ends[column]
        for model in layout.models.values()
        for part, column in model.items()
        if column in ends and (part in single or part.startswith("proba|"))
    ]
    figures: dict[str, Any] = {}
    if layout.task in {"regression", "quantile"} and layout.label in ends:
        figures |= dict(zip(("label_low", "label_high"), ends[layout.label], strict=True))
    if scores:
        figures |= {"score_low": min(low for low, _ in scores), "score_high": max(high for _, high in scores)}
    if scores and layout.task in {"binary", "uplift"}:
        figures |= {
            "top_score": min(high for _, high in scores),
            "bottom_score": max(low for low, _ in scores),
        }
    return replace(known, **figures)
