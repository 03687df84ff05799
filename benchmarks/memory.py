"""What runs of several shapes take, beside what `plmetrics explain` said they would: python -m benchmarks.memory."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from benchmarks.contestants.ours import FLAGSHIP, REPLICATES, SLICES, SUMS, models
from benchmarks.every_task import SUITES
from benchmarks.tables import tables

if TYPE_CHECKING:
    from collections.abc import Sequence

SMALL_ROWS = 2_000
MEGA = 1_000_000
_CLEAR_PEAK = "5"


@dataclass(frozen=True, slots=True)
class Shape:
    """A suite on a table of some kind; `share` of the rows asked for, where a row takes more."""

    suite: dict[str, Any]
    table: str = "scores"
    models: int = 4
    share: float = 1.0


_BY_CUSTOMER = {"slices": SLICES, "uncertainty": REPLICATES}
_SCORES = {"columns": {"label": "label", "unit": "customer"}, "models": models(4)}
_BARE = {"columns": {"label": "label"}, "models": models(4)}
_FORECASTS = {"columns": {"label": "label", "unit": "customer"}}
_LEVELS = {f"0.{place}": f"q{place}0" for place in range(1, 10)}
_RANKING = {"columns": {"label": "relevance", "query": "query"}, "models": {"s": "score"}, "task": "ranking"}

SHAPES = {
    "sums": Shape(_BARE | {"metrics": SUMS}),
    "slices": Shape(_SCORES | _BY_CUSTOMER | {"metrics": SUMS}),
    "binned": Shape(_SCORES | _BY_CUSTOMER | {"metrics": FLAGSHIP, "exact": False}),
    "exact": Shape(_SCORES | _BY_CUSTOMER | {"metrics": FLAGSHIP, "exact": True}),
    "area": Shape(_BARE | {"metrics": ["roc_auc"], "exact": True}),
    "ranking": Shape(
        _RANKING | {"metrics": ["ndcg@10", "map", "mrr"], "uncertainty": REPLICATES}, "queries", 1
    ),
    "regression": Shape(
        _FORECASTS
        | _BY_CUSTOMER
        | {
            "task": "regression",
            "models": models(1),
            "metrics": ["mae", "rmse", "r2", "median_absolute_error", "absolute_error_quantile(q=0.9)"],
        },
        "forecasts",
        1,
    ),
    "quantile": Shape(
        _FORECASTS
        | _BY_CUSTOMER
        | {
            "task": "quantile",
            "models": {"m": {"quantiles": _LEVELS}},
            "metrics": ["wis", "crps", "mae", "interval_coverage(level=0.8)"],
        },
        "forecasts",
        1,
    ),
    **{f"task_{name}": Shape(dict(task.suite), task.table, 0) for name, task in SUITES.items()},
}


def measured(suite: Path, small: Path) -> dict[str, Any]:
    """Run a suite in this process, after a small one: what was told before, and the peak above the start."""
    import plmetrics as plm
    from plmetrics.api.inspection import bound_suite
    from plmetrics.features.explain.explanation import explain

    plm.run(small)
    before = _resident("VmRSS")
    Path("/proc/self/clear_refs").write_text(_CLEAR_PEAK)
    with bound_suite(suite) as request:
        told = explain(request)
    looked = _resident("VmHWM") - before
    Path("/proc/self/clear_refs").write_text(_CLEAR_PEAK)
    result = plm.run(suite)
    peak = _resident("VmHWM") - before
    parts = {name: round(held / MEGA) for name, held in told.memory.items()}
    return {
        "looked": looked,
        "peak": peak,
        "parts": parts,
        "told": (told.peak or 0) / MEGA,
        "warnings": result.record["warnings"],
        "rows": result.record["rows"]["used"],
    }


def _resident(name: str) -> float:
    """Megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) * 1024 / MEGA


def _suites(shape: Shape, folders: Sequence[Path], place: Path, memory: str | None) -> list[Path]:
    """The suite on its table, and on a small one."""
    made = []
    for name, folder in zip(("large", "small"), folders, strict=True):
        suite = {"name": name} | shape.suite
        suite["data"] = {"path": str(folder.resolve()), **shape.suite.get("data", {})}
        suite |= {} if memory is None else {"memory": memory}
        made.append(place / f"{name}.yaml")
        made[-1].write_text(yaml.safe_dump(suite), encoding="utf-8")
    return made


def main() -> int:
    """Print a line a shape."""
    command = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    command.add_argument("shapes", nargs="*", help=f"all by default: {', '.join(SHAPES)}")
    command.add_argument("--rows", type=int, default=4_000_000)
    command.add_argument("--files", type=int, default=4)
    command.add_argument("--cache", type=Path, help="folder for the tables, which are kept there")
    command.add_argument("--memory", help="the budget of the suites, such as 1GB: libraries are part of it")
    command.add_argument("--run", nargs=2, type=Path, help=argparse.SUPPRESS)
    options = command.parse_args()
    if options.run:
        print(json.dumps(measured(*options.run)))
        return 0
    with tables(options.cache, keep=options.cache is not None) as made:
        for name in options.shapes or SHAPES:
            shape = SHAPES[name]
            folders = [
                made.table(rows, options.files, shape.models, shape.table)
                for rows in (int(options.rows * shape.share), SMALL_ROWS)
            ]
            place = made.folder / f"suites-{name}"
            place.mkdir(exist_ok=True)
            suites = _suites(shape, folders, place, options.memory)
            words = [sys.executable, "-m", "benchmarks.memory", "--run", *map(str, suites)]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{name}: failed\n{done.stderr[-2000:]}", file=sys.stderr)
                return 1
            found = json.loads(done.stdout.splitlines()[-1])
            print(f"{name:12} {found}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
