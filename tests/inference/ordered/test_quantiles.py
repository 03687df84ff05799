"""Quantiles on a grid: of rows that lie further apart than any float says."""

import numpy as np
import polars as pl
import pytest

import plmetrics as plm


def test_a_bin_may_be_wider_than_the_largest_float():
    rng = np.random.default_rng(0)
    values = np.concatenate([[-1.7e308, 1.7e308, 1.6e308, -1.6e308], rng.normal(size=100)])
    rows = pl.DataFrame({"y": values, "p": 0.0, "c": np.arange(104) % 40})
    metrics = [
        {"name": name, "quantile": "label", "q": q}
        for name, q in (("low", 0.01), ("half", 0.5), ("top", 0.99))
    ]
    suite = {"task": "regression", "label": "y", "models": "p", "unit": "c", "uncertainty": {"replicates": 5}}
    found = plm.evaluate(rows, **suite, metrics=metrics, exact=False).metrics
    assert all(-1.7e308 <= value <= 1.7e308 for value in found["value"])
    assert abs(found["value"][1] - np.median(values)) <= found["bound"][1]


def test_the_mean_of_two_values_may_be_farther_out_than_half_of_the_largest_float():
    rows = pl.DataFrame({"y": [1.7e308, 1.6e308, 5e-324], "p": 0.0, "g": ["a", "a", "b"]})
    metric = {"name": "half", "quantile": "label", "q": 0.5}
    suite = {"task": "regression", "label": "y", "models": "p", "metrics": [metric], "slices": "g"}
    for exact in (True, False):
        found = plm.evaluate(rows, **suite, exact=exact).metrics["value"]
        assert found[1:].to_list() == [pytest.approx(1.65e308, rel=1e-15), 5e-324]
