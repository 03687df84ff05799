"""Charts of residuals and conditional means: places are those of the curves."""

import numpy as np
import polars as pl
import pytest
from references.svg_marks import axis_scale, lines_of, marks_of, texts_of
from scipy.stats import norm

import plmetrics as plm
from plmetrics.report.charts.tasks.regression import SMALL_PANEL

CURVES = [
    *("residual_histogram", "residual_qq", "residual_prediction", "residual_quantiles"),
    *("conditional_label", "conditional_prediction", "conditional_recall"),
]


@pytest.fixture(scope="module")
def result():
    random = np.random.default_rng(4)
    truth = random.gamma(2, 50, 2000)
    frame = pl.DataFrame(
        {
            "y": truth + random.standard_t(3, 2000) * 15,
            "p": truth + random.normal(size=2000) * 5,
            "q": 0.9 * truth + 8,
        }
    )
    models = {"<b>first<i>": "p", "second a.b": "q"}
    return plm.evaluate(frame, task="regression", label="y", models=models, metrics=["rmse"], curves=CURVES)


def path(mark):
    """The places of a line, from its path."""
    steps = mark.attributes["d"].replace("M", "").split("L")
    return np.array([[float(number) for number in step.split(",")] for step in steps])


def test_mean_residuals_stand_at_their_predictions(result):
    figure = result.plot.residuals(models=["second a.b"])
    marks = marks_of(figure)
    (x, per_x), (y, per_y) = axis_scale(marks), axis_scale(marks, vertical=True)
    points = sorted((mark.x, mark.y) for mark in marks if mark.kind == "symbol")
    read = np.array([[x + per_x * across, y + per_y * up] for across, up in points])
    curve = figure.frame.filter(curve="residual_prediction").select("x", "y").sort("x").to_numpy()
    assert len(read) == 20
    assert np.all(np.abs(read - curve) <= 0.6 * np.abs([per_x, per_y]))


def test_models_have_panels_of_residuals_with_their_spread(result):
    figure = result.plot.residuals()
    marks = marks_of(figure)
    assert len([mark for mark in marks if mark.kind == "area"]) == 2 * 3
    assert {"<b>first<i>", "second a.b"} <= set(texts_of(marks, "title-text"))
    assert "band without 0 in" in figure.description


def test_quantiles_of_residuals_are_those_of_the_curve(result):
    figure = result.plot.residual_qq(models=["second a.b"])
    marks = marks_of(figure)
    (x, per_x), (y, per_y) = axis_scale(marks), axis_scale(marks, vertical=True)
    drawn = lines_of(marks, "#0072b2")[0]
    line = path(drawn) + np.array([drawn.x, drawn.y])
    read = np.column_stack([x + per_x * line[:, 0], y + per_y * line[:, 1]])
    assert len(read) == figure.frame.height <= 200
    assert np.all(np.abs(read - figure.frame.select("x", "y").to_numpy()) <= 0.6 * np.abs([per_x, per_y]))


def test_bars_are_shares_and_what_lies_beyond_is_told(result):
    figure = result.plot.residual_histogram(models=["<b>first<i>"])
    marks = marks_of(figure)
    bars = [mark for mark in marks if mark.kind == "rect"]
    _, per_y = axis_scale(marks, vertical=True)
    heights = [abs(float(mark.attributes["d"].split("v")[1].split("h")[0]) * per_y) for mark in bars]
    curve = result.curves.filter(curve="residual_histogram", model="<b>first<i>")
    beyond = 1 - sum(heights)
    assert 0 < beyond < 0.1
    told = [text for text in texts_of(marks) if "beyond" in text]
    shares = [float(text.replace("\u2190", "").split("%")[0]) / 100 for text in told]
    assert abs(sum(shares) - beyond) < 0.01
    assert abs(max(heights) - curve["y"].max()) < 0.6 * abs(per_y)


def test_two_models_have_outlines_on_the_same_bins(result):
    marks = marks_of(result.plot.residual_histogram())
    assert len(lines_of(marks, "#0072b2")) == len(lines_of(marks, "#d55e00")) == 1
    assert not [mark for mark in marks if mark.kind == "rect"]


def test_conditional_means_have_three_panels_and_one_legend(result):
    figure = result.plot.conditional()
    marks = marks_of(figure)
    assert texts_of(marks, "axis-title") == [
        *(
            "Prediction",
            "Mean label",
            "Label",
            "Mean prediction",
            "Label",
            "Share in the same bin (higher is better)",
        )
    ]
    assert figure.frame["curve"].n_unique() == 3
    assert len([text for text in texts_of(marks, "legend-label") if text]) == 2


def test_bands_of_few_rows_end_at_the_edges_of_their_panel():
    random = np.random.default_rng(0)
    truth = random.normal(size=60)
    frame = pl.DataFrame({"y": truth, "p": truth + random.normal(0, 0.5, 60)})
    result = plm.evaluate(frame, task="regression", label="y", models="p", curves=["conditional_label"])
    assert result.curves["upper"].max() > 1.2 * max(truth.max(), frame["p"].max())
    marks = marks_of(result.plot.conditional())
    (area,) = (mark for mark in marks if mark.kind == "area")
    drawn = path_of_area(area)[:, 1]
    assert drawn.min() >= 0
    assert drawn.max() <= SMALL_PANEL + 30


def test_labels_far_beyond_the_predictions_stay_in_their_panel():
    random = np.random.default_rng(4)
    frame = pl.DataFrame({"y": random.gamma(0.1, 10, 500), "p": random.uniform(0.9, 1.1, 500)})
    figure = plm.evaluate(
        frame, task="regression", label="y", models="p", curves=["conditional_label", "conditional_recall"]
    ).plot.conditional()
    drawn = path(lines_of(marks_of(figure), "#0072b2")[-1])[:, 0]
    assert drawn.max() - drawn.min() <= SMALL_PANEL + 30


def test_normal_quantiles_lie_in_the_grey_band_as_often_as_it_says():
    rows, draws = 200, 400
    random = np.random.default_rng(9)
    names = [f"p{number}" for number in range(2)]
    frame = pl.DataFrame({"y": np.zeros(rows)} | {name: random.normal(size=rows) for name in names})
    asked = {"task": "regression", "label": "y", "metrics": ["rmse"], "curves": ["residual_qq"]}
    figure = plm.evaluate(frame, models=names, **asked).plot.residual_qq()
    (band,) = (mark for mark in marks_of(figure) if mark.kind == "area")
    marks = marks_of(figure)
    (x, per_x), (y, per_y) = axis_scale(marks), axis_scale(marks, vertical=True)
    places = path_of_area(band)
    across, up = x + per_x * (band.x + places[:, 0]), y + per_y * (band.y + places[:, 1])
    upper, lower = across[: len(across) // 2], across[len(across) // 2 :][::-1]
    low, high = up[: len(up) // 2], up[len(up) // 2 :][::-1]
    assert np.allclose(upper, lower)
    # Where the band leaves the axis it has no end.
    low, high = np.where(low <= low.min() + 1e-6, -9, low), np.where(high >= high.max() - 1e-6, 9, high)
    quantile = norm.ppf((np.arange(rows) + 0.5) / rows)
    sorted_draws = np.sort(random.normal(size=(draws, rows)), axis=1)
    ends = [np.interp(quantile, upper, side) for side in (low, high)]
    inside = (sorted_draws >= ends[0] - 1e-3) & (sorted_draws <= ends[1] + 1e-3)
    for part in (slice(0, 20), slice(90, 110), slice(180, 200)):
        assert inside[:, part].mean() == pytest.approx(0.95, abs=0.02)
    (subtitle,) = texts_of(marks, "title-subtitle")
    assert "grey: 95% range of independent normal residuals, pointwise" in subtitle
    weighted = frame.with_columns(w=pl.lit(2.0))
    without = plm.evaluate(weighted, models=names, weight="w", **asked).plot.residual_qq()
    assert not [mark for mark in marks_of(without) if mark.kind == "area"]


def path_of_area(mark):
    """The places of an area, along one side and back along the other."""
    steps = mark.attributes["d"].replace("M", "").rstrip("Z").split("L")
    return np.array([[float(number) for number in step.split(",")] for step in steps])


def test_legends_say_what_their_numbers_are(result):
    for chart in (result.plot.residual_qq, result.plot.residual_histogram):
        assert "rmse" in texts_of(marks_of(chart()), "legend-title")
