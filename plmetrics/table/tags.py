"""Tags of rows as overlapping slices: disjoint groups of them for joint counts, and their one order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.core.ops import Codes
from plmetrics.table.slice_keys import TagMembers

if TYPE_CHECKING:
    from plmetrics.table.slices import Slices


def tag_groups(combinations: pl.Series) -> list[pl.Series]:
    r"""Tags of some combinations, each in the first group without a co-occurring tag.

    The slices of a group do not overlap, so that they are counted together, as those of a column are.

    >>> combinations = pl.Series(["a\x1fb", "b\x1fc", "d"])
    >>> [group.to_list() for group in tag_groups(combinations)]
    [['b', 'd'], ['a', 'c']]
    """
    members = TagMembers.of(combinations)
    sizes = np.bincount(members.tag, minlength=len(members.names))
    starts, rows = (
        np.cumsum(sizes) - sizes,
        members.combination[np.argsort(members.tag, kind="stable")].tolist(),
    )
    taken = [0] * len(combinations)
    groups: list[list[int]] = []
    for tag in np.argsort(-sizes, kind="stable").tolist():
        of_tag = rows[starts[tag] : starts[tag] + sizes[tag]]
        occupied = reduce(or_, map(taken.__getitem__, of_tag))
        bit = ~occupied & (occupied + 1)
        for row in of_tag:
            taken[row] |= bit
        number = bit.bit_length() - 1
        if number == len(groups):
            groups.append([])
        groups[number].append(tag)
    return [members.names.gather(sorted(group)) for group in groups]


def result_places(parts: Sequence[Slices]) -> tuple[Codes, list[Codes]]:
    """Positions of the slices of some parts in results: start of its set by part, and ranks within the set.

    Only the parts of a set of tags are between each other: their tags are in one order.
    """
    begins, numbers = np.arange(len(parts)), [np.arange(len(part)) for part in parts]
    tagged: dict[str, list[int]] = {}
    for index, part in enumerate(parts):
        if part.slice_set.is_tagged:
            tagged.setdefault(part.slice_set.name, []).append(index)
    for indices in tagged.values():
        tags = pl.concat([parts[index].values.to_series() for index in indices])
        ranks = tags.rank("ordinal").to_numpy().astype(np.int64) - 1
        ends = np.cumsum([len(parts[index]) for index in indices])
        for index, of_part in zip(indices, np.split(ranks, ends[:-1]), strict=True):
            begins[index], numbers[index] = indices[0], of_part
    return begins, numbers


def result_order(parts: Sequence[Slices]) -> Codes | None:
    """Places of all slices of some parts in result order; None if they are already in it."""
    if len(parts) < 2 or not any(part.slice_set.is_tagged for part in parts):
        return None
    begins, numbers = result_places(parts)
    return np.lexsort((np.concatenate(numbers), np.repeat(begins, [len(part) for part in parts])))


def in_result_order(table: pl.DataFrame, parts: Sequence[Slices], *within: str) -> pl.DataFrame:
    """Table with slices of tags in the order of their set, within rows equal in the columns `within`."""
    order = result_order(parts)
    if order is None or table.is_empty():
        return table
    names = [(part.slice_set.name, text) for part in parts for text in part.texts()]
    ranks = pl.DataFrame(
        [(*names[place], rank) for rank, place in enumerate(order)],
        schema={"slice_set": pl.String, "slice": pl.String, "@rank": pl.Int64},
        orient="row",
    ).unique(["slice_set", "slice"], keep="first", maintain_order=True)
    tagged = [part.slice_set.name for part in parts if part.slice_set.is_tagged]
    ranks = ranks.filter(pl.col("slice_set").is_in(tagged))
    ranked = table.join(ranks, on=["slice_set", "slice"], how="left", maintain_order="left")
    run = pl.struct("slice_set", *within).rle_id().alias("@run")
    return ranked.with_columns(run).sort("@run", "@rank", maintain_order=True).drop("@run", "@rank")
