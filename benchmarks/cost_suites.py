"""Suites whose times tell what each kind of work costs, and others, drawn at random, that the costs are judged on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.contestants.ours import FLAGSHIP, SUMS, models

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SIZES = (250_000, 2_000_000)
SMALLEST, LARGEST = 300_000, 4_000_000
ORDERED = ("roc_auc", "average_precision", "ks")
_SETS: tuple[dict[str, Any], ...] = (
    {},
    {"device": "device"},
    {"country": "country"},
    {"cell": ["country", "device"]},
    {"country": "country", "device": "device", "cell": ["country", "device"]},
)
_REGRESSION = ("mae", "rmse", "r2", "mape", "median_absolute_error", "absolute_error_quantile(q=0.9)")
_RANKING = ("ndcg@10", "map", "mrr", "precision_at_k(k=10)")
_QUANTILES = ("wis", "crps", "mae", "interval_coverage(level=0.8)")
_LEVELS = {f"0.{place}": f"q{place}0" for place in range(1, 10)}


@dataclass(frozen=True, slots=True)
class CostSuite:
    """A suite without its data, on a table of some kind."""

    name: str
    table: str
    rows: int
    suite: Mapping[str, Any]


def _binary(number: int, metrics: Sequence[str], **others: Any) -> dict[str, Any]:
    return {"columns": {"label": "label"}, "models": models(number), "metrics": list(metrics)} | others


def _by_customer(replicates: int, slices: Mapping[str, Any] | None = None) -> dict[str, Any]:
    sampling = {"replicates": replicates, "seed": 7}
    columns = {"label": "label", "unit": "customer"}
    return {"columns": columns, "uncertainty": sampling, "slices": dict(slices or {})}


def fitted_suites() -> Iterator[CostSuite]:
    """Suites that do one thing more than another, each at several sizes."""
    forecasts = {"task": "regression", "models": models(1)}
    errors = forecasts | {"metrics": list(_REGRESSION)}
    quantiles = {"task": "quantile", "models": {"m": {"quantiles": _LEVELS}}, "columns": {"label": "label"}}
    ranking = {
        "task": "ranking",
        "columns": {"label": "relevance", "query": "query"},
        "models": {"s": "score"},
    }
    every: list[tuple[str, str, dict[str, Any]]] = [
        ("one_count", "scores", _binary(1, ["accuracy"])),
        ("one_sum", "scores", _binary(1, ["log_loss"])),
        ("sums", "scores", _binary(4, SUMS)),
        ("sums_sliced", "scores", _binary(2, SUMS, slices=_SETS[4])),
        ("sums_sliced_of_four", "scores", _binary(4, SUMS, slices=_SETS[3])),
        ("sums_replicated", "scores", _binary(2, SUMS) | _by_customer(200)),
        ("sums_sliced_replicated", "scores", _binary(2, SUMS) | _by_customer(1000, _SETS[3])),
        ("sums_compared", "scores", _binary(4, SUMS, compare="s0") | _by_customer(400, _SETS[4])),
        ("sums_reproducible", "scores", _binary(2, SUMS, slices=_SETS[3], reproducible=True)),
        ("area", "scores", _binary(1, ["roc_auc"], exact=True)),
        ("areas", "scores", _binary(4, ["roc_auc"], exact=True)),
        ("areas_sliced", "scores", _binary(2, ["roc_auc"], exact=True, slices=_SETS[4])),
        ("ordered", "scores", _binary(2, ORDERED, exact=True)),
        ("ordered_sliced", "scores", _binary(2, ORDERED, exact=True, slices=_SETS[3])),
        ("grid", "scores", _binary(2, ORDERED, exact=False)),
        ("grid_sliced", "scores", _binary(2, ORDERED, exact=False, slices=_SETS[4])),
        ("grid_replicated", "scores", _binary(1, ORDERED, exact=False) | _by_customer(200)),
        ("grid_sliced_replicated", "scores", _binary(2, ORDERED, exact=False) | _by_customer(500, _SETS[3])),
        ("exact_replicated", "scores", _binary(2, ORDERED, exact=True) | _by_customer(200, _SETS[1])),
        ("flagship", "scores", _binary(2, FLAGSHIP, compare="s0") | _by_customer(300, _SETS[4])),
        ("chosen_threshold", "scores", _binary(1, ["recall(threshold=max(f1))"])),
        (
            "errors",
            "forecasts",
            forecasts | {"columns": {"label": "label"}, "metrics": list(_REGRESSION[:4])},
        ),
        (
            "errors_in_order",
            "forecasts",
            forecasts | {"columns": {"label": "label"}, "metrics": list(_REGRESSION)},
        ),
        (
            "errors_replicated",
            "forecasts",
            forecasts | {"metrics": list(_REGRESSION)} | _by_customer(200, _SETS[2]),
        ),
        ("errors_on_grid", "forecasts", errors | {"columns": {"label": "label"}, "exact": False}),
        ("errors_on_grid_replicated", "forecasts", errors | {"exact": False} | _by_customer(200, _SETS[2])),
        ("quantiles", "forecasts", quantiles | {"metrics": list(_QUANTILES)}),
        (
            "quantiles_sliced",
            "forecasts",
            quantiles | {"metrics": list(_QUANTILES)} | _by_customer(200, _SETS[1]),
        ),
        ("queries", "queries", ranking | {"metrics": list(_RANKING)}),
        (
            "queries_replicated",
            "queries",
            ranking | {"metrics": list(_RANKING[:2]), "uncertainty": {"replicates": 500}},
        ),
    ]
    for name, table, suite in every:
        for rows in SIZES:
            yield CostSuite(f"{name} {rows}", table, rows, suite)


def random_suites(number: int, seed: int) -> Iterator[CostSuite]:
    """Suites of random metrics, slices, models, replicates and rows."""
    rng = np.random.default_rng(seed)
    for place in range(number):
        rows = round(float(np.exp(rng.uniform(np.log(SMALLEST), np.log(LARGEST)))), -3)
        slices = _SETS[rng.integers(len(_SETS))]
        resampled = _by_customer(int(rng.choice([100, 200, 500, 1000])), slices) if rng.random() < 0.5 else {}
        kind = str(rng.choice(["scores", "scores", "scores", "forecasts", "queries"]))
        if kind == "scores":
            metrics = [name for name in (*ORDERED, *SUMS) if rng.random() < 0.4] or ["roc_auc"]
            suite = _binary(int(rng.integers(1, 5)), metrics, slices=slices, exact=bool(rng.random() < 0.5))
        elif kind == "forecasts":
            metrics = [name for name in _REGRESSION if rng.random() < 0.5] or ["mae"]
            suite = _binary(1, metrics, slices=slices, task="regression")
        else:
            metrics = [name for name in _RANKING if rng.random() < 0.6] or ["map"]
            suite = _binary(1, metrics, task="ranking", models={"s": "score"})
            suite["columns"] = {"label": "relevance", "query": "query"}
            resampled = {"uncertainty": resampled["uncertainty"]} if resampled else {}
        yield CostSuite(f"random {place}: {kind}, {len(metrics)} metrics", kind, int(rows), suite | resampled)
