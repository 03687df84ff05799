"""Tasks: their kinds of predictions, columns and curves."""

from __future__ import annotations

from typing import Literal, get_args

from plmetrics.core.names import did_you_mean

Task = Literal[
    "binary", "multiclass", "multilabel", "regression", "quantile", "ranking", "uplift", "experiment"
]
PREDICTION_KINDS = ("score", "margin", "prediction", "proba", "quantiles", "mean", "members")
PREDICTS: dict[str, tuple[str, ...]] = {
    "binary": ("score", "prediction", "margin"),
    "multiclass": ("proba", "prediction"),
    "multilabel": ("proba", "prediction"),
    "regression": ("score", "prediction"),
    "quantile": ("quantiles", "mean", "members"),
    "ranking": ("score",),
    "uplift": ("score",),
    "experiment": ("score",),
}
"""The kinds of prediction of each task."""

ROLES_OF_TASKS = {"ranking": ("query",), "uplift": ("treatment",)}
"""The columns that a task cannot do without, besides the label."""

TASKS_OF_ROLES = {"query": ("ranking",), "document": ("ranking",), "treatment": ("uplift",)}
"""The tasks of columns that no other task reads."""

CONFUSION_CURVES = ("confusion",)
ScoreCurve = Literal[
    "roc",
    "roc_hull",
    "pr",
    "pr_interpolated",
    "lift",
    "gain",
    "cost",
    "net_benefit",
    "reliability",
    "corp",
    "score_histogram",
]
BINARY_CURVES: tuple[str, ...] = (*get_args(ScoreCurve), *CONFUSION_CURVES)
RegressionCurve = Literal[
    "residual_histogram",
    "residual_qq",
    "label_histogram",
    "conditional_label",
    "conditional_prediction",
    "conditional_recall",
    "residual_prediction",
    "residual_quantiles",
]
REGRESSION_CURVES: tuple[str, ...] = get_args(RegressionCurve)
ForecastCurve = Literal["coverage", "quantile_coverage", "pit_histogram"]
FORECAST_CURVES: tuple[str, ...] = get_args(ForecastCurve)
"""Curves that are drawn from sums over rows."""

CLASS_TASKS = ("multiclass", "multilabel")
"""The tasks of several classes."""

RANKING_CURVES = ("query_differences",)
"""Curves that are drawn from the numbers of queries."""

CLASS_CURVES = ("roc", "pr", "reliability", "score_histogram")
"""Curves of two classes that are drawn of one class against the rest."""

UpliftCurve = Literal["qini", "uplift", "guelman", "effect_calibration"]
UPLIFT_CURVES: tuple[str, ...] = get_args(UpliftCurve)
CurveName = Literal["confusion", ScoreCurve, RegressionCurve, ForecastCurve, "query_differences", UpliftCurve]
BINNED_CURVES = ("reliability", "score_histogram", "net_benefit")
"""Curves of scores that are counted in bins of their own."""

BANDED_CURVES = ("roc", "pr", "gain", "lift", "corp", "qini", "uplift", "guelman")
"""Curves whose bands come from counts of scores by block, where intervals are asked for."""

BIN_CURVES = (*CONFUSION_CURVES, *REGRESSION_CURVES, *RANKING_CURVES, "effect_calibration")
"""Curves that are drawn from sums of rows by bins; the confusion of two classes is drawn from its four sums."""

SUM_CURVES = frozenset((*FORECAST_CURVES, *BIN_CURVES))
"""Curves that need no scores in order."""

CURVES: dict[str, tuple[str, ...]] = {
    "binary": BINARY_CURVES,
    "multiclass": (*CONFUSION_CURVES, *CLASS_CURVES),
    "multilabel": CLASS_CURVES,
    "regression": REGRESSION_CURVES,
    "quantile": (*REGRESSION_CURVES, *FORECAST_CURVES),
    "ranking": RANKING_CURVES,
    "uplift": UPLIFT_CURVES,
}
"""The curves of each task."""

TASK_HINTS = {
    **dict.fromkeys(("classification", "classifier"), "write binary, multiclass or multilabel"),
    **dict.fromkeys(("forecast", "forecasting"), "write regression for points, quantile for quantiles"),
    **dict.fromkeys(("ab", "ab_test", "ab-test"), "write experiment"),
    **dict.fromkeys(("retrieval", "search", "recommendation"), "write ranking"),
}
"""What to write in place of other names of tasks."""

_CURVE_WORDS = {
    **dict.fromkeys(("decision_curve", "dca"), "net_benefit"),
    **dict.fromkeys(("calibration", "calibration_curve"), "reliability"),
    **dict.fromkeys(("cap", "lorenz", "cumulative_gain"), "gain"),
    "precision_recall": "pr",
}
"""Names in other tools, and ours."""


def curve_hint(name: str, task: str) -> str | None:
    """Hint for an unknown curve: one of the task."""
    curves = CURVES.get(task, ())
    return did_you_mean(_CURVE_WORDS.get(name, name), curves, limit=len(curves))


def is_bin_curve(curve: str, task: str) -> bool:
    """Whether a curve of a task is drawn from sums of rows by bins."""
    return curve in BIN_CURVES and not (task == "binary" and curve in CONFUSION_CURVES)
