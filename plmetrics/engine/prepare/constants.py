"""Results of the steps of the preparation, models that a run adds and thresholds; and constants of another run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from plmetrics.core.results import Json
    from plmetrics.engine.request import TableView
    from plmetrics.states.scores.run_grids import Grids


@dataclass(frozen=True, slots=True)
class Calibration:
    """Rows with calibrated models, what was fitted by model, words of caution, and how many rows are left out."""

    view: TableView
    constants: Mapping[str, Json]
    warnings: tuple[str, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class ThresholdChoice:
    """Thresholds by model and text of the rule, NaN where none does what the rule asks; and words of caution."""

    values: Mapping[str, Mapping[str, float]]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Constants:
    """Constants of another run, in place of those that a run finds in its data.

    `keys` are by canonical column the edges of quantile bins, and the values of a top; `grids` where scores are
    counted, and `features` what each feature has looked up, by key. `calibrators` are by model what was fitted, and
    `baseline` by part what the built-in baseline gives.
    """

    centres: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    thresholds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    classes: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    grids: Grids | None = None
    exponents: Mapping[str, int] = field(default_factory=dict)
    score_spans: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    features: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    bin_edges: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    calibrators: Mapping[str, Json] = field(default_factory=dict)
    baseline: Mapping[str, float] = field(default_factory=dict)
