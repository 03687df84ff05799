"""Errors of charts name what is wrong and what there is."""

import polars as pl
import pytest

import plmetrics as plm
from plmetrics.core.errors import ConfigError, EnvironmentFault
from plmetrics.report.charts import rendering
from plmetrics.report.charts.index import charts
from plmetrics.report.charts.selection import NothingToDraw

pytest.importorskip("altair", reason="charts need the extra report")


@pytest.fixture(scope="module")
def result():
    frame = pl.DataFrame(
        {"y": [1, 0, 1, 0] * 5, "p": [0.9, 0.2, 0.4, 0.4] * 5, "region": (["north"] * 2 + ["south"] * 2) * 5}
    )
    return plm.evaluate(
        frame,
        label="y",
        models={"champion": "p"},
        metrics=["recall"],
        slices={"region": "region"},
        curves=[{"curve": "roc", "slices": ["region"]}],
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"models": ["champoin"]}, ["no model 'champoin'", "did you mean 'champion'"]),
        ({"slice_set": "regoin"}, ["no slice_set 'regoin'", "region"]),
        ({"slices": ["al"]}, ["no slice 'al'"]),
    ],
)
def test_unknown_names_are_answered_with_the_nearest(result, options, words):
    with pytest.raises(ConfigError) as error:
        result.plot.roc(**options)
    assert all(word in str(error.value) for word in words), str(error.value)


@pytest.mark.parametrize(
    "name", ["pr", "gain", "lift", "cost", "reliability", "score_histogram", "net_benefit"]
)
def test_a_curve_that_is_not_there_is_asked_for_in_the_suite(result, name):
    with pytest.raises(NothingToDraw) as error:
        getattr(result.plot, name)()
    assert f"no curve '{name}'" in str(error.value)
    assert f"curves: [{name}]" in str(error.value)


def test_counts_that_are_not_there_are_asked_for(result):
    with pytest.raises(NothingToDraw) as error:
        result.plot.confusion()
    assert "tp, fp, fn and tn" in str(error.value)


def test_charts_are_listed_and_unknown_ones_answered(result):
    assert {"roc", "ks"} <= set(dir(result.plot))
    assert "pr" not in dir(result.plot)
    assert "confusion" not in dir(result.plot)
    with pytest.raises(AttributeError, match=r"there is no chart 'rocc'.*roc"):
        result.plot.rocc()
    with pytest.raises(AttributeError, match=r"there is no chart 'boxes'; known: .*\bks\b.*\broc\b"):
        result.plot.boxes()


def test_all_charts_are_methods(result):
    assert all(callable(getattr(type(result.plot), name, None)) for name in charts())


def test_without_the_extra_it_is_named(result, monkeypatch):
    monkeypatch.setattr(rendering, "find_spec", lambda _: None)
    with pytest.raises(EnvironmentFault, match=r"plmetrics\[report\]"):
        result.plot.roc()


def test_a_slice_set_without_the_curve_is_told_how_to_get_it() -> None:
    frame = pl.DataFrame({"y": [0, 1] * 10, "p": [i / 20 for i in range(20)], "g": ["a", "b"] * 10})
    result = plm.evaluate(frame, label="y", models="p", metrics=["recall"], slices=["g"], curves=["roc"])
    with pytest.raises(plm.ConfigError, match=r"curves: .{curve: roc, slices: .g.}."):
        result.plot.roc(slice_set="g")


def test_a_chart_knows_a_metric_by_its_names(result):
    for name in ("recall", "tpr", "sensitivity", "recall_score", plm.metric("recall")):
        assert set(result.plot.forest(metric=name).frame["metric"]) == {"recall"}
    with pytest.raises(ConfigError, match="no metric 'precison'"):
        result.plot.forest(metric="precison")
