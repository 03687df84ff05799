"""Calibrators by name: maps from scores to probabilities, fitted on some of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from plmetrics.catalogue.calibrators.score_curves import Beta, Isotonic, Platt, Temperature

if TYPE_CHECKING:
    from plmetrics.catalogue.calibrators.calibrator import Calibrator

CALIBRATORS: Mapping[str, type[Calibrator]] = MappingProxyType(
    {kind.name: kind for kind in (Platt, Isotonic, Temperature, Beta)}
)
