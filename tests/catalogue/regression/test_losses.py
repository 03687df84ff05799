import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy import special
from sklearn import metrics as sk

from plmetrics.catalogue.parameters import ParameterError
from plmetrics.catalogue.registry import create


def huber(delta):
    return lambda y, p, w: np.average(special.huber(delta, p - y), weights=w)


def lin_lin(over, under):
    return lambda y, p, w: np.average(np.where(p > y, over * (p - y), under * (y - p)), weights=w)


def linex(a):
    return lambda y, p, w: np.average(special.expm1(a * (p - y)) - a * (p - y), weights=w)


CASES = [
    ("huber", {}, huber(1.0)),
    ("huber", {"delta": 3.5}, huber(3.5)),
    ("log_cosh", {}, lambda y, p, w: np.average(np.log(np.cosh(p - y)), weights=w)),
    ("lin_lin", {"over": 1.5, "under": 0.5}, lin_lin(1.5, 0.5)),
    (
        "lin_lin",
        {"over": 0.1, "under": 0.9},
        lambda y, p, w: sk.mean_pinball_loss(y, p, sample_weight=w, alpha=0.9),
    ),
    ("linex", {"a": 0.3}, linex(0.3)),
    ("linex", {"a": -0.8}, linex(-0.8)),
    ("quantile_loss", {"tau": 0.9}, lambda y, p, w: sk.mean_pinball_loss(y, p, sample_weight=w, alpha=0.9)),
    ("quantile_loss", {"tau": 0.05}, lambda y, p, w: sk.mean_pinball_loss(y, p, sample_weight=w, alpha=0.05)),
]


@pytest.mark.exhaustive
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


@pytest.mark.parametrize("error", [1e-9, -1e-5, 0.03, -0.4999, 0.5, -0.5001, 3.0, -30.0])
def test_linex_keeps_its_digits(error):
    rows = pl.DataFrame({"y": [0.0], "p": [error]})
    found = rows.select(create("regression", "linex", {"a": 1.0}).expr("y", "p")).item()
    x = Fraction(error)
    exact = float(sum(x**k / math.factorial(k) for k in range(2, 120)))
    assert found == pytest.approx(exact, rel=1e-13, abs=0)


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("huber", {"delta": 0}, "delta must be above 0"),
        ("huber", {"delta": float("inf")}, "delta must be above 0"),
        ("quantile_loss", {"tau": 0}, "tau must be between 0 and 1"),
        ("quantile_loss", {"tau": 1}, "tau must be between 0 and 1"),
        ("lin_lin", {"over": 0, "under": 1}, "over must be above 0"),
        ("linex", {"a": 0}, "a must be a finite number other than 0"),
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
