"""DeLong's test of models with joint counts of scores on a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from plmetrics.engine.order.orderings import AREAS
from plmetrics.inference.comparisons.tests.delong import PlacementMoments, delong_of_moments

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.analysis import OrderedByPlace
    from plmetrics.inference.comparisons.tests.outcome import TestOutcomes
    from plmetrics.inference.subject import Analysis


def has_areas(ordered: OrderedByPlace, index: int, pair: tuple[str, str]) -> bool:
    """Whether the scores of two models were counted together in a slice set."""
    return (index, pair[0], f"{AREAS}{pair[1]}", None) in ordered


def area_tests(
    analysis: Analysis,
    ordered: OrderedByPlace,
    index: int,
    metric: Metric,
    pair: tuple[str, str],
    alternative: str,
) -> TestOutcomes:
    """Tests of the areas of two models in the slices of a set, with finer bins than those of the covariance."""
    counted, sums = ordered[index, pair[0], f"{AREAS}{pair[1]}", None], analysis.sets[index].sums
    assert counted.placements is not None
    areas = {
        model: values.value
        for (number, model, text, _), values in ordered.items()
        if (number, text) == (index, metric.text) and model in pair
    }
    difference = areas[pair[0]] - areas[pair[1]]
    up, down = (
        PlacementMoments(np.rint(sums.total(name)).astype(np.int64), difference, variance)
        for name, variance in zip(("positives", "negatives"), counted.placements, strict=True)
    )
    return delong_of_moments(up, down, level=analysis.level, alternative=alternative)
