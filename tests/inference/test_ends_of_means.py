"""Means at an end of their range: all of the rows, or of those behind a cut, are alike there, which proves little."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import THOROUGH
from statsmodels.stats.proportion import proportion_confint

import plmetrics as plm

TABLES = 600 if THOROUGH else 150
RESAMPLED: dict[str, Any] = {"replicates": 200}


def separated(positives: int, negatives: int) -> pl.DataFrame:
    """A model that is never wrong."""
    label = [1] * positives + [0] * negatives
    return pl.DataFrame({"y": label, "p": np.linspace(0.9, 0.1, len(label))})


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("metric", "rows"),
    [
        ("precision_at_k(k=10)", 10),
        ("precision_at_k(k=0.25)", 20),
        ("precision_at_volume(volume=0.25)", 20),
        ("precision_at_recall(recall=0.5)", 20),
        ("recall_at_k(k=60)", 40),
        ("recall_at_precision(precision=0.9)", 40),
        ("recall_at_fpr(fpr=0.1)", 40),
    ],
)
def test_of_the_rows_behind_a_cut(metric: str, rows: int) -> None:
    frame = separated(40, 40)
    found = plm.evaluate(frame, label="y", models="p", metrics=[metric], uncertainty=RESAMPLED).metrics
    assert found.select("value", "upper", "method").row(0) == (1.0, 1.0, "wilson")
    assert found["lower"].item() == pytest.approx(proportion_confint(rows, rows, method="wilson")[0])


@pytest.mark.exhaustive
@pytest.mark.parametrize("metric", ["ndcg", "mrr", "precision_at_k(k=1)", "map"])
@pytest.mark.parametrize("method", ["bootstrap", "auto"])
def test_of_queries(metric: str, method: str) -> None:
    frame = pl.DataFrame({"q": np.arange(24) // 2, "y": [1, 0] * 12, "p": [0.9, 0.1] * 12})
    roles: dict[str, Any] = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    asked = RESAMPLED | {"method": method}
    found = plm.evaluate(frame, **roles, metrics=[metric], uncertainty=asked).metrics
    assert found.select("value", "upper", "method").row(0) == (1.0, 1.0, "wilson")
    assert found["lower"].item() == pytest.approx(proportion_confint(12, 12, method="wilson")[0])


def test_rows_that_belong_together_count_as_one() -> None:
    frame = separated(40, 40).with_columns(unit=pl.int_range(80) // 4)
    asked: dict[str, Any] = {"label": "y", "models": "p", "metrics": ["precision_at_k(k=0.25)"]}
    found = plm.evaluate(frame, **asked, unit="unit", uncertainty=RESAMPLED).metrics
    assert found["lower"].item() == pytest.approx(proportion_confint(5, 5, method="wilson")[0])


def test_means_without_an_end_have_none() -> None:
    frame = pl.DataFrame({"y": [1.0, 2.0, 3.0], "p": [1.0, 2.0, 3.0]})
    asked: dict[str, Any] = {"task": "regression", "label": "y", "models": "p", "uncertainty": RESAMPLED}
    found = plm.evaluate(frame, **asked, metrics=["mae", "mse"]).metrics
    assert found["interval_status"].to_list() == ["degenerate"] * 2


@pytest.mark.slow
def test_they_hold_the_truth() -> None:
    """One of fifty in the top is wrong: eight of ten tables show none, and had no interval."""
    rng, cut, wrong = np.random.default_rng(5), 10, 0.02
    holds = []
    for _ in range(TABLES):
        label = np.concatenate([rng.random(cut) >= wrong, rng.random(90) < 0.3])
        frame = pl.DataFrame({"y": label, "p": np.linspace(1, 0, 100)})
        asked: dict[str, Any] = {"label": "y", "models": "p", "metrics": [f"precision_at_k(k={cut})"]}
        lower, upper = (
            plm.evaluate(frame, **asked, uncertainty=RESAMPLED).metrics.select("lower", "upper").row(0)
        )
        holds.append(lower <= 1 - wrong <= upper)
    assert np.mean(holds) > 0.95 - 3 * (0.95 * 0.05 / TABLES) ** 0.5
