"""P values of rows in units: against signs and loops by hand, and by how often they are wrong."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from scipy import stats

from plmetrics.inference.comparisons.tests import unit_samples
from plmetrics.inference.comparisons.tests.unit_samples import BLOCKS, STEPS, UnitRows, UnitSums


def one_slice(seed: int, blocks: int = 12, terms: int = 4) -> UnitSums:
    """Counts of both samples by block and bin, of one slice; in some blocks only one of them has rows."""
    draw = np.random.default_rng(seed)
    counts = draw.poisson(3, (2, 1, blocks, terms)).astype(float)
    counts[0, :, :2], counts[1, :, 2:4] = 0, 0
    padded = np.concatenate([counts, np.zeros((2, 1, BLOCKS - blocks, terms))], axis=2)
    return UnitSums((padded[0], padded[1]), (padded[0].sum(axis=2), padded[1].sum(axis=2)))


def parts_by_hand(units: UnitSums) -> list[np.ndarray]:
    """What each block adds to the difference of the shares, about those of both samples."""
    before, now = (sums[0] for sums in units.sums)
    pooled = (before.sum(axis=0) + now.sum(axis=0)) / (before.sum() + now.sum())
    return [
        (b - pooled * b.sum()) / now.sum() - (a - pooled * a.sum()) / before.sum()
        for a, b in zip(before, now, strict=True)
        if a.sum() + b.sum() > 0
    ]


def all_signs(parts: list[np.ndarray]) -> Iterator[np.ndarray]:
    for signs in itertools.product([1, -1], repeat=len(parts) - 1):
        yield sum(sign * part for sign, part in zip((1, *signs), parts, strict=True))


@pytest.mark.parametrize("seed", range(3))
def test_a_mean_is_the_sum_of_the_parts_of_blocks(seed: int) -> None:
    units = one_slice(seed)
    first = UnitSums(tuple(sums[:, :, :1] for sums in units.sums), units.rows)
    parts = [part[0] for part in parts_by_hand(units)]
    statistic, p_value = unit_samples.mean_test(first)
    shares = [sums[0, :, 0].sum() / rows.sum() for sums, rows in zip(units.sums, units.rows, strict=True)]
    assert sum(parts) == pytest.approx(shares[1] - shares[0])
    assert statistic[0] == pytest.approx(sum(parts) / np.sqrt(sum(part**2 for part in parts)))
    assert p_value[0] == pytest.approx(2 * stats.norm.sf(abs(statistic[0])))


@pytest.mark.parametrize("seed", range(3))
def test_chi2_has_the_moments_of_all_signs(seed: int) -> None:
    units = one_slice(seed)
    before, now = (sums[0].sum(axis=0) for sums in units.sums)
    table = np.array([before, now])
    statistic = stats.chi2_contingency(table, correction=False).statistic
    pooled, rows = table.sum(axis=0) / table.sum(), table.sum(axis=1)
    replicates = [
        (apart**2 / pooled).sum() / (1 / rows[0] + 1 / rows[1]) for apart in all_signs(parts_by_hand(units))
    ]
    mean, variance = np.mean(replicates), np.var(replicates)
    expected = stats.gamma.sf(statistic, mean**2 / variance, scale=variance / mean)
    assert unit_samples.chi2_p_value(np.array([statistic]), units)[0] == pytest.approx(expected, rel=1e-9)
    share = np.mean(np.array(replicates) >= statistic * (1 - 1e-9))
    assert share == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_the_distance_has_the_share_of_all_signs(seed: int) -> None:
    units = one_slice(seed)
    parts = parts_by_hand(units)
    distance = np.abs(np.cumsum(sum(parts))).max()
    replicates = np.array([np.abs(np.cumsum(apart)).max() for apart in all_signs(parts)])
    share = np.mean(replicates >= distance * (1 - 1e-9))
    assert unit_samples.ks_p_value(units)[0] == pytest.approx(share, abs=0.05)


def test_large_differences_are_no_more_likely_than_the_tail_of_the_normal_deviate() -> None:
    """Of two bins the distance is that of the shares: its p value beyond all replicates is about that of these."""
    counts = np.zeros((2, 1, BLOCKS, 2))
    counts[0, 0, :32], counts[1, 0, 32:] = [6, 4], [4, 6]
    counts += np.random.default_rng(0).integers(0, 2, counts.shape) * (counts > 0)
    units = UnitSums(tuple(counts), tuple(counts.sum(axis=3)))
    first = UnitSums(tuple(counts[..., :1]), units.rows)
    of_mean = unit_samples.mean_test(first)[1][0]
    of_distance = unit_samples.ks_p_value(units)[0]
    assert of_mean < 1e-6
    assert of_mean / 10 < of_distance < of_mean * 10


def test_constants_are_the_same_and_others_are_not() -> None:
    same = np.zeros((2, 1, BLOCKS, 2))
    same[:, :, :20, 0] = 3
    units = UnitSums(tuple(same), tuple(same.sum(axis=3)))
    assert unit_samples.chi2_p_value(np.array([0.0]), units)[0] == 1
    assert unit_samples.ks_p_value(units)[0] == 1
    assert unit_samples.mean_test(UnitSums(tuple(same[..., :1] * 0), units.rows)) == ([0], [1])
    other = same.copy()
    other[1] = other[1][..., ::-1]
    units = UnitSums(tuple(other), tuple(other.sum(axis=3)))
    assert unit_samples.chi2_p_value(np.array([120.0]), units)[0] < 1e-4
    assert unit_samples.ks_p_value(units)[0] < 1e-3
    assert unit_samples.mean_test(UnitSums(tuple(other[..., :1]), units.rows))[1][0] < 1e-4


def test_few_blocks_have_no_p_value() -> None:
    units = one_slice(0, blocks=9)
    assert np.isnan(unit_samples.chi2_p_value(np.array([1.0]), units)[0])
    assert np.isnan(unit_samples.ks_p_value(units)[0])
    assert np.isnan(unit_samples.mean_test(UnitSums((units.sums[0][..., :1],) * 2, units.rows))[1][0])


def clustered(units: int, slices: int, seed: int) -> tuple[UnitRows, np.ndarray]:
    """Rows of two samples from one distribution: units of uneven sizes, a third of the variance between them."""
    draw = np.random.default_rng(seed)
    every = np.arange(slices * 2 * units)
    sizes = np.maximum(1, np.exp(draw.normal(1.5, 0.8, len(every)))).astype(int)
    unit = np.repeat(every, sizes)
    values = np.sqrt(1 / 3) * draw.normal(size=len(every))[unit] + np.sqrt(2 / 3) * draw.normal(
        size=len(unit)
    )
    number, side = unit // (2 * units), unit // units % 2
    order = np.lexsort([values, number])
    block = draw.integers(0, BLOCKS, len(every))[unit]
    ones = np.ones(len(unit))
    rows = UnitRows(slices, number[order], np.arange(len(unit)), block[order], side[order], ones, 0 * ones)
    return rows, values[order]


@pytest.mark.slow
@pytest.mark.parametrize("units", [20, 60])
def test_false_alarms_are_about_as_frequent_as_p_says(units: int) -> None:
    """3 to 8 % of 500 comparisons at 5 %; tests that take rows for independent reject a quarter and more."""
    rows, values = clustered(units, 500, seed=units)
    first = np.searchsorted(rows.segment, np.arange(501))
    rank = np.concatenate([np.arange(1, n + 1) / n for n in np.diff(first)])
    bin_of, step_of = np.minimum((rank * 10).astype(int), 9), (rank * STEPS).astype(int)
    tables = np.zeros((500, 2, 10))
    np.add.at(tables, (rows.segment, rows.side, bin_of), 1)
    tested = [stats.chi2_contingency(table, correction=False) for table in tables]
    statistic = np.array([test.statistic for test in tested])
    found = {
        "chi2": [
            unit_samples.chi2_p_value(statistic[part], sums)
            for part, sums in rows.parts(bin_of, 10, rows.rows)
        ],
        "ks": [unit_samples.ks_p_value(sums) for _, sums in rows.parts(step_of, STEPS + 1, rows.rows)],
        "mean": [unit_samples.mean_test(sums)[1] for _, sums in rows.parts(0 * bin_of, 1, values)],
    }
    shares = {name: np.mean(np.concatenate(parts) <= 0.05) for name, parts in found.items()}
    assert all(0.02 <= share <= 0.085 for share in shares.values()), shares
    assert np.mean([test.pvalue <= 0.05 for test in tested]) > 0.2
    assert all(np.mean(np.concatenate(parts) <= 0.01) < 0.025 for parts in found.values())
