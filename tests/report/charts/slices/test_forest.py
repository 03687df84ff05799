"""The forest of slices: places, numbers and words are those of the tables."""

import numpy as np
import polars as pl
import pytest
from references.svg_marks import axis_scale, marks_of, points_of, texts_of

import plmetrics as plm
from plmetrics.core.errors import ConfigError
from plmetrics.report.charts.slices.rows import GUTTER
from plmetrics.report.charts.texts import width


@pytest.fixture(scope="module")
def forest(binary):
    return binary.plot.forest("roc_auc", models=["champion"])


@pytest.fixture(scope="module")
def marks(forest):
    return marks_of(forest)


@pytest.mark.slow
def test_points_stand_where_the_table_says(forest, marks):
    start, slope = axis_scale(marks)
    shown = sorted(points_of(marks), key=lambda mark: mark.y)
    defined = forest.frame.filter(pl.col("value").is_not_null())
    assert len(shown) == defined.height
    read = np.array([start + slope * mark.x for mark in shown])
    assert np.abs(read - defined["value"].to_numpy()).max() < 0.5 * slope


def test_rules_reach_from_end_to_end(forest, marks):
    start, slope = axis_scale(marks)
    rules = [
        mark
        for mark in marks
        if mark.kind == "rule" and mark.y == mark.y2 and mark.attributes["stroke"] != "#e4e7eb"
    ]
    rules.sort(key=lambda mark: mark.y)
    ends = forest.frame.filter(pl.col("lower").is_not_null()).select("lower", "upper").to_numpy()
    read = np.array([[start + slope * mark.x, start + slope * mark.x2] for mark in rules])
    assert len(read) == len(ends)
    low, high = read.min(), read.max()
    assert np.abs(read - np.clip(ends, low, high)).max() < 0.5 * slope


def test_rows_are_those_of_the_table(binary, forest):
    assert forest.frame.columns == binary.metrics.columns
    expected = binary.metrics.filter(metric="roc_auc", model="champion")
    keys = ["slice_set", "slice", "value", "lower", "upper", "n"]
    assert forest.frame.select(keys).sort(keys).equals(expected.select(keys).sort(keys))


def test_sets_have_headers_and_values_fall_within_them(forest, marks):
    texts = texts_of(marks)
    assert texts.count("region") == texts.count("age") == texts.count("All rows") == 1
    for _, part in forest.frame.filter(pl.col("slice_set") != "overall").group_by("slice_set"):
        values = part["value"].drop_nulls().to_list()
        assert values == sorted(values, reverse=True)


def test_odd_names_are_shown_without_what_a_renderer_stumbles_over(forest, marks):
    texts = texts_of(marks)
    assert {
        "<b>&</b> ]]>",
        "a.b[0]",
        "control \ufffd",
        "\u05e9\u05dc\u05d5\u05dd",
        "(empty)",
        "(missing)",
    } <= set(texts)
    assert max(map(len, texts)) < 60
    assert "\x07" not in forest.svg()


def test_names_fit_their_room():
    frame = pl.DataFrame(
        {"y": [True, False] * 20, "p": [0.8, 0.3, 0.4, 0.6] * 10, "name": ["W" * 30, "i" * 30] * 20}
    )
    result = plm.evaluate(frame, label="y", models="p", metrics=["accuracy"], slices=["name"])
    texts = texts_of(marks_of(result.plot.forest("accuracy")))
    assert "i" * 30 in texts
    cut = next(text for text in texts if text.startswith("WWW"))
    assert "…" in cut
    assert 100 < width(cut) < GUTTER


def test_undefined_slices_have_a_reason_and_no_point(forest, marks):
    assert "undefined: no negatives" in texts_of(marks)
    assert forest.frame.filter(slice="region=one class")["value"].to_list() == [None]


def test_a_slice_is_orange_where_the_adjusted_test_says_worse(binary, forest, marks):
    tests = binary.comparisons.filter(contrast="rest", metric="roc_auc", model="champion")
    worse = tests.filter(pl.col("p_adjusted") < 0.05, pl.col("difference") < 0)
    assert worse["slice"].to_list() == ["region=North"]
    orange = [mark for mark in points_of(marks) if mark.attributes["fill"] == "#d55e00"]
    assert len(orange) == 1
    assert "Worse in 1 of 10 slices: region=North" in forest.description


def test_no_slice_is_worse_in_a_metric_without_a_better_side():
    rows = pl.DataFrame({"y": [1, 0] * 40, "p": [0.9, 0.2, 0.6, 0.7] * 20, "g": ["a", "b", "c", "a"] * 20})
    result = plm.evaluate(
        rows,
        label="y",
        models="p",
        metrics=["selection_rate"],
        slices=["g"],
        uncertainty={"replicates": 50},
        compare={"slices": {"g": "rest"}},
    )
    assert "orse" not in result.plot.forest("selection_rate").description


def test_totals_are_not_beside_their_sum(binary):
    figure = binary.plot.forest("tp", models=["champion"])
    shown = points_of(marks_of(figure))
    assert len(shown) == figure.frame.height - 1


def test_models_stand_side_by_side(binary):
    figure = binary.plot.forest("log_loss", slice_set="age")
    marks = marks_of(figure)
    assert {"champion", "challenger <i>"} <= set(texts_of(marks))
    assert len(points_of(marks)) == figure.frame.height == 10


def test_of_many_slices_forty_are_shown():
    frame = pl.DataFrame({"y": [True, False] * 5000, "p": [0.8, 0.3, 0.4, 0.6] * 2500})
    frame = frame.with_columns(many=pl.int_range(pl.len()) // 2, few=pl.int_range(pl.len()) % 3)
    result = plm.evaluate(
        frame, label="y", models="p", metrics=["accuracy"], slices=["many", "few"], max_slices=6000
    )
    figure = result.plot.forest("accuracy")
    assert figure.frame.filter(pl.col("slice_set") != "overall").height == 40
    assert figure.frame["slice_set"].value_counts().sort("count")["count"].to_list() == [1, 3, 37]
    assert "40 of 5,003 slices shown, the largest of each set" in str(figure.specification()["title"])


def test_a_result_without_slices_is_told():
    frame = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.2, 0.4, 0.4]})
    result = plm.evaluate(frame, label="y", models="p", metrics=["recall"])
    with pytest.raises(ConfigError, match="has no slices"):
        result.plot.forest()
    with pytest.raises(ConfigError, match="no metric"):
        result.plot.forest("recal")


def test_worse_slices_that_are_not_shown_are_counted():
    random = np.random.default_rng(1)
    place = np.repeat(np.arange(45), 60 + np.arange(45)[::-1])
    label = random.random(len(place)) < 0.5
    score = np.where(place >= 43, 0.5 - 0.4 * (2 * label - 1.0), 0.5 + 0.4 * (2 * label - 1.0))
    frame = pl.DataFrame({"y": label, "p": score + random.normal(size=len(place)) * 0.01, "g": place})
    compare = {"slices": {"g": "rest"}}
    result = plm.evaluate(
        frame,
        label="y",
        models="p",
        metrics=["accuracy"],
        slices=["g"],
        uncertainty={"replicates": 60},
        compare=compare,
    )
    figure = result.plot.forest()
    assert figure.frame.height == 41
    assert "2 slices more are worse and not shown" in str(figure.specification()["title"])


def test_wide_names_are_cut_in_the_middle_and_stay_apart():
    names = ["W" * 40 + ending + "W" * 40 for ending in "abc"] + ["W" * 30 + "x"]
    frame = pl.DataFrame({"y": [1, 0] * 8, "p": [0.9, 0.2] * 8, "g": names * 4})
    result = plm.evaluate(frame, label="y", models="p", metrics=["accuracy"], slices=["g"])
    cut = [text for text in texts_of(marks_of(result.plot.forest())) if "\u2026" in text]
    assert len(set(cut)) == 4
    assert max(map(width, cut)) < 182


def test_classes_have_rows_of_their_own():
    frame = pl.DataFrame({"y": list("abc") * 20, "p": list("abcacb") * 10, "g": ["u", "v"] * 30})
    metrics = ["recall(average=none)"]
    result = plm.evaluate(frame, task="multiclass", label="y", models="p", metrics=metrics, slices=["g"])
    figure = result.plot.forest()
    assert figure.frame.height == 9
    assert {"All rows [a]", "u [b]", "v [c]"} <= set(texts_of(marks_of(figure)))


def test_worse_slices_of_several_models_are_named_with_their_model():
    draw = np.random.default_rng(3)
    truth, where = draw.random(900) < 0.5, draw.choice(["x", "y", "z"], 900)
    noise = np.where(where == "x", 4.0, 0.5)
    frame = {
        "y": truth,
        **{name: 1 / (1 + np.exp(-(2.0 * truth - 1 + noise * draw.normal(size=900)))) for name in ("a", "b")},
        "g": where,
    }
    result = plm.evaluate(
        frame,
        label="y",
        models=["a", "b"],
        metrics=["roc_auc"],
        slices=["g"],
        compare={"slices": {"g": "rest"}},
        uncertainty={"replicates": 50},
    )
    description = result.plot.forest().description
    assert "Worse in 2 of 6 values, 3 slices by 2 models: a, g=x: " in description
    assert "; b, g=x: " in description


def test_without_a_metric_it_is_that_of_the_worst_slices():
    rng = np.random.default_rng(5)
    rows = {"y": rng.integers(0, 2, 200), "p": rng.random(200), "g": rng.choice(["a", "b"], 200)}
    result = plm.evaluate(rows, label="y", models="p", metrics=["prevalence", "tp", "recall"], slices=["g"])
    assert result.plot.forest().frame["metric"].unique().to_list() == ["recall"]
    assert result.plot.forest("prevalence").frame["metric"].unique().to_list() == ["prevalence"]


def test_panels_of_long_names_tell_their_models_apart():
    rng = np.random.default_rng(5)
    names = [f"gradient boosted trees of the {number} season, all features" for number in (1, 2)]
    rows = {"y": rng.integers(0, 2, 90), "g": rng.choice(["a", "b"], 90)} | {
        name: rng.random(90) for name in names
    }
    figure = plm.evaluate(rows, label="y", models=names, metrics=["recall"], slices=["g"]).plot.forest()
    assert len({text for text in texts_of(marks_of(figure)) if "season" in text}) == 2
    assert figure.description.count("the 1 season") == figure.description.count("the 2 season") == 1


def test_slices_that_nothing_tests_are_not_counted_as_no_worse():
    noise = np.random.default_rng(4)
    frame = {
        "y": noise.random(600) < 0.5,
        "p": noise.random(600),
        "g": noise.choice(["x", "y"], 600),
        "h": noise.choice(["u", "v", "w"], 600),
    }
    asked = {"slices": ["g", "h"], "compare": {"slices": {"g": "rest"}}, "uncertainty": {"replicates": 50}}
    result = plm.evaluate(frame, label="y", models="p", metrics=["roc_auc"], **asked)
    assert "Worse in 0 of 2 slices" in result.plot.forest().description
