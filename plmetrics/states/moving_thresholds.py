"""Thresholds chosen anew in each replicate, and the confusion table at them.

A replicate weighs every row by how often its block was drawn. Its threshold is chosen on the rows so weighted, and
splits those of each slice: between two thresholds of a run all rows of a block are alike, so they are counted together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.exact_sums import product
from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.states.scores.bin_lookup import balanced_edges
from plmetrics.states.scores.coarse import replicates_rows
from plmetrics.states.scores.exact.row_counts import count
from plmetrics.states.scores.exact.sorted_rows import SortedRows, group_order
from plmetrics.states.sums import View

CANDIDATES = 2048
"""Most candidates of a replicate: half of them at equal shares of the rows, half of the positives."""

_AT_ONCE = 64


def confusion_at(score: Array, positive: Array, negative: Array) -> View:
    """The confusion table at each score, ascending, and above them all, from the weight of each class there."""

    def at_or_above(mass: Array) -> Array:
        return np.append(np.cumsum(mass[::-1])[::-1], 0.0)

    def everywhere(total: float) -> Array:
        return np.broadcast_to(np.float64(total), tp.shape)

    tp, fp = at_or_above(positive), at_or_above(negative)
    return View(
        {
            "threshold": np.append(score, np.nextafter(score[-1], np.inf)),
            "tp": tp,
            "fp": fp,
            "fn": tp[0] - tp,
            "tn": fp[0] - fp,
            "positives": everywhere(tp[0]),
            "negatives": everywhere(fp[0]),
            "weight": everywhere(tp[0] + fp[0]),
            "n": everywhere(tp[0] + fp[0]),
        }
    )


def replicate_thresholds(
    rows: SortedRows, weights: Array, rules: Sequence[Callable[[View], float]], chosen: Sequence[float]
) -> list[Array]:
    """The threshold of each rule in each replicate, NaN where none meets the rule.

    `rows` ascend by score, `weights` are how often each of their blocks is drawn `[replicate, block]`. A rule chooses
    from the confusion tables at all candidates; those `chosen` on all rows stay candidates where there are too many
    scores.
    """
    rows = _candidates(rows, chosen)
    out: list[list[float]] = [[] for _ in rules]
    for score, positive, negative in _replicates(rows, weights):
        drawn = positive + negative > 0
        points = confusion_at(score[drawn], positive[drawn], negative[drawn]) if drawn.any() else None
        for thresholds, rule in zip(out, rules, strict=True):
            thresholds.append(np.nan if points is None else rule(points))
    return [np.array(thresholds, dtype=np.float64) for thresholds in out]


def _candidates(rows: SortedRows, chosen: Sequence[float]) -> SortedRows:
    """The rows at the candidate at or below their scores, where not every score can be one."""
    score = rows.score
    if np.count_nonzero(np.diff(score)) < CANDIDATES:
        return rows
    finite = [threshold for threshold in chosen if score[0] <= threshold <= score[-1]]
    edges = balanced_edges(score, score[rows.positive], CANDIDATES - len(finite) - 1)
    candidates = np.unique([score[0], *finite, *edges])
    place = np.searchsorted(candidates, score, side="right") - 1
    return SortedRows(candidates[place], rows.positive, rows.weight, rows.block)


def _replicates(rows: SortedRows, weights: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Each replicate's scores, and the weight of each class at them."""
    if replicates_rows(len(rows.score), len(weights), 1):
        for state in rows.regroup(None, 1).replicate_points(weights, scores=True):
            score = state["score"].values
            for positive, negative in zip(state["positive"].values, state["negative"].values, strict=True):
                yield score, positive, negative
        return
    assert rows.block is not None
    score, place = np.unique(rows.score, return_inverse=True)
    shape = weights.shape[1], len(score)
    key = rows.block.astype(np.int64) * len(score) + place
    counts = [
        count(key[member], None if rows.weight is None else rows.weight[member], shape).astype(np.float64)
        for member in (rows.positive, ~rows.positive)
    ]
    for first in range(0, len(weights), _AT_ONCE):
        drawn = [product(weights[first : first + _AT_ONCE], by_block) for by_block in counts]
        for positive, negative in zip(*drawn, strict=True):
            yield score, positive, negative


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """One model's rows in any order: score, class, number of the block, and weight, None where rows count once."""

    score: Array
    positive: Flags
    block: NDArray[np.int32]
    weight: Array | None

    def cells(self, thresholds: Array, weights: Array, codes: Codes, slices: int) -> Mapping[str, Array]:
        """The confusion table of each slice in each replicate, at the replicate's threshold `[replicate, slice]`.

        `weights` are how often each block is drawn `[replicate, block]`. Where a replicate's threshold is NaN, so are
        its cells.
        """
        different = np.unique(thresholds[~np.isnan(thresholds)])
        place, size = np.searchsorted(different, thresholds), len(different) + 1
        below = np.searchsorted(different, self.score, side="right")
        order, offsets = group_order(codes, slices)
        out = {name: np.full((len(thresholds), slices), np.nan) for name in ("tp", "fp", "fn", "tn")}
        chosen = np.flatnonzero(~np.isnan(thresholds))
        for number, (first, last) in enumerate(pairwise(offsets.tolist())):
            rows = order[first:last]
            blocks, block = np.unique(self.block[rows], return_inverse=True)
            drawn = weights[np.ix_(chosen, blocks)]
            for member, called, passed in ((True, "tp", "fn"), (False, "fp", "tn")):
                of_class = self.positive[rows] == member
                key = (block * size + below[rows])[of_class]
                weight = None if self.weight is None else self.weight[rows][of_class]
                counts: NDArray[Any] = count(key, weight, (len(blocks), size)).astype(np.float64)
                under = np.cumsum(counts, axis=1)[:, place[chosen]]
                above = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1][:, place[chosen] + 1]
                out[called][chosen, number] = np.einsum("rb,br->r", drawn, above)
                out[passed][chosen, number] = np.einsum("rb,br->r", drawn, under)
        return out
