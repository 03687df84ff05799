"""Rows of queries in order: one sort per model and way to order ties."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.states.queries import QueryLabels, QueryValue, RankedRows
from plmetrics.states.scores.exact.sorting import argsort, sort

_PACKED = 1 << 62

_COUNTED = 4
"""Labels of queries are counted, not sorted, where there are at most so many different ones a row."""

_HEAD = 1000
"""Rows out of order are mostly found to be so among these."""


def codes_of(queries: pl.Series) -> tuple[Codes, Codes]:
    """The number of each row's query, and the first row of each query.

    >>> codes, first = codes_of(pl.Series("q", ["b", "b", "a", "b"]))
    >>> codes.tolist(), first.tolist()
    ([1, 1, 0, 1], [2, 0])
    """
    begins = queries.ne_missing(queries.shift())
    begins[0] = True
    starts = begins.arg_true()
    heads = queries.gather(starts)
    run = begins.cast(pl.Int64).cum_sum().to_numpy() - 1
    start_rows = starts.to_numpy().astype(np.int64)
    if isinstance(heads.dtype, (pl.Categorical, pl.Enum)):
        heads = heads.to_physical()
    if heads.n_unique() == len(heads):
        return run, start_rows
    number = heads.rank("dense").to_numpy().astype(np.int64) - 1
    first = np.zeros(int(number.max()) + 1, dtype=np.int64)
    first[number[::-1]] = start_rows[::-1]
    return number[run], first


def equal_models(
    values: Mapping[str, Mapping[str, Array]], scores: Callable[[str], Array], codes: Codes, queries: int
) -> dict[str, Array]:
    """Number of the first model with equal numbers and order, for each query: a test of difference of two models.

    Equal numbers alone do not do: which these are is for the suite's other metrics to say.
    """
    models = list(values)
    out: dict[str, Array] = {}
    for place, model in enumerate(models):
        first = values[model]
        number = np.full(queries, float(place))
        for other in range(place - 1, -1, -1):
            second = values[models[other]]
            pairs = [(first[key], second[key]) for key in first]
            equal = [(a == b) | (np.isnan(a) & np.isnan(b)) for a, b in pairs]
            same = np.logical_and.reduce([np.ones(queries, dtype=np.bool_), *equal])
            if same.any():
                same = same_order(codes, scores(model), scores(models[other]), same)
            number = np.where(same, out[models[other]], number)
        out[model] = number
    return out


def same_order(codes: Codes, first: Array, second: Array, among: Flags) -> Flags:
    """Mask of those `among` the queries whose rows two models order alike, with the same ties and the same NaNs.

    Neighbours as they stand tell most of the others, so that few rows are sorted.

    >>> codes = np.array([0, 0, 1, 1, 1])
    >>> scores = np.array([0.2, 0.8, 0.1, 0.5, 0.5]), np.array([2.0, 3.0, 1.0, 5.0, 4.0])
    >>> same_order(codes, *scores, np.array([True, True])).tolist()
    [True, False]
    """
    out = among.copy()
    rows = np.flatnonzero(out[codes])
    for in_order in (False, True):
        rows = rows[np.lexsort((first[rows], codes[rows]))] if in_order else rows
        code, one, other = codes[rows], first[rows], second[rows]
        apart = (one[:-1] < one[1:]) != (other[:-1] < other[1:])
        apart |= (one[:-1] > one[1:]) != (other[:-1] > other[1:])
        out[code[:-1][apart & (code[:-1] == code[1:])]] = False
        out[code[np.isnan(one) != np.isnan(other)]] = False
        rows = rows[out[code]]
    return out


class QueryRows:
    """Labels of rows by query, for models to be ordered on: `codes` is the query of each row, from 0.

    `documents` are needed where ties are ordered by them. `zero` says that a query of which a model retrieved nothing
    counts for it, else it takes no part. `flags` are columns that say of each row whether something holds. With
    `any_order` the order of the rows does not show in the last bit.
    """

    def __init__(
        self,
        codes: Codes,
        queries: int,
        labels: pl.Series,
        documents: pl.Series | None = None,
        *,
        zero: bool = True,
        flags: Mapping[str, pl.Series] | None = None,
        any_order: bool = False,
    ) -> None:
        self._zero, self._any_order = zero, any_order
        self._flags = {name: flag.alias(f"flag|{name}") for name, flag in (flags or {}).items()}
        self._codes = pl.Series("code", codes)
        self._labels = labels.alias("label")
        self._documents = documents
        self._sizes = np.bincount(codes, minlength=queries)

    @cached_property
    def query_labels(self) -> QueryLabels:
        """The labels of each query, in descending order."""
        offsets = np.concatenate([[0], np.cumsum(self._sizes)])
        labels = self._labels.to_numpy()
        if not len(labels):  # all rows of a model are dropped
            return QueryLabels(labels, offsets)
        lowest, highest = (float(end) for end in (labels.min(), labels.max()))
        span = highest - lowest + 1.0
        if span * len(offsets) < _PACKED and bool((np.floor(labels) == labels).all()):
            width = int(span)
            keys = self._codes.to_numpy() * width + (highest - labels).astype(np.int64)
            if width * len(self._sizes) <= _COUNTED * len(keys):
                counts = np.bincount(keys, minlength=width * len(self._sizes))
                descending = np.tile(highest - np.arange(width), len(self._sizes))
                return QueryLabels(np.repeat(descending, counts), offsets)
            sort(keys)
            return QueryLabels(highest - (keys % width), offsets)
        frame = pl.DataFrame([self._codes, self._labels]).sort("code", "label", descending=[False, True])
        return QueryLabels(frame["label"].to_numpy(), offsets)

    def values(self, scores: pl.Series, query_values: Sequence[QueryValue]) -> dict[str, Array]:
        """The numbers of each query by key; NaN for queries without rows. A null score: not retrieved."""
        orders = dict.fromkeys(value.ties for value in query_values if value.ties is not None) or {
            "average": None
        }
        out: dict[str, Array] = {}
        first = next(iter(orders))
        present = self._sizes > 0
        if not self._zero and scores.null_count():
            scored = self._codes.filter(scores.is_not_null()).to_numpy()
            present = np.bincount(scored, minlength=len(self._sizes)) > 0
        for ties in orders:
            ranked = self._rank(scores, ties)
            for value in query_values:
                if (value.ties or first) == ties:
                    out[value.key] = np.where(present, value.build(ranked), np.nan)
        return {value.key: out[value.key] for value in query_values}

    def _rank(self, scores: pl.Series, ties: str) -> RankedRows:
        unsigned = pl.when(pl.col("score") == 0).then(0.0).otherwise(pl.col("score")).alias("score")
        columns = [self._codes, scores.alias("score"), self._labels, *self._flags.values()]
        frame = pl.DataFrame(columns).with_columns(unsigned)
        ordered = self._by_score(frame) if ties == "average" else self._by_tie_break(frame, ties)
        code, score = ordered["code"].to_numpy(), ordered["score"]
        missing = score.is_null().to_numpy() if score.null_count() else None
        alike = ordered["label"].to_numpy() if ties == "worst" and self._flags else None
        tied = _tie_mask(code, score.fill_null(0.0).to_numpy(), missing, ties, alike)
        if self._any_order and tied is not None:
            ordered = ordered[_by_label_within_ties(ordered["label"].to_numpy(), tied)]
        retrieved = None if missing is None else ~missing
        flags = {name: ordered[flag.name].to_numpy() for name, flag in self._flags.items()}
        return RankedRows(self.query_labels, ordered["label"].to_numpy(), tied, retrieved, flags)

    def _by_score(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Rows by query and descending score; one packed key sorts several times faster than two columns."""
        if _in_order(frame):
            return frame
        packed = frame[argsort(_pack_keys(frame, len(self._sizes)))]
        if _in_order(packed):
            return packed
        return frame.sort("code", "score", descending=[False, True], nulls_last=True)

    def _by_tie_break(self, frame: pl.DataFrame, ties: str) -> pl.DataFrame:
        """Rows by query, descending score and the tie-break; documents by their texts, as trec_eval has them."""
        if ties == "worst":
            return frame.sort("code", "score", "label", descending=[False, True, False], nulls_last=True)
        assert self._documents is not None
        single = pl.col("score").cast(pl.Float32)  # as trec_eval holds them: what differs beyond is a tie
        named = frame.with_columns(self._documents.cast(pl.String).alias("document"), single)
        return named.sort("code", "score", "document", descending=[False, True, True], nulls_last=True)


def _pack_keys(frame: pl.DataFrame, queries: int) -> NDArray[np.uint64]:
    """Query and as much of the score as has room behind it in 64 bits; a null score is the last."""
    bits = frame["score"].fill_null(-np.inf).to_numpy().view(np.uint64)
    ascending = np.where(bits >> np.uint64(63), ~bits, bits | np.uint64(1 << 63))
    room = np.uint64(max(1, queries.bit_length()))
    return (frame["code"].to_numpy().astype(np.uint64) << np.uint64(64 - int(room))) | (~ascending >> room)


def _in_order(frame: pl.DataFrame) -> bool:
    """Whether rows stand by query and descending score, null scores last."""
    if frame.height > _HEAD and not _in_order(frame.head(_HEAD)):
        return False
    code, score = frame["code"].to_numpy(), frame["score"].fill_null(-np.inf).to_numpy()
    ahead = code[1:] > code[:-1]
    return bool((ahead | ((code[1:] == code[:-1]) & (score[1:] <= score[:-1]))).all())


def _tie_mask(
    code: Codes, score: Array, missing: Flags | None, ties: str, alike: Array | None = None
) -> Flags | None:
    """Mask of the rows tied with the row before them; where ties are ordered, only rows not retrieved are.

    So are those of one score and one label, where order by labels (`alike`) leaves open which of them has a flag.
    """
    if missing is None:
        if ties != "average" and alike is None:
            return None
        missing = np.zeros(len(code), dtype=np.bool_)
    tied = score[1:] == score[:-1] if ties == "average" or alike is not None else missing[1:]
    if alike is not None:
        tied &= missing[1:] | (alike[1:] == alike[:-1])
    same = (code[1:] == code[:-1]) & (missing[1:] == missing[:-1]) & tied
    return np.concatenate([[False], same])


def _by_label_within_ties(label: Array, tied: Flags) -> Codes:
    """Order of the rows, those of each tie group by their labels: its sums add in one order."""
    rows = np.flatnonzero(tied | np.append(tied[1:], np.zeros(min(1, len(tied)), dtype=np.bool_)))
    order = np.arange(len(label))
    order[rows] = rows[np.lexsort((label[rows], np.cumsum(~tied)[rows]))]
    return order
