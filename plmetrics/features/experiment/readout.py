"""The readout of an experiment with two or more arms."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from plmetrics.core.errors import ConfigError, PlmetricsWarning, Problem
from plmetrics.core.names import SuitePath, did_you_mean

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.features.experiment.arm_sums import ExperimentSums
    from plmetrics.suite.python_types import Table

_CORRECTIONS = ("holm", "bonferroni", "benjamini_hochberg", "none")


def readout(
    data: Table,
    outcome: str | Sequence[str],
    arm: str,
    control: object,
    by: Sequence[str | Sequence[str]] = (),
    unit: str | None = None,
    level: float = 0.95,
    *,
    ratio: Mapping[str, Sequence[str]] | None = None,
    covariate: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None = None,
    strata: str | Sequence[str] = (),
    quantile: Mapping[str, tuple[str, float]] | None = None,
    power: float = 0.8,
    mde: float | Mapping[str, float] | None = None,
    mixture: float | Mapping[str, float] | None = None,
    shares: Mapping[str, float] | None = None,
    correction: Literal["holm", "bonferroni", "benjamini_hochberg", "none"] = "holm",
    missing: Literal["error", "drop"] = "error",
    ranks: bool = True,
    reproducible: bool = False,
    shifts: bool = False,
) -> pl.DataFrame:
    """Compare the arms of an experiment with its control, for every outcome and slice.

    Outcomes of 0 and 1 are compared by `two_proportion_z` (p is that of Fisher's exact test where fewer than 5 hits or
    misses of an arm are expected), others by `welch_t`, and with a unit all of them by
    `clustered_t`: the mean is a ratio of sums over units, its variance that of the delta method, so that rows of one
    unit need not be independent. The interval is that of the test. Slices come from the same pass over the table.

    A `ratio` is the sum of one column over that of another, such as clicks by views, tested by `ratio_t` with the
    variance of the delta method. A `covariate` known before the experiment takes its part off (CUPED, `cuped_t`): each
    arm's mean becomes mean - theta (its mean of the covariate - that of all arms), theta the slope within arms. For
    means of rows the difference is the coefficient of the arm in the regression of the outcome on arm and covariate.
    With `strata` (`stratified_t`) an arm's mean is the sum over strata of its mean there times the stratum's share of
    the units of all arms, its variance the sum of share^2 times variance, with Satterthwaite's degrees of freedom.
    A `quantile` such as the median or a latency's p95 is compared by `quantile_t`, with the standard error that its
    order statistics say (Woodruff).

    Args:
        data: a DataFrame, a LazyFrame, a pandas or pyarrow table, or paths of files, a row per outcome seen.
        outcome: the column or columns of outcomes, numbers or booleans; an empty list where there are only ratios.
        arm: the column that says which arm a row is in.
        control: the arm that the others are compared with.
        by: columns to slice by; a list of columns inside it slices by all of them together.
        unit: the column of what was assigned to an arm, if that is not the row.
        level: two-sided level of the intervals, and of the tests that `power` and `required_n` speak of.
        ratio: outcomes that are ratios of sums, by name: numerator and denominator.
        covariate: a column, or numerator and denominator of a ratio, known before the experiment; for every outcome,
            or by outcome if it is a mapping.
        strata: the column or columns whose values are strata; all of a unit is in one.
        quantile: outcomes that are quantiles, by name: a column and a level. Rows are their units.
        power: the chance to find the effect, for `required_n`.
        mde: the effect, as a difference of means, that `required_n` and `power` are for; by outcome if it is a
            mapping. Without it, the one observed: then `power` says no more than the p value does.
        mixture: about how large effects are expected to be, for `always_valid_p`: fix it before the first look.
            `mde` without it, and a tenth of the control's standard deviation without that.
        shares: the planned share of each arm, for the sample ratio and `required_n`; equal ones, if not given.
        correction: how `p_adjusted` counts the tests of all outcomes, arms and slices of one slice set.
        missing: drop leaves out a row without an arm or unit, and for each outcome the rows without it.
        ranks: False leaves out `mann_whitney_p` and `superiority`, which count every value of an outcome.
        shifts: True adds `shift` with its interval, the median difference of a value of the arm and one of the control
            (Hodges and Lehmann): of rows, as `plm.tests.hodges_lehmann` has it. It holds the distinct values in memory.
        reproducible: whether the table is to be the same to the last bit however rows are ordered, split into files
            and spread over threads; it reads the table about eight times.

    Returns:
        A row per outcome, slice and arm: sizes, means, `difference` (arm minus control) with interval, p values,
        `lift` (relative change; Fieller's interval), `cohen_d`, the `effect` that units are counted for with the
        `required_n` of the arm (units, beside a control of its planned share), the `power` of this table, and
        `minimum_effect`, the smallest difference that so many units find with the `power` asked for (a rise, of a
        share). `superiority` is the chance that a value of the arm lies above one of the control, ties half. Null is
        what cannot be said; `status` says why. The last row, `sample_ratio`, tests the arms' sizes against `shares`:
        below 0.001 it is a mismatch, and nothing else should be trusted.

    Raises:
        ConfigError: the control is none of the arms, or an argument is out of range.
        DataError: a column is absent or of another type, or values are missing.

    Sources: those of the tests in `plm.tests`; Deng, Knoblich and Lu (2018), Applying the delta method in metric
    analytics, KDD; Deng, Xu, Kohavi and Walker (2013), Improving the sensitivity of online controlled experiments by
    utilizing pre-experiment data, WSDM; Miratrix, Sekhon and Yu (2013), Adjusting treatment effect estimates by
    post-stratification in randomized experiments, JRSS B 75(2); Woodruff (1952), Confidence intervals for medians and
    other position measures, JASA 47(260); Fabijan et al. (2019), Diagnosing sample ratio mismatch
    in online controlled experiments, KDD.

    >>> import polars as pl, plmetrics as plm
    >>> bought = [1] * 30 + [0] * 270 + [1] * 45 + [0] * 255
    >>> frame = pl.DataFrame({"variant": ["A"] * 300 + ["B"] * 300, "bought": bought})
    >>> found = plm.readout(frame, outcome="bought", arm="variant", control="A")
    >>> found.select("test", pl.col("difference", "p_value").round(4)).rows()
    [('two_proportion_z', 0.05, 0.0641), ('sample_ratio', None, 1.0)]
    """
    from plmetrics.engine.faults import reading
    from plmetrics.engine.memory.budget import machine_budget, separates_table
    from plmetrics.engine.memory.settings import memory_settings
    from plmetrics.features.experiment.arm_balance import readout_warnings
    from plmetrics.features.experiment.arm_sums import experiment_sums
    from plmetrics.features.experiment.design import Experiment, experiment_columns
    from plmetrics.features.experiment.outcomes import outcomes_of
    from plmetrics.features.experiment.readout_table import Plan, readout_table
    from plmetrics.table.opening import open_source
    from plmetrics.table.prediction_columns import column_names

    for role, column in (("arm", arm), ("unit", unit)):
        if column is not None and not isinstance(column, str):
            raise ConfigError(Problem(f"{role} must be a column, not {column!r}", (role,)))
    for role, values in (("ratio", ratio), ("quantile", quantile), ("shares", shares)):
        if values is not None and not isinstance(values, Mapping):
            raise ConfigError(Problem(f"{role} must be a mapping, not {values!r}", (role,)))
    outcomes = outcomes_of(column_names(outcome, "outcome"), ratio, covariate, quantile)
    if quantile and (strata or unit is not None):
        other = "strata" if strata else "unit"
        hint = "read them in a readout of their own"
        raise ConfigError(Problem(f"quantiles are of rows, not by {other}", ("quantile",), hint))
    names = tuple(each.name for each in outcomes)
    for role, value in (("level", level), ("power", power)):
        _inside(value, role)
    _one_of(correction, _CORRECTIONS, "correction")
    _one_of(missing, ("error", "drop"), "missing")
    plan = Plan(
        level,
        power,
        correction,
        by_outcome(mde, names, "mde"),
        by_outcome(mixture, names, "mixture"),
        clustered=unit is not None,
        stratified=bool(strata),
    )
    columns, sets = column_names(strata, "strata"), _slice_sets(by)
    experiment = Experiment(
        outcomes, arm, control, sets, unit, missing, ranks, reproducible, columns, shifts=shifts
    )
    source = open_source(data)
    with memory_settings(machine_budget()), reading(source):
        words = source.check_rows(fill=missing == "drop")
        numbers = len(experiment_columns(source.schema, experiment))
        sums = experiment_sums(source, experiment, separate=separates_table(source, numbers))
    table = readout_table(sums, replace(plan, shares=planned_shares(shares, sums)))
    for text in (*words, *readout_warnings(table, sums)):
        warnings.warn(text, PlmetricsWarning, stacklevel=2)
    return table


def _slice_sets(by: Sequence[str | Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Slice sets by the names of their columns.

    Raises:
        ConfigError: they are no columns, or two sets have one name, or that of all rows.
    """
    from plmetrics.table.prediction_columns import column_names

    entries = [by] if isinstance(by, str) or not isinstance(by, Iterable) else by
    sets: dict[str, tuple[str, ...]] = {}
    for columns in filter(None, (column_names(entry, "by") for entry in entries)):
        name = "_".join(columns)
        if name == "overall" or sets.get(name, columns) != columns:
            what = "all rows are" if name == "overall" else "another slice set is"
            raise ConfigError(Problem(f"'{name}' is what {what} called", ("by",), "rename a column"))
        sets[name] = columns
    return sets


def _inside(value: float, role: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
        percent = isinstance(value, (int, float)) and 10 <= value < 100
        hint = f"write {value / 100:g}" if percent else None
        raise ConfigError(Problem(f"{role} must lie between 0 and 1, not {value!r}", (role,), hint))


def _one_of(value: str, allowed: Sequence[str], role: str) -> None:
    if value not in allowed:
        raise ConfigError(Problem(f"unknown {role} {value!r}", (role,), did_you_mean(value, allowed)))


def by_outcome(
    by_name: float | Mapping[str, float] | None, outcomes: Sequence[str], role: str
) -> dict[str, float] | None:
    """Number of each outcome, from one for all or by name.

    Raises:
        ConfigError: a name is no outcome, or a number is 0 or infinite.
    """
    if by_name is None:
        return None
    values = dict(by_name) if isinstance(by_name, Mapping) else dict.fromkeys(outcomes, by_name)
    path: SuitePath = (role,)
    for name, value in values.items():
        if name not in outcomes:
            raise ConfigError(Problem(f"'{name}' is no outcome", path, did_you_mean(name, outcomes)))
        wrong = (
            isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < float("inf")
        )
        if wrong or value == 0 or (role == "mixture" and value < 0):
            raise ConfigError(Problem(f"{role} must be a number other than 0, not {value!r}", path))
    return {name: float(value) for name, value in values.items()}


def planned_shares(shares: Mapping[str, float] | None, sums: ExperimentSums) -> dict[str, float] | None:
    """The share of each arm, once there is one for each."""
    if shares is None:
        return None
    from plmetrics.table.slice_keys import value_text

    named = {value_text(arm): share for arm, share in shares.items()}
    absent = [arm for arm in named if arm not in sums.arms]
    if absent:
        msg = f"no row is in arm '{absent[0]}'"
        hint = f"arms with rows are {', '.join(sums.arms)}: see why it has none, or leave it out of shares"
        raise ConfigError(Problem(msg, ("shares",), hint))
    if len(named) < len(sums.arms):
        msg = f"shares must be of all arms, which are {', '.join(sums.arms)}"
        raise ConfigError(Problem(msg, ("shares",)))
    if any(not isinstance(share, (int, float)) or not 0 < share < float("inf") for share in named.values()):
        raise ConfigError(Problem("shares must be numbers above 0", ("shares",)))
    return named
