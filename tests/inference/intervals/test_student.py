from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from plmetrics.inference.intervals.scale import IDENTITY, scale_of
from plmetrics.inference.intervals.student import student

DRAWN = np.array([[0.70], [0.80], [0.75], [0.90], [0.85]])


def textbook(centre: float, moved: np.ndarray, blocks: int, level: float) -> tuple[float, float]:
    error = np.sqrt(blocks / (blocks - 1)) * np.std(moved, ddof=1)
    return stats.t.interval(level, blocks - 1, centre, error)


@pytest.mark.parametrize("blocks", [2, 3, 30, 1000])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_identity_scale(blocks: int, level: float) -> None:
    found = student(np.array([0.8]), DRAWN, np.array([blocks]), IDENTITY, level)
    assert np.ravel(found) == pytest.approx(textbook(0.8, DRAWN, blocks, level), rel=1e-9)


def test_logit_scale() -> None:
    lower, upper = textbook(np.log(4), np.log(DRAWN / (1 - DRAWN)), 20, 0.95)
    found = student(np.array([0.8]), DRAWN, np.array([20]), scale_of((0, 1)), 0.95)
    assert np.ravel(found) == pytest.approx([1 / (1 + np.exp(-lower)), 1 / (1 + np.exp(-upper))], rel=1e-9)


def test_log_scale() -> None:
    lower, upper = textbook(np.log(0.8), np.log(DRAWN), 20, 0.95)
    found = student(np.array([0.8]), DRAWN, np.array([20]), scale_of((0, float("inf"))), 0.95)
    assert np.ravel(found) == pytest.approx([np.exp(lower), np.exp(upper)], rel=1e-9)


def test_undefined_replicates_are_left_out() -> None:
    drawn = np.vstack([DRAWN, [[np.nan]]])
    without = student(np.array([0.8]), DRAWN, np.array([9]), scale_of((0, 1)), 0.95)
    assert student(np.array([0.8]), drawn, np.array([9]), scale_of((0, 1)), 0.95) == without


def test_a_replicate_at_an_end_calls_for_the_delta_method() -> None:
    drawn = np.hstack([DRAWN, np.where(DRAWN == 0.9, 1.0, DRAWN)])
    lower, upper = student(np.full(2, 0.8), drawn, np.full(2, 20), scale_of((0, 1)), 0.95)
    half = stats.t.ppf(0.975, 19) * np.sqrt(20 / 19) * np.std(drawn[:, 1], ddof=1) / (0.8 * 0.2)
    expected = 1 / (1 + np.exp(-(np.log(4) + np.array([-half, half]))))
    assert [lower[1], upper[1]] == pytest.approx(expected, rel=1e-9)
    alone = student(np.array([0.8]), DRAWN, np.array([20]), scale_of((0, 1)), 0.95)
    assert (lower[0], upper[0]) == (alone[0][0], alone[1][0])
