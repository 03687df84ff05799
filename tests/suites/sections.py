"""Random suites with the sections on uncertainty, comparisons, folds, drift and found slices, and gates on them."""

from typing import Any

import polars as pl
from hypothesis import strategies as st
from suites.drawn import suites

import plmetrics as plm

METHODS = ["auto", "bootstrap", "analytic", "jackknife"]
FORMS = ["wilson", "delong", "delong_logit", "hanley_mcneil", "t", "delta", "logit", "basic", "bca", "normal"]
SCALES = ["difference", "ratio", "relative_change"]
CORRECTIONS = ["none", "holm", "bonferroni", "benjamini_hochberg"]
MEANS = {
    "binary": "log_loss",
    "multiclass": "log_loss",
    "regression": "mae",
    "quantile": "mae",
    "ranking": "ndcg",
    "uplift": "ate",
}
"""A metric of each task that tests and searches can read."""

DRIFT = ["psi", "ks_2samp", "chi2_2samp", "wasserstein", "jensen_shannon", "mean", "quantile(q=0.95)"]
MORE_COLUMNS = {
    "fold": [st.integers(0, 3), st.just(0), st.sampled_from(["x", "y"])],
    "repeat": [st.integers(0, 1)],
    "day": [st.integers(0, 5)],
}


@st.composite
def with_sections(draw: Any) -> tuple[dict[str, Any], pl.DataFrame]:
    """A suite of `drawn` with more sections, and its table with folds and days."""
    suite, table = draw(suites())
    columns = []
    for name, kinds in MORE_COLUMNS.items():
        values = draw(st.lists(draw(st.sampled_from(kinds)), min_size=table.height, max_size=table.height))
        columns.append(pl.Series(name, values))
    table = table.with_columns(columns)
    if suite["task"] == "ranking":
        table = table.with_columns(pl.col(list(MORE_COLUMNS)).first().over("unit"))
    if draw(st.booleans()):
        suite["columns"]["fold"] = "fold"
    for add in (_uncertainty, _compare, _tests, _folds, _drift, _search, _gates):
        if draw(st.booleans()):
            add(draw, suite)
    return suite, table


def _some(draw: Any, words: Any, *, least: int = 1, most: int = 3) -> list[Any]:
    drawn: list[Any] = draw(st.lists(st.sampled_from(words), min_size=least, max_size=most, unique=True))
    return drawn


def _uncertainty(draw: Any, suite: dict[str, Any]) -> None:
    said: dict[str, Any] = {"replicates": draw(st.sampled_from([2, 20]))}
    if draw(st.booleans()):
        said["method"] = draw(st.sampled_from(METHODS))
    else:
        said["methods"] = _some(draw, METHODS + FORMS)
    said["interval"] = draw(st.sampled_from(["auto", "basic", "normal", "bca", "t", "percentile"]))
    suite["uncertainty"] = said


def _compare(draw: Any, suite: dict[str, Any]) -> None:
    said: dict[str, Any] = {
        "scales": _some(draw, SCALES),
        "family": draw(st.sampled_from(["metric", "suite"])),
    }
    said |= draw(st.sampled_from([{"baseline": "one"}, {"pairs": "all"}]))
    if draw(st.booleans()):
        said["slices"] = {name: _some(draw, ["rest", "all", "pairs"]) for name in suite["slices"]}
    suite["compare"] = said


def _tests(draw: Any, suite: dict[str, Any]) -> None:
    task, sets = suite["task"], [name for name in suite["slices"] if name != "tags"]
    known: list[Any] = []
    if task != "uplift":
        known += ["paired_t", "wilcoxon", "paired_permutation", {"always_valid": {"mixture": 0.1}}]
    if task == "binary":
        known += ["delong", "mcnemar", "mcnemar(method=mid_p)"]
        suite["metrics"] += [name for name in ("roc_auc", "accuracy") if name not in suite["metrics"]]
    if task not in {"ranking", "uplift"}:
        known.append("diebold_mariano(time=day)")
    if "fold" in suite["columns"]:
        known += ["corrected_resampled_t", "five_by_two_cv_f", "friedman", "nemenyi"]
    if sets:
        known.append({"iman_davenport": {"over": sets[0]}})
    if MEANS[task] not in suite["metrics"]:
        suite["metrics"].append(MEANS[task])
    if not known:
        return
    suite.pop("exact", None)
    chosen = [test for test in known if draw(st.booleans())]
    suite.setdefault("compare", {"baseline": "one"})["tests"] = chosen or known[:1]


def _folds(draw: Any, suite: dict[str, Any]) -> None:
    suite["columns"]["fold"] = "fold"
    crossed = [name for name in suite["slices"] if name != "tags"]
    said: dict[str, Any] = {"slices": crossed[:1]}
    suite["cross_validation"] = said | ({"repeat": "repeat"} if draw(st.booleans()) else {})


def _drift(draw: Any, suite: dict[str, Any]) -> None:
    said: dict[str, Any] = {"where": draw(st.sampled_from(["age > 30", "value > 0", "day < 3"]))}
    said["columns"] = _some(draw, ["age", "region", "value", "flag", "day"], least=0)
    if draw(st.booleans()):
        said |= {"measures": _some(draw, DRIFT), "slices": "all", "bins": 3}
    suite["drift"] = said


def _search(draw: Any, suite: dict[str, Any]) -> None:
    if suite["task"] == "ranking":
        return
    said: dict[str, Any] = {"metric": MEANS[suite["task"]], "depth": draw(st.integers(1, 3))}
    said |= {
        "columns": _some(draw, ["age", "region", "value", "flag"]),
        "min_rows": draw(st.sampled_from([1, 5])),
    }
    suite["find_slices"] = said | {"level": draw(st.sampled_from([0.05, 0.9]))}


def _gates(draw: Any, suite: dict[str, Any]) -> None:
    gates = [_gate(draw, suite) for _ in range(draw(st.integers(1, 3)))]
    compare = suite.get("compare", {})
    texts = [metric for metric in suite["metrics"] if isinstance(metric, str)]
    shares = [text for text in texts if not plm.metric(text, task=suite["task"]).additive]
    for name, others in compare.get("slices", {}).items() if shares else ():
        about = {"metric": shares[0], "slices": name, "at_least": 0}
        scale = compare.get("scales", SCALES)[0]
        gates += [
            about | {"against": {"slice": other}, "scale": scale} for other in others if other != "pairs"
        ]
    suite["gates"] = [gate | {"name": f"gate {place}"} for place, gate in enumerate(gates)]


def _gate(draw: Any, suite: dict[str, Any]) -> dict[str, Any]:
    alone = [metric for metric in suite["metrics"] if isinstance(metric, str) or "over" not in metric]
    metric = draw(st.sampled_from(alone))
    gate: dict[str, Any] = {"metric": metric if isinstance(metric, str) else metric["name"]}
    gate["slices"] = draw(st.sampled_from(["overall", "all", *suite["slices"]]))
    gate[draw(st.sampled_from(["at_least", "at_most"]))] = draw(st.sampled_from([0.0, 0.5, -0.1, 1.0]))
    if draw(st.booleans()):
        gate |= {"against": "one", "scale": draw(st.sampled_from(SCALES))}
    if "uncertainty" in suite and draw(st.booleans()):
        gate |= {"using": "interval", "correction": draw(st.sampled_from(CORRECTIONS))}
    if draw(st.booleans()):
        gate |= {"consecutive": draw(st.integers(1, 3))}
    if draw(st.booleans()):
        gate |= {"min_rows": 9, "on_insufficient": draw(st.sampled_from(["skip", "warn", "fail"]))}
    if suite["task"] == "binary" and draw(st.booleans()):
        gate["min_positives"] = 4
    return gate | {"on_undefined": draw(st.sampled_from(["fail", "skip", "inconclusive"]))}
