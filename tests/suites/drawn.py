"""Suites and tables drawn at random, with all that can be odd about them and is allowed."""

import re
from typing import Any

import polars as pl
from hypothesis import strategies as st

from plmetrics.catalogue import registry

BINARY = [
    "roc_auc",
    "gini",
    "average_precision",
    "ks",
    "accuracy",
    "precision(threshold=0.3)",
    "recall",
    "f1",
    "mcc",
    "cohen_kappa",
    "selection_rate",
    "tp",
    "log_loss",
    "brier",
    "ece",
    "ece(bins=5, strategy=quantile)",
    "mce",
    "expected_cost(cost_fp=1, cost_fn=5)",
    "recall(threshold=max(f1))",
    "precision(threshold=at(recall=0.5))",
    "recall_at_precision(precision=0.6)",
    "precision_at_k(k=0.2)",
    "pr_auc",
    "brier_skill",
]
REGRESSION = [
    "mae",
    "rmse",
    "mean_error",
    "r2",
    "mape(zeros=drop)",
    "quantile_loss(tau=0.9)",
    "huber",
    "wmape",
    "median_absolute_error",
    "lin_lin(over=1, under=3)",
    "linex(a=0.5)",
]
MULTICLASS = [
    "accuracy",
    "precision",
    "recall(average=none)",
    "f1(average=weighted, undefined=zero)",
    "jaccard(average=micro)",
    "mcc",
    "cohen_kappa(weighting=linear)",
    "support",
    "log_loss",
    "brier",
    "top_k_accuracy(k=2)",
    "roc_auc",
    "roc_auc(scheme=ovo)",
    "average_precision(average=weighted)",
    "classwise_ece(bins=5)",
    "top_label_ece",
]
QUANTILE = [
    "wis",
    "crps",
    "mae",
    "interval_coverage(level=0.8)",
    "interval_score(level=0.8)",
    "interval_width(level=0.8)",
    "crossing_rate",
    "quantile_loss(tau=0.1)",
    "pit_chi2(bins=2)",
    "interval_coverage_p_value(level=0.8)",
]
RANKING = [
    "ndcg",
    "ndcg@3",
    "dcg(k=2, gain=exponential)",
    "default_ndcg",
    "map",
    "map(k=2, denominator=min_k)",
    "mrr",
    "precision_at_k(k=2)",
    "recall_at_k(k=2, ties=worst)",
    "hit_at_k(k=1)",
    "f1_at_k(k=3)",
    "r_precision",
    "mean_rank",
    "ndcg(empty=zero)",
    "num_q_without_relevant",
    "documents_per_query",
]
UPLIFT = [
    "ate",
    "e_value",
    "ate_ipw(propensity=e)",
    "ate_ipw(propensity=e, estimator=horvitz_thompson, clip=0.2)",
    "ate_aipw(propensity=e, mu0=p, mu1=q)",
    "qini",
    "qini(method=guelman)",
    "auuc",
    "uplift_at_k(k=0.3)",
    "uplift_at_k(k=2, by=arm)",
]
TEXTS = {
    "uplift": UPLIFT,
    "ranking": RANKING,
    "binary": BINARY,
    "regression": REGRESSION,
    "multiclass": MULTICLASS,
    "quantile": QUANTILE,
}
MODELS: dict[str, Any] = {
    "binary": {"one": "p", "two": "q"},
    "regression": {"one": "p", "two": "q"},
    "uplift": {"one": "p", "two": "q"},
    "ranking": {"one": "p", "two": "q"},
    "multiclass": {
        "one": {"proba": {"a": "p", "b": "q", "c": "r"}, "normalise": True},
        "two": {"proba": {"a": "r", "b": "p", "c": "q"}, "normalise": True},
    },
    "quantile": {
        "one": {"quantiles": {"0.1": "p", "0.5": "q", "0.9": "r"}},
        "two": {"quantiles": {"0.1": "p", "0.5": "p", "0.9": "q"}},
    },
}
LABELS = {
    "binary": st.integers(0, 1),
    "multiclass": st.sampled_from(["a", "b", "c"]),
    "ranking": st.integers(0, 3),
    "regression": st.sampled_from([0.0, 1.5, -2.0, 1e6]),
    "quantile": st.sampled_from([0.0, 0.5, -2.0, 1e6]),
    "uplift": st.sampled_from([0.0, 1.0, -2.0, 1e6]),
}
ONE = {"uplift": 1, "binary": 1, "ranking": 1, "multiclass": "b", "regression": 1, "quantile": 1}
CUSTOM = [
    {"name": "low", "mean": "score < 0.3"},
    {"name": "old_value", "sum": "value * score", "where": "age > 40"},
    {"name": "per_value", "ratio": {"numerator": "score", "denominator": "ABS(value) + 1"}},
    {"name": "gaps", "null_share": "value"},
    {"name": "wide", "std": "value"},
]
SLICES = {
    "region": "region",
    "flag": "flag",
    "crossed": ["region", "flag"],
    "age": {"column": "age", "bins": [30, 50]},
    "rich": {"where": "value > 0"},
    "nobody": {"where": "age > 1000"},
    "quantile": {"column": "age", "quantiles": 3},
    "top": {"column": "region", "top": 1},
    "left": {"column": "region", "exclude": ["north", None]},
    "tags": "tags",
    "named": {"where": {"young": "age < 40", "old": "age > 30", "none": "age > 1000"}},
}
CURVES: dict[str, list[Any]] = {
    "multiclass": ["confusion"],
    "quantile": ["residual_histogram", "conditional_label"],
    "ranking": [],
    "uplift": ["qini", "uplift", "guelman", "effect_calibration"],
    "binary": ["roc", "roc_hull", "pr", "pr_interpolated", "lift", "gain", "cost", "reliability"],
    "regression": [
        "residual_histogram",
        "residual_qq",
        "label_histogram",
        "conditional_label",
        "conditional_prediction",
        "conditional_recall",
    ],
}


OF_QUERIES = ["w", "region", "flag", "age", "value", "tags"]
"""Columns that have one value in a query, which is the unit."""


@st.composite
def tables(draw: Any, task: str) -> pl.DataFrame:
    """A table of a few rows with all that can be odd about one and is allowed: ties, nulls, one class, weight 0."""
    rows = draw(st.integers(1, 60))

    def column(values: Any) -> list[Any]:
        drawn: list[Any] = draw(st.lists(values, min_size=rows, max_size=rows))
        return drawn

    label = LABELS[task]
    score = draw(st.sampled_from([st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.just(0.5)]))
    # Weights below 2^-73 of the largest count on a grid only where the order of rows may show.
    spread = st.just(0.0) | st.floats(1e-12, 1e6)
    weight = draw(st.sampled_from([st.integers(0, 3), st.just(1), spread]))
    frame = pl.DataFrame(
        {
            "y": column(draw(st.sampled_from([label, st.just(ONE[task])]))),
            "p": column(score),
            "q": column(st.floats(0, 1)),
            "r": column(st.floats(0.1, 1)),
            "t": column(draw(st.sampled_from([st.integers(0, 1), st.just(0)]))),
            "e": column(st.floats(0.05, 0.95)),
            "w": column(weight),
            "unit": column(st.integers(0, 8)),
            "region": column(st.sampled_from(["north", "south", "", None, "a, b=c"])),
            "flag": column(st.sampled_from([True, False, None])),
            "age": column(st.sampled_from([None, 20, 30, 45, 80])),
            "value": column(st.sampled_from([None, 0.0, -3.5, 12.0])),
            "tags": column(st.sampled_from([None, [], ["a"], ["a", "b"], ["b", None]])),
        },
        schema_overrides={
            "region": pl.String,
            "flag": pl.Boolean,
            "age": pl.Int64,
            "value": pl.Float64,
            "tags": pl.List(pl.String),
        },
        strict=False,
    )
    frame = frame if (frame["w"] > 0).any() else frame.with_columns(w=pl.lit(1))
    return frame if task != "ranking" else frame.with_columns(pl.col(OF_QUERIES).first().over("unit"))


@st.composite
def suites(draw: Any) -> tuple[dict[str, Any], pl.DataFrame]:
    task = draw(
        st.sampled_from(["binary", "binary", "regression", "multiclass", "quantile", "ranking", "uplift"])
    )
    known = {alias for kind in registry.classes(task) for alias in (kind.name, *kind.aliases, *kind.presets)}
    texts = [text for text in TEXTS[task] if re.split(r"[(@]", text)[0] in known]
    metrics: list[Any] = draw(st.lists(st.sampled_from(texts), min_size=1, max_size=6, unique=True))
    if task != "ranking":
        metrics += draw(
            st.lists(st.sampled_from(CUSTOM), max_size=2, unique_by=lambda metric: metric["name"])
        )
    sets = draw(st.lists(st.sampled_from(sorted(SLICES)), max_size=3, unique=True))
    first = metrics[0]
    if sets and "average=none" not in str(metrics) and "support" not in str(metrics) and draw(st.booleans()):
        metrics.append(
            {
                "name": "over_set",
                "over": {
                    "slice_set": sets[0],
                    "metric": first,
                    "agg": draw(st.sampled_from(["mean", "max"])),
                },
            }
        )
        second = draw(
            st.sampled_from([text for text in texts if not re.search("average=none|support", text)])
        )
        metrics.append({"name": "formula", "formula": f'2 * "{first}" + "{second}" / 3'})
    suite: dict[str, Any] = {
        "name": "random",
        "task": task,
        "data": {"path": "table.parquet"},
        "columns": {"label": "y"},
        "models": MODELS[task],
        "metrics": metrics,
        "slices": {name: SLICES[name] for name in sets},
    }
    if draw(st.booleans()):
        suite["columns"]["weight"] = "w"
    if draw(st.booleans()):
        suite["columns"]["unit"] = "unit"
    if draw(st.booleans()):
        suite["uncertainty"] = {
            "replicates": draw(st.sampled_from([2, 20])),
            "level": draw(st.sampled_from([0.5, 0.95])),
        }
        suite["uncertainty"]["interval"] = draw(st.sampled_from(["auto", "percentile", "t"]))
    if draw(st.booleans()):
        suite["compare"] = {
            "baseline": "one",
            "correction": draw(st.sampled_from(["holm", "none", "benjamini_hochberg"])),
        }
    if draw(st.booleans()):
        suite["gates"] = [
            {
                "metric": first,
                "at_least": 0.2,
                "slices": draw(st.sampled_from(["overall", "all"])),
                "using": "interval" if "uncertainty" in suite else "value",
            }
        ]
    if CURVES[task] and draw(st.booleans()):
        drawn = draw(st.lists(st.sampled_from(CURVES[task]), max_size=3, unique=True))
        suite["curves"] = [{"curve": curve, "slices": sets[:1]} for curve in drawn]
    suite["min_rows"] = draw(st.sampled_from([0, 3]))
    exact = draw(st.sampled_from([None, True, False]))
    needs_rows = any("quantile" in str(metric) or "absolute_error" in str(metric) for metric in metrics)
    needs_rows |= task in {"regression", "quantile"} and bool(suite.get("curves"))
    needs_rows |= task in {"multiclass", "uplift"}
    if task == "ranking":
        suite["columns"] |= {"query": "unit"}
    if task == "uplift":
        suite["columns"] |= {"treatment": "t"}
    if exact is not None and (exact or not needs_rows):
        suite["exact"] = exact
    return suite, draw(tables(task))
