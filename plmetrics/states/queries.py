"""State family of queries: rows of one model by query and rank, and the numbers of each query from them.

Rows of a query with equal scores are a tie group. Numbers that depend on the order within a group are expectations
under random order, all orders being equally likely (McSherry and Najork 2008, Computing information retrieval
performance measures efficiently in the presence of tied scores). A group without ties is a group of one row, so that
other orders of tied rows need no code of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.states.combinatorics import (
    hypergeometric,
    log_choose,
    no_relevant_probability,
    products_before,
    subset_products,
)
from plmetrics.states.sums import sum_by_place

QUERY = "@query|"
QUERY_NAME = f"{QUERY}name"
"""Where the table of queries has what each is called, if that is asked for: no model's number, which has a key."""

EVERY_RANK = np.iinfo(np.int64).max // 4
"""The cut that cuts nothing."""


@dataclass(frozen=True, slots=True)
class QueryValue:
    """One number per query: `key` is its identity, `build` its function, NaN for an excluded query.

    `ties` is how tied rows are ordered before: "average" not at all, "worst" the least relevant first, "document" by
    descending document; None where no order is read. `flag` is the column of the table that says of each row whether it
    was judged, where that is read (`RankedRows.flags`).
    """

    key: str
    build: Callable[[RankedRows], Array]
    ties: str | None = None
    flag: str | None = None


@dataclass(frozen=True)
class QueryLabels:
    """Labels of every query in descending order, independent of models.

    `offsets` has one entry more than there are queries.
    """

    best: Array
    offsets: Codes

    @property
    def queries(self) -> int:
        """Number of queries."""
        return len(self.offsets) - 1

    @cached_property
    def sizes(self) -> Codes:
        """Number of rows of each query."""
        return np.diff(self.offsets)

    @cached_property
    def query(self) -> Codes:
        """The query of each row."""
        return np.repeat(np.arange(self.queries), self.sizes)

    @cached_property
    def discounts(self) -> Array:
        """1 / log2(i + 1) of the ranks i = 1, 2, ..."""
        longest = int(self.sizes.max(initial=0))
        return 1.0 / np.log2(np.arange(2, longest + 2))

    @cached_property
    def discount_sums(self) -> Array:
        """Sum of the discounts of the first 0, 1, 2, ... ranks."""
        return np.concatenate([[0.0], np.cumsum(self.discounts)])

    def relevant(self, at: float) -> Array:
        """Number of rows of each query with a label of at least `at`."""
        return self._total(np.flatnonzero(self.best >= at), None)

    def ideal(self, gain: str, cut: int) -> Array:
        """Discounted gain of the first `cut` ranks of each query in the best order."""
        rows = np.flatnonzero(self.best > 0)
        rank = rows - self.offsets[self.query[rows]]
        rows, rank = rows[rank < cut], rank[rank < cut]
        return self._total(rows, gains(self.best[rows], gain) * self.discounts[rank])

    def _total(self, rows: Codes, values: Array | None) -> Array:
        return sum_by_place(self.query[rows], values, self.queries)


def query_column(model: str, key: str) -> str:
    """The column of a model's number in the table of queries."""
    return f"{QUERY}{model}|{key}"


def gains(labels: Array, gain: str) -> Array:
    """Gains of rows of these labels: the label itself, or 2^label - 1.

    >>> gains(np.array([0.0, 1.0, 3.0]), "exponential")
    array([0., 1., 7.])
    """
    return labels if gain == "linear" else np.exp2(labels) - 1.0


@dataclass(frozen=True)
class TieGroups:
    """Tie groups in order of query and rank: `before` rows of the query stand before each, `size` in it.

    `first` is the row where it begins.
    """

    query: Codes
    first: Codes
    before: Codes
    size: Codes

    def take(self, chosen: Any) -> TieGroups:
        """Some of them."""
        return TieGroups(self.query[chosen], self.first[chosen], self.before[chosen], self.size[chosen])


class RankedRows:
    """The rows of one model: query by query, from the highest score to the lowest.

    `label` is the relevance of each row, `tied` says of each row that its score is that of the row before it in the
    query, `retrieved` which rows the model returned at all (all, where it is None): the others stand last, are in no
    top k and gain nothing. `flags` are columns of the table that say of each row whether something holds.
    """

    def __init__(
        self,
        judged: QueryLabels,
        label: Array,
        tied: Flags | None,
        retrieved: Flags | None,
        flags: Mapping[str, Flags] | None = None,
    ) -> None:
        self.judged = judged
        self.label = label
        self.retrieved = retrieved
        self.flags = flags or {}
        self.alone = tied is None or not tied.any()
        first = np.arange(len(label)) if tied is None or self.alone else np.flatnonzero(~tied)
        size = np.diff(first, append=len(label))
        query = judged.query if self.alone else judged.query[first]
        self._all = TieGroups(query, first, first - judged.offsets[query], size)
        self._hits: dict[float, tuple[Codes, Codes]] = {}

    @property
    def queries(self) -> int:
        """Number of queries."""
        return self.judged.queries

    def total(self, groups: TieGroups, values: Array) -> Array:
        """Sum over the groups of each query."""
        return sum_by_place(groups.query, values, self.queries)

    def hits(self, at: float) -> tuple[Codes, Codes]:
        """Relevant rows of each group, and of all earlier groups of its query."""
        if at not in self._hits:
            counts = self._per_group((self.label >= at).astype(np.int64))
            running = np.concatenate([[0], np.cumsum(counts)])
            start = np.searchsorted(self._all.first, self.judged.offsets[:-1])
            self._hits[at] = counts, running[:-1] - running[start][self._all.query]
        return self._hits[at]

    def _per_group(self, values: Any) -> Any:
        return values if self.alone else np.add.reduceat(values, self._all.first)

    def _chosen(self, cut: Any, member: Flags | None = None) -> NDArray[np.intp]:
        """Indices of retrieved groups that start above the cut, one rank for all queries or one for each."""
        limit = cut if np.ndim(cut) == 0 else cut[self._all.query]
        chosen = self._all.before < limit
        if member is not None:
            chosen &= member
        if self.retrieved is not None:
            chosen &= self.retrieved[self._all.first]
        return np.flatnonzero(chosen)

    def _relevant(self, at: float, cut: Any) -> tuple[TieGroups, Codes]:
        """Groups with relevant rows that start above the cut, and the number of these rows."""
        chosen = self._chosen(cut, self.hits(at)[0] > 0)
        return self._all.take(chosen), self.hits(at)[0][chosen]

    def discounted_gain(self, gain: str, cut: int) -> Array:
        """Expected discounted gain of the first `cut` ranks: group by group, mean gain times discounts of its ranks."""
        chosen = self._chosen(cut)
        groups, judged = self._all.take(chosen), self.judged
        if self.alone:
            return self.total(groups, gains(self.label[chosen], gain) * judged.discounts[groups.before])
        worth = self._per_group(gains(self.label, gain))[chosen]
        last = np.minimum(groups.before + groups.size, cut)
        spread = judged.discount_sums[last] - judged.discount_sums[groups.before]
        single = groups.size == 1
        spread[single] = judged.discounts[groups.before[single]]
        return self.total(groups, worth / groups.size * spread)

    def blind(self, gain: str, cut: int) -> Array:
        """Expected discounted gain of all rows of a query in random order."""
        judged = self.judged
        worth = np.bincount(judged.query, weights=gains(judged.best, gain), minlength=self.queries)
        return worth / np.maximum(judged.sizes, 1) * judged.discount_sums[np.minimum(judged.sizes, cut)]

    def expected_hits(self, at: float, cut: Any) -> Array:
        """Expected number of relevant rows in the first `cut` ranks; the cut may be one a query."""
        groups, hits = self._relevant(at, cut)
        room = (cut if np.ndim(cut) == 0 else cut[groups.query]) - groups.before
        return self.total(groups, hits * (np.minimum(groups.size, room) / groups.size))

    def hit_probability(self, at: float, cut: int) -> Array:
        """Probability of a relevant row in the first `cut` ranks: hypergeometric in the group at the cut."""
        groups, hits = self._relevant(at, cut)
        room = cut - groups.before
        complete = room >= groups.size
        out = np.zeros(self.queries)
        part = np.flatnonzero(~complete)
        none = no_relevant_probability(groups.size[part], hits[part], room[part])
        out[groups.query[part]] = 1.0 - none
        out[groups.query[complete]] = 1.0
        return out

    def reciprocal(self, at: float, cut: int) -> Array:
        """Expected 1 / rank of the first relevant row, 0 beyond the cut.

        In a group of m rows with r relevant ones after s others, the first of them is the j-th with probability
        C(m - j, r - 1) / C(m, r).
        """
        chosen = self._chosen(cut, self.hits(at)[0] > 0)
        query = self._all.query[chosen]
        chosen = chosen[np.diff(query, prepend=-1) != 0]
        groups, hits = self._all.take(chosen), self.hits(at)[0][chosen]
        length = np.minimum(groups.size - hits + 1, cut - groups.before)
        group, step = _ragged_index(length)
        size, relevant = groups.size[group], hits[group]
        first = np.exp(log_choose(size - 1 - step, relevant - 1) - log_choose(size, relevant))
        first = np.where(relevant == 1, 1.0 / size, first)
        out = np.zeros(self.queries)
        weights = first / (groups.before[group] + 1.0 + step)
        out[groups.query] = np.bincount(group, weights=weights, minlength=len(chosen))
        return out

    def precision_sum(self, at: float, cut: int) -> Array:
        """Expected sum of the precisions at the ranks of the relevant rows in the first `cut` ranks.

        At the j-th row of a group of m with r relevant ones, after s rows with h relevant ones, that is
        r / m (h + 1 + (j - 1) (r - 1) / (m - 1)) / (s + j).
        """
        return self._precisions(self._chosen(cut, self.hits(at)[0] > 0), at, cut)

    def _precisions(self, chosen: NDArray[np.intp], at: float, cut: int) -> Array:
        groups, (group_hits, before) = self._all.take(chosen), self.hits(at)
        group_hits, before = group_hits[chosen], before[chosen]
        if self.alone:
            return self.total(groups, (before + 1.0) / (groups.before + 1.0))
        group, step = _ragged_index(np.minimum(groups.size, cut - groups.before))
        size, relevant = groups.size[group], group_hits[group]
        hits = before[group] + 1.0 + step * ((relevant - 1) / np.maximum(size - 1, 1))
        value = relevant / size * hits / (groups.before[group] + 1.0 + step)
        return sum_by_place(groups.query[group], value, self.queries)

    def mean_precision_at_hits(self, at: float, cut: int) -> Array:
        """Expected mean of the precisions at the ranks of the relevant rows in the first `cut`; 0 where there are none.

        The group at the cut brings x of its relevant rows with a hypergeometric probability; given x, its expected
        precisions are those of a group of as many rows as have room.
        """
        member = self.hits(at)[0] > 0
        chosen = self._chosen(cut, member)
        size, room = self._all.size[chosen], cut - self._all.before[chosen]
        split = chosen[size > room]
        complete = chosen[size <= room]
        total = self._precisions(complete, at, cut)
        count = self.total(self._all.take(complete), self.hits(at)[0][complete].astype(np.float64))
        out = np.divide(total, count, out=np.zeros(self.queries), where=count > 0)
        if len(split):
            query = self._all.query[split]
            out[query] = self._split_means(split, at, cut, total[query], count[query])
        return out

    def _split_means(self, split: NDArray[np.intp], at: float, cut: int, total: Array, count: Array) -> Array:
        groups, (hits_of, before) = self._all.take(split), self.hits(at)
        relevant, before, room = hits_of[split], before[split], cut - groups.before
        group, step = _ragged_index(room)
        inverse = 1.0 / (groups.before[group] + 1.0 + step)
        plain = np.bincount(group, weights=inverse, minlength=len(split))
        stepped = np.bincount(group, weights=step * inverse, minlength=len(split))
        group, hits_drawn = _ragged_index(np.minimum(room, relevant) + 1)
        size, own_room, own_relevant = groups.size[group], room[group], relevant[group]
        chance = hypergeometric(size, own_relevant, own_room, hits_drawn)
        slope = (hits_drawn - 1) / np.maximum(own_room - 1, 1)
        inside = hits_drawn / own_room * ((before[group] + 1.0) * plain[group] + slope * stepped[group])
        hits = count[group] + hits_drawn
        mean = np.divide(total[group] + inside, hits, out=np.zeros(len(group)), where=hits > 0)
        return sum_by_place(group, chance * mean, len(split))

    def interpolated_precision(self, at: float, recalls: tuple[float, ...], *, up: bool) -> Array:
        """Mean over recalls of the largest precision at ranks where round(recall R) relevant rows are expected."""
        chosen = self._chosen(EVERY_RANK, self.hits(at)[0] > 0)  # precision falls where no row is relevant
        groups, hits, before = self._all.take(chosen), *(counts[chosen] for counts in self.hits(at))
        group, step = _ragged_index(groups.size)
        query, expected = groups.query[group], before[group] + (step + 1) * (hits / groups.size)[group]
        precision, relevant = expected / (groups.before[group] + step + 1), self.judged.relevant(at)
        total = np.zeros(self.queries)
        for recall in recalls:
            least = np.floor(recall * relevant + (0.9 if up else 0.5))[query]
            largest = np.zeros(self.queries)
            np.maximum.at(largest, query, np.where(expected >= least - 1e-9, precision, 0.0))
            total += largest
        return np.where(relevant > 0, total / len(recalls), np.nan)

    @property
    def retrieved_rows(self) -> Array:
        """Number of retrieved rows of each query."""
        if self.retrieved is None:
            return self.judged.sizes.astype(np.float64)
        return sum_by_place(self.judged.query[self.retrieved], None, self.queries)

    def flagged_rows(self, flag: str, cut: int) -> Array:
        """Expected number of flagged rows in the first `cut` ranks."""
        chosen = self._chosen(cut)
        groups, count = self._all.take(chosen), self._per_group(self.flags[flag].astype(np.int64))[chosen]
        return self.total(groups, count * (np.minimum(groups.size, cut - groups.before) / groups.size))

    def geometric(self, at: float, persistence: float, cut: int) -> Array:
        """Expected sum of (1 - p) p^(i - 1) over the ranks i of the relevant rows in the first `cut`."""
        groups, hits = self._relevant(at, cut)
        last = np.minimum(groups.before + groups.size, cut)
        mass = persistence ** groups.before.astype(np.float64) - persistence ** last.astype(np.float64)
        return self.total(groups, hits / groups.size * mass)

    def above_irrelevant(self, at: float, flag: str) -> Array:
        """Expected sum over the retrieved relevant rows of 1 - min(n, c) / c, and 1 where c is 0.

        n are the irrelevant rows with a flag that stand above the row, c the smaller of the numbers of relevant and of
        such irrelevant rows of the query. In a group with m of the latter each of 0 to m is as likely above a row.
        """
        others = self.flags[flag] & (self.label < at)
        hits, inside = self.hits(at)[0], self._per_group(others.astype(np.int64))
        running = np.concatenate([[0], np.cumsum(inside)])
        start = np.searchsorted(self._all.first, self.judged.offsets[:-1])
        total = sum_by_place(self._all.query, inside, self.queries)
        chosen = self._chosen(EVERY_RANK, hits > 0)
        query = self._all.query[chosen]
        above, inside = running[chosen] - running[start][query], inside[chosen]
        most = np.minimum(self.judged.relevant(at), total)[query]
        below = np.clip(most - above, 0, inside + 1)
        mean = (below * above + below * (below - 1) / 2 + (inside + 1 - below) * most) / (inside + 1)
        share = np.divide(mean, most, out=np.zeros(len(chosen)), where=most > 0)
        return self.total(self._all.take(chosen), hits[chosen] * (1.0 - share))

    def cascade(self, stop: Array, cut: int) -> Array:
        """Expected 1 / rank of a cascade user's last row, by the stopping probability of each row; 0 beyond the cut.

        Within ties the product of the chances to go on over j of m rows is the mean over all their subsets.
        """
        chosen = self._chosen(cut)
        groups = self._all.take(chosen)
        place = np.arange(len(stop)) - self.judged.offsets[self.judged.query]
        reached = products_before(1.0 - stop, place, cut)[groups.first]
        inner = np.zeros(len(chosen))
        for size in np.unique(groups.size):
            place = np.flatnonzero(groups.size == size)
            go_on = 1.0 - stop[groups.first[place][:, None] + np.arange(size)]
            rank = groups.before[place][:, None] + np.arange(1, size + 1)
            steps = -np.diff(subset_products(go_on), axis=1)
            inner[place] = np.where(rank <= cut, steps / rank, 0.0).sum(axis=1)
        return self.total(groups, reached * inner)

    def rank_sum(self, at: float) -> Array:
        """Sum of the midranks of the relevant rows; rows not retrieved share the last ranks."""
        hits, _ = self.hits(at)
        chosen = np.flatnonzero(hits > 0)
        groups = self._all.take(chosen)
        return self.total(groups, hits[chosen] * (groups.before + (groups.size + 1) / 2.0))


def _ragged_index(lengths: Codes) -> tuple[Codes, Codes]:
    """For groups of these lengths, the group and the place within it of every member."""
    ends = np.cumsum(lengths)
    group = np.repeat(np.arange(len(lengths)), lengths)
    return group, np.arange(len(group)) - (ends - lengths)[group]
