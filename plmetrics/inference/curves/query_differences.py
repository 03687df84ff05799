"""Differences of two models query by query, in order of size."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.core.results import CURVES_SCHEMA
from plmetrics.inference.curves.thinning import MOST_POINTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from plmetrics.engine.ranking.query_numbers import QueryNumbers
    from plmetrics.inference.subject import Analysis
    from plmetrics.table.slices import Slices

CURVE = "query_differences"


def query_differences(analysis: Analysis, queries: QueryNumbers) -> pl.DataFrame:
    """The value of a model less that of the baseline in each query of each slice, as rows of the table `curves`.

    x is the rank of the difference, the largest first, and `class` the query; equal differences are in the order of
    their queries. A query without a value of either model has none. Of more than 1,000 those of even ranks stay.
    """
    compare = analysis.suite.compare
    assert compare is not None
    asked = {
        name for curve in analysis.suite.curves if curve.curve == CURVE for name in ("overall", *curve.slices)
    }
    names = queries.names.to_numpy()
    parts: list[pl.DataFrame] = []
    for model, baseline in compare.pairs_of(analysis.models):
        difference = queries.of(model) - queries.of(baseline)
        order = np.lexsort((names.astype(str), -difference))
        order = order[np.isfinite(difference[order])]
        for index, states in enumerate(analysis.sets):
            if states.slices.slice_set.name in asked:
                code = queries.slices(index)[order]
                parts += _by_slice(model, states.slices, code, difference[order], names[order])
    return pl.concat([CURVES_SCHEMA.to_frame(), *parts])


def _by_slice(
    model: str,
    slices: Slices,
    code: NDArray[np.int64],
    values: NDArray[np.float64],
    names: NDArray[np.object_],
) -> Iterator[pl.DataFrame]:
    """The points of each slice; values descend."""
    texts: Sequence[str] = slices.texts()
    inside = np.argsort(code, kind="stable")
    ends = np.searchsorted(code[inside], np.arange(len(texts) + 1))
    for text, (first, last) in zip(texts, pairwise(ends.tolist()), strict=True):
        rows = inside[first:last]
        kept = even_ranks(len(rows))
        columns = {"class": names[rows[kept]].tolist(), "x": kept + 1.0, "y": values[rows[kept]]}
        constants: dict[str, str | None] = {"model": model, "curve": CURVE}
        constants |= {"slice_set": slices.slice_set.name, "slice": text}
        constants |= dict.fromkeys(("lower", "upper", "threshold", "n"))
        points = pl.DataFrame(columns, schema={name: CURVES_SCHEMA[name] for name in columns})
        yield points.with_columns(
            pl.lit(value, dtype=CURVES_SCHEMA[name]).alias(name) for name, value in constants.items()
        ).select(list(CURVES_SCHEMA))


def even_ranks(number: int, most: int = MOST_POINTS) -> NDArray[np.int64]:
    """At most so many ranks from 0 on, evenly spread, both ends among them.

    >>> even_ranks(3).tolist(), even_ranks(10, most=4).tolist()
    ([0, 1, 2], [0, 3, 6, 9])
    """
    return np.unique(np.rint(np.linspace(0, number - 1, min(number, most))).astype(np.int64))
