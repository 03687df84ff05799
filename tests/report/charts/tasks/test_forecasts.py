"""Coverage and the transform of labels: computed again from the forecasts, and read back from the charts."""

import numpy as np
import polars as pl
import pytest
from references.svg_marks import axis_scale, marks_of
from scipy.stats import norm

import plmetrics as plm
from plmetrics.report.charts.tasks.forecasts import pit_shape

RANDOM = np.random.default_rng(9)
MEAN = RANDOM.normal(size=1500)
LABEL = MEAN + RANDOM.normal(size=1500)
SD = {"narrow": 0.5, "right": 1.0, "wide": 2.0}


@pytest.fixture(scope="module")
def result():
    frame = pl.DataFrame({"y": LABEL, "m": MEAN, **{name: np.full(1500, sd) for name, sd in SD.items()}})
    models = {name: {"mean": "m", "sd": name} for name in SD}
    return plm.evaluate(
        frame,
        task="quantile",
        label="y",
        models=models,
        metrics=["mae"],
        curves=["coverage", "pit_histogram"],
    )


def test_coverage_is_the_share_of_labels_in_central_intervals(result):
    figure = result.plot.coverage(models=["narrow"])
    marks = marks_of(figure)
    (x, per_x), (y, per_y) = axis_scale(marks), axis_scale(marks, vertical=True)
    line = next(mark for mark in marks if mark.kind == "line" and mark.attributes["stroke"] == "#0072b2")
    steps = [step.split(",") for step in line.attributes["d"].replace("M", "").split("L")]
    for across, up in steps:
        level = x + per_x * (line.x + float(across))
        reach = norm.ppf(0.5 + round(level, 2) / 2) * SD["narrow"]
        share = float(np.mean(np.abs(LABEL - MEAN) <= reach))
        assert abs(y + per_y * (line.y + float(up)) - share) < 0.6 * abs(per_y)


def test_bars_are_densities_of_the_transform(result):
    figure = result.plot.pit(models=["wide"])
    marks = marks_of(figure)
    y, per_y = axis_scale(marks, vertical=True)
    bars = [mark for mark in marks if mark.kind == "rect" and mark.attributes.get("stroke")]
    heights = [abs(float(mark.attributes["d"].split("v")[1].split("h")[0]) * per_y) for mark in bars]
    counts, _ = np.histogram(norm.cdf((LABEL - MEAN) / SD["wide"]), bins=20, range=(0, 1))
    assert np.allclose(heights, counts / 1500 * 20, atol=0.6 * abs(per_y))
    assert y > 0


def test_the_shape_is_said_in_words(result):
    described = result.plot.pit().description
    assert "narrow: forecasts are too narrow" in described
    assert "right: about flat" in described
    assert "wide: forecasts are too wide" in described
    edges = np.linspace(0, 1, 11)
    slope = pl.DataFrame(
        {"low": edges[:-1], "threshold": edges[1:], "x": edges[:-1] + 0.05, "y": np.linspace(1.9, 0.1, 10)}
    )
    assert pit_shape(slope) == "labels lie low in the forecasts"


def test_models_have_panels_of_the_transform(result):
    figure = result.plot.pit()
    assert figure.frame["model"].unique(maintain_order=True).to_list() == list(SD)
    assert len([mark for mark in marks_of(figure) if mark.kind == "title-text" and mark.text in SD]) == 3
