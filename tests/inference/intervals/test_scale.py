from __future__ import annotations

import math

import numpy as np
import pytest

from plmetrics.inference.intervals.scale import scale_of

INFINITY = float("inf")
RANGES = [
    (0.0, 1.0),
    (-1.0, 1.0),
    (0.0, INFINITY),
    (-INFINITY, INFINITY),
    (-INFINITY, 1.0),
    (0.5, 1.0),
    (0.0, 200.0),
]
INSIDE = np.array([0.6, 0.75, 0.999])


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ((0, 1), math.log(0.75 / 0.25)),
        ((-1, 1), math.log(0.875 / 0.125)),
        ((0, INFINITY), math.log(0.75)),
        ((-INFINITY, INFINITY), 0.75),
        ((-INFINITY, 1.0), 0.75),
        ((0.5, 1.0), 0.75),
    ],
)
def test_the_function_by_range(bounds: tuple[float, float], expected: float) -> None:
    assert scale_of(bounds).forward(np.array([0.75]))[0] == pytest.approx(expected)


@pytest.mark.parametrize("bounds", RANGES)
def test_there_and_back(bounds: tuple[float, float]) -> None:
    scale = scale_of(bounds)
    assert scale.backward(scale.forward(INSIDE)) == pytest.approx(INSIDE, rel=1e-12)


@pytest.mark.parametrize("bounds", RANGES)
def test_the_slope_is_the_derivative(bounds: tuple[float, float]) -> None:
    scale, step = scale_of(bounds), 1e-6
    numeric = (scale.forward(INSIDE + step) - scale.forward(INSIDE - step)) / (2 * step)
    assert scale.slope(INSIDE) == pytest.approx(numeric, rel=1e-5)


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-1.0, 1.0), (0.0, INFINITY)])
def test_the_ends_are_infinite_and_come_back(bounds: tuple[float, float]) -> None:
    scale = scale_of(bounds)
    ends = np.array([end for end in bounds if math.isfinite(end)])
    assert np.isinf(scale.forward(ends)).all()
    assert scale.backward(np.array([-1e4, 1e4])).tolist() == list(bounds)
    assert np.isnan(scale.forward(np.array([np.nan]))).all()
