"""Where the time of a scenario goes: seconds of the stages, and what each of our functions costs by itself."""

from __future__ import annotations

import pstats
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.contestants import CONTESTANTS
from benchmarks.contestants.contestant import nothing
from benchmarks.measure import BenchmarkError, folders_of, run_worker

if TYPE_CHECKING:
    from benchmarks.scenarios import Scenario
    from benchmarks.tables import Tables

Function = tuple[str, int, str]
Stats = dict[Function, tuple[int, int, float, float, dict[Function, tuple[int, int, float, float]]]]

PACKAGE = "plmetrics"
NAMED = 3
LISTED = 10


def profile(scenario: Scenario, tables: Tables, rows: int, environment: str) -> str:
    """Profile the scenario's contestants that tell their stages, as a Markdown section."""
    folders = folders_of(scenario, tables, rows)
    parts = [f"### Profile of {scenario.name}", "", f"{rows:,} rows. {environment}"]
    telling = [name for name in scenario.contestants if CONTESTANTS[name].facts is not nothing]
    if not telling:
        msg = f"{scenario.name}: none of its contestants tells its stages, so there is nothing to profile"
        raise BenchmarkError(msg)
    with tempfile.TemporaryDirectory() as place:
        for name in telling:
            file = Path(place) / name
            found = run_worker(name, folders, profile=file)
            parts += ["", *_lines(name, found, costs(file))]
    return "\n".join(parts)


def _lines(name: str, found: dict[str, Any], by_function: dict[str, float]) -> list[str]:
    stages = ", ".join(f"{stage} {spent:.2f}" for stage, spent in found["facts"]["stages"].items())
    total = sum(by_function.values())
    ordered = sorted(by_function.items(), key=lambda item: -item[1])
    largest = ", ".join(f"`{function}` {spent / total:.0%}" for function, spent in ordered[:NAMED])
    return [
        f"**{name}**, {found['seconds']:.2f} s: {stages}. The three largest costs: {largest}.",
        "",
        "| function, with what it calls in other packages | processor seconds on one processor | share |",
        "|---|---:|---:|",
        *(
            f"| `{function}` | {spent:.2f} | {spent / total:.0%} |"
            for function, spent in ordered[:LISTED]
            if spent / total >= 0.005
        ),
    ]


def costs(file: Path) -> dict[str, float]:
    """Seconds of each of our functions, from the file of a profile."""
    return costs_of(pstats.Stats(str(file)).stats)  # type: ignore[attr-defined]


def costs_of(stats: Stats) -> dict[str, float]:
    """Seconds of each of our functions: its own, and those of other packages' functions that it called.

    What another package's function spent belongs to its callers, in proportion to what each call took, up to the
    first function of ours. What none of ours called is `others`.
    """
    owners = Owners(stats)
    found: dict[str, float] = defaultdict(float)
    for function, (_, _, own, _, callers) in stats.items():
        if is_ours(function):
            found[label(function)] += own
            continue
        if not callers:
            found["others"] += own
        for caller, edge in callers.items():
            for owner, share in owners.of(caller).items():
                found[owner] += edge[2] * share
    return dict(found)


class Owners:
    """Which functions of ours a function works for, in shares."""

    def __init__(self, stats: Stats) -> None:
        """Take the profile."""
        self.stats = stats
        self.known: dict[Function, dict[str, float]] = {}

    def of(self, function: Function) -> dict[str, float]:
        """Owner -> share; the shares add up to 1."""
        if is_ours(function):
            return {label(function): 1.0}
        if function not in self.known:
            self.known[function] = {"others": 1.0}  # what calls itself in a ring, until the ring is known
            self.known[function] = self._by_callers(function)
        return self.known[function]

    def _by_callers(self, function: Function) -> dict[str, float]:
        callers = self.stats[function][4]
        total = sum(edge[3] for edge in callers.values())
        if not total:
            return {"others": 1.0}
        shares: dict[str, float] = defaultdict(float)
        for caller, edge in callers.items():
            for owner, share in self.of(caller).items():
                shares[owner] += share * edge[3] / total
        return dict(shares)


def is_ours(function: Function) -> bool:
    """Whether a function is in this project's package."""
    return PACKAGE in Path(function[0]).parts[:-1]


def label(function: Function) -> str:
    """Module within the package, and the function's name."""
    path = Path(function[0]).with_suffix("")
    parts = path.parts
    inside = parts[len(parts) - parts[::-1].index(PACKAGE) :]
    return f"{'.'.join(inside)}.{function[2]}"
