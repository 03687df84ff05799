"""Every metric alone, as a ratio to a bare scan of its table: where a run is slow though nobody looks."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.corner_metrics import SETTINGS
from benchmarks.corner_tables import TASKS
from benchmarks.measure import SMALL_ROWS, BenchmarkError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from benchmarks.tables import Tables

NAME = "corners"
ROWS = 2_000_000
WORST = 15
MOST = 30
"""A metric of all rows takes at most so many scans, unless its card says why it takes more."""

WEIGHTED = 3
"""And with weights so many times what it takes without."""


@dataclass(frozen=True, slots=True)
class Corner:
    """The processor seconds of a metric in each setting that it has, and of a bare scan of its table."""

    task: str
    metric: str
    seconds: Mapping[str, float]
    scan: float

    def ratio(self, setting: str) -> float | None:
        """A setting's seconds over those of the scan."""
        return self.seconds[setting] / self.scan if setting in self.seconds else None


def corner_names(name: str) -> list[str]:
    """The tasks that a name on the command line stands for: all, or one; none if it is another's name.

    >>> corner_names("corners.uplift"), len(corner_names("corners")), corner_names("sums")
    (['corners.uplift'], 7, [])
    """
    every = [f"{NAME}.{task}" for task in TASKS]
    return every if name == NAME else [name] if name in every else []


def measure_corners(tables: Tables, task: str, rows: int, rounds: int, *metrics: str) -> list[Corner]:
    """The metrics of a task, all by default, each with the least of some rounds.

    Raises:
        BenchmarkError: a run failed otherwise than by refusing the suite.
    """
    folders = [tables.table(size, 1, 1, f"{NAME} {task}") for size in (rows, min(rows, SMALL_ROWS))]
    scans: list[float] = []
    seconds: dict[str, dict[str, float]] = {}
    for _ in range(rounds):
        for run in _runs(task, folders, metrics):
            if "scan" in run:
                scans.append(float(run["scan"]))
            elif "seconds" in run:
                of_metric = seconds.setdefault(str(run["metric"]), {})
                setting, spent = str(run["setting"]), float(run["seconds"])
                of_metric[setting] = min(spent, of_metric.get(setting, spent))
    return [Corner(task, metric, of_metric, min(scans)) for metric, of_metric in seconds.items()]


def _runs(task: str, folders: Sequence[Path], metrics: Sequence[str]) -> list[dict[str, str | float]]:
    command = [sys.executable, "-m", "benchmarks.corner_metrics", task, *map(str, folders), *metrics]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        msg = f"{NAME}.{task} failed (exit code {done.returncode})\n{done.stderr.strip()[-2000:]}"
        raise BenchmarkError(msg)
    return [json.loads(line) for line in done.stdout.splitlines()]


def corners_section(task: str, corners: Sequence[Corner], rows: int, rounds: int, environment: str) -> str:
    """The metrics of a task as a Markdown section: the medians, and the worst by their worst ratio."""
    head = " | ".join(SETTINGS)
    scan = min((corner.scan for corner in corners), default=0.0)
    worst = sorted(corners, key=_worst, reverse=True)[:WORST]
    medians = [_ratio_text(_median(corners, setting)) for setting in SETTINGS]
    lines = [
        f"### corners of {task}: {len(corners)} metrics, each alone, in processor time of a bare scan",
        "",
        f"{rows:,} rows; the scan takes {1000 * scan:.1f} ms; the least of {rounds} "
        f"round{'s' * (rounds > 1)}. {environment}",
        "",
        f"| metric | {head} |",
        f"|---|{'---:|' * len(SETTINGS)}",
        f"| median of all | {' | '.join(medians)} |",
        *(
            f"| {corner.metric} | {' | '.join(_ratio_text(corner.ratio(name)) for name in SETTINGS)} |"
            for corner in worst
        ),
        "",
        f"* The {len(worst)} worst are shown, by their worst ratio.",
        f"* More than {MOST} scans for all rows: {_texts(_slow(corners))}.",
        f"* More than {WEIGHTED} times with weights: {_texts(_heavy(corners))}.",
    ]
    return "\n".join(lines)


def _worst(corner: Corner) -> float:
    return max(corner.seconds.values(), default=0.0) / corner.scan


def _median(corners: Sequence[Corner], setting: str) -> float | None:
    ratios = [ratio for corner in corners if (ratio := corner.ratio(setting)) is not None]
    return statistics.median(ratios) if ratios else None


def _slow(corners: Sequence[Corner]) -> list[str]:
    return [corner.metric for corner in corners if (corner.ratio("overall") or 0.0) > MOST]


def _heavy(corners: Sequence[Corner]) -> list[str]:
    """Metrics that weights make too dear."""
    return [
        corner.metric
        for corner in corners
        if {"overall", "weighted"} <= set(corner.seconds)
        and corner.seconds["weighted"] > WEIGHTED * corner.seconds["overall"]
    ]


def _texts(metrics: Sequence[str]) -> str:
    return ", ".join(metrics) or "none"


def _ratio_text(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.3g}"
