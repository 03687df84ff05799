"""Tests of whether labels are spread as forecasts say, by probability integral transform.

The transform of a row is where the forecast's distribution function is at the label: uniform between 0 and 1 for
forecasts that are right. All tests take rows as independent, and weights as numbers of rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from plmetrics.catalogue.forecast.intervals import CentralInterval, IntervalCoverage
from plmetrics.catalogue.forecast.rows import MeanOfForecasts, member_number, quantile
from plmetrics.catalogue.metric import Direction, IntervalForm, Undefined
from plmetrics.catalogue.needs import Kind
from plmetrics.catalogue.parameters import bins_parameter
from plmetrics.catalogue.registry import register
from plmetrics.catalogue.variation import variation
from plmetrics.core import ops
from plmetrics.core.special import chdtrc
from plmetrics.states.sums import Atom, Rows

_PEARSON = (
    "Pearson (1900), On the criterion that a given system of deviations ... can be reasonably supposed to have arisen "
    "from random sampling, Philosophical Magazine 50(302); Diebold, Gunther and Tay (1998), Evaluating density "
    "forecasts, International Economic Review 39(4); Hamill (2001), Interpretation of rank histograms for verifying "
    "ensemble forecasts, Monthly Weather Review 129(3)"
)
_BERKOWITZ = "Berkowitz (2001), Testing density forecasts, with applications to risk management, JBES 19(4), equation 9"
_KUPIEC = "Kupiec (1995), Techniques for verifying the accuracy of risk measurement models, Journal of Derivatives 3(2)"
_BEWARE_P = "A large value does not mean calibrated, only that these rows are too few to show the opposite."
_BEWARE = "It grows with the number of rows: a useful forecast of a large table fails it."


class _Test(MeanOfForecasts):
    """Base of statistics, without intervals."""

    kind: ClassVar[Kind] = "extreme"
    interval_form: ClassVar[IntervalForm | None] = None
    interpretable = False

    def finalise(self, state: Any) -> Any:
        return self._statistic(state)

    def _statistic(self, state: Any) -> Any:
        raise NotImplementedError


class _PValue(_Test):
    range = (0.0, 1.0)
    direction: ClassVar[Direction] = "none"
    beware = _BEWARE_P

    def finalise(self, state: Any) -> Any:
        return chdtrc(self._freedom(), self._statistic(state))

    def _freedom(self) -> float:
        raise NotImplementedError


@dataclass(frozen=True)
class _TransformBins(_Test):
    """Base of the test of the transform's bins."""

    reference = _PEARSON

    bins: int = bins_parameter(10, "number of bins of equal width", least=2)

    def levels(self) -> tuple[float, ...]:
        return tuple(number / self.bins for number in range(1, self.bins))

    def lacks(self, parts: tuple[str, ...]) -> str | None:
        """Missing quantiles at the edges of bins, or numbers of bins fit for the members; None if complete."""
        ranks = member_number(parts) + 1
        if ranks == 1 or ranks % self.bins == 0:
            return None if ranks > 1 else super().lacks(parts)
        even = ", ".join(str(bins) for bins in range(2, ranks + 1) if ranks % bins == 0)
        return f"bins that divide the {ranks} ranks among members ({even})"

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        """The rows of each bin: those above so many quantiles, or members."""

        def inside(number: int) -> Atom:
            def row(rows: Rows) -> pl.Expr:
                if member_number(rows.parts):
                    return self._of_ranks(rows, number)
                above = [(quantile(rows, level) < rows.label).cast(pl.Int32) for level in self.levels()]
                return pl.when(pl.sum_horizontal(above) == number).then(1.0).otherwise(0.0)

            return Atom(f"transform_bin|{number}|{self.bins}", row, most=1.0)

        crossing = MeanOfForecasts.atoms(self)["crossing"]
        return {"bin_mass": tuple(inside(number) for number in range(self.bins)), "crossing": crossing}

    def _of_ranks(self, rows: Rows, number: int) -> pl.Expr:
        """Part in a bin of the possible ranks of a label among members, several for ties."""
        members = [rows.part(part) for part in rows.parts]
        width = (len(members) + 1) // self.bins
        below = pl.sum_horizontal((member < rows.label).cast(pl.Float64) for member in members)
        equal = pl.sum_horizontal((member == rows.label).cast(pl.Float64) for member in members) + 1.0
        first = below.clip(lower_bound=float(number * width))
        last = (below + equal).clip(upper_bound=float((number + 1) * width))
        return (last - first).clip(lower_bound=0.0) / equal

    def _atom(self) -> Atom:
        return Atom("no_score", lambda rows: rows.label * 0.0)

    def _statistic(self, state: Any) -> Any:
        expected = ops.ratio(state.weight, self.bins)
        total = 0.0
        for number in range(self.bins):
            total = total + ops.ratio((state.bin_mass[..., number] - expected) ** 2, expected)
        return total


@register
class TransformChiSquare(_TransformBins):
    """Chi-squared statistic of labels between equally spaced quantiles: sum of (O_b - n/B)^2 / (n/B).

    O_b are the rows whose label lies above b of the quantiles 1/B, 2/B, ... and at or below the others: the bins of
    the probability integral transform. Quantiles are declared, or those of a normal distribution; of m members bins are
    of (m + 1) / B ranks of the label among them (Talagrand's rank histogram), and a row that equals some lies evenly in
    the ranks it may have, which keeps the statistic small. About B - 1 for forecasts that are right; 0 or more;
    undefined (`no_rows`) without rows; it has no interval. Sources: Pearson (1900), Hamill (2001).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [1.0, 2.0, 3.0, 9.0], "mean": [5.0] * 4, "sd": [1.0] * 4})
    >>> models = {"m": {"mean": "mean", "sd": "sd"}}
    >>> found = plm.evaluate(rows, task="quantile", label="y", models=models, metrics=["pit_chi2(bins=2)"]).metrics
    >>> found["value"].item()
    1.0
    """

    name = "pit_chi2"
    formula = "sum over bins of (rows in the bin - n / bins)^2 / (n / bins)"
    use_when = "You ask whether all of the distribution is right, not one interval alone."
    beware = _BEWARE


@register
class TransformChiSquarePValue(_TransformBins, _PValue):
    """Chance of so large a statistic `pit_chi2` or a larger one, were the forecasts right.

    From the chi-squared distribution with bins - 1 degrees of freedom. Weights count as rows, which are taken as
    independent. In [0, 1]; undefined (`no_rows`) without rows; it has no interval. Source: Pearson (1900).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [1.0, 2.0, 3.0, 9.0], "mean": [5.0] * 4, "sd": [1.0] * 4})
    >>> models = {"m": {"mean": "mean", "sd": "sd"}}
    >>> metrics = ["pit_chi2_p_value(bins=2)"]
    >>> round(plm.evaluate(rows, task="quantile", label="y", models=models, metrics=metrics).metrics["value"].item(), 6)
    0.317311
    """

    name = "pit_chi2_p_value"
    formula = "P(chi-squared with bins - 1 degrees of freedom >= pit_chi2)"
    use_when = "A report must state whether forecasts differ from what was observed."

    def _freedom(self) -> float:
        return self.bins - 1.0


class _NormalScores(_Test):
    """Base of the test of standardised errors."""

    reference = _BERKOWITZ

    def lacks(self, parts: tuple[str, ...]) -> str | None:
        """A normal distribution."""
        return None if not parts or "sd" in parts else "a mean with its sd"

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        """Sums of normal scores and their squares, and the rows without any."""
        return {"row_sum": _SCORE, "square_sum": _SCORE_SQUARE, "certain": _CERTAIN}

    def remark(self, state: object) -> None:
        """No quantile crosses."""

    def undefined(self, state: Any) -> Undefined:
        """Conditions, with a certain forecast and equal scores among them."""
        return [
            *super().undefined(state),
            ("nonpositive_values", state.certain > 0),
            ("zero_denominator", ~(self._variance(state) > 0)),
        ]

    def _variance(self, state: Any) -> Any:
        squares = variation(state.row_sum, state.square_sum, state.weight, state.n)
        return ops.ratio(squares, state.weight)

    def _statistic(self, state: Any) -> Any:
        return ops.larger(
            state.square_sum - state.weight - state.weight * ops.log(self._variance(state)), 0.0
        )


def _normal_score(rows: Rows) -> pl.Expr:
    sd = rows.part("sd")
    return pl.when(sd > 0).then((rows.label - rows.part("mean")) / sd).otherwise(0.0)


_SCORE = Atom("normal_score", _normal_score)
_SCORE_SQUARE = Atom("normal_score_squared", lambda rows: _normal_score(rows) ** 2)
_CERTAIN = Atom("certain_forecast", lambda rows: rows.part("sd") <= 0, counts=True)


@register
class Berkowitz(_NormalScores):
    """Likelihood ratio of normal forecasts: n (s^2 + m^2) - n - n ln s^2, of m and s^2 of (y - mean) / sd.

    m is the mean of these scores and s^2 their variance, which divides by n. They are standard normal if forecasts
    are right: it grows where these are biased (m), too narrow (s^2 above 1) or too wide. 0 or more; undefined
    (`no_rows`) without rows, `zero_denominator` where all scores are alike, `nonpositive_values` where a sd is 0; it
    has no interval. For normal distributions. Source: Berkowitz (2001), without the term of autocorrelation.

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [-2.0, 2.0], "mean": [0.0, 0.0], "sd": [1.0, 1.0]})
    >>> models = {"m": {"mean": "mean", "sd": "sd"}}
    >>> found = plm.evaluate(rows, task="quantile", label="y", models=models, metrics=["berkowitz"]).metrics
    >>> round(found["value"].item(), 6)
    3.227411
    """

    name = "berkowitz"
    formula = "2 (log likelihood of N(m, s^2) - log likelihood of N(0, 1)) of the scores (label - mean) / sd"
    use_when = "Forecasts are normal distributions, and bias and width are tested together with most power."
    beware = _BEWARE


@register
class BerkowitzPValue(_NormalScores, _PValue):
    """Chance of so large a statistic `berkowitz` or a larger one, were the forecasts right.

    From the chi-squared distribution with 2 degrees of freedom. Weights count as rows, which are taken as independent.
    In [0, 1]; undefined as the statistic; it has no interval. Source: Berkowitz (2001).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [-2.0, 2.0], "mean": [0.0, 0.0], "sd": [1.0, 1.0]})
    >>> models = {"m": {"mean": "mean", "sd": "sd"}}
    >>> found = plm.evaluate(rows, task="quantile", label="y", models=models, metrics=["berkowitz_p_value"]).metrics
    >>> round(found["value"].item(), 6)
    0.199148
    """

    name = "berkowitz_p_value"
    formula = "P(chi-squared with 2 degrees of freedom >= berkowitz)"
    use_when = "A report must state whether normal forecasts are right in mean and spread."

    def _freedom(self) -> float:
        return 2.0


@register
class CoveragePValue(_PValue, CentralInterval):
    """Chance of a coverage so far from the level of a central interval, by the likelihood ratio of Kupiec.

    2 (x ln(c / level) + (n - x) ln((1 - c) / (1 - level))) against the chi-squared distribution with 1 degree of
    freedom; x of n labels lie in the interval, c = x / n. Weights count as rows, which are taken as independent. In
    [0, 1]; undefined (`no_rows`) without rows; it has no interval. Source: Kupiec (1995).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [10.0, 16.0], "low": [8.0, 9.0], "high": [10.0, 15.0]})
    >>> models = {"m": {"quantiles": {0.1: "low", 0.9: "high"}}}
    >>> metrics = ["interval_coverage_p_value(level=0.8)"]
    >>> round(plm.evaluate(rows, task="quantile", label="y", models=models, metrics=metrics).metrics["value"].item(), 6)
    0.344781
    """

    name = "interval_coverage_p_value"
    formula = "P(chi-squared with 1 degree of freedom >= likelihood ratio of coverage and level)"
    use_when = "A regulator counts exceptions, as of value at risk."
    beware = "It does not see that misses come in runs: look at them by time."
    reference = _KUPIEC

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        return IntervalCoverage(level=self.level).atoms()

    def _freedom(self) -> float:
        return 1.0

    def _statistic(self, state: Any) -> Any:
        hits, misses = state.row_sum, state.weight - state.row_sum
        ratio = 2.0 * (
            _gain(hits, ops.ratio(hits, state.weight) / self.level)
            + _gain(misses, ops.ratio(misses, state.weight) / (1.0 - self.level))
        )
        return ops.larger(ratio, 0.0)


def _gain(mass: Any, ratio: Any) -> Any:
    """Mass times ln(ratio); 0 for no mass."""
    return mass * ops.log(ops.where(mass > 0, ratio, 1.0))
