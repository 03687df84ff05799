"""The confusion table of several classes as a curve: for each class the shares of what its rows are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from plmetrics.states.pairs import Pairs, SlicedPairs


def confusion(pairs: SlicedPairs, classes: Sequence[str]) -> list[Mapping[str, Any]]:
    """Per slice a point for each pair of classes: `class` is the true one, `x` the number of the called one.

    `y` is the share of the true class's weight, undefined where it has none, `threshold` the weight itself and `n` the
    rows. Classes are numbered from 0 in their order, which is also the order of the points.
    """
    return [_table(part, classes) for part in pairs]


def _table(pairs: Pairs, classes: Sequence[str]) -> Mapping[str, Any]:
    number = len(classes)
    key = pairs.label.astype(np.int64) * number + pairs.score.astype(np.int64)
    rows = np.bincount(key, minlength=number**2)
    weight = np.bincount(key, weights=pairs.weight, minlength=number**2).astype(np.float64)
    truth, called = np.divmod(np.arange(number**2), number)
    total = weight.reshape(number, number).sum(axis=1)[truth]
    share = np.divide(weight, total, out=np.full(number**2, np.nan), where=total > 0)
    names = np.array(classes, dtype=object)[truth]
    return {"class": names, "x": called.astype(np.float64), "y": share, "threshold": weight, "n": rows}
