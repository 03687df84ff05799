"""Replicates of sums: counts go through single precision only where nothing of them can be lost."""

import numpy as np
import pytest

import plmetrics as plm
from plmetrics.core.exact_sums import exact_products
from plmetrics.inference import sums as summed
from plmetrics.inference import weights
from plmetrics.inference.chunks import chunks
from plmetrics.inference.estimate import equal_blocks
from plmetrics.inference.sums import ModelSums, _replicate_columns, following
from plmetrics.inference.weights import draw_weights, exact_in_single
from plmetrics.states.sums import SlicedSums

BLOCKS = 40
WEIGHTS = draw_weights(np.ones(BLOCKS, dtype=np.int64), 300, seed=3)
RNG = np.random.default_rng(4)
COLUMNS = {
    "n": RNG.integers(0, 400_000, (5, BLOCKS)).astype(np.float64),
    "hits": RNG.integers(0, 3, (5, BLOCKS)).astype(np.float64),
    "none": np.zeros((5, BLOCKS)),
    "large": RNG.integers(1 << 40, 1 << 44, (5, BLOCKS)).astype(np.float64),
    "losses": RNG.random((5, BLOCKS)),
    "signed": RNG.integers(-3, 3, (5, BLOCKS)).astype(np.float64),
}


def test_replicates_are_sums_of_the_drawn_blocks():
    drawn = _replicate_columns(WEIGHTS, COLUMNS)
    assert set(drawn) == set(COLUMNS)
    for name, column in COLUMNS.items():
        expected = np.array([(row * column).sum(axis=1) for row in WEIGHTS.counts.astype(np.float64)])
        if name == "losses":
            assert drawn[name] == pytest.approx(expected, rel=1e-14)
        else:
            assert np.array_equal(drawn[name], expected), name


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (0.0, True),
        (float((1 << 24) // BLOCKS), True),
        (float((1 << 24) // BLOCKS + 1), False),
        (0.5, False),
        (-1.0, False),
        (np.inf, False),
        (np.nan, False),
    ],
)
def test_single_precision_is_for_whole_numbers_whose_sums_it_holds(value, exact):
    column = np.zeros((2, BLOCKS))
    column[1, 7] = value
    assert exact_in_single(column) is exact


def table(seed):
    """Counts of a binary task by slice and block, by name, with columns that follow from others."""
    rng = np.random.default_rng(seed)
    n = rng.integers(0, 4, (3, BLOCKS)).astype(np.float64)
    positives = rng.binomial(n.astype(np.int64), 0.4).astype(np.float64)
    tp, fp = (
        rng.binomial(part.astype(np.int64), 0.5).astype(np.float64) for part in (positives, n - positives)
    )
    counts = {"n": n, "positives": positives, "a|tp": tp, "a|fp": fp}
    return counts | {
        "weight": n,
        "negatives": n - positives,
        "a|fn": positives - tp,
        "a|tn": n - positives - fp,
    }


@pytest.mark.parametrize("seed", range(5))
def test_columns_that_follow_are_found_and_come_out_as_if_they_were_multiplied(seed):
    columns = table(seed)
    assert following(columns) == {
        "weight": ("n", None),
        "negatives": ("n", "positives"),
        "a|fn": ("positives", "a|tp"),
        "a|tn": ("negatives", "a|fp"),
    }
    drawn = _replicate_columns(WEIGHTS, columns)
    for name, column in columns.items():
        assert np.array_equal(drawn[name], WEIGHTS.counts @ column.T), name


@pytest.mark.parametrize("name", ["weight", "negatives", "a|fn", "a|tn"])
def test_a_column_that_is_off_by_one_row_follows_from_nothing(name):
    columns = table(0)
    columns[name] = columns[name].copy()
    columns[name][2, 5] += 1
    assert name not in following(columns)
    assert np.array_equal(_replicate_columns(WEIGHTS, columns)[name], WEIGHTS.counts @ columns[name].T)


@pytest.mark.parametrize(("replicates", "widest"), [(10, 512), (1000, 512), (1 << 17, 4)])
def test_more_replicates_are_of_fewer_slices_at_once(replicates, widest):
    slices = 600
    sums = SlicedSums(
        np.arange(slices), np.zeros(slices, dtype=np.int64), {"n": np.arange(slices) + 1.0}, slices, 1
    )
    weights = draw_weights(np.ones(1, dtype=np.int64), replicates, seed=0)
    cut = list(chunks(sums, weights))
    assert [chunk.first for chunk in cut] == list(range(0, slices, widest))
    assert cut[-1].last == slices
    assert np.concatenate([chunk.sums.total("n") for chunk in cut]).tolist() == list(range(1, slices + 1))


def test_effective_blocks_of_a_column_are_found_once(monkeypatch):
    sums = ModelSums(COLUMNS, None)
    made = []

    def counted(mass):
        made.append(mass)
        return equal_blocks(mass)

    monkeypatch.setattr(summed, "equal_blocks", counted)
    derived = COLUMNS["n"] - COLUMNS["hits"]
    for _ in range(2):
        found = sums.equal_blocks((COLUMNS["n"], derived, COLUMNS["hits"]))
    for mass, own in zip((COLUMNS["n"], derived, COLUMNS["hits"]), found, strict=True):
        assert own == pytest.approx(mass.sum(axis=1) ** 2 / np.maximum((mass**2).sum(axis=1), 1e-300))
    assert [id(mass) for mass in made] == [
        id(mass) for mass in (COLUMNS["n"], derived, COLUMNS["hits"], derived)
    ]


def test_replicates_drawn_ahead_are_those_that_are_drawn_when_asked_for():
    columns = table(1)
    ahead, later = ModelSums(columns, WEIGHTS), ModelSums(columns, WEIGHTS)
    ahead.draw()
    counted = plm.metric("roc_auc")
    assert np.array_equal(ahead.replicates(counted, "a", "").n, later.replicates(counted, "a", "").n)


@pytest.mark.parametrize("single", [False, True])
def test_a_large_w_is_brought_in_parts_that_make_the_whole(monkeypatch, single):
    kind = np.float32 if single else np.float64
    ((whole, kept),) = WEIGHTS.parts(kind)
    assert (whole, kept.dtype) == (slice(0, 300), kind)
    monkeypatch.setattr(weights, "_WORTH_KEEPING", 0)
    monkeypatch.setattr(weights, "_PART", 7 * BLOCKS)
    parts = [(own, part.copy()) for own, part in WEIGHTS.parts(kind)]
    assert [own.stop - own.start for own, _ in parts] == [7] * 42 + [6]
    assert np.array_equal(np.concatenate([part for _, part in parts]), kept)


@pytest.mark.parametrize("wanted", [False, True])
def test_replicates_of_a_large_w_are_the_same(monkeypatch, wanted):
    with exact_products(enabled=wanted):
        at_once = _replicate_columns(WEIGHTS, COLUMNS)
        monkeypatch.setattr(weights, "_WORTH_KEEPING", 0)
        monkeypatch.setattr(weights, "_PART", 7 * BLOCKS)
        in_parts = _replicate_columns(WEIGHTS, COLUMNS)
    for name, drawn in at_once.items():
        assert drawn.shape == (300, 5)
        assert in_parts[name] == pytest.approx(drawn, rel=1e-14), name
