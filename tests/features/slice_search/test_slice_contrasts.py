"""Contrasts of a search at the edges: nothing varies, nothing is left, too few blocks, no more than rounding."""

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from plmetrics.catalogue.registry import create
from plmetrics.core.ops import Array
from plmetrics.features.slice_search.slice_contrasts import Contrast, Sums, contrast
from plmetrics.features.slice_search.slice_selection import without
from plmetrics.states.sums import Atom

BLOCKS = 8


def sums(counts: Array | float, losses: Array | float) -> Sums:
    """Sums of absolute errors by block, of one slice."""
    n, loss = (np.zeros((1, BLOCKS)) + part for part in (counts, losses))
    (atom,) = create("regression", "mae", {}).atoms().values()
    assert isinstance(atom, Atom)
    return {"n": n, "weight": n, f"m|{atom.key}": loss}


def compared(part: Sums, rest: Sums) -> Contrast:
    return contrast(create("regression", "mae", {}), "m", "", part, rest)


@pytest.mark.parametrize(("loss", "p"), [(2.0, 2.0**-BLOCKS), (1.0, 1.0), (0.5, 1.0), (1.0 + 1e-15, 1.0)])
def test_where_nothing_varies_blocks_vote(loss: float, p: float) -> None:
    found = compared(sums(10, 10 * loss), sums(30, 30.0))
    assert found.p[0] == p
    assert found.status[0] == "ok"
    assert np.isnan(found.half_width(0.95)[0])


def test_a_slice_that_no_block_moves_has_the_spread_of_both_sides() -> None:
    """Of a few rows that are all wrong alike it was that of the rest alone, however few they are."""
    few = np.where(np.arange(BLOCKS) < 3, 1.0, 0.0)
    losses = np.array([4.0, 9.0, 2.0, 6.0, 5.0, 8.0, 3.0, 7.0])
    found = compared(sums(few, 0.9 * few), sums(10, losses))
    rest = losses / 10
    both = (2 * 0 + 7 * rest.var(ddof=1) + 3 * 8 / 11 * (0.9 - rest.mean()) ** 2) / 10 / 3
    _, upper = proportion_confint(0, 3, method="wilson")
    step = np.mean((rest - 0.9) ** 2) / (0.9 - rest.mean())
    assert found.std_error[0] == pytest.approx(
        np.sqrt(rest.var(ddof=1) / 8 + min(both, (step * upper / 1.959964) ** 2))
    )
    mirrored = compared(sums(10, losses), sums(few, 0.9 * few))
    assert mirrored.std_error[0] == pytest.approx(found.std_error[0])
    assert mirrored.worse[0] == pytest.approx(-found.worse[0])


def test_sides_of_other_blocks_vary_as_independent_samples_do() -> None:
    """With (B - 1) / B for all, a slice of three units varied by half too much."""
    few, losses = np.array([1.0, 4.0, 2.0]), np.array([3.0, 7.0, 2.0, 9.0, 4.0])
    here = np.append(np.ones(3), np.zeros(BLOCKS - 3))
    there = np.append(np.zeros(BLOCKS - 5), np.ones(5))
    found = compared(
        sums(here, np.append(few, np.zeros(BLOCKS - 3))), sums(there, np.append(np.zeros(BLOCKS - 5), losses))
    )
    assert found.std_error[0] == pytest.approx(np.sqrt(few.var(ddof=1) / 3 + losses.var(ddof=1) / 5))


def test_one_block_is_no_test() -> None:
    one = np.eye(1, BLOCKS)[0]
    found = compared(sums(10 * one, 20 * one), sums(30, np.arange(1.0 * BLOCKS)))
    assert found.status[0] == "too_few_units"
    assert np.isnan(found.p[0])
    assert found.worse[0] == pytest.approx(2 - np.arange(1.0 * BLOCKS).sum() / (30 * BLOCKS))


def test_where_nothing_is_left_there_is_no_difference() -> None:
    whole = sums(10, np.linspace(0.1, 0.7, BLOCKS))
    found = compared(whole, without(whole, whole, "n"))
    assert found.status[0] == "no_rows"
    assert np.isnan(found.worse[0])
    assert np.isnan(found.p[0])


def test_shares_and_rows() -> None:
    found = compared(sums(10, np.arange(1.0 * BLOCKS)), sums(30, np.arange(1.0 * BLOCKS)))
    assert (found.rows[0], found.share[0]) == (10 * BLOCKS, 0.25)


def test_huge_and_tiny_values_do_not_warn() -> None:
    found = compared(sums(10, np.full(BLOCKS, 1e308)), sums(30, np.full(BLOCKS, 1e-308)))
    assert found.status[0] in {"ok", "overflow", "undefined_replicates"}
