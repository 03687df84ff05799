"""Bounds of what the order of rows inside a bin can change, against the worst orders there are."""

import numpy as np
import pytest

import plmetrics as plm
from plmetrics.states.sums import View

BINS, ROWS = 3, 10
METRICS = [
    "qini",
    "qini(method=guelman)",
    "auuc",
    "auuc(method=guelman)",
    "auuc(normalise=end)",
    "uplift_at_k(k=0.3)",
    "uplift_at_k(k=0.3, by=arm)",
    "uplift_at_k(k=4)",
]
OUTCOMES = {
    "binary": lambda rng: rng.integers(0, 2, ROWS) * 1.0,
    "of two signs": lambda rng: rng.normal(size=ROWS),
    "positive": lambda rng: rng.normal(size=ROWS) + 4.0,
    "negative": lambda rng: -rng.random(ROWS) - 1.0,
}


def view(treated, outcome, weight, point, points, tied):
    """The state of some rows at so many points."""
    state = {"score": np.arange(points) * 1.0, "weight": weight.sum(), "tied": np.full(points, tied)}
    for arm, member in (("treated", treated), ("control", ~treated)):
        mass = weight * member
        state[arm] = np.bincount(point, mass, points)
        state[f"{arm}_outcome"] = np.bincount(point, mass * outcome, points)
        state[f"{arm}_weight"] = mass.sum()
    return View({**state, "lowest_outcome": outcome.min(), "highest_outcome": outcome.max()})


@pytest.mark.parametrize("text", METRICS)
@pytest.mark.parametrize("kind", OUTCOMES)
def test_no_order_of_rows_inside_bins_is_further_off_than_the_bound(kind, text):
    metric, rng, nearest = plm.metric(text, task="uplift"), np.random.default_rng(0), 0.0
    for _ in range(40):
        treated, outcome = np.append([True, False], rng.random(ROWS - 2) < 0.5), OUTCOMES[kind](rng)
        weight, bins = rng.integers(1, 4, ROWS) / 2, np.sort(rng.integers(0, BINS, ROWS))
        of_bins = view(treated, outcome, weight, bins, BINS, tied=False)
        value, bound = metric.finalise(of_bins), metric.bound(of_bins)
        sign = 2.0 * treated - 1.0
        orders = [outcome * sign, sign, 9 * sign + outcome, 9 * sign - outcome, rng.random(ROWS)]
        for key in [*orders, *(-order for order in orders)]:
            order = np.lexsort((key, bins))
            rows = view(treated[order], outcome[order], weight[order], np.arange(ROWS), ROWS, tied=True)
            off = abs(metric.finalise(rows) - value)
            if np.isfinite(off):
                assert off <= bound + 1e-9
                nearest = max(nearest, off / bound if bound > 0 else 0.0)
    assert nearest > 0.15
