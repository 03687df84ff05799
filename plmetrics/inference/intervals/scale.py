"""The scale on which an estimate is closest to normal: logit, log, or its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plmetrics.core import ops
from plmetrics.core.special import expit, logit

if TYPE_CHECKING:
    from collections.abc import Callable

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scale:
    """A function g with its inverse and derivative; `forward` is infinite at the ends of the range."""

    name: str
    forward: Callable[[Array], Array]
    backward: Callable[[Array], Array]
    slope: Callable[[Array], Array]


def scale_of(bounds: tuple[float, float]) -> Scale:
    """The scale for a metric's range: logit for [0, 1] and [-1, 1], log for [0, inf), else identity.

    >>> scale_of((0.0, float("inf"))).name, scale_of((float("-inf"), 1.0)).name
    ('log', 'identity')
    """
    return _BY_BOUNDS.get(bounds, IDENTITY)


def _exponential(value: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.exp(value)


IDENTITY = Scale("identity", lambda v: v, lambda g: g, np.ones_like)
_LOG = Scale("log", ops.log, _exponential, lambda v: 1 / v)
_LOGIT = Scale("logit", logit, expit, lambda v: 1 / (v * (1 - v)))
_CENTRED_LOGIT = Scale(
    "logit of (1 + v) / 2",
    lambda v: logit((1 + v) / 2),
    lambda g: 2 * expit(g) - 1,
    lambda v: 2 / ((1 + v) * (1 - v)),
)
_BY_BOUNDS = {(0.0, 1.0): _LOGIT, (-1.0, 1.0): _CENTRED_LOGIT, (0.0, float("inf")): _LOG}
