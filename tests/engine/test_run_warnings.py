"""What a run finds out about its rows to warn of."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.engine.run_warnings import _ends


@pytest.mark.parametrize(
    ("scores", "ends"),
    [
        ([0.5, -1.0, 2.0], (-1.0, 2.0)),
        ([0.5, None, math.nan, 0.25], (0.25, 0.5)),
        ([math.inf, 1.0, -math.inf, 3.0], (1.0, 3.0)),
        ([math.nan, math.nan], (None, None)),
        ([math.inf, None], (None, None)),
        ([None], (None, None)),
        ([], (None, None)),
    ],
)
def test_ends_of_scores_are_finite(scores: list[float | None], ends: tuple[float | None, ...]) -> None:
    assert _ends(pl.Series(scores, dtype=pl.Float64)) == ends


@pytest.mark.parametrize("weight", [1 / 900, 1e-200, 1e-320, 50.0])
def test_weights_do_not_make_two_classes_one(weight: float) -> None:
    """The sizes of classes are rows, whatever these weigh: weights may sum to 1."""
    rows = pl.DataFrame({"y": [0, 1] * 450, "p": np.linspace(0, 1, 900), "w": [weight] * 900})
    result = plm.evaluate(rows, label="y", models="p", weight="w", metrics=["roc_auc"])
    assert not [warning for warning in result.warnings if "one class" in warning]
