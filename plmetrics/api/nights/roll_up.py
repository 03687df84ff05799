"""The states of all intervals of a span of time, to be merged."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.features.nights.span import states_of_span
from plmetrics.runs.files import place_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.states.state_format import State
    from plmetrics.table.storage.places import Place


def states_of_intervals(
    places: Sequence[State | str | PathLike[str]], interval: str, *, allow_missing: bool
) -> tuple[tuple[Place, ...], list[str]]:
    """The states of the intervals of a span, and in words those that are missing.

    `allow_missing` says whether some may be missing.

    Raises:
        AbsentDataError: intervals are missing.
        ConfigError: it is no such folder, or no span of time.
    """
    (place,) = places if len(places) == 1 else (None,)
    if not isinstance(place, (str, PathLike)):
        msg = "intervals are merged of one folder, that of a suite's runs"
        raise ConfigError(Problem(msg, hint='plm.merge("runs/nightly", interval="2026-03")'))
    files, missing = states_of_span(place_of(place), interval, allow_missing=allow_missing)
    return tuple(files), [f"{words}; it is left out" for words in missing]
