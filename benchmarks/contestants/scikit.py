"""scikit-learn and fairlearn: columns read beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from benchmarks.contestants.contestant import Contestant, Values

if TYPE_CHECKING:
    from pathlib import Path

Columns = tuple["np.ndarray[Any, Any]", "np.ndarray[Any, Any]"]


def columns(folder: Path) -> Columns:
    """Label and score of the first model, in memory."""
    frame = pl.read_parquet(folder / "*.parquet", columns=["label", "s0"])
    return frame["label"].to_numpy(), frame["s0"].to_numpy()


def overall(**found: float) -> Values:
    """Values of the first model without slices."""
    return {f"s0 {metric} all": (float(value), 0.0) for metric, value in found.items()}


def auc(loaded: Columns) -> Any:
    """One call of roc_auc_score."""
    from sklearn.metrics import roc_auc_score

    return roc_auc_score(*loaded)


def counts(loaded: Columns) -> dict[str, Any]:
    """A function call a metric."""
    from sklearn import metrics

    label, score = loaded
    called = (score >= 0.5).astype(label.dtype)
    return {
        "accuracy": metrics.accuracy_score(label, called),
        "precision": metrics.precision_score(label, called),
        "recall": metrics.recall_score(label, called),
        "f1": metrics.f1_score(label, called),
        "mcc": metrics.matthews_corrcoef(label, called),
        "brier": metrics.brier_score_loss(label, score),
    }


def frame_by_cell(loaded: Any) -> Any:
    """One MetricFrame of AUC and Brier score."""
    from fairlearn.metrics import MetricFrame
    from sklearn.metrics import brier_score_loss, roc_auc_score

    return MetricFrame(
        metrics={"roc_auc": roc_auc_score, "brier": brier_score_loss},
        y_true=loaded["label"],
        y_pred=loaded["s0"],
        sensitive_features=loaded[["country", "device"]],
    ).by_group


def cells(by_group: Any) -> Values:
    """Values of a MetricFrame; an undefined one is left out."""
    return {
        f"s0 {metric} country={country}, device={device}": (float(value), 0.0)
        for metric, column in by_group.items()
        for (country, device), value in column.items()
        if np.isfinite(value)
    }


def pandas_frame(folder: Path) -> Any:
    """The columns as a pandas frame."""
    names = ["label", "s0", "country", "device"]
    return pl.read_parquet(folder / "*.parquet", columns=names).to_pandas()


SCIKIT = (
    Contestant(
        "sklearn_auc",
        "label and score as NumPy arrays; one `roc_auc_score`, one model, no slices",
        columns,
        auc,
        lambda value: overall(roc_auc=value),
        packages=("sklearn",),
    ),
    Contestant(
        "sklearn_counts",
        "label and score as NumPy arrays; one function a metric",
        columns,
        counts,
        lambda found: overall(**found),
        packages=("sklearn",),
    ),
    Contestant(
        "fairlearn_by_cell",
        "the four columns as a pandas frame; one `MetricFrame`, 60 cells",
        pandas_frame,
        frame_by_cell,
        cells,
        packages=("fairlearn", "sklearn", "pandas", "pyarrow"),
    ),
)
