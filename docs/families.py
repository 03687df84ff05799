"""Rows a second of one processor, by family of metrics: a table of docs/scaling.md, from the constants of `explain`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from plmetrics.features.explain.work import costs

if TYPE_CHECKING:
    from collections.abc import Mapping

_COUNTS = {"cells of numbers": 2, "rows by count": 5}
_SUMS = {"cells of numbers": 5, "rows by count": 13, "rows by sum": 8}
_CELLS = {"cells of texts": 4, "rows by group": 1}
_UNITS = {"cells of numbers": 2, "rows of units": 1}
_GRID = {"cells of numbers": 5, "scores on a grid": 1}
FAMILIES: Mapping[str, tuple[str, tuple[Mapping[str, float], ...]]] = {
    "counts": ("accuracy, recall, F1 of 1 model", (_COUNTS,)),
    "sums": ("log loss, Brier and four counts of 4 models", (_SUMS,)),
    "sums by slice": ("the same in 60 cells of two texts", (_SUMS, _CELLS)),
    "sums by slice and unit": ("the same with intervals by customer", (_SUMS, _CELLS, _UNITS)),
    "exact area": (
        "`roc_auc` of 1 model in passes",
        ({"cells of numbers": 4, "rows by count": 3, "scores by points, sorted": 1, "ordered metrics": 1},),
    ),
    "area on the grid": ("`roc_auc` of 1 model with a `bound`", ({"rows by count": 3}, _GRID)),
    "area on the grid by unit": (
        "the same with intervals by customer",
        ({"rows by count": 3, "rows by group": 1, "scores on a grid, by block": 1}, _GRID, _UNITS),
    ),
    "quantiles of errors": (
        "`median_absolute_error` of 1 model",
        ({"cells of numbers": 4, "rows by sum": 1, "rows by count": 1, "values in memory, sorted": 1},),
    ),
    "ranking": (
        "NDCG, MAP, MRR of 1 model, 100 documents a query",
        ({"cells of numbers": 3, "rows of queries": 1},),
    ),
}
"""By name: what is asked, and its work a row; parts add."""


def family_table() -> str:
    """Millions of rows a second of one processor, where rows are many and what does not grow with them is little."""
    known = costs()
    lines = ["| family | of what | million rows a second of one processor |", "|---|---|---:|"]
    for name, (asked, parts) in FAMILIES.items():
        work: Counter[str] = Counter()
        for part in parts:
            work.update(part)
        seconds = sum(number * known.seconds[kind] for kind, number in work.items())
        lines.append(f"| {name} | {asked} | {1 / seconds / 1e6:.2g} |")
    told = (
        f"Measured on {known.machine}, {known.date}.\nOn {known.error['suites']} suites drawn at random the times that "
        f"`explain` tells are off by {known.error['median']:.0%} in half of them, and by at most "
        f"{known.error['nine_in_ten']:.0%} in nine of ten."
    )
    return "\n".join([*lines, "", told, ""])
