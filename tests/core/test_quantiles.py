"""Quantiles of weighted values."""

import numpy as np
import polars as pl
import pytest

from plmetrics.core.quantiles import quantile_edges

VALUES = np.repeat(np.arange(10), 20_000)


@pytest.mark.parametrize("weight", [0.1, 0.3, 1 / 3, 2.2])
def test_equal_weights_of_many_rows_have_the_edges_of_rows_without_any(weight):
    """Totals that grow row by row miss a share that is reached exactly: the edge was 1 or 2 in place of 1.5."""
    edges = quantile_edges(pl.Series(VALUES), np.full(len(VALUES), weight), 5)
    assert edges == (1.5, 3.5, 5.5, 7.5)


def test_edges_are_those_of_numpy():
    rng = np.random.default_rng(0)
    values, weight = np.sort(rng.integers(0, 50, 400) / 4), rng.random(400)
    expected = np.quantile(values, [0.25, 0.5, 0.75], weights=weight, method="inverted_cdf")
    assert quantile_edges(pl.Series(values), weight, 4) == tuple(expected)
