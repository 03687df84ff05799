"""Permutation test of an order of predicted effects against random orders, along the score."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from plmetrics.catalogue.registry import create
from plmetrics.core.errors import ConfigError
from plmetrics.core.hashing import DRAW_SALT, mix, mix_int
from plmetrics.core.ops import Array, Codes
from plmetrics.inference.comparisons.tests.outcome import (
    TestResult,
    check_minimum,
    numbers,
    one_of,
    run_starts,
    same_length,
)
from plmetrics.inference.metric_values import score_view

_AT_ONCE = 1 << 22


def qini_permutation(
    outcome: Any,
    treatment: Any,
    score: Any,
    *,
    method: str = "radcliffe",
    permutations: int = 999,
    seed: int = 0,
    alternative: str = "greater",
) -> TestResult:
    """Test a Qini coefficient against orders at random.

    Rows, each with its outcome and arm, are shuffled along the scores: under no relation of score and effect every
    order is as likely as the one seen. Rows must be independent and count once.

    Args:
        outcome: the outcome of each row.
        treatment: 1 for treated rows, 0 for controls.
        score: the predicted effect.
        method: which curve, as for the metric qini.
        permutations: how many orders are drawn.
        seed: of the draws.
        alternative: "greater" asks whether the order is better than one at random, "two_sided" whether it differs.

    Returns:
        `estimate` and `statistic` are the coefficient; p is (1 + orders that are as extreme) / (1 + orders), so it is
        never 0. `empty_arm` where there are no treated rows or no controls.

    Raises:
        ConfigError: the columns differ in length, an arm is neither 0 nor 1, or there are no permutations.

    Source: Phipson and Smyth (2010), Permutation p-values should never be zero, Statistical Applications in Genetics
    and Molecular Biology 9(1).

    >>> import plmetrics as plm
    >>> outcome, treatment = [0, 1, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1]
    >>> found = plm.tests.qini_permutation(outcome, treatment, [1, 2, 3, 4, 5, 6], method="guelman")
    >>> round(found.estimate, 7), found.n
    (0.3055556, 6)
    """
    one_of(alternative, "alternative", "greater", "two_sided")
    one_of(method, "method", "radcliffe", "guelman")
    columns = {"outcome": numbers(outcome, "outcome"), "score": numbers(score, "score")}
    arm = numbers(treatment, "treatment")
    same_length(("treatment", arm), *columns.items())
    if not np.isin(arm, (0.0, 1.0)).all():
        msg = "treatment must hold 0 and 1 only"
        raise ConfigError(msg)
    check_minimum(permutations, "permutations", 1)
    if arm.all() or not arm.any():
        return TestResult("qini_permutation", n=len(arm), status="empty_arm" if len(arm) else "no_rows")
    order = np.argsort(columns["score"])
    starts = run_starts(columns["score"][order])
    observed = float(_qini(columns["outcome"][order][None], arm[order][None], starts, method)[0])
    batches = [
        _qini(columns["outcome"][rows], arm[rows], starts, method)
        for rows in _permutations(len(arm), permutations, seed)
    ]
    others = np.concatenate(batches)
    slack = 1e-12 * float(np.abs(columns["outcome"]).max())
    extreme = (
        others >= observed - slack if alternative == "greater" else np.abs(others) >= abs(observed) - slack
    )
    p = (1 + int(extreme.sum())) / (1 + permutations)
    return TestResult("qini_permutation", observed, p, observed, n=len(arm))


def _permutations(rows: int, permutations: int, seed: int) -> Iterator[Codes]:
    """Orders of the rows, a few at a time; each depends on the seed and its own number only."""
    step = max(1, _AT_ONCE // rows)
    places = mix(np.arange(1, rows + 1, dtype=np.uint64))
    start = np.uint64(mix_int(seed ^ DRAW_SALT))
    for first in range(0, permutations, step):
        number = np.arange(first + 1, min(first + step, permutations) + 1, dtype=np.uint64)
        yield np.argsort(mix(mix(number + start)[:, None] ^ places), axis=1)


def _qini(outcome: Array, arm: Array, starts: Codes, method: str) -> Array:
    """The coefficient of each order `[order, row]`, ascending by score."""
    channels = {"treated": arm, "control": 1.0 - arm}
    channels |= {f"{name}_outcome": outcome * share for name, share in tuple(channels.items())}
    points = {name: np.add.reduceat(part, starts, axis=1) for name, part in channels.items()}
    values: Array = create("uplift", "qini", {"method": method}).finalise(score_view(points))
    return values
