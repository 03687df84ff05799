"""python -m benchmarks [NAME ...] [--rows N] [--rounds N] [--write]."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.scenarios import SCENARIOS, Scenario
from benchmarks.tables import table

Measured = dict[str, dict[str, float]]

README = Path(__file__).with_name("README.md")
MARK = "<!-- figures -->"


def measure(scenario: Scenario, rows: int, rounds: int) -> Measured:
    """Best seconds and peak memory of each contestant over alternating rounds."""
    folder = table(rows)
    best: Measured = {}
    for _ in range(rounds):
        for name in scenario.contestants:
            slow = name == "fairlearn_auc"
            command = [sys.executable, "-m", "benchmarks.worker", name, str(folder), "0" if slow else "1"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"{name} failed:\n{done.stderr}")
            found = json.loads(done.stdout.splitlines()[-1])
            known = best.setdefault(name, found)
            known["seconds"] = min(known["seconds"], found["seconds"])
            known["peak_mb"] = max(known["peak_mb"], found["peak_mb"])
    return best


def lines(scenario: Scenario, rows: int, measured: Measured) -> list[str]:
    """The scenario as a Markdown section."""
    out = [f"### {scenario.name}: {scenario.what}", "", f"{rows:,} rows", ""]
    out += ["| contestant | seconds | peak MB |", "|---|---|---|"]
    out += [
        f"| {name} | {found['seconds']:.3f} | {found['peak_mb']:.0f} |" for name, found in measured.items()
    ]
    for target in scenario.targets:
        ratio = measured[target.of]["seconds"] / measured[target.to]["seconds"]
        reached = "reached" if ratio <= target.most else "not reached"
        aim, is_ = (
            (f"{target.most:.2g}", f"{ratio:.2f}")
            if target.most >= 1
            else (f"1/{1 / target.most:.0f}", f"1/{1 / ratio:.1f}")
        )
        out += ["", f"{target.of} / {target.to}: **{is_}**, aim {aim}: {reached}"]
    return [*out, ""]


def environment() -> str:
    """Machine and versions in a line."""
    names = ("plmetrics", "polars", "numpy", "scikit-learn", "fairlearn")
    versions = []
    for name in names:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"{name} absent")
    day = datetime.now(UTC).date().isoformat()
    return (
        f"{day}, {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        + ", ".join(versions)
    )


def main() -> None:
    """Measure the scenarios named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SCENARIOS))
    parser.add_argument("--rows", type=int, help="rows instead of the scenario's own number")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="put the figures into benchmarks/README.md")
    options = parser.parse_args()
    unknown = set(options.names) - set(SCENARIOS)
    if unknown:
        parser.error(f"unknown scenario {', '.join(sorted(unknown))}; known: {', '.join(SCENARIOS)}")
    report = [f"`python -m benchmarks {' '.join(options.names)}`".replace(" `", "`"), "", environment(), ""]
    for name in options.names or SCENARIOS:
        scenario = SCENARIOS[name]
        rows = options.rows or scenario.rows
        report += lines(scenario, rows, measure(scenario, rows, options.rounds))
    print("\n".join(report))
    if options.write:
        head = README.read_text().split(MARK)[0]
        README.write_text(f"{head}{MARK}\n\n" + "\n".join(report))


if __name__ == "__main__":
    main()
