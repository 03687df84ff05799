"""Warnings of numbers that Float64, in which metrics are computed, has otherwise: above 2^53, or beside thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.catalogue.metric import leaves
from plmetrics.catalogue.thresholds import threshold_text
from plmetrics.core.names import number_text, sql_name
from plmetrics.engine.inquiry import Question, frames_by_name

if TYPE_CHECKING:
    from plmetrics.engine.request import TableView
    from plmetrics.engine.run_plan import RunPlan

_DIGITS: Mapping[pl.DataType, int] = {pl.Float32(): 6, pl.Float16(): 3}
"""Decimals below 1 that types of fewer than 64 bits tell apart."""
_WIDE = (pl.Int64, pl.UInt64, pl.Int128, pl.UInt128)
_OF_NUMBERS = frozenset({"regression", "quantile"})
_OF_SCORES = frozenset({"binary", "uplift", *_OF_NUMBERS})


@dataclass(frozen=True, slots=True)
class ThresholdGap:
    """A threshold above the number that a column of scores holds in its place."""

    column: str
    model: str
    threshold: float
    stored: float
    digits: int

    def warning(self, rows: int) -> str:
        """Warning of so many rows with that number."""
        held = "1 row holds" if rows == 1 else f"{rows:,} rows hold"
        cut = number_text(self.threshold)
        return (
            f"column '{self.column}' (score of model '{self.model}'): {held} {cut} in fewer than 64 bits, which is "
            f"{self.stored:.12g}, below the threshold {cut}, and not called; where scores are such decimals, derive "
            f"ROUND(CAST({sql_name(self.column)} AS DOUBLE), {self.digits})"
        )


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


def threshold_gaps(plan: RunPlan) -> list[ThresholdGap]:
    """Thresholds above the number that a column of scores of 32 bits, or 16, holds in their place."""
    view = plan.request.view
    fixed = (leaf.fixed_threshold for metric in view.suite.metrics for leaf in leaves(metric))
    texts = dict.fromkeys(threshold_text(number) for number in fixed if number is not None)
    return [
        ThresholdGap(column, model, threshold, stored, _DIGITS[dtype])
        for model, predicted in view.roles.models.items()
        if view.suite.task in {"binary", "multilabel"}
        and model in plan.thresholds
        and model not in view.roles.hard
        for part, column in predicted.columns.items()
        if part not in predicted.derivations and (dtype := view.schema[column]) in _DIGITS
        for threshold in dict.fromkeys(plan.thresholds[model].get(text, float(text)) for text in texts)
        if (stored := pl.Series([threshold]).cast(dtype).cast(pl.Float64).item()) < threshold
    ]


def rounding_warnings(
    rows: pl.LazyFrame, schema: pl.Schema, roles: Mapping[str, str], gaps: Sequence[ThresholdGap] = ()
) -> Question[list[str]]:
    """Warnings of columns with rounded whole numbers, and of scores beside a threshold.

    None is asked about without a column of 64 bits or a gap.
    """
    wide = {name: role for name, role in roles.items() if schema.get(name) in _WIDE}
    if not wide and not gaps:
        return []
    counts = [part for name in wide for part in _counts(name, schema[name])]
    counts += [
        (pl.col(each.column).cast(pl.Float64) == each.stored).sum().cast(pl.Int64).alias(f"gap|{place}")
        for place, each in enumerate(gaps)
    ]
    facts = (yield from frames_by_name({"rounding": rows.select(counts)}))["rounding"].row(0, named=True)
    below = [each.warning(count) for place, each in enumerate(gaps) if (count := facts[f"gap|{place}"])]
    return [*_warnings(wide, facts), *below]


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
