"""Shifts, against all pairs and against the tests whose intervals they are."""

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, norm, wilcoxon

import plmetrics as plm
from plmetrics.inference.comparisons import shifts


def arms(seed: int, first: int, second: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_t(3, first) + 0.8, rng.standard_t(3, second)


@pytest.mark.parametrize(("first", "second", "level"), [(4, 4, 0.9), (7, 12, 0.95), (20, 9, 0.99)])
def test_shifts_within_are_those_that_the_exact_test_does_not_reject(first, second, level) -> None:
    a, b = arms(first, first, second)
    found = plm.tests.hodges_lehmann(a, b, level=level)
    assert found.estimate == pytest.approx(np.median([x - y for x in a for y in b]))

    def p(shift: float) -> float:
        return mannwhitneyu(a - shift, b, method="exact").pvalue

    for end, outwards in ((found.lower, -1), (found.upper, 1)):
        assert p(end - outwards * 1e-9) > 1 - level
        assert p(end + outwards * 1e-9) <= 1 - level


@pytest.mark.parametrize(("pairs", "level"), [(6, 0.9), (15, 0.95), (30, 0.99)])
def test_of_pairs(pairs: int, level: float) -> None:
    a, b = arms(pairs, pairs, pairs)
    found = plm.tests.hodges_lehmann(a, b, level=level, paired=True)
    d = a - b
    means = [(d[i] + d[j]) / 2 for i in range(pairs) for j in range(i, pairs)]
    assert found.estimate == pytest.approx(np.median(means))
    for end, outwards in ((found.lower, -1), (found.upper, 1)):
        assert wilcoxon(d - end + outwards * 1e-9, method="exact").pvalue > 1 - level
        assert wilcoxon(d - end - outwards * 1e-9, method="exact").pvalue <= 1 - level


def test_many_values_without_all_their_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = arms(1, 90, 120)
    a, b = a.round(1), b.round(1)
    every = np.sort(np.subtract.outer(a, b).ravel())
    rank = int(np.floor(90 * 120 / 2 - norm.ppf(0.975) * np.sqrt(90 * 120 * 211 / 12)))
    wanted = (np.median(every), every[rank - 1], every[-rank])
    kept = plm.tests.hodges_lehmann(a, b), plm.tests.hodges_lehmann(a, b[:90], paired=True)
    monkeypatch.setattr(shifts, "_AT_HAND", 1)
    monkeypatch.setattr(shifts, "_FEW_PAIRS", 1)
    counted = plm.tests.hodges_lehmann(a, b), plm.tests.hodges_lehmann(a, b[:90], paired=True)
    for found in (kept[0], counted[0]):
        assert (found.estimate, found.lower, found.upper) == pytest.approx(wanted, abs=1e-9)
    assert (counted[1].estimate, counted[1].lower) == pytest.approx((kept[1].estimate, kept[1].lower))


def test_cells_are_searched_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of sizes from 0, with ties and outliers, however many pairs are sorted or lines taken at once."""
    rng = np.random.default_rng(0)
    wanted, cells = [], []
    for _ in range(60):
        sizes, decimals = rng.integers(0, 90, 2), int(rng.integers(0, 4))
        a, b = rng.standard_cauchy(sizes[0]).round(decimals), rng.normal(size=sizes[1]).round(decimals)
        values, place = np.unique(np.concatenate([a, b]), return_inverse=True)
        counts = [np.bincount(part, minlength=len(values)) for part in (place[: len(a)], place[len(a) :])]
        cells.append((np.full(len(values), len(cells)), values, *counts))
        every = np.sort(np.subtract.outer(a, b).ravel())
        ends = [np.nan, np.nan]
        if every.size and (len(values) < sizes.sum() or sizes.max() >= 50):
            rank = int(
                np.floor(every.size / 2 - norm.ppf(0.975) * np.sqrt(every.size * (sizes.sum() + 1) / 12))
            )
            ends = [every[rank - 1], every[-rank]] if rank >= 1 else ends
        elif every.size:
            alone = plm.tests.hodges_lehmann(a, b)
            ends = [np.nan if end is None else end for end in (alone.lower, alone.upper)]
        wanted.append([np.median(every) if every.size else np.nan, *ends])
    columns = [np.concatenate(part) for part in zip(*cells, strict=True)]
    for pairs, at_hand in ((1, 1), (1, 1 << 22), (50, 1000), (1 << 20, 1 << 22)):
        monkeypatch.setattr(shifts, "_FEW_PAIRS", pairs)
        monkeypatch.setattr(shifts, "_AT_HAND", at_hand)
        found = np.array(shifts.arm_shifts(*columns, len(cells), level=0.95)).T
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_intervals_hold_the_shift() -> None:
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(400):
        found = plm.tests.hodges_lehmann(rng.exponential(size=60) + 0.3, rng.exponential(size=70))
        held += found.lower <= 0.3 <= found.upper
    assert 0.92 <= held / 400 <= 0.98


def test_too_few_for_an_interval() -> None:
    few = plm.tests.hodges_lehmann([1.0, 2.0], [0.5, 3.0])
    assert (few.status, few.estimate, few.lower) == ("too_few_units", -0.25, None)
    assert plm.tests.hodges_lehmann([], [1.0]).status == "too_few_units"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", range(3))
def test_values_at_the_end_of_all_numbers(seed: int) -> None:
    """Their differences are no numbers, and quarters of them are."""
    a, b = (np.random.default_rng(seed).choice([-1.7e308, -1.0, 1.0, 1.2e308], size) for size in (9, 12))
    every = np.sort(np.subtract.outer(a / 4, b / 4).ravel())
    found = plm.tests.hodges_lehmann(a, b)
    rank = int(np.floor(9 * 12 / 2 - norm.ppf(0.975) * np.sqrt(9 * 12 * 22 / 12)))
    for value, quarter in zip(
        (found.estimate, found.lower, found.upper),
        (np.median(every), every[rank - 1], every[-rank]),
        strict=True,
    ):
        assert value is None if abs(quarter) > 4.4e307 else value == pytest.approx(4 * quarter)
