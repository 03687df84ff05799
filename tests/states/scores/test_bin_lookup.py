"""One look-up finds the bin that a search among the edges finds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from plmetrics.states.scores.bin_lookup import (
    FixedBins,
    Keys,
    Locator,
    _even,
    _rank,
    bins_of_one,
    locator_at,
    score_locator,
    value_locator,
)

finite = st.floats(allow_nan=False, allow_infinity=False)
RNG = np.random.default_rng(5)
SHAPES = {
    "probabilities": RNG.beta(1, 8, 5_000),
    "rare": RNG.beta(0.05, 20, 5_000),
    "log odds": RNG.normal(size=5_000),
    "few values": np.round(RNG.random(500), 1),
    "constant": np.full(5, 0.25),
    "zeros": np.zeros(5),
    "huge": np.array([1e308, -1e308, 5.0]),
    "tiny": np.array([0.0, 5e-324, 1.0]),
    "skewed": RNG.lognormal(0, 5, 5_000),
    "none": np.zeros(0),
}


def everywhere(score, edges):
    """Scores, numbers near them and near the edges."""
    near = np.concatenate([score, score * 1.5, score - 1, -score, [0.0, 1e308, -1e308], edges])
    near = near[np.isfinite(near)] + 0.0
    return np.concatenate([near, np.nextafter(near, np.inf)[np.abs(near) < 1e300]])


def places(locator, asked):
    """The bin of each score."""
    out = np.empty(len(asked), dtype=np.uint16)
    locator.locate(asked, locator.keys(asked), out)
    return out


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SHAPES)
def test_bins_are_those_of_a_search(name):
    score = SHAPES[name]
    wanted = np.unique(np.quantile(score, np.linspace(0, 1, 300)[1:-1])) if len(score) else score
    keys = Keys.of(score)
    locator = locator_at(keys.ends(wanted), keys)
    asked = everywhere(score, locator.edges)
    np.testing.assert_array_equal(places(locator, asked), np.searchsorted(locator.edges, asked))
    fixed = FixedBins.at(np.arange(1, 15) / 15, locator.keys)
    asked = everywhere(score, fixed.edges)
    np.testing.assert_array_equal(fixed.bins(asked, locator.keys(asked)), np.searchsorted(fixed.edges, asked))
    for place in (0, 1):
        fixed = FixedBins.of_places(fixed.edges, locator.edges)
        fine = np.searchsorted(locator.edges, asked)
        np.testing.assert_array_equal(
            fixed.bins(asked, 2 * fine + place), np.searchsorted(fixed.edges, asked)
        )


@pytest.mark.parametrize("span", [(0.0, 1.0), (-3.0, 5.0)])
def test_bins_around_edges_leave_few_scores_to_be_compared(span):
    edges = np.linspace(*span, 16)[1:-1]
    locator = Locator.around(edges, span)
    asked = everywhere(RNG.uniform(*span, 5_000), edges)
    fine = places(locator, asked)
    np.testing.assert_array_equal(fine, np.searchsorted(locator.edges, asked))
    assert len(np.unique(fine)) == 2 * len(edges) + 1
    fixed = FixedBins.of_places(edges, locator.edges)
    np.testing.assert_array_equal(fixed.bins(asked, 2 * fine), np.searchsorted(edges, asked))
    shared = fixed.table[2 * fine[:5_000]] == np.iinfo(np.uint16).max
    assert shared.mean() < 0.02


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("bins", [12, 100, 20_000])
def test_bins_that_end_at_scores_are_those_of_a_search(name, bins):
    score = SHAPES[name]
    for locator in (score_locator(score, score > 0.1, bins), value_locator(score, bins)):
        assert len(locator.edges) <= bins
        asked = everywhere(score, locator.edges)
        np.testing.assert_array_equal(places(locator, asked), np.searchsorted(locator.edges, asked))


def single(locator):
    """The scores that have a bin of their own."""
    return locator.edges[bins_of_one(locator.edges)[:-1]].tolist()


def test_scores_that_many_rows_share_are_bins_of_their_own():
    none = np.zeros(5_000, dtype=np.bool_)
    assert single(score_locator(np.full(5_000, 0.25), none, 100)) == [0.25]
    assert single(score_locator(np.repeat([-0.5, 0.0, 0.3], 10), none[:30], 100)) == [-0.5, 0.0, 0.3]
    often = np.where(RNG.random(5_000) < 0.3, 0.0, RNG.random(5_000))
    assert single(score_locator(often, none, 100)) == [0.0]
    continuous = score_locator(RNG.random(5_000), none, 20_000)
    assert not single(continuous)
    assert type(continuous) is Locator


@pytest.mark.parametrize("name", [name for name, score in SHAPES.items() if len(score)])
@pytest.mark.parametrize("kind", [_even, Keys.of])
def test_a_guess_of_where_keys_end_changes_nothing(name, kind, monkeypatch):
    keys = kind(SHAPES[name])
    asked = np.unique(np.append(keys(SHAPES[name])[::9], [0, keys.size // 3, max(0, keys.size - 2)]))
    found = keys.highest(asked)
    top = np.full(asked.shape, np.finfo(np.float64).max)
    monkeypatch.setattr(Keys, "_around", lambda *_: (_rank(-top), _rank(top)))
    np.testing.assert_array_equal(found, keys.highest(asked))


@pytest.mark.parametrize("name", ["probabilities", "rare", "log odds", "skewed"])
def test_keys_tell_almost_all_scores_apart(name):
    score = SHAPES[name]
    assert len(np.unique(Keys.of(score)(score))) > 0.97 * len(np.unique(score))


@given(arrays(np.float64, st.integers(1, 30), elements=finite), arrays(np.float64, 20, elements=finite))
def test_keys_never_fall(known, asked):
    keys = Keys.of(known + 0.0)
    found = keys(np.sort(np.concatenate([known, asked]) + 0.0))
    assert (np.diff(found) >= 0).all()
    assert found.min() >= 0
    assert found.max() < keys.size
