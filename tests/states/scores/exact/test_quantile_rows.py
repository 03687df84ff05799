"""Quantiles of rows that are not sorted: those of a plain loop over all of them in order."""

import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import plmetrics as plm
from plmetrics.core import ops
from plmetrics.states.scores.exact import quantile_rows
from plmetrics.states.scores.exact.quantile_rows import QuantileRows


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Few rows are many, and samples of so few are often wrong."""
    monkeypatch.setattr(quantile_rows, "_SAMPLE", 12)
    monkeypatch.setattr(quantile_rows, "_WORTH_A_SAMPLE", 24)
    monkeypatch.setattr(quantile_rows, "_PIECE", 17)
    monkeypatch.setattr(quantile_rows, "_MARGIN", 0.6)


def quantile(values, weights, level):
    """Mean of the first value whose running weight reaches the level and of the first that passes it."""
    rows = sorted(zip(values.tolist(), weights.tolist(), strict=True))
    target, running, reached = level * float(weights.sum()), 0.0, None
    for value, weight in rows:
        running += weight
        if reached is None and running >= target * (1 - 1e-12):
            reached = value
        if running > target * (1 + 1e-12):
            return (reached + value) / 2
    return reached


def of_arrays(value, weight, levels):
    """The rows of a frame, whose columns are in memory in several parts."""
    columns = {"value": value} if weight is None else {"value": value, "weight": weight}
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Float64))
    parts = pl.concat([frame[:25], frame[25:70], frame[70:]], rechunk=False)
    return QuantileRows.of(parts, "value", None if weight is None else "weight", levels)


def read(sliced, level):
    """The same from the points of each slice."""
    state = sliced.point_state()
    out = []
    for number in range(sliced.slices):
        part = slice(*state["score"].offsets[number : number + 2])
        value, mass = state["score"].values[part], state["positive"].values[part]
        out.append(quantile(value, mass, level) if len(value) else None)
    return out


@settings(phases=(Phase.explicit, Phase.generate))
@given(
    st.integers(0, 400),
    st.integers(1, 300),
    st.integers(1, 4),
    st.sampled_from(["once", "weighted"]),
    st.lists(st.sampled_from([0.0, 0.01, 0.25, 0.5, 0.9, 1.0]), min_size=1, max_size=3, unique=True),
    st.sampled_from(["any", "ascending", "periodic"]),
    st.integers(0, 2**20),
)
def test_quantiles_are_those_of_all_rows_in_order(rows, distinct, slices, kind, levels, order, seed):
    rng = np.random.default_rng(seed)
    value = rng.integers(0, distinct, rows) / 7.0 - 3.0
    if order == "ascending":
        value.sort()
    elif order == "periodic":  # every k-th row, as a sample takes them, is far from the others
        value[:: max(1, rows // 12)] += 1000.0
    weight = rng.integers(1, 9, rows) / 4.0 if kind == "weighted" else None
    masses = np.ones(rows) if weight is None else weight
    ordered = of_arrays(value, weight, tuple(levels))
    code = rng.integers(-1, slices, rows)
    for level in levels:
        if rows:
            assert read(ordered.regroup(None, 1), level) == [quantile(value, masses, level)]
        expected = [
            quantile(value[code == each], masses[code == each], level) if (code == each).any() else None
            for each in range(slices)
        ]
        assert read(ordered.regroup(code, slices), level) == expected


def test_few_rows_of_many_are_sorted(monkeypatch):
    monkeypatch.setattr(quantile_rows, "_SAMPLE", 400)
    monkeypatch.setattr(quantile_rows, "_MARGIN", 4.0)
    value = np.random.default_rng(2).normal(size=4000)
    kept = of_arrays(value, None, (0.5,)).regroup(None, 1)
    assert len(kept.ordered.score) < 0.3 * len(value)
    assert ops.total(kept.point_state()["positive"]).tolist() == [4000.0]


def test_numbers_without_end_are_numbers():
    value = np.append(np.full(300, np.inf), np.arange(100.0))
    assert read(of_arrays(value, None, (0.2, 0.5)).regroup(None, 1), 0.5) == [np.inf]
    assert read(of_arrays(value, None, (0.2, 0.5)).regroup(None, 1), 0.2) == [79.5]


@pytest.mark.parametrize("weight", [None, "w"])
def test_a_run_has_the_quantiles_of_numpy(weight):
    rng = np.random.default_rng(3)
    rows = pl.DataFrame(
        {"y": rng.normal(size=5000), "p": rng.normal(size=5000), "w": rng.integers(1, 4, 5000)}
    )
    found = plm.evaluate(
        rows,
        task="regression",
        label="y",
        models="p",
        weight=weight,
        metrics=["median_absolute_error", "absolute_error_quantile(q=0.9)", "max_error"],
        uncertainty=False,
    )
    error = np.repeat(np.abs(rows["y"] - rows["p"]), rows["w"] if weight else 1)
    expected = np.quantile(error, [0.5, 0.9, 1.0], method="averaged_inverted_cdf")
    assert found.metrics["value"].to_list() == expected.tolist()
