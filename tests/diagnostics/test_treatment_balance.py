"""A treatment that scores or slices tell of is warned of; one that was drawn, or has propensities, is not."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.diagnostics.treatment_balance import standardised_difference, unlike_shares

RNG = np.random.default_rng(5)
N = 3000
SCORE = RNG.normal(size=N)
GROUP = RNG.integers(0, 3, N)
CHANCE = 1 / (1 + np.exp(-SCORE))
UNIT = RNG.integers(0, 300, N)
FRAME = pl.DataFrame(
    {
        "y": RNG.random(N),
        "p": SCORE,
        "g": GROUP,
        "e": CHANCE,
        "u": UNIT,
        "drawn": (RNG.random(N) < 0.4).astype(int),
        "by_score": (RNG.random(N) < CHANCE).astype(int),
        "by_group": (RNG.random(N) < np.array([0.2, 0.5, 0.8])[GROUP]).astype(int),
        "survey": RNG.random(N) + 0.5,
        "by_unit": RNG.integers(0, 2, 300)[UNIT],
    }
)
FRAME = FRAME.with_columns(inverse=1 / pl.when(pl.col("by_score") == 1).then("e").otherwise(1 - pl.col("e")))
ROLES: dict[str, Any] = {"task": "uplift", "label": "y", "models": "p", "slices": ["g"]}


def told(treatment: str, metrics: list[str], **options: Any) -> list[str]:
    warnings = plm.evaluate(FRAME, treatment=treatment, metrics=metrics, **ROLES, **options).warnings
    return [text for text in warnings if "who was treated" in text]


def test_scores_of_the_treated_that_are_higher() -> None:
    (text,) = told("by_score", ["qini"])
    assert text.startswith("the score of model 'p' tells who was treated")
    one, two = (SCORE[FRAME["by_score"].to_numpy() == arm] for arm in (1, 0))
    distance = (one.mean() - two.mean()) / np.sqrt((one.var() + two.var()) / 2)
    assert f" {distance:.2f} standard deviations above" in text
    assert told("by_score", ["ate", "ate_ipw(propensity=e)"]) == []
    assert len(told("by_score", ["qini", "ate_ipw(propensity=e)"])) == 1, "areas do not have the propensity"
    assert len(told("by_score", ["qini"], weight="survey")) == 1
    assert told("by_score", ["qini"], weight="inverse") == []
    (text,) = told("by_score", ["qini"], weight=["inverse", None])
    assert text.startswith("the score of model 'p_unweighted' tells"), "each model has weights of its own"


def test_slices_with_other_shares() -> None:
    (text,) = told("by_group", ["ate"])
    shares = FRAME.group_by("g").agg(pl.col("by_group").mean())["by_group"]
    assert f"from {shares.min():.1%} of the rows to {shares.max():.1%}" in text
    assert told("by_group", ["ate", "ate_ipw(propensity=e)"]) == []
    assert told("by_group", ["disparity(ate_ipw(propensity=e), by=g)"]) == []
    merged = plm.merge(plm.state(FRAME, treatment="by_group", metrics=["ate"], **ROLES)).warnings
    assert text in merged


@pytest.mark.parametrize("metrics", [["ate"], ["qini", "ate"]])
def test_a_drawn_treatment(metrics: list[str]) -> None:
    assert told("drawn", metrics) == []
    assert told("by_unit", metrics, unit="u", uncertainty={"replicates": 5}) == []


def test_the_distance_is_that_of_weighted_moments() -> None:
    weight = RNG.random(N) + 0.1
    treated = FRAME["by_score"].to_numpy() == 1
    means, spreads = zip(
        *(
            (
                mean := np.average(SCORE[arm], weights=weight[arm]),
                np.average((SCORE[arm] - mean) ** 2, weights=weight[arm]),
            )
            for arm in (treated, ~treated)
        ),
        strict=True,
    )
    distance, _ = standardised_difference(pl.Series(SCORE), pl.Series(treated), pl.Series(weight))
    assert distance == pytest.approx((means[0] - means[1]) / np.sqrt(sum(spreads) / 2), rel=1e-12)
    for factor in (1e-200, 1e200):  # whose squares are no numbers
        extreme = standardised_difference(pl.Series(SCORE), pl.Series(treated), pl.Series(factor * weight))
        assert extreme == pytest.approx(
            standardised_difference(pl.Series(SCORE), pl.Series(treated), pl.Series(weight)), rel=1e-12
        )
    nothing = standardised_difference(pl.Series([1.0, 1.0]), pl.Series([True, False]), None)
    assert nothing == (0.0, 0.0)


def test_shares_of_few_rows_are_no_evidence() -> None:
    share, variance = np.array([0.2, 0.8, 0.5]), np.array([1e-4, 1e-4, 1e-4])
    assert unlike_shares(share, variance, np.array([True, True, True])) == (0.2, 0.8)
    assert unlike_shares(share, variance, np.array([True, False, False])) is None
    assert unlike_shares(share, variance * 1e3, np.array([True, True, True])) is None
    assert unlike_shares(np.array([0.5, 0.55]), variance[:2] / 1e3, np.array([True, True])) is None
