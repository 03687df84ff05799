"""Mean ranks: computed again from the values in slices, and read back from the chart."""

import numpy as np
import polars as pl
import pytest
from references.svg_marks import axis_scale, marks_of, points_of, texts_of
from scipy.stats import rankdata, studentized_range

import plmetrics as plm
from plmetrics.report.charts.comparisons.critical_difference import cliques

MODELS = ["a.b", "<i>", "third", "fourth"]


def evaluated(groups: int, models: int = 4, **options):
    random = np.random.default_rng(6)
    truth = random.normal(size=1200)
    noise = {f"p{k}": truth + random.normal(size=1200) * (0.3 + 0.4 * k) for k in range(models)}
    frame = pl.DataFrame({"y": truth, "g": random.integers(0, groups, 1200), **noise})
    return plm.evaluate(
        frame,
        task="regression",
        label="y",
        models={name: f"p{k}" for k, name in enumerate(MODELS[:models])},
        metrics=["rmse"],
        slices=["g"],
        compare={
            "baseline": MODELS[0],
            "tests": [{"friedman": {"over": "g"}}, {"nemenyi": {"over": "g", **options}}],
        },
    )


@pytest.fixture(scope="module")
def result():
    return evaluated(8)


def test_models_stand_at_the_mean_of_their_ranks(result):
    figure = result.plot.critical_difference()
    values = result.metrics.filter(slice_set="g").pivot("model", index="slice", values="value")
    ranks = np.sort(rankdata(values.select(MODELS).to_numpy(), axis=1).mean(axis=0))
    marks = marks_of(figure)
    start, slope = axis_scale(marks)
    dots = points_of(marks)
    read = [start + slope * mark.x for mark in sorted(dots, key=lambda mark: mark.y)]
    assert np.allclose(read, ranks, atol=0.5 * slope)
    assert {f"{rank:.2f}" for rank in ranks} <= set(texts_of(marks))


@pytest.mark.exhaustive
@pytest.mark.parametrize(("df", "freedom"), [("infinite", np.inf), ("finite", 4 * 7)])
def test_the_bar_on_top_is_as_long_as_the_critical_difference(df, freedom):
    marks = marks_of(evaluated(8, df=df).plot.critical_difference())
    start, slope = axis_scale(marks)
    bar = min(
        (mark for mark in marks if mark.kind == "rule" and mark.attributes["stroke"] == "#7b8794"),
        key=lambda mark: mark.y,
    )
    expected = studentized_range.ppf(0.95, 4, freedom) / np.sqrt(2) * np.sqrt(4 * 5 / (6 * 8))
    assert abs(slope * (bar.x2 - bar.x) - expected) < slope
    assert abs(start + slope * bar.x - 1) < 0.5 * slope


def test_bars_join_the_largest_groups_only():
    assert cliques([1.0, 1.1, 1.2, 3.0], 1.0) == [(0, 2)]
    assert cliques([1.0, 2.0, 3.0], 0.5) == []
    assert cliques([1.0, 1.9, 2.5, 3.3], 1.5) == [(0, 1), (1, 3)]


def test_few_blocks_and_few_models_are_refused():
    with pytest.raises(plm.ConfigError, match="over 4 blocks"):
        evaluated(4).plot.critical_difference()
    with pytest.raises(plm.ConfigError, match="of 2 models"):
        evaluated(8, 2).plot.critical_difference()
