import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from plmetrics.core.hashing import DRAW_SALT, mix_int
from plmetrics.inference import weights as module
from plmetrics.inference.weights import (
    Nudges,
    ResamplingWeights,
    draw_weights,
    drawn_bins,
    drawn_counts,
    exact_occupied_blocks,
    occupied_blocks,
)


def units(blocks: int) -> np.ndarray:
    return np.ones(blocks, dtype=np.int64)


def counted(blocks: int, replicate: int, seed: int) -> list[int]:
    """One row of W, draw by draw in Python's own integers."""
    stride = 0x9E3779B97F4A7C15
    key = mix_int(mix_int(seed ^ DRAW_SALT) + (replicate + 1) * stride)
    draws = [mix_int(key + (draw + 1) * stride) % blocks for draw in range(blocks)]
    return [draws.count(block) for block in range(blocks)]


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(0, 30), st.integers(-(1 << 70), 1 << 70))
def test_a_row_is_a_function_of_seed_replicate_and_number_of_blocks(
    blocks: int, replicate: int, seed: int
) -> None:
    drawn = draw_weights(units(blocks), replicate + 1, seed).counts
    assert drawn[replicate].tolist() == counted(blocks, replicate, seed)


def test_more_replicates_leave_the_earlier_ones() -> None:
    few, many = draw_weights(units(70), 10, 3), draw_weights(units(70), 4000, 3)
    assert np.array_equal(few.counts, many.counts[:10])


def test_sizes_of_blocks_change_the_scale_and_not_the_draws() -> None:
    even, uneven = draw_weights(units(9), 50, 1), draw_weights(np.arange(1, 10), 50, 1)
    assert np.array_equal(even.counts, uneven.counts)
    assert np.all(even.scale == 1)
    assert np.allclose(uneven.counts @ np.arange(1, 10) * uneven.scale, 45)


def test_chunks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = draw_weights(np.arange(1, 301), 500, 11)
    monkeypatch.setattr(module, "_DRAWS_AT_ONCE", 1000)
    parts = draw_weights(np.arange(1, 301), 500, 11)
    assert np.array_equal(whole.counts, parts.counts)
    assert np.array_equal(whole.scale, parts.scale)


def test_another_seed_draws_otherwise() -> None:
    assert not np.array_equal(draw_weights(units(50), 5, 0).counts, draw_weights(units(50), 5, 1).counts)


@pytest.mark.parametrize("blocks", [1, 0])
def test_nothing_to_resample(blocks: int) -> None:
    drawn = draw_weights(units(blocks), 3, 0)
    assert drawn.counts.shape == (3, blocks)
    assert np.all(drawn.counts == 1)
    assert drawn.scale.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(("seed", "blocks"), [(0, 10), (1, 97), (2, 256), (7, 1000)])
class TestMultinomial:
    replicates = 2000

    def drawn(self, seed: int, blocks: int) -> np.ndarray:
        return draw_weights(units(blocks), self.replicates, seed).counts

    def test_as_many_draws_as_blocks(self, seed: int, blocks: int) -> None:
        drawn = self.drawn(seed, blocks)
        assert drawn.dtype == np.int32
        assert np.all(drawn.sum(axis=1) == blocks)

    def test_blocks_are_equally_likely(self, seed: int, blocks: int) -> None:
        assert stats.chisquare(self.drawn(seed, blocks).sum(axis=0)).pvalue > 1e-3

    def test_counts_are_binomial(self, seed: int, blocks: int) -> None:
        observed = np.bincount(self.drawn(seed, blocks).ravel().clip(max=4), minlength=5)
        expected = stats.binom.pmf(np.arange(4), blocks, 1 / blocks)
        expected = np.append(expected, 1 - expected.sum()) * observed.sum()
        assert stats.chisquare(observed, expected).pvalue > 1e-3

    def test_replicates_are_independent(self, seed: int, blocks: int) -> None:
        drawn = self.drawn(seed, blocks) - 1.0
        products = (drawn[1:] * drawn[:-1]).mean() / (1 - 1 / blocks)
        assert abs(products) < 4 / np.sqrt(drawn.size)

    def test_a_mean_has_the_textbook_standard_error(self, seed: int, blocks: int) -> None:
        x = np.linspace(0, 1, blocks) ** 2
        replicates = self.drawn(seed, blocks) @ x / blocks
        assert replicates.std() == pytest.approx(
            x.std() / np.sqrt(blocks), rel=4 / np.sqrt(2 * self.replicates)
        )


SLICES, BLOCKS, BINS = 5, 40, 9


@pytest.fixture(params=["few blocks", "all blocks", "no rows"])
def counts(request):
    """Bins `[slice, block, bin, channel]` with numbers of rows and of positives, and sums of scores."""
    rng = np.random.default_rng(11)
    rate = {"few blocks": 0.01, "all blocks": 3.0, "no rows": 0.0}[request.param]
    rows = rng.poisson(rate, (SLICES, BLOCKS, BINS))
    rows[2] = 0
    return np.stack([rows, rng.binomial(rows, 0.3), rows * rng.random(rows.shape)], axis=-1)


@pytest.fixture
def weights():
    return np.random.default_rng(5).multinomial(BLOCKS, np.full(BLOCKS, 1 / BLOCKS), 23).astype(np.float64)


def plain(weights, counts):
    return np.einsum("rb,sb...->sr...", weights, counts)


def test_blocks_that_are_left_out_hold_nothing(counts):
    held = occupied_blocks(counts)
    if held is None:
        assert counts[0].any(axis=(1, 2)).all()
        return
    assert [own.tolist() for own in held] == [np.flatnonzero(own.any(axis=(1, 2))).tolist() for own in counts]


def test_replicates_are_those_of_all_blocks(counts, weights):
    np.testing.assert_allclose(
        drawn_counts(weights, counts, occupied_blocks(counts)), plain(weights, counts), rtol=1e-12
    )


def test_where_single_precision_rounds_no_block_is_left_out(counts):
    rows = counts[..., :2]
    every = occupied_blocks(rows)
    assert (exact_occupied_blocks(rows) is None) == (every is None)
    assert exact_occupied_blocks(rows * 0.37) is None or not rows.any()


@pytest.mark.parametrize("factor", [1.0, 0.37, 1e8])
def test_bins_lose_nothing_in_single_precision(counts, weights, factor):
    counts = counts * factor
    found = drawn_bins(ResamplingWeights(weights.astype(np.int32), np.ones(len(weights))), counts)
    np.testing.assert_allclose(found, plain(weights, counts), rtol=1e-12)
    if factor == 1.0:
        assert (found[..., :2] == plain(weights, counts)[..., :2]).all()


def test_numbers_of_rows_alone_are_multiplied_in_single_precision(monkeypatch, counts, weights):
    kinds = []

    def seen(weights, counts, held):
        kinds.append((weights.dtype, counts.shape[-1]))
        return drawn_counts(weights, counts, held)

    monkeypatch.setattr(module, "drawn_counts", seen)
    draws = ResamplingWeights(weights.astype(np.int32), np.ones(len(weights)))
    drawn_bins(draws, counts)
    drawn_bins(draws, counts + 0.5)
    assert kinds == [(np.float32, 2), (np.float64, 1), (np.float64, 3)]


def test_one_block_moved_at_a_time_needs_no_product(counts):
    moved = Nudges("jackknife", np.ones(BLOCKS, dtype=np.int64))
    rows = np.concatenate(list(moved.rows()))
    np.testing.assert_allclose(drawn_bins(moved, counts), plain(rows, counts), atol=1e-12)
