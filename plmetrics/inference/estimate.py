"""An estimate: one metric of one model in some slices, with all that its interval is made from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_BELOW_INTEGER = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """One metric of one model over S slices.

    `value` is NaN where undefined, and `status` then says why; it is "ok" elsewhere. `blocks` are the
    effective numbers of blocks. `replicates` `[replicate, slice]` are NaN where undefined, None without
    resampling. `sizes` are the sample sizes of the metric's denominators: rows where they are independent and
    count once (n for a proportion; positives and negatives for an ROC area), else effective blocks.
    `deviations` `[replicate, slice]`, of norm-type metrics, are the size of (replicate's vector - point's
    vector).
    """

    value: Array
    status: NDArray[np.object_]
    blocks: NDArray[np.int64]
    replicates: Array | None
    sizes: tuple[Array, ...]
    deviations: Array | None = None

    def take(self, index: NDArray[np.int64]) -> Estimate:
        """The estimate of some of the slices."""
        return Estimate(
            self.value[index],
            self.status[index],
            self.blocks[index],
            None if self.replicates is None else self.replicates[:, index],
            tuple(size[index] for size in self.sizes),
            None if self.deviations is None else self.deviations[:, index],
        )


def effective_blocks(masses: tuple[Array, ...]) -> NDArray[np.int64]:
    """How many equal blocks would spread as much: floor((sum m)^2 / sum m^2), the least over the masses.

    Each of `masses` is `[..., block]`, not negative. A mass of 0 in all blocks counts as 0 blocks.

    >>> effective_blocks((np.array([[1.0, 1.0, 1.0], [4.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),))
    array([3, 1, 0])
    """
    return reduce(np.minimum, (_equal_blocks(np.asarray(mass, dtype=np.float64)) for mass in masses))


def _equal_blocks(mass: Array) -> NDArray[np.int64]:
    largest = np.max(mass, axis=-1, initial=0.0, keepdims=True)
    share = np.divide(mass, largest, out=np.zeros_like(mass), where=largest > 0)
    squares = np.sum(share * share, axis=-1)
    number = np.divide(np.sum(share, axis=-1) ** 2, squares, out=np.zeros_like(squares), where=squares > 0)
    whole: NDArray[np.int64] = np.floor(number + _BELOW_INTEGER).astype(np.int64)
    return whole
