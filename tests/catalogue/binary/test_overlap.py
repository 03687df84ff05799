import numpy as np
import pytest
from sklearn import metrics as sk

from plmetrics.catalogue.parameters import ParameterError
from plmetrics.catalogue.registry import create


def called(p):
    return (p >= 0.5).astype(int)


def fowlkes_mallows(y, p, w):
    precision = sk.precision_score(y, called(p), sample_weight=w, zero_division=np.nan)
    return np.sqrt(precision * sk.recall_score(y, called(p), sample_weight=w, zero_division=np.nan))


REFERENCES = {
    "f1": lambda y, p, w: sk.f1_score(y, called(p), sample_weight=w, zero_division=np.nan),
    "jaccard": lambda y, p, w: (
        sk.jaccard_score(y, called(p), sample_weight=w) if (y | called(p)).any() else np.nan
    ),
    "fowlkes_mallows": fowlkes_mallows,
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", REFERENCES)
def test_expression_equals_scikit_learn(name, weight, check_expr):
    check_expr(create("binary", name, {}), weight, REFERENCES[name])


@pytest.mark.exhaustive
@pytest.mark.parametrize("beta", [0.5, 1, 2, 7.5])
def test_fbeta_equals_scikit_learn(beta, weight, check_expr):
    def reference(y, p, w):
        return sk.fbeta_score(y, called(p), beta=beta, sample_weight=w, zero_division=np.nan)

    check_expr(create("binary", "fbeta", {"beta": beta}), weight, reference)


@pytest.mark.parametrize("name", ["f1", "fbeta", "jaccard", "fowlkes_mallows"])
def test_undefined(name, status):
    metric = create("binary", name, {"beta": 2} if name == "fbeta" else {})
    parts = name == "fowlkes_mallows"
    assert status(metric, [], []) == "no_rows"
    assert status(metric, [0, 0], [0.2, 0.1]) == ("no_positives" if parts else "zero_denominator")
    assert status(metric, [1, 0], [0.2, 0.1]) == ("zero_denominator" if parts else "ok")
    assert status(metric, [0, 0], [0.9, 0.1]) == ("no_positives" if parts else "ok")
    assert status(metric, [1, 0], [0.2, 0.9]) == "ok"


@pytest.mark.parametrize("beta", [0, -1, float("inf"), float("nan"), True, "two"])
def test_beta_is_a_number_above_0(beta):
    with pytest.raises(ParameterError, match="fbeta: beta must be above 0"):
        create("binary", "fbeta", {"beta": beta})


def test_parameters_stand_in_catalogue_order():
    metric = create("binary", "fbeta", {"threshold": 0.3, "beta": 2})
    assert metric.text == "fbeta(beta=2, threshold=0.3)"
    assert create("binary", "fbeta", {"beta": 0.5}).text == "fbeta(beta=0.5)"


@pytest.mark.parametrize("name", ["f1", "jaccard"])
def test_the_mass_behind_the_value_is_its_denominator(name, counted):
    metric = create("binary", name, {})
    (mass,) = metric.denominators(counted(4.0, 2.0, 1.0, 90.0))
    assert mass == (11.0 if name == "f1" else 7.0)
