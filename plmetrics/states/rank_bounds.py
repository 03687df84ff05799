"""Rank correlations from joint counts on a grid, and bounds on their distance from those of the rows themselves.

With r and s the middle ranks of predictions and labels about their mean, r = r' + d and s = s' + e: r' and s' are those
of fine bins, whose d and e add to 0, and whose squares to at most m^3 / 12 in a bin of weight m. Then

    sum r s = sum r' s' + sum r' e + sum d s

by Cauchy and Schwarz is open in each fine bin by no more than sqrt(m^3 / 12) times the deviation of the other side.
r' = P + a, s' = Q + b with P and Q of groups: all of sum r' s' is known but sum a b, in each cell of two groups open by
the deviations of a and b there. Pairs of rows are in order where their groups differ on one side, and fine bins on the
other. Others are open, but those that tie in a bin of one number.
"""

from __future__ import annotations

import numpy as np

from plmetrics.core.ops import Array, Flags
from plmetrics.core.threads import parallel_map
from plmetrics.states.joint_counts import both_tables, groups_of
from plmetrics.states.ranks import agreement
from plmetrics.states.scores.bin_lookup import bins_of_one
from plmetrics.states.sums import View

OPEN = "_open"
"""The end of the names of how far a sum may be off."""


def grid_view(counts: Array, edges: Array, label_edges: Array, *, weighted: bool) -> View:
    """View of `ranks.rank_view` on joint counts `[slice, ...]` of `JointTally.on_grid`, and its error bound."""
    single = bins_of_one(edges), bins_of_one(label_edges)

    def of_slice(number: int) -> dict[str, float]:
        by_prediction, by_label = both_tables(counts[number], len(single[0]), len(single[1]))
        sides = (
            _Side(by_prediction, by_label.sum(axis=1), single[0], weighted=weighted),
            _Side(by_label.T, by_prediction.sum(axis=0), single[1], weighted=weighted),
        )
        return _products(*sides) | _pairs(*sides)

    of_slices = parallel_map(of_slice, range(len(counts)))
    return View({name: np.array([sums[name] for sums in of_slices]) for name in of_slices[0]})


class _Side:
    """One side of the rows of a slice; `table` is its fine bins by groups of the other side."""

    def __init__(self, table: Array, groups: Array, single: Flags, *, weighted: bool) -> None:
        self.table = table.astype(np.float64)
        self.group = groups_of(len(table))
        self.mass = self.table.sum(axis=1)
        self.total = float(self.mass.sum())
        self.open = ~single
        self.row = 0.0 if weighted else 1.0
        self.middle = np.cumsum(self.mass) - self.mass / 2.0 - self.total / 2.0
        self.center = np.cumsum(groups) - groups / 2.0 - self.total / 2.0
        self.within = self.middle - self.center[self.group]
        apart = np.maximum(self.mass**3 - self.row * self.mass, 0.0) / 12.0
        self.square_open = np.where(self.open, apart, 0.0)

    def in_cells(self, values: Array) -> Array:
        """Sums of a number of each fine bin in the cells of two groups."""
        starts = np.flatnonzero(np.diff(self.group, prepend=-1))
        return np.add.reduceat(self.table * values[:, None], starts, axis=0)

    def furthest(self, *, rows: bool) -> Array:
        """Largest distance of fine bins from the middle of their group, or of the `rows` in these."""
        reach = np.abs(self.within) + (self.open * self.mass / 2.0 if rows else 0.0)
        out = np.zeros(len(self.center))
        np.maximum.at(out, self.group[self.mass > 0], reach[self.mass > 0])
        return out

    def pairs(self, counts: Array) -> Array:
        """Upper bound of the weight of pairs within groups of rows."""
        return np.maximum(counts**2 - self.row * counts, 0.0) / 2.0


def _products(x: _Side, y: _Side) -> dict[str, float]:
    cells = x.in_cells(np.ones(len(x.mass)))
    a, b = x.in_cells(x.within), y.in_cells(y.within).T
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.where(cells > 0, a * b / cells, 0.0)
        variances = [
            np.where(cells > 0, np.maximum(square - first**2 / cells, 0.0), 0.0)
            for square, first in ((x.in_cells(x.within**2), a), (y.in_cells(y.within**2).T, b))
        ]
    product = x.center @ (y.table.T @ y.middle) + (x.within @ x.table) @ y.center + expected.sum()
    opened = (
        np.sqrt(variances[0] * variances[1]).sum()
        + _open_in_bins(x, y, rows=True)
        + _open_in_bins(y, x, rows=False)
    )
    out = {"weight": x.total, "n": x.total, "rank_product": product, f"rank_product{OPEN}": opened}
    for name, side in (("prediction", x), ("label", y)):
        least = float((side.mass * side.middle**2).sum())
        out[f"{name}_square"] = least + float(side.square_open.sum())
        out[f"{name}_square{OPEN}"] = float(side.square_open.sum())
    return {key: float(value) for key, value in out.items()}


def _open_in_bins(side: _Side, other: _Side, *, rows: bool) -> float:
    """Error bound of the products with the other side's ranks in fine bins; with `rows` for all of these."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(side.mass > 0, side.table @ other.center / side.mass, 0.0)
    spread = (side.table * (other.center[None] - mean[:, None]) ** 2).sum(axis=1)
    around = side.table @ other.furthest(rows=rows) ** 2
    return float((np.sqrt(side.square_open) * (np.sqrt(spread) + np.sqrt(around))).sum())


def _pairs(x: _Side, y: _Side) -> dict[str, float]:
    sizes = np.bincount(x.group)
    width = int(sizes[0])
    padded = np.zeros((len(sizes) * width, x.table.shape[1]))
    padded[: len(x.table)] = x.table
    concordance = agreement(y.table.T) + agreement(padded.reshape(len(sizes), width, -1)).sum()
    cells = x.in_cells(np.ones(len(x.mass)))
    tied = max(float(side.pairs(side.table[~side.open]).sum()) for side in (x, y))
    opened = max(float(x.pairs(cells).sum()) - tied, 0.0)
    out = {"concordance": float(concordance)}
    for name, side in (("prediction", x), ("label", y)):
        inside = side.table[side.open]
        opened += float((side.mass[side.open] ** 2 - (inside**2).sum(axis=1)).sum()) / 2.0
        least = (side.total**2 - float((side.mass**2).sum())) / 2.0
        untied = float(side.pairs(side.mass[side.open]).sum())
        out[f"{name}_untied"], out[f"{name}_untied{OPEN}"] = least + untied, untied
    return out | {f"concordance{OPEN}": opened}
