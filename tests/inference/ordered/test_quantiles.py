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


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(10))
def test_slices_without_labels_lie_among_others_on_a_grid(seed):
    random = np.random.default_rng(seed)
    label, group = random.normal(size=400), random.integers(0, 8, 400)
    score = label + random.normal(size=400)
    unlabelled = set(random.choice(8, 3, replace=False).tolist())
    labels = [None if each in unlabelled else value for value, each in zip(label, group, strict=True)]
    rows = pl.DataFrame({"y": labels, "p": score, "g": group, "u": range(400)})
    asked = {"task": "regression", "metrics": ["median_absolute_error"], "labels": True, "exact": False}
    found = plm.evaluate(
        rows, label="y", models="p", slices={"g": "g"}, unit="u", uncertainty={"replicates": 50}, **asked
    )
    for each in range(8):
        row = found.metrics.row(by_predicate=pl.col("slice") == f"g={each}", named=True)
        if each in unlabelled:
            assert (row["value"], row["status"]) == (None, "unlabelled")
            continue
        median = np.median(np.abs(label - score)[group == each])
        assert abs(row["value"] - median) <= row["bound"] + 1e-12
        assert row["lower"] < row["value"] < row["upper"]
