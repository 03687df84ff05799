"""States have the same counts whether they are made of sparse or of dense ones."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import plmetrics as plm
from plmetrics.engine.order import sparse_grid


def rows() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    score = rng.random(600).round(2)
    return pl.DataFrame(
        {
            "p": score,
            "q": [None if at % 7 == 0 else value for at, value in enumerate(1 - score)],
            "y": rng.random(600) < score,
            "g": rng.integers(0, 40, 600),
            "h": rng.choice(["a", "b"], 600),
            "w": rng.integers(0, 5, 600) / 4,
            "u": rng.integers(0, 90, 600),
        }
    )


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"weight": "w"},
        {"models": ["p", "q"], "missing": "drop_per_model"},
        {"uncertainty": None},
        {"metrics": ["roc_auc", "ece(bins=7)"]},
        {"metrics": ["absolute_error_quantile(q=0.9)", "mae", "spearman"], "task": "regression"},
    ],
    ids=["plain", "weights", "rows of each model", "no blocks", "bins", "quantiles"],
)
def test_sparse_and_dense_counts_are_the_same(monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {
        "label": "y",
        "models": ["p"],
        "unit": "u",
        "metrics": ["roc_auc", "average_precision"],
        "slices": {"g": "g", "both": ["h", "g"], "h": "h"},
        "uncertainty": {"replicates": 50},
    }
    chosen = {key: value for key, value in (arguments | more).items() if value is not None}
    tables, used, finished, finish = [], list[bool](), list[Any](), sparse_grid.SlotTally.finish
    monkeypatch.setattr(
        sparse_grid.SlotTally, "finish", lambda tally: finished.append(tally) or finish(tally)
    )
    for few in (0, 1 << 40):
        monkeypatch.setattr(sparse_grid, "_FEW", few)
        before = len(finished)
        tables.append(plm.state(rows(), **chosen).table)
        used.append(len(finished) > before)
    assert used == [True, False]
    assert_frame_equal(*tables)
