"""Metrics of the family sums: values, replicates and effective blocks of a few slices at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.exact_sums import product
from plmetrics.states.sums import View, as_tuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.weights import Nudges, ResamplingWeights

Array = NDArray[np.float64]

_WHOLE_IN_SINGLE = 1 << 24

COUNTS = ("n", "weight", "positives", "negatives")


class ModelSums:
    """The sums of one chunk of slices, seen model by model: totals, by block, and resampled.

    `blocks` holds dense `[slice, block]` arrays by column; the product with W is made once, for all. Replicates with
    one block moved are read off the blocks, a column at a time.
    """

    def __init__(self, blocks: Mapping[str, Array], weights: ResamplingWeights | None) -> None:
        self._blocks = blocks
        self._weights = weights
        self._totals: dict[str, Array] = {}
        self._resampled: dict[str, Array] = {}

    def totals(self, metric: Metric, model: str, population: str) -> View:
        """The state `[slice]`."""
        return self._view(metric, model, population, self.total)

    def by_block(self, metric: Metric, model: str, population: str) -> View:
        """The state `[slice, block]`."""
        return self._view(metric, model, population, self._blocks.__getitem__)

    def replicates(self, metric: Metric, model: str, population: str, nudges: Nudges | None = None) -> View:
        """The state `[replicate, slice]`, resampled or with one block moved."""
        if nudges is None:
            return self._view(metric, model, population, self._resample)
        return self._view(metric, model, population, lambda column: nudges.of(self._blocks[column]).T)

    def held(self, column: str) -> NDArray[np.int64]:
        """`[slice]` numbers of blocks in which a column is not 0."""
        held: NDArray[np.int64] = np.count_nonzero(self._blocks[column], axis=1)
        return held

    def total(self, column: str) -> Array:
        """`[slice]` sums of one column."""
        if column not in self._totals:
            with np.errstate(over="ignore", invalid="ignore"):
                self._totals[column] = self._blocks[column].sum(axis=1)
        return self._totals[column]

    def _resample(self, column: str) -> Array:
        if not self._resampled:
            assert self._weights is not None
            names = [name for name in self._blocks if "|differs|" not in name]
            with np.errstate(over="ignore", invalid="ignore"):
                self._resampled = _drawn(self._weights, {name: self._blocks[name] for name in names})
        return self._resampled[column]

    def _view(self, metric: Metric, model: str, population: str, read: Callable[[str], Array]) -> View:
        """The counts of the population and the metric's sums; those of several atoms have one more axis."""
        held = {name: read(f"{population}{name}") for name in COUNTS if f"{population}{name}" in self._blocks}
        for name, part in metric.atoms().items():
            columns = [read(f"{model}|{atom.key}") for atom in as_tuple(part)]
            held[name] = np.stack(columns, axis=-1) if isinstance(part, tuple) else columns[0]
        return View(held)


def _drawn(weights: ResamplingWeights, columns: Mapping[str, Array]) -> dict[str, Array]:
    """Replicates `[replicate, slice]` of columns `[slice, block]`.

    Counts take half the time: in single precision nothing of them is lost, however they are added.
    """
    counted = [name for name, column in columns.items() if _exact_in_single(column)]
    summed = [name for name in columns if name not in counted]
    out: dict[str, Array] = {}
    if counted:
        states = np.concatenate([columns[name] for name in counted]).astype(np.float32)
        resampled = np.matmul(weights.single, states.T).astype(np.float64)
        out |= zip(counted, np.split(resampled, len(counted), axis=1), strict=True)
    if summed:
        resampled = product(weights.matrix, np.concatenate([columns[name] for name in summed]).T)
        out |= zip(summed, np.split(resampled, len(summed), axis=1), strict=True)
    return out


def _exact_in_single(column: Array) -> bool:
    """Whether any sum of as many blocks as there are is a whole number that single precision holds."""
    largest = np.max(column, initial=0.0) * column.shape[1]
    if not largest < _WHOLE_IN_SINGLE or np.min(column, initial=0.0) < 0:
        return False
    return bool((column == np.rint(column)).all())
