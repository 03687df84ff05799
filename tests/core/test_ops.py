"""The operators along the points, on arrays of any leading axes and on segments, against plain loops."""

from itertools import accumulate, pairwise

import numpy as np
import pytest

from plmetrics.core import ops
from plmetrics.core.segments import Segments

OFFSETS = np.array([0, 0, 4, 5, 5, 11, 12, 12])
SHAPES = [(12,), (3, 12), (2, 3, 12)]


def by_row(values, function):
    """A function of a list on every segment of every row; an entry per point."""
    out = np.zeros(values.shape)
    for index in np.ndindex(values.shape[:-1]):
        for first, last in pairwise(OFFSETS):
            out[index][first:last] = function(values[index][first:last].tolist())
    return out


def backwards(function):
    return lambda row: function(row[::-1])[::-1]


def sums(row):
    return list(accumulate(row))


def maxima(row):
    return list(accumulate(row, max))


def shifted(row):
    return [*row[1:], 7.0] if row else []


ALONG = {
    "cumulative": (ops.cumulative, sums),
    "cumulative down": (lambda x: ops.cumulative(x, descending=True), backwards(sums)),
    "running_largest": (ops.running_largest, maxima),
    "running_largest down": (lambda x: ops.running_largest(x, descending=True), backwards(maxima)),
    "above": (lambda x: ops.above(x, 7.0), shifted),
}


@pytest.mark.parametrize("name", ALONG)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_along_the_points(name, shape):
    ours, plain = ALONG[name]
    values = np.random.default_rng(1).normal(size=shape)
    found = ours(Segments(values, OFFSETS))
    assert found.offsets is OFFSETS
    np.testing.assert_allclose(found.values, by_row(values, plain), rtol=1e-14)
    for first, last in pairwise(OFFSETS):
        np.testing.assert_allclose(ours(values[..., first:last]), found.values[..., first:last], rtol=1e-14)


@pytest.mark.parametrize("name", ALONG)
def test_along_no_points(name):
    ours, _ = ALONG[name]
    assert ours(np.zeros((2, 0))).shape == (2, 0)
    assert ours(Segments(np.zeros((2, 0)), np.array([0, 0, 0]))).values.shape == (2, 0)


def pooled(part, whole):
    """At each point the largest over starts of the smallest over ends of the share between them."""
    held = [index for index, mass in enumerate(whole) if mass > 0]
    out = np.zeros(len(whole))
    for place, index in enumerate(held):
        out[index] = max(
            min(
                sum(part[i] for i in held[start:end]) / sum(whole[i] for i in held[start:end])
                for end in range(place + 1, len(held) + 1)
            )
            for start in range(place + 1)
        )
    return out


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_isotonic_shares_never_fall(shape):
    rng = np.random.default_rng(2)
    whole = np.where(rng.random(shape) < 0.25, 0.0, rng.gamma(2.0, 1.0, shape))
    part = whole * np.where(rng.random(shape) < 0.5, rng.integers(0, 2, shape), rng.random(shape))
    found = ops.isotonic(Segments(part, OFFSETS), Segments(whole, OFFSETS)).values
    for first, last in pairwise(OFFSETS):
        dense = ops.isotonic(part[..., first:last], whole[..., first:last])
        for index in np.ndindex(shape[:-1]):
            expected = pooled(part[index][first:last], whole[index][first:last])
            np.testing.assert_allclose(found[index][first:last], expected, atol=1e-13)
            np.testing.assert_allclose(dense[index], expected, atol=1e-13)


def test_isotonic_keeps_digits_over_many_rows():
    """Rows are told apart by an offset, which must not eat the shares' digits."""
    rng = np.random.default_rng(3)
    whole = np.ones((20_000, 6))
    part = rng.random((20_000, 6))
    part[-1] = [0.1, 0.1 + 1e-9, 0.3, 0.3 - 1e-9, 0.5, 0.7]
    found = ops.isotonic(part, whole)
    np.testing.assert_allclose(found[-1], [0.1, 0.1 + 1e-9, 0.3 - 5e-10, 0.3 - 5e-10, 0.5, 0.7], rtol=1e-14)
    np.testing.assert_allclose(found[0], ops.isotonic(part[0], whole[0]), rtol=1e-14)


def test_isotonic_of_nothing():
    assert (ops.isotonic(np.zeros((2, 3)), np.zeros((2, 3))) == 0.0).all()
    assert ops.isotonic(np.zeros(0), np.zeros(0)).shape == (0,)


@pytest.mark.parametrize("shape", [(1,), (9,), (3, 9), (2, 3, 9)])
def test_counts_know_their_running_totals(shape):
    counts = np.random.default_rng(2).integers(0, 1000, shape).astype(np.float32)
    known = ops.Counts.of(np.cumsum(counts, axis=-1))
    np.testing.assert_array_equal(known, counts)
    for descending in (False, True):
        plain = np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1] if descending else np.cumsum(counts, axis=-1)
        np.testing.assert_array_equal(ops.cumulative(known, descending=descending), plain)
    np.testing.assert_array_equal(ops.cumulative(known[..., 1:]), np.cumsum(counts[..., 1:], axis=-1))
    np.testing.assert_array_equal(ops.cumulative(known * 2), 2 * np.cumsum(counts, axis=-1))


def test_a_difference_within_rounding_is_none_and_an_infinite_one_is_infinite():
    first, second = np.array([0.1 * 3, np.inf, -np.inf, 0.0]), np.array([0.3, 1.0, 1.0, 0.0])
    assert ops.difference(first, second).tolist() == [0.0, np.inf, -np.inf, 0.0]
