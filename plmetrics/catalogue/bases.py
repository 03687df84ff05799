"""Bases that metrics of several tasks share: means over rows, sizes of vectors, and what classes must be there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from plmetrics.catalogue.metric import Metric
from plmetrics.catalogue.needs import Sums
from plmetrics.core import ops

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.catalogue.metric import IntervalForm, Undefined
    from plmetrics.states.sums import Atom


class RowMean(Metric):
    """Base of the means over rows of a number of the row."""

    needs = Sums()
    interval_form: ClassVar[IntervalForm | None] = "t"

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        """The sum over rows."""
        return {"row_sum": self._atom()}

    def finalise(self, state: Any) -> Any:
        """Mean over rows."""
        return ops.ratio(state.row_sum, state.weight)

    def _atom(self) -> Atom:
        raise NotImplementedError


class Positives(Metric):
    """Base of the metrics that are relative to the positives."""

    def undefined(self, state: Any) -> Undefined:
        """Also without positives."""
        return [*super().undefined(state), ("no_positives", state.positives == 0)]

    def denominators(self, state: Any) -> tuple[Any, ...]:
        """Positives."""
        return (state.positives,)


class BothClasses(Metric):
    """Base of the metrics that compare positives with negatives."""

    def undefined(self, state: Any) -> Undefined:
        """Also where a class is absent."""
        return [*super().undefined(state), *both_classes(state)]

    def denominators(self, state: Any) -> tuple[Any, ...]:
        """Both classes."""
        return (state.positives, state.negatives)


def both_classes(state: Any) -> Undefined:
    """The reasons of a metric that compares positives with negatives."""
    return [("no_positives", state.positives == 0), ("no_negatives", state.negatives == 0)]


@dataclass(frozen=True)
class Norm(Metric):
    """A metric that is the size of a vector of linear estimates, such as the gaps of a reliability diagram.

    Noise makes such a value larger than it is in truth, so its interval is centred: it needs the size of
    (replicate's gaps - point's gaps), which is `deviation`.
    """

    kind = "norm"

    def gaps(self, state: Any) -> Any:
        """The signed gaps along the points or bins."""
        raise NotImplementedError

    def size(self, state: Any, gaps: Any) -> Any:
        """The size of a vector of gaps, weighed as in the state."""
        raise NotImplementedError

    def finalise(self, state: Any) -> Any:
        """The size of the state's own gaps."""
        return self.size(state, self.gaps(state))

    def deviation(self, replicate: Any, point: Any) -> Any:
        """Size of the difference between the two vectors of gaps, weighed as in the replicate."""
        return self.size(replicate, self.gaps(replicate) - self.gaps(point))
