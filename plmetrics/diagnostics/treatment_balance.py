"""Warnings of a treatment not assigned at random: the score, or a row's slice, predicts it."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np
import polars as pl

from plmetrics.catalogue.metric import leaves
from plmetrics.core.names import number_text
from plmetrics.core.ops import Array, Flags
from plmetrics.engine.aggregate.aggregation import Aggregates, sliced_sums
from plmetrics.engine.aggregate.row_plan import TREATED
from plmetrics.engine.run_plan import RunPlan
from plmetrics.table.prediction_columns import score_column

APART = 0.1
"""Shares of treated rows, and means of scores in standard deviations, that are nearer are alike (Austin 2009)."""
CLEAR = 5.0
"""So many standard errors are no chance, whichever of many slices are farthest apart."""
SIZEABLE = 100
_REMEDY = (
    "effects hold what told the arms apart before; weigh rows by a propensity e, as ate_ipw does, areas and tops by "
    "a weight of 1 / e (treated) and 1 / (1 - e) (controls)"
)


def balance_warnings(plan: RunPlan, aggregated: Aggregates) -> list[str]:
    """Warnings of unbalanced arms, for suites without propensity weights.

    Metrics of the order of scores have no propensities but weights: these end the warnings where they balance the arms.

    Source: Austin (2009), Balance diagnostics for comparing the distribution of baseline covariates between treatment
    groups, Statistics in Medicine 28(25).
    """
    parts = [leaf for metric in plan.request.suite.metrics for leaf in leaves(metric)]
    if any(part.weighs_arms for part in parts) and not any(part.needs_score for part in parts):
        return []
    return [*_by_score(plan, aggregated), *_by_slice(plan, aggregated)]


def _by_score(plan: RunPlan, aggregated: Aggregates) -> Iterator[str]:
    """Models with higher scores in one arm, for runs with scores.

    Weights may be what makes arms comparable: with some, arms must be unlike both with and without them.
    """
    rows = aggregated.rows
    if rows is None or TREATED not in rows.columns:
        return
    for name, model in plan.view.roles.models.items():
        column = score_column(name)
        if model.derivations or column not in rows.columns:
            continue
        distance, error = standardised_difference(rows[column], rows[TREATED], None)
        weight = plan.view.roles.weight_of(name)
        if weight is not None:
            weighted = standardised_difference(rows[column], rows[TREATED], rows[weight])
            distance, error = min((distance, error), weighted, key=lambda pair: abs(pair[0]))
        if plan.request.suite.columns.unit is not None:
            error *= sqrt(rows.height / max(int(aggregated.units.sum()), 1))
        if abs(distance) > max(APART, CLEAR * error):
            side = "above" if distance > 0 else "below"
            yield (
                f"the score of model '{name}' tells who was treated: its mean there is "
                f"{number_text(round(abs(distance), 2))} standard deviations {side} that of the controls; {_REMEDY}"
            )


def standardised_difference(
    score: pl.Series, treated: pl.Series, weight: pl.Series | None
) -> tuple[float, float]:
    """Standardised mean difference of the treated to the controls, and its standard error.

    Both are 0 where an arm is empty or the scores do not vary.
    """
    usable = score.is_finite() if weight is None else score.is_finite() & (weight > 0)
    arms = [_moments(score, weight, usable & arm) for arm in (treated, ~treated)]
    (mean, spread, size), (control_mean, control_spread, control_size) = arms
    if not (size and control_size and spread + control_spread):
        return 0.0, 0.0
    distance = (mean - control_mean) / sqrt((spread + control_spread) / 2.0)
    return distance, sqrt(1.0 / size + 1.0 / control_size)


def _moments(score: pl.Series, weight: pl.Series | None, chosen: pl.Series) -> tuple[float, float, float]:
    """Mean and variance of some scores, and Kish's effective number of rows; 0 without rows."""
    values = score.filter(chosen).to_numpy()
    if len(values) == 0:
        return 0.0, 0.0, 0.0
    if weight is None:
        return float(values.mean()), float(values.var()), float(len(values))
    masses = weight.filter(chosen).to_numpy()
    masses = masses / masses.max()  # else squares of tiny weights are 0, and of huge ones infinite
    mass = float(masses.sum())
    mean = float(masses @ values) / mass
    return mean, float(masses @ (values - mean) ** 2) / mass, mass**2 / float(masses @ masses)


def _by_slice(plan: RunPlan, aggregated: Aggregates) -> Iterator[str]:
    """Slice sets with differing shares of treated rows; where rows are not units, by shares of blocks."""
    of_units = plan.request.suite.columns.unit is not None
    model = next(iter(plan.populations()))
    prefix = plan.populations()[model]
    for slices, state in zip(plan.slices, sliced_sums(plan, aggregated.sums), strict=True):
        if slices.slice_set.is_whole or f"{model}|treated" not in state.columns:
            continue
        treated, mass = state.columns[f"{model}|treated"], state.columns[f"{prefix}weight"]
        total, rows = state.total(f"{prefix}weight"), state.total(f"{prefix}n")
        with np.errstate(all="ignore"):
            share = state.total(f"{model}|treated") / total
            if of_units:
                squares = (treated - share[state.code] * mass) ** 2
                variance = np.bincount(state.code, weights=squares, minlength=len(total)) / total**2
                sizeable = np.bincount(state.code, minlength=len(total)) >= SIZEABLE
            else:
                variance, sizeable = share * (1.0 - share) / rows, rows >= SIZEABLE
        ends = unlike_shares(share, variance, sizeable)
        if ends is not None:
            low, high = ends
            yield (
                f"slices of '{slices.slice_set.name}' tell who was treated: from {low:.1%} of the rows to {high:.1%}; "
                f"{_REMEDY}, or read the effect by slice"
            )


def unlike_shares(share: Array, variance: Array, sizeable: Flags) -> tuple[float, float] | None:
    """The lowest and the highest share, where they differ by more than chance explains; else None."""
    if sizeable.sum() < 2:
        return None
    share, variance = share[sizeable], variance[sizeable]
    low, high = int(share.argmin()), int(share.argmax())
    distance = float(share[high] - share[low])
    clear = distance > CLEAR * sqrt(float(variance[low] + variance[high]))
    return (float(share[low]), float(share[high])) if clear and distance > APART else None
