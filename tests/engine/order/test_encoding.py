"""Rows counted on a grid: what their order must not change."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import plmetrics as plm


@pytest.mark.parametrize("seed", range(4))
def test_bins_do_not_know_which_zero_came_first(seed: int) -> None:
    draw = np.random.default_rng(seed)
    score = draw.choice([0.0, -0.0, 1e-308, 1.0], 60)
    rows = pl.DataFrame({"y": draw.integers(0, 2, 60), "p": score})
    zeros = pl.col("p") == 0
    signed = 1 / pl.col("p") < 0
    orders = [rows.filter(zeros & signed), rows.filter(zeros & ~signed), rows.filter(~zeros)]
    asked = {"label": "y", "models": "p", "metrics": ["roc_auc", "average_precision", "ks"], "exact": False}
    one, other = (
        plm.evaluate(pl.concat(parts), **asked).metrics for parts in (orders, orders[1::-1] + orders[2:])
    )
    assert orders[0].height
    assert orders[1].height
    assert_frame_equal(one, other)
