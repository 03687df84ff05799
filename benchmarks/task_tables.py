"""Tables of every task in narrow columns, so that hundreds of millions of rows fit on a disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

REGIONS = pl.Series([f"region_{index:02d}" for index in range(20)])
GROUPS = pl.Series(["a", "b", "c", "d"])
CUSTOMERS = 1_000_000
QUERY_ROWS = 100
CLASSES = 5
LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
_NORMAL_QUANTILES = (-1.2816, -0.6745, 0.0, 0.6745, 1.2816)
_SPREAD = 20.0

Generator = np.random.Generator


def _noise(rng: Generator, *shape: int) -> NDArray[np.float32]:
    return rng.standard_normal(shape, dtype=np.float32)


def _logistic(margin: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.float32(1) / (np.float32(1) + np.exp(-margin))


def _common(rng: Generator, rows: int) -> dict[str, pl.Series]:
    """A region, and one of a million customers, which is what intervals resample."""
    region = REGIONS.gather(rng.integers(0, len(REGIONS), rows, dtype=np.uint32))
    return {"region": region, "customer": pl.Series(rng.integers(0, CUSTOMERS, rows, dtype=np.int32))}


def _binary(rng: Generator, first: int, rows: int) -> pl.DataFrame:  # noqa: ARG001
    """A fifth are positive, and two models see some of that; the second half of the year drifts a little."""
    label = rng.random(rows, dtype=np.float32) < 0.2
    scores = {f"s{model}": _logistic((1.2 + 0.1 * model) * label + _noise(rng, rows) - 1) for model in (0, 1)}
    group = GROUPS.gather(rng.integers(0, len(GROUPS), rows, dtype=np.uint32))
    month = rng.integers(1, 13, rows, dtype=np.int8)
    amount = np.exp(_noise(rng, rows)) * np.where(month > 6, 1.05, 1.0).astype(np.float32)
    columns = {"label": label.astype(np.int8), **scores, "group": group, "month": month, "amount": amount}
    return pl.DataFrame(columns | _common(rng, rows))


def _classes(rng: Generator, first: int, rows: int) -> pl.DataFrame:  # noqa: ARG001
    """Probabilities of five classes, which add to one in single precision."""
    label = rng.integers(0, CLASSES, rows, dtype=np.int8)
    margin = np.exp(_noise(rng, CLASSES, rows) + 1.5 * (np.arange(CLASSES, dtype=np.int8)[:, None] == label))
    margin /= margin.sum(axis=0)
    probabilities = {f"p{index}": margin[index] for index in range(CLASSES)}
    return pl.DataFrame({"label": label, **probabilities} | _common(rng, rows))


def _numbers(rng: Generator, first: int, rows: int) -> pl.DataFrame:  # noqa: ARG001
    centre = rng.standard_gamma(2.0, rows, dtype=np.float32) * 50
    label = centre + _SPREAD * _noise(rng, rows)
    return pl.DataFrame({"label": label, "s0": centre, "s1": centre + 5} | _common(rng, rows))


def _quantiles(rng: Generator, first: int, rows: int) -> pl.DataFrame:  # noqa: ARG001
    """Quantiles of the noise about a forecast, a little too close together."""
    centre = rng.standard_gamma(2.0, rows, dtype=np.float32) * 50
    levels = {
        f"q{round(100 * level)}": centre + np.float32(0.9 * _SPREAD * far)
        for level, far in zip(LEVELS, _NORMAL_QUANTILES, strict=True)
    }
    return pl.DataFrame({"label": centre + _SPREAD * _noise(rng, rows), **levels} | _common(rng, rows))


def _queries(rng: Generator, first: int, rows: int) -> pl.DataFrame:
    """A hundred documents a query, the first of them relevant."""
    row = np.arange(first, first + rows)
    relevance = np.where(row % QUERY_ROWS == 0, 1, rng.choice([0, 0, 0, 0, 0, 0, 0, 1, 2], rows)).astype(
        np.int8
    )
    query = (row // QUERY_ROWS).astype(np.int32)
    region = REGIONS.gather((query % len(REGIONS)).astype(np.uint32))
    score = relevance + 1.5 * _noise(rng, rows)
    return pl.DataFrame({"label": relevance, "query": query, "score": score, "region": region})


def _arms(rng: Generator, first: int, rows: int) -> pl.DataFrame:  # noqa: ARG001
    """Half are treated, which helps those with a high predicted effect."""
    treated = rng.random(rows, dtype=np.float32) < 0.5
    effect = np.float32(0.1) * _noise(rng, rows)
    outcome = rng.random(rows, dtype=np.float32) < 0.2 + treated * np.clip(effect, -0.15, 0.3)
    columns = {"label": outcome.astype(np.int8), "treatment": treated.astype(np.int8), "effect": effect}
    return pl.DataFrame(columns | _common(rng, rows))


TASK_TABLES: Mapping[str, Callable[[Generator, int, int], pl.DataFrame]] = {
    "task-binary": _binary,
    "task-multiclass": _classes,
    "task-regression": _numbers,
    "task-quantile": _quantiles,
    "task-ranking": _queries,
    "task-uplift": _arms,
}
