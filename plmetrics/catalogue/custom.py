"""Metrics defined by a suite: aggregates of row expressions, and the base of all custom metrics.

Row expressions are SQL over the table's columns and the roles `score`, `label`, `weight` and `prediction` (a binary
score of at least 0.5 or the model's threshold, else the score). Rows where an expression is null have no value and do
not count; a value that is not finite makes the metric undefined.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from plmetrics.catalogue.bases import Quantile
from plmetrics.catalogue.metric import Direction, Metric, Undefined
from plmetrics.catalogue.needs import Kind, Quantiles, Sums
from plmetrics.catalogue.variation import is_lost, square, variation
from plmetrics.catalogue.variation import moment as moment_of
from plmetrics.core import ops
from plmetrics.core.rowsql import compile_row
from plmetrics.states.sums import DEFAULT_THRESHOLD, Atom, Rows, RowValue
from plmetrics.table.prediction_columns import levels_of

if TYPE_CHECKING:
    from plmetrics.core.names import SuitePath
    from plmetrics.core.rowsql.compiler import RowExpression

ROLES = ("score", "label", "weight", "prediction")
EVERYTHING = (-float("inf"), float("inf"))
_SHARE = (0.0, 1.0)


@dataclass(frozen=True)
class Custom(Metric):
    """Base of the metrics defined in a suite; `definition` is their text there, `path` its place.

    Its facts belong to the metric, not to the class: two suites may call different things by one name.
    """

    name: str  # type: ignore[misc]
    task: str  # type: ignore[misc]
    direction: Direction = "none"  # type: ignore[misc]
    path: SuitePath = field(default=(), compare=False)  # type: ignore[misc]

    use_when = "A suite defines it."
    beware = "Nobody but its author has checked it."
    formula = "as the suite defines it"
    reference = "the suite"
    proper = "no"

    def __post_init__(self) -> None:
        """Definitions are checked where a suite is read."""

    @property
    def text(self) -> str:
        return self.name

    @property
    def definition(self) -> dict[str, Any]:
        content = {"name": self.name} | self._content()
        return content if self.direction == "none" else content | {"direction": self.direction}

    def _content(self) -> dict[str, Any]:
        raise NotImplementedError


@dataclass(frozen=True)
class RowAggregate(Custom):
    """Base of the aggregates of one row expression over the rows where a condition holds."""

    needs = Sums()
    masses = ("mass",)
    aggregate: ClassVar[str]
    sql: str = ""
    where: str | None = None

    def _content(self) -> dict[str, Any]:
        return dict(self.expressions())

    def expressions(self) -> Mapping[str, str]:
        """Its row expressions by the key they stand at."""
        return {self.aggregate: self.sql} | ({} if self.where is None else {"where": self.where})

    def row_expressions(self) -> Mapping[SuitePath, str]:
        return {(*self.path, key): text for key, text in self.expressions().items()}

    def columns(self) -> tuple[str, ...]:
        names = [name for text in self.expressions().values() for name in parse_row_expression(text).columns]
        return tuple(dict.fromkeys(names))

    def undefined(self, state: Any) -> Undefined:
        """Conditions: no rows, non-finite values, or no values."""
        return [
            *super().undefined(state),
            ("not_finite", state.bad > 0),
            ("zero_denominator", state.mass == 0),
        ]

    def note(self, state: Any) -> Any:
        return "values that are not finite", state.bad

    def value_of(self, rows: Rows) -> pl.Expr:
        """The row's value as a number; null where it has none."""
        return self._only_where(rows, self._number(rows, self.sql))

    def _number(self, rows: Rows, sql: str) -> pl.Expr:
        """A row expression as a number; a condition counts 1 where it holds and 0 where not."""
        return self._compile(rows, sql).measure

    def _compile(self, rows: Rows, sql: str) -> RowExpression:
        return compile_row(sql, roles(rows, self.task), rows.column)

    def _only_where(self, rows: Rows, value: pl.Expr) -> pl.Expr:
        return value if self.where is None else pl.when(self._compile(rows, self.where).expr).then(value)

    @property
    def every_row(self) -> bool:
        """Whether it asks for nulls, so that rows with one must not be left out."""
        return isinstance(self.needs, Sums) and any(
            parse_row_expression(text).tests_null for text in self.expressions().values()
        )

    def lacks(self, parts: tuple[str, ...]) -> str | None:
        """One score a row, where expressions read it: of several classes none is, of quantiles the middle one."""
        names = {name for text in self.expressions().values() for name in compile_row(text).columns}
        if names.isdisjoint({"score", "prediction"}):
            return super().lacks(parts)
        levels = levels_of(parts)
        if levels and 0.5 not in levels:
            return "the quantile 0.5"
        return "one score a row" if self.task == "multilabel" and parts else super().lacks(parts)

    @property
    def yes_or_no(self) -> bool:
        """Whether the expression is a condition, with a share as its mean."""
        return parse_row_expression(self.sql).kind == "condition"

    def _row_counts(self) -> dict[str, Atom]:
        """Weight of the rows with a value, and the number of non-finite values."""
        return {
            "mass": Atom(
                self._key("mass"),
                lambda rows: self.value_of(rows).is_finite().fill_null(value=False),
                counts=True,
            ),
            "bad": Atom(
                self._key("bad"),
                lambda rows: (~self.value_of(rows).is_finite()).fill_null(value=False),
                counts=True,
                weighted=False,
            ),
        }

    def _total(self) -> Atom:
        def row(rows: Rows) -> pl.Expr:
            value = self.value_of(rows)
            return pl.when(value.is_finite()).then(value).otherwise(0.0)

        return Atom(self._key("sum"), row)

    def _key(self, name: str) -> str:
        return f"{name}[{self.sql}]where[{self.where or ''}]"


class CustomMean(RowAggregate):
    """Mean of a row expression: sum of w x / sum of w over the rows with a value; a share for a condition."""

    aggregate = "mean"
    mean = "mass"
    interval_form = "t"

    @property
    def kind(self) -> Kind:  # type: ignore[override]
        return "proportion" if self.yes_or_no else "other"

    @property
    def range(self) -> tuple[float, float]:  # type: ignore[override]
        return _SHARE if self.yes_or_no else EVERYTHING

    def atoms(self) -> Mapping[str, Atom]:
        return {"total": self._total(), **self._row_counts()}

    def finalise(self, state: Any) -> Any:
        return ops.ratio(state.total, state.mass)


class CustomSum(RowAggregate):
    """Sum of a row expression: sum of w x over the rows with a value; 0 where there is none."""

    aggregate = "sum"
    additive = True
    range = EVERYTHING

    def atoms(self) -> Mapping[str, Atom]:
        return {"total": self._total(), **self._row_counts()}

    def finalise(self, state: Any) -> Any:
        return state.total

    def undefined(self, state: Any) -> Undefined:
        """Conditions: no rows, or non-finite values."""
        return super().undefined(state)[:-1]


class NullShare(RowAggregate):
    """Share of the rows, in weight, where a row expression is null or NaN."""

    aggregate = "null_share"
    mean = "mass"
    kind = "proportion"
    range = _SHARE
    every_row = True

    def atoms(self) -> Mapping[str, Atom]:
        return {
            "absent": Atom(
                self._key("absent"),
                lambda rows: self._within(rows) & self._compile(rows, self.sql).is_absent,
                counts=True,
            ),
            "mass": Atom(self._key("rows"), self._within, counts=True),
        }

    def finalise(self, state: Any) -> Any:
        return ops.ratio(state.absent, state.mass)

    def undefined(self, state: Any) -> Undefined:
        """No rows where the condition holds."""
        return [*Metric.undefined(self, state), ("zero_denominator", state.mass == 0)]

    def note(self, state: Any) -> Any:  # noqa: ARG002
        return None

    def _within(self, rows: Rows) -> pl.Expr:
        if self.where is None:
            return pl.lit(value=True)
        return self._compile(rows, self.where).expr.fill_null(value=False)


class CustomDeviation(RowAggregate):
    """Standard deviation of a row expression: root of the weighted mean squared distance from the mean (ddof 0)."""

    aggregate = "std"
    range = (0.0, float("inf"))

    def centres(self) -> tuple[RowValue, ...]:
        return (self._value,)

    @property
    def _value(self) -> RowValue:
        return RowValue(self._key("value"), self.value_of)

    def atoms(self) -> Mapping[str, Atom]:
        """The first two moments around the constant."""

        def moment(power: int) -> Atom:
            def row(rows: Rows) -> pl.Expr:
                distance = rows.centred(self._value)
                return (
                    pl.when(distance.is_finite())
                    .then(square(distance) if power > 1 else distance)
                    .otherwise(0.0)
                )

            first = self._key("moment 1")
            alone = (first, first) if power > 1 else ()
            return moment_of(
                self._key(f"moment {power}"), (self._value,) * power, row, self._key("mass"), alone
            )

        return {"first": moment(1), "second": moment(2), **self._row_counts()}

    def finalise(self, state: Any) -> Any:
        """Value from additive sums."""
        return ops.sqrt(ops.ratio(variation(state.first, state.second, state.mass, state.n), state.mass))

    def undefined(self, state: Any) -> Undefined:
        """Conditions, with lost digits of the variation among them; one value, told by its mass, has none.

        Under weights a mass tells no number of values, and one among rows without a value may be `rounding`.
        """
        vague = is_lost(state, self._value.key, state.first, state.second, state.mass)
        several = (state.mass > 1) | (state.weight != state.n)
        return [*super().undefined(state), ("rounding", vague & several)]


@dataclass(frozen=True)
class CustomRatio(RowAggregate):
    """Ratio of two sums: sum of w a / sum of w b over the rows with both. `sql` is a, `divisor` is b."""

    aggregate = "ratio"
    range = EVERYTHING
    divisor: str = ""

    def _content(self) -> dict[str, Any]:
        parts = {"ratio": {"numerator": self.sql, "denominator": self.divisor}}
        return parts | ({} if self.where is None else {"where": self.where})

    def expressions(self) -> Mapping[str, str]:
        parts = {"numerator": self.sql, "denominator": self.divisor}
        return parts | ({} if self.where is None else {"where": self.where})

    def value_of(self, rows: Rows) -> pl.Expr:
        """The numerator, where there is a denominator as well."""
        divisor = self._number(rows, self.divisor)
        numerator = pl.when(divisor.is_not_null()).then(self._number(rows, self.sql))
        ratio = pl.when(divisor.is_finite() | divisor.is_null()).then(numerator).otherwise(float("nan"))
        return self._only_where(rows, ratio)

    def atoms(self) -> Mapping[str, Atom]:
        def divisor(rows: Rows) -> pl.Expr:
            return (
                pl.when(self.value_of(rows).is_finite()).then(self._number(rows, self.divisor)).otherwise(0.0)
            )

        key = f"{self._key('denominator')}[{self.divisor}]"
        return {"total": self._total(), "divisor": Atom(key, divisor), **self._row_counts()}

    def _key(self, name: str) -> str:
        return f"{super()._key(name)}over[{self.divisor}]"

    def finalise(self, state: Any) -> Any:
        return ops.ratio(state.total, state.divisor)

    def undefined(self, state: Any) -> Undefined:
        return [*super().undefined(state), ("zero_denominator", state.divisor == 0)]


@dataclass(frozen=True)
class CustomQuantile(RowAggregate, Quantile):
    """Quantile of a row expression: its weighted averaged inverted distribution function at q."""

    family = "scores"
    aggregate = "quantile"
    range = EVERYTHING
    masses = ("weight",)
    q: float = 0.5

    @property
    def needs(self) -> Quantiles:  # type: ignore[override]
        """Quantile of the expression at the share q, without values other than numbers."""
        value = RowValue(self._key("value"), lambda rows: self.value_of(rows).fill_nan(None))
        return Quantiles(self.q, by=value)

    def _content(self) -> dict[str, Any]:
        return {**super()._content(), "q": self.q}

    def undefined(self, state: Any) -> Undefined:
        return [("zero_denominator", state.weight == 0)]

    def note(self, state: Any) -> Any:  # noqa: ARG002
        return None


AGGREGATES: Mapping[str, type[RowAggregate]] = {
    kind.aggregate: kind for kind in (CustomMean, CustomSum, CustomRatio, CustomDeviation, NullShare)
}


def roles(rows: Rows, task: str) -> dict[str, pl.Expr]:
    """Roles by name, as a row expression reads them."""
    prediction = rows.called(DEFAULT_THRESHOLD).cast(pl.Float64) if task == "binary" else rows.score
    weight = rows.mass
    return dict(zip(ROLES, (rows.score, rows.label, weight, prediction), strict=True))


@lru_cache(maxsize=256)
def parse_row_expression(sql: str) -> RowExpression:
    """A row expression for a look at its columns and the kind of its value."""
    return compile_row(sql, dict.fromkeys(ROLES, pl.lit(0.0)))
