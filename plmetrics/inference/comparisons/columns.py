"""Outcomes of tests as columns of the table `comparisons`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.inference.comparisons.tests.outcome import OK, TestOutcomes

if TYPE_CHECKING:
    from plmetrics.inference.comparisons.posteriors import Posterior


def tested_columns(text: str, form: str | None, tested: TestOutcomes) -> pl.DataFrame:
    """Columns of `comparisons` for a test, a row per place."""
    ok = tested.status == "ok"
    nothing = np.full(len(ok), np.nan)
    columns = {"difference": tested.estimate, "lower": tested.lower, "upper": tested.upper}
    columns |= {"std_error": tested.std_error, "p_value": tested.p_value}
    columns["statistic"] = tested.statistic
    numbers = {
        name: np.where(ok & np.isfinite(part), part, np.nan) if part is not None else nothing
        for name, part in columns.items()
    }
    between = np.isfinite(numbers["lower"])
    status = np.where(ok & ~between, "no_interval", tested.status)
    words = [None] * len(ok) if tested.note is None else tested.note.tolist()
    frame = pl.DataFrame({name: pl.Series(values, nan_to_null=True) for name, values in numbers.items()})
    return frame.with_columns(
        pl.lit("model").alias("contrast"),
        pl.lit("difference").alias("scale"),
        pl.lit(text).alias("test"),
        pl.Series("n", tested.n, dtype=pl.Int64),
        pl.Series("status", tested.status.tolist(), dtype=pl.String),
        pl.Series("interval_status", status.tolist(), dtype=pl.String),
        pl.Series(
            "note", [text if fine else None for text, fine in zip(words, ok, strict=True)], dtype=pl.String
        ),
        pl.Series("method", [form if defined else None for defined in between.tolist()], dtype=pl.String),
    )


def posterior_columns(text: str, posteriors: Sequence[Posterior], rope: float) -> pl.DataFrame:
    """Columns of `comparisons` for a Bayesian test, a row per place; its probabilities are in the note."""
    numbers = {
        name: np.array([getattr(each, name) for each in posteriors], dtype=np.float64)
        for name in ("estimate", "lower", "upper")
    }
    n = np.array([each.n for each in posteriors], dtype=np.int64)
    status = np.array([each.status for each in posteriors], dtype=object)
    note = np.array([_probabilities(each, rope) for each in posteriors], dtype=object)
    nothing = np.full(len(n), np.nan)
    tested = TestOutcomes(nothing, nothing, n, status, note=note, **numbers)
    return tested_columns(text, "posterior", tested)


def _probabilities(posterior: Posterior, rope: float) -> str | None:
    """The probabilities in words; None where there are none."""
    if posterior.status != OK:
        return None
    parts = [f"P(< {f'-{rope:g}' if rope else 0}) = {posterior.below:.3f}"]
    parts += [f"P(within {rope:g}) = {posterior.within:.3f}"] if rope else []
    return ", ".join([*parts, f"P(> {rope:g}) = {posterior.above:.3f}"])
