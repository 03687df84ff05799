"""Losses beyond the distance and its square, and deviances of exponential families."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import polars as pl

from plmetrics.catalogue.metric import Undefined
from plmetrics.catalogue.parameters import parameter, positive, share
from plmetrics.catalogue.registry import register
from plmetrics.catalogue.regression.errors import MeanOverRows
from plmetrics.core.names import number_text
from plmetrics.states.sums import Atom, Rows

_TERMS = 14
"""Of the series of exp: more do not show where x is below 1/2."""


@register
@dataclass(frozen=True)
class Huber(MeanOverRows):
    """Mean loss, quadratic for small errors and linear for large ones.

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


def _log_cosh(rows: Rows) -> pl.Expr:
    size = rows.error.abs()
    # ln cosh e = ln(1 + 2 sinh^2(e/2)): without it small errors would drown in ln 2.
    near = (2.0 * (pl.min_horizontal(size, 1.0) / 2.0).sinh() ** 2).log1p()
    far = size + (-2.0 * size).exp().log1p() - math.log(2.0)
    return pl.when(size < 1.0).then(near).otherwise(far)


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
    row_atom = Atom("log_cosh", _log_cosh)
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


@register
@dataclass(frozen=True)
class LinLin(MeanOverRows):
    """Mean cost of errors, linear on either side: over (p - y) above the label, under (y - p) below it.

    `over` and `under` are the costs of a unit of over- and under-prediction; the best prediction is the quantile
    under / (over + under). Weighted by row; in units of cost; 0 or more; undefined (`no_rows`) without rows. Source:
    Granger (1969).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [10.0, 10.0], "p": [8.0, 11.0]})
    >>> rows.select(LinLin(over=1.0, under=3.0).expr("y", "p")).item()
    3.5
    """

    name = "lin_lin"
    formula = "sum of w (over max(prediction - label, 0) + under max(label - prediction, 0)) / sum of w"
    use_when = (
        "Too much and too little have prices of their own, as stock that spoils and sales that are lost."
    )
    beware = "Forecasts of the mean are punished for not being the quantile under / (over + under)."
    reference = (
        "Granger (1969), Prediction with a generalized cost of error function, Operational Research Quarterly "
        "20(2)"
    )

    over: float = parameter(doc="cost of a unit of over-prediction", check=positive, domain="above 0")
    under: float = parameter(doc="cost of a unit of under-prediction", check=positive, domain="above 0")

    def _atom(self) -> Atom:
        over, under = self.over, self.under

        def row(rows: Rows) -> pl.Expr:
            return pl.when(rows.error > 0).then(over * rows.error).otherwise(-under * rows.error)

        return Atom(f"lin_lin(over={number_text(over)}, under={number_text(under)})", row)


@register
@dataclass(frozen=True)
class Linex(MeanOverRows):
    """Mean of exp(a e) - a e - 1: about linear on one side of the label, exponential on the other.

    a above 0 punishes over-prediction, below 0 under-prediction; near (a e)^2 / 2 for small errors. Weighted by row; 0
    or more; undefined (`no_rows`) without rows. Sources: Varian (1975), Zellner (1986).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [0.0, 0.0], "p": [1.0, -1.0]})
    >>> round(rows.select(Linex(a=1.0).expr("y", "p")).item(), 6)
    0.543081
    """

    name = "linex"
    interpretable = False
    formula = "sum of w (exp(a e) - a e - 1) / sum of w, e = prediction - label"
    use_when = "Errors of one sign are far worse than those of the other, and the worse the larger they are."
    beware = "A few errors far on the steep side decide it; `a` has the inverse of the label's unit."
    reference = (
        "Zellner (1986), Bayesian estimation and prediction using asymmetric loss functions, JASA 81(394); "
        "Varian (1975), A Bayesian approach to real estate assessment"
    )

    a: float = parameter(
        doc="steepness: above 0 where over-prediction is worse",
        check=lambda value: math.isfinite(value) and value != 0,
        domain="a finite number other than 0",
    )

    def _atom(self) -> Atom:
        def row(rows: Rows) -> pl.Expr:
            x = self.a * rows.error
            near = pl.lit(0.0)
            for power in range(_TERMS, 1, -1):  # x^2/2! + x^3/3! + ..., by Horner: no digit cancels
                near = (near * x + 1.0 / math.factorial(power)) if power > 2 else (near * x + 0.5) * x * x
            return pl.when(x.abs() < 0.5).then(near).otherwise(x.exp() - x - 1.0)

        return Atom(f"linex(a={number_text(self.a)})", row)


@register
@dataclass(frozen=True)
class TweedieDeviance(MeanOverRows):
    """Mean deviance of the Tweedie family, with the mean to a power as variance: 1 is Poisson's, 2 the gamma's.

    Power 1: 2 (y ln(y / p) - y + p), y ln y being 0 at 0; power 2: 2 (ln(p / y) + y / p - 1); else, with q the power,
    2 (y^(2 - q) / ((1 - q)(2 - q)) - y p^(1 - q) / (1 - q) + p^(2 - q) / (2 - q)). Weighted by row; 0 or more;
    undefined (`nonpositive_values`) where a prediction is 0 or less, or a label below 0 (from power 2 on: 0 or less),
    and the note counts such rows; `no_rows` without rows. `poisson_deviance` and `gamma_deviance` are those of power 1
    and 2. Source: Jorgensen (1997).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [0.0, 2.0], "p": [1.0, 1.0]})
    >>> round(rows.select(TweedieDeviance(power=1).expr("y", "p")).item(), 6)
    1.386294
    """

    name = "tweedie_deviance"
    presets = MappingProxyType({"poisson_deviance": {"power": 1.0}, "gamma_deviance": {"power": 2.0}})
    interpretable = False
    formula = "sum of w d(label, prediction) / sum of w, d the unit deviance of variance mean^power"
    use_when = "Labels are counts, durations or claims, whose spread grows with their mean, and predictions are means."
    beware = "Values at different powers are not comparable, and small predictions of what happens cost most."
    reference = "Jorgensen (1997), The Theory of Dispersion Models, Chapman and Hall"

    power: float = parameter(
        doc="the variance is the mean to this power",
        check=lambda power: 1 <= power <= 10,
        domain="a number from 1 to 10",
    )

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        """Deviances, and the number of rows without any."""
        word = "zero_or_less" if self.power >= 2 else "negative"
        outside = Atom(f"without_deviance|{word}", self._is_outside, counts=True, weighted=False)
        return {**super().atoms(), "without_deviance": outside}

    def undefined(self, state: Any) -> Undefined:
        """A label or a prediction is outside the family's domain."""
        return [*super().undefined(state), ("nonpositive_values", state.without_deviance > 0)]

    def note(self, state: Any) -> Any:
        """Number of such rows."""
        label = "0 or less" if self.power >= 2 else "below 0"
        return (f"rows with a prediction of 0 or less or a label {label}", state.without_deviance)

    def _is_outside(self, rows: Rows) -> pl.Expr:
        return (rows.score <= 0) | (rows.label <= 0 if self.power >= 2 else rows.label < 0)

    def _atom(self) -> Atom:
        q = self.power

        def row(rows: Rows) -> pl.Expr:
            outside = self._is_outside(rows)
            label, mean = (
                pl.when(outside).then(1.0).otherwise(number) for number in (rows.label, rows.score)
            )
            if q == 1:
                some = pl.when(label == 0).then(1.0).otherwise(label)
                return 2.0 * (label * (some / mean).log() - label + mean)
            if q == 2:
                return 2.0 * ((mean / label).log() + label / mean - 1.0)
            of_label = label.pow(2 - q) / ((1 - q) * (2 - q))
            return 2.0 * (of_label - label * mean.pow(1 - q) / (1 - q) + mean.pow(2 - q) / (2 - q))

        return Atom(f"tweedie_deviance(power={number_text(q)})", row)
