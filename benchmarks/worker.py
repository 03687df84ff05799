"""One contestant in a process of its own: a warm-up, then timed runs. Prints one line of JSON."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

from benchmarks.contestants import CONTESTANTS


def main(name: str, folder: str, warm: str) -> None:
    """Run once, or twice with a warm-up before; a contestant that returns a callable did its reading beforehand."""
    contestant, path = CONTESTANTS[name], Path(folder)
    result = contestant(path)
    prepared = result if callable(result) else None
    seconds = float("inf")
    for _ in range(1 + int(warm)):
        start = time.perf_counter()
        prepared() if prepared is not None else contestant(path)
        seconds = min(seconds, time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak_mb": round(peak)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
