"""What each kind of work costs here, in processor time: python -m benchmarks.costs [--write].

Suites of known work run one after another; seconds of each kind are fitted to the time of their stages, and judged on
suites drawn at random, which they were not fitted to. `--write` writes the file that `plmetrics explain` reads.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml
from scipy.optimize import nnls

from benchmarks.cost_suites import CostSuite, fitted_suites, random_suites
from benchmarks.environment import memory, processor, version
from benchmarks.tables import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from benchmarks.tables import Tables

FILE = Path(__file__).parents[1] / "plmetrics" / "features" / "explain" / "costs.json"
SUITES, SEED = 30, 11
STAGES = {"rank": "prepare", "tests": "intervals"}
"""Stages whose time is told with another's."""

_FLOOR = 0.05
"""Seconds below which a difference says nothing about a stage."""

STATE_ROWS, MOST_STATES, TRIES = (200_000, 1_000_000), 12, 2
MEGA = 1e6

Observation = dict[str, Any]


def observed(suite: Path) -> Observation:
    """The work of a suite as `explain` counts it, and the processor time of its stages."""
    import plmetrics as plm
    from plmetrics.api import stopwatch
    from plmetrics.api.inspection import bound_suite
    from plmetrics.features.explain.explanation import explain

    setattr(stopwatch, "time", SimpleNamespace(perf_counter=time.process_time))  # noqa: B010
    with bound_suite(suite) as request:
        work = [[part.stage, part.kind, part.number] for part in explain(request).work]
    runs = []
    for _ in range(2):
        before = time.process_time()
        result = plm.run(suite)
        runs.append((time.process_time() - before, dict(result.record["timings"])))
    total, timings = min(runs, key=lambda run: run[0])
    return {"work": work, "timings": timings, "total": total}


def observe(made: Tables, suites: Iterable[CostSuite], file: Path | None) -> list[Observation]:
    """Run suites one after another, in one process whose libraries are loaded, but those that a file has already."""
    known = {} if file is None or not file.exists() else dict(map(_named, file.read_text().splitlines()))
    suites = list(suites)
    missing = [cost for cost in suites if cost.name not in known]
    for name, line in _observed_apart(made, missing) if missing else ():
        known[name] = {"name": name} | json.loads(line)
        print(f"{name}: {known[name]['total']:.2f} s", file=sys.stderr, flush=True)
        if file is not None:
            with file.open("a") as out:
                out.write(json.dumps(known[name]) + "\n")
    return [known[cost.name] for cost in suites]


def _named(line: str) -> tuple[str, Observation]:
    one = json.loads(line)
    return one["name"], one


def _observed_apart(made: Tables, suites: Sequence[CostSuite]) -> Iterator[tuple[str, str]]:
    """Name and observation of each suite, from a process of their own."""
    place = Path(tempfile.mkdtemp(prefix="suites-", dir=made.folder))
    made.used.add(place)
    names, paths = [], []
    for number, cost in enumerate(suites):
        folder = made.table(cost.rows, 4, 4 if cost.table == "scores" else 1, cost.table)
        path = place / f"{number}.yaml"
        path.write_text(
            yaml.safe_dump({"name": "costs", "data": {"path": str(folder.resolve())}} | dict(cost.suite))
        )
        names.append(cost.name)
        paths.append(path)
    command = [sys.executable, "-m", "benchmarks.costs", "--run", *map(str, paths)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield from zip(names, process.stdout, strict=False)
    if process.returncode:
        msg = "a suite failed: the last line says which was the last that did not"
        raise RuntimeError(msg)


def start_seconds(made: Tables) -> float:
    """Processor seconds of a whole command on a table of few rows."""
    place = made.folder / "start.yaml"
    made.used.add(place)
    path = made.table(2_000, 1, 1, "scores").resolve()
    suite = {"name": "start", "data": {"path": str(path)}, "columns": {"label": "label"}}
    place.write_text(yaml.safe_dump(suite | {"models": {"s0": "s0"}, "metrics": ["accuracy"]}))
    taken = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "plmetrics", "run", str(place), "--quiet"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(taken)


def state_observations(made: Tables) -> list[dict[str, float]]:
    """States of sums and of scores: how many, how large, and processor seconds of writing one and of adding all."""
    from benchmarks.contestants.ours import SUMS
    from benchmarks.contestants.states import sum_of_states, written
    from plmetrics.features.stored.state_files import read_state, state_bytes

    found = []
    for rows in STATE_ROWS:
        sums = 0.0
        for metrics in (SUMS, ["roc_auc", *SUMS]):
            days = written(made.table(rows, 4, 4, "scores"), metrics, MOST_STATES)
            state = read_state(days.files[0])
            size = len(state_bytes(state.head, state.table)[0]) / MEGA
            sums = sums or size
            write = _best(lambda state=state: state_bytes(state.head, state.table))  # type: ignore[misc]
            for number in (4, MOST_STATES):
                add = _best(lambda files=days.files[:number]: sum_of_states(files))  # type: ignore[misc]
                found.append(
                    {"states": number, "sums": sums, "scores": size - sums, "write": write, "add": add}
                )
                print(f"{number} states of {size:.2f} MB: added in {add:.2f} s", file=sys.stderr)
            days.home.cleanup()
    return found


def _best(work: Callable[[], object]) -> float:
    """The least processor time of some tries, the first of which also loads what is needed."""
    taken = []
    for _ in range(TRIES):
        before = time.process_time()
        work()
        taken.append(time.process_time() - before)
    return min(taken)


def fitted_states(found: Sequence[dict[str, float]]) -> dict[str, float]:
    """Seconds of a megabyte that is written, of one that is added, and of a state that is added."""
    written = {(one["sums"] + one["scores"], one["write"]) for one in found}
    parts = [[one["states"] * one["sums"], one["states"] * one["scores"], one["states"]] for one in found]
    target = np.array([one["add"] for one in found])
    weight = 1 / (target + _FLOOR)
    (of_sums, of_scores, of_number), _ = nnls(np.array(parts) * weight[:, None], target * weight)
    return {
        "megabytes of states written": sum(spent for _, spent in written) / sum(size for size, _ in written),
        "megabytes of sums merged": of_sums,
        "megabytes of scores merged": of_scores,
        "states merged": of_number,
    }


def stage_rows(found: Sequence[Observation]) -> list[tuple[dict[str, float], float]]:
    """The work of each stage of each run, and its seconds."""
    rows = []
    for one in found:
        seconds: dict[str, float] = defaultdict(float)
        for stage, spent in one["timings"].items():
            seconds[STAGES.get(stage, stage)] += spent
        work: dict[str, dict[str, float]] = defaultdict(dict)
        for stage, kind, number in one["work"]:
            of_stage = work[STAGES.get(stage, stage)]
            of_stage[kind] = of_stage.get(kind, 0.0) + number
        rows += [(work[stage], spent) for stage, spent in seconds.items() if work.get(stage)]
    return rows


def fitted(found: Sequence[Observation]) -> dict[str, float]:
    """Seconds of each kind, none below zero, by least squares of relative errors."""
    rows = stage_rows(found)
    kinds = sorted({kind for work, _ in rows for kind in work})
    matrix = np.array([[work.get(kind, 0.0) for kind in kinds] for work, _ in rows])
    target = np.array([seconds for _, seconds in rows])
    weight = 1 / (target + _FLOOR)
    scale = np.maximum(matrix.max(axis=0), 1e-300)
    seconds, _ = nnls(matrix / scale * weight[:, None], target * weight)
    return dict(zip(kinds, (seconds / scale).tolist(), strict=True))


def errors(found: Sequence[Observation], seconds: dict[str, float]) -> list[tuple[str, float, float]]:
    """Name, expected and taken seconds of each run, without what a command takes to start."""
    return [
        (
            one["name"],
            sum(number * seconds[kind] for _, kind, number in one["work"] if kind != "run"),
            one["total"],
        )
        for one in found
    ]


def main() -> int:
    """Measure, fit, judge and print; or write."""
    command = argparse.ArgumentParser(prog="python -m benchmarks.costs", description=__doc__)
    command.add_argument("--cache", type=Path, help="folder for the tables, which are kept there")
    command.add_argument("--write", action="store_true", help="write the constants that `explain` reads")
    command.add_argument("--observations", type=Path, help="file of what was observed: gone on with")
    command.add_argument("--run", nargs="+", type=Path, help=argparse.SUPPRESS)
    options = command.parse_args()
    if options.run:
        for path in options.run:
            print(json.dumps(observed(path)), flush=True)
        return 0
    found = measured(options.cache, options.observations)
    seconds = {"run": found["start"], **fitted(found["fitted"]), **fitted_states(found["states"])}
    for name in ("fitted", "random"):
        told = errors(found[name], seconds)
        apart = np.array([abs(expected / taken - 1) for _, expected, taken in told])
        for (label, expected, taken), error in zip(told, apart, strict=True):
            print(f"{label:48} expected {expected:7.2f} s, took {taken:7.2f} s, {error:4.0%} off")
        print(f"{name}: median {np.median(apart):.0%}, nine in ten within {np.quantile(apart, 0.9):.0%}")
    content = {
        "machine": f"{processor()}, {os.cpu_count()} processors, {memory()}, {version('polars')}",
        "date": datetime.now(UTC).date().isoformat(),
        "seconds": {kind: float(f"{value:.3g}") for kind, value in sorted(seconds.items())},
        "error": {"suites": len(apart), "median": round(float(np.median(apart)), 2)}
        | {"nine_in_ten": round(float(np.quantile(apart, 0.9)), 2)},
    }
    text = json.dumps(content, indent=2) + "\n"
    print(text)
    if options.write:
        FILE.write_text(text, encoding="utf-8")
    return 0


def measured(cache: Path | None, file: Path | None) -> dict[str, Any]:
    """What was observed of all suites."""
    with tables(cache, keep=cache is not None) as made:
        return {
            "fitted": observe(made, fitted_suites(), file),
            "random": observe(made, random_suites(SUITES, SEED), file),
            "start": _remembered("start", lambda: start_seconds(made), file),
            "states": _remembered("states", lambda: state_observations(made), file),
        }


def _remembered(name: str, make: Callable[[], Any], file: Path | None) -> Any:
    """What a file has of a name, else what is made anew and added to it."""
    if file is None:
        return make()
    known = dict(map(_named, file.read_text().splitlines())) if file.exists() else {}
    if name not in known:
        known[name] = {"name": name, "found": make()}
        with file.open("a") as out:
            out.write(json.dumps(known[name]) + "\n")
    return known[name]["found"]


if __name__ == "__main__":
    sys.exit(main())
