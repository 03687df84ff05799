"""What the steps of the preparation give: models that a run adds, and thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.core.results import Json
    from plmetrics.engine.request import Request


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A request with calibrated models, what was fitted by model, words of caution, and the rows that are left out."""

    request: Request
    constants: Mapping[str, Json]
    warnings: tuple[str, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Based:
    """A request with the baseline among its models, and what that gives by part; empty where none is asked for."""

    request: Request
    constants: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Chosen:
    """Thresholds by model and text of the rule, NaN where none does what the rule asks; and words of caution."""

    values: Mapping[str, Mapping[str, float]]
    warnings: tuple[str, ...]
