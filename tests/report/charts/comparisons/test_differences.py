"""Differences of models: places, p values, readings and the zones of gates are those of the tables."""

import numpy as np
import polars as pl
import pytest
from references.svg_marks import axis_scale, marks_of, points_of, texts_of

import plmetrics as plm
from plmetrics.core.errors import ConfigError
from plmetrics.report.numbers import p_value


@pytest.fixture(scope="module")
def differences(gated):
    return gated.plot.differences()


@pytest.fixture(scope="module")
def marks(differences):
    return marks_of(differences)


def test_each_metric_has_a_scale_of_its_own(gated, differences, marks):
    rows = gated.comparisons.filter(contrast="model", slice_set="overall")
    assert differences.frame.equals(rows.select(differences.frame.columns))
    shown = sorted(points_of(marks), key=lambda mark: mark.y)
    assert len(shown) == rows.height == 4
    for number, (mark, difference) in enumerate(zip(shown, rows["difference"], strict=True)):
        start, slope = axis_scale(marks, number=number)
        assert abs(start + slope * mark.x - difference) < 0.5 * slope


def test_rows_stand_close_to_each_other():
    frame = pl.DataFrame(
        {"y": [1, 0] * 20, "p": [0.9, 0.2, 0.4, 0.4] * 10, "q": [0.8, 0.3] * 20, "r": [0.4] * 40}
    )
    models = {"first": "p", "second": "q", "third": "r"}
    result = plm.evaluate(frame, label="y", models=models, metrics=["accuracy"], compare="first")
    places = sorted(mark.y for mark in marks_of(result.plot.differences()) if mark.text in models)
    assert np.allclose(np.diff(places), 18)


def test_both_p_values_and_readings_stand_beside(differences, marks):
    texts = texts_of(marks)
    for row in differences.frame.iter_rows(named=True):
        assert p_value(row["p_value"]) in texts
        assert p_value(row["p_adjusted"]) in texts
    assert {"p", "adjusted p", "reading"} <= set(texts)


def test_the_better_side_is_that_of_the_metric(differences, marks):
    texts = [text for text in texts_of(marks) if "worse" in text and "better" in text and "|" in text]
    directions = ["higher", "lower", "higher", "higher"]
    assert [text.startswith("\u2190 worse") for text in texts] == [way == "higher" for way in directions]


def test_the_limit_of_a_gate_bounds_a_shaded_zone(marks):
    start, slope = axis_scale(marks)
    limits = [
        mark
        for mark in marks
        if mark.kind == "rule" and mark.attributes.get("stroke") == "#d55e00" and mark.x == mark.x2
    ]
    assert [round(start + slope * mark.x, 4) for mark in limits] == [-0.03]


def test_the_zone_of_a_gate_on_one_model_names_it():
    frame = pl.DataFrame(
        {"y": [1, 0] * 20, "p": [0.9, 0.2, 0.4, 0.4] * 10, "q": [0.8, 0.3] * 20, "r": [0.4] * 40}
    )
    gate = {"metric": "accuracy", "against": "first", "no_worse_than": 0.1}
    legends = []
    for judged in ({"model": "second"}, {}):
        result = plm.evaluate(
            frame,
            label="y",
            models={"first": "p", "second": "q", "third": "r"},
            metrics=["accuracy", "brier"],
            compare="first",
            gates=[gate | judged],
        )
        legends.append(" ".join(texts_of(marks_of(result.plot.differences()), "title-subtitle")))
    assert "shaded: fails a gate, which judges second to first alone" in legends[0]
    assert "shaded: fails a gate" in legends[1]
    assert "alone" not in legends[1]


def test_differences_in_slices_are_sorted(gated):
    figure = gated.plot.differences("roc_auc", slice_set="age")
    values = figure.frame["difference"].to_list()
    assert values == sorted(values, reverse=True)
    marks = marks_of(figure)
    start, slope = axis_scale(marks)
    read = [start + slope * mark.x for mark in sorted(points_of(marks), key=lambda mark: mark.y)]
    assert np.abs(np.array(read) - figure.frame["difference"].to_numpy()).max() < 0.5 * slope


def test_eight_models_of_odd_names():
    random = np.random.default_rng(5)
    names = ["base", "a.b", "<b>", "x" * 120, "\u05e9\u05dc\u05d5\u05dd", "it's", "m7", "m8"]
    frame = pl.DataFrame({"y": random.random(200) < 0.5, **{f"p{k}": random.random(200) for k in range(8)}})
    models = {name: f"p{k}" for k, name in enumerate(names)}
    result = plm.evaluate(frame, label="y", models=models, metrics=["accuracy"], compare="base")
    figure = result.plot.differences()
    assert figure.frame.height == 7
    assert {"a.b", "<b>", "it's"} <= set(texts_of(marks_of(figure)))


def test_without_comparisons_there_is_nothing_to_draw():
    frame = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.2, 0.4, 0.4]})
    result = plm.evaluate(frame, label="y", models="p", metrics=["recall"])
    with pytest.raises(ConfigError, match="no models were compared"):
        result.plot.differences()
    with pytest.raises(ConfigError, match="no slices were compared"):
        result.plot.slice_differences()
    assert not {"differences", "slice_differences", "forest", "heatmap"} & set(dir(result.plot))


def test_of_many_models_the_best_are_drawn():
    rng = np.random.default_rng(8)
    label = rng.integers(0, 2, 400)
    scores = {f"m{number}": label * 0.01 * number + rng.random(400) for number in range(50)}
    models = list(scores)
    result = plm.evaluate(
        {"y": label} | scores, label="y", models=models, metrics=["roc_auc"], compare={"baseline": "m0"}
    )
    values = result.metrics.sort("value", descending=True)["model"].to_list()
    drawn = result.plot.differences().frame["model"].to_list()
    assert drawn == [model for model in values if model != "m0"][:40]


def test_columns_are_named_where_the_first_metric_has_no_value():
    frame = {"y": [1] * 20, "a": [0.7] * 20, "b": [0.6, 0.8] * 10}
    result = plm.evaluate(
        frame,
        label="y",
        models=["a", "b"],
        metrics=["roc_auc", "log_loss"],
        compare="a",
        uncertainty={"replicates": 20},
    )
    figure = result.plot.differences()
    texts = texts_of(marks_of(figure))
    assert {"difference [95% interval]", "p", "adjusted p", "reading"} <= set(texts)
    assert "hollow grey: fewer than 30 rows" in figure.svg()


def test_the_description_has_the_digits_of_each_metric():
    rng = np.random.default_rng(2)
    truth = rng.normal(1e6, 1e5, 200)
    rows = {"y": truth, "a": truth + rng.normal(0, 1e5, 200), "b": truth + rng.normal(0, 2e5, 200)}
    result = plm.evaluate(
        rows,
        task="regression",
        label="y",
        models=["a", "b"],
        metrics=["r2", "pearson", "mae"],
        compare="a",
        uncertainty={"replicates": 50},
    )
    alone = [result.plot.differences(metric).description for metric in ("r2", "pearson", "mae")]
    together = result.plot.differences().description
    assert all(text.split(" b, ")[1].rstrip(".") in together for text in alone)
