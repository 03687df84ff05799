"""What a run finds out about its rows to warn of."""

from __future__ import annotations

import math

import polars as pl
import pytest

from plmetrics.engine.warnings.run_warnings import _ends


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
