"""Every task on many rows under a small memory budget: python -m benchmarks.every_task.

Each suite runs through the command line in a process of its own; its table is deleted before the next is written.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import yaml

from benchmarks.environment import environment
from benchmarks.markdown import write_section
from benchmarks.measure import BenchmarkError
from benchmarks.tables import tables
from benchmarks.task_tables import CLASSES, LEVELS
from benchmarks.worker import peak_megabytes

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "every_task"
README = Path(__file__).with_name("README.md")
ROWS = 200_000_000
MEMORY = "4GB"
FILE_ROWS = 5_000_000
_WARNINGS = 3


@dataclass(frozen=True, slots=True)
class TaskSuite:
    """A suite without its data, and the kind of table that it reads."""

    table: str
    suite: Mapping[str, Any]


_SAMPLES = {"replicates": 200, "seed": 7}
_BY_CUSTOMER = {
    "columns": {"label": "label", "unit": "customer"},
    "slices": {"region": "region"},
    "uncertainty": _SAMPLES,
}
_TWO = {"models": {"s0": "s0", "s1": "s1"}}
_SUMS = ["accuracy", "precision", "recall", "f1", "brier", "log_loss"]

SUITES = {
    "binary": TaskSuite(
        "task-binary",
        {
            **_BY_CUSTOMER,
            **_TWO,
            "metrics": ["roc_auc", "average_precision", "ks", "ece", *_SUMS],
            "compare": "s0",
        },
    ),
    "multiclass": TaskSuite(
        "task-multiclass",
        {
            **_BY_CUSTOMER,
            "task": "multiclass",
            "classes": list(range(CLASSES)),
            "models": {"m": {"proba": {str(index): f"p{index}" for index in range(CLASSES)}}},
            "metrics": [
                "accuracy",
                "f1",
                "balanced_accuracy",
                "log_loss",
                "brier",
                "roc_auc",
                "average_precision",
            ],
            "curves": ["confusion", "reliability"],
        },
    ),
    "regression": TaskSuite(
        "task-regression",
        {
            **_BY_CUSTOMER,
            **_TWO,
            "task": "regression",
            "metrics": [
                "mae",
                "rmse",
                "r2",
                "mape",
                "median_absolute_error",
                "absolute_error_quantile(q=0.9)",
            ],
            "curves": ["residual_qq", "conditional_label", "residual_quantiles"],
            "compare": "s0",
        },
    ),
    "ranking": TaskSuite(
        "task-ranking",
        {
            "task": "ranking",
            "columns": {"label": "label", "query": "query"},
            "models": {"m": "score"},
            "slices": {"region": "region"},
            "metrics": ["ndcg@10", "map", "mrr", "precision_at_k(k=10)"],
            "uncertainty": _SAMPLES,
        },
    ),
    "uplift": TaskSuite(
        "task-uplift",
        {
            **_BY_CUSTOMER,
            "columns": {"label": "label", "unit": "customer", "treatment": "treatment"},
            "task": "uplift",
            "models": {"m": "effect"},
            "metrics": ["ate", "qini", "auuc", "uplift_at_k(k=0.1)"],
            "curves": ["qini", "effect_calibration"],
        },
    ),
    "forecast": TaskSuite(
        "task-quantile",
        {
            **_BY_CUSTOMER,
            "task": "quantile",
            "models": {"m": {"quantiles": {str(level): f"q{round(100 * level)}" for level in LEVELS}}},
            "metrics": ["wis", "crps", "mae", "interval_coverage(level=0.8)", "interval_width(level=0.8)"],
        },
    ),
    "fairness": TaskSuite(
        "task-binary",
        {
            **_BY_CUSTOMER,
            "slices": {"group": "group"},
            "models": {"s0": "s0"},
            "metrics": [
                "demographic_parity_difference(by=group)",
                "equalized_odds_difference(by=group)",
                "disparity(roc_auc, by=group)",
                "recall",
            ],
        },
    ),
    "drift": TaskSuite(
        "task-binary",
        {
            "columns": {"label": "label"},
            "models": {"s0": "s0"},
            "metrics": ["log_loss", "brier"],
            "data": {"where": "month > 6"},
            "drift": {
                "where": "month <= 6",
                "columns": ["amount", "region", "group"],
                "measures": ["psi", "ks_2samp", "chi2_2samp", "wasserstein"],
            },
        },
    ),
}


def run_here(suite: Path) -> None:
    """Run a suite as the command line does, in this process, and print a line of JSON."""
    from plmetrics.cli.app import main as plmetrics

    code, start, before = 0, time.perf_counter(), time.process_time()
    sys.argv = ["plmetrics", "run", str(suite), "--quiet"]
    try:
        plmetrics()
    except SystemExit as end:
        code = int(end.code or 0)
    seconds = {"seconds": time.perf_counter() - start, "processor": time.process_time() - before}
    print(json.dumps({"code": code, "peak_mb": peak_megabytes(), **seconds}))


def run_apart(suite: Path) -> dict[str, Any]:
    """Run a suite in a process of its own.

    Raises:
        BenchmarkError: it did not end well.
    """
    command = [sys.executable, "-m", "benchmarks.every_task", "--run", str(suite)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    last = (done.stdout.splitlines() or [""])[-1]
    told: dict[str, Any] = json.loads(last) if last.startswith("{") else {}
    if done.returncode or told.get("code") or not told:
        code = done.returncode or told.get("code")
        msg = f"exit code {code}\n{(done.stderr or done.stdout).strip()[-2000:]}"
        raise BenchmarkError(msg)
    (folder,) = (path.parent for path in suite.parent.glob("runs/**/run.json"))
    record = json.loads((folder / "run.json").read_text())
    bounds = pl.read_parquet(folder / "metrics.parquet").filter(slice_set="overall").drop_nulls("bound")
    largest = bounds.group_by("metric").agg(pl.col("bound").max()).sort("metric")
    rows = record["rows"].get("pairs_read", record["rows"]["read"])
    return told | {"warnings": record["warnings"], "rows": rows, "bounds": dict(largest.iter_rows())}


def measure_task(name: str, rows: int, memory: str, cache: Path | None, *, keep: bool) -> str:
    """A line of the table: what a task took."""
    task = SUITES[name]
    with tables(cache, keep=keep) as made:
        folder = made.table(rows, max(1, rows // FILE_ROWS), 0, task.table)
        place = made.folder / f"suite-{name}-{rows}"
        place.mkdir(exist_ok=True)
        suite = {"name": name, **task.suite, "memory": memory, "output": {"directory": "runs"}}
        suite["data"] = {"path": str(folder.resolve()), **task.suite.get("data", {})}
        path = place / "suite.yaml"
        path.write_text(yaml.safe_dump(suite, sort_keys=False), encoding="utf-8")
        made.used.add(place)
        took = run_apart(path)
    bounds = ", ".join(f"{metric} {bound:.1e}" for metric, bound in took["bounds"].items())
    told = f"| {name} | {took['rows']:,} | {took['peak_mb']:.0f} | {took['processor']:.0f} | {took['seconds']:.0f} "
    return f"{told}| {bounds} | {'; '.join(took['warnings'][:_WARNINGS])} |"


def main() -> int:
    """Print a line a task; 1 if one failed."""
    command = argparse.ArgumentParser(prog="python -m benchmarks.every_task", description=__doc__)
    command.add_argument("tasks", nargs="*", help=f"all by default: {', '.join(SUITES)}")
    command.add_argument("--rows", type=int, default=ROWS)
    command.add_argument("--memory", default=MEMORY)
    command.add_argument("--cache", type=Path, help="folder for the tables")
    command.add_argument("--keep", action="store_true", help="leave the tables there for the next time")
    command.add_argument("--write", action="store_true", help="put the figures into the README")
    command.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    options = command.parse_args()
    if options.run:
        run_here(options.run)
        return 0
    head = [
        f"### {NAME}: each task on {options.rows:,} rows under `memory: {options.memory}`",
        "",
        f"1 round: seconds are also those of what else the machine did, memory is not. {environment()}",
        "",
        "| task | rows | peak MB | processor s | s | largest bound overall | warnings |",
        "|---|---:|---:|---:|---:|---|---|",
    ]
    lines, failed = [], False
    for name in options.tasks or SUITES:
        try:
            lines.append(measure_task(name, options.rows, options.memory, options.cache, keep=options.keep))
        except BenchmarkError as fault:
            lines.append(f"| {name} | | | | | | failed |")
            print(f"{name}: {fault}", file=sys.stderr)
            failed = True
        print(lines[-1], flush=True)
    if options.write:
        write_section(README, NAME, "\n".join([*head, *lines]))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
