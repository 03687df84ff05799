"""A gate's rule: limits of acceptable numbers, in words and as an expression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.names import number_text

if TYPE_CHECKING:
    from plmetrics.suite.sections.gates import Gate
    from plmetrics.suite.sections.references import Band

_TOLERANCE = 1e-12
BAND_ENDS = ("band_lower", "band_upper")
"""The columns with the ends of a band, by row; infinite where it is open, null where there is none."""

RULE_LOW, RULE_HIGH = "@low", "@high"
RULE_COLUMNS = {
    RULE_LOW: pl.Float64,
    RULE_HIGH: pl.Float64,
    "@strict": pl.Boolean,
    "@by_interval": pl.Boolean,
    "@undefined": pl.String,
}
"""The columns with each row's rule: limits, infinite on a side that has none, and the verdict without a number."""

_UNDEFINED_VERDICT = {"inconclusive": "inconclusive", "fail": "fail", "skip": "skipped"}
_SUBJECT = {"difference": "difference to", "ratio": "ratio to", "relative_change": "relative change from"}
_WITHOUT_CHANGE = {"difference": 0.0, "ratio": 1.0, "relative_change": 0.0}


@dataclass(frozen=True, slots=True)
class Rule:
    """Limits on a value, or on the difference to another model; None for an open side.

    A number that misses a limit by rounding (1e-12 of the limit, of a difference also of the values) reaches it:
    0.745 - 0.75 is no less than -0.005. A `strict` limit must be surpassed, by more than that.

    `scale` is that of a difference to another model. With a `correction` the intervals are those of
    `gates.simultaneous`, and so many `consecutive` runs must fail before the gate does, by `gates.bands`. The limits
    of a `band` are those of each row, in the columns `BAND_ENDS`.
    """

    low: float | None
    high: float | None
    against: str | None = None
    by_interval: bool = False
    on_undefined: Literal["inconclusive", "fail", "skip"] = "inconclusive"
    strict: bool = False
    scale: str = "difference"
    correction: str = "none"
    consecutive: int = 1
    band: Band | None = None

    @property
    def text(self) -> str:
        """The rule in words.

        >>> Rule(low=0.75, high=None).text
        '>= 0.75'
        >>> Rule(low=-0.005, high=None, against="champion", by_interval=True).text
        'difference to champion >= -0.005 by interval'
        >>> Rule(low=None, high=0.1, by_interval=True, correction="holm", consecutive=3).text
        '<= 0.1 by interval (holm), 3 runs in a row'
        """
        in_a_row = f", {self.consecutive} runs in a row" if self.consecutive > 1 else ""
        if self.band is not None:
            return self.band.text + in_a_row
        limits = " and ".join(f"{sign} {number_text(limit)}" for sign, limit in self._limits())
        return " ".join(filter(None, (self.comparison, limits, self._evidence))) + in_a_row

    @property
    def kind(self) -> str:
        """The rule in words without its settings: limits, the earlier values of a band and numbers of runs.

        >>> Rule(low=-0.005, high=None, against="champion", by_interval=True, consecutive=3).kind
        'difference to champion >= by interval'
        """
        if self.band is not None:
            return "within"
        signs = " and ".join(sign for sign, _ in self._limits())
        return " ".join(filter(None, (self.comparison, signs, self._evidence)))

    @property
    def comparison(self) -> str:
        """What is compared with what, empty for values."""
        return f"{_SUBJECT[self.scale]} {self.against}" if self.against is not None else ""

    @property
    def _evidence(self) -> str:
        corrected = f" ({self.correction})" if self.correction != "none" else ""
        return f"by interval{corrected}" if self.by_interval else ""

    def _limits(self) -> list[tuple[str, float]]:
        equal = "" if self.strict else "="
        sides = ((">", self.low), ("<", self.high))
        return [(f"{sign}{equal}", limit) for sign, limit in sides if limit is not None]

    def limits(self) -> dict[str, float | None]:
        """Columns of the table `gates` with the limits; the ends of a band are of each row, see `BAND_ENDS`."""
        return {"at_least": self.low, "at_most": self.high}

    def verdict(self, bound: pl.Expr | None = None) -> pl.Expr:
        """pass, fail, inconclusive or skipped, from the columns observed, lower and upper.

        By interval, or within the `bound` on an error, all of it must hold to pass and none of it to fail. A null
        never passes.

        >>> found = pl.DataFrame({"observed": [0.8, 0.7, None], "lower": [0.76, 0.6, None], "upper": [0.9, 0.8, None]})
        >>> found.select(Rule(low=0.75, high=None, by_interval=True).verdict()).to_series().to_list()
        ['pass', 'inconclusive', 'inconclusive']
        """
        return verdict_by({name: pl.lit(value) for name, value in self.columns().items()}, bound)

    def columns(self) -> dict[str, float | bool | str]:
        """Columns of the rule for `verdict_by`: the limits as far out, or in, as rounding may have moved a number."""
        way = -_TOLERANCE if self.strict else _TOLERANCE
        return {
            RULE_LOW: float("-inf") if self.low is None else self.low - way * abs(self.low),
            RULE_HIGH: float("inf") if self.high is None else self.high + way * abs(self.high),
            "@strict": self.strict,
            "@by_interval": self.by_interval,
            "@undefined": _UNDEFINED_VERDICT[self.on_undefined],
        }


def limits_of_differences() -> dict[str, pl.Expr]:
    """Limits as far out, or in, as rounding of the values behind a difference, of `magnitude`, may have moved it."""
    reach = _TOLERANCE * pl.col("magnitude").fill_null(0.0)
    way = pl.when("@strict").then(-reach).otherwise(reach)
    return {RULE_LOW: pl.col(RULE_LOW) - way, RULE_HIGH: pl.col(RULE_HIGH) + way}


def band_limits() -> dict[str, pl.Expr]:
    """Limits of rows judged by the control bands in the columns `BAND_ENDS`; null for rows without a band."""
    lowest, highest = (pl.col(name) for name in BAND_ENDS)
    return {RULE_LOW: lowest - _TOLERANCE * lowest.abs(), RULE_HIGH: highest + _TOLERANCE * highest.abs()}


def verdict_by(rule: Mapping[str, pl.Expr], bound: pl.Expr | None = None) -> pl.Expr:
    """The verdict on each row by its own rule, from the columns observed, lower and upper; see `Rule.columns`.

    With a `bound` on the error of a value, all that may be true must hold to pass, and none of it to fail.
    """
    low, high, strict = rule[RULE_LOW], rule[RULE_HIGH], rule["@strict"]
    error = pl.lit(0.0) if bound is None else bound.fill_null(0.0)
    least, most = (
        pl.when(rule["@by_interval"]).then(pl.col(end)).otherwise(pl.col("observed")) + way * error
        for end, way in (("lower", -1), ("upper", 1))
    )
    holds = pl.when(strict).then((least > low) & (most < high)).otherwise((least >= low) & (most <= high))
    fails = pl.when(strict).then((most <= low) | (least >= high)).otherwise((most < low) | (least > high))
    undefined = pl.any_horizontal(
        pl.col("observed").is_null(), lacks_interval(rule["@by_interval"]), low.is_null()
    )
    return (
        pl.when(undefined)
        .then(rule["@undefined"])
        .when(holds)
        .then(pl.lit("pass"))
        .when(fails)
        .then(pl.lit("fail"))
        .otherwise(pl.lit("inconclusive"))
    )


def lacks_interval(by_interval: pl.Expr) -> pl.Expr:
    """Whether there is a number, but not the interval its rule reads."""
    ends_missing = pl.col("lower").is_null() | pl.col("upper").is_null()
    return by_interval & pl.col("observed").is_not_null() & ends_missing


def rule_of(gate: Gate) -> Rule:
    """The rule of a gate; `no_worse_than` and `better_than` follow the direction of its metric.

    Raises:
        ConfigError: the gate has no limit, or a margin stands with a metric that has no better side.
    """
    if gate.within is not None:
        return Rule(
            None, None, on_undefined=gate.on_undefined, consecutive=gate.consecutive, band=gate.within
        )
    low = gate.at_least if gate.ratio_at_least is None else gate.ratio_at_least
    high = gate.at_most
    if gate.no_worse_than is not None:
        low, high = _margin(gate, "no_worse_than", -gate.no_worse_than)
    elif gate.better_than is not None:
        low, high = _margin(gate, "better_than", gate.better_than)
    if low is None and high is None:
        msg = f"gate on {gate.subject.text} has no limit"
        raise ConfigError(Problem(msg, hint="add at_least or at_most, or against with no_worse_than"))
    return Rule(
        low,
        high,
        gate.rival if gate.opponent is None else gate.opponent.text,
        gate.using == "interval",
        gate.on_undefined,
        strict=gate.better_than is not None,
        scale=gate.scale,
        correction=gate.correction,
        consecutive=gate.consecutive,
    )


def gate_key(gate: Gate, rule: Rule) -> str:
    """Identity of a gate across runs, which no change of its settings changes: its name and its subject.

    Without a name that is its subject and the kind of its rule.
    """
    subject = gate.subject.text
    if gate.name is None:
        return f"{subject} {rule.kind}"
    return f"{gate.name}: {subject} {rule.comparison}".rstrip()


def _margin(gate: Gate, key: str, gain: float) -> tuple[float | None, float | None]:
    """The limit on a gain over the other model, as lower and upper limit on the gate's scale."""
    direction = gate.subject.direction
    if direction not in {"higher", "lower"}:
        msg = f"gate on {gate.subject.text}: {key} needs a metric of which more or less is better"
        raise ConfigError(Problem(msg, hint="limit the difference with at_least or at_most"))
    start = _WITHOUT_CHANGE[gate.scale]
    return (start + gain, None) if direction == "higher" else (None, start - gain)
