"""Groups held against one: disparate impact, and average odds group by group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from plmetrics.catalogue.binary.counts import SelectionRate, threshold_parameter
from plmetrics.catalogue.binary.threshold import FalseNegativeRate, FalsePositiveRate, Recall, Specificity
from plmetrics.catalogue.fairness.base import (
    GroupMetric,
    RateMetric,
    RejectionRate,
    favourable_parameter,
    min_share_parameter,
)
from plmetrics.catalogue.parameters import ThresholdRule, parameter
from plmetrics.catalogue.registry import register
from plmetrics.core import ops

if TYPE_CHECKING:
    from plmetrics.catalogue.composite_metrics import Groups
    from plmetrics.catalogue.metric import Direction
    from plmetrics.catalogue.needs import Kind

_FOUR_FIFTHS = "EEOC (1978), Uniform guidelines on employee selection procedures, 29 CFR 1607.4 D"


@dataclass(frozen=True)
class _ReferenceMetric(GroupMetric):
    held_against: str | float | bool | None = parameter(
        None,
        doc="the group that others are held against",
        domain="the value of a slice, or its whole text",
        name="reference",
    )

    @property
    def against(self) -> str | float | bool | None:  # type: ignore[override]
        return self.held_against


@register
@dataclass(frozen=True)
class DisparateImpact(RateMetric, _ReferenceMetric):
    """Smallest selection rate of a group over that of the reference: min S_g / S_r.

    The reference is the group with the highest rate where none is named, as in the four-fifths rule: 0.8 or more is
    taken as no sign of adverse impact. Weighted by row; 0 or more, above 1 only where all groups are selected more
    often than a named reference; undefined (`too_few_groups`) with fewer than two groups to judge,
    `zero_denominator` where the reference is never selected, `reference_not_judged` where it is too small. Source:
    EEOC (1978).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.8, 0.9, 0.1], "sex": ["f", "f", "m", "m"]})
    >>> asked = ["disparate_impact(by=sex, reference=m)"]
    >>> plm.evaluate(rows, label="y", models="p", slices=["sex"], metrics=asked).metrics["value"].item()
    2.0
    """

    name = "disparate_impact"
    task = "binary"
    range = (0.0, float("inf"))
    direction: ClassVar[Direction] = "higher"
    kind: ClassVar[Kind] = "minimum"
    threshold_free = False
    failures = ("zero_denominator", "reference_not_judged")
    rates = (SelectionRate,)
    mirrored = (RejectionRate,)
    formula = "min over g of S_g / S_r, S the selection rate and r the reference"
    use_when = "A law or policy asks for the four-fifths rule."
    beware = "Passing it is not fairness, and with few rows chance alone breaks it: read the interval."
    reference = _FOUR_FIFTHS

    favourable: str = favourable_parameter()
    min_share: float = min_share_parameter()
    threshold: float | ThresholdRule = threshold_parameter()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.held_against is None:
            object.__setattr__(self, "range", (0.0, 1.0))
            object.__setattr__(self, "kind", "ratio")

    @property
    def is_ratio(self) -> bool:
        """Always, as its name does not say."""
        return True

    def finalise(self, state: Groups) -> Any:
        """The smallest ratio to the reference."""
        (values,) = state.values.values()
        if state.reference is None:
            return values.min(axis=-1) / values.max(axis=-1)
        reference = values[..., state.reference]
        others = np.delete(values, state.reference, axis=-1)
        return np.where(reference == 0, np.nan, others.min(axis=-1) / reference)

    def failure_status(self, groups: Groups) -> str:  # noqa: ARG002
        """Nobody of the reference is selected."""
        return "zero_denominator"

    def deviations(self, replicates: Groups, point: Groups) -> Any:
        """Movements of replicates' rates against each other, in logarithms; against a reference the largest fall.

        A fall is that of the smallest ratio, were it the one that fell most: by the same factor. A rate of 0 counts as
        half of the smallest positive one of the group's replicates, as a ratio has no upper end else.
        """
        (rates,), (now,) = replicates.values.values(), point.values.values()
        tiny = np.finfo(np.float64).tiny
        if point.reference is None:
            shift = ops.log(np.maximum(rates, tiny)) - ops.log(np.maximum(now, tiny))
            return shift.max(axis=-1) - shift.min(axis=-1)
        least = np.min(rates, axis=0, where=rates > 0, initial=1.0) / 2
        fall = ops.log(np.maximum(now, tiny)) - ops.log(np.maximum(rates, least))
        falls = np.delete(fall - fall[..., [point.reference]], point.reference, axis=-1)
        return self.finalise(point) * np.expm1(np.maximum(falls.max(axis=-1), 0.0))


@dataclass(frozen=True)
class _ToOne(GroupMetric):
    held_against: str | float | bool | None = parameter(
        doc="the group that others are held against",
        name="reference",
        domain="the value of a slice, or its whole text",
    )

    @property
    def against(self) -> str | float | bool | None:  # type: ignore[override]
        return self.held_against


@register
@dataclass(frozen=True)
class AverageOddsDifference(RateMetric, _ToOne):
    """Each group's true and false positive rate against those of a reference: the mean of the two differences.

    ((FPR_g - FPR_r) + (TPR_g - TPR_r)) / 2, a row for each group, under the slice set. Weighted by row; in [-1, 1],
    best at 0, and 0 for the reference itself; undefined with the status of the group's rates, `below_min_share`,
    `reference_not_judged` where the reference cannot be judged itself, and `too_few_groups` with fewer than two
    groups. Source: Bellamy and others (2019).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.8, 0.9, 0.1], "sex": ["f", "f", "m", "m"]})
    >>> asked = ["average_odds_difference(by=sex, reference=m)"]
    >>> plm.evaluate(rows, label="y", models="p", slices=["sex"], metrics=asked).metrics["value"].to_list()
    [0.5, 0.0]
    """

    name = "average_odds_difference"
    task = "binary"
    for_each = True
    failures = ("below_min_share", "reference_not_judged")
    range = (-1.0, 1.0)
    direction: ClassVar[Direction] = "zero"
    threshold_free = False
    rates = (Recall, FalsePositiveRate)
    mirrored = (Specificity, FalseNegativeRate)
    formula = "((FPR_g - FPR_r) + (TPR_g - TPR_r)) / 2"
    use_when = "You want to see, group by group, who is favoured against a reference."
    beware = "Gaps of opposite sign cancel: 0 does not mean equal odds, look at equalized_odds_difference."
    reference = "Bellamy and others (2019), AI Fairness 360, IBM Journal of Research and Development 63(4/5)"

    favourable: str = favourable_parameter()
    min_share: float = min_share_parameter()
    threshold: float | ThresholdRule = threshold_parameter()

    def finalise(self, state: Groups) -> Any:
        """The mean of the two differences, for each group."""
        gaps = [ops.difference(values, values[..., [state.reference]]) for values in state.values.values()]
        return (gaps[0] + gaps[1]) / 2
