"""The readout of an experiment: each arm against the control, for every outcome and slice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.ops import Array
from plmetrics.core.results import EXPERIMENT_SCHEMA
from plmetrics.features.experiment.arm_balance import arm_shares, sample_ratio
from plmetrics.inference.comparisons.correction import adjust_families
from plmetrics.inference.comparisons.tests.arms import (
    Moments,
    cohen_effects,
    lift_tests,
    proportion_tests,
    rank_tests,
    welch_tests,
)
from plmetrics.inference.comparisons.tests.exact_shares import rare_counts, with_exact_p
from plmetrics.inference.comparisons.tests.power import (
    WelchPlan,
    detectable_proportion,
    power_of_proportions,
    required_for_proportions,
)
from plmetrics.inference.comparisons.tests.sequential import always_valid_tests, look_shares, sequential_tests

if TYPE_CHECKING:
    from plmetrics.features.experiment.arm_sums import ArmSums, ExperimentSums
    from plmetrics.features.experiment.experiment_section import Sequential
    from plmetrics.inference.comparisons.tests.outcome import TestOutcomes

_FEW_UNITS = 30
_UNEVEN = 0.9
"""Part of the units that as many of equal size are worth, below which a note says so."""
_SMALL_EFFECT = 0.1
_EXACT = "p is that of Fisher's exact test: few hits or misses are expected"
_ALIKE = 1e-12
"""By what part of their mean values differ through rounding alone."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Options of a readout: `mde` and `mixture` by outcome, `shares` by arm; None where nothing is said.

    `looks` are those of a sequential plan, at planned sizes where it has a spending function. Slices with fewer than
    `min_rows` rows have no values.
    """

    level: float = 0.95
    power: float = 0.8
    correction: str = "holm"
    mde: Mapping[str, float] | None = None
    mixture: Mapping[str, float] | None = None
    shares: Mapping[str, float] | None = None
    clustered: bool = False
    stratified: bool = False
    sequential: bool = False
    looks: Sequential | None = None
    min_rows: int = 0

    @property
    def at_any_time(self) -> bool:
        """Whether results may be read at any time, not at looks of planned sizes."""
        return self.sequential and (self.looks is None or self.looks.spending is None)


def readout_table(experiment: ExperimentSums, plan: Plan) -> pl.DataFrame:
    """Row per outcome, slice and arm, and one comparison of the arms' sizes with the plan."""
    frames = [_of_outcome(experiment, sums, plan) for sums in experiment.sums]
    family = pl.when(pl.col("p_value").is_not_null()).then("slice_set")
    table = adjust_families(pl.concat(frames), family, plan.correction).select(list(EXPERIMENT_SCHEMA))
    return pl.concat([table, _to_frame(sample_ratio(experiment, plan.shares), 1)])


@np.errstate(over="ignore", invalid="ignore")
def _of_outcome(experiment: ExperimentSums, sums: ArmSums, plan: Plan) -> pl.DataFrame:
    arms = len(experiment.arms) - 1
    arm, control = _arm(sums, slice(1, None), arms), _arm(sums, slice(0, 1), arms)
    name, is_plain = sums.outcome.name, sums.outcome.is_plain and not plan.stratified
    binary = sums.binary and is_plain and not plan.clustered
    alike, constant = _alike(sums, arm, control, binary=binary)
    # Of arms one of whose values are all alike has the spread of both: 0 of 15 do not say that none ever would.
    varying = arm.with_spread(control, alike[0]), control.with_spread(arm, alike[1])
    test = (proportion_tests if binary else welch_tests)(*varying, plan.level)
    n, n_control = (_flat(sums.n, part, arms) for part in (slice(1, None), slice(0, 1)))
    effect = cohen_effects(arm, control, plan.level)
    scale = _effect_scale(control, _outcome_value(plan.mixture, name, _outcome_value(plan.mde, name, None)))
    at_any_time = _always_valid(test, scale, plan.level)
    rare = rare_counts(arm, control) & (binary and not plan.at_any_time)
    at_once = with_exact_p(test, arm, control, rare)
    read = at_any_time if plan.at_any_time else _at_this_look(at_once, experiment, plan)
    lift = _without_interval(lift_tests(*varying, plan.level, _limit(read, *varying)), constant)
    read = _without_interval(read, constant)
    vague = np.isfinite(np.asarray(lift.estimate)) & ~np.isfinite(np.asarray(lift.lower)) & ~constant
    columns: dict[str, Any] = {
        "outcome": [name] * len(n),
        "slice_set": [set_name for set_name, _ in experiment.slices for _ in range(arms)],
        "slice": [text for _, text in experiment.slices for _ in range(arms)],
        "arm": list(experiment.arms[1:]) * len(experiment.slices),
        "control": [experiment.arms[0]] * len(n),
        "n": n,
        "n_control": n_control,
        "units": _flat(sums.units, slice(1, None), arms),
        "units_control": _flat(sums.units, slice(0, 1), arms),
        "mean": _flat(sums.mean, slice(1, None), arms),
        "mean_control": _flat(sums.mean, slice(0, 1), arms),
        "difference": test.estimate,
        "lower": read.lower,
        "upper": read.upper,
        "std_error": test.std_error,
        "test": [_test_name(sums, plan)] * len(n),
        "p_value": read.p_value,
        "always_valid_p": at_any_time.p_value,
        **_rank_columns(sums, arms),
        **_shift_columns(sums, arms, plan.level),
        "lift": lift.estimate,
        "lift_lower": lift.lower,
        "lift_upper": lift.upper,
        "cohen_d": effect.estimate if is_plain and not plan.clustered else np.full(len(n), np.nan),
        **_power_columns(
            experiment, *varying, _outcome_value(plan.mde, name, None), binary=binary, plan=plan
        ),
        "status": _status(sums, test, plan),
        "note": _notes(experiment, sums, plan, vague, rare),
    }
    small = np.repeat(sums.n.sum(axis=1) < plan.min_rows, arms) & (
        np.array(columns["slice_set"]) != "overall"
    )
    return _without_values(_to_frame(columns, len(n)), pl.lit(pl.Series(small)))


def _without_values(table: pl.DataFrame, small: pl.Expr) -> pl.DataFrame:
    """The table with the sizes alone of slices of too few rows."""
    return table.with_columns(
        pl.when(~small).then(pl.col(pl.Float64)),
        pl.when(small).then(pl.lit("too_few_rows")).otherwise("status").alias("status"),
        pl.when(~small).then("note").alias("note"),
    )


def _status(sums: ArmSums, test: TestOutcomes, plan: Plan) -> NDArray[np.str_]:
    """Status of the test, but where an arm has no rows, sizes of a ratio add up to 0, or squares are too large."""
    lost = (sums.units > 1) & ~np.isfinite(sums.mean)
    if plan.stratified or sums.outcome.quantile is not None:
        lost = np.zeros_like(lost)
    status = test.status.astype(object)
    has_units = (sums.units > 1) & ~(sums.freedom <= 0)  # one unit may have all of the size
    overflow = has_units & np.isfinite(sums.mean) & ~np.isfinite(sums.unadjusted)
    if sums.outcome.quantile is not None:
        overflow = np.zeros_like(overflow)
    for flags, name in ((overflow, "overflow"), (lost, "zero_denominator"), (sums.n == 0, "no_rows")):
        status[(flags[:, 1:] | flags[:, :1]).reshape(-1)] = name
    return status.astype(str)


def _test_name(sums: ArmSums, plan: Plan) -> str:
    """Adjustment of means, or the source of their variance."""
    if plan.sequential:
        return "always_valid" if plan.at_any_time else "group_sequential"
    if sums.outcome.quantile is not None:
        return "quantile_t"
    if plan.stratified or sums.outcome.covariate:
        adjustments = ("stratified" if plan.stratified else "", "cuped" if sums.outcome.covariate else "")
        return "_".join((*filter(None, adjustments), "t"))
    if sums.outcome.size is not None:
        return "ratio_t"
    return "clustered_t" if plan.clustered else "two_proportion_z" if sums.binary else "welch_t"


def _arm(sums: ArmSums, part: slice, arms: int) -> Moments:
    """The units, means and spreads of arms in every slice; the control is repeated for each of the others.

    Units count as none where enough of them give no variance: a stratum has too few, or sizes add up to 0.
    """
    units, mean, variance, freedom = (
        _flat(values, part, arms) for values in (sums.units, sums.mean, sums.variance, sums.freedom)
    )
    lost = (units > 1) & ~np.isfinite(mean + variance)
    units = np.where(lost, 1.0, units)
    return Moments.of(units, mean, np.sqrt(variance * units), freedom)


def _alike(
    sums: ArmSums, arm: Moments, control: Moments, *, binary: bool
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Mask of arms, and of controls, whose values are all alike beside others that vary; and of both alike.

    So is a single unit of a share, which a test of means has too few of. Quantiles have ranks.
    """
    if sums.outcome.quantile is not None:
        none = np.zeros((2, *arm.n.shape), dtype=np.bool_)
        return none, none[0]
    parts = (slice(1, None), arm), (slice(0, 1), control)
    arms = sums.n.shape[1] - 1
    alike = [
        (_flat(sums.unadjusted * sums.units, part, arms) <= (_ALIKE * moments.mean) ** 2)
        | (binary & (moments.n == 1))
        for part, moments in parts
    ]
    return np.array([alike[0] & ~alike[1], alike[1] & ~alike[0]]), alike[0] & alike[1]


def _without_interval(test: TestOutcomes, constant: NDArray[np.bool_]) -> TestOutcomes:
    """The test without an interval where no value varies: 0 of 15 in both arms do not say that none ever would."""
    ends = (np.where(constant, np.nan, np.asarray(end, dtype=np.float64)) for end in (test.lower, test.upper))
    return replace(test, **dict(zip(("lower", "upper"), ends, strict=True)))


def _flat(values: Array, part: slice, arms: int) -> Array:
    return np.broadcast_to(values[:, part], (len(values), arms)).reshape(-1)


def _outcome_value(values: Mapping[str, float] | None, outcome: str, default: float | None) -> float | None:
    return default if values is None else values.get(outcome, default)


def _effect_scale(control: Moments, mixture: float | None) -> Array:
    """Scale of effects of an anytime-valid test: a tenth of the control's spread by default."""
    spread: Array = np.where(control.sd > 0, control.sd, 1.0) * _SMALL_EFFECT
    return spread if mixture is None else np.full(spread.shape, abs(mixture))


def _always_valid(test: TestOutcomes, scale: Array, level: float) -> TestOutcomes:
    """Anytime-valid test, by the scale of effects in each place."""
    estimate, error = np.asarray(test.estimate), np.asarray(test.std_error)
    looks = always_valid_tests(test.n, estimate / scale, error / scale, mixture=1.0, level=level)
    tested = np.isfinite(test.p_value)
    p_value, lower, upper = (
        np.where(tested, np.asarray(values), np.nan) for values in (looks.p_value, looks.lower, looks.upper)
    )
    return replace(looks, p_value=p_value, lower=lower * scale, upper=upper * scale)


def _at_this_look(test: TestOutcomes, experiment: ExperimentSums, plan: Plan) -> TestOutcomes:
    """Test at the current size: itself, but for looks at planned sizes with error spending."""
    if plan.looks is None or plan.looks.spending is None:
        return test
    assert plan.looks.planned is not None
    shares = look_shares(float(experiment.sizes.sum()), plan.looks.planned, plan.looks.looks)
    return sequential_tests(test, shares, plan.looks.spending, plan.level)


def _limit(test: TestOutcomes, arm: Moments, control: Moments) -> Array:
    """Half an interval of differences, in standard errors."""
    error = np.sqrt(arm.of_mean + control.of_mean)
    half = (np.asarray(test.upper) - np.asarray(test.lower)) / 2
    return np.asarray(half / np.where(error > 0, error, np.nan), dtype=np.float64)


def _rank_columns(sums: ArmSums, arms: int) -> dict[str, Array]:
    names = ("mann_whitney_p", "superiority")
    if sums.above is None or sums.ties is None:
        return dict.fromkeys(names, np.full(len(sums.n) * arms, np.nan))
    n, above, ties = (_flat(values, slice(1, None), arms) for values in (sums.n, sums.above, sums.ties))
    test = rank_tests(n, _flat(sums.n, slice(0, 1), arms), above, ties)
    return dict(zip(names, (test.p_value, np.asarray(test.estimate)), strict=True))


def _shift_columns(sums: ArmSums, arms: int, level: float) -> dict[str, Array]:
    if not sums.values:
        return {}
    from plmetrics.inference.comparisons.shifts import arm_shifts

    estimates = np.full((3, len(sums.n), arms), np.nan)
    for table in sums.values:
        place, value, control = (table[name].to_numpy() for name in ("@place", "value", "arm|0"))
        for arm in range(arms):
            of_arm = table[f"arm|{arm + 1}"].to_numpy()
            shifts = arm_shifts(place, value, of_arm, control, len(sums.n), level=level)
            estimates[:, :, arm] = np.where(np.isnan(shifts[0]), estimates[:, :, arm], shifts)
    names = ("shift", "shift_lower", "shift_upper")
    return dict(zip(names, estimates.reshape(3, -1), strict=True))


def _power_columns(
    experiment: ExperimentSums, arm: Moments, control: Moments, mde: float | None, *, binary: bool, plan: Plan
) -> dict[str, Array]:
    """Detectable effect, required size of the arm beside a control of its planned share, and the power as it is."""
    planned = arm_shares(experiment, plan.shares)
    ratio = np.tile(planned[0] / planned[1:], len(experiment.slices))
    plannable = np.minimum(arm.n, control.n) >= (1 if binary else 2)
    effect = (
        np.where(plannable, arm.mean - control.mean, np.nan) if mde is None else np.full(arm.n.shape, mde)
    )
    if binary:
        target = np.where(plannable, control.mean + effect, np.nan)
        sound = (target >= 0) & (target <= 1)
        goal = np.where(sound, target, control.mean)
        power = power_of_proportions(goal, control.mean, arm.n, control.n, plan.level)
        needed = required_for_proportions(goal, control.mean, plan.power, plan.level, ratio)
        return {
            "effect": effect,
            "required_n": needed,
            "power": np.where(sound, power, np.nan),
            "minimum_effect": detectable_proportion(
                np.where(plannable, control.mean, np.nan), arm.n, control.n, plan.power, plan.level
            ),
        }
    sizes = np.stack([arm.n, control.n])
    freedom = np.stack([arm.freedom, control.freedom]) / np.maximum(sizes - 1.0, 1.0)
    test = WelchPlan(np.stack([arm.sd, control.sd]) ** 2, freedom, plan.level)
    return {
        "effect": effect,
        "required_n": test.units(effect, plan.power, ratio),
        "power": test.power(effect, sizes),
        "minimum_effect": test.detectable(sizes, plan.power),
    }


def _notes(experiment: ExperimentSums, sums: ArmSums, plan: Plan, vague: Any, rare: Any) -> list[str | None]:
    """Notes of each line: few units, units of several arms, strata, a covariate's gain, a `vague` lift, `rare` hits."""
    arms = len(experiment.arms) - 1
    sizes, freedom = (
        np.minimum(*(_flat(values, part, arms) for part in (slice(1, None), slice(0, 1))))
        for values in (sums.units, sums.freedom)
    )
    uneven = (not plan.stratified) & (freedom + 1.0 < _UNEVEN * sizes)
    effective = np.where(uneven, freedom + 1.0, sizes)
    small = plan.clustered & (effective < _FEW_UNITS)
    variance, raw, means = (
        _flat(values, slice(1, None), arms) + _flat(values, slice(0, 1), arms)
        for values in (sums.variance, sums.unadjusted, sums.mean)
    )
    lost = (sizes > 1) & ~np.isfinite(means) & plan.stratified
    sized = sums.outcome.size is not None or len(sums.outcome.covariate) > 1
    without = "a stratum has fewer than 2 units of an arm" + (", or sizes that add up to 0" if sized else "")
    explained = np.where(raw > 0, 1.0 - variance / np.where(raw > 0, raw, 1.0), np.nan)
    adjusted = np.isfinite(explained) & bool(sums.outcome.covariate)
    mixed = plan.clustered and experiment.shared
    shared = "1 unit" if experiment.shared == 1 else f"{experiment.shared:,} units"
    columns = (
        [_few_units(*pair) if flag else None for *pair, flag in zip(sizes, effective, small, strict=True)],
        [f"{shared} in more than one arm" if mixed else None] * len(sizes),
        [without if flag else None for flag in lost],
        [_gain(share) if flag else None for share, flag in zip(explained, adjusted, strict=True)],
        ["no interval of the lift: the control's mean may be 0" if flag else None for flag in vague],
        [_EXACT if flag else None for flag in rare],
    )
    return ["; ".join(filter(None, texts)) or None for texts in zip(*columns, strict=True)]


def _few_units(units: float, effective: float) -> str:
    return f"only {int(units)} units" + (
        "" if effective == units else f", worth {effective:.1f} of equal size"
    )


def _gain(share: float) -> str:
    if round(share, 2) < 0:
        return f"the covariate adds {-share:.0%} to the variance"
    return f"the covariate takes {round(share, 2) + 0.0:.0%} off the variance"


def _to_frame(columns: Mapping[str, Any], height: int) -> pl.DataFrame:
    """Columns in the schema's order; null for non-finite and absent ones."""
    absent = [None] * height
    frame = pl.DataFrame(
        [pl.Series(name, columns.get(name, absent), strict=False) for name in EXPERIMENT_SCHEMA]
    )

    def column(name: str, dtype: pl.DataType) -> pl.Expr:
        value = pl.col(name)
        of_numbers = dtype != pl.String and frame.schema[name].is_float()
        return (pl.when(value.is_finite()).then(value) if of_numbers else value).cast(dtype)

    return frame.select(column(name, dtype) for name, dtype in EXPERIMENT_SCHEMA.items())
