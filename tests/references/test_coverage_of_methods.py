"""How often intervals hold the truth, through whole runs: every slice of a table is a simulated data set.

Within a table all data sets share the resampling, which leaves how often they are right as it is.
"""

from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import THOROUGH
from scipy.special import expit
from scipy.stats import norm

import plmetrics as plm

SETS, REPLICATES = (2000, 500) if THOROUGH else (80, 200)
UNITS = 300
SHARE = 0.4
SHIFTS = {"p": 1.2, "q": 0.9}
SLACK = 3.5 * (0.05 * 0.95) ** 0.5 * (SETS**-0.5 - 2000**-0.5)
"""How much wider limits are with fewer data sets than 2,000."""

pytestmark = pytest.mark.slow


def probability(z: np.ndarray, shift: float) -> np.ndarray:
    """A score from a normal number, not quite calibrated."""
    return expit(1.3 * (z - shift / 2) - 0.3)


def binary(seed: int, *, clusters: int | None = None) -> pl.DataFrame:
    """Data sets with two models; rows of a cluster, if there are any, share label and noise."""
    random = np.random.default_rng(seed)
    unit = np.tile(np.arange(UNITS), (SETS, 1))
    if clusters is not None:
        unit = unit % clusters
    own, shared = random.random((SETS, UNITS)), random.random((SETS, UNITS))
    label = (np.take_along_axis(shared, unit, 1) < SHARE) if clusters else own < SHARE
    common = random.normal(size=(SETS, UNITS))
    if clusters is not None:
        own = random.normal(size=(SETS, UNITS))
        common = 0.9 * np.take_along_axis(own, unit, 1) + 0.19**0.5 * common
    columns = {"set": np.repeat(np.arange(SETS), UNITS), "unit": unit.ravel(), "y": label.ravel().astype(int)}
    for name, shift in SHIFTS.items():
        noise = 0.8 * common + 0.6 * random.normal(size=(SETS, UNITS))
        columns[name] = probability(noise + shift * label, shift).ravel()
    return pl.DataFrame(columns)


def truth(shift: float) -> dict[str, float]:
    """What the metrics are of the distribution that the data sets come from."""
    cut = 0.3 / 1.3 + shift / 2
    recall, alarms = norm.sf(cut - shift), norm.sf(cut)
    hits = SHARE * recall
    points, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    inside, outside = (weights @ (probability(points + m, shift) - y) ** 2 for m, y in ((shift, 1), (0, 0)))
    return {
        "roc_auc": norm.cdf(shift / 2**0.5),
        "precision": hits / (hits + (1 - SHARE) * alarms),
        "recall": recall,
        "f1": 2 * hits / (SHARE + hits + (1 - SHARE) * alarms),
        "brier": SHARE * inside + (1 - SHARE) * outside,
    }


def check(found: pl.DataFrame, value: str, truths: dict[str, float], limits: tuple[float, float]) -> None:
    """Each metric's intervals are all there, have a width, and hold the truth as often as the limits say."""
    assert (found["interval_status"] == "ok").all()
    assert (found["lower"] < found["upper"]).all()
    assert found[value].null_count() == 0
    for metric, expected in truths.items():
        own = found.filter(metric=metric)
        assert own.height == SETS
        share = float(own.select(pl.lit(expected).is_between("lower", "upper").mean()).item())
        assert limits[0] - SLACK <= share <= limits[1] + SLACK, (metric, share)


def run(frame: pl.DataFrame, method: str, **given: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
    asked = {"label": "y", "models": list(SHIFTS), "slices": {"set": "set"}, "metrics": list(truth(1.0))}
    uncertainty = {"method": method, "replicates": REPLICATES}
    made = plm.evaluate(frame, uncertainty=uncertainty, **{**asked, **given})
    return made.metrics.filter(slice_set="set"), made.comparisons.filter(slice_set="set")


def test_auto_on_rows() -> None:
    metrics, _ = run(binary(1), "auto")
    assert set(metrics["method"]) == {"delong_logit", "wilson", "delta", "t"}
    for model, shift in SHIFTS.items():
        check(metrics.filter(model=model), "value", truth(shift), (0.93, 0.97))


@pytest.mark.parametrize("method", ["auto", "bootstrap", "jackknife"])
def test_units_and_differences(method: str) -> None:
    metrics, comparisons = run(binary(2), method, unit="unit", compare="q")
    for model, shift in SHIFTS.items():
        check(metrics.filter(model=model), "value", truth(shift), (0.93, 0.97))
    better, worse = (truth(shift) for shift in SHIFTS.values())
    apart = {metric: better[metric] - worse[metric] for metric in better}
    check(comparisons, "difference", apart, (0.93, 0.97))


@pytest.mark.parametrize("method", ["auto", "bootstrap"])
def test_clusters_that_share_label_and_noise(method: str) -> None:
    metrics, _ = run(binary(3, clusters=150), method, unit="unit")
    for model, shift in SHIFTS.items():
        check(metrics.filter(model=model), "value", truth(shift), (0.91, 0.97))


def test_intervals_that_take_clusters_for_rows_are_too_narrow() -> None:
    metrics, _ = run(binary(3, clusters=30), "auto")
    held = metrics.filter(model="p", metric="recall").select(
        pl.lit(truth(SHIFTS["p"])["recall"]).is_between("lower", "upper").mean()
    )
    assert held.item() < 0.85


@pytest.mark.parametrize("method", ["auto", "bootstrap"])
def test_the_root_of_a_mean_squared_error(method: str) -> None:
    random = np.random.default_rng(4)
    y = random.normal(size=SETS * UNITS)
    shared = random.normal(size=len(y))
    frame = pl.DataFrame(
        {
            "set": np.repeat(np.arange(SETS), UNITS),
            "unit": np.tile(np.arange(UNITS), SETS),
            "y": y,
            "p": y + 0.8 * shared + 0.6 * random.normal(size=len(y)),
            "q": y + 1.1 * (0.8 * shared + 0.6 * random.normal(size=len(y))),
        }
    )
    given = {"task": "regression", "metrics": ["rmse", "mae"], "unit": "unit", "compare": "q"}
    metrics, comparisons = run(frame, method, **given)
    mean = (2 / np.pi) ** 0.5
    for model, scale in (("p", 1.0), ("q", 1.1)):
        truths = {"rmse": scale, "mae": scale * mean}
        check(metrics.filter(model=model), "value", truths, (0.93, 0.97))
    check(comparisons, "difference", {"rmse": -0.1, "mae": -0.1 * mean}, (0.93, 0.97))


@pytest.mark.parametrize("method", ["auto", "bootstrap"])
def test_few_positives_and_estimates_near_an_end(method: str) -> None:
    """12 positives among 72 rows, told apart almost perfectly: at least 88 %, and never an interval without width."""
    random = np.random.default_rng(5)
    label = np.tile(np.arange(72) < 12, SETS)
    score = random.normal(size=len(label)) + 2.8 * label
    frame = pl.DataFrame(
        {"set": np.repeat(np.arange(SETS), 72), "y": label.astype(int), "p": expit(score - 1.4)}
    )
    given = {"models": "p", "metrics": ["roc_auc", "recall", "accuracy"]}
    metrics, _ = run(frame, method, **given)
    right = norm.cdf(1.4)
    truths = {"roc_auc": norm.cdf(2.8 / 2**0.5), "recall": right, "accuracy": right}
    check(metrics, "value", truths, (0.88, 1.0))
