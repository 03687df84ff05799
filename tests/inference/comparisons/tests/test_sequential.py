import numpy as np
import pytest
from conftest import THOROUGH
from scipy import integrate, stats

import plmetrics as plm
from plmetrics.inference.comparisons.tests.sequential import always_valid_tests


@pytest.mark.parametrize(("estimate", "error"), [(0.02, 0.01), (-0.03, 0.008), (0.001, 0.02)])
def test_the_ratio_is_the_likelihood_averaged_over_effects(estimate: float, error: float) -> None:
    prior = 0.015
    mixed, _ = integrate.quad(
        lambda effect: stats.norm.pdf(estimate, effect, error) * stats.norm.pdf(effect, 0, prior),
        -0.3,
        0.3,
        limit=400,
    )
    ratio = mixed / stats.norm.pdf(estimate, 0, error)
    found = plm.tests.always_valid(estimate, error, mixture=prior)
    assert found.statistic == pytest.approx(ratio, rel=1e-6)
    assert found.p_value == pytest.approx(min(1.0, 1 / ratio), rel=1e-6)


def test_the_interval_excludes_nothing_exactly_where_p_is_small() -> None:
    estimates = np.linspace(-0.05, 0.05, 401)
    found = always_valid_tests(np.ones(401), estimates, np.full(401, 0.01), mixture=0.02)
    excluded = (found.lower > 0) | (found.upper < 0)
    np.testing.assert_array_equal(excluded, found.p_value < 0.05)
    assert 0 < excluded.sum() < 401


def test_p_never_rises_from_look_to_look() -> None:
    looks = [(0.021, 0.012), (0.03, 0.008), (0.01, 0.005), (0.0, 0.004)]
    found = [
        plm.tests.always_valid(*zip(*looks[: last + 1], strict=True), mixture=0.01).p_value
        for last in range(4)
    ]
    assert found == sorted(found, reverse=True)
    assert found[-1] == found[1]


@pytest.mark.parametrize(
    ("estimate", "error", "status", "p"),
    [(0.0, 0.0, "ok", 1.0), (0.1, 0.0, "zero_variance", None), (1e6, 1e-3, "ok", 0.0)],
)
def test_looks_without_spread(estimate: float, error: float, status: str, p: float | None) -> None:
    found = plm.tests.always_valid(estimate, error, mixture=0.01)
    assert found.status == status
    assert found.p_value == (p if p is None else pytest.approx(p, abs=1e-300))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0.1], [-1.0]), "0 or more"),
        (([], []), "of each look"),
        (([0.1, 0.2], [0.1]), "estimate 2, std_error 1"),
    ],
)
def test_wrong_looks_are_said(arguments: tuple, words: str) -> None:
    with pytest.raises(plm.ConfigError, match=words):
        plm.tests.always_valid(*arguments, mixture=0.01)
    with pytest.raises(plm.ConfigError, match="mixture must be"):
        plm.tests.always_valid(0.1, 0.1, mixture=0.0)


@pytest.mark.slow
def test_looking_all_the_time_keeps_the_level() -> None:
    tables = 4000 if THOROUGH else 500
    steps = np.random.default_rng(11).normal(size=(tables, 800))
    looks = np.arange(20, 801, 10)
    means = np.cumsum(steps, axis=1)[:, looks - 1] / looks
    errors = np.broadcast_to(1 / np.sqrt(looks), means.shape)
    found = always_valid_tests(np.ones(means.shape), means, errors, mixture=0.1)
    ever = float((found.p_value < 0.05).any(axis=1).mean())
    fixed = float((2 * stats.norm.sf(np.abs(means / errors)) < 0.05).any(axis=1).mean())
    assert ever < 0.05 < fixed
