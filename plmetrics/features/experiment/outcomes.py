"""Outcomes of an experiment: means, ratios of sums, and pre-experiment covariates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from plmetrics.core.errors import Collected, ConfigError, DataError, Problem
from plmetrics.core.names import did_you_mean
from plmetrics.table.prediction_columns import require

Pair = str | Sequence[str]

VALUE, SIZE, COVARIATE, COVARIATE_SIZE = "value", "size", "covariate", "covariate_size"
"""Numbers of a row: what is averaged over which sizes (1, if there are none), and the same of the covariate."""
SIZES = {VALUE: SIZE, COVARIATE: COVARIATE_SIZE}


@dataclass(frozen=True, slots=True)
class ArmOutcome:
    """Outcome by its name: the mean of `value` over rows, or its sum over that of `size`.

    `covariate` is a column, or those of a ratio, that the mean is adjusted by. With `quantile` it is that of `value`.
    """

    name: str
    value: str
    size: str | None = None
    covariate: tuple[str, ...] = ()
    quantile: float | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is the mean of a column, as it is."""
        return self.size is None and not self.covariate and self.quantile is None

    def columns(self) -> dict[str, tuple[str, str]]:
        """The column behind each number of a row, and its role."""
        columns = {VALUE: (self.value, "outcome")}
        if self.size is not None:
            columns[SIZE] = (self.size, "denominator")
        for part, column in zip((COVARIATE, COVARIATE_SIZE), self.covariate, strict=False):
            columns[part] = (column, "covariate")
        return columns


def part_column(part: str, index: int) -> str:
    """The name of a number of a row, of an outcome by its place.

    >>> part_column("value", 2)
    '@value|2'
    """
    return f"@{part}|{index}"


def outcome_columns(schema: pl.Schema, outcomes: Sequence[ArmOutcome]) -> dict[str, pl.Expr]:
    """Numbers of a row for outcomes.

    Raises:
        DataError: a column is absent, or holds neither numbers nor booleans.
    """
    columns = {}
    for index, outcome in enumerate(outcomes):
        for part, (column, role) in outcome.columns().items():
            _require_numbers(schema, column, role, (role,))
            columns[part_column(part, index)] = pl.col(column).cast(pl.Float64)
    return columns


def check_columns(
    outcomes: Sequence[ArmOutcome], strata: Sequence[str], schema: pl.Schema, *, known: Sequence[str]
) -> None:
    """Check the columns of a suite's outcomes and strata for existence, but for `known` ones.

    Raises:
        DataError: some are absent, or hold neither numbers nor booleans; all are named.
    """
    needs: dict[str, tuple[str, tuple[str, ...]]] = {}
    for outcome in outcomes:
        for column, role in outcome.columns().values():
            named = ("ratios" if outcome.quantile is None else "quantiles", outcome.name)
            place = ("covariates",) if role == "covariate" else named
            needs.setdefault(column, (role, ("experiment", *place)))
    collected = Collected()
    for column, (role, path) in needs.items():
        if column not in known:
            with collected.step():
                _require_numbers(schema, column, role, path, pl.Null)
    for name in strata:
        with collected.step():
            require(schema, name, "stratum", ("experiment", "strata"))
    collected.settle()


def _require_numbers(
    schema: pl.Schema, column: str, role: str, path: tuple[str, ...], *others: type[pl.DataType]
) -> None:
    """Check that a column has numbers or booleans, or one of other types.

    Raises:
        DataError: it is absent or of a wrong type.
    """
    dtype = require(schema, column, role, path)
    if not dtype.is_numeric() and dtype not in (pl.Boolean, *others):
        msg = f"column '{column}' ({role}) is of type {dtype}, but must hold numbers or booleans"
        raise DataError(Problem(msg, path))


def is_sound(outcome: ArmOutcome, index: int) -> pl.Expr:
    """Whether a row has all numbers of an outcome."""
    return pl.all_horizontal(
        pl.col(part_column(part, index)).is_finite().fill_null(value=False) for part in outcome.columns()
    )


def centred_numbers(outcome: ArmOutcome, index: int, centres: Mapping[str, float]) -> dict[str, pl.Expr]:
    """The numbers of a row, null where one is missing; values less a constant times their size.

    Ratios of sums are then those of the outcome less the constant, and lose no digits where all values are alike.
    """
    sound, numbers = is_sound(outcome, index), {}
    for part in outcome.columns():
        number = pl.col(part_column(part, index))
        size = SIZES.get(part)
        if size is not None:
            has_size = size in outcome.columns()
            number = number - centres[part] * (pl.col(part_column(size, index)) if has_size else 1.0)
        numbers[part] = pl.when(sound).then(number).alias(part_column(part, index))
    return numbers


def outcomes_of(
    outcome: str | Sequence[str],
    ratio: Mapping[str, Sequence[str]] | None,
    covariate: Pair | Mapping[str, Pair] | None,
    quantile: Mapping[str, tuple[str, float]] | None = None,
) -> tuple[ArmOutcome, ...]:
    """Outcomes as they are asked for.

    Raises:
        ConfigError: none is named, one is named twice, or a ratio or covariate is none.
    """
    columns = (outcome,) if isinstance(outcome, str) else tuple(outcome)
    ratios = {name: _pair(parts, f"ratio '{name}'") for name, parts in (ratio or {}).items()}
    quantiles = {name: _quantile(parts, name) for name, parts in (quantile or {}).items()}
    names = (*columns, *ratios, *quantiles)
    if not names or len(set(names)) < len(names):
        what = "names a column twice" if names else "is empty"
        hint = None if names else "name an outcome, or a ratio"
        raise ConfigError(Problem(f"outcome {what}", ("outcome",), hint))
    by_name = (
        dict(covariate) if isinstance(covariate, Mapping) else dict.fromkeys((*columns, *ratios), covariate)
    )
    for name in by_name:
        if name in quantiles:
            msg = f"'{name}' is a quantile, and means alone are adjusted"
            raise ConfigError(Problem(msg, ("covariate",)))
        if name not in names:
            hint = did_you_mean(name, names)
            raise ConfigError(Problem(f"'{name}' is no outcome", ("covariate",), hint))
    adjusted = {name: _columns(parts) for name, parts in by_name.items()}
    means = [ArmOutcome(name, name, None, adjusted.get(name, ())) for name in columns]
    shares = [ArmOutcome(name, *parts, adjusted.get(name, ())) for name, parts in ratios.items()]
    for compared in (*means, *shares):
        _refuse_outcome_as_covariate(compared)
    return (
        *means,
        *shares,
        *(ArmOutcome(name, column, quantile=q) for name, (column, q) in quantiles.items()),
    )


def _refuse_outcome_as_covariate(outcome: ArmOutcome) -> None:
    """Refuse an outcome that would be adjusted by itself: all of the effect would be taken off."""
    if outcome.covariate == tuple(filter(None, (outcome.value, outcome.size))):
        msg = f"'{' / '.join(outcome.covariate)}' is the outcome '{outcome.name}' itself"
        hint = "name a column that was known before the experiment; a mapping gives each outcome its own"
        raise ConfigError(Problem(msg, ("covariate",), hint))


def _pair(parts: Sequence[str], what: str) -> tuple[str, str]:
    if isinstance(parts, str) or len(parts) != 2:
        msg = f"{what} must be two columns, numerator and denominator, not {parts!r}"
        raise ConfigError(Problem(msg, ("ratio",)))
    return parts[0], parts[1]


def _quantile(parts: tuple[str, float], name: str) -> tuple[str, float]:
    sound = isinstance(parts, Sequence) and len(parts) == 2 and isinstance(parts[0], str)
    if not sound or isinstance(parts[1], (bool, str)) or not 0 < parts[1] < 1:
        msg = f"quantile '{name}' must be a column and a level between 0 and 1, not {parts!r}"
        raise ConfigError(Problem(msg, ("quantile",)))
    return parts[0], float(parts[1])


def _columns(covariate: Pair | None) -> tuple[str, ...]:
    if covariate is None:
        return ()
    columns = (covariate,) if isinstance(covariate, str) else tuple(covariate)
    if len(columns) not in (1, 2):
        msg = f"a covariate is a column, or two of a ratio, not {covariate!r}"
        raise ConfigError(Problem(msg, ("covariate",)))
    return columns
