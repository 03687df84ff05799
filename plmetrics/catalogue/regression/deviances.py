"""Deviances of exponential families: errors of counts, amounts and claims, weighed by the variance expected there."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.catalogue.parameters import parameter
from plmetrics.catalogue.registry import register
from plmetrics.catalogue.regression.rows import MeanOverRows
from plmetrics.core.names import number_text
from plmetrics.states.sums import Atom

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.catalogue.metric import Undefined
    from plmetrics.states.sums import Rows


@register
@dataclass(frozen=True)
class TweedieDeviance(MeanOverRows):
    """Mean deviance of the Tweedie family whose variance is the mean to a power: 1 is Poisson's, 2 the gamma's.

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
        """Deviances, and how many rows have none."""
        word = "zero_or_less" if self.power >= 2 else "negative"
        outside = Atom(f"without_deviance|{word}", self._is_outside, counts=True, weighted=False)
        return {**super().atoms(), "without_deviance": outside}

    def undefined(self, state: Any) -> Undefined:
        """A label or a prediction is outside the family's domain."""
        return [*super().undefined(state), ("nonpositive_values", state.without_deviance > 0)]

    def note(self, state: Any) -> Any:
        """How many rows are."""
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
