"""Scenarios measured: every contestant in processes of its own, in alternation."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.agreement import disagreements, shared_values
from benchmarks.contestants import CONTESTANTS

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.scenarios import Scenario
    from benchmarks.tables import Tables

SMALL_ROWS = 2_000


class BenchmarkError(Exception):
    """A scenario has no figures: a contestant failed, or they disagree."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """Seconds of each round, the largest peak memory, and what the first round found."""

    seconds: list[float]
    peak_mb: float | None
    values: dict[str, tuple[float, float]]
    facts: dict[str, Any]

    @classmethod
    def of(cls, runs: list[dict[str, Any]]) -> Measurement:
        """Put the rounds together."""
        peaks = [run["peak_mb"] for run in runs if run["peak_mb"] is not None]
        seconds = [run["seconds"] for run in runs]
        return cls(seconds, max(peaks, default=None), runs[0]["values"], runs[0]["facts"])

    @property
    def median(self) -> float:
        """Median seconds."""
        return statistics.median(self.seconds)


@dataclass(frozen=True, slots=True)
class Figures:
    """What a scenario gave."""

    rows: int
    rounds: int
    measured: dict[str, Measurement]
    skipped: dict[str, list[str]]
    shared: int


def measure(scenario: Scenario, tables: Tables, rows: int, rounds: int) -> Figures:
    """Run the contestants whose packages are installed, in alternation.

    Raises:
        BenchmarkError: a contestant failed, or two found different values.
    """
    skipped = {name: CONTESTANTS[name].missing for name in scenario.contestants if CONTESTANTS[name].missing}
    present = [name for name in scenario.contestants if name not in skipped]
    folders = folders_of(scenario, tables, rows)
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in present}
    for _ in range(rounds):
        for name in present:
            runs[name].append(run_worker(name, folders, repeats=scenario.repeats))
    measured = {name: Measurement.of(found) for name, found in runs.items()}
    values = {name: measurement.values for name, measurement in measured.items()}
    apart = disagreements(values)
    if apart:
        raise BenchmarkError("\n  ".join([f"{scenario.name}: contestants disagree", *apart]))
    return Figures(rows, rounds, measured, skipped, shared_values(values))


def folders_of(scenario: Scenario, tables: Tables, rows: int) -> tuple[Path, Path]:
    """The scenario's table, and the one for the warm-up."""
    large, small = (
        tables.table(size, scenario.files, scenario.models, scenario.table)
        for size in (rows, min(rows, SMALL_ROWS))
    )
    return large, small


def run_worker(
    name: str, folders: tuple[Path, Path], *, repeats: int = 1, profile: Path | None = None
) -> dict[str, Any]:
    """Run a contestant in a process of its own.

    Raises:
        BenchmarkError: it failed; its last words are told.
    """
    command = [sys.executable, "-m", "benchmarks.worker", name, *map(str, folders), f"--repeats={repeats}"]
    if profile is not None:
        command.append(f"--profile={profile}")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        how = (
            f"exit code {done.returncode}" if done.returncode > 0 else f"killed by signal {-done.returncode}"
        )
        msg = f"{name} failed ({how})\n{done.stderr.strip()[-2000:]}"
        raise BenchmarkError(msg)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told
