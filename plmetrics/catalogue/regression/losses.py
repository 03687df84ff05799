"""Losses that are neither the distance nor its square."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.catalogue.parameters import parameter, positive, share
from plmetrics.catalogue.registry import register
from plmetrics.catalogue.regression.rows import MeanOverRows
from plmetrics.core.names import number_text
from plmetrics.states.sums import Atom

if TYPE_CHECKING:
    from plmetrics.states.sums import Rows


@register
@dataclass(frozen=True)
class Huber(MeanOverRows):
    """Mean of a loss that is squared for small errors and linear for large ones.

    e^2 / 2 where abs(e) <= delta, else delta (abs(e) - delta / 2). Weighted by row; in the label's unit squared; 0
    or more; undefined (`no_rows`) without rows. Source: Huber (1964).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [0.0, 0.0], "p": [1.0, -3.0]})
    >>> rows.select(Huber().expr("y", "p")).item()
    1.5
    """

    name = "huber"
    interpretable = False
    formula = "sum of w (e^2 / 2 if abs(e) <= delta else delta (abs(e) - delta / 2)) / sum of w"
    use_when = "You rank models by squared errors and a few gross outliers must not decide."
    beware = "`delta` has the label's unit: after a change of unit the default means another loss."
    reference = "Huber (1964), Robust estimation of a location parameter, Ann. Math. Stat. 35(1)"

    delta: float = parameter(
        1.0, doc="size of the error from which the loss grows linearly", check=positive, domain="above 0"
    )

    def _atom(self) -> Atom:
        delta = self.delta

        def row(rows: Rows) -> pl.Expr:
            size = rows.error.abs()
            return pl.when(size <= delta).then(size * size / 2.0).otherwise(delta * (size - delta / 2.0))

        return Atom(f"huber(delta={number_text(delta)})", row)


@register
class LogCosh(MeanOverRows):
    """Mean of ln(cosh(e)): near e^2 / 2 for small errors, near abs(e) - ln 2 for large ones.

    Worked out so that neither large errors overflow nor small ones lose their digits. Weighted by row; 0 or more;
    undefined (`no_rows`) without rows. Source: Saleh and Saleh (2022).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [0.0], "p": [1e4]})
    >>> round(rows.select(LogCosh().expr("y", "p")).item(), 6)
    9999.306853
    """

    name = "log_cosh"
    interpretable = False
    formula = "sum of w ln(cosh(prediction - label)) / sum of w"
    use_when = "You want a smooth loss between the squared and the absolute one, as many training losses are."
    beware = (
        "Where it turns from squared to absolute is fixed at errors of about 1: the label's unit decides."
    )
    reference = (
        "Saleh and Saleh (2022), Statistical properties of the log-cosh loss function used in machine "
        "learning, arXiv 2208.04564"
    )

    def _atom(self) -> Atom:
        return _LOG_COSH


def _log_cosh(rows: Rows) -> pl.Expr:
    size = rows.error.abs()
    # ln cosh e = ln(1 + 2 sinh^2(e/2)): without it small errors would drown in ln 2.
    near = (2.0 * (pl.min_horizontal(size, 1.0) / 2.0).sinh() ** 2).log1p()
    far = size + (-2.0 * size).exp().log1p() - math.log(2.0)
    return pl.when(size < 1.0).then(near).otherwise(far)


_LOG_COSH = Atom("log_cosh", _log_cosh)


@register
@dataclass(frozen=True)
class QuantileLoss(MeanOverRows):
    """Mean pinball loss of the prediction as the quantile tau: tau (y - p) above it, (1 - tau)(p - y) below.

    Weighted by row; in the label's unit; 0 or more; half the mae at tau = 0.5; undefined (`no_rows`) without
    rows. Source: Koenker and Bassett (1978).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [10.0, 10.0], "p": [8.0, 11.0]})
    >>> round(rows.select(QuantileLoss(tau=0.9).expr("y", "p")).item(), 6)
    0.95
    """

    name = "quantile_loss"
    interpretable = False
    formula = "sum of w max(tau (label - prediction), (1 - tau)(prediction - label)) / sum of w"
    use_when = "The prediction is a quantile, such as a stock level that should suffice nine times in ten."
    beware = "Values at different tau are not comparable."
    reference = "Koenker and Bassett (1978), Regression quantiles, Econometrica 46(1)"

    tau: float = parameter(doc="the quantile that is predicted", check=share, domain="between 0 and 1")

    def _atom(self) -> Atom:
        tau = self.tau

        def row(rows: Rows) -> pl.Expr:
            return pl.when(rows.error > 0).then((1.0 - tau) * rows.error).otherwise(-tau * rows.error)

        return Atom(f"pinball(tau={number_text(tau)})", row)
