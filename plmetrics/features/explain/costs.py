"""Costs of work in seconds of one processor, by constants that a benchmark measured on a machine it names."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from plmetrics.core.threads import processors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from plmetrics.features.explain.work import Work

FILE = "costs.json"


@dataclass(frozen=True, slots=True)
class Costs:
    """Measured constants.

    Attributes:
        machine: where they were measured, as words.
        date: when.
        seconds: seconds of one processor for each kind of work, each time it is done.
        error: the median of the relative errors on suites that they were not fitted to, and the ninth of their deciles.
    """

    machine: str
    date: str
    seconds: Mapping[str, float]
    error: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Time:
    """Expected time of a run.

    Attributes:
        stages: seconds of one processor, by stage.
        processor: those of all stages.
        wall: seconds by the clock where all processors of this machine work at all times: it takes longer.
        processors: how many these are.
        source: where and when the constants were measured.
        omissions: what else the run does, which no constant was measured of.
    """

    stages: Mapping[str, float]
    processor: float
    wall: float
    processors: int
    source: str
    omissions: tuple[str, ...] = ()


@cache
def costs() -> Costs:
    """The constants that come with the package."""
    return Costs(**json.loads(files(__package__).joinpath(FILE).read_text(encoding="utf-8")))


def expected_time(work: Iterable[Work], omissions: Sequence[str] = ()) -> Time:
    """The time of some work; what was not measured is named, as what a run does beside it."""
    known = costs()
    stages: dict[str, float] = {}
    unmeasured: dict[str, None] = dict.fromkeys(omissions)
    for part in work:
        if part.kind not in known.seconds:
            unmeasured[part.kind] = None
            continue
        stages[part.stage] = stages.get(part.stage, 0.0) + part.number * known.seconds[part.kind]
    total = sum(stages.values())
    source = f"{known.machine}, {known.date}"
    return Time(stages, total, total / processors(), processors(), source, tuple(unmeasured))
