"""Differences query by query: heights, counts and ends are those computed from the queries themselves."""

import numpy as np
import polars as pl
import pytest
from references.svg_marks import axis_scale, marks_of, texts_of

import plmetrics as plm


@pytest.fixture(scope="module")
def case():
    random = np.random.default_rng(5)
    query = np.repeat(np.arange(60), 5)
    relevant = np.tile([1, 0, 0, 0, 0], 60)
    frame = pl.DataFrame(
        {"q": query, "y": relevant, "old": random.random(300), "new": random.random(300) + 0.2 * relevant}
    )
    ranks = {
        model: np.array(
            [1 + (part[model] > part[model][0]).sum() for _, part in frame.group_by("q", maintain_order=True)]
        )
        for model in ("old", "new")
    }
    result = plm.evaluate(
        frame,
        task="ranking",
        label="y",
        query="q",
        models={"old": "old", "new <i>": "new"},
        metrics=["mrr"],
        compare="old",
        curves=[{"curve": "query_differences", "metric": "mrr"}],
    )
    return result.plot.query_differences(), np.sort(1 / ranks["new"] - 1 / ranks["old"])[::-1]


def test_counts_of_queries_are_told(case):
    figure, differences = case
    better, worse = int((differences > 0).sum()), int((differences < 0).sum())
    told = f"better in {better}, equal in {60 - better - worse} and worse in {worse} of 60 queries"
    assert told in figure.description
    assert figure.title == "Differences to old by query: new <i>"


def test_areas_reach_from_the_largest_gain_to_the_largest_loss(case):
    figure, differences = case
    marks = marks_of(figure)
    start, slope = axis_scale(marks, vertical=True)
    areas = [mark for mark in marks if mark.kind == "area"]
    assert [mark.attributes["fill"] for mark in areas] == ["#0072b2", "#d55e00"]
    ends = []
    for mark in areas:
        steps = mark.attributes["d"].replace("M", "L").replace("Z", "").split("L")[1:]
        heights = [start + slope * (mark.y + float(step.split(",")[1])) for step in steps]
        ends.append(max(heights, key=abs))
    assert np.allclose(ends, [differences[0], differences[-1]], atol=0.6 * abs(slope))
    assert any("Difference of mrr" in text for text in texts_of(marks, "axis-title"))
    assert np.allclose(figure.frame["y"].to_numpy(), differences)
