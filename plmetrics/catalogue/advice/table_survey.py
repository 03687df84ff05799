"""Facts of a table from a sample of its rows, for advice on its metrics."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.catalogue.advice.advice_rule import (
    TableFacts,
    class_sizes,
    coefficient_of_variation,
    score_ends,
)
from plmetrics.table.prediction_columns import levels_of

_TAIL_ROWS = 100
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a table by role: `models` holds the column of each part of each model's prediction.

    `ends` are the lowest and the highest value of columns over all rows, which a sample may lack. `labels` are the
    columns of 0 and 1 by class, where rows have several. `own_threshold` are the models with a threshold of their own.
    """

    task: str
    label: str
    models: Mapping[str, Mapping[str, str]]
    positive: Any = None
    weight: str | None = None
    query: str | None = None
    treatment: str | None = None
    classes: tuple[str, ...] = ()
    costs: tuple[float | None, float | None] = (None, None)
    ends: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    own_threshold: Collection[str] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All mentioned columns."""
        labels = (*self.labels.values(),) if self.labels else (self.label,)
        roles = (*labels, self.weight, self.query, self.treatment)
        parts = [column for model in self.models.values() for column in model.values()]
        return (*(name for name in roles if name is not None), *parts)


def survey(
    rows: pl.DataFrame, layout: Layout, total: int | None = None, *, complete: bool = True
) -> TableFacts:
    """Facts of a table from rows of it; `total` is their number, if known, and `whole` whether these are all."""
    sampled = _Sample(rows, layout, max(total or 0, rows.height), complete)
    figures: dict[str, Any] = {"rows": sampled.total, "cost_fp": layout.costs[0], "cost_fn": layout.costs[1]}
    if rows.height:
        figures |= sampled.of_labels() | sampled.of_levels() | sampled.of_scores()
    return TableFacts(task=layout.task, **figures)


@dataclass(frozen=True, slots=True)
class _Sample:
    """Rows of a table, and their figures."""

    rows: pl.DataFrame
    layout: Layout
    total: int
    whole: bool

    def finite(self, column: str) -> pl.Series:
        """The finite values of a column."""
        values = self.rows[column].cast(pl.Float64, strict=False)
        return values.filter(values.is_finite())

    def numbers(self, column: str) -> NDArray[np.float64]:
        """The finite values of a column, as an array."""
        return self.finite(column).to_numpy()

    def ends(self, column: str) -> tuple[float, float] | None:
        """The lowest and the highest finite value of a column, if it has one."""
        if column in self.layout.ends:
            return self.layout.ends[column]
        values = self.numbers(column)
        return (float(values.min()), float(values.max())) if len(values) else None

    def of_labels(self) -> dict[str, Any]:
        """Figures of the labels, or of the task's counterpart of labels."""
        layout = self.layout
        match layout.task:
            case "regression" | "quantile":
                return self.of_numbers()
            case "binary" | "multiclass":
                return self.of_classes()
            case "ranking":
                return self.of_queries()
            case "multilabel":
                return self.of_label_sets()
        values = np.empty(0) if layout.treatment is None else self.numbers(layout.treatment)
        return {"treated": float(values.mean())} if len(values) else {}

    def of_classes(self) -> dict[str, Any]:
        """Shares and sizes of the classes."""
        layout, binary = self.layout, self.layout.task == "binary"
        label, weight = self.rows[layout.label], pl.repeat(1.0, self.rows.height, eager=True)
        if binary and layout.positive is None:
            label = (label.cast(pl.Float64, strict=False) == 1).cast(pl.Int8)
        elif binary:
            positive = pl.Series([layout.positive]).cast(label.dtype, strict=False).drop_nulls()
            label = label.is_in(positive.to_list()).cast(pl.Int8)
        if layout.weight is not None:
            weight = self.rows[layout.weight].cast(pl.Float64, strict=False).fill_nan(None).fill_null(0.0)
        frame = pl.DataFrame({"label": label.cast(pl.String), "weight": weight}).drop_nulls()
        counted = frame.group_by("label").agg(pl.len().alias("rows"), pl.col("weight").sum())
        names = ("0", "1") if binary else layout.classes or tuple(sorted(counted["label"].to_list()))
        counted = pl.DataFrame({"label": list(names)}).join(counted, on="label", how="left").fill_null(0)
        if counted.is_empty() or not counted["weight"].sum():
            return {}
        rows, weights = counted["rows"].to_numpy().astype(float), counted["weight"].to_numpy()
        figures = class_sizes(rows * self.total / self.rows.height, weights)
        if not self.whole and not figures["smallest"]:
            figures["smallest"] = None
        if binary:
            figures["prevalence"] = counted.filter(label="1")["weight"].item() / float(weights.sum())
        return figures

    def of_label_sets(self) -> dict[str, Any]:
        """Figures of multilabel sets."""
        columns = [self.numbers(column) for column in self.layout.labels.values()]
        if not columns or not all(map(len, columns)):
            return {}
        shares = [float((column != 0).mean()) for column in columns]
        return {
            "classes": len(shares),
            "smallest": int(min(shares) * self.total) if self.whole or min(shares) else None,
            "per_row": sum(shares),
        }

    def of_numbers(self) -> dict[str, Any]:
        """Figures of a numeric label."""
        label, ends = self.numbers(self.layout.label), self.ends(self.layout.label)
        figures: dict[str, Any] = {} if ends is None else {"label_low": ends[0], "label_high": ends[1]}
        if not len(label):
            return figures
        sizes = np.abs(label)
        figures["zeros"] = float((label == 0).mean())
        figures["commonest"] = float(np.unique(label, return_counts=True)[1].max() / len(label))
        figures["spread"] = coefficient_of_variation(float(label.mean()), float(label.std()))
        if sizes.max() > 0:
            figures["nearness"] = float(sizes[sizes > 0].min() / sizes.mean())
            figures["decades"] = float(np.log10(sizes.max() / sizes[sizes > 0].min()))
        squares = np.sort((label - label.mean()) ** 2)
        if len(label) >= _TAIL_ROWS and squares.sum() > 0:
            figures["tail"] = float(squares[-(len(label) // _TAIL_ROWS) :].sum() / squares.sum())
        return figures

    def of_queries(self) -> dict[str, Any]:
        """Figures of the documents of a query."""
        if self.layout.query is None:
            return {}
        grade = pl.col(self.layout.label).cast(pl.Float64, strict=False)
        frame = self.rows.select(pl.col(self.layout.query).alias("query"), grade.alias("grade"))
        by_query = frame.group_by("query").agg(documents=pl.len(), relevant=(pl.col("grade") >= 1).sum())
        means = {name: float(by_query[name].to_numpy().mean()) for name in ("documents", "relevant")}
        return {**means, "grades": frame["grade"].drop_nulls().n_unique()}

    def of_scores(self) -> dict[str, Any]:
        """Ends and values of the models' numbers: scores, predictions or probabilities."""
        columns = {
            (name, part): column
            for name, model in self.layout.models.items()
            for part, column in model.items()
            if part == "score" or part.startswith("proba|") or self.layout.task == "regression"
        }
        called = any("prediction" in model for model in self.layout.models.values())
        ends = {key: pair for key, column in columns.items() if (pair := self.ends(column)) is not None}
        if not ends:
            return {"called": 1} if called else {}
        if self.layout.task not in {"binary", "uplift"}:
            lows, highs = zip(*ends.values(), strict=True)
            return {"score_low": min(lows), "score_high": max(highs)}
        by_model = {name: pair for (name, _), pair in ends.items()}
        sizes = [values.n_unique() for column in columns.values() if len(values := self.finite(column))]
        return {**score_ends(by_model, self.layout.own_threshold), "values": min(sizes, default=None)}

    def of_levels(self) -> dict[str, Any]:
        """Figures of the levels of quantiles."""
        if self.layout.task != "quantile":
            return {}
        levels = [levels_of(list(model)) for model in self.layout.models.values()]
        if not all(levels):
            return {"levels": 0} if not any(levels) else {}
        shared = sorted(set(levels[0]).intersection(*levels[1:]))
        widths = [
            high - low for low in shared for high in shared if low < high and abs(low + high - 1) < _TOLERANCE
        ]
        widest = round(max(widths), 9) if widths else None
        return {"levels": min(map(len, levels)), "median": int(0.5 in shared), "widest": widest}
