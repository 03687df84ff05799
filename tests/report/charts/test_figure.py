"""Figures as files, in notebooks and in pages: without ids, whatever the reader's Altair is set to."""

import json
import re
from xml.etree import ElementTree

import polars as pl
import pytest

import plmetrics as plm
from plmetrics.core.errors import ConfigError
from plmetrics.report.charts.svg import with_variables
from plmetrics.report.charts.theme import DARK, LIGHT

alt = pytest.importorskip("altair", reason="charts need the extra report")
pytest.importorskip("vl_convert", reason="charts need the extra report")


@pytest.fixture(scope="module")
def figure():
    frame = pl.DataFrame(
        {"y": [1, 0, 1, 0, 1] * 8, "p": [0.9, 0.2, 0.4, 0.4, 0.7] * 8, "q": [0.1, 0.2, 0.6, 0.7, 0.8] * 8}
    )
    models = {'fill="#0072b2" <b>&': "p", "a.b[0] it's": "q"}
    result = plm.evaluate(frame, label="y", models=models, metrics=["roc_auc", "recall"], curves=["roc"])
    return result.plot.roc()


def test_saves_all_forms(figure, tmp_path):
    for ending in ("svg", "png", "html", "json"):
        figure.save(tmp_path / f"chart.{ending}")
    ElementTree.parse(tmp_path / "chart.svg")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    assert "data:image/svg+xml;base64," in (tmp_path / "chart.html").read_text()
    chart = json.loads((tmp_path / "chart.json").read_text())
    assert "url" not in json.dumps(chart)
    assert not re.search(r"href|https?:", json.dumps({**chart, "$schema": ""}))
    with pytest.raises(ConfigError, match=r"chart\.pdf"):
        figure.save(tmp_path / "chart.pdf")


def test_images_have_a_name_and_no_ids(figure):
    svg = figure.svg()
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert root[0].text == figure.title
    assert root[1].text == figure.description
    assert not [element for element in root.iter() if element.get("id") or element.get("clip-path")]
    assert "url(" not in svg
    assert figure.svg() == svg


def test_names_are_texts_and_nothing_else(figure):
    texts = [
        "".join(element.itertext())
        for element in ElementTree.fromstring(figure.svg()).iter()
        if element.tag.endswith("text")
    ]
    assert any(text.startswith('fill="#0072b2" <b>&') for text in texts)
    assert any(text.startswith("a.b[0] it's") for text in texts)


def test_themes_differ_in_colors_alone(figure):
    light, dark = figure.specification("light"), figure.specification("dark")
    assert light["background"] == LIGHT["paper"]
    assert dark["background"] == DARK["paper"]
    used = set(re.findall(r"#[0-9a-f]{6}", json.dumps({**dark, "datasets": {}, "layer": []})))
    assert not used & (set(LIGHT.values()) - set(DARK.values()))
    assert re.sub(r"#[0-9a-f]{6}", "", json.dumps(light)) == re.sub(r"#[0-9a-f]{6}", "", json.dumps(dark))
    # The name that looks like a colour is left alone.
    assert 'fill=\\"#0072b2\\"' in json.dumps(dark)


def test_a_notebook_gets_an_image_and_a_text(figure):
    bundle = figure._repr_mimebundle_()
    assert bundle.keys() == {"text/html", "text/plain"}
    assert bundle["text/html"].startswith('<img src="data:image/svg+xml;base64,')
    assert "<script" not in bundle["text/html"]
    assert figure.title in bundle["text/plain"]


def test_the_readers_altair_is_neither_changed_nor_drawn_in(figure):
    plain = figure.svg()

    @alt.theme.register("loud", enable=False)
    def loud():
        return alt.theme.ThemeConfig(
            {"width": 99, "config": {"background": "#123456", "axis": {"grid": False}}}
        )

    alt.data_transformers.register("broken", lambda *_, **__: pytest.fail("a reader's transformer was asked"))
    before = (alt.theme.active, alt.data_transformers.active)
    try:
        alt.theme.enable("loud")
        alt.data_transformers.enable("broken")
        assert figure.svg() == plain
        assert (alt.theme.active, alt.data_transformers.active) == ("loud", "broken")
    finally:
        alt.theme.enable(before[0])
        alt.data_transformers.enable(before[1])


def test_charts_can_be_layered_joined_and_styled(figure):
    joined = alt.hconcat(figure.chart, figure.chart.properties(title="again"))
    for chart in (joined, figure.chart.configure_axis(grid=False)):
        assert chart.to_dict()["$schema"].endswith(".json")


def test_a_chart_is_what_the_schema_allows(figure):
    figure.chart.to_dict(validate=True)


def test_a_folder_that_is_absent_is_told(binary, tmp_path):
    with pytest.raises(plm.EnvironmentFault, match=r"chart.json cannot be written"):
        binary.plot.forest().save(tmp_path / "absent" / "chart.json")


def test_places_of_pages_are_cut_to_hundredths_and_texts_are_not():
    path = '<path d="M13.33333,2.5L0.12345,1.5e-7" transform="translate(1.98765,2)" fill="#0072b2"/>'
    short = (
        '<path d="M13.33,2.5L0.12,1.5e-7" transform="translate(1.98,2)" fill="var(--pm-series-1,#0072b2)"/>'
    )
    text = '<text>d="M13.33333" 0.92745928</text>'
    assert with_variables(path + text) == short + text
