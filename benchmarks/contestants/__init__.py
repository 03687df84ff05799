"""Who runs, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.contestants.areas import CONTESTANTS as AREAS
from benchmarks.contestants.classes import CONTESTANTS as CLASSES
from benchmarks.contestants.duck import DUCKDB
from benchmarks.contestants.floors import CONTESTANTS as FLOORS
from benchmarks.contestants.growing import CONTESTANTS as GROWING
from benchmarks.contestants.nights import CONTESTANTS as NIGHTS
from benchmarks.contestants.ours import OURS
from benchmarks.contestants.rankings import CONTESTANTS as RANKINGS
from benchmarks.contestants.rust import POLARS_DS, RAPIDSTATS
from benchmarks.contestants.scikit import SCIKIT
from benchmarks.contestants.searching import CONTESTANTS as SEARCHING
from benchmarks.contestants.states import CONTESTANTS as STATES
from benchmarks.contestants.tasks import CONTESTANTS as TASKS
from benchmarks.contestants.units import CONTESTANTS as UNITS

if TYPE_CHECKING:
    from benchmarks.contestants.contestant import Contestant

CONTESTANTS: dict[str, Contestant] = {
    contestant.name: contestant
    for contestant in (
        *OURS,
        *AREAS,
        *SCIKIT,
        *RAPIDSTATS,
        *POLARS_DS,
        *DUCKDB,
        *CLASSES,
        *RANKINGS,
        *SEARCHING,
        *STATES,
        *NIGHTS,
        *UNITS,
        *TASKS,
        *GROWING,
        *FLOORS,
    )
}
