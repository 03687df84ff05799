"""Twenty classes: every rate of every class, by us and by scikit-learn's report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from benchmarks.contestants.contestant import Contestant, Values
from benchmarks.tables import CLASSES

if TYPE_CHECKING:
    from pathlib import Path

RATES = ("precision", "recall", "f1")
METRICS = ["accuracy"]
METRICS += [f"{name}{average}" for name in RATES for average in ("", "(average=weighted)", "(average=none)")]
_AVERAGES = {"macro avg": "", "weighted avg": "(average=weighted)"}


def load(folder: Path) -> Any:
    """Labels and calls as NumPy arrays."""
    frame = pl.read_parquet(folder / "*.parquet", columns=["class", "called"])
    return frame["class"].to_numpy(), frame["called"].to_numpy()


def report(loaded: Any) -> Any:
    """One call of classification_report."""
    from sklearn.metrics import classification_report

    return classification_report(*loaded, output_dict=True)


def report_values(found: Any) -> Values:
    """Its numbers by our names."""
    out: Values = {"accuracy ": (found["accuracy"], 0.0)}
    for rate in RATES:
        for row, average in _AVERAGES.items():
            out[f"{rate}{average} "] = (found[row][f"{rate}-score" if rate == "f1" else rate], 0.0)
        for number in range(CLASSES):
            value = found[str(number)][f"{rate}-score" if rate == "f1" else rate]
            out[f"{rate}(average=none) {number}"] = (value, 0.0)
    return out


def ours(folder: Path) -> Any:
    """The same numbers from parquet."""
    import plmetrics as plm

    return plm.evaluate(
        str(folder),
        task="multiclass",
        label="class",
        models="called",
        classes=list(range(CLASSES)),
        metrics=METRICS,
    )


def our_values(result: Any) -> Values:
    """Values by metric and class."""
    rows = result.metrics.select("metric", pl.col("class").fill_null(""), "value").iter_rows()
    return {f"{metric} {name}": (value, 0.0) for metric, name, value in rows}


CONTESTANTS = (
    Contestant(
        "sklearn_report",
        "labels and calls as NumPy arrays; one `classification_report`",
        load,
        report,
        report_values,
        packages=("sklearn",),
    ),
    Contestant("classes", "parquet; the same rates and averages", lambda folder: folder, ours, our_values),
)
