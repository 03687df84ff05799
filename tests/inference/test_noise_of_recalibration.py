"""Isotonic recalibration fits noise: the parts of a score by it are above 0 where nothing is to be gained."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm

TABLES, ROWS = 25, 300


def lower_ends(slope: float, skill: float, metric: str) -> np.ndarray:
    """Of tables with risks at `slope` times the scores' distance from the middle, and of `skill` times it."""
    ends = []
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        score = rng.uniform(0.1, 0.9, ROWS)
        label = rng.random(ROWS) < 0.5 + slope * skill * (score - 0.5)
        asked: Any = {"replicates": 100, "seed": seed}
        frame = pl.DataFrame({"y": label, "p": score})
        made = plm.evaluate(frame, label="y", models="p", metrics=[metric], uncertainty=asked).metrics
        ends.append(made["lower"].fill_null(0.0).item())
    return np.array(ends)


@pytest.mark.slow
@pytest.mark.parametrize("score", ["brier", "log_loss"])
def test_calibrated_scores_may_have_no_miscalibration(score: str) -> None:
    """Before, the lower end was above 0 in nine of ten tables."""
    assert np.mean(lower_ends(1.0, 1.0, f"corp_miscalibration(score={score})") > 0) <= 0.1


@pytest.mark.slow
def test_scores_without_skill_may_discriminate_nothing() -> None:
    assert np.mean(lower_ends(1.0, 0.0, "corp_discrimination") > 0) <= 0.1


@pytest.mark.slow
def test_what_is_far_from_noise_is_seen() -> None:
    assert np.mean(lower_ends(-1.0, 1.0, "corp_miscalibration") > 0) >= 0.9
    assert np.mean(lower_ends(1.2, 1.0, "corp_discrimination") > 0) >= 0.9
