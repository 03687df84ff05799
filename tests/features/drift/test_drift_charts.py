"""Charts of drift: dots are measures, zones the limits of gates, and outlines the shares of both windows."""

import numpy as np
import polars as pl
import pytest
from references.svg_marks import axis_scale, marks_of, points_of, texts_of

import plmetrics as plm


def rows(number: int, shift: float) -> pl.DataFrame:
    random = np.random.default_rng(number)
    return pl.DataFrame(
        {
            "y": random.random(number) < 0.4,
            "p": 1 / (1 + np.exp(-random.normal(shift, 1, number))),
            "age": random.integers(18, 90, number),
            "kind": random.choice(["a.b", '<i>"', None], number, p=[0.5 - shift / 2, 0.3 + shift / 2, 0.2]),
        }
    )


@pytest.fixture(scope="module")
def result():
    gate = {"measure": "psi", "subject": "score", "at_most": 0.1, "level": "warn"}
    drift = {
        "reference": rows(2000, 0.0),
        "columns": ["age", "kind"],
        "gates": [gate],
        "measures": ["psi", "mean"],
    }
    return plm.evaluate(rows(1500, 0.6), label="y", models="p", metrics=["recall"], drift=drift)


def test_dots_are_the_measures_largest_first(result):
    figure = result.plot.drift()
    marks = marks_of(figure)
    psi = result.drift.filter(measure="psi").sort("value", descending=True)
    dots = sorted(
        points_of(marks),
        key=lambda mark: mark.y,
    )
    start, slope = axis_scale(marks, number=0)
    read = np.array([start + slope * mark.x for mark in dots[: psi.height]])
    assert np.abs(read - psi["value"].to_numpy()).max() < 0.5 * slope
    shifts = (
        result.drift.filter(measure="mean").drop_nulls("per_sd").sort(pl.col("per_sd").abs(), descending=True)
    )
    start, slope = axis_scale(marks, number=1)
    read = np.array([start + slope * mark.x for mark in dots[psi.height : psi.height + shifts.height]])
    assert np.abs(read - shifts["per_sd"].to_numpy()).max() < 0.5 * slope


def test_a_failed_gate_is_orange_beyond_its_limit(result):
    marks = marks_of(result.plot.drift())
    start, slope = axis_scale(marks, number=0)
    limits = [mark for mark in marks if mark.kind == "rule" and mark.attributes.get("stroke") == "#d55e00"]
    assert [round(start + slope * mark.x, 3) for mark in limits] == [0.1]
    orange = [mark for mark in marks if mark.kind == "symbol" and mark.attributes.get("fill") == "#d55e00"]
    failed = result.gates.filter(verdict="fail")["observed"].to_list()
    assert [round(start + slope * mark.x, 2) for mark in orange] == [round(value, 2) for value in failed]
    assert len(failed) == 1


def test_a_gate_that_failed_by_p_value_is_orange():
    """Its limit is none of the axis, the measured value is what it failed on."""
    drift = {
        "reference": rows(2000, 0.0),
        "columns": ["age"],
        "gates": [{"measure": "ks_2samp", "p_at_least": 0.01}],
        "measures": ["ks_2samp"],
    }
    shifted = plm.evaluate(rows(1500, 0.6), label="y", models="p", metrics=["recall"], drift=drift)
    assert shifted.gates.filter(verdict="fail").height == 1
    marks = marks_of(shifted.plot.drift())
    orange = [mark for mark in marks if mark.kind == "symbol" and mark.attributes.get("fill") == "#d55e00"]
    start, slope = axis_scale(marks, number=0)
    failed = shifted.drift.filter(pl.col("p_adjusted") < 0.01)["value"]
    assert [round(start + slope * mark.x, 2) for mark in orange] == [round(value, 2) for value in failed]


def test_outlines_have_the_shares_of_both_windows(result):
    figure = result.plot.drift_histograms()
    marks = marks_of(figure)
    assert figure.frame["column"].unique(maintain_order=True).to_list()[0] == "kind"
    lines = [mark for mark in marks if mark.kind == "line"]
    assert len(lines) == 4
    start, slope = axis_scale(marks, vertical=True)
    heights = [float(step.split(",")[1]) for step in lines[0].attributes["d"].replace("M", "").split("L")]
    read = [start + slope * (lines[0].y + height) for height in heights[::2]]
    shares = figure.frame.filter(column="kind")["share_current"].fill_null(0).to_numpy()
    assert np.abs(np.array(read) - shares).max() < 0.6 * abs(slope)
    assert {"a.b", "(missing)"} <= set(texts_of(marks, "axis-label"))
    assert "2,000 reference rows, 1,500 now" in str(figure.specification()["title"])


def test_charts_of_drift_are_listed_where_there_is_drift(result):
    assert {"drift", "drift_histograms"} <= set(dir(result.plot))
    plain = plm.evaluate(rows(50, 0), label="y", models="p", metrics=["recall"])
    assert "drift" not in dir(plain.plot)
    with pytest.raises(plm.ConfigError, match="no drift"):
        plain.plot.drift()
