"""One contestant in a process of its own: a warm-up on a small table, then timed runs. Prints one line of JSON."""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import resource
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.contestants import CONTESTANTS

if TYPE_CHECKING:
    from collections.abc import Callable


def peak_megabytes() -> float | None:
    """Largest resident set so far; None if the work was done in another process."""
    if resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss:
        return None
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would count what the starting process had before exec
        high = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(high.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def main() -> None:
    """Run the contestant named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worker", description=__doc__)
    parser.add_argument("name")
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "small", type=Path, help="table for the warm-up: what is imported on use, is imported then"
    )
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--profile", type=Path, help="file for the profile of one more run, on one processor")
    options = parser.parse_args()
    contestant = CONTESTANTS[options.name]
    contestant.work(contestant.load(options.small))
    loaded = contestant.load(options.folder)
    seconds, processor = [], []
    for _ in range(options.repeats):
        start, before = time.perf_counter(), time.process_time()
        found = contestant.work(loaded)
        seconds.append(time.perf_counter() - start)
        processor.append(time.process_time() - before)
    peak = peak_megabytes()
    if options.profile:
        _profile(contestant.work, loaded, options.profile)
    medians = {"seconds": statistics.median(seconds), "processor": statistics.median(processor)}
    measured = medians | {"peak_mb": peak}
    print(json.dumps(measured | {"values": contestant.values(found), "facts": contestant.facts(found)}))


def _profile(work: Callable[[Any], Any], loaded: Any, file: Path) -> None:
    """Profile one more run: on one processor, for the profiler does not see what other threads of ours do."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    profiler = cProfile.Profile(time.process_time)
    profiler.runcall(work, loaded)
    profiler.dump_stats(file)


if __name__ == "__main__":
    main()
