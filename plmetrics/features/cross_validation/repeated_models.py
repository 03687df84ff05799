"""The columns of repeated predictions, and the sums of a run behind bias, variance and noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import Collected
from plmetrics.features.cross_validation.cross_validation_section import section_of
from plmetrics.features.cross_validation.repeated_totals import BIAS, LOSS, NOISE, VARIANCE, repeated_column
from plmetrics.table.checks import Requirement, require_numbers
from plmetrics.table.roles import require

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.core.names import SuitePath
    from plmetrics.inference.subject import Analysis
    from plmetrics.states.sums import Array
    from plmetrics.suite.model import Suite
    from plmetrics.table.slices import Slices


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


def repeated_sums(analysis: Analysis) -> list[RepeatedSums]:
    """The sums of the run for overall and the slice sets of the cross-validation; nothing without such columns."""
    spec = section_of(analysis.suite)
    if spec is None or not spec.repeated:
        return []
    out = []
    for part in analysis.sets:
        if part.slices.slice_set.name not in {"overall", *spec.slices}:
            continue
        n, weight = (part.sums.total(repeated_column(name)) for name in ("n", "weight"))
        for name in spec.repeated:
            kinds = (BIAS, VARIANCE, LOSS) if spec.truth is None else (BIAS, VARIANCE, NOISE, LOSS)
            sums = {kind: part.sums.total(repeated_column(f"{kind}|{name}")) for kind in kinds}
            out.append(RepeatedSums(name, part.slices, sums, n, weight))
    return out
