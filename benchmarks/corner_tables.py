"""Tables of the benchmark `corners`: one a task, with a weight and a column of 50 slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

SLICES, CLASSES, LENGTH = 50, 10, 20
QUANTILES = tuple(round(0.1 * place, 1) for place in range(1, 10))


def corner_table(task: str, rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """The table of a task; of a ranking each 20 rows are a query, which lies in one slice."""
    columns = _COLUMNS[task](rng, rows)
    units = -(-rows // LENGTH) if task == "ranking" else rows
    unit = np.arange(rows) // LENGTH if task == "ranking" else np.arange(rows)
    group, weight = rng.integers(0, SLICES, units), rng.random(units) + 0.5
    return pl.DataFrame(columns | {"group": group[unit].astype(np.int16), "weight": weight[unit]})


def _sigmoid(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-values))


def _binary(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    label = rng.random(rows) < 0.2
    return {"label": label.astype(np.int8), "score": _sigmoid(1.2 * label - 1 + rng.normal(size=rows))}


def _multiclass(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    label = rng.integers(0, CLASSES, rows)
    raw = np.exp(rng.normal(size=(rows, CLASSES)) + 1.5 * (np.arange(CLASSES) == label[:, None]))
    share = raw / raw.sum(axis=1, keepdims=True)
    return {"label": label.astype(np.int8)} | {f"p{number}": share[:, number] for number in range(CLASSES)}


def _multilabel(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    label = rng.random((rows, CLASSES)) < 0.2
    score = _sigmoid(1.2 * label - 1 + rng.normal(size=(rows, CLASSES)))
    columns = {f"is_{number}": label[:, number].astype(np.int8) for number in range(CLASSES)}
    return columns | {f"p_{number}": score[:, number] for number in range(CLASSES)}


def _regression(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    label = rng.gamma(2.0, 50.0, rows)
    score = label * np.exp(0.2 * rng.normal(size=rows))
    return {"label": label, "score": score, "naive": np.abs(label - rng.gamma(2.0, 50.0, rows))}


def _quantile(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    centre = rng.gamma(2.0, 50.0, rows)
    members = centre[:, None] + 20.0 * np.sort(rng.normal(size=(rows, len(QUANTILES))), axis=1)
    quantiles = {f"q{level}": members[:, place] for place, level in enumerate(QUANTILES)}
    return {"label": centre + 20.0 * rng.normal(size=rows)} | quantiles


def _ranking(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    label = rng.choice([0, 0, 0, 0, 1, 2], rows)
    return {
        "query": (np.arange(rows) // LENGTH).astype(np.int32),
        "document": (np.arange(rows) % LENGTH).astype(np.int32),
        "label": label.astype(np.int8),
        "score": (label + 2 * rng.normal(size=rows)).round(2),
    }


def _uplift(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    treated, effect = rng.random(rows) < 0.5, rng.normal(0.05, 0.05, rows)
    outcome = rng.random(rows) < 0.2 + np.where(treated, effect, 0.0)
    return {
        "label": outcome.astype(np.int8),
        "treated": treated.astype(np.int8),
        "score": effect + 0.05 * rng.normal(size=rows),
        "propensity": np.full(rows, 0.5),
        "control": np.full(rows, 0.2),
        "effect": 0.2 + effect,
    }


_COLUMNS = {
    "binary": _binary,
    "multiclass": _multiclass,
    "multilabel": _multilabel,
    "regression": _regression,
    "quantile": _quantile,
    "ranking": _ranking,
    "uplift": _uplift,
}
TASKS = tuple(_COLUMNS)
