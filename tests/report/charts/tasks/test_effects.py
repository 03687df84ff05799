"""Charts of effects: curves end at the effect on all rows, and so does the line of a random order."""

import numpy as np
import polars as pl
import pytest
from references.svg_marks import axis_scale, marks_of, texts_of

import plmetrics as plm


@pytest.fixture(scope="module")
def result():
    random = np.random.default_rng(4)
    effect = random.normal(size=3000) * 0.1
    treated = random.random(3000) < 0.5
    frame = pl.DataFrame(
        {
            "y": (random.random(3000) < 0.3 + treated * (0.05 + effect)).astype(int),
            "t": treated,
            "p": effect,
            "q": random.normal(size=3000),
        }
    )
    return plm.evaluate(
        frame,
        task="uplift",
        label="y",
        treatment="t",
        models={"good": "p", "blind <i>": "q"},
        metrics=["qini", "auuc", "ate"],
        curves=["qini", "uplift", "effect_calibration"],
        uncertainty={"replicates": 50},
    )


def ends(mark):
    steps = [step.split(",") for step in mark.attributes["d"].replace("M", "").split("L")]
    return [(mark.x + float(x), mark.y + float(y)) for x, y in (steps[0], steps[-1])]


@pytest.mark.parametrize("name", ["qini", "uplift"])
def test_the_random_line_goes_straight_to_the_effect_on_all_rows(result, name):
    figure = getattr(result.plot, name)()
    marks = marks_of(figure)
    (x, per_x), (y, per_y) = axis_scale(marks), axis_scale(marks, vertical=True)
    dashed = next(mark for mark in marks if mark.kind == "line" and mark.attributes["stroke"] == "#7b8794")
    assert dashed.attributes["d"].count("L") == 1
    first, last = ([x + per_x * across, y + per_y * up] for across, up in ends(dashed))
    overall = result.curves.filter(curve=name, model="good").sort("x").row(-1, named=True)
    assert np.allclose(first, 0, atol=0.6 * abs(per_x))
    assert abs(last[0] - 1) < 0.6 * per_x
    assert abs(last[1] - overall["y"]) < 0.6 * abs(per_y)
    good = next(mark for mark in marks if mark.kind == "line" and mark.attributes["stroke"] == "#0072b2")
    assert np.allclose(ends(good)[-1], ends(dashed)[-1], atol=0.6)
    assert "random order" in texts_of(marks)
    if name == "uplift":
        assert abs(overall["y"] - result.metrics.filter(metric="ate")["value"][0]) < 1e-9


def test_observed_effects_stand_over_predicted_ones(result):
    figure = result.plot.effect_calibration(models=["good"])
    marks = marks_of(figure)
    (x, per_x), (y, per_y) = axis_scale(marks), axis_scale(marks, vertical=True)
    points = sorted((mark.x, mark.y) for mark in marks if mark.kind == "symbol")
    read = np.array([[x + per_x * across, y + per_y * up] for across, up in points])
    curve = figure.frame.select("x", "y").sort("x").to_numpy()
    assert len(read) == 10
    assert np.all(np.abs(read - curve) <= 0.6 * np.abs([per_x, per_y]))
    rules = [mark for mark in marks if mark.kind == "rule"]
    assert len(rules) == 10


@pytest.mark.parametrize("name", ["qini", "uplift", "effect_calibration"])
def test_no_two_models_of_a_panel_have_one_colour(name):
    random = np.random.default_rng(1)
    scores = {f"m{number}": random.random(300) for number in range(7)}
    frame = pl.DataFrame({"y": random.integers(0, 2, 300), "t": random.integers(0, 2, 300), **scores})
    figure = getattr(
        plm.evaluate(
            frame,
            task="uplift",
            label="y",
            treatment="t",
            models=[*scores],
            metrics=["qini"],
            curves=["qini", "uplift", "effect_calibration"],
        ).plot,
        name,
    )()
    assert figure.frame["model"].n_unique() == 5
    assert figure.notes == ("5 of 7 shown, 2 more are in the table",)
    assert "2 more are in the table" in " ".join(texts_of(marks_of(figure), "title-subtitle"))
