"""Standard errors of metrics of sums, for independent rows: from second moments of the rows' addends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.catalogue.bases import member_of
from plmetrics.catalogue.metric import Direction, Metric, Undefined
from plmetrics.catalogue.needs import Sums
from plmetrics.catalogue.parameters import fact_of
from plmetrics.catalogue.variation import moment, square
from plmetrics.core import ops
from plmetrics.states.sums import Atom, Rows, RowValue, View, as_tuple

MOST_SUMS = 15
"""With more sums than this, besides the weight, there are too many products of two: blocks say the error then."""

_STATES = 8
_STEP = 2.0**-14
"""By what share of itself a sum is moved to see how the value moves with it."""

_CLEAR = 1e-7
"""Share of terms that cancel above which their difference is clear of rounding."""

_SAME = 1e-9
_KNOWN = "_row_error"
_EVERY = Atom("any_row", lambda rows: pl.lit(value=True), counts=True)  # noqa: ARG005
_COUNTS = {
    "weight": _EVERY,
    "positives": Atom("positive_row", lambda rows: rows.positive, counts=True, apart="label"),
    "negatives": Atom("negative_row", lambda rows: ~rows.positive, counts=True, apart="label"),
}


def row_error(metric: Metric, *, weighted: bool) -> Metric | None:
    """The metric of another's standard error where rows are independent; None where only blocks of rows say it.

    They do for totals, and for what is no smooth function of sums over rows, or reads moments around a centre or more
    than `MOST_SUMS` sums.

    >>> import plmetrics as plm
    >>> [row_error(plm.metric(name), weighted=False) is None for name in ("brier", "f1", "tp", "roc_auc")]
    [False, False, True, True]
    """
    if not isinstance(metric.needs, Sums) or metric.additive or not metric.differentiable:
        return None
    error = metric.__dict__.get(_KNOWN)
    if error is None or error.of is not metric or error.weighted != weighted:  # a copy brings that of another
        error = RowError(metric, weighted)
        metric.__dict__[_KNOWN] = error
    return error if error.applies else None


@dataclass(frozen=True, slots=True)
class _Sum:
    """Sum of a metric: its name in the state, its index among several of that name, and its summands."""

    name: str
    place: int | None
    atom: Atom

    def of(self, state: Any) -> Any:
        """The sum itself."""
        total = getattr(state, self.name)
        return total if self.place is None else total[..., self.place]

    def shift(self, state: View, step: Any) -> View:
        """The state with this sum larger by a step."""
        total = getattr(state, self.name)
        if self.place is None:
            return state.replace(self.name, total + step)
        total = np.array(total, dtype=np.float64)
        total[..., self.place] += step
        return state.replace(self.name, total)


@dataclass(frozen=True)
class RowError(Metric):
    """Standard error of a metric for independent rows: the root of n / (n - 1) sum of (w h)^2, the delta method's.

    h is what a unit of weight of a row moves the value by: the sum over the metric's sums of derivative x what the row
    adds. It adds up to 0 over all rows, for the value stays where all sums double: that gives the factor of the rows
    themselves, and distances from a centre keep their digits. Undefined where the value is, and (`rounding`) where too
    few digits are left.
    """

    of: Metric
    weighted: bool

    name = "row_error"
    task = "any"
    needs = Sums()
    range = (0.0, float("inf"))
    direction: ClassVar[Direction] = "lower"
    expressible = False
    needs_label = fact_of("of.needs_label")
    every_row = fact_of("of.every_row")

    def __post_init__(self) -> None:
        """Nothing to check: no suite names it."""

    @cached_property
    def text(self) -> str:
        return f"{self.of.text} {'weighted ' if self.weighted else ''}row error"

    @cached_property
    def applies(self) -> bool:
        """Whether derivatives, and products of two summands, give the variance of the value."""
        atoms = [part.atom for part in self._moving]
        if not atoms or any(atom.about or not atom.weighted for atom in atoms):
            return False
        if len(self._masks) - 1 + len(self._numbers) > MOST_SUMS:
            return False
        rule = self.of.chosen_threshold
        late = self.of.every_row or (rule is not None and rule.constant is None)
        return self._is_scale_free() and not (self._numbers and late)

    @cached_property
    def _moving(self) -> tuple[_Sum, ...]:
        """Sums with an effect on the value or its denominators, tried out on any state."""
        state = View(_any_state(self.of))
        sums = [_Sum(name, None, atom) for name, atom in _COUNTS.items()]
        for name, part in self.of.atoms().items():
            several = isinstance(part, tuple)
            sums += [_Sum(name, i if several else None, atom) for i, atom in enumerate(as_tuple(part))]
        value = self._numbers_of(state)
        return tuple(item for item in sums if not _close(self._numbers_of(item.shift(state, 0.01)), value))

    def _is_scale_free(self) -> bool:
        """Whether the value stays where all sums double, denominators double, and neither reads the number of rows."""
        state = _any_state(self.of)
        single = self._numbers_of(View(state))
        double = self._numbers_of(View({name: 2.0 * total for name, total in state.items()}))
        more = self._numbers_of(View(state | {"n": 3.0 * state["n"]}))
        factors = np.array([1.0, *([2.0] * (len(single) - 1))])[:, None]
        return bool(np.isfinite(single).all()) and _close(double, factors * single) and _close(more, single)

    def _numbers_of(self, state: View) -> Any:
        """The value and the denominators `[number, slice]`."""
        with np.errstate(all="ignore"):
            numbers = (self.of.finalise(state), *self.of.denominators(state))
        return np.stack(np.broadcast_arrays(*(np.asarray(part, dtype=np.float64) for part in numbers)))

    @cached_property
    def _base(self) -> _Sum:
        """Rows of the mean: of a mean over some rows these, else all."""
        member = member_of(self.of)
        return _Sum("weight", None, _EVERY) if member is None else _Sum(member[0], None, member[1])

    @property
    def _whole(self) -> bool:
        """Whether all rows take part."""
        return self._base.atom is _EVERY

    @cached_property
    def _masks(self) -> tuple[_Sum, ...]:
        """Rows of the mean, and separately counted ones."""
        base = self._base
        counts = (part for part in self._moving if part.atom.counts and part.atom.key != base.atom.key)
        return (base, *{part.atom.key: part for part in counts}.values())

    @cached_property
    def _numbers(self) -> tuple[_Sum, ...]:
        return tuple(part for part in self._moving if not part.atom.counts)

    @cached_property
    def _values(self) -> tuple[RowValue, ...]:
        return tuple(_value(part.atom, None if self._whole else self._base.atom) for part in self._numbers)

    def centres(self) -> tuple[RowValue, ...]:
        return self._values

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        return {**self.of.atoms(), **self._products}

    @cached_property
    def _products(self) -> dict[str, Atom]:
        pairs = ((i, j) for i, j in _pairs(len(self._masks)) if self._overlap(i, j))
        out = {f"@{i}&{j}": atom for i, j in pairs if (atom := self._joint(i, j)) is not None}
        for k, value in enumerate(self._values):
            mass = None if self._whole else self._base.atom.key
            out[f"@{k}"] = moment(_first(value), (value,), _distances(value), mass)
            overlapping = (j for j in range(len(self._masks)) if self._overlap(0, j))
            out |= {f"@{k}in{j}": self._within(value, j) for j in overlapping}
        for k, m in _pairs(len(self._values)):
            out[f"@{k}x{m}"] = self._cross_products(self._values[k], self._values[m])
        return out

    def _joint(self, i: int, j: int) -> Atom | None:
        """Sum of squared weights of the rows in two counts; None if it is one of the metric's own sums."""
        first, second = (self._masks[place].atom for place in (i, j))
        inside = i == j or (i == 0 and self._whole)
        if self.weighted:
            return _squared_weight(second) if inside else _squared_weight(_conjunction(first, second))
        if not inside:
            return _conjunction(first, second)
        lacking = i != j and self._masks[j].name in _COUNTS and self._numbers
        return second if lacking else None

    def _overlap(self, i: int, j: int) -> bool:
        """Whether two counts may share rows."""
        apart = self._masks[i].atom.apart
        return i == j or apart is None or apart != self._masks[j].atom.apart

    def _mass(self, j: int) -> str | None:
        """Key of the sum of factors of distances within a count; None for the weight of all rows."""
        if j == 0 and self._whole and not self.weighted:
            return None
        joint = self._joint(0, j)
        return self._masks[j].atom.key if joint is None else joint.key

    def _within(self, value: RowValue, j: int) -> Atom:
        """Distances of the rows of a count, by the weight squared."""
        if j == 0 and not self.weighted:
            return moment(_first(value), (value,), _distances(value), self._mass(0))
        mask = self._masks[j].atom

        def row(rows: Rows) -> pl.Expr:
            distance = _distances(value)(rows) * self._squaring(rows)
            return distance if j == 0 else pl.when(mask.build(rows)).then(distance).otherwise(0.0)

        return moment(f"{self._kind}{_first(value)}in[{mask.key}]", (value,), row, self._mass(j))

    def _cross_products(self, first: RowValue, second: RowValue) -> Atom:
        """Products of the distances of two numbers, by the weight squared."""

        def row(rows: Rows) -> pl.Expr:
            distance = _distances(first)(rows)
            product = square(distance) if first is second else distance * _distances(second)(rows)
            return product * self._squaring(rows)

        alone = (self._within(first, 0).key, self._within(second, 0).key)
        key = f"{self._kind}distances[{first.key}][{second.key}]"
        return moment(key, (first, second), row, self._mass(0), alone)

    @property
    def _kind(self) -> str:
        return "squared_weight_" if self.weighted else ""

    def _squaring(self, rows: Rows) -> pl.Expr:
        return rows.mass if self.weighted else pl.lit(1.0)

    def finalise(self, state: Any) -> Any:
        return ops.sqrt(self._variance(state)[0])

    def undefined(self, state: Any) -> Undefined:
        """Conditions of the metric itself, and cancellation of terms as status `rounding`."""
        variance, size = self._variance(state)
        return [*self.of.undefined(state), ("rounding", ~(variance > _CLEAR * size))]

    def denominators(self, state: Any) -> tuple[Any, ...]:
        """Effective number of rows behind each of the metric's denominators."""
        return tuple(
            ops.ratio(mass**2, self._squares(state, self._denominator(place), mass)[0])
            for place, mass in enumerate(self.of.denominators(state))
        )

    def _denominator(self, place: int) -> Callable[[Any], Any]:
        return lambda state: self.of.denominators(state)[place]

    def _variance(self, state: Any) -> tuple[Any, Any]:
        """Variance, and the size of its terms."""
        factor = ops.ratio(state.n, state.n - 1.0)
        squares, size = self._squares(state, self.of.finalise, 0.0)
        return factor * squares, factor * size

    def _squares(self, state: Any, function: Callable[[Any], Any], total: Any) -> tuple[Any, Any]:
        """Sum of squares of rows' effects on a number, and the size of its terms; `total` is the plain sum."""
        squares, size = 0.0, 0.0
        for term in self._terms(state, function, total):
            squares, size = squares + term, size + ops.absolute(term)
        return squares, size

    def _terms(self, state: Any, function: Callable[[Any], Any], total: Any) -> Iterator[Any]:
        """Products of two factors of summands, times the weight common to both."""
        numbers = [self._slope(state, function, part, number) for number, part in enumerate(self._numbers)]
        counts = [self._slope(state, function, part) for part in self._masks[1:]]
        for slope, part in zip(counts, self._masks[1:], strict=True):
            total = total - slope * part.of(state)
        for k, slope in enumerate(numbers):
            total = total - slope * getattr(state, f"@{k}")
        factors = [ops.ratio(total, self._base.of(state)), *counts]
        for i, j in _pairs(len(factors)):
            if self._overlap(i, j):
                yield _twice(i, j) * factors[i] * factors[j] * self._amount(state, i, j)
        for k, slope in enumerate(numbers):
            for j, factor in enumerate(factors):
                if self._overlap(0, j):
                    yield 2.0 * slope * factor * getattr(state, f"@{k}in{j}")
        for k, m in _pairs(len(numbers)):
            yield _twice(k, m) * numbers[k] * numbers[m] * getattr(state, f"@{k}x{m}")

    def _amount(self, state: Any, i: int, j: int) -> Any:
        if self._joint(i, j) is None:
            return self._masks[j].of(state)
        return getattr(state, f"@{i}&{j}")

    def _slope(
        self, state: Any, function: Callable[[Any], Any], part: _Sum, number: int | None = None
    ) -> Any:
        """Numerical derivative of a function of the state by a sum; 0 for an empty count."""
        total = part.of(state)
        spread = 1.0 if number is None else ops.sqrt(state.n * getattr(state, f"@{number}x{number}"))
        step = _STEP * ops.where(total == 0, ops.where(spread > 0, spread, 1.0), ops.absolute(total))
        up, down = (function(part.shift(state, side)) for side in (step, -step))
        slope = (up - down) / ((total + step) - (total - step))
        return slope if number is not None else ops.where(total == 0, 0.0, slope)


def _value(atom: Atom, member: Atom | None) -> RowValue:
    """Summand of a row; null for a row without a part."""

    def row(rows: Rows) -> pl.Expr:
        value = atom.build(rows).fill_null(0.0)
        return value if member is None else pl.when(member.build(rows)).then(value)

    return RowValue(f"row_value[{atom.key}]" + ("" if member is None else f"of[{member.key}]"), row)


def _conjunction(first: Atom, second: Atom) -> Atom:
    """The rows of two counts."""
    return Atom(f"{first.key}&{second.key}", lambda rows: first.build(rows) & second.build(rows), counts=True)


def _squared_weight(mask: Atom) -> Atom:
    def row(rows: Rows) -> pl.Expr:
        weight = rows.mass
        return weight if mask is _EVERY else pl.when(mask.build(rows)).then(weight).otherwise(0.0)

    return Atom(f"squared_weight[{mask.key}]", row)


def _distances(value: RowValue) -> Callable[[Rows], pl.Expr]:
    """Distance of each number from the centre, 0 for a row without one."""

    def row(rows: Rows) -> pl.Expr:
        distance = rows.centred(value)
        return pl.when(distance.is_finite()).then(distance).otherwise(0.0)

    return row


def _first(value: RowValue) -> str:
    return f"distance[{value.key}]"


def _pairs(size: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(size) for j in range(i, size)]


def _twice(i: int, j: int) -> float:
    return 1.0 if i == j else 2.0


def _close(first: Any, second: Any) -> bool:
    return bool(np.allclose(first, second, rtol=_SAME, atol=0.0, equal_nan=True))


def _any_state(metric: Metric) -> dict[str, NDArray[np.float64]]:
    """Random state of a metric: masses consistent with the weight, and sums of any size."""
    generator = np.random.default_rng(1)
    positives, negatives = generator.uniform(1, 2, _STATES), generator.uniform(1, 2, _STATES)
    weight = positives + negatives
    state = {"n": weight, "weight": weight, "positives": positives, "negatives": negatives}
    hits, alarms = generator.uniform(0.1, 0.9, (2, _STATES))
    counts = {"tp": hits, "fn": positives - hits, "fp": alarms, "tn": negatives - alarms}
    for name, part in metric.atoms().items():
        if name in counts:
            state[name] = counts[name]
            continue
        shape = (_STATES, len(part)) if isinstance(part, tuple) else (_STATES,)
        state[name] = generator.uniform(0.1, 0.9, shape)
    return state
