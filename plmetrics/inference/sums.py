"""Metrics of the family sums: values, replicates and effective blocks of a few slices at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.core.exact_sums import product
from plmetrics.core.hashing import mix
from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.inference.estimate import equal_blocks, fingerprint
from plmetrics.inference.weights import Nudges, ResamplingWeights, exact_in_single
from plmetrics.states.moments import centre_name
from plmetrics.states.sums import View, as_tuple, sum_column

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric

_FACTORS = np.uint64(1 << 20)
"""Of whole numbers with a sum below 2^24: sums with such factors are exact in double precision."""

_WRAP = 1 << 64

COUNTS = ("n", "weight", "positives", "negatives")


def _unread(name: str) -> bool:
    """Whether no metric reads a column: one of the checks of rows, or of a feature."""
    return name in {"bad", "rows"} or name.startswith("@")


class ModelSums:
    """The sums of one chunk of slices, seen model by model: totals, by block, and resampled.

    `blocks` holds dense `[slice, block]` arrays by column; the product with W is made once, for all. Replicates with
    one block moved are read off the blocks, a column at a time. `centres` `[slice]` are those that moments are about,
    `replicates` `[replicate, slice]` of columns that do not follow from the blocks.
    """

    def __init__(
        self,
        blocks: Mapping[str, Array],
        weights: ResamplingWeights | None,
        centres: Mapping[str, Array] | None = None,
        replicates: Mapping[str, Array] | None = None,
    ) -> None:
        self._blocks = blocks
        self._replicates = {} if replicates is None else replicates
        self._centres = {} if centres is None else centres
        self._columns = {id(column) for column in blocks.values()}
        self._weights = weights
        self._totals: dict[str, Array] = {}
        self._resampled: dict[str, Array] = {}
        self._found: dict[tuple[str, int], Array] = {}
        self._lock = Lock()

    def totals(self, metric: Metric, model: str, population: str) -> View:
        """The state `[slice]`, with the centres of its moments by key of the value."""
        centre_names = {value.key: sum_column(model, value.key, population) for value in metric.centres()}
        centres = {
            centre_name(key): self._centres[name]
            for key, name in centre_names.items()
            if name in self._centres
        }
        return self._view(metric, model, population, self.total, **centres)

    def by_block(self, metric: Metric, model: str, population: str) -> View:
        """The state `[slice, block]`."""
        return self._view(metric, model, population, self._blocks.__getitem__)

    def replicates(self, metric: Metric, model: str, population: str, nudges: Nudges | None = None) -> View:
        """The state `[replicate, slice]`, resampled or with one block moved."""
        if nudges is None:
            return self._view(metric, model, population, self._resample)
        return self._view(metric, model, population, lambda column: nudges.of(self._blocks[column]).T)

    def equal_blocks(self, masses: tuple[Array, ...]) -> tuple[Array, ...]:
        """`[slice]` effective numbers of blocks of each mass `[slice, block]`; those of a column are found once."""
        return tuple(self._of_blocks(equal_blocks, np.asarray(mass)) for mass in masses)

    def fingerprints(self, masses: tuple[Array, ...]) -> tuple[Array, ...]:
        """`[slice]` fingerprints of each mass `[slice, block]`; those of a column are found once."""
        return tuple(self._of_blocks(fingerprint, np.asarray(mass)) for mass in masses)

    def _of_blocks(self, function: Callable[[Array], Array], mass: Array) -> Array:
        if id(mass) not in self._columns:
            return function(mass)
        key = function.__name__, id(mass)
        if key not in self._found:
            self._found[key] = function(mass)
        return self._found[key]

    def occupied_blocks(self, column: str) -> Codes:
        """Numbers `[slice]` of blocks with a nonzero entry of a column."""
        numbers: Codes = np.count_nonzero(self._blocks[column], axis=1)
        return numbers

    def presence(self, column: str, index: Codes) -> Flags:
        """Mask `[slice, block]` of nonzero entries of a column in some slices."""
        mask: Flags = self._blocks[column][index] != 0
        return mask

    def total(self, column: str) -> Array:
        """`[slice]` sums of one column."""
        if column not in self._totals:
            with np.errstate(over="ignore", invalid="ignore"):
                self._totals[column] = self._blocks[column].sum(axis=1)
        return self._totals[column]

    def draw(self) -> None:
        """Resample now, while all processors are free for one product."""
        with self._lock:
            if not self._resampled and self._weights is not None:
                names = [name for name in self._blocks if "|differs|" not in name and not _unread(name)]
                with np.errstate(over="ignore", invalid="ignore"):
                    self._resampled = _replicate_columns(
                        self._weights, {name: self._blocks[name] for name in names}
                    )

    def _resample(self, column: str) -> Array:
        if column in self._replicates:
            return self._replicates[column]
        self.draw()
        return self._resampled[column]

    def _view(
        self, metric: Metric, model: str, population: str, reader: Callable[[str], Array], **further: Any
    ) -> View:
        """The counts of the population and the metric's sums; those of several atoms have one more axis."""
        view: dict[str, Any] = dict(further)
        view |= {
            name: reader(f"{population}{name}") for name in COUNTS if f"{population}{name}" in self._blocks
        }
        for name, part in metric.atoms().items():
            columns = [reader(sum_column(model, atom.key, population)) for atom in as_tuple(part)]
            view[name] = np.stack(columns, axis=-1) if isinstance(part, tuple) else columns[0]
        return View(view)


def _replicate_columns(weights: ResamplingWeights, columns: Mapping[str, Array]) -> dict[str, Array]:
    """Replicates `[replicate, slice]` of columns `[slice, block]`, those of a slice side by side in memory.

    Counts take half the time: in single precision nothing of them is lost, however they are added. Nothing is
    multiplied of what follows from others.
    """
    counted = {name: column for name, column in columns.items() if exact_in_single(column)}
    follows = following(counted)
    direct = [name for name in counted if name not in follows]
    summed = [name for name in columns if name not in counted]
    out: dict[str, Array] = {}
    if direct:
        states = np.concatenate([columns[name] for name in direct], dtype=np.float32)
        resampled = np.empty((len(states), len(weights.counts)))
        for replicate_part, weights_part in weights.parts(np.float32):
            resampled[:, replicate_part] = np.matmul(states, weights_part.T)
        out |= zip(direct, (part.T for part in np.split(resampled, len(direct))), strict=True)
    for name, (total, other) in follows.items():
        out[name] = _remainder(out, total, other)
    if summed:
        states = np.concatenate([columns[name] for name in summed])
        resampled = np.empty((len(states), len(weights.counts)))
        for replicate_part, weights_part in weights.parts(np.float64):
            room = resampled[:, replicate_part].T
            result = product(weights_part, states.T, room)
            if result is not room:
                room[...] = result
        out |= zip(summed, (part.T for part in np.split(resampled, len(summed))), strict=True)
    return out


def following(columns: Mapping[str, Array]) -> dict[str, tuple[str, str | None]]:
    """Columns of whole numbers `[slice, block]` equal to one before, or to a difference of two.

    Two are found alike by a sum of all entries with odd factors, modulo 2^64, and then looked at. What others are
    taken from is a number of all rows of a kind.

    >>> n, positives = np.array([[3.0, 5.0]]), np.array([[1.0, 5.0]])
    >>> following({"n": n, "positives": positives, "weight": n, "negatives": n - positives})
    {'weight': ('n', None), 'negatives': ('n', 'positives')}
    """
    out: dict[str, tuple[str, str | None]] = {}
    by_key: dict[int, str] = {}
    wholes: dict[str, int] = {}
    for name, column in columns.items():
        sign = _sign(column)
        pairs = [(total, by_key.get((key - sign) % _WRAP)) for total, key in wholes.items()]
        for total, other in [
            (by_key.get(sign), None),
            *((first, two) for first, two in pairs if two is not None),
        ]:
            if total is not None and np.array_equal(column, _remainder(columns, total, other)):
                out[name] = total, other
                break
        by_key.setdefault(sign, name)
        if name.rpartition("|")[2] in COUNTS:
            wholes[name] = sign
    return out


def _remainder(columns: Mapping[str, Array], total: str, other: str | None) -> Array:
    return columns[total] if other is None else columns[total] - columns[other]


def _sign(column: Array) -> int:
    """Additive fingerprint of a column modulo 2^64, equal for equal columns."""
    slices, blocks = column.shape
    by_slice = column @ (mix(np.arange(1, blocks + 1, dtype=np.uint64)) % _FACTORS).astype(np.float64)
    odd = mix(np.arange(1, slices + 1, dtype=np.uint64)) | np.uint64(1)
    return int((by_slice.astype(np.uint64) * odd).sum())
