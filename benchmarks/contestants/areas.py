"""DeLong's variance of areas under ROC curves: MLstatkit, confidenceinterval and ours."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import polars as pl

from benchmarks.contestants.contestant import Contestant, Values
from benchmarks.contestants.ours import Evaluation, models

if TYPE_CHECKING:
    from pathlib import Path

MODELS = tuple(models(4))
_SLACK = 1e-6
"""The others compute in single precision, in part."""


def columns(folder: Path) -> dict[str, Any]:
    """The label and the scores of four models, in memory."""
    frame = pl.read_parquet(folder / "*.parquet", columns=["label", *MODELS])
    return {name: frame[name].to_numpy() for name in frame.columns}


def mlstatkit_pairs(loaded: dict[str, Any]) -> dict[str, float]:
    """A call for each of the six pairs: z, signed as the later model less the earlier."""
    from MLstatkit import Delong_test

    label = loaded["label"]
    return {
        f"{other} - {one}": Delong_test(label, loaded[one], loaded[other], return_ci=False, return_auc=False)[
            0
        ]
        for one, other in combinations(MODELS, 2)
    }


def confidenceinterval_areas(loaded: dict[str, Any]) -> dict[str, tuple[float, tuple[float, float]]]:
    """A call for each of the four models: its area and the ends of its interval."""
    from confidenceinterval import roc_auc_score

    return {model: roc_auc_score(loaded["label"], loaded[model]) for model in MODELS}


def areas(result: Any) -> Values:
    """The areas, and z of each pair."""
    tests = result.comparisons.filter(pl.col("test") == "delong")
    found = {f"{m} roc_auc": (value, 0.0) for m, value in result.metrics.select("model", "value").iter_rows()}
    ordered = tests.select("model", "baseline", "difference", "std_error").iter_rows()
    for model, baseline, difference, error in ordered:
        later, earlier = max(model, baseline), min(model, baseline)
        z = difference / error if later == model else -difference / error
        found[f"{later} - {earlier}"] = (z, abs(z) * _SLACK)
    return found


def _ours(name: str, what: str, **arguments: Any) -> Contestant:
    work = Evaluation({"models": models(4), "metrics": ["roc_auc"], **arguments})
    return Contestant(name, f"parquet; {what}", lambda folder: folder, work, areas)


CONTESTANTS = (
    Contestant(
        "mlstatkit_pairs",
        "label and scores as NumPy arrays; `Delong_test` of each of six pairs",
        columns,
        mlstatkit_pairs,
        lambda found: {pair: (z, abs(z) * _SLACK) for pair, z in found.items()},
        packages=("MLstatkit",),
    ),
    Contestant(
        "confidenceinterval_areas",
        "label and scores as NumPy arrays; `roc_auc_score` with DeLong's interval of each model, no test",
        columns,
        confidenceinterval_areas,
        lambda found: {f"{model} roc_auc": (float(area), _SLACK) for model, (area, _) in found.items()},
        packages=("confidenceinterval",),
    ),
    _ours("delong_tests", "DeLong's test of six pairs", compare={"pairs": "all", "tests": ["delong"]}),
    _ours("delong_intervals", "areas of four models with intervals", uncertainty={"method": "analytic"}),
)
