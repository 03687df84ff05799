"""Segments behave as separate arrays do."""

from itertools import pairwise

import numpy as np
import pytest

from plmetrics.core import segments
from plmetrics.core.segments import Segments

OFFSETS = np.array([0, 0, 3, 4, 4])
VALUES = [np.array([1.0, -2.0, 4.0, 3.0]), np.array([[1.0, -2.0, 4.0, 3.0], [0.0, 5.0, -1.0, 2.0]])]
both_shapes = pytest.mark.parametrize("values", VALUES, ids=["points", "replicates and points"])


@both_shapes
def test_one_number_for_each_segment(values):
    ragged = Segments(values, OFFSETS)
    for index, (first, last) in enumerate(pairwise(OFFSETS)):
        part = values[..., first:last]
        assert (ragged.total()[..., index] == part.sum(axis=-1)).all()
        assert (ragged.largest()[..., index] == part.max(axis=-1, initial=-np.inf)).all()
    assert ragged.sizes.tolist() == [0, 3, 1, 0]


@both_shapes
def test_spread_gives_each_point_the_number_of_its_segment(values):
    ragged = Segments(values, OFFSETS)
    totals = ragged.total()
    spread = ragged.spread(totals)
    assert (spread.values[..., :3] == totals[..., 1:2]).all()
    assert (spread.values[..., 3] == totals[..., 2]).all()


@both_shapes
def test_operators_work_point_by_point(values):
    ragged = Segments(values, OFFSETS)
    assert (np.maximum(2.0 * ragged + 1.0, -ragged).values == np.maximum(2 * values + 1, -values)).all()
    assert (((ragged > 0) & ~(ragged > 3)).values == ((values > 0) & (values <= 3))).all()
    assert ((ragged < 0).where(0.0, ragged).values == np.where(values < 0, 0.0, values)).all()


def test_running_values_do_not_cross_segments():
    ragged = Segments(np.array([9.0, 1.0, 2.0, 5.0, 3.0]), np.array([0, 1, 3, 5]))
    assert ragged.running_largest().values.tolist() == [9, 1, 2, 5, 5]
    assert ragged.running_largest(descending=True).values.tolist() == [9, 2, 2, 5, 3]
    assert ragged.above(0.0).values.tolist() == [0, 2, 0, 3, 0]
    assert ragged.cumulative(descending=True).values.tolist() == [9, 3, 2, 8, 3]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("shape", [(), (7,)])
def test_running_totals_of_whole_numbers_are_made_in_one_go(shape, descending):
    rng = np.random.default_rng(3)
    sizes = rng.integers(0, 6, 40)
    sizes[[0, 5, -1]] = 0
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    values = rng.integers(-3, 9, (*shape, offsets[-1])).astype(np.float64)
    whole = Segments(values, offsets, whole=True).cumulative(descending=descending)
    apart = Segments(values, offsets).cumulative(descending=descending)
    assert (whole.values == apart.values).all()


@pytest.mark.parametrize("most", [0, 1 << 20])
def test_running_totals_that_are_kept_are_the_same(monkeypatch, most):
    monkeypatch.setattr(segments, "_WORTH_KEEPING", most)
    ragged = Segments(VALUES[1], OFFSETS)
    first, again = (ragged.cumulative() for _ in range(2))
    assert (first is again) == (most > 0)
    assert (first.values == again.values).all()
    assert (ragged.cumulative(descending=True).values[..., 0] == ragged.total()[..., 1]).all()


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("edges", [[], [0.5], [0.0, 0.2, 0.2, 0.9, 2.0]])
def test_values_between_places_of_edges_are_those_of_bins(edges, whole):
    rng = np.random.default_rng(9)
    offsets = np.array([0, 0, 30, 31, 31, 50, 50])
    parts = [np.sort(rng.random(size).round(1)) for size in np.diff(offsets)]
    numbers = rng.integers(0, 9, 50).astype(np.float64) if whole else rng.random(50)
    ragged, weight = Segments(np.concatenate(parts), offsets), Segments(numbers, offsets, whole=whole)
    places = ragged.places(np.array(edges))
    totals = weight.between(places)
    for index, (part, first) in enumerate(zip(parts, offsets, strict=False)):
        assert (places[index] == first + np.searchsorted(part, edges)).all()
        number = np.searchsorted(edges, part, side="right")
        mass = weight.values[first : first + len(part)]
        expected = np.bincount(number, mass, len(edges) + 1)
        np.testing.assert_allclose(totals[index], expected, rtol=1e-14, atol=1e-15)


def test_segments_without_values_have_bins_of_nothing():
    empty = Segments(np.zeros(0), np.array([0, 0, 0]), whole=True)
    assert empty.between(empty.places(np.array([1.0, 2.0]))).tolist() == [[0.0] * 3] * 2
