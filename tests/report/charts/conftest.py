"""Results that charts are drawn from, evaluated once."""

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.api.result import Result

ODD = [
    "North",
    "East",
    "<b>&</b> ]]>",
    "a.b[0]",
    "x" * 200,
    "control \x07",
    "\u05e9\u05dc\u05d5\u05dd",
    "",
    "one class",
    None,
]


def binary_frame(rows: int = 3000) -> pl.DataFrame:
    """A table with eight scores and a column of odd names; North has a poor score, one class one class."""
    random = np.random.default_rng(11)
    place = random.integers(0, len(ODD), rows)
    signal = random.normal(size=rows)
    label = random.random(rows) < 1 / (1 + np.exp(-signal))
    columns = {
        "y": np.where(place == 8, True, label),
        "region": [ODD[number] for number in place],
        "age": random.integers(18, 90, rows),
    }
    for number in range(8):
        noise = random.normal(size=rows) * (0.5 + 0.3 * number + 6 * (place == 0))
        columns[f"p{number}"] = 1 / (1 + np.exp(-signal - noise))
    return pl.DataFrame(columns)


@pytest.fixture(scope="session")
def binary() -> Result:
    """Two models on slices of two sets, tested against the rest."""
    return plm.evaluate(
        binary_frame(),
        label="y",
        models={"champion": "p0", "challenger <i>": "p1"},
        metrics=["roc_auc", "log_loss", "recall", "tp"],
        slices={"region": "region", "age": {"column": "age", "bins": [25, 40, 65]}},
        uncertainty={"replicates": 60},
        compare={"baseline": "champion", "slices": {"region": "rest"}},
    )


@pytest.fixture(scope="session")
def gated() -> Result:
    """Two models with a gate on their difference."""
    return plm.evaluate(
        binary_frame(),
        label="y",
        models={"champion": "p0", "challenger": "p1"},
        metrics=["roc_auc", "log_loss", "recall", "accuracy"],
        slices={"age": {"column": "age", "bins": [25, 40, 65]}},
        uncertainty={"replicates": 60},
        compare="champion",
        gates=[{"metric": "roc_auc", "model": "challenger", "against": "champion", "no_worse_than": 0.03}],
    )
