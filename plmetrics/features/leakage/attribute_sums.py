"""Moments of a label that is a number, and of an attribute beside it, that no order of the rows rounds.

Values are taken around their mean, so that the squares lose nothing. Each sum is `ordered_sum`, which has room for
2^26 rows of a group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.exact_sums import ordered_sum
from plmetrics.engine.inquiry import answer
from plmetrics.engine.prepare.exponents import exact_means, exponents_in
from plmetrics.table.roles import LABEL

if TYPE_CHECKING:
    from collections.abc import Mapping

_CONSTANT = 2.0**-48
"""A column whose values lie no further apart than this part of their size is constant, but for rounding."""


@dataclass(frozen=True, slots=True)
class LabelSums:
    """Where the label and the attributes have their means, and how large the terms of their sums are."""

    centres: Mapping[str, float]
    exponents: Mapping[str, int]

    @classmethod
    def of(cls, rows: pl.LazyFrame, numbers: Mapping[str, pl.Expr]) -> LabelSums:
        """Look both up.

        Args:
            rows: with the canonical label.
            numbers: the attributes that hold numbers, null where these are not finite.
        """
        centres = answer(exact_means(rows, {LABEL: pl.col(LABEL), **numbers}))
        made = cls(centres, {})
        terms = {f"{LABEL}|{key}": term for key, term in made._of_label().items()}
        for name, value in numbers.items():
            terms |= {f"{name}|{key}": term for key, term in made._beside(name, value).items()}
        return cls(centres, answer(exponents_in(rows, terms)))

    def correlation(self, name: str, value: pl.Expr) -> pl.Expr:
        """Pearson's correlation of an attribute and the label, of the rows where the attribute is not null."""
        sums = {
            key: ordered_sum(term, self.exponents[f"{name}|{key}"])
            for key, term in self._beside(name, value).items()
        }
        n = value.count().cast(pl.Float64)
        across = sums["xy"] - sums["x"] * sums["y"] / n
        spread = [sums[f"{key}{key}"] - sums[key] * sums[key] / n for key in "xy"]
        found = across / (spread[0].sqrt() * spread[1].sqrt())
        varies = 2.0 ** min(self.exponents[f"{name}|x"], 1020) > _CONSTANT * abs(self.centres[name])
        return found if varies else pl.lit(None, pl.Float64)

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
        """The terms of the label's sums."""
        y = pl.col(LABEL) - self.centres[LABEL]
        return {"y": y, "yy": y * y}

    def _beside(self, name: str, value: pl.Expr) -> dict[str, pl.Expr]:
        """The terms of the sums of an attribute and the label."""
        x = value - self.centres[name]
        y = pl.when(value.is_not_null()).then(pl.col(LABEL) - self.centres[LABEL])
        return {"x": x, "y": y, "xx": x * x, "yy": y * y, "xy": x * y}
