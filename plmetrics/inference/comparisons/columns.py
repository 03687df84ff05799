"""Outcomes of tests as columns of the table `comparisons`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.inference.comparisons.tests.outcome import OK, TestOutcomes

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    numbers = {"difference": "estimate", "lower": "lower", "upper": "upper"}
    bounded = [each.lower is not None for each in posteriors]
    intervals = [
        "ok" if is_bounded else "no_interval" if each.status == OK else each.status
        for is_bounded, each in zip(bounded, posteriors, strict=True)
    ]
    texts: dict[str, list[str | None]] = {
        "status": [each.status for each in posteriors],
        "interval_status": [*intervals],
        "method": ["posterior" if is_bounded else None for is_bounded in bounded],
        "note": [_probabilities(each, rope) for each in posteriors],
    }
    columns: dict[str, list[float | None]] = {
        name: [getattr(each, field) for each in posteriors] for name, field in numbers.items()
    }
    return pl.DataFrame(
        [
            *(pl.Series(name, values, dtype=pl.Float64) for name, values in columns.items()),
            *(pl.Series(name, words, dtype=pl.String) for name, words in texts.items()),
            pl.Series("n", [each.n for each in posteriors], dtype=pl.Int64),
        ]
    ).with_columns(
        *(pl.lit(None, dtype=pl.Float64).alias(name) for name in ("std_error", "p_value", "statistic")),
        pl.lit("model").alias("contrast"),
        pl.lit("difference").alias("scale"),
        pl.lit(text).alias("test"),
    )


def _probabilities(posterior: Posterior, rope: float) -> str | None:
    """The probabilities in words; None where there are none."""
    if posterior.status != OK:
        return None
    parts = [f"P(difference < {-rope:g}) = {posterior.below:.3f}"]
    parts += [f"P(within {rope:g}) = {posterior.within:.3f}"] if rope else []
    return ", ".join([*parts, f"P(difference > {rope:g}) = {posterior.above:.3f}"])
