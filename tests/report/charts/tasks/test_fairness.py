"""Gaps between groups: groups stand at their rates, and the bracket reaches between the two of the gap."""

import numpy as np
import polars as pl
import pytest
from references.svg_marks import axis_scale, marks_of, points_of, texts_of

import plmetrics as plm
from plmetrics.report.html.page import html_text
from plmetrics.report.summary import summarise

RATES = {"a.b": 0.9, "<i>": 0.8, "c": 0.5, "few": 1.0}


@pytest.fixture(scope="module")
def result():
    sizes = {"a.b": 100, "<i>": 200, "c": 100, "few": 5}
    parts = [
        pl.DataFrame(
            {
                "g": [name] * size,
                "p": [0.9] * round(RATES[name] * size) + [0.1] * (size - round(RATES[name] * size)),
            }
        )
        for name, size in sizes.items()
    ]
    frame = pl.concat(parts).with_columns(y=pl.int_range(pl.len()) % 2 == 0)
    gaps = ["disparity(selection_rate, by=g)", "demographic_parity_ratio(by=g)", "disparate_impact(by=g)"]
    metrics = ["selection_rate", *gaps, "disparate_impact(by=g, reference=c)"]
    return plm.evaluate(frame, label="y", models="p", metrics=metrics, slices=["g"])


def test_the_bracket_reaches_from_the_least_to_the_largest_judged_rate(result):
    marks = marks_of(result.plot.fairness())
    start, slope = axis_scale(marks, number=0)
    bars = [mark for mark in marks if mark.kind == "rule" and mark.attributes.get("stroke") == "#1f2933"]
    ends = [sorted((start + slope * bar.x, start + slope * bar.x2)) for bar in bars[:1]]
    assert np.allclose(ends, [[0.5, 0.9]], atol=0.5 * slope)
    assert result.metrics.filter(metric="disparity(selection_rate, by=g)", slice="all")[
        "value"
    ].item() == pytest.approx(0.4)
    assert any("0.4" in text and "c to a.b" in text for text in texts_of(marks))


def test_groups_stand_at_their_rates_and_the_small_one_is_hollow(result):
    figure = result.plot.fairness("disparity")
    marks = marks_of(figure)
    start, slope = axis_scale(marks)
    dots = points_of(marks)
    read = sorted(start + slope * mark.x for mark in dots)
    assert np.allclose(read, sorted(RATES.values()), atol=0.5 * slope)
    hollow = [start + slope * mark.x for mark in dots if mark.attributes["fill"] == "#ffffff"]
    assert np.allclose(hollow, [1.0], atol=0.5 * slope)
    assert any("not judged" in text for text in texts_of(marks))


@pytest.mark.parametrize("metric", ["demographic_parity_ratio", "disparate_impact(by=g)"])
def test_of_a_ratio_four_fifths_of_the_largest_are_marked(result, metric):
    marks = marks_of(result.plot.fairness(metric))
    assert "ratio" in texts_of(marks)
    start, slope = axis_scale(marks)
    dashed = [mark for mark in marks if mark.kind == "rule" and mark.attributes.get("stroke-dasharray")]
    assert np.allclose([start + slope * mark.x for mark in dashed], [0.72], atol=0.5 * slope)
    orange = [mark for mark in marks if mark.kind == "symbol" and mark.attributes.get("fill") == "#d55e00"]
    assert np.allclose([start + slope * mark.x for mark in orange], [0.5], atol=0.5 * slope)


def test_a_ratio_above_1_to_the_reference_has_no_ends(result):
    texts = texts_of(marks_of(result.plot.fairness("disparate_impact(by=g, reference=c)")))
    assert "ratio" in texts
    assert not [text for text in texts if " to " in text]


def test_gaps_without_their_groups_have_words_in_place_of_a_panel():
    draw = np.random.default_rng(1)
    frame = {"y": draw.integers(0, 2, 300), "p": draw.random(300), "g": draw.choice(["a", "b"], 300)}
    gaps = ["disparity(recall, by=g)", "disparity(precision, by=g)", "equalized_odds_difference(by=g)"]
    result = plm.evaluate(frame, label="y", models="p", metrics=["recall", *gaps], slices=["g"])
    figure = result.plot.fairness()
    assert set(figure.frame["metric"]) == {"recall", gaps[0]}
    assert figure.notes == (
        f"not drawn: {gaps[1]} (needs precision in slices); {gaps[2]} (of several rates)",
    )
    result = plm.evaluate(frame, label="y", models="p", metrics=gaps[:2], slices=["g"])
    with pytest.raises(plm.ConfigError, match="needs recall in slices"):
        result.plot.fairness()
    assert "The chart fairness is missing: not drawn: disparity(recall, by=g) (needs recall" in html_text(
        summarise(result)
    )


def test_a_long_note_is_broken_for_the_image_would_cut_it():
    frame = {"y": [0, 1] * 40, "p": [0.2, 0.7, 0.6, 0.1] * 20, "g": list("ab") * 40}
    gaps = [f"disparity({name}, by=g)" for name in ("recall", "precision", "specificity", "f1", "brier")]
    result = plm.evaluate(frame, label="y", models="p", metrics=["recall", *gaps], slices=["g"])
    figure = result.plot.fairness()
    (note,) = figure.notes
    lines = [line for line in figure.specification()["title"]["subtitle"] if line in note]
    assert " ".join(lines) == note
    assert len(lines) == 2


def test_without_a_gap_there_is_nothing_to_draw():
    frame = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.2, 0.4, 0.4]})
    result = plm.evaluate(frame, label="y", models="p", metrics=["recall"])
    with pytest.raises(plm.ConfigError, match="no gap between groups"):
        result.plot.fairness()
