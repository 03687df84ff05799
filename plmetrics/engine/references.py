"""Whether the groups that metrics hold others against are there, before anything is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.catalogue.derived import AcrossSlices
from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.names import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.suite.model import Suite
    from plmetrics.table.slices import Slices


def check_references(suite: Suite, slices: Sequence[Slices]) -> None:
    """See that each reference is a slice of its metric's set.

    Raises:
        ConfigError: some are not.
    """
    problems = []
    for index, metric in enumerate(suite.metrics):
        if not isinstance(metric, AcrossSlices):
            continue
        names = [name for part in slices if part.slice_set.name == metric.slice_set for name in part.texts()]
        if metric.reference_among(names) == -1:
            asked = str(getattr(metric, "against", None))
            values = [name.partition("=")[2] if ", " not in name else name for name in names]
            msg = f"{metric.text}: '{asked}' is not a slice of '{metric.slice_set}'"
            problems.append(Problem(msg, ("metrics", index), did_you_mean(asked, values)))
    if problems:
        raise ConfigError(problems)
