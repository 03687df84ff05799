"""Attributes predictive of the label by themselves: a sign of their origin after it.

Of a class, an attribute's strength is the share of the errors of always saying the most frequent class that knowing
the attribute's value takes away, (sum_v max_c n_vc - max_c n_c) / (n - max_c n_c); or, of two classes and a column with
an order, the area under the ROC curve of that order, whichever way up. Of a number it is R^2: that of the means by
value, or of a straight line. All count rows, not weights. A share of errors instead of accuracy: where 1 label in 1000
is positive, every attribute is right for 99.9 % of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from plmetrics.core.exact_sums import ordered_sum
from plmetrics.core.names import is_pattern
from plmetrics.engine.arithmetic import Arithmetic, exponents_in
from plmetrics.engine.inquiry import Question, frames_by_name, gather
from plmetrics.engine.memory.budget import working_memory
from plmetrics.engine.request import TableView
from plmetrics.features.leakage.leakage_section import Leakage
from plmetrics.table.common_types import common_type
from plmetrics.table.prediction_columns import LABEL

_CONSTANT = 2.0**-48
"""A column whose values lie no further apart than this part of their size is constant, but for rounding."""


@dataclass(frozen=True, slots=True)
class LabelSums:
    """Moments of a numeric label, and of an attribute beside it, exact in any order of the rows.

    `centres` are the means that values are taken around, so that squares lose nothing; each sum is `ordered_sum`, which
    has room for 2^26 rows of a group, and `exponents` say how large its terms are.
    """

    centres: Mapping[str, float]
    exponents: Mapping[str, int]

    @classmethod
    def of(cls, rows: pl.LazyFrame, numbers: Mapping[str, pl.Expr]) -> Question[LabelSums]:
        """Look both up. `numbers` are null where they are not finite."""
        centres = yield from Arithmetic(any_order=True).means(rows, {LABEL: pl.col(LABEL), **numbers})
        sums = cls(centres, {})
        terms = {f"{LABEL}|{key}": term for key, term in sums._of_label().items()}
        for name, value in numbers.items():
            terms |= {f"{name}|{key}": term for key, term in sums._with_label(name, value).items()}
        return cls(centres, (yield from exponents_in(rows, terms)))

    def correlation(self, name: str, value: pl.Expr) -> pl.Expr:
        """Pearson's correlation of an attribute and the label, of the rows where the attribute is not null."""
        sums = {
            key: ordered_sum(term, self.exponents[f"{name}|{key}"])
            for key, term in self._with_label(name, value).items()
        }
        n = value.count().cast(pl.Float64)
        across = sums["xy"] - sums["x"] * sums["y"] / n
        spread = [sums[f"{key}{key}"] - sums[key] * sums[key] / n for key in "xy"]
        correlation = across / (spread[0].sqrt() * spread[1].sqrt())
        varies = 2.0 ** min(self.exponents[f"{name}|x"], 1020) > _CONSTANT * abs(self.centres[name])
        return correlation if varies else pl.lit(None, pl.Float64)

    def moments(self) -> list[pl.Expr]:
        """The label's `mean` and `var` in a group."""
        sums = {
            key: ordered_sum(term, self.exponents[f"{LABEL}|{key}"]) for key, term in self._of_label().items()
        }
        n = pl.len().cast(pl.Float64)
        shift = sums["y"] / n
        return [
            (shift + self.centres[LABEL]).alias("mean"),
            (sums["yy"] / n - shift * shift).clip(lower_bound=0.0).alias("var"),
        ]

    def _of_label(self) -> dict[str, pl.Expr]:
        y = pl.col(LABEL) - self.centres[LABEL]
        return {"y": y, "yy": y * y}

    def _with_label(self, name: str, value: pl.Expr) -> dict[str, pl.Expr]:
        """The terms of the sums of an attribute and the label."""
        x = value - self.centres[name]
        y = pl.when(value.is_not_null()).then(pl.col(LABEL) - self.centres[LABEL])
        return {"x": x, "y": y, "xx": x * x, "yy": y * y, "xy": x * y}


MOST_VALUES = 1000
"""With more values than this a column is not taken value by value: an id tells every label."""

ROWS_A_VALUE = 10
"""Nor with fewer rows a value than this."""

LEAST_ROWS = 10
"""With fewer rows than this beside the most frequent class, nothing is said."""

_VALUE_BYTES = 100
_SHARE = 4
"""Bytes that a value takes while it is grouped, and the part of the memory that values of orders have together."""

_ROWS_A_RANGE = 32
"""Rows that the end of a range of values is chosen from."""

_CLASSES = frozenset({"binary", "multiclass"})
_VALUE = "@value"
_LARGEST = "largest|"
_DIGITS = 9
"""Strengths that are equal but for rounding, as of a line through two values, have the note of the first."""

_LEAST_SIZE, _MOST_SIZE = 1e-70, 1e70
"""Products of squares of labels and numbers of this size are numbers of 64 bits."""

_BY_MISSING = "by whether it is null: it has too many values to take each"

About = dict[str, Any]
Strength = tuple[float, str, str]


def attribute_candidates(view: TableView) -> tuple[str, ...]:
    """Candidate columns: the named ones, else all of plain values outside roles."""
    suite = view.suite
    spec = Leakage.of(suite)
    if not spec.attributes:
        return ()
    if isinstance(spec.attributes, tuple):
        return tuple(dict.fromkeys(spec.attributes))
    roles = {name for name in suite.columns.model_dump().values() if name is not None}
    for model in view.roles.models.values():
        roles |= {*model.columns.values(), model.label, model.weight or None}
    roles |= {need.column for need in view.roles.requirements}
    roles |= {*(spec.keys or ()), *([spec.time] if spec.time else ())}
    roles |= {name for name, slice_set in suite.slices.items() if slice_set.expression is not None}
    plain = (name for name, dtype in view.schema.items() if common_type(dtype, dtype) is not None)
    return tuple(name for name in plain if name not in roles and not is_pattern(name))


@dataclass(frozen=True, slots=True)
class AttributesCounting:
    """Counting of the strength of association between each column and the label.

    `rows` have raw columns beside the canonical label, which is there; `facts` are what was looked up of the columns,
    `others` the rows with another label than the most frequent one, and `room` how many values may be grouped at once.
    """

    rows: pl.LazyFrame
    columns: tuple[_Column, ...]
    facts: Mapping[str, Any]
    others: int
    room: int

    @classmethod
    def prepare(
        cls, rows: pl.LazyFrame, view: TableView, columns: Sequence[str]
    ) -> Question[AttributesCounting]:
        """Question about the number of distinct values of the columns.

        `rows` are raw columns beside the canonical label; `columns` are not none.
        """
        labelled = rows.filter(pl.col(LABEL).is_not_null() & pl.col(LABEL).is_not_nan())
        attributes = tuple(_Column(name, view.schema[name], view.suite.task) for name in columns)
        if view.suite.reproducible and view.suite.task not in _CLASSES:
            finite = {column.name: column.finite for column in attributes if column.is_number}
            sums = yield from LabelSums.of(labelled, finite)
            for column in attributes:
                column.sums = sums
        screen = [part for column in attributes for part in column.screening()]
        by_label = labelled.group_by(LABEL).agg(pl.len().cast(pl.Int64).alias("n"))
        if view.suite.task not in _CLASSES:
            screen.append(pl.col(LABEL).abs().max().alias(f"{_LARGEST}{LABEL}"))
        counts, looked = yield [by_label, labelled.select(pl.len().cast(pl.Int64).alias("@n"), *screen)]
        facts = looked.row(0, named=True)
        room = working_memory(view.suite) // (_SHARE * _VALUE_BYTES)
        return cls(labelled, attributes, facts, facts["@n"] - (counts["n"].max() or 0), room)

    def count(self) -> Question[list[About]]:
        """Keywords of a finding about each column; of all without a strength where rows are too few."""
        names = tuple(column.name for column in self.columns)
        if (note := self._out_of_size(LABEL)) is not None:
            return [{"columns": names, "note": note}]
        if self.others < LEAST_ROWS:
            which = "1 row has" if self.others == 1 else f"{self.others} rows have"
            note = (
                f"not judged: {which} another label than the most frequent one, and {LEAST_ROWS} are needed"
            )
            return [{"columns": names, "note": note}]
        plans = {column.name: column.label_groups(self.rows, self.facts) for column in self.columns}
        strengths: dict[str, list[Strength]] = {}
        for batch in self._batches():
            orders = {column.name: column.order(self.rows) for column in batch}
            groups, ordered = yield from gather(frames_by_name(plans), frames_by_name(orders))
            plans = {}
            for column in self.columns:
                if column.name in groups:
                    strengths[column.name] = column.strengths(groups[column.name], self.facts)
            for name, frame in ordered.items():
                strengths[name].append(_area_strength([_range_of_area(frame)]))
        for column in self.columns:
            if self._by_ranges(column):
                strengths[column.name].append((yield from self._area_by_ranges(column)))
        out: list[About] = []
        for name, of_column in strengths.items():
            if (unjudged := self._out_of_size(name)) is not None:
                out.append({"columns": (name,), "note": unjudged})
                continue
            strength, measure, note = max(of_column, key=lambda strength: round(strength[0], _DIGITS))
            out.append({"columns": (name,), "strength": strength, "measure": measure, "note": note})
        return out

    def _out_of_size(self, name: str) -> str | None:
        """Note on numbers whose squares are none."""
        largest = self.facts.get(f"{_LARGEST}{name}") or 1.0
        if _LEAST_SIZE < largest < _MOST_SIZE:
            return None
        which = "labels" if name == LABEL else "numbers"
        return f"not judged: {which} of {largest:.0e} have no squares of 64 bits; multiply them by a constant (derive)"

    def _by_ranges(self, column: _Column) -> bool:
        """Whether a column with an order has more values than there is room for."""
        return column.ordered and self.facts[f"values|{column.name}"] > self.room

    def _area_by_ranges(self, column: _Column) -> Question[Strength]:
        """Area of a column, a range of its values at a time; ends of ranges are values of some of its rows."""
        ranges = -(-2 * self.facts[f"values|{column.name}"] // self.room)
        step = max(1, self.facts["@n"] // (ranges * _ROWS_A_RANGE))
        some = self.rows.select(column.number.alias(_VALUE)).with_row_index("@row")
        (sample,) = yield [some.filter(pl.col("@row") % step == 0).select(pl.col(_VALUE).drop_nulls().sort())]
        values = sample[_VALUE]
        ends = values[:: max(1, len(values) // ranges)].unique(maintain_order=True)
        counted = []
        for place in range(len(ends) + 1):
            (frame,) = yield [column.order(self.rows.filter(column.within(ends, place)))]
            counted.append(_range_of_area(frame))
        return _area_strength(counted)

    def _batches(self) -> Iterator[list[_Column]]:
        """The columns with an order, as many at a time as there is room for their values; one batch at least."""
        batch: list[_Column] = []
        values = 0
        for column in self.columns:
            if column.ordered and not self._by_ranges(column):
                more = self.facts[f"values|{column.name}"]
                if batch and values + more > self.room:
                    yield batch
                    batch, values = [], 0
                batch.append(column)
                values += more
        yield batch


class _Column:
    """Plans of one attribute, and its finding."""

    def __init__(self, name: str, dtype: pl.DataType, task: str) -> None:
        self.name = name
        self.classes = task in _CLASSES
        self.value = pl.col(name).fill_nan(None) if dtype.is_float() else pl.col(name)
        if isinstance(dtype, (pl.Categorical, pl.Enum)):
            self.value = self.value.cast(pl.String)
        self.is_number = not self.classes and dtype.is_numeric()
        self.ordered = task == "binary" and (dtype.is_numeric() or dtype.is_temporal())
        self.is_temporal = dtype.is_temporal()
        self.sums: LabelSums | None = None
        """Sums of labels that are numbers, where these must not depend on the order of the rows."""

    @property
    def finite(self) -> pl.Expr:
        """The number, null where it is none or not finite."""
        number = self.value.cast(pl.Float64)
        return pl.when(number.is_finite()).then(number)

    def screening(self) -> list[pl.Expr]:
        """Aggregates: estimated number of distinct values; of numbers their correlation with the label, too."""
        aggregates = [self.value.approx_n_unique().alias(f"values|{self.name}")]
        if self.is_number:
            varies = self.finite.min() < self.finite.max()  # The mean of a constant may not be the constant.
            plain = pl.when(varies).then(pl.corr(self.finite, pl.col(LABEL)))
            line = plain if self.sums is None else self.sums.correlation(self.name, self.finite)
            aggregates += [line.alias(f"line|{self.name}"), self.finite.count().alias(f"finite|{self.name}")]
            aggregates.append(self.finite.abs().max().alias(f"{_LARGEST}{self.name}"))
        return aggregates

    def by_value(self, facts: Mapping[str, Any]) -> bool:
        """Whether it has few enough values to take it value by value."""
        return bool(facts[f"values|{self.name}"] <= min(MOST_VALUES, facts["@n"] // ROWS_A_VALUE))

    def label_groups(self, rows: pl.LazyFrame, facts: Mapping[str, Any]) -> pl.LazyFrame:
        """Labels by value, or by whether there is one."""
        value = self.value if self.by_value(facts) else self.value.is_null()
        keyed = rows.select(value.alias(_VALUE), LABEL)
        if self.classes:
            return keyed.group_by(_VALUE, LABEL).agg(pl.len().cast(pl.Int64).alias("n"))
        label = pl.col(LABEL)
        plain = [label.mean().alias("mean"), label.var(ddof=0).alias("var")]
        moments = plain if self.sums is None else self.sums.moments()
        return keyed.group_by(_VALUE).agg(pl.len().cast(pl.Int64).alias("n"), *moments)

    def order(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Positives and rows by value."""
        keyed = rows.select(self.value.alias(_VALUE), (pl.col(LABEL) == 1).alias("positive"))
        counts = pl.col("positive").sum().cast(pl.Int64).alias("p"), pl.len().cast(pl.Int64).alias("n")
        return keyed.group_by(_VALUE).agg(*counts)

    @property
    def number(self) -> pl.Expr:
        """The value; of times the number in their place."""
        return self.value.to_physical() if self.is_temporal else self.value

    def within(self, ends: pl.Series, place: int) -> pl.Expr:
        """Whether the value lies above so many of some ascending values; nulls are below all."""
        over = self.number > pl.lit(ends[place - 1], ends.dtype) if place else pl.lit(value=True)
        if place == len(ends):
            return over
        under = self.number <= pl.lit(ends[place], ends.dtype)
        return over & under if place else under | self.value.is_null()

    def strengths(self, groups: pl.DataFrame, facts: Mapping[str, Any]) -> list[Strength]:
        """Strengths of the groups, and of the line."""
        how = "by its value" if self.by_value(facts) else _BY_MISSING
        if self.classes:
            return [(_error_reduction(groups), "error_reduction", how)]
        strengths = [(_r2_of_means(groups), "r2", how)]
        line = facts.get(f"line|{self.name}")
        half = self.is_number and 2 * facts[f"finite|{self.name}"] >= facts["@n"]
        if half and line is not None and np.isfinite(line):
            strengths.append((min(line**2, 1.0), "r2", "by a straight line"))
        return strengths


def _error_reduction(groups: pl.DataFrame) -> float:
    rows = float(groups["n"].sum())
    base = float(groups.group_by(LABEL).agg(pl.col("n").sum())["n"].max())  # type: ignore[arg-type]
    right = float(groups.group_by(_VALUE).agg(pl.col("n").max())["n"].sum())
    return (right - base) / (rows - base)


def _r2_of_means(groups: pl.DataFrame) -> float:
    """Between the groups over all, both about the common mean."""
    in_order = groups.sort(_VALUE)
    n, mean, var = (in_order[name].cast(pl.Float64).to_numpy() for name in ("n", "mean", "var"))
    centre = (n * mean).sum() / n.sum()
    between, within = float((n * (mean - centre) ** 2).sum()), float((n * var).sum())
    return between / (between + within) if between + within > 0 else 0.0


def _range_of_area(counted: pl.DataFrame) -> tuple[float, float, float]:
    """Positives, negatives, and pairs of them in order, ties half, of a range of values; nulls are below all."""
    ordered = counted.sort(_VALUE, nulls_last=False).select(pl.col("p", "n").cast(pl.Float64))
    positives = ordered["p"].to_numpy()
    negatives = ordered["n"].to_numpy() - positives
    below = np.cumsum(negatives) - negatives / 2
    return float(positives.sum()), float(negatives.sum()), float((positives * below).sum())


def _area_strength(ranges: Sequence[tuple[float, float, float]]) -> Strength:
    """Area under the ROC curve of a column's order, in the better direction, of its ranges in ascending order."""
    above = pairs = below = 0.0
    for positives, negatives, within in ranges:
        pairs += within + positives * below
        above, below = above + positives, below + negatives
    area = pairs / (above * below)
    return max(area, 1 - area), "auc", "by its order"
