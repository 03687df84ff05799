"""Whether the arms of an experiment can be compared: their sizes beside planned shares, and their covariates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.core.ops import Array
from plmetrics.core.special import betainc, chdtrc
from plmetrics.diagnostics.treatment_balance import APART, CLEAR

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.features.experiment.arm_sums import ExperimentSums

MISMATCH = 0.001
SAMPLE_RATIO_MISMATCH = "sample_ratio_mismatch"
_FEW_EXPECTED = 20
"""Units of an arm below which counts are too skew for the chi-square test at the level of a mismatch."""
_ROUNDING = 1e-9


def arm_shares(experiment: ExperimentSums, shares: Mapping[str, float] | None) -> Array:
    """Planned share of each arm, the control first, in units of any one of them."""
    return np.array([1.0 if shares is None else shares[arm] for arm in experiment.arms])


def sample_ratio_p(sizes: Array, shares: Array) -> float:
    """P value of the sizes of arms against their shares: chi-square, or exact where few units of an arm are expected.

    The latter is the smallest binomial p value (twice the smaller tail) of an arm against the others, times the number
    of arms where there are more than two.

    >>> round(sample_ratio_p(np.array([992.0, 8.0]), np.array([0.998, 0.002])), 5)
    0.00216
    """
    units, part = sizes.sum(), shares / shares.sum()
    expected = units * part
    if expected.min() >= _FEW_EXPECTED:
        return float(chdtrc(len(sizes) - 1, ((sizes - expected) ** 2 / expected).sum()))
    at_most = betainc(np.maximum(units - sizes, 1e-300), sizes + 1.0, 1.0 - part)
    at_least = np.where(sizes > 0, betainc(np.maximum(sizes, 1.0), units - sizes + 1.0, part), 1.0)
    tails = np.minimum(np.where(sizes == units, 1.0, at_most), at_least)
    return float(min(1.0, 2.0 * tails.min() * (1 if len(sizes) == 2 else len(sizes))))


def sample_ratio(experiment: ExperimentSums, shares: Mapping[str, float] | None) -> dict[str, Any]:
    """Columns of the row that compares the arms' sizes with their shares."""
    sizes, planned = experiment.sizes, arm_shares(experiment, shares)
    expected = sizes.sum() * planned / planned.sum()
    p = sample_ratio_p(sizes, planned)
    sizes_text = ", ".join(
        f"{arm} {int(size):,} of {expected_size:,.0f}"
        for arm, size, expected_size in zip(experiment.arms, sizes, expected, strict=True)
    )
    wrong = p < MISMATCH
    return {
        "slice_set": ["overall"],
        "slice": ["all"],
        "control": [experiment.arms[0]],
        "n": [int(sizes.sum())],
        "n_control": [int(sizes[0])],
        "test": ["sample_ratio"],
        "p_value": [p],
        "status": [SAMPLE_RATIO_MISMATCH if wrong else "ok"],
        "note": [
            f"arms as expected: {sizes_text}"
            if not wrong
            else f"do not trust the rest: {sizes_text} expected"
        ],
    }


def readout_warnings(table: pl.DataFrame, experiment: ExperimentSums) -> Iterator[str]:
    """Warnings of arms of other sizes than planned, and of covariates: two columns for a mean, or one measured late.

    Two columns are one ratio, where two covariates may be meant. The means of a covariate measured after the start
    differ between an arm and the control by more than chance makes of them.
    """
    yield from (
        f"sample ratio mismatch: {note}" for note in table.filter(status=SAMPLE_RATIO_MISMATCH)["note"]
    )
    seen = set()
    for sums in experiment.sums:
        covariate = sums.outcome.covariate
        if not covariate or covariate in seen:
            continue
        seen.add(covariate)
        if len(covariate) > 1 and sums.outcome.size is None:
            yield (
                f"the mean of '{sums.outcome.name}' is adjusted by one covariate, the ratio {' / '.join(covariate)}, "
                "not by two: name one column where no ratio is meant"
            )
        mean, variance, units = sums.covariate[0], sums.covariate_variance[0], sums.units[0]
        for arm, name in enumerate(experiment.arms[1:], start=1):
            pair = [0, arm]
            deviation, error = np.sqrt((variance * units)[pair].mean()), np.sqrt(variance[pair].sum())
            tolerance = max(APART * deviation, CLEAR * error, _ROUNDING * abs(mean[pair]).max())
            if abs(mean[arm] - mean[0]) > tolerance:
                yield (
                    f"covariate '{' / '.join(covariate)}' differs between the arms: its mean is {mean[arm]:.4g} in "
                    f"{name} and {mean[0]:.4g} in {experiment.arms[0]}; it was not known before, or arms were not "
                    "drawn at random, and what it takes off is part of the effect"
                )
