"""Results of tests: of one comparison for whoever calls it, of many at once for the tables; and rows in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import isfinite
from operator import eq
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.errors import ConfigError
from plmetrics.core.ops import Array, Codes, Flags, Texts
from plmetrics.states.scores.exact.sorting import ascending_order

OK = "ok"
TOO_FEW = "too_few_units"
NO_VARIANCE = "zero_variance"

ROUNDING_OF_VALUES = 1e-12
"""Of the values of two models: differences of no larger size are 0."""

_BITS = 33
"""Of the 53 of a number."""


@dataclass(frozen=True, slots=True)
class TestResult:
    """The outcome of one test.

    What a test does not have, or cannot say of these values, is None; `status` is "ok" exactly where there is a
    p value, for a test that has one, else it is the reason. `estimate` is what `lower` and `upper` hold, `df` the
    degrees of freedom (a pair for an F), `n` how many values, pairs or counts stand behind it.
    """

    __test__: ClassVar[bool] = False

    test: str
    statistic: float | None = None
    p_value: float | None = None
    estimate: float | None = None
    lower: float | None = None
    upper: float | None = None
    df: float | tuple[float, float] | None = None
    n: int = 0
    status: str = OK
    note: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TestOutcomes:
    """Outcomes of one test in S places at once; an absent number is NaN, with the reason in `status`."""

    __test__: ClassVar[bool] = False

    statistic: Array
    p_value: Array
    n: Codes
    status: Texts
    estimate: Array | None = None
    lower: Array | None = None
    upper: Array | None = None
    std_error: Array | None = None
    df: Array | None = None
    note: Texts | None = None

    @classmethod
    def around(
        cls,
        estimate: Array,
        half: Any,
        error: Any,
        statistic: Any,
        p_value: Any,
        n: Codes,
        status: Texts,
        *,
        usable: Flags,
        same: Flags,
        df: Array | None = None,
    ) -> TestOutcomes:
        """Outcomes of usable places with intervals of a half width; where both sides are the `same`, they have none."""

        def of_usable(values: Any, sure: float) -> Array:
            return np.where(same, sure, where(usable, values))

        half = of_usable(half, 0.0)
        ends = estimate - half, estimate + half
        p = of_usable(p_value, 1.0)
        return cls(of_usable(statistic, 0.0), p, n, status, estimate, *ends, of_usable(error, 0.0), df)

    @classmethod
    def concat(cls, parts: Sequence[TestOutcomes]) -> TestOutcomes:
        """Outcomes of several tests, end to end; what some do not have is absent in their places."""
        values = {}
        for name in (column.name for column in fields(cls)):
            absent = None if name == "note" else np.nan
            columns = ((part, getattr(part, name)) for part in parts)
            values[name] = np.concatenate(
                [np.full(len(part.n), absent) if column is None else column for part, column in columns]
            )
        return cls(**values)

    def only(self, test: str, note: str | None = None) -> TestResult:
        """The first outcome by itself."""
        names = ("statistic", "p_value", "estimate", "lower", "upper", "df")
        columns: dict[str, Any] = {name: getattr(self, name) for name in names}
        values = {name: None if part is None else optional_number(part[0]) for name, part in columns.items()}
        if note is None and self.note is not None:
            note = self.note[0]
        return TestResult(test, **values, n=int(self.n[0]), status=str(self.status[0]), note=note)


def optional_number(value: Any) -> float | None:
    """A number, None where there is none."""
    number = float(value)
    return number if isfinite(number) else None


def statuses(n: Any, *reasons: tuple[str, Any]) -> Texts:
    """First applicable reason in each place, "ok" without one."""
    status = np.full(np.shape(n), OK, dtype=object)
    for name, condition in reversed(reasons):
        status[np.broadcast_to(condition, status.shape)] = name
    return status


def where(condition: Any, values: Any) -> Array:
    """The values where the condition holds, else NaN."""
    return np.where(condition, values, np.nan)


def numbers(values: Any, name: str) -> Array:
    """One column of finite numbers from a list, array or Series.

    Raises:
        ConfigError: it has another shape, is not numeric, or holds a null, NaN or infinity.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"{name} must be numbers"
        raise ConfigError(msg) from error
    if array.ndim != 1:
        msg = f"{name} must be one column of numbers, not an array of {array.ndim} dimensions"
        raise ConfigError(msg)
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        msg = f"{name} must be finite: {len(bad):,} values are null, NaN or infinite, the first at {bad[0]:,}"
        raise ConfigError(msg)
    return array


def labels(values: Any, name: str) -> NDArray[Any]:
    """One column of classes or names of units, of any type, from a list, array or Series.

    Raises:
        ConfigError: it has another shape, or holds a null.
    """
    array = np.asarray(values)
    if array.ndim != 1:
        msg = f"{name} must be one column, not an array of {array.ndim} dimensions"
        raise ConfigError(msg)
    mixed = array.dtype == object
    absent = [_is_absent(value) for value in array] if mixed else np.not_equal(array, array)
    bad = np.flatnonzero(absent)
    if len(bad):
        msg = f"{name} must have a value in each row: {len(bad):,} are null or NaN, the first at {bad[0]:,}"
        raise ConfigError(msg)
    plain = np.array(array.tolist()) if mixed else array
    return plain if plain.ndim == 1 else array


def _is_absent(value: Any) -> bool:
    """Whether a value is None, or unequal to itself: NaN, or NaT and NA of pandas."""
    return value is None or (not isinstance(value, np.ndarray) and eq(value, value) not in {True})


def as_pair(model: Any, baseline: Any) -> tuple[Array, Array]:
    """Two columns of the same length."""
    first, second = numbers(model, "model"), numbers(baseline, "baseline")
    same_length(("model", first), ("baseline", second))
    return first, second


def same_length(*columns: tuple[str, Sequence[Any] | NDArray[Any]]) -> None:
    """Refuse columns of unequal length.

    Raises:
        ConfigError: their lengths differ.
    """
    if len({len(column) for _, column in columns}) > 1:
        lengths = ", ".join(f"{name} {len(column):,}" for name, column in columns)
        msg = f"a paired test needs the same rows of each: {lengths}"
        raise ConfigError(msg)


def level_of(level: float) -> float:
    """A level of confidence."""
    return inside(level, "level")


def inside(value: float, name: str) -> float:
    """A number strictly between 0 and 1.

    Raises:
        ConfigError: it is not.
    """
    if not 0 < value < 1:
        msg = f"{name} must be above 0 and below 1, not {value!r}"
        raise ConfigError(msg)
    return value


def positive(value: float, name: str) -> float:
    """A finite number above 0."""
    if not (isfinite(value) and value > 0):
        msg = f"{name} must be a finite number above 0, not {value!r}"
        raise ConfigError(msg)
    return value


def check_minimum(value: int, name: str, least: int) -> None:
    """Refuse a number that is too small."""
    if value < least:
        msg = f"{name} must be at least {least}, not {value!r}"
        raise ConfigError(msg)


def one_of(value: str, name: str, *options: str) -> str:
    """A word from a list.

    Raises:
        ConfigError: it is another.
    """
    if value not in options:
        msg = f"{name} must be one of {', '.join(options)}, not {value!r}"
        raise ConfigError(msg)
    return value


def order_within(values: Array, code: Codes | None = None) -> Codes:
    """The places of rows ascending by value, within slices where `code` numbers them.

    >>> order_within(np.array([3.0, 1.0, 2.0, 0.0]), np.array([0, 0, 1, 1])).tolist()
    [1, 0, 3, 2]
    """
    order = ascending_order(np.asarray(values, dtype=np.float64))
    if code is None or len(order) == 0:
        return order
    codes = code[order]
    # a stable sort of 16 bits counts instead of comparing
    narrow = codes.astype(np.uint16) if int(code.max()) < 1 << 16 else codes
    return order[np.argsort(narrow, kind="stable")]


def run_starts(*ordered: NDArray[np.generic]) -> Codes:
    """Starts of runs of equal values in columns sorted together.

    >>> run_starts(np.array([1.0, 1.0, 2.0, 2.0]), np.array([0, 0, 0, 1])).tolist()
    [0, 2, 3]
    """
    if len(ordered[0]) == 0:
        return np.zeros(0, dtype=np.int64)
    changes = ordered[0][1:] != ordered[0][:-1]
    for column in ordered[1:]:
        changes |= column[1:] != column[:-1]
    return np.concatenate(([0], np.flatnonzero(changes) + 1))


def round_digits(values: Array) -> Array:
    """Values rounded to about ten digits: equal for numbers apart by rounding alone.

    >>> round_digits(np.array([0.3 - 0.2, 0.4 - 0.3])).tolist() == round_digits(np.array([0.1, 0.1])).tolist()
    True
    """
    mantissa, exponent = np.frexp(values)
    nearest: Array = np.ldexp(np.rint(np.ldexp(mantissa, _BITS)), exponent - _BITS)
    return nearest
