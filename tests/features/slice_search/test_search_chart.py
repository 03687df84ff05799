"""The forest of slices that a search found: places and words are those of the table."""

import numpy as np
import polars as pl
from references.svg_marks import axis_scale, marks_of, points_of, texts_of

import plmetrics as plm


def test_found_slices_stand_where_their_differences_are():
    random = np.random.default_rng(3)
    place = random.integers(0, 5, 4000)
    label = random.random(4000) < 0.5
    score = label + random.normal(size=4000) * np.where(place == 2, 4, 0.7)
    frame = pl.DataFrame({"y": label, "p": 1 / (1 + np.exp(-score)), "region": [f"<r>{k}.a" for k in place]})
    search = {"columns": ["region"], "metric": "log_loss", "min_rows": 30}
    result = plm.evaluate(frame, label="y", models="p", metrics=["log_loss"], find_slices=search)
    figure = result.plot.found_slices()
    assert figure.frame.filter("confirmed")["slice"].to_list() == ["region=<r>2.a"]
    marks = marks_of(figure)
    start, slope = axis_scale(marks)
    dots = points_of(marks)
    read = np.array([start + slope * mark.x for mark in sorted(dots, key=lambda mark: mark.y)])
    assert np.abs(read - figure.frame["difference"].to_numpy()).max() < 0.5 * slope
    assert "region=<r>2.a" in texts_of(marks)
    assert dots[0].attributes["fill"] == "#d55e00"
