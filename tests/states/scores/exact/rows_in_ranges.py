"""Rows that come in ranges of scores, the values of each class by cell, as passes over files read them."""

import numpy as np

from plmetrics.states.scores.exact.class_rows import ByCell
from plmetrics.states.scores.exact.ranges import add_range


def some(values, index):
    return None if values is None else values[index]


def by_cell(score, cell, cells, weight=None):
    order = np.argsort(cell, kind="stable")
    return ByCell(score[order], np.searchsorted(cell[order], np.arange(cells + 1)), some(weight, order))


def add_in_ranges(parts, table, code, edges, cells):
    """Add the rows of a table to some parts, range by range between edges."""
    score, positive, cell, weight = table
    for low, high in zip([-np.inf, *edges], [*edges, np.inf], strict=True):
        here = (score > low) & (score <= high)
        both = (here & ~positive, here & positive)
        classes = tuple(by_cell(score[of], cell[of], cells, some(weight, of)) for of in both)
        add_range([(part, classes, code) for part in parts])


def one_by_one(function, items):
    return [function(item) for item in items]
