"""A gate's rule: which numbers are good enough, in words and as an expression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.names import number_text

if TYPE_CHECKING:
    from plmetrics.suite.sections import Gate

_TOLERANCE = 1e-12
_UNDEFINED_VERDICT = {"inconclusive": "inconclusive", "fail": "fail", "skip": "skipped"}


@dataclass(frozen=True, slots=True)
class Rule:
    """Limits on a value, or on the difference to another model; None where that side is open.

    A number that misses a limit by rounding (1e-12 of the limit) reaches it: 0.745 - 0.75 is no less than
    -0.005.
    """

    low: float | None
    high: float | None
    against: str | None = None
    by_interval: bool = False
    on_undefined: Literal["inconclusive", "fail", "skip"] = "inconclusive"

    @property
    def text(self) -> str:
        """The rule in words.

        >>> Rule(low=0.75, high=None).text
        '>= 0.75'
        >>> Rule(low=-0.005, high=None, against="champion", by_interval=True).text
        'difference to champion >= -0.005 by interval'
        """
        limits = [
            f"{sign} {number_text(limit)}"
            for sign, limit in ((">=", self.low), ("<=", self.high))
            if limit is not None
        ]
        subject = f"difference to {self.against} " if self.against is not None else ""
        return subject + " and ".join(limits) + (" by interval" if self.by_interval else "")

    def verdict(self) -> pl.Expr:
        """pass, fail, inconclusive or skipped, from the columns observed, lower and upper.

        By interval, all of it must hold to pass and none of it to fail. A null never passes.

        >>> found = pl.DataFrame({"observed": [0.8, 0.7, None], "lower": [0.76, 0.6, None], "upper": [0.9, 0.8, None]})
        >>> found.select(Rule(low=0.75, high=None, by_interval=True).verdict()).to_series().to_list()
        ['pass', 'inconclusive', 'inconclusive']
        """
        least, most = ("lower", "upper") if self.by_interval else ("observed", "observed")
        low = float("-inf") if self.low is None else self.low - _TOLERANCE * abs(self.low)
        high = float("inf") if self.high is None else self.high + _TOLERANCE * abs(self.high)
        return (
            pl.when(self.undefined())
            .then(pl.lit(_UNDEFINED_VERDICT[self.on_undefined]))
            .when((pl.col(least) >= low) & (pl.col(most) <= high))
            .then(pl.lit("pass"))
            .when((pl.col(most) < low) | (pl.col(least) > high))
            .then(pl.lit("fail"))
            .otherwise(pl.lit("inconclusive"))
        )

    def undefined(self) -> pl.Expr:
        """Whether what the rule looks at is missing."""
        return pl.any_horizontal(pl.col("observed").is_null(), self.lacks_interval())

    def lacks_interval(self) -> pl.Expr:
        """Whether there is a number, but not the interval by which the rule judges it."""
        if not self.by_interval:
            return pl.lit(value=False)
        ends_missing = pl.col("lower").is_null() | pl.col("upper").is_null()
        return pl.col("observed").is_not_null() & ends_missing


def rule_of(gate: Gate) -> Rule:
    """The rule of a gate; `no_worse_than` follows the direction of its metric.

    Raises:
        ConfigError: the gate has no limit, or `no_worse_than` stands with a metric that has no better side.
    """
    low = gate.at_least if gate.ratio_at_least is None else gate.ratio_at_least
    high = gate.at_most
    if gate.no_worse_than is not None:
        direction = gate.subject.direction
        if direction not in {"higher", "lower"}:
            msg = f"gate on {gate.subject.text}: no_worse_than needs a metric of which more or less is better"
            raise ConfigError(Problem(msg, hint="limit the difference with at_least or at_most"))
        if direction == "higher":
            low = -gate.no_worse_than
        else:
            high = gate.no_worse_than
    if low is None and high is None:
        msg = f"gate on {gate.subject.text} has no limit"
        raise ConfigError(Problem(msg, hint="add at_least or at_most, or against with no_worse_than"))
    return Rule(low, high, gate.against, gate.using == "interval", gate.on_undefined)
