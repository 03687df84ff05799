"""Charts of scores as probabilities: places are those of the curves, ranges those of the binomial distribution."""

import dataclasses

import numpy as np
import polars as pl
import pytest
import yaml
from references.svg_marks import axis_scale, marks_of, texts_of
from scipy.stats import binomtest

import plmetrics as plm
from plmetrics.core.results import CURVES_SCHEMA

BLUE = "#0072b2"
EDGES = np.linspace(0, 1, 21)


@pytest.fixture(scope="module")
def frame():
    random = np.random.default_rng(8)
    score = random.beta(2, 3, 900)
    other = np.clip(score + random.normal(size=900) * 0.1, 0.01, 0.99)
    return pl.DataFrame({"y": (random.random(900) < score).astype(int), "p": score, "q": other})


def rows_of(model, curve, **columns):
    rows = pl.DataFrame(columns).with_columns(
        model=pl.lit(model), slice_set=pl.lit("overall"), slice=pl.lit("all"), curve=pl.lit(curve)
    )
    missing = [name for name in CURVES_SCHEMA if name not in rows.columns]
    return rows.with_columns(pl.lit(None).alias(name) for name in missing).select(
        pl.col(name).cast(kind) for name, kind in CURVES_SCHEMA.items()
    )


@pytest.fixture(scope="module")
def result(frame):
    """Two models, with counts of scores by class whether or not a run draws them by itself."""
    drawn = plm.evaluate(
        frame,
        label="y",
        models={"sharp": "p", "blunt <i>": "q"},
        metrics=["ece", "calibration_slope", "recall"],
        curves=["reliability"],
        uncertainty={"replicates": 30},
    )
    parts = [drawn.curves.filter(pl.col("curve") != "score_histogram")]
    for model, column in (("sharp", "p"), ("blunt <i>", "q")):
        for kind, value in (("positive", 1), ("negative", 0)):
            n, _ = np.histogram(frame.filter(y=value)[column], EDGES)
            middle = (EDGES[1:] + EDGES[:-1]) / 2
            columns = {"x": middle, "y": n / n.sum(), "threshold": EDGES[1:], "n": n, "class": [kind] * 20}
            parts.append(rows_of(model, "score_histogram", **columns))
    return dataclasses.replace(drawn, curves=pl.concat(parts))


@pytest.fixture(scope="module")
def bare(result):
    """The result without scores by class, so that the diagram stands alone."""
    return dataclasses.replace(result, curves=result.curves.filter(curve="reliability"))


def symbols(marks):
    return [mark for mark in marks if mark.kind == "symbol"]


def test_points_and_intervals_are_those_of_the_bins(bare):
    figure = bare.plot.reliability(models=["sharp"])
    marks = marks_of(figure)
    y, per_y = axis_scale(marks, vertical=True)
    bins = bare.curves.filter(curve="reliability", model="sharp").sort("x")
    x, per_x = axis_scale(marks)
    read = np.array(sorted((x + per_x * mark.x, y + per_y * mark.y) for mark in symbols(marks)))
    assert np.abs(read - bins.select("x", "y").to_numpy()).max() < 0.6 * abs(per_y)
    rules = [mark for mark in marks if mark.kind == "rule" and mark.attributes["stroke"] == BLUE]
    ends = np.sort([[y + per_y * mark.y, y + per_y * mark.y2] for mark in rules], axis=1)
    wanted = bins.select("lower", "upper").to_numpy()
    assert np.abs(ends[np.argsort([mark.x for mark in rules])] - wanted).max() < 0.6 * abs(per_y)
    assert figure.frame.equals(bare.curves.filter(curve="reliability", model="sharp"))


def test_the_grey_range_holds_rates_that_a_test_would_not_refuse(bare):
    marks = marks_of(bare.plot.reliability(models=["sharp"]))
    (band,) = [mark for mark in marks if mark.kind == "area"]
    (x, per_x), (y, per_y) = axis_scale(marks), axis_scale(marks, vertical=True)
    places = np.array([step.split(",") for step in band.attributes["d"].strip("MZ").split("L")], dtype=float)
    read = np.column_stack([x + per_x * (places[:, 0] + band.x), y + per_y * (places[:, 1] + band.y)])
    for row in bare.curves.filter(curve="reliability", model="sharp").iter_rows(named=True):
        ends = np.sort(read[np.abs(read[:, 0] - row["x"]) < 0.6 * per_x, 1])
        assert len(ends) == 2
        for share in ends:
            count = round(share * row["n"])
            assert abs(share - count / row["n"]) < 0.6 * abs(per_y)
            # The ends are in the central range; one row further out is not.
            assert binomtest(count, row["n"], row["x"], "less").pvalue >= 0.025
            assert binomtest(count, row["n"], row["x"], "greater").pvalue >= 0.025
        low, high = (round(share * row["n"]) for share in ends)
        assert low == 0 or binomtest(low - 1, row["n"], row["x"], "less").pvalue < 0.025
        assert high == row["n"] or binomtest(high + 1, row["n"], row["x"], "greater").pvalue < 0.025


def test_the_words_tell_rows_events_slope_and_error(result, frame):
    words = " ".join(texts_of(marks_of(result.plot.reliability(models=["sharp"])), "title-subtitle"))
    slope = result.metrics.filter(metric="calibration_slope", model="sharp")["value"][0]
    assert "n = 900" in words
    assert f"events {frame['y'].mean():.1%}" in words
    assert f"calibration slope {slope:.2f}" in words
    assert "Wilson" in words
    assert "ECE 0." in words


@pytest.mark.parametrize("stored", [False, True])
def test_rows_in_units_have_no_range_of_independent_rows(frame, tmp_path, stored):
    frame.with_columns(u=pl.int_range(pl.len()) // 3).write_parquet(tmp_path / "rows.parquet")
    suite = {
        "name": "units",
        "data": {"path": "rows.parquet"},
        "columns": {"label": "y", "unit": "u"},
        "models": {"sharp": "p"},
        "metrics": ["ece"],
        "curves": ["reliability"],
        "uncertainty": {"replicates": 30},
        "output": {"directory": "runs"},
    }
    (tmp_path / "suite.yaml").write_text(yaml.safe_dump(suite))
    result = plm.run(tmp_path / "suite.yaml")
    marks = marks_of((plm.load(result.folder) if stored else result).plot.reliability())
    assert not [mark for mark in marks if mark.kind == "area"]
    words = " ".join(texts_of(marks, "title-subtitle"))
    assert "bootstrap intervals" in words
    assert "if calibrated" not in words


def test_scores_by_class_stand_below(result, frame):
    marks = marks_of(result.plot.reliability(models=["sharp"]))
    texts = texts_of(marks)
    assert f"events {frame['y'].sum()}" in texts
    assert f"non-events {(1 - frame['y']).sum()}" in texts
    assert len([mark for mark in marks if mark.kind == "rect"]) >= 40


def test_models_have_panels_without_histograms(result):
    marks = marks_of(result.plot.reliability())
    assert {"sharp", "blunt <i>"} <= set(texts_of(marks, "title-text"))
    assert not [mark for mark in marks if mark.kind == "rect"]


def test_without_histograms_the_diagram_is_drawn_alone(bare):
    marks = marks_of(bare.plot.reliability(models=["sharp"]))
    assert symbols(marks)
    assert not [mark for mark in marks if mark.kind == "rect"]


def test_isotonic_steps_replace_the_thin_line(result):
    steps = rows_of("sharp", "corp", x=[0.1, 0.4, 0.4, 0.9], y=[0.2, 0.2, 0.7, 0.7])
    more = dataclasses.replace(result, curves=pl.concat([result.curves, steps]))
    before = {
        mark.attributes["stroke"]
        for mark in marks_of(result.plot.reliability(models=["sharp"]))
        if mark.kind == "line"
    }
    after = {
        mark.attributes["stroke"]
        for mark in marks_of(more.plot.reliability(models=["sharp"]))
        if mark.kind == "line"
    }
    assert (BLUE in before, BLUE in after) == (True, False)
    assert "#d55e00" in after - before


def test_shares_of_both_classes_point_both_ways(result, frame):
    figure = result.plot.score_histogram(models=["sharp"])
    texts = texts_of(marks_of(figure))
    assert f"positives {frame['y'].sum()}" in texts
    assert f"negatives {(1 - frame['y']).sum()}" in texts
    assert "0.5" in texts
    assert figure.frame.height == 40


def test_net_benefit_stands_beside_calling_all_and_none(result):
    at = np.linspace(0.05, 0.95, 19)
    curves = [
        result.curves,
        rows_of("sharp", "net_benefit", x=at, y=0.3 - 0.3 * at, threshold=at),
        rows_of("", "net_benefit_all", x=at, y=0.4 - 0.6 * at / (1 - at), threshold=at),
    ]
    figure = dataclasses.replace(result, curves=pl.concat(curves)).plot.net_benefit()
    marks = marks_of(figure)
    assert {"call all", "call none"} <= set(texts_of(marks))
    (line,) = [mark for mark in marks if mark.kind == "line" and mark.attributes["stroke"] == BLUE]
    (x, per_x), (y, per_y) = axis_scale(marks), axis_scale(marks, vertical=True)
    places = np.array([step.split(",") for step in line.attributes["d"].strip("M").split("L")], dtype=float)
    read = np.column_stack([x + per_x * (places[:, 0] + line.x), y + per_y * (places[:, 1] + line.y)])
    assert np.abs(read[:, 0] - at).max() < 0.6 * per_x
    assert np.abs(read[:, 1] - (0.3 - 0.3 * at)).max() < 0.6 * abs(per_y)


def test_what_lies_far_below_is_cut_at_the_axis(result):
    at = np.linspace(0.05, 0.95, 19)
    band = {"lower": -at * 9, "upper": 0.3 - at}
    curves = [
        result.curves,
        rows_of("sharp", "net_benefit", x=at, y=0.3 - 4 * at, threshold=at, **band),
        rows_of("", "net_benefit_all", x=at, y=0.4 - 0.6 * at / (1 - at), threshold=at),
    ]
    marks = marks_of(dataclasses.replace(result, curves=pl.concat(curves)).plot.net_benefit(models=["sharp"]))
    y, per_y = axis_scale(marks, vertical=True)
    for mark in marks:
        if mark.kind in {"line", "area"}:
            places = [
                step.split(",") for step in mark.attributes["d"].strip("MZ").replace("M", "L").split("L")
            ]
            heights = y + per_y * (np.array([float(place[1]) for place in places]) + mark.y)
            assert heights.min() >= -0.5 * 0.4 - 0.6 * abs(per_y)


def test_classes_have_panels_of_one_against_the_rest(frame):
    classes = np.array(["cat", "dog", "<b>"])
    n = {"score_histogram": 7, "score_histogram_rest": 11}
    drawn = plm.evaluate(frame, label="y", models={"m": "p"}, metrics=["recall"])
    parts = [
        rows_of(
            "m",
            curve,
            x=EDGES[1:] - 0.025,
            y=[0.05] * 20,
            threshold=EDGES[1:],
            n=[rows] * 20,
            **{"class": [name] * 20},
        )
        for name in classes
        for curve, rows in n.items()
    ]
    figure = dataclasses.replace(drawn, curves=pl.concat(parts)).plot.score_histogram()
    marks = marks_of(figure)
    assert set(classes) <= set(texts_of(marks, "title-text"))
    assert texts_of(marks).count("class 140") == texts_of(marks).count("rest 220") == 3
    assert figure.frame.height == 120
