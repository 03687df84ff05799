import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

from plmetrics.features.splits.group_folds import by_class, by_size


def greedily(sizes: list[int], folds: int) -> list[int]:
    """The rule, group by group."""
    held, fold = [0] * folds, [0] * len(sizes)
    for group in sorted(range(len(sizes)), key=lambda group: -sizes[group]):
        fold[group] = held.index(min(held))
        held[fold[group]] += sizes[group]
    return fold


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=60), st.integers(2, 7))
def test_the_largest_group_goes_first_to_the_smallest_fold(sizes: list[int], folds: int) -> None:
    assert by_size(np.array(sizes), folds).tolist() == greedily(sizes, folds)


@pytest.mark.parametrize("seed", range(3))
def test_folds_are_as_balanced_as_those_of_group_k_fold(seed: int) -> None:
    groups = np.random.default_rng(seed).zipf(1.4, 3000).clip(max=80)
    _, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    theirs = sorted(len(test) for _, test in GroupKFold(5).split(groups, groups=codes))
    assert sorted(np.bincount(by_size(sizes, 5), weights=sizes)) == theirs


def spread(counts: np.ndarray, fold: np.ndarray, folds: int) -> float:
    """How far the folds' shares of each class lie apart."""
    held = np.zeros((folds, counts.shape[1]))
    np.add.at(held, fold, counts)
    return float((held / counts.sum(axis=0)).std(axis=0).mean())


def test_folds_are_more_alike_than_those_of_stratified_group_k_fold() -> None:
    ours, theirs = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rows, many = int(rng.integers(100, 500)), int(rng.integers(10, 50))
        group = rng.integers(0, many, rows) ** 2 // many
        label = (rng.random(rows) < rng.random(many)[group]).astype(int)
        _, codes = np.unique(group, return_inverse=True)
        counts = np.zeros((codes.max() + 1, 2), dtype=np.int64)
        np.add.at(counts, (codes, label), 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            splits = list(StratifiedGroupKFold(3).split(label, label, codes))
        fold = np.zeros(len(counts), dtype=np.int64)
        for number, (_, test) in enumerate(splits):
            fold[codes[test]] = number
        ours.append(spread(counts, by_class(counts, 3), 3))
        theirs.append(spread(counts, fold, 3))
    assert np.mean(ours) < np.mean(theirs)
    assert np.mean(np.array(ours) <= np.array(theirs) + 1e-12) >= 0.9


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 5), st.integers(1, 6), st.integers(0, 3))
def test_equal_groups_are_dealt_alike(folds: int, times: int, positives: int) -> None:
    counts = np.tile([4, positives], (folds * times, 1))
    assert np.bincount(by_class(counts, folds)).tolist() == [times] * folds


def test_many_groups_are_dealt_in_rounds() -> None:
    rng = np.random.default_rng(0)
    counts = rng.poisson(200, (30_000, 2))
    fold = by_class(counts, 4)
    held = np.zeros((4, 2))
    np.add.at(held, fold, counts)
    assert fold.min() == 0
    assert (np.ptp(held, axis=0) / held.mean(axis=0)).max() < 1e-3
