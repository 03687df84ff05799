"""Measure ours against peers: seeded tables, contestants in processes of their own, in alternation."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.corners import NAME as CORNERS
from benchmarks.corners import ROWS as CORNER_ROWS
from benchmarks.corners import corner_names, corners_section, measure_corners
from benchmarks.environment import environment
from benchmarks.growth import NAME as GROWTH
from benchmarks.growth import TOP_ROWS, curve_names, curve_section, measure_curve
from benchmarks.limits import NAME as LIMITS
from benchmarks.limits import ROWS as LIMIT_ROWS
from benchmarks.limits import limits_section, measure_limits
from benchmarks.markdown import section, write_section
from benchmarks.measure import BenchmarkError, measure
from benchmarks.profiling import profile
from benchmarks.scenarios import SCENARIOS
from benchmarks.tables import tables

if TYPE_CHECKING:
    from benchmarks.tables import Tables

KNOWN = (*SCENARIOS, LIMITS, GROWTH, *curve_names(GROWTH), CORNERS, *corner_names(CORNERS))
README = Path(__file__).with_name("README.md")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    made.add_argument(
        "names", nargs="*", metavar="NAME", help=f"scenarios, all by default: {', '.join(KNOWN)}"
    )
    made.add_argument(
        "--rows", type=positive, help="rows instead of the scenario's own number; of growth the most"
    )
    made.add_argument(
        "--rounds", type=positive, default=3, help="processes of each contestant, in alternation [3]"
    )
    made.add_argument("--profile", action="store_true", help="tell where the time goes, instead of comparing")
    made.add_argument("--write", action="store_true", help="put the figures into the README")
    made.add_argument("--readme", type=Path, default=README, help="the README that --write changes")
    made.add_argument("--cache", type=Path, help="folder for the tables; a temporary one by default")
    made.add_argument("--keep", action="store_true", help="leave the tables there for the next time")
    return made


def positive(text: str) -> int:
    """A whole number above 0."""
    number = int(text.replace("_", ""))
    if number < 1:
        msg = f"{text} is not above 0"
        raise argparse.ArgumentTypeError(msg)
    return number


def report(name: str, made: Tables, options: argparse.Namespace) -> tuple[str, str]:
    """The section's name and text."""
    what = name.removeprefix(f"{GROWTH}.")
    if what != name:
        points = measure_curve(made, what, options.rows or TOP_ROWS, options.rounds)
        return name, curve_section(what, points, options.rounds, environment())
    task = name.removeprefix(f"{CORNERS}.")
    if task != name:
        rows = options.rows or CORNER_ROWS
        corners = measure_corners(made, task, rows, options.rounds)
        return name, corners_section(task, corners, rows, options.rounds, environment())
    if name == LIMITS:
        rows = options.rows or LIMIT_ROWS
        seconds = measure_limits(made, rows, options.rounds)
        return name, limits_section(seconds, rows, options.rounds, environment())
    scenario = SCENARIOS[name]
    rows = options.rows or scenario.rows
    if options.profile:
        return f"profile {scenario.name}", profile(scenario, made, rows, environment())
    return scenario.name, section(scenario, measure(scenario, made, rows, options.rounds), environment())


def wanted(options: argparse.Namespace) -> list[str]:
    """The scenarios and curves to be run, those that a name stands for in its place."""
    names = options.names or (["flagship"] if options.profile else [*SCENARIOS, LIMITS, GROWTH, CORNERS])
    return [own for name in names for own in curve_names(name) or corner_names(name) or [name]]


def main() -> int:
    """Measure the scenarios named, or all; 1 if one has no figures."""
    command = parser()
    options = command.parse_args()
    unknown = set(options.names) - set(KNOWN)
    if unknown:
        command.error(f"unknown scenario {', '.join(sorted(unknown))}; known: {', '.join(KNOWN)}")
    if options.profile and any(name not in SCENARIOS for name in options.names):
        command.error(f"only scenarios have a profile, not {GROWTH}, {CORNERS} and {LIMITS}")
    failed = False
    with tables(options.cache, keep=options.keep) as made:
        for name in wanted(options):
            try:
                title, text = report(name, made, options)
            except BenchmarkError as fault:
                print(f"{fault}\n", file=sys.stderr, flush=True)
                failed = True
                continue
            print(f"{text}\n", flush=True)
            if options.write:
                write_section(options.readme, title, text)
    if options.keep:
        print(f"tables kept in {made.folder}", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
