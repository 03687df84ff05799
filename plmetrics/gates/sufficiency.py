"""Whether a slice is large enough for a gate to judge it: rows, positives and the share that has labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.catalogue.metric import leaves
from plmetrics.core.results import LABELLED

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.suite.sections.gates import Gate

INSUFFICIENT = ("too_few_rows", "too_few_positives", "too_few_labels")
_PLACE = ("model", "slice_set", "slice")
_VERDICT = {"skip": "skipped", "warn": "fail", "fail": "fail"}


@dataclass(frozen=True, slots=True)
class Coverage:
    """The share of rows with a label that gates need: those on metrics that need labels.

    `shares` are by model, slice set and slice. Metrics of rows with or without a label are `label_free`, by text.
    """

    least: float
    shares: pl.DataFrame
    label_free: frozenset[str]

    def binds(self, metric: Metric) -> bool:
        """Whether it holds for a metric: one that is made from others if it does for any of them."""
        return any(not leaf.every_row and leaf.text not in self.label_free for leaf in leaves(metric))

    def of(self, rows: pl.DataFrame, rival: str | None) -> pl.DataFrame:
        """The share of each row of a gate: of two models the smaller one, of all slices of a set that overall."""
        shares = self.shares
        if rival is not None:
            others = shares.filter(model=rival).drop("model")
            both = shares.join(others, on=_PLACE[1:], how="left", suffix="_other", maintain_order="left")
            shares = both.select(*_PLACE, pl.min_horizontal(LABELLED, f"{LABELLED}_other"))
        overall = shares.filter(slice_set="overall").select("model", pl.col(LABELLED).alias("@overall"))
        found = rows.join(shares, on=_PLACE, how="left", maintain_order="left")
        found = found.join(overall, on="model", how="left", maintain_order="left")
        return found.with_columns(pl.coalesce(LABELLED, "@overall")).drop("@overall")


def with_sizes(
    rows: pl.DataFrame, gate: Gate, positives: pl.DataFrame | None, coverage: Coverage | None = None
) -> pl.DataFrame:
    """Rows of a gate with `insufficient`, the reason why a slice is too small, and `size`, in words how small.

    Both are null where the slice is large enough. Of two models that are compared, the one with fewer positives counts.

    Args:
        rows: of one gate, with model, slice_set, slice and n.
        gate: its min_rows and min_positives.
        positives: by model, slice_set and slice; None where they were not counted.
        coverage: the share of rows with a label that it needs; None where each row must have one.
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
    if coverage is not None and coverage.binds(gate.subject):
        sizes = coverage.of(sizes, gate.rival)
        share, least = pl.col(LABELLED), coverage.least
        text = f"{{}}% of the rows have labels, at least {100 * least:g}% needed"
        percent = (100 * share).round(1).cast(pl.String).str.strip_suffix(".0")
        minima.append((share < least, INSUFFICIENT[2], pl.format(text, percent)))
    reasons = [pl.when(condition).then(pl.lit(reason)) for condition, reason, _ in minima]
    words = [pl.when(condition).then(text) for condition, _, text in minima]
    nothing = pl.lit(None, pl.String)
    return sizes.with_columns(
        insufficient=pl.coalesce(*reasons, nothing), size=pl.coalesce(*words, nothing)
    ).drop("positives", LABELLED, strict=False)


def _row_count_text(name: str) -> pl.Expr:
    """A number of rows as text."""
    return pl.col(name).cast(pl.Int64).cast(pl.String)


def verdict_of_insufficient(gate: Gate) -> tuple[pl.Expr, pl.Expr]:
    """Verdict and level of rows that are too small; to warn is to fail at level warn.

    Rows with too few labels are inconclusive unless the gate says otherwise: labels will come.
    """
    level = "warn" if gate.on_insufficient == "warn" else gate.level
    verdict = pl.lit(_VERDICT[gate.on_insufficient])
    if "on_insufficient" not in gate.model_fields_set:
        unjudged = pl.col("insufficient") == INSUFFICIENT[2]
        verdict = pl.when(unjudged).then(pl.lit("inconclusive")).otherwise(verdict)
    return verdict, pl.lit(level)
