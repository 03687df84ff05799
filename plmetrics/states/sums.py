"""The family sums: vectors of row sums and counts per cell and block.

An atom is one sum over rows, said once as an expression on the roles of a row. All atoms of a suite ride in one
plan; metrics that need the same atom share it, because an atom's key is its identity.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.names import number_text
from plmetrics.core.ops import Array, Codes, each_row
from plmetrics.states.moments import Centres, about_common_centre
from plmetrics.table.prediction_columns import levels_of, part_column, truth_column

EVERY = "every|"
"""Before the names of counts of rows that are left out as well."""

SCORED = "scored|"
"""Before the names of counts and sums of all rows that count, whether they have a label or not."""

DEFAULT_THRESHOLD = 0.5
"""The threshold of a metric that names none; a model may have another in its place."""


def class_threshold(threshold: float | str, name: str) -> str:
    """Key of a class's own threshold in place of a common one, or of the choice of a rule for the class.

    >>> class_threshold(0.5, "spam"), class_threshold("max(f1)", "spam")
    ('0.5|spam', 'max(f1)|spam')
    """
    return f"{threshold if isinstance(threshold, str) else number_text(threshold)}|{name}"


POSITIVE_ROWS = "positive_rows"
"""The column with the number of positive rows, whatever they weigh."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The roles of one model's rows as expressions, cast and clean.

    `label` and `score` are Float64; `positive` is Boolean (binary tasks only). `centres` are constants near the
    values of that key, found in prepare: second moments are taken around them, so that a large offset costs no
    digits. `thresholds` are those that were chosen from data, by the text of their rule, and the model's own by the
    text of the default one. `prefix` is what the canonical table puts before the names of columns without a role.
    `parts` are those of the model's prediction, and `classes` those of a multiclass label, whose `label` and `score`
    are numbers of classes. With `label_set` a row has several of them, and `label` is how many.
    """

    label: pl.Expr
    score: pl.Expr
    positive: pl.Expr
    centres: Mapping[str, float | pl.Expr] = field(default_factory=dict)
    thresholds: Mapping[str, float] = field(default_factory=dict)
    weight: pl.Expr | None = None
    prefix: str = ""
    model: str = ""
    parts: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    treated: pl.Expr = field(default_factory=lambda: pl.col("@@treatment") == 1)
    label_set: bool = False

    @property
    def mass(self) -> pl.Expr:
        """The weight of a row, 1 where rows have none."""
        return pl.lit(1.0) if self.weight is None else self.weight

    def of_class(self, number: int) -> pl.Expr:
        """Whether a row is of a class, or has it among several."""
        if self.label_set:
            return pl.col(truth_column(self.classes[number])) == 1
        return self.label == float(number)

    @property
    def levels(self) -> tuple[float, ...]:
        """The levels of the model's quantiles, ascending."""
        return levels_of(self.parts)

    def part(self, name: str) -> pl.Expr:
        """A part of the model's prediction, such as `proba|spam` or `quantile|0.5`."""
        return pl.col(part_column(self.model, name))

    @property
    def error(self) -> pl.Expr:
        """Prediction minus label."""
        return self.score - self.label

    def called(self, threshold: Any) -> pl.Expr:
        """Whether the score is at least a threshold: a number, or the choice of a rule."""
        if isinstance(threshold, (int, float)):
            threshold = self.thresholds.get(number_text(threshold), threshold)
        else:
            constant = threshold.constant
            threshold = self.thresholds[threshold.text] if constant is None else constant
        return self.score >= pl.lit(float(threshold))

    def threshold_of(self, threshold: Any, name: str) -> float:
        """The threshold of a class: the model's own in place of the default one, or the choice of a rule for it."""
        if not isinstance(threshold, (int, float)):
            constant: float | None = threshold.constant
            return self.thresholds[class_threshold(threshold.text, name)] if constant is None else constant
        default = self.thresholds.get(number_text(threshold), threshold)
        return self.thresholds.get(class_threshold(threshold, name), default)

    def column(self, name: str) -> pl.Expr:
        """Column of the table outside all roles."""
        return pl.col(f"{self.prefix}{name}")

    def centred(self, value: RowValue) -> pl.Expr:
        """A number of each row, less the constant near it."""
        return value.build(self) - self.centres.get(value.key, 0.0)


def null_non_finite(rows: Rows) -> Rows:
    """Roles of rows with optional labels or scores: a NaN is null."""
    return replace(rows, label=rows.label.fill_nan(None), score=rows.score.fill_nan(None))


@dataclass(frozen=True, slots=True)
class RowValue:
    """A number of each row: `key` is its identity, `build` the row expression. A row where it is null has none.

    `positive` says which of the rows that are ordered by it are of the positive class; all are, if not given. With a
    `width` above 1 a row has so many numbers that are ordered: both are lists.
    """

    key: str
    build: Callable[[Rows], pl.Expr]
    positive: Callable[[Rows], pl.Expr] | None = None
    width: int = 1


@dataclass(frozen=True, slots=True)
class Total:
    """A column of a state by name: its aggregation, and the addend of a row: a `value`, or for a count a `mask`.

    `most` is how far from 0 a row's value may be, weight aside; None where that is to be found in the rows.
    """

    name: str
    sum: pl.Expr
    value: pl.Expr | None = None
    most: float | None = None
    mask: pl.Expr | None = None

    @classmethod
    def count(cls, name: str, mask: pl.Expr) -> Total:
        """Number of rows where something holds."""
        return cls(name, mask.sum().cast(pl.Int64), mask=mask)

    @classmethod
    def rows(cls, name: str) -> Total:
        """Number of rows."""
        return cls(name, pl.len().cast(pl.Int64), mask=pl.lit(value=True))

    @property
    def term(self) -> pl.Expr | None:
        """The addend of a row: a number, or whether it counts; None where it depends on more than the row."""
        return self.mask if self.value is None else self.value

    @classmethod
    def masses(cls, name: str, weight: pl.Expr, mask: pl.Expr | None) -> Total:
        """The weight of the rows where something holds."""
        value = weight if mask is None else pl.when(mask).then(weight).otherwise(0.0)
        return cls(name, value.sum(), value, 1.0)


@dataclass(frozen=True, slots=True)
class Distances:
    """Keys of the values of central moments: one value, or two for products of distances.

    `mass` is the key of the atom that sums what each is multiplied by, None for the weight of the rows. `alone` are, of
    two values, the keys of the sums of each distance.
    """

    values: tuple[str, ...]
    mass: str | None = None
    alone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Atom:
    """One sum over rows: `key` is its identity, `build` the row expression.

    A Boolean row expression (`counts=True`) is counted, or its weights summed; a Float64 one is summed times
    weight. With `weighted=False` a Boolean one is counted also under weights: rows of weight above 0. `complement_of`
    names a total and the atom that, without weights, this one completes it with: whole counts need no second sum.
    No row's value is further from 0 than `most`, weight aside, where that is known of any row that passes the checks.
    `about` says of a sum of distances from centres what it takes to move it to others. `squares` says that the values
    are squares of numbers of any size, which may be too small for one. No row is in two atoms that are `apart` in the
    same way.

    >>> rows = Rows(pl.col("y"), pl.col("p"), pl.col("y") == 1)
    >>> frame = pl.DataFrame({"y": [1.0, 0.0, 1.0], "p": [0.9, 0.2, 0.4], "w": [1.0, 1.0, 2.0]})
    >>> hits = Atom("hits", lambda rows: rows.called(0.3) & rows.positive, counts=True)
    >>> frame.select(hits.aggregate(rows, None)).item(), frame.select(hits.aggregate(rows, pl.col("w"))).item()
    (2, 3.0)
    """

    key: str
    build: Callable[[Rows], pl.Expr]
    counts: bool = False
    weighted: bool = True
    complement_of: tuple[str, Atom] | None = None
    most: float | None = None
    about: Distances | None = None
    squares: bool = False
    apart: str | None = None

    def total(self, name: str, rows: Rows, weight: pl.Expr | None, valid: pl.Expr | None = None) -> Total:
        """The column of this atom in a state."""
        value = self.of_row(rows, weight, valid)
        if self.counts and (weight is None or not self.weighted):
            return Total.count(name, value)
        return Total(name, value.sum(), value, 1.0 if self.counts else self.most)

    def aggregate(self, rows: Rows, weight: pl.Expr | None, valid: pl.Expr | None = None) -> pl.Expr:
        """The aggregation of this atom over the rows where `valid` holds."""
        return self.total("", rows, weight, valid).sum

    def of_row(self, rows: Rows, weight: pl.Expr | None, valid: pl.Expr | None = None) -> pl.Expr:
        """Term of a row: a number, or whether it counts."""
        value = each_row(self.build(rows))
        if self.counts:
            mask = value if valid is None else value & valid
            if weight is None:
                return mask
            if not self.weighted:
                return mask & (weight > 0)
            return pl.when(mask).then(weight).otherwise(0.0)
        value = value if weight is None else value * weight
        return value if valid is None else pl.when(valid).then(value).otherwise(0.0)


NO_CENTRES = Centres()


def sum_column(model: str, key: str, population: str = "") -> str:
    """Column of a model's sum by its key, over the rows of counts with the prefix `population`.

    >>> sum_column("m", "hits"), sum_column("m", "hits", "m|"), sum_column("m", "hits", "scored|")
    ('m|hits', 'm|hits', 'm|scored|hits')
    """
    return f"{model}|{SCORED}{key}" if population in {SCORED, f"{model}|{SCORED}"} else f"{model}|{key}"


def as_tuple(part: Atom | tuple[Atom, ...]) -> tuple[Atom, ...]:
    """The atoms of one name."""
    return part if isinstance(part, tuple) else (part,)


class View:
    """Named arrays of one state, with any leading axes: the input of a metric's `finalise`.

    Always there: `n` (rows), `weight`, and for binary tasks `positives` and `negatives` (weights). Of the family
    sums: the metric's atoms by name. Of the family scores: `score`, `positive`, `negative` per point, ascending by
    score; with fixed bins `bin_weight`, `bin_positive`, `bin_score` per bin, and `bin_distance` where it is asked for.
    """

    __slots__ = ("_arrays", "_parts")

    def __init__(self, arrays: Mapping[str, Any], parts: dict[Hashable, Any] | None = None) -> None:
        self._arrays = arrays
        self._parts: dict[Hashable, Any] = {} if parts is None else parts

    def __getattr__(self, name: str) -> Any:
        try:
            return self._arrays[name]
        except KeyError:
            raise AttributeError(name, name=name, obj=self) from None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arrays."""
        return tuple(self._arrays)

    def memo(self, key: Hashable, make: Callable[[View], Any]) -> Any:
        """Part of a formula by key, computed once for the value, its conditions and other metrics of the state."""
        if key not in self._parts:
            self._parts[key] = make(self)
        return self._parts[key]

    def without(self, name: str) -> View:
        """The state without one array."""
        return View({key: array for key, array in self._arrays.items() if key != name}, self._parts)

    def replace(self, name: str, array: Any) -> View:
        """The state with one array replaced."""
        return View({**self._arrays, name: array})


@dataclass(frozen=True, slots=True)
class SumsState:
    """The sums of one cube: an entry per occupied (cell, block), a column per atom and model.

    `block` counts from 0 over the non-empty blocks of the table. Columns are `n`, `weight`, `positives`,
    `negatives`, `positive_rows` (shared, or `MODEL|n` ... where models have rows of their own) and `MODEL|ATOM`.
    `centres` are those that the moments of each entry are about.
    """

    cell: Codes
    block: Codes
    columns: Mapping[str, Array]
    blocks: int
    centres: Centres = NO_CENTRES

    def in_order(self) -> SumsState:
        """Entries ascending by cell and block, for reproducible sums.

        There may be several of one cell and block about centres of their own. Their numbers say which comes first.
        """
        keys: list[NDArray[Any]] = [self.block, self.cell]
        if self.centres.differ:
            at = (centre for _, centre in sorted(self.centres.at.items()) if isinstance(centre, np.ndarray))
            keys = [*(self.columns[name] for name in sorted(self.columns)), *at, *keys]
        return self.take(np.lexsort(keys))

    def take(self, index: Any) -> SumsState:
        """Some entries."""
        columns = {name: column[index] for name, column in self.columns.items()}
        return SumsState(self.cell[index], self.block[index], columns, self.blocks, self.centres.take(index))

    def roll_up(self, codes: Codes, slices: int) -> SlicedSums:
        """Add the cells of each slice. `codes` is the slice of each entry, -1 for none.

        Entries whose slices ascend are not copied: there may be as many as rows.
        """
        order: Any = slice(np.searchsorted(codes, 0), None)
        if not (codes[1:] >= codes[:-1]).all():
            from plmetrics.states.scores.exact.sorted_rows import group_order

            order = group_order(codes, slices)[0]
        columns = {name: column[order] for name, column in self.columns.items()}
        columns, centres = about_common_centre(columns, self.centres.take(order), codes[order], slices)
        sums = SlicedSums(codes[order], self.block[order], columns, slices, self.blocks, centres)
        return sums.merge_entries() if len(sums.code) > slices * self.blocks else sums


@dataclass(frozen=True, slots=True)
class SlicedSums:
    """The sums of one slice set, entries ascending by slice; moments are about `centres`, one a slice.

    `replicates` `[replicate, slice]` are those of columns that are more in a replicate than sums of blocks: counts at a
    threshold that is chosen anew in each.
    """

    code: Codes
    block: Codes
    columns: Mapping[str, Array]
    slices: int
    blocks: int
    centres: Centres = NO_CENTRES
    replicates: Mapping[str, Array] = field(default_factory=dict)

    def merge_entries(self) -> SlicedSums:
        """Add up the entries of each slice and block."""
        key = self.code * self.blocks + self.block
        occupied = np.flatnonzero(np.bincount(key, minlength=self.slices * self.blocks))
        columns = {
            name: sum_by_place(key, column, self.slices * self.blocks)[occupied]
            for name, column in self.columns.items()
        }
        code, block = np.divmod(occupied, self.blocks)
        return replace(self, code=code, block=block, columns=columns)

    def replicate_columns(self, first: int, last: int) -> dict[str, Array]:
        """Replicates `[replicate, slice]` of columns without sums by block."""
        return {name: column[:, first:last] for name, column in self.replicates.items()}

    def centred_at(self, first: int, last: int) -> dict[str, Array]:
        """`[slice]` centres of the slices from `first` up to `last`, by name."""
        return self.centres.of(first, last)

    def by_block(self, first: int, last: int) -> dict[str, Array]:
        """Dense `[slice, block]` sums of the slices from `first` up to `last`."""
        low, high = np.searchsorted(self.code, [first, last])
        key = (self.code[low:high] - first) * self.blocks + self.block[low:high]
        shape = (last - first, self.blocks)
        return {
            name: sum_by_place(key, column[low:high], shape[0] * shape[1]).reshape(shape)
            for name, column in self.columns.items()
        }

    def total(self, column: str) -> Array:
        """`[slice]` sums of one column."""
        return sum_by_place(self.code, self.columns[column], self.slices)


def sum_by_place(place: Codes, values: Array | None, size: int) -> Array:
    """Sums of the values of each place; their number without values."""
    return np.bincount(place, weights=values, minlength=size).astype(np.float64, copy=False)
