"""Intervals of the expected over the observed number of few events, by slice."""

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.rates import confint_poisson

import plmetrics as plm

SLICES, ROWS = 400, 100


@pytest.fixture(scope="module")
def portfolios() -> pl.DataFrame:
    """Slices of calibrated probabilities with three events on average."""
    draw = np.random.default_rng(11)
    score = draw.beta(0.6, 19.4, SLICES * ROWS)
    label = draw.uniform(size=SLICES * ROWS) < score
    return pl.DataFrame({"y": label.astype(int), "p": score, "g": np.repeat(np.arange(SLICES), ROWS)})


def test_few_events_have_the_exact_interval_of_their_number(portfolios: pl.DataFrame) -> None:
    found = plm.evaluate(
        portfolios,
        label="y",
        models="p",
        metrics=["calibration_ratio"],
        slices={"g": "g"},
        uncertainty={"replicates": 20},
    ).metrics.filter(slice_set="g")
    counts = portfolios.group_by("g", maintain_order=True).agg(pl.col("y").sum(), pl.col("p").sum())
    events, expected = counts["y"].to_numpy(), counts["p"].to_numpy()
    few = (events >= 1) & (events < 10)
    low, high = confint_poisson(events[few], 1, method="exact-c")
    rows = found.filter(pl.Series(few))
    assert set(rows["method"]) == {"garwood"}
    assert rows["lower"].to_numpy() == pytest.approx(expected[few] / high)
    assert rows["upper"].to_numpy() == pytest.approx(expected[few] / low)
    assert rows["std_error"].to_numpy() == pytest.approx(expected[few] / events[few] ** 1.5)
    assert ((rows["lower"] <= 1) & (rows["upper"] >= 1)).mean() >= 0.95
    assert (found.filter(pl.Series(events == 0))["status"] == "no_positives").all()


def test_events_of_units_count_as_their_units(portfolios: pl.DataFrame) -> None:
    """Every row three times, of one unit: the interval is that of the rows once."""
    frame = portfolios.filter(pl.col("g") == 0).with_row_index("unit")
    assert 1 <= frame["y"].sum() < 10
    asked = {"label": "y", "models": "p", "metrics": ["calibration_ratio"], "uncertainty": {"replicates": 20}}
    once = plm.evaluate(frame, **asked).metrics
    thrice = plm.evaluate(pl.concat([frame] * 3), unit="unit", **asked).metrics
    for name in ("value", "lower", "upper", "std_error"):
        assert thrice[name].item() == pytest.approx(once[name].item())


def test_a_form_that_is_asked_for_stays(portfolios: pl.DataFrame) -> None:
    found = plm.evaluate(
        portfolios.head(200),
        label="y",
        models="p",
        metrics=["calibration_ratio"],
        uncertainty={"replicates": 50, "interval": "t"},
    ).metrics
    assert found["method"].item() in {"t", None}
