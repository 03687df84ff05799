"""The page on scikit-learn: both columns of its tables give the same numbers."""

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from architecture.pages import PAGES
from sklearn import calibration, metrics, model_selection
from sklearn import dummy as dummies

import plmetrics as plm

TEXT = PAGES["docs/from-scikit-learn.md"]
ROWS = 240


def pairs(task: str) -> list[tuple[str, str, bool]]:
    """What scikit-learn computes, the metric, and whether it is weighted."""
    table = TEXT.partition(f"plmetrics, task `{task}` |\n|---|---|\n")[2].partition("\n\n")[0]
    found = re.findall(r"^\| `(.+?)` \| `(.+?)`( with `columns.weight`)? \|$", table, re.MULTILINE)
    assert len(found) == len(table.splitlines())
    return [(call, metric, bool(weighted)) for call, metric, weighted in found]


def random_rows(task: str) -> tuple[pl.DataFrame, dict[str, Any], dict[str, Any]]:
    """A table, what `evaluate` is told of it, and the arrays of scikit-learn."""
    rng = np.random.default_rng(4)
    weight = rng.integers(1, 4, ROWS).astype(float)
    if task == "multiclass":
        y, p = rng.integers(0, 3, ROWS), rng.dirichlet([1.0, 1.0, 1.0], ROWS)
        p[np.arange(ROWS), y] += 0.3
        p /= p.sum(1, keepdims=True)
        frame = pl.DataFrame({"y": y, "w": weight} | {f"p{k}": p[:, k] for k in range(3)})
        asked = {"models": {"m": {"proba": {k: f"p{k}" for k in range(3)}}}, "classes": [0, 1, 2]}
        return frame, asked, {"y": y, "p": p, "c": p.argmax(1), "w": weight}
    if task == "ranking":
        y, p = rng.integers(0, 4, (ROWS // 8, 8)), rng.random((ROWS // 8, 8))
        y[:, 0] = 3
        frame = pl.DataFrame({"y": y.ravel(), "p": p.ravel(), "q": np.repeat(np.arange(ROWS // 8), 8)})
        return frame, {"models": "p", "query": "q"}, {"y": y, "p": p}
    p = rng.random(ROWS).round(2)
    y = (rng.random(ROWS) < p).astype(int) if task == "binary" else p + rng.gamma(2.0, 1.0, ROWS)
    frame = pl.DataFrame({"y": y, "p": p, "w": weight})
    return frame, {"models": "p"}, {"y": y, "p": p, "c": p >= 0.5, "w": weight}


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression", "ranking"])
def test_both_columns_give_the_same_number(task: str) -> None:
    frame, asked, arrays = random_rows(task)
    listed = pairs(task)
    assert listed
    for weighted in {weighted for *_, weighted in listed}:
        chosen = [(call, metric) for call, metric, of in listed if of is weighted]
        names = list(dict.fromkeys(metric for _, metric in chosen))
        result = plm.evaluate(
            frame, task=task, label="y", metrics=names, weight="w" if weighted else None, **asked
        )
        values = dict(zip(names, result.metrics["value"], strict=True))
        for call, metric in chosen:
            expected = eval(call, vars(metrics) | arrays)
            assert values[metric] == pytest.approx(expected, rel=1e-9), call


def test_what_stands_beside_metrics_exists() -> None:
    table = TEXT.partition("| scikit-learn | plmetrics |\n|---|---|\n")[2]
    theirs = re.findall(r"`(\w+)(?:\(.*?\))?`", " ".join(row.split("|")[1] for row in table.splitlines()))
    homes = (model_selection, calibration, dummies)
    assert [name for name in theirs if not any(hasattr(home, name) for home in homes)] == []
    ours = re.findall(r"`(?:plm\.splits\.)?(\w+)`", " ".join(table.splitlines()[:3]).partition("plm.")[2])
    assert {"k_fold", "holdout"} <= set(plm.splits.__all__)
    assert ours
