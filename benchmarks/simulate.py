"""A fleet of workers on paper: python -m benchmarks.simulate [--check].

How long a table of many rows takes on many workers, from the measured costs of work and the sizes of states. Units are
handed out in order to whoever is free; some take longer than others, and some are lost and counted again, by stated
laws. `--check` counts a small table by 1, 2 and 4 processes of this machine, beside what is predicted of that.
"""

from __future__ import annotations

import argparse
import heapq
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from benchmarks.contestants.ours import CELL, SUMS, models
from benchmarks.environment import environment
from benchmarks.markdown import write_section
from benchmarks.tables import tables

if TYPE_CHECKING:
    from benchmarks.tables import Tables

NAME = "simulate"
README = Path(__file__).with_name("README.md")
SAMPLE_ROWS = 1_000_000
CHECK_UNITS, CHECK_ROWS, PROCESSES = 8, 1_000_000, (1, 2, 4)
SPREAD, SLOW_SHARE, SLOW_SHAPE, SLOW_LEAST = 0.15, 0.02, 1.5, 2.0
"""Log-normal noise of every unit; a share of slow ones, by a factor of Pareto's law of this shape and least value."""

LOST_SHARE = 0.01
"""The share of attempts that are lost, at any moment of them, and begun again."""

STORE_SPEED = 100e6
"""Bytes a second at which one process reads states from a store or writes them to it."""

FAN_IN = 32
SUITES: dict[str, dict[str, Any]] = {
    "sums": {"metrics": SUMS},
    "sums by unit": {"metrics": SUMS, "uncertainty": {"replicates": 1000, "seed": 7}},
    "scores": {"metrics": ["roc_auc", "average_precision", "ks", *SUMS]},
    "scores by unit": {
        "metrics": ["roc_auc", "average_precision", "ks", *SUMS],
        "uncertainty": {"replicates": 1000, "seed": 7},
    },
}


@dataclass(frozen=True, slots=True)
class UnitCost:
    """What one unit takes: processor seconds of counting and writing it, bytes of its state, and of scores in that."""

    seconds: float
    state: float
    scores: float


@dataclass(frozen=True, slots=True)
class Fleet:
    """Workers of one processor each, and the laws of their delays."""

    workers: int
    spread: float = SPREAD
    slow: float = SLOW_SHARE
    lost: float = LOST_SHARE


@dataclass(frozen=True, slots=True)
class Counted:
    """One draw: seconds until the last unit is there, attempts that were lost, and the share of time workers worked."""

    seconds: float
    lost: int
    busy: float


def suite_of(name: str, folder: Path, number: int) -> dict[str, Any]:
    """A suite of the fleet on a table."""
    columns = {"label": "label", "unit": "customer"}
    base = {"name": "fleet", "data": {"path": str(folder.resolve())}, "columns": columns, "slices": CELL}
    return base | {"models": models(number), "exact": False, "reproducible": False} | SUITES[name]


def unit_cost(suite: Path, rows: int) -> UnitCost:
    """What a unit of so many rows takes, by the work that `explain` counts on a sample of such a table."""
    from plmetrics.api.inspection import bound_suite
    from plmetrics.engine.memory.run_memory import Sizes, expected_entries, sum_schemas
    from plmetrics.engine.prepare.preparation import prepare
    from plmetrics.features.explain.passes import passes
    from plmetrics.features.explain.states import state_size
    from plmetrics.features.explain.work import costs, expected_time, work_of

    with bound_suite(suite) as request:
        small = prepare(request)
        plan = replace(small, rows=replace(small.rows, read=rows))
        blocks = 1 if plan.blocks is None else plan.blocks.modulus or len(plan.blocks.keys or ())
        entries = [expected_entries(plan, cube, blocks) for cube in plan.cubes]
        scans = [replace(part, rows=rows) for part in passes(request, plan)]
        columns = [
            name for name in request.view.schema if name in {"label", "customer", *CELL["cell"], *models(4)}
        ]
        sizes = Sizes(rows, 0, entries, blocks, sum_schemas(plan))
        work = work_of(plan, scans, sizes, columns, 0)
        state = state_size(request, plan, sizes)
    counted = [part for part in work if part.kind != "run" and not _of_replicates(part.kind)]
    size, scores = state.bytes or 0, state.scores or 0
    written = size / 1e6 * costs().seconds["megabytes of states written"]
    return UnitCost(expected_time(counted).processor + written, size, scores)


def _of_replicates(kind: str) -> bool:
    """Whether a kind of work is done once, of the merged state, and not of each unit."""
    return kind.startswith(("products", "values", "weights", "estimates")) or kind.endswith("replicates")


def counted_by(fleet: Fleet, seconds: float, units: int, rng: np.random.Generator) -> Counted:
    """Hand out units in order to whoever is free first; what is lost is begun again by the same worker."""
    factor = np.exp(rng.normal(0.0, fleet.spread, units))
    slow = rng.random(units) < fleet.slow
    factor[slow] *= SLOW_LEAST * (1 + rng.pareto(SLOW_SHAPE, int(slow.sum())))
    lost = rng.geometric(1 - fleet.lost, units) - 1
    wasted = np.array([rng.random(int(times)).sum() for times in lost])
    free = [0.0] * min(fleet.workers, units)
    for spent in seconds * factor * (1 + wasted):
        heapq.heapreplace(free, free[0] + float(spent))
    end = max(free)
    return Counted(
        end, int(lost.sum()), float((seconds * factor * (1 + wasted)).sum() / (end * fleet.workers))
    )


def merge_seconds(states: int, cost: UnitCost, *, fan_in: int | None = None) -> float:
    """Seconds of adding states: by one process all of them, or by many, so many at a time, round after round.

    A state that is the sum of others is taken to be as large as they are.
    """
    from plmetrics.features.explain.states import adding_seconds
    from plmetrics.features.explain.work import costs

    moved = cost.state / STORE_SPEED
    each = adding_seconds(1, cost.state, cost.scores) + moved
    if fan_in is None:
        return states * each
    written = cost.state / 1e6 * costs().seconds["megabytes of states written"] + moved
    rounds = max(1, math.ceil(math.log(states, fan_in)))
    return rounds * (fan_in * each + written)


def table_line(name: str, cost: UnitCost, fleet: Fleet, units: int, draws: int) -> str:
    """A line: what the units take, when the last is there in half of the draws and in nine of ten, and merging."""
    rng = np.random.default_rng(7)
    made = [counted_by(fleet, cost.seconds, units, rng) for _ in range(draws)]
    ends = [one.seconds for one in made]
    at_once, by_tree = merge_seconds(units, cost), merge_seconds(units, cost, fan_in=FAN_IN)
    cells = [
        name,
        f"{cost.seconds:.1f}",
        f"{cost.state / 1e6:.2f}",
        f"{cost.state * units / 1e9:.2f}",
        f"{cost.seconds * units / 3600:.1f}",
        f"{np.median(ends):.0f} ({np.quantile(ends, 0.9):.0f})",
        f"{np.mean([one.busy for one in made]):.0%}",
        f"{np.mean([one.lost for one in made]):.0f}",
        f"{at_once:.0f}",
        f"{by_tree:.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def simulated(made: Tables, rows: int, units: int, fleet: Fleet, draws: int) -> list[str]:
    """The table of a fleet."""
    folder, place = made.table(SAMPLE_ROWS, 1, 4), made.folder / "fleet.yaml"
    made.used.add(place)
    lines = [
        f"{rows:,} rows x 4 models in {units:,} units on {fleet.workers} workers of one processor; {draws} draws; "
        f"noise of a unit: log-normal {fleet.spread:g}, one in {1 / fleet.slow:.0f} slow by "
        f"Pareto({SLOW_SHAPE:g}) from {SLOW_LEAST:g} times on; one attempt in {1 / fleet.lost:.0f} is lost; "
        f"states move at {STORE_SPEED / 1e6:.0f} MB/s.",
        "",
        "| suite | s a unit | MB a state | GB of states | processor hours | s until the last unit (nine in ten) | "
        f"busy | lost | s of one merge | s of a tree by {FAN_IN} |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in SUITES:
        place.write_text(yaml.safe_dump(suite_of(name, folder, 4)), encoding="utf-8")
        lines.append(table_line(name, unit_cost(place, rows // units), fleet, units, draws))
    return lines


def checked(made: Tables, units: int, rows: int) -> list[str]:
    """What a small table takes by 1, 2 and 4 processes here, beside what is predicted."""
    from plmetrics.features.explain.work import costs

    folder = made.table(units * rows, units, 4)
    place = Path(tempfile.mkdtemp(prefix="fleet-", dir=made.folder))
    made.used.add(place)
    lines = [
        f"{units} units of {rows:,} rows x 4 models here, predicted with what `explain` knows, by no worker's delay.",
        "",
        "| suite | processes | predicted processor s | processor s | predicted s | s |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    start = costs().seconds["run"]
    for name in ("sums", "scores"):
        suite = place / f"{name}.yaml"
        suite.write_text(yaml.safe_dump(suite_of(name, folder, 4)), encoding="utf-8")
        cost = unit_cost(suite, rows)
        for processes in PROCESSES:
            spent, wall = run_on(suite, processes)
            free = min(processes, os.cpu_count() or 1)
            merging = merge_seconds(units, cost)
            busy = start * (1 + processes) + units * cost.seconds + merging
            clock = start * (1 + processes / free) + math.ceil(units / free) * cost.seconds + merging
            lines.append(f"| {name} | {processes} | {busy:.1f} | {spent:.1f} | {clock:.1f} | {wall:.1f} |")
            print(lines[-1], file=sys.stderr, flush=True)
    return lines


def run_on(suite: Path, processes: int) -> tuple[float, float]:
    """Processor seconds and seconds by the clock of a run on processes, which counts all units anew."""
    output = tempfile.mkdtemp(dir=suite.parent)
    settings = ["--set", f"engine.states={output}/states", "--output", f"{output}/runs"]
    command = [
        sys.executable,
        "-m",
        "plmetrics",
        "run",
        str(suite),
        "--on",
        f"processes:{processes}",
        "--quiet",
    ]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([*command, *settings], check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> int:
    """Print the table of the fleet, or of the check."""
    command = argparse.ArgumentParser(prog="python -m benchmarks.simulate", description=__doc__)
    command.add_argument("--rows", type=int, default=10**10)
    command.add_argument("--units", type=int, default=1000)
    command.add_argument("--workers", type=int, default=100)
    command.add_argument("--draws", type=int, default=200)
    command.add_argument(
        "--check", action="store_true", help="count a small table here, beside the prediction"
    )
    command.add_argument("--check-rows", type=int, default=CHECK_ROWS, help="rows of a unit that is counted")
    command.add_argument("--cache", type=Path, help="folder for the tables, which are kept there")
    command.add_argument("--write", action="store_true", help="put the tables into the README")
    options = command.parse_args()
    with tables(options.cache, keep=options.cache is not None) as made:
        fleet = Fleet(options.workers)
        lines = [f"### {NAME}: a fleet on paper", "", environment(), ""]
        lines += simulated(made, options.rows, options.units, fleet, options.draws)
        lines += ["", *checked(made, CHECK_UNITS, options.check_rows)] if options.check else []
    print("\n".join(lines))
    if options.write:
        write_section(README, NAME, "\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
