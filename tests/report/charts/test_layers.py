"""Charts in one panel, and copies of them: cheap, and without effect on the chart they are copies of."""

from __future__ import annotations

import altair as alt
import polars as pl
import pytest

from plmetrics.report.charts.layers import base, layer_charts

FRAME = pl.DataFrame({"x": [0.0, 1.0], "y": [1.0, 0.5]})


def layers(rows: alt.Chart) -> list[alt.Chart]:
    return [mark.encode(x="x:Q", y="y:Q") for mark in (rows.mark_line(), rows.mark_point())]


def panel() -> alt.LayerChart:
    return layer_charts(*layers(base(FRAME)))


def test_a_panel_is_the_layer_chart_of_altair() -> None:
    assert panel().to_dict() == alt.layer(*layers(alt.Chart(FRAME))).to_dict()


def test_panels_side_by_side_are_those_of_altair() -> None:
    ours, theirs = layer_charts(*layers(base(FRAME))), alt.layer(*layers(alt.Chart(FRAME)))
    assert alt.concat(ours, ours).to_dict() == alt.concat(theirs, theirs).to_dict()


@pytest.mark.parametrize("deep", [True, False, ["layer"]])
def test_a_copy_shares_parts_and_changes_alone(deep: bool | list[str]) -> None:
    chart = panel()
    copy = chart.copy(deep=deep)
    assert type(copy) is type(chart)
    assert copy.to_dict() == chart.to_dict()
    copy.width = 100
    assert chart.width is alt.Undefined
    assert all(ours is theirs for ours, theirs in zip(copy.layer, chart.layer, strict=True)) or deep == [
        "layer"
    ]


def test_a_copy_for_changes_in_place_has_a_part_of_its_own() -> None:
    chart = panel().resolve_scale(color="independent")
    copy = chart.copy(deep=["resolve"])
    copy.resolve["scale"] = {"color": "shared"}
    assert chart.to_dict()["resolve"] == {"scale": {"color": "independent"}}
