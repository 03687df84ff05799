"""The rule by which a threshold is chosen on data: what every rule has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plmetrics.core.text import Call


@dataclass(frozen=True, slots=True)
class ThresholdRule:
    """Rule of a threshold. `select_on` is an SQL condition on the rows to choose it on, None for all rows.

    Rules are equal when their texts are.
    """

    select_on: str | None = None

    @property
    def text(self) -> str:
        """The rule as it stands in a metric's text."""
        call = self._call()
        if self.select_on is None:
            return str(call)
        return str(Call(call.name, {**call.parameters, "select_on": self.select_on}, call.arguments))

    def __str__(self) -> str:
        return self.text

    @property
    def constant(self) -> float | None:
        """The threshold, where it follows from the rule alone."""
        return None

    def _call(self) -> Call:
        raise NotImplementedError

    def choose(self, points: Any) -> float:
        """The threshold on some rows; NaN where no threshold does what the rule asks.

        Args:
            points: the confusion table `tp fp fn tn` at each candidate, ascending by threshold, whose last calls
                nothing positive; with `threshold`, and the totals `positives negatives weight n`.
        """
        raise NotImplementedError
