"""Differences of slices to the rest: places and readings are those of the tables."""

import numpy as np
import polars as pl
from references.svg_marks import axis_scale, marks_of, points_of, texts_of


def test_slices_stand_where_their_differences_are(binary):
    figure = binary.plot.slice_differences("roc_auc", models=["champion"])
    expected = binary.comparisons.filter(contrast="rest", metric="roc_auc", model="champion")
    keys = ["slice", "difference", "p_adjusted"]
    assert figure.frame.select(keys).sort("slice").equals(expected.select(keys).sort("slice"))
    marks = marks_of(figure)
    start, slope = axis_scale(marks)
    shown = points_of(marks)
    read = [start + slope * mark.x for mark in sorted(shown, key=lambda mark: mark.y)]
    there = figure.frame["difference"].drop_nulls().to_numpy()
    assert np.abs(np.array(read) - there).max() < 0.5 * slope
    assert texts_of(marks).count("worse") == 1


def test_zero_is_in_the_panel(binary):
    marks = marks_of(binary.plot.slice_differences("log_loss", models=["champion"]))
    start, slope = axis_scale(marks)
    dashed = [mark for mark in marks if mark.kind == "rule" and mark.attributes.get("stroke-dasharray")]
    assert [abs(start + slope * mark.x) < 0.5 * slope for mark in dashed] == [True]
    assert pl.Series(texts_of(marks, "axis-title")).str.contains("left of 0 is better").all()
