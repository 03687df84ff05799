"""The kind of a metric's values: which intervals are made for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["proportion", "roc_area", "pr_area", "norm", "ratio", "extreme", "other"]
Bounds = tuple[float, float]

_SHARES = ("wilson", "clopper_pearson", "normal")
_AREAS = ("delong_logit", "delong", "hanley_mcneil", "hanley_mcneil_score")
_AREA_RANGES = ((0.0, 1.0), (-1.0, 1.0))


@dataclass(frozen=True, slots=True)
class ValueKind:
    """A kind of value by its name, and the range of such a metric, which intervals never leave.

    >>> ValueKind("proportion", (0.0, 1.0)).closed_forms[0], ValueKind("norm").resampling_form
    ('wilson', 'centred')
    """

    name: Kind = "other"
    bounds: Bounds = (-float("inf"), float("inf"))

    @property
    def is_share(self) -> bool:
        """Whether it is a share of rows."""
        return self.name == "proportion"

    @property
    def is_area(self) -> bool:
        """Whether it is the area under a ROC curve, or that area stretched, as Gini's index is."""
        return self.name == "roc_area" and self.bounds in _AREA_RANGES

    @property
    def is_norm(self) -> bool:
        """Whether it is the size of a vector, which noise makes larger: metrics of norms have a `deviation`."""
        return self.name == "norm"

    @property
    def is_ratio(self) -> bool:
        """Whether it is a smallest ratio."""
        return self.name == "ratio"

    @property
    def is_resampled(self) -> bool:
        """Whether resampled rows say how it varies; they hold no larger value than the largest of all rows."""
        return self.name != "extreme"

    @property
    def is_smooth(self) -> bool:
        """Whether it moves smoothly with the estimates that it is made of."""
        return self.name not in {"norm", "ratio", "extreme"}

    @property
    def closed_forms(self) -> tuple[str, ...]:
        """The intervals by a formula that is made for shares, or for areas; the usual one first."""
        return _SHARES if self.is_share else _AREAS if self.is_area else ()

    @property
    def end_form(self) -> str | None:
        """The interval of a value at an end of its range, where replicates are all the same; None without one."""
        return "wilson" if self.is_share else "hanley_mcneil_score" if self.is_area else None

    @property
    def resampling_form(self) -> str:
        """The interval that is made of many replicates."""
        if self.is_norm or self.is_ratio:
            return "centred"
        return "t" if self.name in {"roc_area", "pr_area"} else "percentile"
