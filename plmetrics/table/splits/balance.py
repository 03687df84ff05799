"""Whole groups to folds, so that folds are alike in size, and in classes where these count.

Groups come as an array of rows per group (and class), in the order of their hashes: that order decides between equals.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Shares = NDArray[np.float64]

_LARGEST = 20_000
"""How many groups that no other equals are placed one by one; smaller ones are dealt in rounds."""
_FEW = 200
_CHANGES = 200
_LEAST_GAIN = 1e-12


def by_size(sizes: Counts, folds: int) -> Counts:
    """The fold of each group: the largest group first, each to the fold with the fewest rows so far.

    Groups of one size are placed together: the folds' running sizes are k arithmetic sequences, of which the smallest
    elements are taken. There are fewer than sqrt(2 x rows) different sizes, however many groups there are.

    Source: Graham (1969), Bounds on multiprocessing timing anomalies, SIAM J. Applied Mathematics 17(2).

    >>> by_size(np.array([1, 5, 3, 3, 2]), 2)
    array([1, 0, 1, 1, 0])
    """
    fold = np.zeros(len(sizes), dtype=np.int64)
    held = np.zeros(folds, dtype=np.int64)
    order = np.argsort(-sizes, kind="stable")
    starts = np.flatnonzero(np.diff(sizes[order], prepend=-1))
    for members in np.split(order, starts[1:]):
        if len(members):
            size = int(sizes[members[0]])
            taken = _smallest(held, size, len(members))
            fold[members] = taken
            held += size * np.bincount(taken, minlength=folds)
    return fold


def _smallest(held: Counts, size: int, number: int) -> Counts:
    """Where each of some groups of one size goes, placed one after the other to the fold with the fewest rows."""
    folds = len(held)
    spread = int(held.max() - held.min()) // max(size, 1)
    steps = min(number, number // folds + spread + 2)
    after = held[:, None] + size * np.arange(steps)
    return np.argsort(after, axis=None, kind="stable")[:number] // steps


def by_class(counts: Counts, folds: int, *, mixed: bool = False) -> Counts:
    """The fold of each group, from rows per group and class: folds alike in every class and in size.

    Groups with the same counts are dealt evenly first. The rest, the largest first, go each to the fold where the sum
    over classes and rows of squared shares grows least; beyond the 20,000 largest they are dealt in rounds of
    neighbours by size and classes. Up to 200 groups are then moved and exchanged while the sum falls.
    With `mixed`, groups within a factor of two count as equally large, so that another order of groups gives other
    folds even where no two are alike.

    >>> by_class(np.array([[4, 0], [0, 2], [0, 2], [4, 0], [0, 1]]), 2)
    array([0, 0, 1, 1, 0])
    """
    fold = np.full(len(counts), -1, dtype=np.int64)
    _, kind = np.unique(counts, axis=0, return_inverse=True)
    _deal_equal(kind.reshape(-1), fold, folds)
    weighted = _scaled(counts)
    rest = np.flatnonzero(fold < 0)
    size = (weighted[rest] ** 2).sum(axis=1)
    size = np.floor(np.log2(np.maximum(size, _LEAST_GAIN)) / 2) if mixed else size
    rest = rest[np.argsort(-size, kind="stable")]
    _deal_rounds(rest[_LARGEST:], counts, fold, folds)
    held = np.zeros((folds, weighted.shape[1]))
    np.add.at(held, fold[fold >= 0], weighted[fold >= 0])
    for group in rest[:_LARGEST]:
        chosen = int(np.argmin(np.round(held @ weighted[group], 12)))
        fold[group] = chosen
        held[chosen] += weighted[group]
    return _improved(fold, weighted, held)


def _scaled(counts: Counts) -> Shares:
    """Shares of each class, and of all rows, that each group holds."""
    every = np.column_stack([counts, counts.sum(axis=1)]).astype(np.float64)
    shares: Shares = every / np.maximum(every.sum(axis=0), 1.0)
    return shares


def _deal_equal(kind: Counts, fold: Counts, folds: int) -> None:
    """Deal groups of one kind to all folds alike; fewer than `folds` of each kind stay without a fold."""
    order = np.argsort(kind, kind="stable")
    sizes = np.bincount(kind)
    place = np.arange(len(kind)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    even = place < np.repeat(sizes // folds * folds, sizes)
    fold[order[even]] = place[even] % folds


def _deal_rounds(groups: Counts, counts: Counts, fold: Counts, folds: int) -> None:
    """Deal groups in rounds of one for each fold, to and fro, neighbours alike in size and classes."""
    if not len(groups):
        return
    held = counts[groups]
    order = groups[np.lexsort((*held.T[::-1], held.sum(axis=1)))]
    turn = np.arange(len(order))
    forth, place = (turn // folds) % 2 == 0, turn % folds
    fold[order] = np.where(forth, place, folds - 1 - place)


def _improved(fold: Counts, weighted: Shares, held: Shares) -> Counts:
    """Move or exchange groups while that makes the sum of squared shares smaller; only where there are few."""
    for _ in range(_CHANGES if len(fold) <= _FEW else 0):
        moved, group, chosen = _best_move(fold, weighted, held)
        swapped, first, second = _best_exchange(fold, weighted, held)
        if max(moved, swapped) <= _LEAST_GAIN:
            break
        changes = [(group, chosen)]
        if swapped > moved:
            changes = [(first, int(fold[second])), (second, int(fold[first]))]
        for member, goal in changes:
            held[fold[member]] -= weighted[member]
            held[goal] += weighted[member]
            fold[member] = goal
    return fold


def _best_move(fold: Counts, weighted: Shares, held: Shares) -> tuple[float, int, int]:
    """The gain of the best move, its group and its goal."""
    groups = np.arange(len(fold))
    along = weighted @ held.T
    gain = along[groups, fold][:, None] - along - (weighted**2).sum(axis=1)[:, None]
    gain[groups, fold] = -np.inf
    best = int(np.argmax(gain))
    group, chosen = divmod(best, len(held))
    return float(gain[group, chosen]), group, chosen


def _best_exchange(fold: Counts, weighted: Shares, held: Shares) -> tuple[float, int, int]:
    """The gain of the best exchange, and the two groups."""
    more = weighted[:, None, :] - weighted[None, :, :]
    apart = held[fold][:, None, :] - held[fold][None, :, :]
    gain = (more * apart).sum(axis=2) - (more**2).sum(axis=2)
    gain[fold[:, None] == fold] = -np.inf
    best = int(np.argmax(gain))
    first, second = divmod(best, len(fold))
    return float(gain[first, second]), first, second
