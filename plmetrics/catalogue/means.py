"""Which metrics are means: sums over rows divided by a mass that adds, so that slices make up the whole by shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from plmetrics.states.sums import View

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plmetrics.catalogue.metric import Metric

_STATES = 8
_TOLERANCE = 1e-9


def is_mean(metric: Metric) -> bool:
    """Whether the value of a whole is that of its parts, each weighed with its denominator.

    It is tried out: of any two states, value x denominator must add. So precision is a mean over the rows that are
    called positive, and the squared error is one where its root is not.

    >>> from plmetrics.catalogue import registry
    >>> [is_mean(registry.create("binary", name, {})) for name in ("precision", "log_loss", "f1", "mcc", "roc_auc")]
    [True, True, True, False, False]
    """
    if metric.family != "sums" or metric.additive:
        return False
    one, other = any_state(metric, 1), any_state(metric, 2)
    both = {name: one[name] + other[name] for name in one}
    with np.errstate(all="ignore"):
        masses = [metric.denominators(View(state)) for state in (one, other, both)]
        if any(len(mass) != 1 for mass in masses):
            return False
        moments = [
            np.asarray(metric.finalise(View(state))) * mass[0]
            for state, mass in zip((one, other, both), masses, strict=True)
        ]
    return bool(np.allclose(moments[0] + moments[1], moments[2], rtol=_TOLERANCE, atol=_TOLERANCE))


def is_weighed_by_rows(metric: Metric) -> bool:
    """Whether the denominator of a mean is the weight of its rows."""
    state = any_state(metric, 1)
    return bool(
        np.allclose(np.asarray(metric.denominators(View(state))[0]), state["weight"], rtol=_TOLERANCE)
    )


def any_state(metric: Metric, seed: int = 1) -> dict[str, NDArray[np.float64]]:
    """Any state: masses that add up to the weight, and sums of any size."""
    drawn = np.random.default_rng(seed)
    positives, negatives = drawn.uniform(1, 2, _STATES), drawn.uniform(1, 2, _STATES)
    weight = positives + negatives
    state = {"n": weight, "weight": weight, "positives": positives, "negatives": negatives}
    hits, alarms = drawn.uniform(0.1, 0.9, (2, _STATES))
    counts = {"tp": hits, "fn": positives - hits, "fp": alarms, "tn": negatives - alarms}
    for name, part in metric.atoms().items():
        if name in counts:
            state[name] = counts[name]
            continue
        shape = (_STATES, len(part)) if isinstance(part, tuple) else (_STATES,)
        state[name] = drawn.uniform(0.1, 0.9, shape)
    return state
