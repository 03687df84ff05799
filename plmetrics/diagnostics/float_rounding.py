"""Warnings of whole numbers beyond 2^53 that Float64, in which metrics are computed, cannot hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.engine.inquiry import Question, frames_by_name

if TYPE_CHECKING:
    from plmetrics.engine.request import TableView

_WIDE = (pl.Int64, pl.UInt64, pl.Int128, pl.UInt128)
_OF_NUMBERS = frozenset({"regression", "quantile"})
_OF_SCORES = frozenset({"binary", "uplift", *_OF_NUMBERS})


def role_columns(view: TableView) -> dict[str, str]:
    """Role of each column whose whole numbers are read as Float64; classes and keys are compared as they are."""
    roles, task = view.roles, view.suite.task
    if task == "ranking":  # its queries are read by passes of their own
        return {}
    pairs: list[tuple[str | bool | None, str]] = [(roles.weight, "weight")]
    if task in _OF_NUMBERS:
        pairs.append((roles.label, "label"))
    for model, predicted in roles.models.items():
        pairs.append((predicted.weight, f"weight of model '{model}'"))
        if task in _OF_NUMBERS:
            pairs.append((predicted.label, f"label of model '{model}'"))
        if task in _OF_SCORES and model not in roles.hard:
            parts = (
                column for part, column in predicted.columns.items() if part not in predicted.derivations
            )
            pairs += [(column, f"prediction of model '{model}'") for column in parts]
    return {column: role for column, role in reversed(pairs) if isinstance(column, str)}


def rounding_warnings(rows: pl.LazyFrame, schema: pl.Schema, roles: Mapping[str, str]) -> Question[list[str]]:
    """A warning for each column with rounded whole numbers; none is asked about without a column of 64 bits."""
    wide = {name: role for name, role in roles.items() if schema.get(name) in _WIDE}
    if not wide:
        return []
    plans = {"rounding": rows.select(part for name in wide for part in _counts(name, schema[name]))}
    facts = (yield from frames_by_name(plans))["rounding"].row(0, named=True)
    return list(_warnings(wide, facts))


def _counts(name: str, dtype: pl.DataType) -> Iterator[pl.Expr]:
    """Number of the values that Float64 cannot hold, and the least of them."""
    value = pl.col(name)
    differs = value.cast(pl.Float64).cast(dtype, strict=False).ne_missing(value)
    yield differs.sum().cast(pl.Int64).alias(f"n|{name}")
    yield value.filter(differs).min().alias(f"least|{name}")


def _warnings(wide: Mapping[str, str], facts: Mapping[str, int]) -> Iterator[str]:
    for name, role in wide.items():
        count, example = facts[f"n|{name}"], facts[f"least|{name}"]
        if count:
            values = "1 whole number is" if count == 1 else f"{count:,} whole numbers are"
            yield (
                f"column '{name}' ({role}): {values} beyond 2^53 and rounded, such as {example} to "
                f"{float(example):.0f}; where such differences count, subtract a constant from the column (derive)"
            )
