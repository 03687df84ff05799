"""Rank correlations from states of days: within their bounds of what SciPy says of all rows."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

import plmetrics as plm

SUITE = {
    "task": "regression",
    "label": "y",
    "models": ["p", "q"],
    "unit": "customer",
    "metrics": ["spearman", "kendall"],
    "slices": {"region": "region"},
    "uncertainty": {"replicates": 60},
    "compare": {"baseline": "p"},
}
EXPECTED = {"spearman": stats.spearmanr, "kendall": stats.kendalltau}


def table(rows=12_000):
    rng = np.random.default_rng(11)
    y = rng.gamma(2.0, size=rows)
    return pl.DataFrame(
        {
            "y": np.where(rng.uniform(size=rows) < 0.2, 0.0, y),
            "p": y + rng.normal(size=rows),
            "q": y + 2.0 * rng.normal(size=rows),
            "region": rng.choice(["north", "south", "west"], rows),
            "customer": rng.integers(0, 2_000, rows),
        }
    )


@pytest.fixture(scope="module")
def merged(tmp_path_factory):
    rows, folder = table(), tmp_path_factory.mktemp("ranks")
    days = [rows.filter(pl.col("customer") % 3 == day) for day in range(3)]
    days[2] = days[2].filter(pl.col("region") != "west")
    days[0] = days[0].filter(pl.col("region") != "south")
    first = plm.state(days[1], folder / "first.state", **SUITE)
    later = [
        plm.state(day, folder / f"{number}.state", constants=first, **SUITE)
        for number, day in enumerate(days)
    ]
    month = plm.state(pl.concat(days), constants=first, **SUITE)
    plm.merge(*later[:2], state=folder / "both.state")
    return pl.concat(days), plm.merge(folder / "both.state", later[2]), plm.merge(month)


@pytest.mark.slow
def test_days_are_what_scipy_says_of_all_their_rows(merged):
    rows, found, _ = merged
    assert found.metrics.height == 2 * 2 * 4
    for model, slice_, metric, value, bound in found.metrics.select(
        "model", "slice", "metric", "value", "bound"
    ).iter_rows():
        part = rows if slice_ == "all" else rows.filter(pl.col("region") == slice_.removeprefix("region="))
        expected = EXPECTED[metric](part["y"], part[model]).statistic
        assert abs(value - expected) <= bound < 0.004, (model, slice_, metric)


@pytest.mark.slow
def test_months_of_days_have_the_intervals_of_one_run(merged):
    _, found, month = merged
    for name in ("lower", "upper", "std_error"):
        assert found.metrics[name].to_list() == pytest.approx(month.metrics[name].to_list(), rel=1e-9)
    difference = found.comparisons.filter(pl.col("slice") == "all")
    assert (difference["upper"] < 0).all()


@pytest.mark.slow
def test_weights_add_the_same_to_the_last_bit():
    rows = table(600).with_columns(w=pl.col("y") + 0.3)
    suite = {**SUITE, "weight": "w", "reproducible": True, "uncertainty": None, "compare": None}
    whole = plm.state(rows, **suite)
    days = [
        plm.state(rows.filter(pl.col("customer") % 3 == day), constants=whole, **suite) for day in range(3)
    ]
    found = [plm.merge(*order).metrics for order in (days, days[::-1], [whole])]
    assert all(metrics.equals(found[0]) for metrics in found)
