from __future__ import annotations

import numpy as np
import pytest

from plmetrics.inference.intervals.logit import logit


def test_a_published_interval() -> None:
    lower, upper = logit(np.array([0.830708]), np.array([2357.0]), 0.95)
    assert (round(lower[0], 6), round(upper[0], 6)) == (0.815025, 0.845313)


@pytest.mark.parametrize("area", [0.01, 0.3, 0.99])
@pytest.mark.parametrize("positives", [2.0, 50.0, 1e6])
def test_ends_stay_inside_and_say_one_minus_the_other(area: float, positives: float) -> None:
    lower, upper = logit(np.array([area, 1 - area]), np.array([positives, positives]), 0.95)
    assert 0 < lower[0] < area < upper[0] < 1
    assert [lower[0], upper[0]] == pytest.approx([1 - upper[1], 1 - lower[1]])
