"""The search for slices, and a bare scan of the columns it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from benchmarks.contestants.contestant import Contestant
from benchmarks.contestants.ours import Evaluation, facts_of, models
from benchmarks.tables import NUMBERS, TEXTS

if TYPE_CHECKING:
    from pathlib import Path

SPEC = {"columns": [*TEXTS, *NUMBERS], "metric": "log_loss"}


def scan(folder: Path) -> pl.DataFrame:
    """Something of each column, nothing else."""
    numbers = [pl.col(name).sum() for name in ("label", "s0", *NUMBERS)]
    texts = [pl.col(name).str.len_bytes().sum() for name in TEXTS]
    return (
        pl.scan_parquet(folder).select(pl.len().alias("rows"), *numbers, *texts).collect(engine="streaming")
    )


def facts(result: Any) -> dict[str, Any]:
    """How many slices were searched, and the seconds of the stages."""
    searched = result.record["find_slices"]
    told = [f"{searched[name]:,} {name.replace('_', ' ')}" for name in ("tested", "stood_out", "confirmed")]
    return facts_of(result) | {"search": f"slices: {', '.join(told)}"}


CONTESTANTS = (
    Contestant(
        "scan_attributes",
        "parquet; a sum of each column, nothing else",
        load=lambda folder: folder,
        work=scan,
        values=lambda frame: {"rows": (float(frame["rows"].item()), 0.0)},
    ),
    Contestant(
        "search",
        "parquet; 1 model, log loss overall, and a search of 4 texts and 4 numbers, alone and crossed in pairs",
        load=lambda folder: folder,
        work=Evaluation({"metrics": ["log_loss"], "models": models(1), "find_slices": SPEC}),
        values=lambda result: {"rows": (float(result.metrics["n"].max()), 0.0)},
        facts=facts,
    ),
)
