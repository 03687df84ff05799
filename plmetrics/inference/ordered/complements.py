"""Ordered metrics of the rests of a slice set: all rows but a slice's, one slice after another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.inference.metric_values import MetricValues

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.subject import SetStates


def of_rests(
    metrics: Sequence[Metric],
    states: SetStates,
    index: int,
    of_set: Callable[..., Any],
    weights: Any,
    values: Callable[[Sequence[Metric], Any, Any], Mapping[str, MetricValues]],
) -> Mapping[str, MetricValues]:
    """Values and replicates of the rests of a set, by metric text; none where they are not asked for.

    A rest holds nearly all rows, so that rests are sorted rows of their own, made and dropped one by one.
    """
    if states.rests is None or not states.rests.compared or not metrics:
        return {}
    parts = [values(metrics, of_set(index, number), weights) for number in range(states.rests.slices)]
    if not parts:
        return {}
    return {text: end_to_end([part[text] for part in parts]) for text in parts[0]}


def end_to_end(parts: Sequence[MetricValues]) -> MetricValues:
    """The values of slices one after another. What is not there for all of them is left out."""
    together: dict[str, Any] = {}
    for name in MetricValues.__slots__:
        arrays = [getattr(part, name) for part in parts]
        if name == "reasons":
            together[name] = [
                (status, np.concatenate([np.atleast_1d(reasons[place][1]) for reasons in arrays]))
                for place, (status, _) in enumerate(arrays[0])
            ]
        elif any(array is None for array in arrays):
            together[name] = None
        else:
            together[name] = _concatenate(arrays)
    return MetricValues(**together)


def _concatenate(arrays: Sequence[Any]) -> Any:
    """Arrays along their last axis, tuples of arrays entry by entry, and what is neither as it is."""
    if isinstance(arrays[0], np.ndarray):
        return np.concatenate(arrays, axis=-1)
    if isinstance(arrays[0], tuple):
        return tuple(_concatenate(entries) for entries in zip(*arrays, strict=True))
    return arrays[0]
