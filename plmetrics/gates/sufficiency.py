"""Whether a slice is large enough for a gate to judge it: rows and positives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from plmetrics.suite.sections.gates import Gate

INSUFFICIENT = ("too_few_rows", "too_few_positives")
_PLACE = ("model", "slice_set", "slice")
_VERDICT = {"skip": "skipped", "warn": "fail", "fail": "fail"}


def with_sizes(rows: pl.DataFrame, gate: Gate, positives: pl.DataFrame | None) -> pl.DataFrame:
    """Rows of a gate with `insufficient`, the reason why a slice is too small, and `size`, in words how small.

    Both are null where the slice is large enough. Of two models that are compared, the one with fewer positives counts.

    Args:
        rows: of one gate, with model, slice_set, slice and n.
        gate: its min_rows and min_positives.
        positives: by model, slice_set and slice; None where they were not counted.
    """
    sizes = rows.with_columns(positives=pl.lit(None, pl.Float64))
    if gate.min_positives is not None and positives is not None:
        counted = positives
        if gate.rival is not None:
            others = positives.filter(model=gate.rival).drop("model")
            both = positives.join(others, on=_PLACE[1:], how="left", suffix="_other", maintain_order="left")
            counted = both.select(*_PLACE, pl.min_horizontal("positives", "positives_other"))
        sizes = rows.join(counted, on=_PLACE, how="left", maintain_order="left")
    minima = [
        (
            pl.col(name) < least,
            reason,
            pl.format("{} {}, at least {} needed", _row_count_text(name), pl.lit(word), pl.lit(least)),
        )
        for name, least, reason, word in (
            ("n", gate.min_rows, INSUFFICIENT[0], "rows"),
            ("positives", gate.min_positives, INSUFFICIENT[1], "positives"),
        )
        if least is not None
    ]
    reasons = [pl.when(condition).then(pl.lit(reason)) for condition, reason, _ in minima]
    words = [pl.when(condition).then(text) for condition, _, text in minima]
    nothing = pl.lit(None, pl.String)
    return sizes.with_columns(
        insufficient=pl.coalesce(*reasons, nothing), size=pl.coalesce(*words, nothing)
    ).drop("positives")


def _row_count_text(name: str) -> pl.Expr:
    """A number of rows as text."""
    return pl.col(name).cast(pl.Int64).cast(pl.String)


def verdict_of_insufficient(gate: Gate) -> tuple[pl.Expr, pl.Expr]:
    """Verdict and level of rows that are too small; to warn is to fail at level warn."""
    level = "warn" if gate.on_insufficient == "warn" else gate.level
    return pl.lit(_VERDICT[gate.on_insufficient]), pl.lit(level)
