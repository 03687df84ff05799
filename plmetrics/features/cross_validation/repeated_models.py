"""Sums behind bias, variance and noise: of a model that was trained several times, from a column for each training.

One more aggregation over the cells of the run's slice sets. Of the m predictions p of a row with label y and label
without noise f (y where it is not known): (mean p - f)^2, the mean of (p - mean p)^2, (y - f)^2 and the mean of
(p - y)^2, each times the row's weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.core.errors import Collected
from plmetrics.core.exact_sums import exact_columns, fixed_sums
from plmetrics.engine.prepare.exponents import exponents_in
from plmetrics.engine.step import Step
from plmetrics.engine.streaming import collected_frames, scans
from plmetrics.features.cross_validation.cross_validation_section import section_of
from plmetrics.states.sums import SumsState
from plmetrics.table.checks import Requirement, require_numbers
from plmetrics.table.roles import LABEL, plain_column, require

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from plmetrics.core.names import SuitePath
    from plmetrics.engine.prepared import Prepared
    from plmetrics.engine.request import Request
    from plmetrics.states.sums import Array
    from plmetrics.suite.model import Suite
    from plmetrics.table.slices import Slices

BIAS, VARIANCE, NOISE, LOSS = "bias_squared", "variance", "noise", "expected_loss"


@dataclass(frozen=True, slots=True)
class RepeatedSums:
    """The sums of one name in the slices of a set; `n` and `weight` are those of the rows."""

    name: str
    slices: Slices
    sums: Mapping[str, Array]
    n: Array
    weight: Array


def repeated_requirements(suite: Suite) -> tuple[Requirement, ...]:
    """The columns that are read, and what they must hold."""
    spec = section_of(suite)
    if spec is None or not spec.repeated:
        return ()
    named: list[tuple[str, SuitePath]] = [
        (column, ("cross_validation", "repeated", name))
        for name, columns in spec.repeated.items()
        for column in columns
    ]
    named += [] if spec.truth is None else [(spec.truth, ("cross_validation", "truth"))]

    def bad(value: pl.Expr) -> pl.Expr:
        number = value.cast(pl.Float64)
        return number.is_null() | ~number.is_finite()

    return tuple(
        Requirement(column, "null, NaN or infinite", bad, "cross_validation", path, numeric=True)
        for column, path in named
    )


def check_repeated(suite: Suite, schema: pl.Schema) -> None:
    """Check the columns of repeated predictions on zero rows.

    Raises:
        DataError: some are absent, or hold no numbers; all are named.
    """
    collected = Collected()
    for need in repeated_requirements(suite):
        with collected.step():
            require(schema, need.column, need.role, need.path)
            require_numbers([need], schema)
    collected.settle()


def repeated_steps(request: Request, rows: int | None) -> Iterator[Step]:
    """The scan of repeated predictions, where there are some."""
    spec = section_of(request.suite)
    if spec is not None and spec.repeated:
        number = int(bool(scans([request.raw]))) * (1 + int(request.suite.reproducible))
        yield Step("cross_validation", "bias and variance of repeated predictions", number, rows=rows)


def repeated_sums(prepared: Prepared) -> list[RepeatedSums]:
    """Run the aggregation, for overall and the slice sets of the cross-validation; nothing without such columns.

    Args:
        prepared: a run whose rows passed their checks.
    """
    spec = section_of(prepared.request.suite)
    if spec is None or not spec.repeated:
        return []
    asked = ("overall", *spec.slices)
    wanted = [part for part in prepared.slices if part.slice_set.name in asked]
    numbers = sorted({prepared.cube_of(part) for part in wanted})
    summed = _summed(prepared, spec.repeated, spec.truth)
    exponents = exponents_in(prepared.table.frame, summed) if prepared.request.suite.reproducible else {}
    aggregates = [
        pl.len().cast(pl.Float64).alias("n"),
        *(value.sum().alias(name) for name, value in summed.items()),
    ]
    aggregates += [
        part for name, power in exponents.items() for part in fixed_sums(name, summed[name], power)
    ]
    plans = {}
    for number in numbers:
        columns = prepared.cubes[number].columns
        plans[str(number)] = (
            prepared.table.frame.group_by(columns).agg(aggregates)
            if columns
            else prepared.table.frame.select(aggregates)
        )
    states: dict[int, SumsState] = {}
    for number, frame in zip(numbers, collected_frames(plans).values(), strict=True):
        states[number] = _state(prepared, number, frame, exponents)
    return [
        made
        for part in wanted
        for made in _rolled_up(prepared, part, states[prepared.cube_of(part)], list(spec.repeated))
    ]


def _summed(
    prepared: Prepared, repeated: Mapping[str, Sequence[str]], truth: str | None
) -> dict[str, pl.Expr]:
    """What a row adds to each sum."""
    weight = prepared.table.weight
    label = pl.col(LABEL)
    target = label if truth is None else pl.col(plain_column(truth)).cast(pl.Float64)

    out = {} if weight is None else {"weight": weight}
    for name, columns in repeated.items():
        predictions = [pl.col(plain_column(column)).cast(pl.Float64) for column in columns]
        mean = pl.mean_horizontal(predictions)
        parts = {
            BIAS: (mean - target) ** 2,
            VARIANCE: pl.mean_horizontal([(one - mean) ** 2 for one in predictions]),
            LOSS: pl.mean_horizontal([(one - label) ** 2 for one in predictions]),
        }
        if truth is not None:
            parts[NOISE] = (label - target) ** 2
        out |= {
            f"{kind}|{name}": value if weight is None else value * weight for kind, value in parts.items()
        }
    return out


def _state(prepared: Prepared, number: int, frame: pl.DataFrame, exponents: Mapping[str, int]) -> SumsState:
    cube = prepared.cubes[number]
    cell = np.zeros(frame.height, dtype=np.int64)
    if cube.columns:
        cell = frame.select(cube.cell().alias("cell"))["cell"].to_numpy()
    sums = exact_columns(frame.drop(*cube.columns), exponents)
    held = {name: column.cast(pl.Float64).to_numpy() for name, column in sums}
    held.setdefault("weight", held["n"])
    state = SumsState(cell, np.zeros(frame.height, dtype=np.int64), held, 1)
    return state.in_order() if exponents else state


def _rolled_up(
    prepared: Prepared, part: Slices, state: SumsState, names: Sequence[str]
) -> list[RepeatedSums]:
    codes = prepared.cubes[prepared.cube_of(part)].slice_codes(part, state.cell)
    sliced = state.roll_up(codes, len(part))
    n, weight = sliced.total("n"), sliced.total("weight")
    out = []
    for name in names:
        kinds = [kind for kind in (BIAS, VARIANCE, NOISE, LOSS) if f"{kind}|{name}" in state.columns]
        sums = {kind: sliced.total(f"{kind}|{name}") for kind in kinds}
        out.append(RepeatedSums(name, part, sums, n, weight))
    return out
