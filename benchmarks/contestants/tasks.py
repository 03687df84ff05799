"""Errors of numbers, ensembles, uplift, group fairness, calibration and drift: by us and by what a user would pick."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from benchmarks.contestants.contestant import Contestant, Values, as_they_are
from benchmarks.corner_tables import QUANTILES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ERRORS = ("mae", "rmse", "r2", "median_absolute_error")
MEMBERS = [f"q{level}" for level in QUANTILES]
TOP = 0.3
DISPARITIES = ("demographic_parity_difference", "equalized_odds_difference")
COMPARED = ("s0", "amount")
MONTH = 6
BINS = 15


def arrays(*names: str) -> Callable[[Path], Any]:
    """What reads columns as NumPy arrays in double precision."""

    def load(folder: Path) -> Any:
        frame = pl.read_parquet(folder / "*.parquet", columns=list(names))
        return [frame[name].cast(pl.Float64).to_numpy() for name in names]

    return load


def sklearn_errors(loaded: Any) -> Values:
    """One function a metric."""
    from sklearn import metrics

    found = {
        "mae": metrics.mean_absolute_error(*loaded),
        "rmse": metrics.root_mean_squared_error(*loaded),
        "r2": metrics.r2_score(*loaded),
        "median_absolute_error": metrics.median_absolute_error(*loaded),
    }
    return {name: (float(value), 0.0) for name, value in found.items()}


def polars_ds_errors(frame: pl.DataFrame) -> Values:
    """Its R2, and plain Polars for the others."""
    import polars_ds as pds

    apart = (pl.col("label") - pl.col("s0")).abs()
    found = frame.select(
        mae=apart.mean(),
        rmse=(apart**2).mean().sqrt(),
        r2=pds.query_r2("label", "s0"),
        median_absolute_error=apart.median(),
    )
    return {name: (float(found[name][0]), 0.0) for name in found.columns}


def frame_of_errors(folder: Path) -> pl.DataFrame:
    """Label and prediction in double precision."""
    return pl.read_parquet(folder / "*.parquet", columns=["label", "s0"]).cast(pl.Float64)


def our_errors(folder: Path) -> Any:
    """The same from parquet."""
    import plmetrics as plm

    return plm.evaluate(str(folder), task="regression", label="label", models="s0", metrics=list(ERRORS))


def properscoring_crps(loaded: Any) -> Values:
    """One call on a matrix of members."""
    import properscoring

    label, members = loaded
    return {"crps": (float(properscoring.crps_ensemble(label, members).mean()), 0.0)}


def scoringrules_crps(loaded: Any) -> Values:
    """One call of the estimator that sorts."""
    import scoringrules

    label, members = loaded
    return {"crps": (float(np.mean(scoringrules.crps_ensemble(label, members, estimator="qd"))), 0.0)}


def members_of(folder: Path) -> Any:
    """Labels, and a matrix of members."""
    frame = pl.read_parquet(folder / "*.parquet", columns=["label", *MEMBERS])
    return frame["label"].to_numpy(), frame.select(MEMBERS).to_numpy(order="c")


def our_crps(folder: Path) -> Any:
    """The same from parquet."""
    import plmetrics as plm

    return plm.evaluate(
        str(folder),
        task="quantile",
        label="label",
        models={"ensemble": {"members": MEMBERS}},
        metrics=["crps"],
    )


def sklift_areas(loaded: Any) -> Values:
    """The effect among the first three tenths, and two areas on scales of their own."""
    from sklift import metrics

    label, effect, treatment = loaded
    found = metrics.uplift_at_k(label, effect, treatment, strategy="overall", k=TOP)
    metrics.qini_auc_score(label, effect, treatment)
    metrics.uplift_auc_score(label, effect, treatment)
    return {f"uplift_at_k(k={TOP})": (float(found), 0.0)}


def our_areas(folder: Path) -> Any:
    """The same three from parquet."""
    import plmetrics as plm

    return plm.evaluate(
        str(folder),
        task="uplift",
        label="label",
        treatment="treatment",
        models="effect",
        metrics=[f"uplift_at_k(k={TOP})", "qini", "auuc"],
    )


def fairlearn_disparities(loaded: Any) -> Values:
    """One function a disparity."""
    from fairlearn import metrics

    label, called, region = loaded
    return {
        name: (float(getattr(metrics, name)(label, called, sensitive_features=region)), 0.0)
        for name in DISPARITIES
    }


def calls_by_region(folder: Path) -> Any:
    """Labels, calls and regions as pandas columns."""
    frame = pl.read_parquet(folder / "*.parquet", columns=["label", "s0", "region"])
    called = (frame["s0"] >= 0.5).cast(pl.Int8)
    return frame["label"].to_pandas(), called.to_pandas(), frame["region"].to_pandas()


def our_disparities(folder: Path) -> Any:
    """The same from parquet."""
    import plmetrics as plm

    metrics = [f"{name}(by=region)" for name in DISPARITIES]
    return plm.evaluate(str(folder), label="label", models="s0", slices={"region": "region"}, metrics=metrics)


def sklearn_calibration(loaded: Any) -> Values:
    """Brier score, log loss, and the bins of a calibration curve."""
    from sklearn import calibration, metrics

    label, score = loaded
    share, mean = calibration.calibration_curve(label, score, n_bins=BINS)
    rows = np.histogram(score, bins=BINS, range=(0, 1))[0]
    found = {
        "brier": metrics.brier_score_loss(label, score),
        "log_loss": metrics.log_loss(label, score),
        "ece": np.abs(share - mean) @ rows[rows > 0] / len(label),
    }
    return {name: (float(value), 1e-6) for name, value in found.items()}


def our_calibration(folder: Path) -> Any:
    """The same from parquet."""
    import plmetrics as plm

    return plm.evaluate(str(folder), label="label", models="s0", metrics=["brier", "log_loss", "ece"])


def windows_of(folder: Path) -> Any:
    """Each column before and after a month, as NumPy arrays."""
    frame = pl.read_parquet(folder / "*.parquet", columns=[*COMPARED, "month"])
    late = frame["month"].to_numpy() > MONTH
    return [(values[~late], values[late]) for values in (frame[name].to_numpy() for name in COMPARED)]


def scipy_distances(loaded: Any) -> Values:
    """Two functions a column."""
    from scipy import stats

    found: Values = {}
    for name, (before, after) in zip(COMPARED, loaded, strict=True):
        found[f"{name} ks_2samp"] = (float(stats.ks_2samp(before, after, method="asymp").statistic), 0.0)
        found[f"{name} wasserstein"] = (float(stats.wasserstein_distance(before, after)), 0.0)
    return found


def our_distances(folder: Path) -> Any:
    """The same from parquet."""
    import plmetrics as plm

    return plm.evaluate(
        str(folder),
        label="label",
        models="s0",
        metrics=["brier"],
        where=f"month > {MONTH}",
        drift={
            "where": f"month <= {MONTH}",
            "label": False,
            "columns": ["amount"],
            "measures": ["ks_2samp", "wasserstein"],
        },
    )


def distances(result: Any) -> Values:
    """Values by column and measure, with their bounds."""
    rows = result.drift.filter(pl.col("measure").is_in(["ks_2samp", "wasserstein"]))
    rows = rows.select("column", "measure", "value", pl.col("bound").fill_null(0.0))
    return {f"{column} {measure}": (value, bound) for column, measure, value, bound in rows.iter_rows()}


def values(result: Any) -> Values:
    """Values by metric, without their slices."""
    rows = result.metrics.select(
        pl.col("metric").str.replace(r"\(by=\w+\)", ""), "value", "bound"
    ).iter_rows()
    return {metric: (value, bound or 0.0) for metric, value, bound in rows if value is not None}


def _peer(name: str, given: str, load: Any, work: Any, *packages: str) -> Contestant:
    return Contestant(name, given, load, work, as_they_are, packages=packages)


def _ours(name: str, work: Any, told: Callable[[Any], Values] = values) -> Contestant:
    return Contestant(name, "parquet; the same numbers", lambda folder: folder, work, told)


_ARRAYS = "columns as NumPy arrays; one function a number"
CONTESTANTS = (
    _peer("sklearn_errors", _ARRAYS, arrays("label", "s0"), sklearn_errors, "sklearn"),
    _peer(
        "polars_ds_errors", "a frame in memory; one `select`", frame_of_errors, polars_ds_errors, "polars_ds"
    ),
    _ours("errors", our_errors),
    _peer(
        "properscoring_crps", "a matrix of members; one call", members_of, properscoring_crps, "properscoring"
    ),
    _peer(
        "scoringrules_crps", "a matrix of members; one call", members_of, scoringrules_crps, "scoringrules"
    ),
    _ours("ensemble", our_crps),
    _peer("sklift_areas", _ARRAYS, arrays("label", "effect", "treatment"), sklift_areas, "sklift"),
    _ours("uplift", our_areas),
    _peer(
        "fairlearn_disparities",
        "pandas columns; one function a number",
        calls_by_region,
        fairlearn_disparities,
        "fairlearn",
        "pandas",
    ),
    _ours("disparities", our_disparities),
    _peer("sklearn_calibration", _ARRAYS, arrays("label", "s0"), sklearn_calibration, "sklearn"),
    _ours("calibration", our_calibration),
    _peer(
        "scipy_distances",
        "both windows as NumPy arrays; one function a number",
        windows_of,
        scipy_distances,
        "scipy",
    ),
    _ours("distances", our_distances, distances),
)
