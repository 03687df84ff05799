"""How near sums, order and replicates are to what they cannot do without: rows read, keys counted, products made."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.contestants.floors import CONTESTANTS, MODELS
from benchmarks.measure import SMALL_ROWS, run_worker

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmarks.tables import Tables

NAME = "limits"
ROWS = 20_000_000
_FILES = 20


@dataclass(frozen=True, slots=True)
class Limit:
    """A stage's run, and the floors that add up to what it cannot do without."""

    stage: str
    does: str
    run: str
    floors: tuple[str, ...]


LIMITS = (
    Limit("sums", "each byte of the columns read once", "limit_sums", ("floor_rows",)),
    Limit(
        "order",
        "the same, and one key a row and model counted",
        "limit_order",
        ("floor_rows", "floor_first_keys"),
    ),
    Limit(
        "replicates",
        "rows read, a key a row, model and slice set counted, and W times the counts of each slice",
        "limit_replicates",
        ("floor_rows", "floor_keys", "floor_products"),
    ),
)


def measure_limits(tables: Tables, rows: int, rounds: int) -> dict[str, float]:
    """Processor seconds of each contestant: the median of some rounds, in alternation.

    Raises:
        BenchmarkError: a run failed.
    """
    folders: tuple[Path, Path] = (
        tables.table(rows, _FILES, MODELS, "scores"),
        tables.table(min(rows, SMALL_ROWS), _FILES, MODELS, "scores"),
    )
    names = [contestant.name for contestant in CONTESTANTS]
    runs = [{name: run_worker(name, folders)["processor"] for name in names} for _ in range(rounds)]
    return {name: statistics.median(run[name] for run in runs) for name in names}


def limits_section(seconds: Mapping[str, float], rows: int, rounds: int, environment: str) -> str:
    """A table of the stages: processor seconds of the floor and of ours, and their ratio."""
    lines = [
        f"### {NAME}: what sums, order and replicates take beside what they cannot do without",
        "",
        f"{rows:,} rows, {MODELS} models, the flagship's slices; processor seconds, median of {rounds}. {environment}",
        "",
        "| stage | cannot do without | floor s | ours s | ratio |",
        "|---|---|---:|---:|---:|",
    ]
    for limit in LIMITS:
        floor = sum(seconds[name] for name in limit.floors)
        ours = seconds[limit.run]
        lines.append(f"| {limit.stage} | {limit.does} | {floor:.2f} | {ours:.2f} | {ours / floor:.1f} |")
    parts = ", ".join(
        f"{name.removeprefix('floor_').replace('_', ' ')} {seconds[name]:.2f}" for name in _floors()
    )
    return "\n".join([*lines, "", f"* Floors: {parts}."])


def _floors() -> list[str]:
    return [contestant.name for contestant in CONTESTANTS if contestant.name.startswith("floor_")]
