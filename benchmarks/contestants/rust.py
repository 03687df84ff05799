"""rapidstats and polars-ds, Rust beneath Polars: columns read beforehand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from benchmarks.contestants.contestant import Contestant, Values
from benchmarks.contestants.scikit import Columns, columns, overall

if TYPE_CHECKING:
    from pathlib import Path

COUNTS = {"accuracy": "acc", "precision": "precision", "recall": "tpr", "mcc": "mcc"}
CELL = ("country", "device")
GROUPINGS: tuple[tuple[str, ...], ...] = ((), ("country",), ("device",), CELL)


def rapidstats_counts(loaded: Columns) -> dict[str, Any]:
    """One confusion matrix and the Brier loss."""
    from rapidstats import metrics

    label, score = loaded
    table = metrics.confusion_matrix(label, score >= 0.5)
    found = {ours: getattr(table, theirs) for ours, theirs in (COUNTS | {"f1": "fbeta"}).items()}
    return found | {"brier": metrics.brier_loss(label, score)}


def rapidstats_auc(loaded: Columns) -> Any:
    """One call of roc_auc."""
    from rapidstats import metrics

    return metrics.roc_auc(*loaded)


def rapidstats_tenth(loaded: Columns) -> tuple[float, float, float]:
    """Percentile interval of ROC AUC from 100 resamples of rows, and the estimate itself.

    Left to itself it holds hundreds of resamples at once, 2 GB on 100,000 rows; in chunks it is faster as well.
    """
    from rapidstats import Bootstrap, metrics

    lower, _, upper = Bootstrap(iterations=100, seed=7, chunksize=16).roc_auc(*loaded)
    return lower, metrics.roc_auc(*loaded), upper


def frame(folder: Path) -> pl.DataFrame:
    """The columns of two models as a Polars frame, labels as polars-ds asks for them."""
    names = ["label", "s0", "s1", "country", "device"]
    return pl.read_parquet(folder / "*.parquet", columns=names).with_columns(pl.col("label").cast(pl.UInt32))


def polars_ds_auc(loaded: pl.DataFrame) -> Any:
    """One expression."""
    import polars_ds as pds

    return loaded.select(pds.query_roc_auc("label", "s0")).item()


def polars_ds_counts(loaded: pl.DataFrame) -> Any:
    """The confusion matrix and the mean squared error as expressions."""
    import polars_ds as pds

    matrix = pds.query_confusion_matrix("label", "s0", all_metrics=True).alias("matrix")
    found = (
        loaded.select(matrix, pds.query_l2("label", "s0").alias("brier")).unnest("matrix").row(0, named=True)
    )
    return {ours: found[theirs] for ours, theirs in (COUNTS | {"f1": "f1", "brier": "brier"}).items()}


def polars_ds_by_cell(loaded: pl.DataFrame) -> pl.DataFrame:
    """ROC AUC and mean squared error in one group_by."""
    import polars_ds as pds

    wanted = [
        pds.query_roc_auc("label", "s0").alias("s0 roc_auc"),
        pds.query_l2("label", "s0").alias("s0 brier"),
    ]
    return loaded.group_by(CELL).agg(wanted)


def polars_ds_cube(loaded: pl.DataFrame) -> list[pl.DataFrame]:
    """The expressions of both models, grouped four times."""
    wanted = [expression for model in ("s0", "s1") for expression in cube_expressions(model)]
    return [loaded.group_by(keys).agg(wanted) if keys else loaded.select(wanted) for keys in GROUPINGS]


def cube_expressions(model: str) -> list[pl.Expr]:
    """The package's expressions that hold in a group_by of large groups, plain Polars for the rest.

    With polars-ds 0.13 its confusion matrix panics in a group_by, and its MCC is wrong for groups of 500,000 rows.
    """
    import polars_ds as pds

    hit, label = pl.col(model) >= 0.5, pl.col("label") == 1
    rows, positives, called, caught = (
        total.cast(pl.Float64) for total in (pl.len(), label.sum(), hit.sum(), (hit & label).sum())
    )
    spread = (positives * called * (rows - positives) * (rows - called)).sqrt()
    return [
        pds.query_log_loss("label", model).alias(f"{model} log_loss"),
        pds.query_l2("label", model).alias(f"{model} brier"),
        ((rows - positives - called + 2 * caught) / rows).alias(f"{model} accuracy"),
        (caught / called).alias(f"{model} precision"),
        (caught / positives).alias(f"{model} recall"),
        (2 * caught / (called + positives)).alias(f"{model} f1"),
        ((rows * caught - positives * called) / spread).alias(f"{model} mcc"),
        (called / rows).alias(f"{model} selection_rate"),
    ]


def grouped_values(grouped: pl.DataFrame, keys: tuple[str, ...]) -> Values:
    """Values of a grouped frame; an undefined one is left out."""
    found: Values = {}
    for row in grouped.iter_rows(named=True):
        slice_ = ", ".join(f"{key}={row.pop(key)}" for key in keys) or "all"
        found |= {f"{name} {slice_}": (value, 0.0) for name, value in row.items() if math.isfinite(value)}
    return found


def cube_values(frames: list[pl.DataFrame]) -> Values:
    """Values of the four groupings."""
    found: Values = {}
    for keys, grouped in zip(GROUPINGS, frames, strict=True):
        found |= grouped_values(grouped, keys)
    return found


def interval_values(found: tuple[float, float, float]) -> Values:
    """Estimate and ends of its interval, which 100 resamples tell to about a standard error."""
    lower, value, upper = found
    key, slack = "s0 roc_auc all", (upper - lower) / 4
    return {key: (value, 0.0), f"{key} lower": (lower, slack), f"{key} upper": (upper, slack)}


RAPIDSTATS = (
    Contestant(
        "rapidstats_auc",
        "label and score as NumPy arrays; `metrics.roc_auc`",
        columns,
        rapidstats_auc,
        lambda value: overall(roc_auc=value),
        packages=("rapidstats",),
    ),
    Contestant(
        "rapidstats_counts",
        "label and score as NumPy arrays; one `confusion_matrix` and `brier_loss`",
        columns,
        rapidstats_counts,
        lambda found: overall(**found),
        packages=("rapidstats",),
    ),
    Contestant(
        "rapidstats_tenth",
        "label and score as NumPy arrays; `Bootstrap(100, chunksize=16).roc_auc`, percentile interval",
        columns,
        rapidstats_tenth,
        interval_values,
        packages=("rapidstats",),
    ),
)

POLARS_DS = (
    Contestant(
        "polars_ds_auc",
        "the columns as a Polars frame, labels cast; `query_roc_auc`",
        frame,
        polars_ds_auc,
        lambda value: overall(roc_auc=value),
        packages=("polars_ds",),
    ),
    Contestant(
        "polars_ds_counts",
        "the columns as a Polars frame, labels cast; `query_confusion_matrix` and `query_l2`",
        frame,
        polars_ds_counts,
        lambda found: overall(**found),
        packages=("polars_ds",),
    ),
    Contestant(
        "polars_ds_by_cell",
        "the columns as a Polars frame, labels cast; `query_roc_auc` and `query_l2` in a `group_by`, 60 cells",
        frame,
        polars_ds_by_cell,
        lambda grouped: grouped_values(grouped, CELL),
        packages=("polars_ds",),
    ),
    Contestant(
        "polars_ds_cube",
        "the columns as a Polars frame, labels cast; `query_log_loss` and `query_l2`, else plain Polars, in four "
        "groupings",
        frame,
        polars_ds_cube,
        cube_values,
        packages=("polars_ds",),
    ),
)
