"""Upkeep of a memory budget: limits of read-ahead, freed memory, and warnings of an excess before and after a run.

The query engine fetches row groups and opens files ahead of what asks for them. Where memory is ample that hides the
time of a read; a small budget has no room for it. The engine takes its limits from the environment. Likewise the C
library keeps some of what was freed, for each thread apart. Under a small budget arrays that come and go leave twice of
what is in use; under an ample one too little is kept, and pages are cleared anew for every array. Both are settings of
the whole process, which the command line changes and a library leaves alone.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from plmetrics.core.hashing import OWN_BLOCK_LIMIT
from plmetrics.core.process import is_ours
from plmetrics.core.threads import processors
from plmetrics.engine.memory.budget import LIBRARIES, round_up, size_text
from plmetrics.engine.memory.machine import machine_memory

if TYPE_CHECKING:
    from plmetrics.engine.run_plan import RunPlan

SMALL = 1_500_000_000
"""Budgets below this have no room for what is read ahead."""

_LIMITS = {"POLARS_ROW_GROUP_PREFETCH_SIZE": "1", "POLARS_MAX_CONCURRENT_SCANS": "1"}
_KEPT_AT_END, _LARGEST_MAPPED, _MOST_ARENAS = -1, -3, -8
_MAPPED = 4_000_000
_MAPPED_IF_AMPLE, _KEPT_IF_AMPLE = 32 << 20, 64 << 20
_STATUS = Path("/proc/self/status")
_TOLERATED = 1.15
_STEADY = 1 << 20
"""The system counts pages in batches: a peak that grows by less has not moved."""

_SUMS, _OF_VALUE, _OF_REPLICATE, _OF_ROW = 200, 1000, 16, 200
"""Bytes at most (about) of a metric's sums in a cell and block, of a value and of each replicate, and of a row that is
held, by model."""


@contextmanager
def memory_settings(budget: int) -> Iterator[None]:
    """Under a small budget let the query engine fetch one row group of one file at a time, and keep little.

    Limits that the environment has already are left as they are. Under an ample budget more is kept than by default.
    Nothing is done in a process that is not the command line's.
    """
    if not is_ours():
        yield
        return
    if budget < SMALL:
        give_back()
    else:
        hold_on()
    added = {name: value for name, value in _LIMITS.items() if budget < SMALL and name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def give_back() -> None:
    """Let the C library give large arrays back when they are freed, and share the rest between threads.

    Until a run has an ample budget, later arrays of this process cost a little more time. Without glibc nothing is
    done.
    """
    _tell_library({_MOST_ARENAS: 1, _LARGEST_MAPPED: _MAPPED})


def hold_on() -> None:
    """Let the C library retain freed arrays of a few megabytes for reuse.

    Each thread would else give it back and get it anew, cleared page by page, a thousand times a second. There is a
    store for the first thread and one for each processor. Without glibc nothing is done.
    """
    arenas = {_MOST_ARENAS: processors() + 1}
    _tell_library(arenas | {_KEPT_AT_END: _KEPT_IF_AMPLE, _LARGEST_MAPPED: _MAPPED_IF_AMPLE})


def _tell_library(settings: Mapping[int, int]) -> None:
    """Change settings of the C library's memory, where it is glibc."""
    change = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if change is not None:
        for name, value in settings.items():
            change(name, value)


@dataclass(frozen=True, slots=True)
class Watch:
    """Memory of the process at the start of a run, and its peak until then; None where unavailable."""

    resident: int | None
    peak: int | None

    @classmethod
    def begin(cls) -> Watch:
        """Look at the process now."""
        return cls(status_bytes("VmRSS"), status_bytes("VmHWM"))

    def peak_bytes(self) -> int | None:
        """Peak memory of the run in bytes, libraries included; None below an earlier peak.

        What the process held before beyond the libraries, such as a frame, is the caller's.
        """
        peak = status_bytes("VmHWM")
        if peak is None or self.peak is None or self.resident is None or peak <= self.peak + _STEADY:
            return None
        return peak - max(0, self.resident - LIBRARIES)

    def excess(self, budget: int) -> str | None:
        """A word of caution where the run took more than its budget."""
        used_bytes = self.peak_bytes()
        return None if used_bytes is None else budget_hint(used_bytes, budget)


def budget_hint(used_bytes: int, budget: int) -> str | None:
    """Budget to write in place of one clearly exceeded; None otherwise.

    >>> budget_hint(710_000_000, 300_000_000)
    'the run took about 710 MB, more than its memory budget of 300 MB: write memory: 800MB, or ask for less at a time'
    """
    if used_bytes <= _TOLERATED * budget:
        return None
    sizes = f"about {size_text(used_bytes)}, more than its memory budget of {size_text(budget)}"
    return f"the run took {sizes}: write memory: {round_up(used_bytes)}, or ask for less at a time"


def shortage(plan: RunPlan) -> str | None:
    """A word of caution where a run to come is expected to take more than all memory of the machine.

    Whatever a run may take beyond its budget grows with values and their replicates, sums by block, or rows of models.
    """
    machine = machine_memory()
    if _roughly(plan) <= machine:
        return None
    from plmetrics.engine.memory.run_memory import Sizes, foreseen

    told = foreseen(plan, Sizes.of(plan))
    if (needed := told.peak + LIBRARIES) <= machine:
        return None
    largest = max(told.parts, key=lambda part: told.parts[part])
    return (
        f"the run takes about {size_text(needed)} of memory, {size_text(told.parts[largest])} of it for {largest}, "
        f"and the machine has {size_text(machine)}: it may be killed; "
        "ask for fewer slices, metrics, models or replicates at a time (plmetrics explain tells what takes how much)"
    )


def _roughly(plan: RunPlan) -> int:
    """Generous bytes of what has no limit, without a look at the plans of the sums."""
    request, uncertainty = plan.request, plan.request.suite.uncertainty
    blocks, replicates = (1, 0) if uncertainty is None else (OWN_BLOCK_LIMIT, uncertainty.replicates)
    values = len(request.models) * (len(request.leaves) + len(request.suite.metrics))
    sums = values * (1 + len(request.view.roles.classes or ())) ** 2 * _SUMS
    places = sum(min(plan.rows.read, cube.cells * blocks) for cube in plan.cubes)
    of_values = sum(map(len, plan.slices)) * values * (_OF_VALUE + _OF_REPLICATE * replicates)
    return places * sums + of_values + plan.rows.read * len(request.models) * _OF_ROW


def status_bytes(name: str) -> int | None:
    """A number of the process's status, in bytes; None where the system does not tell."""
    try:
        lines = _STATUS.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    entry = next((line for line in lines if line.startswith(f"{name}:")), None)
    return None if entry is None else int(entry.split()[1]) * 1024
