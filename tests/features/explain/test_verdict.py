"""The verdict says what its figures say, whatever the suite: read back from the text that people see."""

import json
import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plmetrics.core.errors import ConfigError
from plmetrics.engine.binding.bind import bind
from plmetrics.features.explain.explain_report import explain_json, explain_text
from plmetrics.features.explain.explanation import explain
from plmetrics.features.explain.verdict import LONG, Figures, verdict
from plmetrics.features.explain.work import Time, costs
from plmetrics.suite.arguments import suite_from_arguments
from plmetrics.table.opening import open_source

LIBRARIES = 250_000_000
SHARE = re.compile(r"([\d.]+) of ([\d.]+) ([GM]B)")
ROWS = 400


def time_of(wall: float) -> Time:
    return Time({"aggregate": 2 * wall}, 2 * wall, wall, 2, "here")


@given(
    peak=st.integers(0, 10**12),
    budget=st.integers(10**7, 10**12),
    passes=st.integers(1, 64),
    wall=st.floats(0, 10 * LONG),
    units=st.integers(0, 400),
)
def test_the_text_agrees_with_its_figures(
    peak: int, budget: int, passes: int, wall: float, units: int
) -> None:
    judged = verdict(Figures(peak, budget, passes, time_of(wall), units))
    needed = peak + LIBRARIES
    found = SHARE.search(judged.text)
    assert found is not None
    taken, of, unit = float(found[1]), float(found[2]), {"GB": 1e9, "MB": 1e6}[found[3]]
    assert taken * unit == pytest.approx(needed, rel=0.2)
    assert of * unit == pytest.approx(budget, rel=0.2)
    assert ("does not fit" in judged.text) == (needed > budget)
    assert taken <= of if needed <= budget else taken >= of
    assert (judged.kind in {"fits", "passes"}) <= (needed <= budget)
    assert ("use states by day" in judged.text) == (judged.kind == "states") <= (units > 1)
    assert ("passes" in judged.text) == (needed <= budget and passes > 1)
    if needed > budget:
        size, word = re.search(r"raise memory to ([\d.]+)([GM]B)", judged.text).groups()
        assert float(size) * {"GB": 1e9, "MB": 1e6}[word] >= needed * (1 - 1e-9)


TASKS: dict[str, dict[str, Any]] = {
    "binary": {"label": "y", "models": {"a": "p", "b": "q"}},
    "regression": {"label": "r", "models": {"a": "p", "b": "q"}, "task": "regression"},
    "multiclass": {"label": "c", "models": {"a": {"proba": {"0": "p", "1": "q"}}}, "task": "multiclass"},
    "ranking": {"label": "y", "models": {"a": "p"}, "task": "ranking", "query": "u"},
    "uplift": {"label": "y", "models": {"a": "p"}, "task": "uplift", "treatment": "t"},
}
METRICS = {
    "binary": [
        "roc_auc",
        "average_precision",
        "ks",
        "ece",
        "log_loss",
        "brier",
        "recall",
        "recall(threshold=max(f1))",
    ],
    "regression": ["mae", "rmse", "r2", "median_absolute_error", "spearman"],
    "multiclass": ["accuracy", "f1", "log_loss", "roc_auc"],
    "ranking": ["ndcg@3", "map", "mrr"],
    "uplift": ["ate", "qini", "uplift_at_k(k=0.2)"],
}


def table() -> pl.DataFrame:
    draw = np.random.default_rng(3)
    p = draw.random(ROWS)
    return pl.DataFrame(
        {
            "y": draw.integers(0, 2, ROWS),
            "c": draw.integers(0, 2, ROWS),
            "r": draw.normal(size=ROWS),
            "t": draw.integers(0, 2, ROWS),
            "p": p,
            "q": 1 - p,
            "u": np.arange(ROWS) // 8,
            "g": draw.choice(["a", "b", "c"], ROWS),
            "h": np.arange(ROWS) // 8 % 5,
        }
    )


def random_suite(draw: np.random.Generator) -> dict[str, Any]:
    task = str(draw.choice(list(TASKS)))
    asked = dict(TASKS[task])
    chosen = [name for name in METRICS[task] if draw.random() < 0.4]
    asked["metrics"] = chosen or METRICS[task][:1]
    if draw.random() < 0.5:
        asked["slices"] = {"h": "h"} if task == "ranking" else {"g": "g", "gh": ["g", "h"]}
    if draw.random() < 0.5:
        asked["uncertainty"] = {"replicates": int(draw.choice([20, 1000, 20_000]))}
        asked |= {} if task == "ranking" or draw.random() < 0.5 else {"unit": "u"}
    if draw.random() < 0.7:
        asked["memory"] = int(draw.choice([251, 262, 268, 275, 300, 400, 2000])) * 10**6
    if draw.random() < 0.3:
        asked["exact"] = False
    return asked


@pytest.mark.slow
def test_explanations_of_random_suites_agree_with_their_figures(tmp_path: Any) -> None:
    rows = table()
    for part in range(2):
        rows.filter(pl.col("u") % 2 == part).write_parquet(tmp_path / f"{part}.parquet")
    kinds: dict[str, int] = {}
    for seed in range(60):
        asked = random_suite(np.random.default_rng(seed))
        try:
            plan = explain(bind(suite_from_arguments(**asked), open_source(str(tmp_path))))
        except ConfigError:
            continue  # what cannot run is refused here as it is by a run
        judged, text = plan.verdict, explain_text(plan, 400)
        kinds[judged.kind] = kinds.get(judged.kind, 0) + 1
        assert judged.bytes == plan.peak + LIBRARIES
        assert ("does not fit" in judged.text) == (plan.peak + LIBRARIES > plan.budget), asked
        assert judged.text in text
        content = json.loads(explain_json(plan))
        assert content["verdict"] == {"kind": judged.kind, "text": judged.text, "bytes": judged.bytes}
        assert content["time"]["processor"] == pytest.approx(sum(content["time"]["stages"].values()))
        by_kind = {(part["stage"], part["kind"]): part["number"] for part in content["work"]}
        known = costs().seconds
        unmeasured = {kind for _, kind in by_kind if kind not in known}
        assert unmeasured <= set(content["time"]["omissions"])
        seconds = sum(number * known.get(kind, 0.0) for (_, kind), number in by_kind.items())
        assert content["time"]["processor"] == pytest.approx(seconds)
        assert content["shards"]["units"] == 2
    assert sum(kinds.values()) >= 40
    assert kinds["fits"] >= 10
    assert kinds.get("states", 0) + kinds.get("too_large", 0) >= 5
