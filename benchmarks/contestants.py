"""Who runs: each contestant does the whole of its work on a folder of parquet, imports excepted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

Contestant = Callable[[Path], Any]

SUMS = ["accuracy", "precision", "recall", "f1", "brier", "log_loss"]


def scan(folder: Path) -> Any:
    """A bare streaming scan of the columns the sums scenario reads: something of each, nothing else."""
    columns = ["label", "s0", "s1"]
    text = [pl.col(name).str.len_bytes().sum() for name in ("country", "device")]
    return pl.scan_parquet(folder).select(*(pl.col(name).sum() for name in columns), *text).collect()


def evaluate(folder: Path, **arguments: Any) -> Any:
    """Our evaluation of both models, by country x device unless told otherwise."""
    import plmetrics as plm

    defaults: dict[str, Any] = {
        "label": "label",
        "models": {"a": "s0", "b": "s1"},
        "slices": {"cell": ["country", "device"]},
    }
    return plm.evaluate(str(folder), **(defaults | arguments))


def sums(folder: Path) -> Any:
    """Ours: sums-family metrics in 60 cells."""
    return evaluate(folder, metrics=SUMS)


def auc_overall(folder: Path) -> Any:
    """Ours: exact ROC AUC of one model, no slices."""
    return evaluate(folder, metrics=["roc_auc"], models={"a": "s0"}, slices=None)


def auc_by_cell(folder: Path) -> Any:
    """Ours: exact ROC AUC and Brier score of one model in 60 cells."""
    return evaluate(folder, metrics=["roc_auc", "brier"], models={"a": "s0"})


def everything(folder: Path, replicates: int | None = None) -> Any:
    """Ours: ordered and sums metrics of both models in 60 cells, with or without replicates."""
    metrics = ["roc_auc", "average_precision", "ks", "ece", *SUMS]
    uncertainty = None if replicates is None else {"replicates": replicates}
    return evaluate(folder, metrics=metrics, unit="customer", uncertainty=uncertainty)


def everything_with_intervals(folder: Path) -> Any:
    """Ours: the same with 1000 replicates by customer."""
    return everything(folder, 1000)


def sklearn_auc(folder: Path) -> Any:
    """scikit-learn: roc_auc_score of one model on columns read beforehand."""
    from sklearn.metrics import roc_auc_score

    label, score = _columns(folder)
    return lambda: roc_auc_score(label, score)


def fairlearn_auc(folder: Path) -> Any:
    """fairlearn: MetricFrame of AUC and Brier score of one model in 60 cells, on columns read beforehand."""
    from fairlearn.metrics import MetricFrame
    from sklearn.metrics import brier_score_loss, roc_auc_score

    frame = pl.read_parquet(folder, columns=["label", "s0", "country", "device"]).to_pandas()
    return lambda: MetricFrame(
        metrics={"auc": roc_auc_score, "brier": brier_score_loss},
        y_true=frame["label"],
        y_pred=frame["s0"],
        sensitive_features=frame[["country", "device"]],
    )


def _columns(folder: Path) -> tuple[Any, Any]:
    frame = pl.read_parquet(folder, columns=["label", "s0"])
    return frame["label"].to_numpy(), frame["s0"].to_numpy()


CONTESTANTS: dict[str, Contestant] = {
    contestant.__name__: contestant
    for contestant in (
        scan,
        sums,
        auc_overall,
        auc_by_cell,
        everything,
        everything_with_intervals,
        sklearn_auc,
        fairlearn_auc,
    )
}
