from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from plmetrics.inference.intervals.percentile import percentile, quantiles

numbers = st.floats(-1e6, 1e6) | st.just(float("nan"))
replicates = arrays.arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 3)), elements=numbers)


@settings(deadline=None)
@given(replicates, st.floats(0.01, 0.999))
def test_type_6_quantiles_of_the_defined_replicates(drawn: np.ndarray, level: float) -> None:
    lower, upper = percentile(drawn, level)
    for column, low, high in zip(drawn.T, lower, upper, strict=True):
        defined = column[~np.isnan(column)]
        if len(defined) == 0:
            assert np.isnan([low, high]).all()
        else:
            expected = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2], method="weibull")
            assert [low, high] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_infinite_replicates_are_undefined() -> None:
    drawn = np.array([[1.0], [np.inf], [-np.inf], [3.0]])
    assert quantiles(drawn, (0.0, 0.5, 1.0)).tolist() == [[1.0], [2.0], [3.0]]


def test_replicates_are_left_as_they_were() -> None:
    drawn = np.array([[2.0], [np.inf], [1.0]])
    percentile(drawn, 0.9)
    assert drawn.tolist() == [[2.0], [np.inf], [1.0]]


@pytest.mark.parametrize(
    "probabilities", [(0.025, 0.975), (0.975,), (0.0, 0.5, 1.0), (0.4, 0.4, 0.401), (1.0,)]
)
@pytest.mark.parametrize("ties", [False, True])
def test_what_is_found_by_partition_is_what_sorting_finds(monkeypatch, probabilities, ties) -> None:
    drawn = np.random.default_rng(2).normal(size=(3, 501)).T
    drawn = drawn.round(1) if ties else drawn
    found = quantiles(drawn, probabilities)
    monkeypatch.setattr("plmetrics.inference.intervals.percentile._WORTH_A_PARTITION", 1 << 60)
    assert (found == quantiles(drawn, probabilities)).all()
    assert found == pytest.approx(np.quantile(drawn, probabilities, axis=0, method="weibull"), rel=1e-12)
