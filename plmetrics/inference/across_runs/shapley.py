"""Shapley values: what each of several parts does to a change, whatever the order in which they change.

A coalition is a set of parts that have changed while the others have not, and its worth v a number. The Shapley value
of a part is the mean, over all orders in which parts change one after another, of v after it has changed - v before.
Values add up to v(all) - v(none).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.hashing import ORDER_SALT, mix, mix_int

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

Array = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Coalitions:
    """Coalitions `[coalition, part]`, from none to all, and the steps from one to the next that a part makes.

    `before` and `after` are the places of the coalitions that a step leads from and to, `share` in how large a share of
    orders it is made: `[part, step]`. Steps of `sampled` orders go by order, each next to its reverse.
    """

    members: NDArray[np.bool_]
    before: Places
    after: Places
    share: Array
    sampled: bool

    @classmethod
    def every(cls, parts: int) -> Self:
        """All coalitions.

        >>> Coalitions.every(2).members.astype(int).tolist()
        [[0, 0], [1, 0], [0, 1], [1, 1]]
        """
        members = (np.arange(1 << parts)[:, None] >> np.arange(parts)) & 1 == 1
        before = np.stack([np.flatnonzero(~members[:, part]) for part in range(parts)])
        of_size = np.array(
            [factorial(size) * factorial(parts - size - 1) / factorial(parts) for size in range(parts)]
        )
        share = of_size[members.sum(axis=1)[before]]
        return cls(members, before, before + (1 << np.arange(parts))[:, None], share, sampled=False)

    @classmethod
    def along_orders(cls, parts: int, pairs: int, seed: int) -> Self:
        """Those along random orders, each with its reverse.

        Of any two parts each comes first in one of the two: what pairs of parts do to each other is shared out exactly.
        """
        draws = np.arange(pairs * parts, dtype=np.uint64) + np.uint64(mix_int(seed ^ ORDER_SALT))
        orders = np.argsort(mix(draws).reshape(pairs, parts), axis=1, kind="stable")
        orders = np.stack([orders, orders[:, ::-1]], axis=1).reshape(-1, parts)
        place = np.argsort(orders, axis=1)
        members = place[:, None, :] < np.arange(parts + 1)[None, :, None]
        before = (place + np.arange(len(orders))[:, None] * (parts + 1)).T
        share = np.full(before.shape, 1.0 / len(orders))
        return cls(members.reshape(-1, parts), before, before + 1, share, sampled=True)

    def mean(self, terms: Sequence[Array]) -> Array:
        """The mean over orders of what is added up at each step `[..., part, step]`.

        >>> every, worth = Coalitions.every(2), np.array([0.0, 1.0, 2.0, 5.0])
        >>> every.mean([worth[every.after], -worth[every.before]]).tolist()
        [2.0, 3.0]
        """
        total: Array = (self.share * np.sum(terms, axis=0)).sum(axis=-1)
        return total

    def error(self, terms: Sequence[Array]) -> Array | None:
        """The standard error of `mean` that comes of the draw of orders; None where every coalition is there."""
        if not self.sampled:
            return None
        steps = np.sum(terms, axis=0)
        pairs = steps.reshape(len(steps), -1, 2).mean(axis=2)
        error: Array = pairs.std(axis=1, ddof=1) / np.sqrt(pairs.shape[1])
        return error
