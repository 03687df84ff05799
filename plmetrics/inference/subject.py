"""Subject of inference: what is estimated, compared and resampled, and the states behind it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from plmetrics.inference.replication import Replication

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.chunks import EstimateColumns, Population
    from plmetrics.inference.estimate import ReplicateKind
    from plmetrics.inference.weights import ResamplingWeights
    from plmetrics.states.complements import RestSums
    from plmetrics.states.sums import SlicedSums
    from plmetrics.suite.model import Suite
    from plmetrics.table.slices import Slices


@dataclass(frozen=True, slots=True)
class SetStates:
    """The states of one slice set: its slices, and the sums of each by block; `rests` are those of all other rows."""

    slices: Slices
    sums: SlicedSums
    rests: RestSums | None = None


@dataclass(frozen=True, slots=True)
class Analysis:
    """Subject of the inference: what is estimated, compared and resampled, and from which states.

    `contrasts` is whether a feature takes differences of its own.
    """

    suite: Suite
    sets: Sequence[SetStates]
    population: Population
    pairs: Sequence[tuple[str, str]]
    weights: ResamplingWeights | None
    units: NDArray[np.int64] | None = None
    contrasts: bool = False
    replication: Replication = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """What replicates are needed follows from the rest."""
        compared = bool(self.pairs) or self.suite.compare is not None or self.contrasts
        replication = Replication(self.suite, self.weights, self.units, compared=compared)
        object.__setattr__(self, "replication", replication)

    @property
    def level(self) -> float:
        """Level of the intervals."""
        return 0.95 if self.suite.uncertainty is None else self.suite.uncertainty.level

    @property
    def models(self) -> tuple[str, ...]:
        """Model names in suite order."""
        return tuple(self.suite.models)


def base_analysis(analysis: Analysis) -> Analysis:
    """The analysis of the slice sets that the suite names and crosses, without those that features make from them."""
    sets = [
        part
        for part in analysis.sets
        if not part.slices.slice_set.is_derived or part.slices.slice_set.crossing is not None
    ]
    return replace(analysis, sets=sets)


@dataclass(frozen=True, slots=True)
class Part:
    """A metric's estimates in some slices of a set, by model; where pairs of models are equal, and who is listed.

    `found` are those that are judged and compared; `of_kind` are all, by the kind of their replicates.
    """

    found: Mapping[str, EstimateColumns]
    equal: Mapping[tuple[str, str], NDArray[np.bool_]]
    listed: NDArray[np.bool_]
    first: int
    of_kind: Mapping[ReplicateKind | None, Mapping[str, EstimateColumns]]


@dataclass(frozen=True, slots=True)
class Place:
    """Place of the rows of a contrast: a metric, or one of its classes, in a slice set."""

    index: int
    metric: Metric
    number: int = 0
    named: str = ""


def rest_place(index: int) -> int:
    """The number under which the rests of a slice set keep what was ordered for them."""
    return -1 - index
