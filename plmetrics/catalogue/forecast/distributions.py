"""Scores of a whole forecast: pinball loss, weighted interval score, and the continuous ranked probability score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import polars as pl

from plmetrics.catalogue.forecast.rows import INFINITY, MeanOfForecasts, pinball
from plmetrics.catalogue.parameters import parameter, share
from plmetrics.catalogue.registry import register
from plmetrics.core.names import number_text
from plmetrics.states.sums import Atom, Rows

_ROWS_AT_ONCE = 8192


@register
@dataclass(frozen=True)
class QuantileLoss(MeanOfForecasts):
    """Mean pinball loss of one quantile of the forecast: tau (y - q) above it, (1 - tau)(q - y) below.

    Weighted by row; in the label's unit; 0 or more; undefined (`no_rows`) without rows. Source: Koenker and Bassett
    (1978).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [10.0, 10.0], "q": [8.0, 11.0]})
    >>> models = {"m": {"quantiles": {0.9: "q"}}}
    >>> found = plm.evaluate(rows, task="quantile", label="y", models=models, metrics=["quantile_loss(tau=0.9)"])
    >>> round(found.metrics["value"].item(), 6)
    0.95
    """

    name = "quantile_loss"
    proper = "strictly"
    interpretable = False
    formula = "sum of w max(tau (label - q), (1 - tau)(q - label)) / W"
    use_when = "One quantile is what is used, such as a stock level that should suffice nine times in ten."
    beware = "Values at different tau are not comparable."
    reference = "Koenker and Bassett (1978), Regression quantiles, Econometrica 46(1)"

    tau: float = parameter(doc="the level of the quantile", check=share, domain="between 0 and 1")

    def levels(self) -> tuple[float, ...]:
        """The one."""
        return (self.tau,)

    def _atom(self) -> Atom:
        return Atom(f"pinball|{number_text(self.tau)}", lambda rows: pinball(rows, self.tau))


def _mean_pinball(rows: Rows) -> pl.Expr:
    total = pl.lit(0.0)
    for level in rows.levels:
        total = total + pinball(rows, level)
    return 2.0 * total / float(len(rows.levels))


@register
class WeightedIntervalScore(MeanOfForecasts):
    """Mean over the declared quantiles of twice their pinball loss.

    With the median and K central intervals of levels 1 - a_k it equals (abs(y - m)/2 + sum of a_k/2 times the interval
    score) / (K + 1/2). Weighted by row; in the label's unit; 0 or more; undefined (`no_rows`) without rows. Forecasts
    with other levels are not comparable. Source: Bracher and others (2021).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [10.0], "low": [8.0], "mid": [9.0], "high": [13.0]})
    >>> models = {"m": {"quantiles": {0.25: "low", 0.5: "mid", 0.75: "high"}}}
    >>> found = plm.evaluate(rows, task="quantile", label="y", models=models, metrics=["wis"]).metrics
    >>> round(found["value"].item(), 6)
    1.166667
    """

    name = "wis"
    over_levels = True
    aliases = ("weighted_interval_score",)
    row_atom = Atom("weighted_interval_score", _mean_pinball)
    proper = "strictly"
    formula = "sum of w mean over levels of 2 pinball / W"
    use_when = "Forecasts are given as quantiles, and one number is wanted for all of them."
    beware = "It is in the label's unit: large series decide it. Missing levels change what it means."
    reference = (
        "Bracher, Ray, Gneiting and Reich (2021), Evaluating epidemic forecasts in an interval format, "
        "PLOS Computational Biology 17(2)"
    )

    def lacks(self, parts: tuple[str, ...]) -> str | None:
        """Quantiles."""
        return None if not parts or any(part.startswith("quantile|") for part in parts) else "quantiles"


@register
@dataclass(frozen=True)
class ContinuousRankedProbabilityScore(MeanOfForecasts):
    """Squared distance between the forecast's distribution function and that of the label, over all thresholds.

    Columns of quantiles: the mean of twice their pinball loss, an approximation (see `wis`). A normal distribution:
    sd (z (2 Phi(z) - 1) + 2 phi(z) - 1/sqrt(pi)), z = (y - mean)/sd; abs(y - mean) where sd is 0. An ensemble of m:
    (1/m) sum abs(x_i - y) - (1/(2 m^2)) sum abs(x_i - x_j); `fair` divides the second sum by 2 m (m - 1) instead, as
    suits members that are a sample of the distribution, and can fall below 0. Weighted by row; in the label's unit;
    undefined (`no_rows`) without rows. Sources: Gneiting and Raftery (2007), Ferro (2014).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [1.0], "mean": [0.0], "sd": [1.0]})
    >>> models = {"m": {"mean": "mean", "sd": "sd"}}
    >>> found = plm.evaluate(rows, task="quantile", label="y", models=models, metrics=["crps"]).metrics
    >>> round(found["value"].item(), 6)
    0.602441
    """

    name = "crps"
    over_levels = True
    proper = "strictly"
    formula = "mean of the integral of (F(x) - [x >= label])^2 dx"
    use_when = "Distributions are compared as wholes; for a point forecast it is the absolute error."
    beware = "From quantiles it is an approximation that depends on the declared levels."
    reference = "Gneiting and Raftery (2007), Strictly proper scoring rules, prediction, and estimation, JASA 102(477)"

    fair: bool = parameter(
        default=False, doc="treat members as a sample of the distribution", domain="true or false"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fair:
            object.__setattr__(self, "range", (-INFINITY, INFINITY))

    def lacks(self, parts: tuple[str, ...]) -> str | None:
        """Members, where only they make a difference."""
        return (
            "members"
            if self.fair and parts and not any(part.startswith("member|") for part in parts)
            else None
        )

    def _atom(self) -> Atom:
        return Atom(f"crps|{self.fair}", self._row)

    def _row(self, rows: Rows) -> pl.Expr:
        if rows.levels:
            return _mean_pinball(rows)
        if "sd" in rows.parts:
            return _normal(rows)
        return _ensemble(rows, fair=self.fair)


def _normal(rows: Rows) -> pl.Expr:
    error, sd = rows.label - rows.part("mean"), rows.part("sd")
    z = error / pl.when(sd > 0).then(sd).otherwise(1.0)
    density = (-0.5 * z**2).exp() / math.sqrt(2.0 * math.pi)
    closed = sd * (z * (z / math.sqrt(2.0)).erf() + 2.0 * density - 1.0 / math.sqrt(math.pi))
    return pl.when(sd > 0).then(closed).otherwise(error.abs())


def _ensemble(rows: Rows, *, fair: bool) -> pl.Expr:
    members = [rows.part(part) for part in rows.parts]
    number = len(members)
    score = partial(_ensemble_scores, pairs=number * (number - 1) if fair else number**2)
    named = (value.cast(pl.Float64).alias(str(place)) for place, value in enumerate((rows.label, *members)))
    return pl.struct(named).map_batches(score, return_dtype=pl.Float64, is_elementwise=True)


@np.errstate(invalid="ignore")
def _ensemble_scores(values: pl.Series, pairs: int) -> pl.Series:
    """The scores of labels and their members, null where one is null: a cache full of rows at a time.

    The differences of sorted members are a sum of each times its place: no pairs are made.
    """
    label, *members = (column.to_numpy() for column in values.struct.unnest().get_columns())
    number, scores = len(members), np.empty(len(label))
    buffers = np.empty((number + 1, min(_ROWS_AT_ONCE, len(label))))
    for start in range(0, len(label), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        *columns, spare = buffers[:, : len(label[part])]
        distance, spread = np.zeros_like(spare), np.zeros_like(spare)
        for column, member in zip(columns, members, strict=True):
            column[:] = member[part]
            np.subtract(column, label[part], out=spare)
            distance += np.abs(spare, out=spare)
        for low, high in _comparators(number):
            np.minimum(columns[low], columns[high], out=spare)
            np.maximum(columns[low], columns[high], out=columns[high])
            columns[low], spare = spare, columns[low]
        for place, column in enumerate(columns):
            spread += np.multiply(column, 2.0 * place - number + 1.0, out=column)
        scores[part] = distance / number - spread / pairs
    return pl.Series(scores, nan_to_null=True)


@cache
def _comparators(number: int) -> tuple[tuple[int, int], ...]:
    """Sorting network: the pairs of places to order, one after another, for so many columns at once.

    Source: Batcher (1968), Sorting networks and their applications: odd-even merge sort.

    >>> _comparators(3)
    ((0, 1), (0, 2), (1, 2))
    """
    pairs = []
    run = 1
    while run < number:
        step = run
        while step:
            pairs += [
                (low, low + step)
                for start in range(step % run, number - step, 2 * step)
                for low in range(start, min(start + step, number - step))
                if low // (2 * run) == (low + step) // (2 * run)
            ]
            step //= 2
        run *= 2
    return tuple(pairs)
