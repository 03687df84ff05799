import math

import numpy as np
import polars as pl
import pytest
from scipy import special
from sklearn import metrics as sk

from plmetrics.catalogue.parameters import ParameterError
from plmetrics.catalogue.registry import create


def huber(delta):
    return lambda y, p, w: np.average(special.huber(delta, p - y), weights=w)


CASES = [
    ("huber", {}, huber(1.0)),
    ("huber", {"delta": 3.5}, huber(3.5)),
    ("log_cosh", {}, lambda y, p, w: np.average(np.log(np.cosh(p - y)), weights=w)),
    ("quantile_loss", {"tau": 0.9}, lambda y, p, w: sk.mean_pinball_loss(y, p, sample_weight=w, alpha=0.9)),
    ("quantile_loss", {"tau": 0.05}, lambda y, p, w: sk.mean_pinball_loss(y, p, sample_weight=w, alpha=0.05)),
]


@pytest.mark.parametrize(("name", "parameters", "reference"), CASES)
def test_expression_equals_the_independent_formula(name, parameters, reference, weight, check_expr):
    check_expr(create("regression", name, parameters), weight, reference)


@pytest.mark.parametrize(("name", "parameters", "reference"), CASES)
def test_undefined_only_without_rows(name, parameters, reference, status):
    metric = create("regression", name, parameters)
    assert status(metric, [], []) == "no_rows"
    assert status(metric, [1.0, 2.0], [1.0, 1.0], [0.0, 0.0]) == "no_rows"
    assert status(metric, [1.0], [1.0]) == "ok"


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (0.0, 0.0),
        (1e-150, 5e-301),
        (1e-9, 5e-19),
        (0.1, math.log(math.cosh(0.1))),
        (1 - 1e-9, math.log(math.cosh(1 - 1e-9))),
        (1.0, math.log(math.cosh(1.0))),
        (20.0, math.log(math.cosh(20.0))),
        (1e5, 1e5 - math.log(2)),
        (1e300, 1e300),
    ],
)
def test_log_cosh_of_small_and_large_errors(error, expected, sign):
    rows = pl.DataFrame({"y": [0.0], "p": [sign * error]})
    found = rows.select(create("regression", "log_cosh", {}).expr("y", "p")).item()
    assert found == pytest.approx(expected, rel=1e-13, abs=0)


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("huber", {"delta": 0}, "delta must be above 0"),
        ("huber", {"delta": float("inf")}, "delta must be above 0"),
        ("quantile_loss", {"tau": 0}, "tau must be between 0 and 1"),
        ("quantile_loss", {"tau": 1}, "tau must be between 0 and 1"),
        ("quantile_loss", {}, "parameter 'tau' is missing"),
    ],
)
def test_parameters_are_checked(name, parameters, words):
    with pytest.raises(ParameterError, match=words):
        create("regression", name, parameters)


def test_texts():
    assert create("regression", "huber", {"delta": 1}).text == "huber"
    assert create("regression", "huber", {"delta": 2}).text == "huber(delta=2)"
    assert create("regression", "quantile_loss", {"tau": 0.5}).text == "quantile_loss(tau=0.5)"
