"""The memory budget, and what it decides: whether ordered metrics sort the rows or count them on a grid."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from plmetrics.catalogue.metric import leaves
from plmetrics.core.errors import ConfigError, Problem
from plmetrics.suite.tasks import ROW_CURVES

if TYPE_CHECKING:
    from plmetrics.engine.request import Request
    from plmetrics.suite.model import Suite

_SHARE = 0.6
_SCORE, _LABEL, _WEIGHT, _BLOCK, _CELL = 8, 1, 8, 8, 4
_COPIES = 3.0
"""A sort and a regrouping hold a model's columns a few times over."""


def memory_budget(request: Request) -> int:
    """Bytes the run may use: what the suite says, else a share of the machine's memory."""
    if request.suite.memory is not None:
        return request.suite.memory
    return int(_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def sort_bytes(request: Request, rows: int, cubes: int) -> int:
    """About how much memory sorted rows take: all models' scores once, one model's columns a few times."""
    suite = request.suite
    beside = _LABEL + _CELL * cubes
    beside += _WEIGHT if suite.columns.weight is not None else 0
    beside += _BLOCK if suite.uncertainty is not None else 0
    orders = int(request.orders_scores or request.reads_pairs) + len(request.values)
    beside += _SCORE if request.reads_pairs else 0
    return int(rows * (len(request.models) * orders * _SCORE + beside + _COPIES * (_SCORE + beside)))


def sorts_in_memory(request: Request, rows: int, cubes: int) -> bool:
    """Whether ordered metrics are exact in this run.

    Raises:
        ConfigError: they must be, and do not fit; or they cannot be, and a metric needs it.
    """
    suite = request.suite
    needed, budget = sort_bytes(request, rows, cubes), memory_budget(request)
    fits = needed <= budget
    if suite.exact is True and not fits and (request.scores or suite.curves):
        sizes = f"about {needed / 1e9:.1f} GB for the sorted rows, the memory budget is {budget / 1e9:.1f} GB"
        msg = f"exact: true needs {sizes}"
        raise ConfigError(
            Problem(msg, ("exact",), "leave exact out for values with a bound, or raise memory")
        )
    exact = fits if suite.exact is None else suite.exact
    if not exact:
        _refuse_rows(suite)
    return exact


def _refuse_rows(suite: Suite) -> None:
    """Metrics and curves that a grid of scores cannot serve."""
    for index, curve in enumerate(suite.curves):
        if curve.curve in ROW_CURVES:
            msg = f"curve {curve.curve} needs the rows, which exact: false or the memory budget rules out"
            raise ConfigError(Problem(msg, ("curves", index), "allow exact, or raise memory"))
    for index, metric in enumerate(suite.metrics):
        for leaf in leaves(metric):
            binning = leaf.binning()
            by_quantile = binning is not None and binning.strategy == "quantile"
            if by_quantile or leaf.reads_scores or leaf.values() is not None or leaf.family == "ranks":
                msg = f"{leaf.text} needs the sorted rows, which exact: false or the memory budget rules out"
                choice = by_quantile and hasattr(leaf, "strategy")
                hint = "use strategy=uniform, or allow exact" if choice else "allow exact, or raise memory"
                raise ConfigError(Problem(msg, ("metrics", index), hint))
