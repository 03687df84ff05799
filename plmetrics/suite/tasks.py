"""What the tasks have of their own: kinds of predictions, columns and curves."""

from __future__ import annotations

from typing import Literal

Task = Literal["binary", "multiclass", "regression", "quantile", "ranking", "uplift"]
PREDICTION_KINDS = ("score", "prediction", "proba", "quantiles", "mean", "members")
PREDICTS: dict[str, tuple[str, ...]] = {
    "binary": ("score", "prediction"),
    "multiclass": ("proba", "prediction"),
    "regression": ("score", "prediction"),
    "quantile": ("quantiles", "mean", "members"),
    "ranking": ("score",),
    "uplift": ("score",),
}
"""The kinds of prediction of each task."""

ROLES_OF_TASKS = {"ranking": ("query",), "uplift": ("treatment",)}
"""The columns that a task cannot do without, besides the label."""

BINARY_CURVES = ("roc", "roc_hull", "pr", "pr_interpolated", "lift", "gain", "cost", "reliability")
REGRESSION_CURVES = (
    "residual_histogram",
    "residual_qq",
    "label_histogram",
    "conditional_label",
    "conditional_prediction",
    "conditional_recall",
    "residual_prediction",
    "residual_quantiles",
)
FORECAST_CURVES = ("coverage", "quantile_coverage", "pit_histogram")
"""Curves that are drawn from sums over rows."""

RANKING_CURVES = ("query_differences",)
"""Curves that are drawn from the numbers of queries."""

MULTICLASS_CURVES = ("confusion",)
UPLIFT_CURVES = ("qini", "uplift", "guelman", "effect_calibration")
CurveName = Literal[
    "confusion",
    "roc",
    "roc_hull",
    "pr",
    "pr_interpolated",
    "lift",
    "gain",
    "cost",
    "reliability",
    "residual_histogram",
    "residual_qq",
    "label_histogram",
    "conditional_label",
    "conditional_prediction",
    "conditional_recall",
    "residual_prediction",
    "residual_quantiles",
    "coverage",
    "quantile_coverage",
    "pit_histogram",
    "query_differences",
    "qini",
    "uplift",
    "guelman",
    "effect_calibration",
]
BANDED_CURVES = ("roc", "pr", "gain", "lift")
"""Curves whose bands come from counts of scores by block, where intervals are asked for."""

ROW_CURVES = (*MULTICLASS_CURVES, *REGRESSION_CURVES, *UPLIFT_CURVES)
"""Curves that are drawn from the rows themselves."""

CURVES: dict[str, tuple[str, ...]] = {
    "binary": BINARY_CURVES,
    "multiclass": MULTICLASS_CURVES,
    "regression": REGRESSION_CURVES,
    "quantile": (*REGRESSION_CURVES, *FORECAST_CURVES),
    "ranking": RANKING_CURVES,
    "uplift": UPLIFT_CURVES,
}
"""The curves of each task."""
