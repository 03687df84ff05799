"""Miscalibration without bins: gaps between score and label, close scores taken together by a kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from plmetrics.catalogue.bases import Norm
from plmetrics.catalogue.needs import Points
from plmetrics.catalogue.parameters import parameter
from plmetrics.catalogue.registry import register
from plmetrics.core import ops

_NARROWEST = 0.002
"""exp(distance of two scores / bandwidth) stays in the range of floats."""
_MIDDLE = 0.5


@register
@dataclass(frozen=True)
class KernelCalibrationError(Norm):
    """Length of the sum of all gaps p - y under the kernel exp(-abs(p_i - p_j) / bandwidth).

    The root of sum over i and j of w_i w_j (p_i - y_i)(p_j - y_j) exp(-abs(p_i - p_j) / bandwidth) / W^2, i = j
    included: gaps of one sign at close scores add up, those of both signs cancel, and there are no bins to choose.
    Weighted by row; in [0, 1], 0 for a perfect forecast; undefined (`no_rows`) without rows. It takes one pass over
    the sorted scores. Noise alone makes it larger than 0, so its interval is centred. Source: Kumar, Sarawagi and
    Jain (2018), whose trainable measure for the confidence of the predicted class this is, for the score of the
    positive class.

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0], "p": [0.75, 0.75]})
    >>> plm.evaluate(rows, label="y", models="p", metrics=["kernel_ce"]).metrics["value"].item()
    0.25
    """

    name = "kernel_ce"
    task = "binary"
    needs = Points("scores")
    range = (0.0, 1.0)
    direction = "lower"
    probability = True
    needs_score = True
    expressible = False
    interpretable = False
    formula = "sqrt(sum over i, j of w_i w_j (p_i - y_i)(p_j - y_j) exp(-abs(p_i - p_j) / bandwidth)) / W"
    use_when = "You ask what ece asks, and its answer should not hang on where the edges of bins fall."
    beware = (
        "It is no mean gap: noise alone gives about the root of brier / n, and wider kernels smaller values."
    )
    reference = (
        "Kumar, Sarawagi and Jain (2018), Trainable calibration measures for neural networks from kernel mean "
        "embeddings, ICML"
    )

    bandwidth: float = parameter(
        0.4,
        doc="distance of scores over which the kernel falls to 1/e",
        check=lambda value: _NARROWEST <= value < math.inf,
        domain=f"a finite number of at least {_NARROWEST}",
    )

    def gaps(self, state: Any) -> Any:
        """Share of the weight times mean gap, at each score: sum of w (p - y) there, over W."""
        mass = state.positive + state.negative
        return ops.ratio(mass * state.score - state.positive, ops.broadcast(state.weight, mass))

    def size(self, state: Any, gaps: Any) -> Any:
        """The length of the gaps: twice the pairs with a lower score, once the gaps with themselves.

        exp(-(p_i - p_j) / bandwidth) is a product of a growing and a falling exponential, so that all lower scores
        are one running total.
        """
        growing = np.exp((state.score - _MIDDLE) / self.bandwidth)
        lower = ops.cumulative(gaps * growing) / growing
        return ops.sqrt(ops.larger(ops.total(gaps * (2.0 * lower - gaps)), 0.0))
