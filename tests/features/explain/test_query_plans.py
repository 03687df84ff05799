"""What Polars will do with plans."""

import polars as pl
import pytest

from plmetrics.features.explain.passes import fallbacks


@pytest.mark.parametrize(("expression", "stuck"), [(pl.col("x").sum(), False), (pl.col("x").median(), True)])
def test_fallbacks(expression: pl.Expr, stuck: bool) -> None:
    assert bool(fallbacks(pl.LazyFrame({"x": [1.0]}).select(expression))) == stuck
