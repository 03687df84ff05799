"""Metrics that are the size of a vector of estimates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plmetrics.catalogue.metric import Metric


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
