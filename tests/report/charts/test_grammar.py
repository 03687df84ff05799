"""Charts as plain values are the Vega-Lite that Altair writes, and become charts of Altair."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import altair as alt
import numpy as np
import polars as pl
import pytest

import plmetrics
from plmetrics.report.charts.grammar import (
    Chart,
    base,
    channel,
    chart_title,
    concat,
    constant,
    datum,
    expression,
    hconcat,
    layer_charts,
    options,
    vconcat,
)

FRAME = pl.DataFrame({"x": [0.0, 1.0], "y": [1.0, 0.5]})
TITLE = {"subtitle": ["b", "c"], "frame": "bounds", "fontSize": 12}
SCALE = {"nice": False, "domain": (0, 1), "zero": False}


def ours() -> Chart:
    x = channel(
        "x:Q", scale=options(**SCALE), axis=options(values=(0, np.int64(1)), format=".1f"), title=None
    )
    line = base(FRAME).mark("line", strokeDash=(4, 4), color="#123456").encode(x=x, y="y:Q", order="k:Q")
    area = base(FRAME).mark("area").encode(x="x:T", y="y:Q", y2=datum(0), detail="s:N")
    rule = (
        base(FRAME).mark("rule").encode(y=constant(3), fill=channel("s:N", scale=None, legend=None), x2="h:Q")
    )
    text = base(FRAME).mark("text", x=expression("datum.place")).encode(text="t:N").encode(x="x:Q")
    return layer_charts(line, layer_charts(area, rule), text)


def theirs() -> alt.LayerChart:
    axis, scale = alt.Axis(values=(0, 1), format=".1f"), alt.Scale(**SCALE)
    frames = [alt.Chart(FRAME.clone()) for _ in range(4)]
    x = alt.X("x:Q", scale=scale, axis=axis, title=None)
    line = frames[0].mark_line(strokeDash=(4, 4), color="#123456").encode(x=x, y="y:Q", order="k:Q")
    area = frames[1].mark_area().encode(x="x:T", y="y:Q", y2=alt.datum(0), detail="s:N")
    rule = (
        frames[2].mark_rule().encode(y=alt.value(3), fill=alt.Fill("s:N", scale=None, legend=None), x2="h:Q")
    )
    text = frames[3].mark_text(x=alt.ExprRef("datum.place")).encode(text="t:N").encode(x="x:Q")
    return alt.layer(line, area, rule, text)


def sized(chart: Chart) -> Chart:
    return chart.properties(title=chart_title("a", **TITLE), width=100, height=50)


def titled() -> alt.LayerChart:
    return theirs().properties(title=alt.Title("a", **TITLE), width=100, height=50)


CASES: dict[str, tuple[Callable[[], Chart], Callable[[], alt.TopLevelMixin]]] = {
    "layer": (lambda: sized(ours()), titled),
    "concat": (
        lambda: concat(ours(), ours(), columns=2, spacing=3).resolve_scale(
            shape="shared", color="independent"
        ),
        lambda: alt.concat(theirs(), theirs(), columns=2, spacing=3).resolve_scale(
            color="independent", shape="shared"
        ),
    ),
    "hconcat": (
        lambda: hconcat(ours(), ours(), spacing=3),
        lambda: alt.hconcat(theirs(), theirs(), spacing=3),
    ),
    "vconcat": (
        lambda: vconcat(ours(), ours(), spacing=3),
        lambda: alt.vconcat(theirs(), theirs(), spacing=3),
    ),
}


def text(specification: dict[str, object]) -> str:
    """What is written, in its order, without the names of frames and what stands at the top alone."""
    keys = ("$schema", "config", "datasets")

    def shown(part: object) -> object:
        if isinstance(part, dict):
            return {key: "a frame" if key == "data" else shown(item) for key, item in part.items()}
        return [shown(item) for item in part] if isinstance(part, list) else part

    return json.dumps(shown({key: item for key, item in specification.items() if key not in keys}))


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", CASES)
def test_the_specification_is_that_of_altair(kind: str) -> None:
    mine, reference = CASES[kind]
    assert text(mine().specification({})) == text(reference().to_dict())


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", CASES)
def test_altair_gets_its_own_chart_with_the_frames(kind: str) -> None:
    mine, reference = CASES[kind][0]().to_altair(), CASES[kind][1]()
    assert type(mine) is type(reference)
    assert json.dumps(mine.to_dict()) == json.dumps(reference.to_dict())


def test_a_frame_that_several_charts_share_is_there_once() -> None:
    shared, other = base(FRAME).mark("line"), base(FRAME).mark("point")
    frames: dict[str, pl.DataFrame] = {}
    chart = concat(layer_charts(shared, other), layer_charts(shared, other), columns=2, spacing=1)
    names = [
        part["data"]["name"] for panel in chart.specification(frames)["concat"] for part in panel["layer"]
    ]
    assert names == ["data-0", "data-1", "data-0", "data-1"]
    assert list(frames) == ["data-0", "data-1"]


def test_a_change_makes_another_chart() -> None:
    chart = layer_charts(base(FRAME).mark("line").encode(x="x:Q"))
    before = chart.specification({})
    changed = chart.properties(width=100)
    changed.specification({})["layer"][0]["encoding"]["x"]["field"] = "other"
    assert "width" in changed.specification({})
    assert chart.specification({}) == before


def test_what_is_not_finite_is_a_gap() -> None:
    chart = base(pl.DataFrame({"x": [1.0, float("nan"), float("inf"), None], "t": list("abcd")}))
    assert chart.frame is not None
    assert chart.frame.to_dict(as_series=False) == {"x": [1.0, None, None, None], "t": list("abcd")}


def test_no_module_imports_altair_when_it_is_imported() -> None:
    text = {path.name: path.read_text() for path in Path(plmetrics.__file__).parent.rglob("*.py")}
    assert re.search(r"^import polars", text["grammar.py"], re.MULTILINE)
    imported = [name for name in text if re.search(r"^(import|from) altair", text[name], re.MULTILINE)]
    assert not imported
